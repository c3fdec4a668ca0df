/**
 * The roster of a room: who is in it under which number, and how each is described to the others. Knows the people, decides nothing.
 */
import { AppError } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { SmallSet } from '../base/small.ts';
import { scopesOf } from '../protocol/permissions.ts';
import type { RoomUser } from '../protocol/server-messages.ts';
import { handOut } from './kept-presence.ts';
import type { Effect, Newcomer, RoomState, Session } from './shapes.ts';

/** How many numbers are reserved at once when those of the claim are used up. */
const NUMBERS_PER_RESERVATION = 1_000;

/** Makes the session known to the room and gives it its actor number; what must be journaled for that is added to `effects`. */
export function addSession(room: RoomState, newcomer: Newcomer, effects: Effect[]): Session {
  const { id, kind, userId, info, permissions, visit } = newcomer;
  // Written out: V8 gives each copy by spread a hidden class of its own, and there are many sessions.
  const session: Session = {
    id,
    kind,
    userId,
    info,
    permissions,
    visit: visit ?? id,
    actor: takeNumber(room, effects),
    joinedAt: room.decision,
    storageAt: null,
    ydocs: new SmallSet(),
    ydocEncoding: 'V1',
    costlyUpdates: 0,
    asked: null,
    askedAnew: null,
    presence: null,
    copied: null,
    awarenessId: null,
    expiresAtMs: null,
    hearer: null,
  };
  room.sessions.set(session.id, session);
  room.headcount[kind] += 1;
  return session;
}

/** Returns who that was; undefined when nobody was there under this id. */
export function dropSession(room: RoomState, id: SessionId): Session | undefined {
  const session = room.sessions.get(id);
  if (session === undefined) return undefined;
  room.sessions.delete(id);
  room.headcount[session.kind] -= 1;
  return session;
}

/** The next actor number; when the reserved ones run out, a journal record reserves the next block first. */
export function takeNumber(room: RoomState, effects: Effect[]): number {
  const { numbers } = room;
  if (numbers.next >= numbers.reservedTo) {
    numbers.reservedTo = numbers.next + NUMBERS_PER_RESERVATION;
    room.version += 1;
    numbers.reservedAt = room.version;
    effects.push({ type: 'journal', record: { kind: 'numbers', upTo: numbers.reservedTo } });
  }
  const number = numbers.next;
  numbers.next += 1;
  return number;
}

/** @throws AppError ROOM_MOVED when the session is not in the room (any more): it must join anew and sync. */
export function sessionOf(room: RoomState, id: SessionId): Session {
  const session = room.sessions.get(id);
  if (session === undefined) throw new AppError('ROOM_MOVED');
  return session;
}

export function joined(session: Session): Effect {
  return {
    type: 'send',
    to: { allBut: session.id },
    when: 'now',
    message: { type: 'user.joined', actor: session.actor, user: describe(session) },
  };
}

export function usersBut(room: RoomState, id: SessionId): Record<string, RoomUser> {
  const others: Record<string, RoomUser> = {};
  for (const session of room.sessions.values()) if (session.id !== id) others[session.actor] = userOf(session);
  return others;
}

/** Every SDK client that enters gets everybody's. A session that may do something else is another object; info may change in place. */
const users = new WeakMap<Session, RoomUser>();

function userOf(session: Session): RoomUser {
  const known = users.get(session);
  if (known !== undefined && (known.info ?? null) === session.info) return known;
  const user = describe(session);
  users.set(session, user);
  return user;
}

function describe({ userId, info, permissions }: Session): RoomUser {
  return { ...(userId !== null && { id: userId }), ...(info !== null && { info }), scopes: scopesOf(permissions) };
}

export function fullPresence(
  session: Session,
  { to, targetActor }: { to: { only: SessionId } | { allBut: SessionId | null }; targetActor: number },
): Effect {
  const data: JsonObject = handOut(session) ?? {};
  return { type: 'send', to, when: 'now', message: { type: 'presence', actor: session.actor, data, targetActor } };
}

/** For one session the presences of all others for whom the server speaks (protocol 4.3). */
export function presencesFor(room: RoomState, to: Session): Effect[] {
  const effects: Effect[] = [];
  for (const session of room.sessions.values()) {
    if (session === to || session.presence === null || session.kind === 'sdk') continue;
    effects.push(fullPresence(session, { to: { only: to.id }, targetActor: to.actor }));
  }
  return effects;
}
