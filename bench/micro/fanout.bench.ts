/**
 * What does a turn of the event loop cost in a room of 50, when 1, 10 or all 50 spoke in it?
 * Expected: it grows with the number of messages, not with its square; each message is encoded once, and who hears what is found in one
 * walk over the room. Below 20 µs for one message, below 1 ms for fifty. Sending is not in it.
 */
import { bench, describe } from 'vitest';
import type { ServerMessage } from '../../src/protocol/server-messages.ts';
import { Fanout } from '../../src/room/fanout.ts';
import { fullRoom, person } from './full-room.ts';

const PEOPLE = 50;

const cursor = (index: number): ServerMessage => ({
  type: 'presence',
  actor: index + 1,
  data: { cursor: { x: index, y: 200 } },
  targetActor: null,
});
const update = (index: number): ServerMessage => ({ type: 'ydoc.update', guid: '', update: new Uint8Array(30).fill(index) });

describe.each([1, 10, PEOPLE])('%i of 50 speak in one turn', (speakers) => {
  const turnOf = (kind: 'sdk' | 'yjs', messageOf: (index: number) => ServerMessage): (() => void) => {
    const room = fullRoom(PEOPLE, kind);
    const messages = Array.from({ length: speakers }, (_, index) => messageOf(index));
    const clock = { soon: () => undefined, after: () => () => undefined, monotonicMs: () => 0 };
    const sessions = { has: () => true, deliver: () => null };
    const fanout = new Fanout({ clock, sessions }, { room, guarded: () => undefined });
    return () => {
      for (let index = 0; index < speakers; index += 1) {
        fanout.send({ allBut: person(index) }, messages[index]!, room.decision + 1);
      }
      fanout.flush();
    };
  };

  bench('cursors, to SDK clients', turnOf('sdk', cursor));
  bench('Yjs updates, to y-websocket clients', turnOf('yjs', update));
});
