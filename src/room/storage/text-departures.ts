/**
 * How much of the texts the clients that left had heard of. What a client typed and got no answer to, it typed over that, and over nothing later.
 *
 * After a reconnect an SDK client bases what it sends again on the text as it has just read it, with the places as they were in the text that
 * it knew before (protocol 6.1). Taken by its word, what it typed would land in the middle of what others wrote meanwhile. The op id tells which
 * session the edit was typed in, and here is what was told to that session at most; what was still on its way, or held (`held-answers.ts`), counts as told.
 */
import { putNewest } from '../../base/newest.ts';
import { SmallMap } from '../../base/small.ts';
import { makerOf } from './makers.ts';
import type { TextNode } from './nodes.ts';
import { versionAfter } from './text-history.ts';

/** Of clients that left before so many others their places are taken by their word. */
const DEPARTURES_MAX = 1_000;

export interface Departures {
  /** Edits of all texts since the load. */
  edits: number;
  /** Their count when a session ended, by its actor number, oldest first. */
  readonly editsAt: Map<number, number>;
  /** The lowest actor number that was told Storage since the load, if any was. Lower ones knew at most what was there at the load. */
  lowestActor: number | null;
}

export function noDepartures(): Departures {
  return { edits: 0, editsAt: new SmallMap(), lowestActor: null };
}

/** `actor` is told all of Storage. */
export function noteReader(departures: Departures, actor: number): void {
  departures.lowestActor = Math.min(departures.lowestActor ?? actor, actor);
}

/** From now on `actor` is told nothing any more. */
export function noteDeparture({ editsAt, edits }: Departures, actor: number): void {
  putNewest(editsAt, actor, edits, DEPARTURES_MAX);
}

/** The version of `text` over which the edit with this op id was typed, at most; its present one when nothing speaks against that. */
export function versionTypedOver({ editsAt, lowestActor }: Departures, text: TextNode, opId: string | undefined): number {
  const actor = makerOf(opId);
  const edits = lowestActor !== null && actor < lowestActor ? 0 : editsAt.get(actor);
  return edits === undefined ? text.version : versionAfter(text.history, edits, text.version);
}
