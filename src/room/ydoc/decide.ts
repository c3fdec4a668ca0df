/**
 * What a room decides about its Yjs documents. How bytes merge is in `ydoc.ts`; here is who may, who is told, and what is written down.
 *
 * Updates go to peers at once, a CRDT heals; everything that a client could take for "saved" (state vectors, sync replies, hashes, REST
 * answers) waits for the journal, so clients bring back whatever was lost (design §4).
 */
import { isWithin } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { SessionId } from '../../base/ids.ts';
import { SmallMap, SmallSet } from '../../base/small.ts';
import { YDOC_ENCODINGS, type YdocEncoding } from '../../protocol/client-messages.ts';
import { allows } from '../../protocol/permissions.ts';
import { noteChange } from '../history.ts';
import { sessionOf } from '../roster.ts';
import type { Command, DecideContext, Effect, RoomState, Session } from '../shapes.ts';
import { isHere } from './fit.ts';
import { readYdocJson } from './json.ts';
import { isAnsweredNow, type LateQuestion, noteLate, takeLate } from './late-answers.ts';
import { YDOC_LIMITS } from './limits.ts';
import { scanUpdate } from './scan.ts';
import { decodeKnownOf } from './vector.ts';
import {
  type Accepted,
  acceptUpdate,
  emptyYdoc,
  isAtHand,
  missingFor,
  missingForSession,
  snapshotHash,
  stateVector,
  type Ydoc,
} from './ydoc.ts';

type Of<Type extends Command['type']> = Extract<Command, { type: Type }>;

/** Who may not read documents is not told, and stays for the rest of the room; it asks again by itself once it may (`told.ts`). */
export function decideYdocFetch(
  room: RoomState,
  { from, guid, vector, encoding }: Of<'ydoc.fetch'>,
  ctx: DecideContext,
): Effect[] {
  const session = sessionOf(room, from);
  if (encoding !== undefined) session.ydocEncoding = encoding;
  if (!allows(session.permissions, 'storage', 'read')) return [];
  checkYdocCount(session.ydocs, guid, ctx);
  const doc = room.ydocs.get(guid) ?? emptyYdoc();
  const clocks = decodeKnownOf(doc.known, vector);
  if (isAtHand(doc, clocks) || isAnsweredNow(session, doc, ctx)) return [answer(session, doc, { guid, vector: clocks })];
  session.ydocs.add(guid);
  noteLate(room, doc, { session, guid, vector: clocks });
  return [];
}

/** Answers what was asked too often, as documents and rights are by now. Never throws. */
export function decideLateYdocs(room: RoomState): Effect[] {
  const effects: Effect[] = [];
  for (const { session, guid, vector } of takeLate(room)) {
    if (!allows(session.permissions, 'storage', 'read')) continue;
    const doc = room.ydocs.get(guid) ?? emptyYdoc();
    effects.push(unlessUnreadable({ guid, askedBy: session.id }, () => answer(session, doc, { guid, vector })));
  }
  return effects;
}

/** Of one document among several: that it cannot be read concerns nobody who waits for another. */
function unlessUnreadable(of: { readonly guid: string; readonly askedBy: SessionId | null }, made: () => Effect): Effect {
  try {
    return made();
  } catch (error) {
    return { type: 'unreadable', ...of, error, when: 'now' };
  }
}

/** From here on the session follows the document. */
function answer(session: Session, doc: Ydoc, { guid, vector }: Pick<LateQuestion, 'guid' | 'vector'>): Effect {
  const update = missingForSession(doc, vector, session.id);
  session.ydocs.add(guid);
  // A y-websocket frame has no room for a hash: do not compute one for it.
  const hash = session.kind === 'sdk' ? snapshotHash(doc, session.ydocEncoding) : '';
  const message = { type: 'ydoc.state', guid, update, vector: stateVector(doc), hash } as const;
  return { type: 'send', to: { only: session.id }, when: 'durable', message };
}

/** A y-websocket client is asked for what the server lacks as soon as it joins; it asks for its part itself. */
export function askForYdoc(room: RoomState, session: Session): Effect[] {
  session.ydocs.add('');
  return [ask(session, '', room.ydocs.get('') ?? emptyYdoc())];
}

function ask(session: Session, guid: string, doc: Ydoc): Effect {
  return {
    type: 'send',
    to: { only: session.id },
    when: 'durable',
    message: { type: 'ydoc.question', guid, vector: stateVector(doc) },
  };
}

const DONE: Effect = { type: 'reply', value: null, when: 'durable' };

export function decideYdocChange(room: RoomState, { from, guid, update }: Of<'ydoc.change'>, ctx: DecideContext): Effect[] {
  const session = from === null ? null : sessionOf(room, from);
  const doc = room.ydocs.get(guid) ?? emptyYdoc();
  if (session !== null && !allows(session.permissions, 'storage', 'write')) {
    // On every connect y-websocket sends what it thinks we lack, a reader too: usually nothing, and then there is nothing to refuse.
    return isHere(doc, scanUpdate(update, YDOC_LIMITS)) ? [] : refuse(session, guid, READS_ONLY);
  }
  checkYdocCount(room.ydocs, guid, ctx);
  let accepted: Accepted;
  try {
    accepted = acceptUpdate(doc, update, { session: from, live: room.sessions });
  } catch (error) {
    if (session === null || !(error instanceof AppError)) throw error;
    return answerTo(error, { session, guid, doc }, ctx);
  }
  const { journal } = accepted;
  const dropped = askForDropped(room, guid, doc, ctx);
  if (journal === null) return [...dropped, DONE];
  room.ydocs.set(guid, doc);
  if (hasSdkFollower(room, guid)) room.unsettled.add(guid);
  room.version += 1;
  const { author } = noteChange(room, session?.userId ?? null);
  const record = { kind: 'ydoc.update', guid, update: journal } as const; // most have no author to tell, and a spread takes long
  return [
    { type: 'send', to: { ydocBut: from, guid }, when: 'now', message: { type: 'ydoc.update', guid, update: journal } },
    { type: 'journal', record: author === undefined ? record : { ...record, author } },
    ...dropped,
    DONE,
  ];
}

const NOBODY: Effect[] = [];

/** What was dropped has reached all others, so that they would stay ahead of the room: whoever sent it brings it again, or hears why not. */
function askForDropped({ sessions }: RoomState, guid: string, doc: Ydoc, ctx: DecideContext): Effect[] {
  if (doc.dropped === null) return NOBODY;
  const senders = [...doc.dropped].flatMap((id) => sessions.get(id) ?? []);
  doc.dropped = null;
  return senders.flatMap((session) => askAnew(session, guid, doc, ctx));
}

/** Who answers with what is refused again would be asked without end: at most so often for a document that is the same, and for one that has changed meanwhile. */
const ASKED_AGAIN_MS = 1_000;
const ASKED_AFTER_CHANGE_MS = 100;

/** For what a session was asked of a document, and when. */
export interface AskedAnew {
  readonly vector: Uint8Array;
  readonly atMs: number;
}

function askAnew(session: Session, guid: string, doc: Ydoc, { nowMs, limits }: DecideContext): Effect[] {
  session.askedAnew ??= new SmallMap();
  const byGuid = session.askedAnew;
  const last = byGuid.get(guid);
  const vector = stateVector(doc);
  const isSame = last !== undefined && Buffer.compare(last.vector, vector) === 0;
  if (last !== undefined && isWithin(isSame ? ASKED_AGAIN_MS : ASKED_AFTER_CHANGE_MS, { fromMs: last.atMs, nowMs })) {
    doc.dropped ??= new SmallSet();
    doc.dropped.add(session.id);
    return NOBODY;
  }
  if (byGuid.size >= limits.ydocsMax) byGuid.clear(); // some may be of documents that were never made
  byGuid.set(guid, { vector, atMs: nowMs });
  return [ask(session, guid, doc)];
}

/**
 * What a refused update costs its client. To build on what has not come, nothing: it answers the question with this update and all that it builds on.
 * With too much at one place it stays connected, and sees the others; what it writes behind that waits. Who comes again and again to what can only be
 * refused at the price of a new `Y.Doc` is closed, as who sends anything else that is refused.
 * @throws the error itself for all others
 */
function answerTo(error: AppError, { session, guid, doc }: Refused, ctx: DecideContext): Effect[] {
  const isEarly = error.code === 'YJS_UPDATE_EARLY';
  const isCostly = error.code === 'YJS_UPDATE_CROWDED' || (isEarly && error.facts.isCostly === true);
  if (!isEarly && !isCostly) throw error;
  if (isCostly) {
    session.costlyUpdates += 1;
    if (session.costlyUpdates > YDOC_LIMITS.costlyAnswersMax) throw error;
  }
  return isEarly ? askAnew(session, guid, doc, ctx) : refuse(session, guid, error.message);
}

interface Refused {
  readonly session: Session;
  readonly guid: string;
  readonly doc: Ydoc;
}

/** Those of which somebody is to be told the hash. */
export function docsToSettle(room: RoomState): Ydoc[] {
  return [...room.unsettled].flatMap((guid) => (hasSdkFollower(room, guid) ? (room.ydocs.get(guid) ?? []) : []));
}

/** Tells SDK clients the new hashes, some time after the changes and after their commit: this is their "saved". */
export function decideYdocSettle(room: RoomState): Effect[] {
  const effects: Effect[] = [];
  for (const guid of [...room.unsettled]) {
    room.unsettled.delete(guid);
    const doc = room.ydocs.get(guid);
    if (doc === undefined) continue;
    for (const encoding of YDOC_ENCODINGS.filter((spoken) => hasSdkFollower(room, guid, spoken)))
      effects.push(unlessUnreadable({ guid, askedBy: null }, () => hashOf(guid, doc, encoding)));
  }
  return effects;
}

function hashOf(guid: string, doc: Ydoc, encoding: YdocEncoding): Effect {
  const message = { type: 'ydoc.hash', guid, hash: snapshotHash(doc, encoding) } as const;
  return { type: 'send', to: { ydocHashedIn: encoding, guid }, when: 'durable', message };
}

/** The vector of a client that has nothing. */
const OF_NOBODY = Uint8Array.of(0);

export function decideYdocRead(room: RoomState, { guid }: Of<'ydoc.read'>): Effect[] {
  return [{ type: 'reply', value: missingFor(room.ydocs.get(guid) ?? emptyYdoc(), OF_NOBODY), when: 'durable' }];
}

export function decideYdocJson(room: RoomState, { key, kind, formatting }: Of<'ydoc.json'>): Effect[] {
  const doc = room.ydocs.get('') ?? emptyYdoc();
  const value = readYdocJson(doc, { formatting, ...(key !== null && { key }), ...(kind !== null && { type: kind }) });
  return [{ type: 'reply', value, when: 'durable' }];
}

const READS_ONLY = 'This connection may read the document but not change it.';

/** A y-websocket client is told why its edits go nowhere. The protocol of the SDK has no words for it: its status stays "synchronizing". */
function refuse(session: Session, guid: string, reason: string): Effect[] {
  if (session.kind !== 'yjs') return [];
  return [{ type: 'send', to: { only: session.id }, when: 'now', message: { type: 'ydoc.denied', guid, reason } }];
}

/** @param encoding that the client speaks; null for either */
function hasSdkFollower(room: RoomState, guid: string, encoding: YdocEncoding | null = null): boolean {
  if (room.headcount.sdk === 0) return false;
  for (const session of room.sessions.values()) {
    if (session.kind !== 'sdk' || !session.ydocs.has(guid)) continue;
    if (encoding === null || session.ydocEncoding === encoding) return true;
  }
  return false;
}

function checkYdocCount(known: { has(guid: string): boolean; size: number }, guid: string, { limits }: DecideContext): void {
  if (!known.has(guid) && known.size >= limits.ydocsMax) {
    throw new AppError('YJS_UPDATE_INVALID', { reason: `a room holds at most ${limits.ydocsMax} documents` });
  }
}
