/** Op ids of sockets: what a client sends again after a takeover, over snapshot and journal, has no second effect (protocol 6.2, 6.3). */
import { expect, test } from 'vitest';
import { asSessionId } from '../../../src/base/ids.ts';
import { type Pieces, textIn } from '../../../src/base/pieces.ts';
import { OP, type Op } from '../../../src/protocol/storage-ops.ts';
import { compileSchema } from '../../../src/room/schema/compile.ts';
import type { Effect, RoomState } from '../../../src/room/shapes.ts';
import { encodeSnapshot, replayRecord, restoreSnapshot } from '../../../src/room/snapshot.ts';
import { aRoom, join, newcomer, say } from '../../support/a-room.ts';

const EDITS = 10_000;
const send = (room: RoomState, ...ops: Op[]): Effect[] => say(room, { type: 'storage.change', from: asSessionId('ann'), ops });
const createText = (node: number, parentKey: string): Op => ({
  type: OP.CREATE_TEXT,
  opId: `1:${node}`,
  id: `1:${node}`,
  parentId: 'root',
  parentKey,
  data: [],
  version: 0,
});
/** As the SDK resends it: the same op id, based on the version it has just been told. */
const type = (text: string, opId: number, baseVersion: number): Op => ({
  type: OP.UPDATE_TEXT,
  id: text,
  opId: `1:${opId}`,
  baseVersion,
  ops: [{ type: 'insert', index: 0, text: 'a' }],
});
const pushItem = (node: number): Op => ({
  type: OP.CREATE_REGISTER,
  opId: `1:${node}`,
  id: `1:${node}`,
  parentId: '1:2',
  parentKey: '!',
  data: node,
  intent: 'push',
});

const stored = (room: RoomState) => {
  const [reply] = say(room, { type: 'storage.read', format: 'json', typeKey: 'serviceType' });
  return JSON.parse(textIn((reply as { value: Pieces }).value));
};

function replay(room: RoomState, effects: readonly Effect[]): void {
  for (const effect of effects) if (effect.type === 'journal') replayRecord(room, structuredClone(effect.record));
}

test('[ST32] the last 10,000 edits of texts are known to the next owner when they are sent again, half from the snapshot, half from the journal', () => {
  const room = aRoom('ann');
  send(room, createText(0, 'busy'), createText(1, 'quiet'));
  for (let count = 0; count < EDITS / 2; count += 1) send(room, type('1:0', 10 + count, count));
  const [bytes, version] = [encodeSnapshot(room), room.version];
  const later: Effect[] = [];
  for (let count = EDITS / 2; count < EDITS; count += 1) later.push(...send(room, type('1:0', 10 + count, count)));

  const next = aRoom();
  restoreSnapshot(next, { version, bytes });
  replay(next, later);
  join(next, newcomer('ann'));
  expect(next.version).toBe(room.version);
  const before = stored(next);
  for (let count = 0; count < EDITS; count += 1) {
    const effects = send(next, type('1:0', 10 + count, EDITS));
    expect(effects.filter((effect) => effect.type === 'journal')).toEqual([]);
  }
  expect(stored(next)).toEqual(before);
});

test('[ST33] items that were made before are not made again, however many came since', () => {
  const room = aRoom('ann');
  send(room, { type: OP.CREATE_LIST, opId: '1:2', id: '1:2', parentId: 'root', parentKey: 'list' });
  const half = EDITS / 2;
  for (let count = 0; count < half; count += 1) send(room, pushItem(10 + count));
  const [bytes, version] = [encodeSnapshot(room), room.version];
  const later: Effect[] = [];
  for (let count = half; count < EDITS; count += 1) later.push(...send(room, pushItem(10 + count)));

  const next = aRoom();
  restoreSnapshot(next, { version, bytes });
  replay(next, later);
  join(next, newcomer('ann'));
  const again = Array.from({ length: EDITS }, (_, count) => pushItem(10 + count));
  expect(send(next, ...again).filter((effect) => effect.type === 'journal')).toEqual([]);
  expect(stored(next).list).toEqual(again.map((_, count) => 10 + count));
});

test('[ST32] an edit that the schema takes back is not taken for one that was made', () => {
  const room = aRoom('ann');
  send(room, createText(0, 'text'));
  const { claim } = room;
  room.schema = {
    id: 'no-text@1',
    types: compileSchema('type Storage { text: LiveText, title?: string }'),
    at: { ...claim, decision: 1 },
  };
  const refused = send(room, type('1:0', 10, 0), { type: OP.UPDATE_OBJECT, id: 'root', opId: '1:11', data: { title: 1 } });
  expect(refused).toContainEqual(expect.objectContaining({ message: expect.objectContaining({ type: 'storage.rejected' }) }));
  expect(stored(room).text).toEqual([]);
  send(room, type('1:0', 10, 0));
  expect(stored(room).text).toEqual([['a']]);
});
