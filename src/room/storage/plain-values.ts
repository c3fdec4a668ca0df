/**
 * The plain values of a LiveObject, which nobody else may change: an object while its keys are few and names, a map otherwise.
 *
 * Objects with the same keys share in V8 what says so, and each is its values alone: three of them take 48 bytes, where a `Map` takes 184. But a key
 * that is a number has an object make room for the numbers below it, up to 9 KB for one value; and one with many keys is a table, too, and slower.
 */
import type { Json, JsonObject } from '../../base/json.ts';

type Few = Record<string, Json>;
type Many = Map<string, Json>;
/** Read and changed by the functions below alone. */
export type PlainValues = Few | Many;

const FEW_MAX = 24;

/** A copy of what an op brought: ops are kept, and sent. */
export function plainValuesOf(data: JsonObject): PlainValues {
  const keys = Object.keys(data);
  return keys.length <= FEW_MAX && !keys.some(isNumberLike) ? { ...data } : new Map(Object.entries(data));
}

function isNumberLike(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39;
}

export function plainValue(values: PlainValues, key: string): Json | undefined {
  if (values instanceof Map) return values.get(key);
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** In any order: clients go by keys alone. */
export function plainEntries(values: PlainValues): Iterable<readonly [key: string, value: Json]> {
  return values instanceof Map ? values : Object.entries(values);
}

export function isWithoutValues(values: PlainValues): boolean {
  return (values instanceof Map ? values.size : Object.keys(values).length) === 0;
}

/**
 * Sets a value, or removes it when `value` is undefined. Returns what holds all of them then, which may be another. No key is `__proto__`: each door
 * refuses it (`base/json.ts`).
 */
export function withPlainValue(values: PlainValues, key: string, value: Json | undefined): PlainValues {
  if (!(values instanceof Map) && value !== undefined && !Object.hasOwn(values, key)) {
    const isOneOfFew = !isNumberLike(key) && Object.keys(values).length < FEW_MAX;
    if (!isOneOfFew) return withPlainValue(new Map(Object.entries(values)), key, value);
  }
  if (values instanceof Map) {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
  } else if (value === undefined) delete values[key];
  else values[key] = value;
  return values;
}
