/**
 * Cursors across client kinds: y-websocket clients speak of awareness, SDK clients of presence; here each becomes the other.
 *
 * The SDK's Yjs provider keeps its awareness in two presence keys (protocol 9.2). y-websocket clients echo what they hear, and forget
 * states not renewed for 30 s; hence the clocks, the owner of each state, and the refresh.
 */
import { isWithin } from '../base/clock.ts';
import type { SessionId } from '../base/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { putNewest } from '../base/newest.ts';
import { SmallMap } from '../base/small.ts';
import { ALL_OTHERS } from '../protocol/server-messages.ts';
import { type AwarenessState, decodeAwareness } from '../protocol/yjs-frames.ts';
import { checkPresenceSize } from './kept-presence.ts';
import { fullPresence, sessionOf } from './roster.ts';
import type { AwarenessEntry, Command, DecideContext, Effect, RoomState, Session } from './shapes.ts';

type AwarenessChange = Extract<Command, { type: 'awareness.change' }>;
type AwarenessFetch = Extract<Command, { type: 'awareness.fetch' }>;

const CLIENT_ID_KEY = '__yjs_clientid';
const STATE_KEY = '__yjs';

/** y-protocols drops a state after 30 s without news; half of that leaves room for one lost message. */
const REFRESH_EVERY_MS = 15_000;

/**
 * Clocks that the room makes follow the time: what the next owner of the room makes is then newer than what clients hold from this one. A
 * presence changes less often than this.
 */
const CLOCK_TICK_MS = 10;

/** Yjs clients that left last, of whom the room keeps the clock with which their state ended. */
const DEPARTED_MAX = 256;

/** Highest clock that is taken. It counts changes; from one near the end of safe integers ours could not count on. */
const CLOCK_MAX = 2 ** 32;

/** States from a y-websocket client: its own are taken, echoes and those of others are not. */
export function decideAwareness(room: RoomState, { from, update }: AwarenessChange, ctx: DecideContext): Effect[] {
  const session = sessionOf(room, from);
  const states = decodeAwareness(update);
  for (const { state } of states) if (state !== null) checkPresenceSize(state, ctx);
  if (states.length === 1) return acceptState(room, session, { state: states[0]!, update }, ctx); // as nearly all are: it goes on as it came
  return states.flatMap((state) => acceptState(room, session, { state, update: null }, ctx));
}

interface Incoming {
  readonly state: AwarenessState;
  /** The same alone, encoded; null where it came with others. */
  readonly update: Uint8Array | null;
}

function acceptState(room: RoomState, session: Session, incoming: Incoming, ctx: DecideContext): Effect[] {
  const { clientId, clock, state } = incoming.state;
  const known = room.awareness.get(clientId);
  if (known === undefined && state === null) return []; // an echo of somebody who has left
  if (clock > CLOCK_MAX || (known !== undefined && clock <= known.clock)) return []; // nonsense, an echo, or old news
  if (session.awarenessId !== null && session.awarenessId !== clientId) return []; // one session speaks for one Yjs client
  if (known !== undefined && known.session !== session.id) {
    // The same client on a newer connection: the older one has not noticed yet that it is dead.
    const previous = room.sessions.get(known.session);
    if (previous !== undefined) previous.awarenessId = null;
  }
  session.awarenessId = clientId;
  room.awareness.set(clientId, { session: session.id, clock, state, sentAtMs: ctx.nowMs });
  session.presence = { [CLIENT_ID_KEY]: clientId, [STATE_KEY]: state };
  // The sender too: y-websocket closes a connection on which it does not even hear its own renewals for 30 s.
  return [
    sendStates([incoming.state], { allBut: null }, incoming.update),
    fullPresence(session, { to: { allBut: session.id }, targetActor: ALL_OTHERS }),
    ...(known === undefined ? tellReturned(room, session, incoming.state) : []),
  ];
}

/**
 * A Yjs client that comes back says its state at the clock at which it was last heard, and to others that state has ended at a later one. It is told that
 * end itself: y-protocols then says at once, at a clock beyond that, that it is there.
 */
function tellReturned(room: RoomState, { id }: Session, { clientId, clock }: AwarenessState): Effect[] {
  const endedAt = room.departed?.get(clientId) ?? -1;
  room.departed?.delete(clientId);
  return endedAt < clock ? [] : [sendStates([{ clientId, clock: endedAt, state: null }], { only: id })];
}

function noteDeparted(room: RoomState, clientId: number, clock: number): void {
  room.departed ??= new SmallMap();
  putNewest(room.departed, clientId, clock, DEPARTED_MAX);
}

/** The awareness that an SDK client's presence carries, for y-websocket clients. */
export function awarenessFromPresence(room: RoomState, session: Session, patch: JsonObject, ctx: DecideContext): Effect[] {
  if (!(STATE_KEY in patch) && !(CLIENT_ID_KEY in patch)) return [];
  const clientId: Json | undefined = session.presence?.[CLIENT_ID_KEY];
  if (typeof clientId !== 'number' || !Number.isSafeInteger(clientId) || clientId < 0) return [];
  const state = session.presence?.[STATE_KEY];
  const known = room.awareness.get(clientId);
  if (known === undefined && !isJsonObject(state)) return [];
  const entry: AwarenessEntry = {
    session: session.id,
    clock: Math.max((known?.clock ?? 0) + 1, Math.floor(ctx.nowMs / CLOCK_TICK_MS)),
    state: isJsonObject(state) ? state : null,
    sentAtMs: ctx.nowMs,
  };
  const former = session.awarenessId === clientId ? [] : forgetAwareness(room, session); // it goes on with another document
  session.awarenessId = clientId;
  room.awareness.set(clientId, entry);
  return [...former, sendStates([{ clientId, clock: entry.clock, state: entry.state }], { allBut: session.id })];
}

export function decideAwarenessFetch(room: RoomState, { from }: AwarenessFetch): Effect[] {
  return awarenessOfAll(room, from);
}

/** All live states, for a newcomer. */
export function awarenessOfAll(room: RoomState, to: SessionId): Effect[] {
  const states: AwarenessState[] = [];
  for (const [clientId, { clock, state }] of room.awareness) if (state !== null) states.push({ clientId, clock, state });
  return states.length === 0 ? [] : [sendStates(states, { only: to })];
}

/** Tells y-websocket clients that the one who left is gone. */
export function forgetAwareness(room: RoomState, { id, awarenessId }: Session): Effect[] {
  if (awarenessId === null) return [];
  const entry = room.awareness.get(awarenessId);
  if (entry === undefined || entry.session !== id) return [];
  room.awareness.delete(awarenessId);
  const clock = entry.clock + 1;
  noteDeparted(room, awarenessId, clock);
  return [sendStates([{ clientId: awarenessId, clock, state: null }], { allBut: id })];
}

/** y-websocket clients renew their own states; for SDK clients, who do not know that custom, the room does. */
export function refreshAwareness(room: RoomState, ctx: DecideContext): Effect[] {
  const states: AwarenessState[] = [];
  for (const [clientId, entry] of room.awareness) {
    if (entry.state === null || isWithin(REFRESH_EVERY_MS, { fromMs: entry.sentAtMs, nowMs: ctx.nowMs })) continue;
    if (room.sessions.get(entry.session)?.kind === 'yjs') continue;
    const renewed = { ...entry, clock: entry.clock + 1, sentAtMs: ctx.nowMs };
    room.awareness.set(clientId, renewed);
    states.push({ clientId, clock: renewed.clock, state: renewed.state });
  }
  return states.length === 0 ? [] : [sendStates(states, { allBut: null })];
}

type Hearers = { readonly only: SessionId } | { readonly allBut: SessionId | null };

/** They are encoded when somebody hears them, if they are still news then (`frames.ts`): one small patch of a presence may tell a large state anew. */
function sendStates(states: readonly AwarenessState[], to: Hearers, update: Uint8Array | null = null): Effect {
  const tellsOf = states.some(({ state }) => state === null) ? 'departure' : 'state';
  return { type: 'send', to, when: 'now', message: { type: 'awareness', states, update, tellsOf } };
}
