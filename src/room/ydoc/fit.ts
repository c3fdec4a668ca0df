/**
 * How a scanned update fits a document, told from clocks alone: whether it goes too far, is here already, or can simply be
 * appended.
 */
import { SmallMap } from '../../base/small.ts';
import { invalidUpdate } from './byte-reader.ts';
import { isDeleted } from './deleted.ts';
import type { YdocLimits } from './limits.ts';
import type { ScannedUpdate } from './scan.ts';
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
  /** By client with a gap, the clock before the first one. Null when there is none. */
  readonly stops: Vector | null;
}

export function reachOf(known: Vector, { spans }: ScannedUpdate): Reach {
  const clocks = new SmallMap<number, number>();
  let isSeamless = true;
  let gap = 0;
  let stops: Map<number, number> | null = null;
  for (const { client, from, to } of spans) {
    const clock = clocks.get(client) ?? known.get(client) ?? 0;
    isSeamless &&= from === clock || to <= clock;
    gap = Math.max(gap, from - clock);
    if (from > clock) {
      stops ??= new SmallMap();
      if (!stops.has(client)) stops.set(client, clock);
    }
    clocks.set(client, Math.max(clock, to));
  }
  return { clocks, isSeamless, gap, stops };
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

/** Whether some of it is certain to wait for a struct that neither is here nor comes with it. */
export function lacksSomething(known: Vector, { needs }: ScannedUpdate, { clocks, stops }: Reach): boolean {
  if (stops !== null) return true;
  for (const [client, clock] of needs) if (clock > (clocks.get(client) ?? known.get(client) ?? 0)) return true;
  return false;
}

/** Whether nothing of it can be integrated before something else has come. */
export function waitsWhole(known: Vector, { spans, deletes }: ScannedUpdate): boolean {
  for (const { client, from } of spans) if (from <= (known.get(client) ?? 0)) return false;
  for (let at = 0; at < deletes.length; at += 3) if (deletes[at + 1]! < (known.get(deletes[at]!) ?? 0)) return false;
  return true;
}

/** How many of its deleted ranges are certain to wait, and do not wait already. What comes with them counts as here, unless all of it waits. */
export function rangesAhead({ known, deleted }: Ydoc, scanned: ScannedUpdate, { clocks, stops }: Reach): number {
  const { deletes } = scanned;
  if (deletes.length === 0) return 0;
  const waits = waitsWhole(known, scanned);
  let ahead = 0;
  for (let at = 0; at < deletes.length; at += 3) {
    const [client, from, to] = [deletes[at]!, deletes[at + 1]!, deletes[at + 2]!];
    const here = known.get(client) ?? 0;
    const arrivesAt = waits ? here : (stops?.get(client) ?? clocks.get(client) ?? here);
    if (to > arrivesAt && !isDeleted(deleted, client, from, to)) ahead += 1;
  }
  return ahead;
}

/** Whether it holds what is behind all that `vector` has of that client. */
export function reachesBeyond(vector: Vector, { spans }: ScannedUpdate): boolean {
  return spans.some(({ client, to }) => to > (vector.get(client) ?? 0));
}
