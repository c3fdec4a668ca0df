/** Clients of both encodings of Yjs in one room: who is told which hash, and what reaches the room. */
import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { AppError } from '../../../src/base/errors.ts';
import { sha256Base64 } from '../../../src/base/sha256.ts';
import { saidIn } from '../../../src/room/frame-commands.ts';
import type { Command, RoomState } from '../../../src/room/shapes.ts';
import { aRoom, id, messages, say } from '../../support/a-room.ts';
import { hashOf } from './builders.ts';

const VECTOR = Uint8Array.of(0);

function edited(): Y.Doc {
  const ydoc = new Y.Doc();
  ydoc.getText('text').insert(0, 'hello, hello');
  for (const from of [7, 4, 0]) ydoc.getText('text').delete(from, 2);
  return ydoc;
}

function frameOf(...updates: readonly Uint8Array[]): string {
  return JSON.stringify(updates.map((update) => ({ type: 301, update: Buffer.from(update).toString('base64'), v2: true })));
}

function settled(room: RoomState): unknown[] {
  return say(room, { type: 'ydoc.settle' }).map((effect) => {
    if (effect.type !== 'send' || effect.message.type !== 'ydoc.hash') return effect.type;
    return [effect.to, effect.message.hash];
  });
}

const fetch = (from: string, encoding?: 'V1' | 'V2'): Command => {
  const asked = { type: 'ydoc.fetch', from: id(from), guid: '', vector: VECTOR } as const;
  return encoding === undefined ? asked : { ...asked, encoding };
};

test('[YD40] a message in V2 reaches the room as one in V1', () => {
  const ydoc = edited();
  const rate = { isWithinRate: () => true };
  const commands = saidIn(frameOf(Y.encodeStateAsUpdateV2(ydoc)), { kind: 'sdk', from: id('ann'), rate }).commands;
  expect(commands).toEqual([{ type: 'ydoc.change', from: 'ann', guid: '', update: Y.encodeStateAsUpdate(ydoc) }]);
});

test('[YD42] each is told the hash that it takes itself: with its document, and after each change', () => {
  const room = aRoom('ann', 'bob');
  const [ydoc, other] = [edited(), edited()];
  say(room, { type: 'ydoc.change', from: null, guid: '', update: Y.encodeStateAsUpdate(ydoc) });
  const inV2 = () => sha256Base64(Y.encodeSnapshotV2(Y.snapshot(ydoc)));
  expect(messages(say(room, fetch('bob', 'V1')))).toMatchObject([{ hash: hashOf(ydoc) }]);
  say(room, { type: 'ydoc.change', from: null, guid: '', update: Y.encodeStateAsUpdate(other) });
  Y.applyUpdate(ydoc, Y.encodeStateAsUpdate(other));
  expect(settled(room)).toEqual([[{ ydocHashedIn: 'V1', guid: '' }, hashOf(ydoc)]]); // nobody speaks V2, and no hash is made for it
  expect(messages(say(room, fetch('ann', 'V2')))).toMatchObject([{ hash: inV2() }]);
  expect(messages(say(room, fetch('ann')))).toMatchObject([{ hash: inV2() }]); // of who does not say is known what it said before
  ydoc.getText('text').insert(0, '!');
  say(room, { type: 'ydoc.change', from: id('ann'), guid: '', update: Y.encodeStateAsUpdate(ydoc) });
  expect(settled(room)).toEqual([
    [{ ydocHashedIn: 'V1', guid: '' }, hashOf(ydoc)],
    [{ ydocHashedIn: 'V2', guid: '' }, inV2()],
  ]);
});

test('[YD41] what is far longer in V1 counts as further messages: one frame of many is refused at the first that is too much', () => {
  const ydoc = new Y.Doc();
  ydoc.clientID = 2 ** 31;
  ydoc.getArray('list').push(Array.from({ length: 9_000 }, () => new Y.Map()));
  const update = Y.encodeStateAsUpdateV2(ydoc);
  const asked: number[] = [];
  const rate = { isWithinRate: (count: number) => asked.push(count) < 3 };
  const hear = (frame: string) => saidIn(frame, { kind: 'sdk', from: id('ann'), rate }).commands;
  expect(hear(frameOf(...Array<Uint8Array>(100).fill(update)))).toEqual([]);
  expect(asked).toHaveLength(3);
  expect(Math.min(...asked)).toBeGreaterThan(5);
  asked.length = 0;
  expect(hear(frameOf(Y.encodeStateAsUpdateV2(edited())))).toHaveLength(1);
  expect(asked).toEqual([]);
});

test('[YD7] V1 bytes that are said to be V2 are refused', () => {
  const rate = { isWithinRate: () => true };
  const hear = () => saidIn(frameOf(Y.encodeStateAsUpdate(edited())), { kind: 'sdk', from: id('ann'), rate }).commands;
  expect(hear).toThrow(AppError);
});
