/**
 * The times of a worker's lease, their order, and what a worker owes at a moment. Pure; `sql-ownership.ts` keeps the lease itself.
 *
 * A worker counts on its own monotonic clock from the moment it *sent* the renewal, the database counts on its own clock from a later
 * moment: whatever the two clocks show, the worker stops before anybody may take its actors (reliability 2.a).
 */

export const LEASE = {
  renewEveryMs: 1_000,
  /** This long after sending its last successful renewal a worker serves nothing any more. */
  servesForMs: 3_500,
  /** The database lets nobody else claim before this. */
  lastsMs: 4_000,
  /** On top of that, before another worker may fence it: room for clocks that run at different rates. */
  graceMs: 250,
} as const;

if (!(2 * LEASE.renewEveryMs < LEASE.servesForMs)) throw new Error('lease: one lost renewal must not end a lease');
if (!(LEASE.servesForMs < LEASE.lastsMs)) throw new Error('lease: a worker must stop serving before its lease can be taken');

/** `stop`: this worker may answer for none of its actors; it never goes back to `serve` under the same incarnation. */
export type Duty = 'serve' | 'stop';

/** What a worker owes at `nowMs`, both on its own monotonic clock; `renewalSentMs` is when its last successful renewal was sent. */
export function dutyAt(nowMs: number, { renewalSentMs }: { renewalSentMs: number }): Duty {
  return nowMs < renewalSentMs + LEASE.servesForMs ? 'serve' : 'stop';
}
