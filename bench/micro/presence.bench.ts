/**
 * Does the price of one cursor move grow with the room?
 * Expected: no, below 2 µs in a room of 2 and of 1,000, because an effect names its audience instead of listing it. A presence for one
 * person (what SDK clients send to each newcomer) does grow, by a search for that person: below 20 µs among 1,000. Fan-out is not in it.
 */
import { bench, describe } from 'vitest';
import { decide } from '../../src/room/room.ts';
import { CONTEXT, fullRoom, person } from './full-room.ts';

describe.each([2, 100, 1_000])('presence.patch in a room of %i', (people) => {
  const room = fullRoom(people, 'sdk');
  const data = { cursor: { x: 100, y: 200 } };

  bench('for all others', () => {
    decide(room, { type: 'presence.patch', from: person(0), data, targetActor: null }, CONTEXT);
  });

  bench('for the last who came', () => {
    decide(room, { type: 'presence.patch', from: person(0), data, targetActor: people }, CONTEXT);
  });
});
