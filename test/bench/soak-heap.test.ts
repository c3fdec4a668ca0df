import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { grownBy, type Holdings, holdingsIn } from '../../bench/soak/heap.ts';

/** As V8 writes it: a root that holds a keeper, whose list holds so many objects; one more is held weakly, and nothing else holds that. */
function heapWith(objects: number): Holdings {
  const strings = ['', 'Keeper', 'kept', 'Thing', 'weakly', 'a name'];
  const [root, keeper, list, object, text] = [3, 1, 2, 1, 4];
  const nodes: number[] = [];
  const edges: number[] = [];
  const node = (type: number, name: number, size: number, edgeCount: number): number => nodes.push(type, name, size, edgeCount);
  const [property, element, weak] = [0, 1, 2];
  const hold = (type: number, name: number, at: number): number => edges.push(type, name, 4 * at);
  const firstObject = 3;
  node(root, 0, 0, 1);
  hold(property, 1, 1);
  node(keeper, 1, 40, 2);
  hold(property, 2, 2);
  hold(weak, 4, firstObject + 2 * objects);
  node(list, 0, 16, objects);
  for (let index = 0; index < objects; index += 1) hold(element, index, firstObject + 2 * index);
  for (let index = 0; index < objects; index += 1) {
    node(object, 3, 32, 1);
    hold(property, 2, firstObject + 2 * index + 1);
    node(text, 5, 8, 0);
  }
  node(object, 3, 32, 0);
  const meta = {
    node_fields: ['type', 'name', 'self_size', 'edge_count'],
    node_types: [['hidden', 'object', 'array', 'synthetic', 'string']],
    edge_fields: ['type', 'name_or_index', 'to_node'],
    edge_types: [['property', 'element', 'weak']],
  };
  const file = join(mkdtempSync(join(tmpdir(), 'heap-')), 'a.heapsnapshot');
  writeFileSync(file, JSON.stringify({ snapshot: { meta }, nodes, edges, strings }));
  return holdingsIn(file);
}

it('tells what has grown by how it is held, and not what is held weakly', () => {
  const [before, after] = [heapWith(2), heapWith(7)];
  const way = 'object Thing <[] | array  <kept | object Keeper <Keeper';
  expect(after.get(way)).toEqual({ count: 7, bytes: 7 * 32 });
  expect(grownBy(before, after, 5)).toEqual([
    { way, count: 5, bytes: 160 },
    { way: `string <kept | ${way}`, count: 5, bytes: 40 },
  ]);
  expect(grownBy(before, after, 6)).toEqual([]);
  expect(grownBy(after, before, 1)).toEqual([]);
});
