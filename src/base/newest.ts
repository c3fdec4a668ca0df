/** A map that keeps what came last: for what may be forgotten, in bounded memory. */

/** The entry comes last in the map, which has `max` entries at most: the one that came first goes. */
export function putNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > max) map.delete(map.keys().next().value!);
}
