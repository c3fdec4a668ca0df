/** Questions about documents that one session asks, again and again, beside somebody who types. */
import { expect, test } from 'vitest';
import * as Y from 'yjs';
import type { Effect, RoomState } from '../../../src/room/shapes.ts';
import { takeLate } from '../../../src/room/ydoc/late-answers.ts';
import { aRoom, id, messages, READER, say } from '../../support/a-room.ts';
import { block, bytes, docOf, string, typing } from './builders.ts';

const NOTHING = bytes(0);

/** A room with a document of so many characters, which are one struct of client 7. */
function withText(characters: number): RoomState {
  const room = aRoom('ann', 'bob', 'cat');
  say(room, { type: 'ydoc.change', from: null, guid: '', update: block(7, 0, string('x'.repeat(characters))) });
  return room;
}

let typists = 100;
function type(room: RoomState): void {
  typists += 1;
  say(room, { type: 'ydoc.change', from: id('cat'), guid: '', update: block(typists, 0, string('y')) });
}
const ask = (room: RoomState, who: string, vector: Uint8Array, nowMs = 0, guid = '') =>
  say(room, { type: 'ydoc.fetch', from: id(who), guid, vector }, nowMs);
const tick = (room: RoomState, nowMs = 1_000) => say(room, { type: 'clock.tick' }, nowMs);

/** Whom the effects answer, and the length of the text when they have taken it. */
function answers(effects: readonly Effect[]): [who: string, length: number][] {
  return effects.flatMap((effect): [string, number][] => {
    if (effect.type !== 'send' || effect.message.type !== 'ydoc.state' || !('only' in effect.to)) return [];
    return [[effect.to.only, docOf(effect.message.update).getText('text').length]];
  });
}

test('[CB64] are answered at once up to 2 MiB of documents a second, those of others as ever', () => {
  const room = withText(600_000);
  const heard = Array.from({ length: 6 }, () => {
    type(room);
    return answers(ask(room, 'ann', NOTHING)).length;
  });
  expect(heard).toEqual([1, 1, 1, 1, 0, 0]);
  expect(answers(ask(room, 'bob', NOTHING))).toEqual([['bob', 600_006]]);
  type(room);
  expect(answers(ask(room, 'ann', NOTHING, 1_000))).toEqual([['ann', 600_007]]);
});

test('[CB64] are answered at once, and not counted, while nothing changed since somebody was answered the same', () => {
  const room = withText(2_200_000);
  for (let times = 0; times < 10; times += 1) expect(answers(ask(room, 'ann', NOTHING))).toHaveLength(1);
  type(room);
  expect(ask(room, 'ann', NOTHING)).toEqual([]);
});

test('[CB65] beyond that are answered at the next tick, all about one document by one answer, as it is by then', () => {
  const room = withText(2_200_000);
  ask(room, 'ann', NOTHING);
  type(room);
  const vectors = [bytes(1, 7, 1_000), bytes(2, 7, 900, typists, 1), bytes(1, 7, 1_200)];
  expect(vectors.flatMap((vector) => ask(room, 'ann', vector))).toEqual([]);
  type(room);
  const [told] = messages(tick(room)) as [{ type: 'ydoc.state'; update: Uint8Array }];
  const { structs } = Y.decodeUpdate(told.update);
  expect(structs.map((struct) => struct.id)).toEqual([
    { client: typists, clock: 0 },
    { client: typists - 1, clock: 0 },
    { client: 7, clock: 900 },
  ]);
  expect(tick(room, 2_000)).toEqual([]);
});

test('[CB65] who asked that late hears of every change meanwhile, and nobody does who has left or may not read any more', () => {
  const room = withText(2_200_000);
  for (const who of ['ann', 'bob', 'ann', 'bob']) {
    type(room);
    ask(room, who, NOTHING);
  }
  expect(room.sessions.get(id('ann'))!.ydocs.has('')).toBe(true);
  say(room, { type: 'session.leave', sessionId: id('ann') });
  say(room, { type: 'session.permit', sessionId: id('bob'), permissions: { ...READER, storage: 'none' } });
  expect(answers(tick(room))).toEqual([]);
});

test('[CB65] of many who ask late so many are answered in one tick as one may ask in a second, each in turn', () => {
  const room = withText(1_200_000);
  for (const who of ['ann', 'bob'])
    for (let times = 0; times < 3; times += 1) {
      type(room);
      ask(room, who, NOTHING);
    }
  type(room);
  ask(room, 'cat', NOTHING);
  ask(room, 'cat', bytes(1, 7, 3));
  ask(room, 'cat', bytes(1, 7, 4));
  expect([1, 2, 3].map((second) => answers(tick(room, 1_000 * second)).map(([who]) => who))).toEqual([
    ['ann', 'bob'],
    ['cat'],
    [],
  ]);
});

test('[CB67] of the vector of a question that waits only what its document knows is kept', () => {
  const room = withText(2_200_000);
  ask(room, 'ann', NOTHING);
  type(room);
  const strangers = Array.from({ length: 100 }, (_, n) => [1_000 + n, 5]).flat();
  ask(room, 'ann', bytes(102, 7, 900, 8, 5, ...strangers.slice(0, 200)));
  expect([...takeLate(room)].map(({ vector }) => [...vector])).toEqual([[[7, 900]]]);
});

test('[CB65] a vector that is none is refused, late or not', () => {
  const room = withText(2_200_000);
  ask(room, 'ann', NOTHING);
  type(room);
  expect(() => ask(room, 'ann', bytes(1, 5))).toThrow(expect.objectContaining({ code: 'YJS_UPDATE_INVALID' }));
});

test('[CB64] about two thousand small documents are answered at once', () => {
  const room = aRoom('ann');
  for (const guid of ['', 'a', 'b'])
    for (const update of typing(7, 'abc')) say(room, { type: 'ydoc.change', from: null, guid, update });
  const heard = Array.from({ length: 2_000 }, (_, n) => ask(room, 'ann', bytes(1, 7, 1 + (n % 2)), 0, ['', 'a', 'b'][n % 3]!));
  expect(heard.filter((effects) => effects.length === 0)).toEqual([]);
});
