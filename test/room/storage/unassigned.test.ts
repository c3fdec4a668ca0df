/** Ids under numbers that nobody has been given: whoever gets such a number later makes them again. */
import { describe, expect, test } from 'vitest';
import type { Op } from '../../../src/protocol/storage-ops.ts';
import { takeNumber } from '../../../src/room/roster.ts';
import type { Effect, RoomState } from '../../../src/room/shapes.ts';
import { encodeSnapshot, passNumbersOfNodes, replayRecord, restoreSnapshot } from '../../../src/room/snapshot.ts';
import { applyJsonPatch } from '../../../src/room/storage/patch.ts';
import { aRoom, id, join, messages, newcomer, say } from '../../support/a-room.ts';
import { toJson } from '../../support/storage-documents.ts';
import {
  createList,
  createMap,
  createRegister,
  createText,
  deleteNode,
  newIds,
  storageOf,
  updateObject,
  updateText,
} from './ops.ts';

const REASON = 'An id may not begin with the number of a connection that there has not been';
const change = (room: RoomState, ...ops: Op[]) => say(room, { type: 'storage.change', from: id('ann'), ops });
const journaled = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.type === 'journal' && effect.record.kind === 'storage.ops' ? effect.record.ops : []));

/** Ann is 1 and Bo is 2, so 3 is the next; both have Storage. */
function aRoomOfTwo(): RoomState {
  const room = aRoom('ann', 'bo');
  for (const from of ['ann', 'bo']) say(room, { type: 'storage.fetch', from: id(from) });
  return room;
}

describe('a create under a number that nobody has been given', () => {
  test('[ST37] is refused, and what else is in the message is not', () => {
    const room = aRoomOfTwo();
    const planted = createMap('1:0', '3:0', 'root', 'map');
    const below = createRegister('1:1', '3:1', '3:0', 'k', 1);
    const fine = updateObject('1:2', 'root', { a: 1 });
    const effects = change(room, planted, below, fine);
    expect(journaled(effects)).toEqual([fine]);
    expect(messages(effects)).toMatchObject([
      { type: 'storage.ops', ops: [planted, below, fine] }, // as if applied, so that nothing stays locked at its sender
      { type: 'storage.ops', ops: [{ data: { a: 1 } }] },
      { type: 'storage.rejected', opIds: ['1:0', '1:1'], reason: REASON },
      { type: 'storage.state' },
    ]);
    expect(toJson(room.storage)).toEqual({ a: 1 });
    join(room, newcomer('cy'));
    say(room, {
      type: 'storage.change',
      from: id('cy'),
      ops: [
        { ...planted, opId: '3:0' },
        { ...below, opId: '3:1' },
      ],
    });
    expect(toJson(room.storage)).toEqual({ a: 1, map: { k: 1 } });
  });

  test('[ST37] is none when the number is older: of an earlier connection, or of somebody else whose node comes back', () => {
    const room = aRoomOfTwo();
    const effects = change(
      room,
      createMap('1:0', '2:0', 'root', 'a'),
      deleteNode('1:1', '2:0'),
      createMap('1:2', '2:0', 'root', 'a'),
    );
    expect(messages(effects)).not.toContainEqual(expect.objectContaining({ type: 'storage.rejected' }));
    join(room, newcomer('cy'));
    const replayed = say(room, { type: 'storage.change', from: id('cy'), ops: [createMap('1:3', '1:3', 'root', 'b')] });
    expect(journaled(replayed)).toHaveLength(1);
  });

  test('[ST37] an edit of a text under such an op id is refused, too', () => {
    const room = aRoomOfTwo();
    const insert = (opId: string, text: string) => updateText(opId, '1:0', 0, [{ type: 'insert', index: 0, text }]);
    change(room, createText('1:0', '1:0', 'root', 'text', [['']]));
    expect(journaled(change(room, insert('3:0', 'forged')))).toEqual([]);
    join(room, newcomer('cy'));
    say(room, { type: 'storage.change', from: id('cy'), ops: [insert('3:0', 'honest')] });
    expect(toJson(room.storage)).toEqual({ text: [['honest']] });
  });

  test('[ST37] of a back end refuses its request; under the number that it was given it is taken', () => {
    const room = aRoomOfTwo();
    const send = (actor: number) =>
      say(room, { type: 'storage.send', ops: [createMap(`${actor}:0`, `${actor}:0`, 'root', 'map')] });
    expect(() => send(3)).toThrow(REASON);
    expect(toJson(room.storage)).toEqual({});
    say(room, { type: 'storage.nodes' });
    expect(journaled(send(3))).toHaveLength(1);
  });
});

describe('a room that was stored with such nodes', () => {
  const FAR = '999999999999999:0';
  const ops = [
    createMap('1:0', '5000:0', 'root', 'a'),
    createMap('1:1', '2000:7', 'root', 'b'),
    createMap('1:2', FAR, 'root', 'c'),
  ];

  test('[ST38] is read, and gives out numbers behind theirs, from journal and snapshot, again and again', () => {
    const old = aRoom();
    replayRecord(old, { kind: 'storage.ops', ops });
    const rooms = [aRoom(), aRoom()];
    replayRecord(rooms[0]!, { kind: 'storage.ops', ops });
    restoreSnapshot(rooms[1]!, { version: old.version, bytes: encodeSnapshot(old) });
    for (const room of rooms) {
      passNumbersOfNodes(room);
      expect(Object.keys(toJson(room.storage) as object)).toEqual(['a', 'b', 'c']);
      const effects: Effect[] = [];
      expect(takeNumber(room, effects)).toBe(5_001);
      expect(effects).toEqual([{ type: 'journal', record: { kind: 'numbers', upTo: 6_001 } }]);
      const again = aRoom();
      restoreSnapshot(again, { version: room.version, bytes: encodeSnapshot(room) });
      passNumbersOfNodes(again);
      expect(again.numbers.next).toBe(6_001);
    }
  });

  test('[ST38] takes them back after a deletion, as ever', () => {
    const room = aRoomOfTwo();
    replayRecord(room, { kind: 'storage.ops', ops });
    passNumbersOfNodes(room);
    expect(journaled(change(room, deleteNode('1:3', '5000:0'), createMap('1:4', '5000:0', 'root', 'a')))).toHaveLength(2);
    expect(journaled(change(room, { ...ops[2]!, opId: '1:5' }))).toEqual([]); // known as it is here
    expect(Object.keys(toJson(room.storage) as object).sort()).toEqual(['a', 'b', 'c']);
  });
});

describe('a JSON Patch', () => {
  test('[JP12] passes over ids that a client took before it', () => {
    const room = aRoomOfTwo();
    const patch = (path: string) => say(room, { type: 'storage.patch', operations: [{ op: 'add', path, value: { x: [1] } }] });
    patch('/a'); // its ids begin with 3
    change(room, createList('1:0', '3:3', 'root', 'planted'), createText('1:1', '1:1', 'root', 'text', [['']]));
    change(room, updateText('3:4', '1:1', 0, [{ type: 'insert', index: 0, text: 'y' }]));
    patch('/b');
    say(room, { type: 'storage.patch', operations: [{ op: 'replace', path: '/text', value: 'new' }] });
    expect(toJson(room.storage)).toEqual({ a: { x: [1] }, b: { x: [1] }, planted: [], text: [['new']] });
  });

  test('[JP12] fails where an operation would have no effect, and changes nothing', () => {
    const storage = storageOf(createMap('1:0', '900:0', 'root', 'taken'));
    const add = (path: string) => ({ op: 'add' as const, path, value: [] });
    expect(() =>
      applyJsonPatch(storage, { operations: [{ op: 'add', path: '/n', value: 1 }, add('/map')] }, newIds(900)),
    ).toThrow(
      expect.objectContaining({ code: 'INVALID_STORAGE_MUTATION_REQUEST', facts: expect.objectContaining({ index: 1 }) }),
    );
    expect(toJson(storage)).toEqual({ taken: {} });
  });

  test('[JP12] an empty text may be replaced by an empty one', () => {
    const storage = storageOf(createText('1:0', '1:0', 'root', 'text', []));
    expect(() => applyJsonPatch(storage, { operations: [{ op: 'replace', path: '/text', value: '' }] }, newIds())).not.toThrow();
  });
});
