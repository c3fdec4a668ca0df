/** The items of the list by their type, and found by their id: others may have moved them since they were drawn. */
import type { LiveList, LiveObject, Lson } from '@liveblocks/client';

interface Root {
  get(key: 'list'): Liveblocks['Storage']['list'];
}

export function itemsIn(root: Root): LiveList<LiveObject<ItemFields>> {
  return root.get('list') as unknown as LiveList<LiveObject<ItemFields>>;
}

/** -1 when somebody deleted it. Other programs may put something else into the list. */
export function placeOf(root: Root, id: string): number {
  const list = root.get('list');
  return list.findIndex((item: Lson) => (item as Partial<LiveObject<ItemFields>> | null)?.get?.('id') === id);
}

export function isItem(value: unknown): value is ItemFields {
  const { id, text } = (value ?? {}) as Partial<ItemFields>;
  return typeof id === 'string' && typeof text === 'string';
}
