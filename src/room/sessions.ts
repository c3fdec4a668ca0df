/** Coming and going: join, leave, changed permissions, and closing a room for everyone. */
import { AppError } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { SmallSet } from '../base/small.ts';
import { allows, scopesOf } from '../protocol/permissions.ts';
import type { ServerMessage } from '../protocol/server-messages.ts';
import { awarenessOfAll, forgetAwareness } from './awareness.ts';
import { addSession, dropSession, joined, presencesFor, usersBut } from './roster.ts';
import type { Audience, Command, DecideContext, Effect, RoomState, Session } from './shapes.ts';
import { noteDeparture } from './storage/text-departures.ts';
import { askForYdoc } from './ydoc/decide.ts';

type Join = Extract<Command, { type: 'session.join' }>;
type Leave = Extract<Command, { type: 'session.leave' }>;
type Gone = Extract<Command, { type: 'sessions.gone' }>;
type Depart = Extract<Command, { type: 'sessions.depart' }>;
type Permit = Extract<Command, { type: 'session.permit' }>;
type Close = Extract<Command, { type: 'room.close' }>;

export function decideJoin(room: RoomState, { newcomer }: Join, ctx: DecideContext): Effect[] {
  const lack = lackOf(newcomer);
  if (lack !== null) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', lack);
  if (!room.sessions.has(newcomer.id) && room.sessions.size >= ctx.limits.connectionsMax)
    throw new AppError('ROOM_FULL', { connectionsMax: ctx.limits.connectionsMax });

  const effects: Effect[] = removeSession(room, newcomer.id); // an earlier attempt of the same join got through after all
  const session = addSession(room, newcomer, effects);
  if (session.kind === 'sdk') effects.push(roomStateFor(room, session));
  effects.push(joined(session));
  // SDK clients answer USER_JOINED with their presence themselves; for all others the server speaks (protocol 4.3)
  if (session.kind === 'sdk') for (const effect of presencesFor(room, session)) effects.push(effect);
  if (session.kind === 'yjs') effects.push(...askForYdoc(room, session), ...awarenessOfAll(room, session.id));
  effects.push({ type: 'reply', value: { actor: session.actor }, when: 'now' });
  return effects;
}

function roomStateFor(room: RoomState, session: Session): Effect {
  return {
    type: 'send',
    to: { only: session.id },
    // A number beyond the claim's block might be handed out again after a crash, unless its reservation is written down first.
    ...(session.actor >= room.numbers.claimedTo ? { when: 'durable', upTo: room.numbers.reservedAt } : { when: 'now' }),
    message: {
      type: 'room.state',
      actor: session.actor,
      scopes: scopesOf(session.permissions),
      users: usersBut(room, session.id),
    },
  };
}

/**
 * The message as it leaves after it had to wait. ROOM_STATE names those who are there by then: who came or left meanwhile its reader was told of before it, and an
 * SDK client takes whom it names for present, and all others for gone.
 */
export function asItLeaves(room: RoomState, to: Audience, message: ServerMessage): ServerMessage {
  return message.type === 'room.state' && 'only' in to ? { ...message, users: usersBut(room, to.only) } : message;
}

export function decideLeave(room: RoomState, { sessionId }: Leave): Effect[] {
  return removeSession(room, sessionId);
}

/** Sessions whose sockets are not where they were: of them those that are in this room. */
export function decideGone(room: RoomState, { sessionIds }: Gone): Effect[] {
  const gone = [...sessionIds].filter((id) => room.sessions.has(id));
  return gone.flatMap((id) => removeSession(room, id));
}

/** A worker has ended, or fell out of touch: all sessions over its sockets end here; those that live on join anew. */
export function decideDepart(room: RoomState, { workerName }: Depart): Effect[] {
  const gone = [...room.sessions.keys()].filter((id) => id.startsWith(`${workerName}-`));
  return gone.flatMap((id) => removeSession(room, id));
}

export function removeSession(room: RoomState, sessionId: SessionId): Effect[] {
  const session = dropSession(room, sessionId);
  if (session === undefined) return [];
  noteDeparture(room.storage.departures, session.actor);
  return [
    { type: 'send', to: { allBut: sessionId }, when: 'now', message: { type: 'user.left', actor: session.actor } },
    ...forgetAwareness(room, session),
  ];
}

/** New permissions for a live session: lost entry closes it, anything else acts from the next message on, in both directions. */
export function decidePermit(room: RoomState, { sessionId, permissions }: Permit): Effect[] {
  const session = room.sessions.get(sessionId);
  if (session === undefined) return [];
  const facts = lackOf({ kind: session.kind, permissions });
  if (facts !== null) return [{ type: 'close', session: sessionId, code: 'UNAUTHORIZED_ROOM_ACCESS', facts, when: 'now' }];
  const follows = allows(permissions, 'storage', 'read') ? {} : { storageAt: null, ydocs: new SmallSet<string>() };
  const permitted = { ...session, permissions, ...follows };
  room.sessions.set(sessionId, permitted);
  // What it typed while it might not is with it alone, and all that it types from now on follows on that.
  const isWriter = !allows(session.permissions, 'storage', 'write') && allows(permissions, 'storage', 'write');
  return isWriter && session.kind === 'yjs' ? askForYdoc(room, permitted) : [];
}

/** What is missing for being in the room at all, as facts of the refusal; a Yjs client comes for the document alone. */
function lackOf({ kind, permissions }: Pick<Session, 'kind' | 'permissions'>): JsonObject | null {
  if (!allows(permissions, 'room', 'read')) return {};
  return kind === 'yjs' && !allows(permissions, 'storage', 'read') ? { need: 'storage:read' } : null;
}

/** Everybody out: the room was deleted, renamed, or moved to another organisation. Its row in the database says so already. */
export function decideClose({ code, facts }: Close): Effect[] {
  return [
    { type: 'close', session: 'everyone', code, facts, when: 'now' },
    { type: 'reply', value: null, when: 'now' },
    { type: 'retire' },
  ];
}
