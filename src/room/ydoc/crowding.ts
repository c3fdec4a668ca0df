/**
 * How much Yjs may have to do to set in order what several writers put at one place (`steps.ts`), told without a `Y.Doc`: as long as that is
 * little, an update is only kept.
 *
 * A struct right behind the one that its client wrote before goes there at once, unless somebody else put something behind that one, too. Each other
 * is at risk: it may walk over all that is in the list. So typing is at risk once per place, and the number of structs at risk by the items that there
 * may be bounds the steps. Each at risk counts twice, for it may lie in the way of the one that continues what it stands behind.
 */
import type { YdocLimits } from './limits.ts';
import { RANGE_NUMBERS, type ScannedUpdate } from './scan.ts';
import type { Vector } from './vector.ts';

export interface Crowding {
  /** Items of lists there are at most: exact when a `Y.Doc` has just been made, counted up by what arrives. */
  items: number;
  /** Structs at risk that no `Y.Doc` has integrated yet. */
  risk: number;
  /** Steps that were counted since the document was last read from its bytes, and while it was. */
  steps: number;
  /** Structs at risk among what waits. */
  waiting: number;
}

/** Of a document with so many items. */
export function crowdingOf(items: number): Crowding {
  return { items, risk: 0, steps: 0, waiting: 0 };
}

/** What an update adds. */
export type Added = Pick<Crowding, 'items' | 'risk'>;

/** The struct itself, and as many pieces as its neighbours may be split into for it. */
const ITEMS_OF_STRUCT = 3;
const ITEMS_OF_RANGE = 2;
/** Of an item whose bytes nobody has counted: what it is, whose it is, and what it holds. */
const ITEM_BYTES_MIN = 4;

export function addedBy(scanned: ScannedUpdate, free: ReadonlySet<number>): Added {
  return { items: itemsOf(scanned), risk: riskOf(scanned, free) };
}

export function itemsOf(scanned: ScannedUpdate): number {
  return ITEMS_OF_STRUCT * structsOf(scanned) + ITEMS_OF_RANGE * (scanned.deletes.length / RANGE_NUMBERS);
}

/** As many items as these bytes hold when they are read by themselves. */
export function structsOf({ spans }: Pick<ScannedUpdate, 'spans'>): number {
  let structs = 0;
  for (const span of spans) structs += span.structs;
  return structs;
}

/** The same of bytes that nobody has scanned. */
export function itemsInBytes(bytes: Uint8Array): number {
  return Math.ceil(bytes.length / ITEM_BYTES_MIN);
}

function riskOf({ spans, atRisk }: ScannedUpdate, free: ReadonlySet<number>): number {
  let risk = 2 * atRisk;
  for (const { client, from } of spans) if (from > 0 && !free.has(client)) risk += 1;
  return risk;
}

/** Whether an update of such risk takes few steps for certain, with all that came since the last `Y.Doc`. */
export function isUncrowded({ items, risk, steps }: Crowding, added: Added, limits: YdocLimits): boolean {
  if (added.risk === 0) return true;
  const stepsMax = Math.min(limits.plainStepsMin + limits.plainStepsPerItem * items, stepsLeft({ items, steps }, limits));
  return (risk + added.risk) * (items + added.items) <= stepsMax;
}

/**
 * Steps that an update may add. The bound of all together grows with the document: what it holds takes longer to read than these steps. Few are
 * always taken, or who lives with a document that somebody filled up could not write beside anybody else.
 */
export function stepsLeft({ items, steps }: Pick<Crowding, 'items' | 'steps'>, limits: YdocLimits): number {
  return Math.max(limits.smallStepsMax, limits.documentStepsMin + limits.stepsPerItem * items - steps);
}

/** Whether so much at risk may wait: when what it waits for comes, all of it is integrated at once, and that is somebody else's update. */
export function mayWait({ items, waiting }: Crowding, limits: YdocLimits): boolean {
  return waiting <= limits.waitingRiskMin || waiting * items <= limits.freedStepsMax;
}

/** Notes behind whose last struct there is nothing, after an update was integrated. It may be forgotten of anybody at any time. */
export function noteFree(free: Set<number>, { spans, behind }: ScannedUpdate, known: Vector, clientsMax: number): void {
  for (const { client } of spans) free.add(client);
  for (let at = 0; at < behind.length; at += 2) {
    if (known.get(behind[at]!) === behind[at + 1]! + 1) free.delete(behind[at]!);
  }
  if (free.size > clientsMax) free.clear();
}
