/** For operators who look into a room: who is in it and what they show, page by page, and sending them away. */
import { scopesOf } from '../protocol/permissions.ts';
import { handOut } from './kept-presence.ts';
import { removeSession } from './sessions.ts';
import type { Command, Effect, RoomState, Session, SessionsPage } from './shapes.ts';

type List = Extract<Command, { type: 'sessions.list' }>;
type Dismiss = Extract<Command, { type: 'sessions.dismiss' }>;

/** In the order of their numbers, which is the order in which they came. */
export function decideSessionsList(room: RoomState, { after, limit }: List): Effect[] {
  const later = [...room.sessions.values()].filter(({ actor }) => actor > after).sort((a, b) => a.actor - b.actor);
  const sessions = later.slice(0, limit);
  const page: SessionsPage = {
    version: room.version,
    total: room.sessions.size,
    nextAfter: later.length > limit ? sessions.at(-1)!.actor : null,
    sessions: sessions.map(seen),
  };
  return [{ type: 'reply', value: page, when: 'now' }];
}

function seen(session: Session): SessionsPage['sessions'][number] {
  const { actor, kind, userId, info, permissions } = session;
  return { connectionId: actor, kind, userId, info: info ?? {}, permissions: scopesOf(permissions), presence: handOut(session) };
}

/** Clients come back by themselves if they may; a presence set over REST has no socket, and just ends. */
export function decideSessionsDismiss(room: RoomState, { connectionId }: Dismiss): Effect[] {
  const dismissed = [...room.sessions.values()].filter(({ actor }) => connectionId === null || actor === connectionId);
  const effects = dismissed.flatMap((session): Effect[] =>
    session.kind === 'rest' ? removeSession(room, session.id) : [closing(session)],
  );
  return [...effects, { type: 'reply', value: dismissed.length, when: 'now' }];
}

function closing({ id }: Session): Effect {
  return { type: 'close', session: id, code: 'KICKED', facts: { reason: 'An operator closed this connection.' }, when: 'now' };
}
