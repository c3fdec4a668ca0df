/**
 * What a session may ask of documents in a second. An answer costs as much as the document is long, and a question some bytes; whoever changes the
 * document between two questions has each answered anew. What is asked beyond that is answered at the next tick that has room for it, once for all
 * questions about one document.
 */
import { bytesIn, counted } from '../../base/byte-window.ts';
import type { SessionId } from '../../base/ids.ts';
import type { DecideContext, RoomState, Session } from '../shapes.ts';
import type { Ydoc } from './state.ts';
import type { Vector } from './vector.ts';
import { ydocBytes } from './ydoc.ts';

/** Bytes of documents that are looked through for one session in a window, and for all late ones of a room in a tick; some 20 ms. */
const ASKED_BYTES_MAX = 2 * 1024 * 1024;
/** The least that a question counts: two thousand about small documents are answered at once, as by a client that opens them all. */
const ASKED_BYTES_MIN = 1_024;

/** By session and document, the least that any of the questions said is known. */
export type LateAnswers = Map<SessionId, Map<string, Vector>>;

/** Whether a question is answered at once; it is counted then. */
export function isAnsweredNow(session: Session, doc: Ydoc, { nowMs }: DecideContext): boolean {
  if (bytesIn(session.asked, nowMs) >= ASKED_BYTES_MAX) return false;
  session.asked = counted(priceOf(doc), session.asked, nowMs);
  return true;
}

export interface LateQuestion {
  readonly session: Session;
  readonly guid: string;
  readonly vector: Vector;
}

/**
 * A question that is answered later, together with those of this session about the same document. Of its vector is kept what `doc` knows, so that
 * what waits is bounded by documents, of which a session follows so many, and not by what somebody writes into a vector.
 */
export function noteLate(room: RoomState, doc: Ydoc, { session: { id }, guid, vector }: LateQuestion): void {
  room.lateAnswers ??= new Map();
  const asked = room.lateAnswers.get(id) ?? new Map<string, Vector>();
  room.lateAnswers.set(id, asked);
  asked.set(guid, common(asked.get(guid) ?? doc.known, vector));
}

/** Those whose turn it is, oldest sessions first; none of sessions that have left. */
export function* takeLate(room: RoomState): Iterable<LateQuestion> {
  const bySession: LateAnswers = room.lateAnswers ?? new Map();
  let bytes = 0;
  for (const [id, asked] of bySession) {
    const session = room.sessions.get(id);
    for (const [guid, vector] of session === undefined ? [] : asked) {
      if (bytes >= ASKED_BYTES_MAX) return;
      const doc = room.ydocs.get(guid);
      bytes += doc === undefined ? ASKED_BYTES_MIN : priceOf(doc);
      asked.delete(guid);
      yield { session: session!, guid, vector };
    }
    bySession.delete(id);
  }
  room.lateAnswers = null;
}

function priceOf(doc: Ydoc): number {
  return Math.max(ASKED_BYTES_MIN, ydocBytes(doc));
}

/** What both say is known. */
function common(one: Vector, other: Vector): Vector {
  const least = new Map<number, number>();
  for (const [client, clock] of one) {
    const another = other.get(client);
    if (another !== undefined) least.set(client, Math.min(clock, another));
  }
  return least;
}
