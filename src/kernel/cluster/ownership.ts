/**
 * The authority on who owns an actor: worker leases and actor epochs, in the database only.
 *
 * A claim raises the epoch before the journal is read; every append is fenced by that epoch. A lapsed lease is never
 * renewed: the worker takes a new incarnation, and claims its suspended actors anew (design §4; reliability 2.a).
 */
import type { Incarnation, WorkerAddress } from '../../base/ids.ts';

export interface Claim {
  readonly stream: number;
  readonly epoch: number;
  /** First number of the block of actor numbers that this claim reserved (protocol §4: never the same number twice). */
  readonly numbersFrom: number;
  /** Owners in a row that ended while they loaded it, or soon after; with any, `Quarantine` says how it is to be loaded. */
  readonly crashes: number;
}

/** How many numbers one claim reserves; a room that needs more reserves them through its journal. */
export const NUMBERS_PER_CLAIM = 1_000;

/** `gone`: no such actor. `owned`: a live worker has it. `quarantined`: nobody may load it before this time. */
export type Refusal =
  | { readonly refused: 'gone' }
  | { readonly refused: 'quarantined'; readonly until: string }
  | { readonly refused: 'owned'; readonly by: Incarnation; readonly at: WorkerAddress };

/** An actor that a change of the database took from its owner: whoever claimed it under a lower epoch may not answer for it any more. */
export interface Recall {
  readonly stream: number;
  readonly epoch: number;
}

export interface Release {
  readonly stream: number;
  readonly epoch: number;
  /** Returns the unused rest of the block. */
  readonly numbersNext: number;
  /** Nobody waited for it when it began to stop: it is given up together with others, a moment later. */
  readonly mayWait?: boolean;
}

export interface Ownership {
  readonly incarnation: Incarnation;
  /**
   * Raises the epoch and takes the actor.
   * @throws AppError SERVER_STOPPING when this worker's own lease is over, DATABASE_UNAVAILABLE; both are safe to retry.
   */
  claim(stream: number): Promise<Claim | Refusal>;
  /**
   * Gives the actor up in order. Under an older epoch, or for who does not own it, it changes nothing.
   * @throws AppError DATABASE_UNAVAILABLE, ROOM_OVERLOADED when too many wait: it stays with the lease of this worker.
   */
  release(release: Release): Promise<void>;
}
