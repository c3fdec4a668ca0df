/** A document whose stored bytes Yjs cannot read, beside others in its room. */
import { expect, test } from 'vitest';
import type { Effect, RoomState } from '../../../src/room/shapes.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { block, bytes, string } from './builders.ts';

const NOTHING = bytes(0);
const LONG = 'x'.repeat(2_200_000);

/** All that ann follows, with a change in each that is not settled. */
function withDocuments(...guids: string[]): RoomState {
  const room = aRoom('ann', 'bob');
  for (const guid of guids) {
    say(room, { type: 'ydoc.fetch', from: id('ann'), guid, vector: NOTHING });
    write(room, guid, 'a');
  }
  return room;
}

let writers = 100;
function write(room: RoomState, guid: string, text: string): void {
  writers += 1;
  say(room, { type: 'ydoc.change', from: null, guid, update: block(writers, 0, string(text)) });
}

function spoil(room: RoomState, guid: string): void {
  const base = bytes(1, 1, 9, 0, 200, 200, 200);
  Object.assign(room.ydocs.get(guid)!, { answers: null, live: null, base, baseScan: undefined });
}

const ask = (room: RoomState, guid: string, vector = NOTHING): Effect[] =>
  say(room, { type: 'ydoc.fetch', from: id('ann'), guid, vector });

/** What becomes of which document. */
const outcomes = (effects: readonly Effect[]): string[] =>
  effects.map((effect) => {
    if (effect.type === 'unreadable') return `${effect.type} ${effect.guid} ${effect.askedBy}`;
    return effect.type === 'send' && 'guid' in effect.message ? `${effect.message.type} ${effect.message.guid}` : effect.type;
  });

test('[YH4] a document that cannot be read keeps the hashes of the others from nobody, and is not settled without end', () => {
  const room = withDocuments('bad', 'good');
  spoil(room, 'bad');
  expect(outcomes(say(room, { type: 'ydoc.settle' }))).toEqual(['unreadable bad null', 'ydoc.hash good']);
  expect(room.unsettled.size).toBe(0);
});

test('[YH4] nor does it late answers about others, before it and behind it', () => {
  const room = withDocuments('', 'bad', 'good');
  write(room, '', LONG);
  ask(room, ''); // and no more at once in this second
  for (const guid of ['', 'bad', 'good']) write(room, guid, 'b');
  spoil(room, 'bad');
  for (const guid of ['good', 'bad', '']) expect(ask(room, guid, bytes(1, 9, 0))).toEqual([]);
  const told = [1_000, 2_000, 3_000].flatMap((nowMs) => outcomes(say(room, { type: 'clock.tick' }, nowMs)));
  expect(told).toEqual(['ydoc.state good', 'unreadable bad ann', 'ydoc.state ']);
});
