import { expect, test } from 'vitest';
import { CRDT } from '../../../src/protocol/storage-ops.ts';
import type { RoomState } from '../../../src/room/shapes.ts';
import { bytesOf } from '../../../src/room/storage/kept-texts.ts';
import { insertNode } from '../../../src/room/storage/tree.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { compactNodes, nodesIn, serializedNodes } from '../../support/storage-documents.ts';
import { updateObject } from './ops.ts';

function roomOf(nodes: number): RoomState {
  const room = aRoom('ann', 'bo');
  const { storage } = room;
  for (let node = 1; node < nodes; node += 1)
    insertNode(storage, { id: `1:${node}`, parent: storage.root, key: `key ${node}` }, { type: CRDT.REGISTER, data: node });
  return room;
}

function fetched(room: RoomState, name: string): readonly string[] {
  const [effect] = say(room, { type: 'storage.fetch', from: id(name) });
  if (effect?.type !== 'send' || effect.message.type !== 'storage.state') throw new Error('was told no state');
  return effect.message.chunks;
}

const nodesOf = (chunks: readonly string[]) => JSON.parse(`[${chunks.join(',')}]`);
const change = (room: RoomState, title: string) =>
  say(room, { type: 'storage.change', from: id('bo'), ops: [updateObject(`2:${title}`, 'root', { title })] });
const linesOf = (room: RoomState) => Buffer.from(bytesOf(room, { format: 'lines' })).toString();

test('[DO7] who fetches a large Storage shares its text, until it changes', () => {
  const room = roomOf(4_001);
  const first = fetched(room, 'ann');
  expect(first).toHaveLength(3);
  expect(nodesOf(first)).toEqual(compactNodes(room.storage));
  expect(fetched(room, 'bo')).toBe(first);
  change(room, 'x');
  const next = fetched(room, 'ann');
  expect(nodesOf(next)[0]).toEqual(['root', { title: 'x' }]);
  expect(nodesOf(first)[0]).toEqual(['root', {}]);
});

test('[DO7] the text of a small one is not kept', () => {
  const room = roomOf(999);
  expect(nodesOf(fetched(room, 'ann'))).toEqual(compactNodes(room.storage));
  expect(room.texts).toBeNull();
});

test('[DO7] each form is kept beside the others, and all go with the version', () => {
  const room = roomOf(1_000);
  const forms = [{ format: 'json', typeKey: '' }, { format: 'plain-lson', typeKey: 'a' }, { format: 'lines' }] as const;
  const written = forms.map((form) => bytesOf(room, form));
  const compact = fetched(room, 'ann');
  expect(forms.map((form, at) => bytesOf(room, form) === written[at])).toEqual([true, true, true]);
  expect(nodesIn(linesOf(room))).toEqual(serializedNodes(room.storage));
  change(room, 'y');
  expect(forms.map((form, at) => bytesOf(room, form) === written[at])).toEqual([false, false, false]);
  expect(fetched(room, 'bo')).not.toBe(compact);
  expect(nodesIn(linesOf(room))[0]).toEqual(['root', { type: 0, data: { title: 'y' } }]);
});
