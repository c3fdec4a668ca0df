/**
 * Counts the steps of Yjs where what several writers put at one place is set in order: `Item.integrate` walks over what the others put there, so
 * some kilobytes may keep it busy for seconds. Yjs tells nobody how far it will walk, so the walk is made once before, without its decisions.
 *
 * The method of Yjs is wrapped here and nowhere else. Outside of `metered` the wrapper does nothing, and nothing is ever thrown but by a meter.
 */
import * as Y from 'yjs';
import { AppError } from '../../base/errors.ts';
import type { Vector } from './vector.ts';

/** What an update may take: that of its own structs, and that of those which it sets free. */
export interface StepBounds {
  /** By client, the clock before which structs are its own. */
  readonly own: Vector;
  readonly ownMax: number;
  readonly freedMax: number;
}

export class StepMeter {
  /** Steps taken in all. */
  steps = 0;
  /** Whose were too many; null as long as none were. */
  exceeded: 'own' | 'freed' | null = null;
  readonly #bounds: StepBounds | null;
  #ofOwn = 0;

  /** @param bounds null for what was taken once: it is counted, and never refused */
  constructor(bounds: StepBounds | null = null) {
    this.#bounds = bounds;
  }

  /** Called for each struct before it is integrated. @throws AppError YJS_UPDATE_CROWDED */
  meet(item: Y.Item, offset: number, store: Y.Doc['store']): void {
    if (isInPlace(item, offset)) return;
    const bounds = this.#bounds;
    if (bounds === null) {
      this.steps += stepsOf(item, offset, store, Number.POSITIVE_INFINITY);
      return;
    }
    const isOwn = item.id.clock < (bounds.own.get(item.id.client) ?? 0);
    const left = isOwn ? bounds.ownMax - this.#ofOwn : bounds.freedMax - (this.steps - this.#ofOwn);
    const steps = stepsOf(item, offset, store, left);
    this.steps += steps;
    if (isOwn) this.#ofOwn += steps;
    if (steps <= left) return;
    this.exceeded = isOwn ? 'own' : 'freed';
    throw new AppError('YJS_UPDATE_CROWDED');
  }
}

let meter: StepMeter | null = null;

/** Runs with this meter at work, and with none after it, whatever is thrown. */
export function metered(used: StepMeter, run: () => void): void {
  meter = used;
  try {
    run();
  } finally {
    meter = null;
  }
}

const integrate = Y.Item.prototype.integrate;

Y.Item.prototype.integrate = function integrateMetered(this: Y.Item, transaction: Y.Transaction, offset: number): void {
  if (meter !== null) meter.meet(this, offset, transaction.doc.store);
  integrate.call(this, transaction, offset);
};

/** Whether it goes between two neighbours, as nearly all do. */
function isInPlace({ left, right, parent }: Y.Item, offset: number): boolean {
  if (!parent) return true; // it is collected: Yjs says null when its parent is, and nothing when that is only deleted
  return offset === 0 && left !== null && left.right === right;
}

/**
 * Steps to the place of a struct that is about to be integrated: over the values of its key to the first, and over what stands at its place.
 * Exact up to `stepsMax`; one more when there are more.
 * @param offset clocks of it that are here already
 */
function stepsOf(item: Y.Item, offset: number, store: Y.Doc['store'], stepsMax: number): number {
  const left = offset === 0 ? item.left : Y.getItem(store, Y.createID(item.id.client, item.id.clock + offset - 1));
  if (left !== null && !(left instanceof Y.Item)) return 0; // behind what was collected: Yjs throws
  if (left !== null)
    return left.right === item.right ? 0 : walk({ item, origin: left.lastId, first: left.right, store }, stepsMax);
  const start = startOf(item, stepsMax);
  if (item.right !== null && item.right.left === null) return start.steps;
  return start.steps + walk({ item, origin: null, first: start.first, store }, stepsMax - start.steps);
}

/** The first item of a list; the first value of a key is found from the last. */
function startOf({ parent, parentSub }: Y.Item, stepsMax: number): { first: Y.Item | null; steps: number } {
  const type = parent as Y.AbstractType<unknown>;
  if (parentSub === null) return { first: type._start, steps: 0 };
  let first = type._map.get(parentSub) ?? null;
  let steps = 0;
  for (; first?.left && steps <= stepsMax; steps += 1) first = first.left;
  return { first, steps };
}

interface Walk {
  readonly item: Y.Item;
  readonly origin: Y.ID | null;
  readonly first: Y.Item | null;
  readonly store: Y.Doc['store'];
}

/** The conditions on which `Item.integrate` goes on, and no more of it. */
function walk({ item, origin, first, store }: Walk, stepsMax: number): number {
  const { id, right, rightOrigin } = item;
  const walked = new Set<Y.Item>();
  let unnoted = first;
  let steps = 0;
  for (let other = first; other !== null && other !== right && steps <= stepsMax; other = other.right) {
    steps += 1;
    if (isSame(origin, other.origin)) {
      if (other.id.client >= id.client && isSame(rightOrigin, other.rightOrigin)) break;
    } else if (other.origin === null) {
      break;
    } else if (other === first || !holds(other.left, other.origin)) {
      // Most stand behind the one before; only for the others is it noted who was met.
      for (; unnoted !== null && unnoted !== other; unnoted = unnoted.right) walked.add(unnoted);
      if (!walked.has(Y.getItem(store, other.origin) as Y.Item)) break;
    }
  }
  return steps;
}

function isSame(one: Y.ID | null, other: Y.ID | null): boolean {
  return one === other || (one !== null && other !== null && one.client === other.client && one.clock === other.clock);
}

function holds(item: Y.Item | null, { client, clock }: Y.ID): boolean {
  return item !== null && item.id.client === client && item.id.clock <= clock && clock < item.id.clock + item.length;
}
