/**
 * How a scanned update fits a document, told from clocks alone: whether it goes too far, is here already, or can simply be
 * appended.
 */
import { SmallMap } from '../../base/small.ts';
import { invalidUpdate } from './byte-reader.ts';
import { isDeleted } from './deleted.ts';
import type { YdocLimits } from './limits.ts';
import type { ScannedUpdate, Span } from './scan.ts';
import type { Ydoc } from './state.ts';
import type { Vector } from './vector.ts';
import { deletedAdvance } from './writers.ts';

/** What an update adds to what is known. */
export interface Reach {
  /** By client of the update, the clock it would be at. */
  readonly clocks: Vector;
  /** Each span goes on where its client stands, or is known already: no gap, no overlap. */
  readonly isSeamless: boolean;
  /** The widest gap, in clocks, between what is known of a client and a struct of it. */
  readonly gap: number;
}

export function reachOf(known: Vector, { spans }: ScannedUpdate): Reach {
  const clocks = new SmallMap<number, number>();
  let isSeamless = true;
  let gap = 0;
  for (const { client, from, to } of spans) {
    const clock = clocks.get(client) ?? known.get(client) ?? 0;
    isSeamless &&= from === clock || to <= clock;
    gap = Math.max(gap, from - clock);
    clocks.set(client, Math.max(clock, to));
  }
  return { clocks, isSeamless, gap };
}

/** Nothing may lie too far beyond what is known and what the update brings itself. @throws AppError YJS_UPDATE_INVALID */
export function checkLead(known: Vector, { deletes }: ScannedUpdate, { clocks, gap }: Reach, { clockLeadMax }: YdocLimits): void {
  if (gap > clockLeadMax) throw invalidUpdate('a struct in it lies too far beyond what is known of its client');
  for (let at = 0; at < deletes.length; at += 3) {
    const clock = clocks.get(deletes[at]!) ?? known.get(deletes[at]!) ?? 0;
    if (deletes[at + 2]! > clock + clockLeadMax) throw invalidUpdate('it deletes too far beyond what is known of a client');
  }
}

/** Deleted content takes clocks without bytes. @throws AppError YJS_UPDATE_INVALID */
export function checkDeletedAdvance(known: Vector, { spans }: ScannedUpdate, { deletedAdvanceMax }: YdocLimits): void {
  let advanced = 0;
  for (const span of spans) advanced += deletedAdvance(span, known);
  if (advanced > deletedAdvanceMax) throw invalidUpdate(`it uses up more than ${deletedAdvanceMax} clocks with deleted content`);
}

/** Whether every struct and deletion is certainly here. */
export function isHere({ known, deleted }: Ydoc, { spans, deletes }: ScannedUpdate): boolean {
  for (const { client, to } of spans) if (to > (known.get(client) ?? 0)) return false;
  for (let at = 0; at < deletes.length; at += 3) {
    if (!isDeleted(deleted, deletes[at]!, deletes[at + 1]!, deletes[at + 2]!)) return false;
  }
  return true;
}

/**
 * Whether Yjs is certain to integrate all of the update at once, so that its bytes need only be kept.
 *
 * Stricter than Yjs, which throws on some overlaps with collected structs, and on some circles of clients that wait for each
 * other within one update. Both are left to `tryUpdate`, which finds out.
 */
export function isReady(known: Vector, { needs, deletes }: ScannedUpdate, { clocks, isSeamless }: Reach): boolean {
  if (!isSeamless) return false;
  for (const [client, clock] of needs) if (clock > (known.get(client) ?? 0)) return false;
  for (let at = 0; at < deletes.length; at += 3) {
    if (deletes[at + 2]! > (clocks.get(deletes[at]!) ?? known.get(deletes[at]!) ?? 0)) return false;
  }
  return true;
}

/** What of an update is certain to wait for what neither is here nor comes with it, and what may arrive. */
export interface Arrival {
  readonly waits: readonly Span[];
  /** By client, the clock up to which it may arrive. */
  readonly arrived: Vector;
}

/**
 * Told from where spans begin and what their first structs need: what only some struct within a span needs, and spans that need each other, are left to
 * Yjs, and so is whatever may go on from what waits already.
 * @param waiting by client, the clock behind the last struct that waits
 */
export function arrivalOf(known: Vector, { spans }: ScannedUpdate, { clocks }: Reach, waiting: Vector): Arrival {
  const arrived = new SmallMap<number, number>();
  const waits = spans.filter((span) => {
    const { client, from, to } = span;
    const here = arrived.get(client) ?? known.get(client) ?? 0;
    if (
      from > Math.max(here, waiting.get(client) ?? 0) ||
      lacksFirst(span, (other) => Math.max(clocks.get(other) ?? known.get(other) ?? 0, waiting.get(other) ?? 0))
    )
      return true;
    arrived.set(client, Math.max(here, to));
    return false;
  });
  return { waits, arrived };
}

function lacksFirst({ firstNeeds }: Span, mayArriveAt: (client: number) => number): boolean {
  if (firstNeeds === null) return false;
  for (let at = 0; at < firstNeeds.length; at += 2) if (firstNeeds[at + 1]! > mayArriveAt(firstNeeds[at]!)) return true;
  return false;
}

/** Whether nothing of it can be integrated before something else has come. */
export function waitsWhole(known: Vector, { spans, deletes }: ScannedUpdate): boolean {
  for (const { client, from } of spans) if (from <= (known.get(client) ?? 0)) return false;
  for (let at = 0; at < deletes.length; at += 3) if (deletes[at + 1]! < (known.get(deletes[at]!) ?? 0)) return false;
  return true;
}

/** How many of its deleted ranges are certain to wait, and do not wait already. */
export function rangesAhead({ known, deleted }: Ydoc, { deletes }: ScannedUpdate, { arrived }: Arrival): number {
  let ahead = 0;
  for (let at = 0; at < deletes.length; at += 3) {
    const [client, from, to] = [deletes[at]!, deletes[at + 1]!, deletes[at + 2]!];
    const arrivesAt = arrived.get(client) ?? known.get(client) ?? 0;
    if (to > arrivesAt && !isDeleted(deleted, client, from, to)) ahead += 1;
  }
  return ahead;
}

/** Whether it holds what is behind all that `vector` has of that client. */
export function reachesBeyond(vector: Vector, { spans }: ScannedUpdate): boolean {
  return spans.some(({ client, to }) => to > (vector.get(client) ?? 0));
}
