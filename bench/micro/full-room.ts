/** A room of any size for the benches of decisions and fan-out: no sockets, no journal, no clock. */
import { asRoomId, asSessionId, type SessionId } from '../../src/base/ids.ts';
import { FULL_ACCESS } from '../../src/protocol/permissions.ts';
import { decide, emptyRoom } from '../../src/room/room.ts';
import type { DecideContext, RoomState, SessionKind } from '../../src/room/shapes.ts';

export const CONTEXT: DecideContext = {
  nowMs: 0,
  monotonicMs: 0,
  limits: { connectionsMax: 10_000, presenceBytesMax: 65_536, ydocsMax: 10 },
};

export const person = (index: number): SessionId => asSessionId(`person ${index}`);

export function fullRoom(people: number, kind: SessionKind): RoomState {
  const room = emptyRoom(asRoomId('room'), { from: 1, to: people + 1 });
  for (let index = 0; index < people; index += 1) {
    const newcomer = { id: person(index), kind, userId: `user ${index}`, info: null, permissions: FULL_ACCESS };
    decide(room, { type: 'session.join', newcomer }, CONTEXT);
  }
  return room;
}
