/** What passes and is gone: presence, broadcast events, and presences set over REST with a time to live. Never journaled. */
import { AppError } from '../base/errors.ts';
import { asSessionId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { FULL_ACCESS } from '../protocol/permissions.ts';
import { ALL_OTHERS } from '../protocol/server-messages.ts';
import { awarenessFromPresence, refreshAwareness } from './awareness.ts';
import { checkPresenceSize, completePresence, fullPresenceText, patchPresence } from './kept-presence.ts';
import { copyFor, lateCopies } from './newcomers.ts';
import { addSession, fullPresence, joined, sessionOf } from './roster.ts';
import { removeSession } from './sessions.ts';
import type { ActiveUser, Command, DecideContext, Effect, RoomState, Session } from './shapes.ts';

type PresencePatch = Extract<Command, { type: 'presence.patch' }>;
type PresenceFetch = Extract<Command, { type: 'presence.fetch' }>;
type Broadcast = Extract<Command, { type: 'event.broadcast' }>;
type PresenceSet = Extract<Command, { type: 'presence.set' }>;

/** The sender of what REST broadcasts (contract, Rooms rule 7). */
const REST_ACTOR = -1;

export function decidePresence(room: RoomState, { from, data, targetActor }: PresencePatch, ctx: DecideContext): Effect[] {
  const session = sessionOf(room, from);
  if (targetActor !== null && targetActor !== ALL_OTHERS) return presenceFor(room, session, { data, targetActor }, ctx);
  if (targetActor === null) patchPresence(session, data, ctx);
  else replacePresence(session, data, ctx);
  return [
    { type: 'send', to: { allBut: from }, when: 'now', message: { type: 'presence', actor: session.actor, data, targetActor } },
    ...awarenessFromPresence(room, session, data, ctx),
  ];
}

function replacePresence(session: Session, data: JsonObject, ctx: DecideContext): void {
  checkPresenceSize(data, ctx);
  session.presence = data;
}

/**
 * A full presence for one newcomer; nothing when it has left. What the room knows already wins over what the client says: an SDK client
 * copies its presence when the newcomer joins, and a patch made before its next frame overtakes that copy within the frame.
 */
function presenceFor(
  room: RoomState,
  session: Session,
  { data, targetActor }: { data: JsonObject; targetActor: number },
  ctx: DecideContext,
): Effect[] {
  completePresence(session, data, ctx);
  for (const newcomer of room.sessions.values()) if (newcomer.actor === targetActor) return copyFor(room, session, newcomer, ctx);
  return [];
}

/** For an SDK client that was too slow for some patches: each of the others as they are now (reliability 2.f, socket send buffer). */
export function decidePresenceFetch(room: RoomState, { from }: PresenceFetch): Effect[] {
  const asker = sessionOf(room, from);
  const texts: string[] = [];
  for (const session of room.sessions.values()) {
    const text = session === asker ? null : fullPresenceText(session);
    if (text !== null) texts.push(text);
  }
  return texts.length === 0 ? [] : [{ type: 'send', to: { only: from }, when: 'now', message: { type: 'presences', texts } }];
}

export function decideBroadcast(room: RoomState, { from, event }: Broadcast): Effect[] {
  const actor = from === null ? REST_ACTOR : sessionOf(room, from).actor;
  return [
    { type: 'send', to: { allBut: from }, when: 'now', message: { type: 'event', actor, event } },
    { type: 'reply', value: null, when: 'now' },
  ];
}

export function decideUsersList(room: RoomState): Effect[] {
  const users: ActiveUser[] = [...room.sessions.values()].map((session) => ({
    type: 'user',
    id: session.userId,
    connectionId: session.actor,
    info: session.info ?? {},
  }));
  return [{ type: 'reply', value: users, when: 'now' }];
}

/** A user who is there only by REST: seen by all until the time is up; a repeated call replaces the data and restarts the clock (supplement 1.3). */
export function decidePresenceSet(room: RoomState, { userId, data, info, ttlMs }: PresenceSet, ctx: DecideContext): Effect[] {
  checkPresenceSize(data, ctx);
  const id = asSessionId(`rest:${userId}`);
  const known = room.sessions.get(id);
  if (known === undefined && room.sessions.size >= ctx.limits.connectionsMax) {
    throw new AppError('ROOM_FULL', { connectionsMax: ctx.limits.connectionsMax });
  }
  const effects: Effect[] = [];
  const session = known ?? addSession(room, { id, kind: 'rest', userId, info, permissions: FULL_ACCESS }, effects);
  const hasOtherInfo = JSON.stringify(session.info) !== JSON.stringify(info);
  session.info = info;
  if (known === undefined || hasOtherInfo) effects.push(joined(session)); // the only message that carries it
  session.presence = data;
  session.expiresAtMs = ctx.monotonicMs + ttlMs;
  effects.push(fullPresence(session, { to: { allBut: null }, targetActor: ALL_OTHERS }));
  effects.push({ type: 'reply', value: null, when: 'now' });
  return effects;
}

/** Whether time alone can change anything here. Most rooms have nobody of whom that is true, and a worker has thousands of rooms. */
export function heedsTime(room: RoomState): boolean {
  const { sessions, awareness } = room;
  if (awareness.size > 0 || room.lateCopies !== null || room.lateAnswers !== null) return true;
  for (const { expiresAtMs } of sessions.values()) if (expiresAtMs !== null) return true;
  return false;
}

/** Ends presences whose time is up, tells newcomers what they are still to hear, and keeps alive what y-websocket clients would otherwise forget. */
export function decideTick(room: RoomState, ctx: DecideContext): Effect[] {
  const effects = refreshAwareness(room, ctx);
  // A `Map` may lose entries while it is walked.
  for (const session of room.sessions.values()) {
    if (hasExpired(session, ctx.monotonicMs)) effects.push(...removeSession(room, session.id));
  }
  for (const effect of lateCopies(room)) effects.push(effect);
  return effects;
}

function hasExpired({ expiresAtMs }: Session, monotonicMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= monotonicMs;
}
