/** What the fake Postgres knows of a statement: what it asks of the server while it runs, and the steps that many share. */
import type { Strength } from './locks.ts';
import type { FakeTables } from './tables.ts';

/** What a statement asks of the server that runs it. */
export interface LockRequest {
  readonly key: string;
  readonly strength: Strength;
  readonly onConflict: 'wait' | 'skip';
}

/** `waited`: others may have changed the row meanwhile. */
export type LockAnswer = 'held' | 'waited' | 'skipped';

/** The transaction in which a statement runs. */
export interface FakeTransaction {
  readonly tables: FakeTables;
  /** The process at the other end. */
  readonly client: string;
  nowMs(): number;
  /** Done when the transaction commits, in order. */
  atCommit(write: () => void): void;
}

export type Rows = readonly object[];
export type Running = Generator<LockRequest, Rows, LockAnswer>;
/** One that locks nothing is a plain function. */
export type Statement = (tx: FakeTransaction, values: readonly any[]) => Running | Rows;

export const ownerKey = (stream: number): string => `owner ${stream}`;
export const roomKey = (pk: number): string => `room ${pk}`;
export const leaseKey = (incarnation: string): string => `lease ${incarnation}`;

export function* lock(key: string, strength: Strength): Generator<LockRequest, LockAnswer, LockAnswer> {
  return yield { key, strength, onConflict: 'wait' };
}

/**
 * An update of one row in READ COMMITTED: the row that fits when the statement starts is locked, and if that had to wait for somebody who
 * changed it, it must fit as it is now. Null when it does not.
 */
export function* lockFitting<Row>(
  {
    key,
    strength = 'noKeyUpdate',
    onConflict = 'wait',
  }: { key: string; strength?: Strength; onConflict?: LockRequest['onConflict'] },
  read: () => Row | undefined,
  isFit: (row: Row) => boolean,
): Generator<LockRequest, Row | null, LockAnswer> {
  const seen = read();
  if (seen === undefined || !isFit(seen)) return null;
  if ((yield { key, strength, onConflict }) === 'skipped') return null;
  const now = read();
  if (now === seen) return now;
  return now !== undefined && isFit(now) ? now : null;
}
