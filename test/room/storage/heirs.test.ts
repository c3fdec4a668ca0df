import { expect, test } from 'vitest';
import { asSessionId } from '../../../src/base/ids.ts';
import { OP } from '../../../src/protocol/storage-ops.ts';
import type { Effect, RoomState } from '../../../src/room/shapes.ts';
import { comeLate, noHeirs, noteHeir } from '../../../src/room/storage/heirs.ts';
import { aRoom, join, newcomer, say } from '../../support/a-room.ts';
import { toJson } from '../../support/storage-documents.ts';

const op = (opId: string, value: string) => ({ type: OP.UPDATE_OBJECT, id: 'root', opId, data: { key: value } }) as const;

function change(room: RoomState, from: string, ...ops: ReturnType<typeof op>[]): Effect[] {
  return say(room, { type: 'storage.change', from: asSessionId(from), ops });
}

test('[ST43] what a client sent before it came back is not heard once it has brought that back, and that connection is closed', () => {
  const room = aRoom('before', 'other', 'after'); // 1, 2, 3
  change(room, 'before', op('1:0', 'oldest'));
  change(room, 'after', op('1:1', 'old'), op('3:2', 'new'));
  expect(change(room, 'before', op('1:1', 'old'))).toEqual([
    { type: 'close', session: 'before', code: 'ROOM_MOVED', facts: {}, when: 'now' },
  ]);
  expect(toJson(room.storage)).toEqual({ key: 'new' });
  change(room, 'other', op('2:0', 'of another'));
  expect(toJson(room.storage)).toEqual({ key: 'of another' });
});

test('[ST43] a client that is there comes back with it', () => {
  const room = aRoom('ann', 'rude'); // 1, 2
  change(room, 'rude', op('1:99', 'in the name of ann'));
  expect(change(room, 'ann', op('1:0', 'mine'))).toMatchObject([{ type: 'close' }]);
  say(room, { type: 'session.leave', sessionId: asSessionId('ann') });
  join(room, newcomer('ann again')); // 3
  change(room, 'ann again', op('1:0', 'mine'), op('3:1', 'too'));
  change(room, 'ann again', op('1:0', 'mine'));
  expect(toJson(room.storage)).toEqual({ key: 'mine' });
});

test('[ST43] the last thousand connections that were brought back are known', () => {
  const heirs = noHeirs();
  for (let maker = 1; maker <= 1_001; maker += 1) noteHeir(heirs, [op(`${maker}:0`, '')], 5_000);
  expect(comeLate(heirs, [op('1:0', '')], 1)).toBe(false);
  expect(comeLate(heirs, [op('2:0', '')], 2)).toBe(true);
});
