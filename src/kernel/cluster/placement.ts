/**
 * Which worker should take an actor that nobody owns: rendezvous hashing, weighed by load. Pure, and a preference only: who has an actor
 * is decided by the claim, so two workers that see different lists of workers do no harm (reliability 2.a).
 */
import type { WorkerAddress } from '../../base/ids.ts';
import type { WorkerEntry } from './directory.ts';

/** Loads this close to the mean count as equal, so that small differences move nothing. */
const HYSTERESIS = 0.2;
/** Actors that everybody counts as having: among nearly idle workers one actor more or less says nothing. */
const LOAD_FLOOR = 20;
const WEIGHT_MIN = 0.25;

type Candidate = Pick<WorkerEntry, 'address' | 'load'>;

/** The worker that `key` should go to; null when there is none. */
export function preferredWorker(key: string, workers: readonly Candidate[]): WorkerAddress | null {
  const mean = meanLoad(workers);
  let best: { address: WorkerAddress; score: number } | null = null;
  for (const worker of workers) {
    const score = weightOf(worker, mean) / -Math.log(chance(key, worker.address));
    if (best === null || score > best.score) best = { address: worker.address, score };
  }
  return best?.address ?? null;
}

export interface Balance {
  /** The actors alive on this worker, those that should move first in front. */
  readonly keys: readonly string[];
  readonly self: WorkerAddress;
  /** All workers that may take actors, this one included. */
  readonly workers: readonly Candidate[];
}

/** At most so many actors move in one round, and at most this share of those here: a move costs its clients a pause. */
const MOVES_MAX = 50;
const MOVES_SHARE = 0.05;

/** The actors to hand over in this round: none unless this worker has clearly more than the mean, and only those that prefer another. */
export function movesOf({ keys, self, workers }: Balance): string[] {
  const bound = meanLoad(workers) * (1 + HYSTERESIS);
  const count = Math.min(MOVES_MAX, Math.ceil(keys.length * MOVES_SHARE), Math.floor(keys.length - bound));
  if (count <= 0) return [];
  const moves: string[] = [];
  for (const key of keys) {
    if (moves.length === count) break;
    if (preferredWorker(key, workers) !== self) moves.push(key);
  }
  return moves;
}

function meanLoad(workers: readonly Candidate[]): number {
  return workers.reduce((sum, { load }) => sum + load, 0) / Math.max(1, workers.length) + LOAD_FLOOR;
}

function weightOf({ load }: Candidate, mean: number): number {
  const ratio = (load + LOAD_FLOOR) / mean;
  return ratio <= 1 + HYSTERESIS ? 1 : Math.max(WEIGHT_MIN, 1 / ratio);
}

/** A number in (0, 1) that depends on both names and looks like chance. */
function chance(key: string, address: string): number {
  return (mixed(fnv(`${address} ${key}`)) + 0.5) / 2 ** 32;
}

/** FNV-1a, 32 bits. */
function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** The final mix of MurmurHash3: without it, similar names get similar numbers. */
function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
