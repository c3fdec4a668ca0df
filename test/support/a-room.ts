/** A room and its people, for tests of decisions: no sockets, no journal, no clock but the numbers given. */
import { isDeepStrictEqual } from 'node:util';
import { asRoomId, asSessionId, type SessionId } from '../../src/base/ids.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { FULL_ACCESS, type Permissions } from '../../src/protocol/permissions.ts';
import { decide, emptyRoom } from '../../src/room/room.ts';
import type { Command, DecideContext, Effect, Newcomer, RoomState } from '../../src/room/shapes.ts';

export const LIMITS = { connectionsMax: 5, presenceBytesMax: 1_000, ydocsMax: 3 };

export const at = (nowMs: number): DecideContext => ({ nowMs, monotonicMs: nowMs, limits: LIMITS });

export function newcomer(name: string, more: Partial<Newcomer> = {}): Newcomer {
  return { id: asSessionId(name), kind: 'sdk', userId: name, info: null, permissions: FULL_ACCESS, ...more };
}

/** A room in which these people are, joined in this order: the first is actor 1. */
export function aRoom(...people: (string | Newcomer)[]): RoomState {
  const room = emptyRoom(asRoomId('room'), { from: 1, to: 1_001 });
  for (const person of people) join(room, typeof person === 'string' ? newcomer(person) : person);
  return room;
}

export function join(room: RoomState, person: Newcomer): Effect[] {
  return say(room, { type: 'session.join', newcomer: person });
}

export function say(room: RoomState, command: Command, nowMs = 0): Effect[] {
  const effects = decide(room, command, at(nowMs));
  checkHeadcount(room);
  return effects;
}

/** @throws an Error when the count by kind is not that of those who are there. */
function checkHeadcount({ sessions, headcount }: RoomState): void {
  const counted = { sdk: 0, yjs: 0, rest: 0 };
  for (const { kind } of sessions.values()) counted[kind] += 1;
  if (!isDeepStrictEqual(counted, headcount))
    throw new Error(`the headcount is ${JSON.stringify(headcount)} of ${JSON.stringify(counted)}`);
}

export const id = (name: string): SessionId => asSessionId(name);

export function presence(room: RoomState, from: string, data: JsonObject, targetActor: number | null = null): Effect[] {
  return say(room, { type: 'presence.patch', from: id(from), data, targetActor });
}

/** The messages among the effects, without who gets them and when. */
export function messages(effects: readonly Effect[]): unknown[] {
  return effects.flatMap((effect) => (effect.type === 'send' ? [effect.message] : []));
}

export const READER: Permissions = {
  ...FULL_ACCESS,
  room: 'read',
  storage: 'read',
  comments: 'read',
  'comments:public': 'read',
  'comments:private': 'read',
  feeds: 'read',
};
