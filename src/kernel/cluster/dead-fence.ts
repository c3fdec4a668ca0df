/**
 * The fast path after the death of a worker process: who saw it end fences its leases at once, so that its actors may be claimed without
 * waiting for them to run out (reliability 2.a).
 */
import { type Clock, chanceFrom, pause, type Random } from '../../base/clock.ts';
import type { Incarnation } from '../../base/ids.ts';
import type { Log } from '../../base/observe.ts';
import type { Sql } from '../persistence/sql.ts';
import { LEASE } from './lease.ts';
import { fenceDead } from './sql-ownership.ts';

export interface DeadFenceDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const RETRY_FIRST_MS = 20;
const RETRY_MS_MAX = 500;

/**
 * Tries until it is done, or until the lease has run out by itself: it was renewed before the death, at the latest. Never rejects.
 * Only with proof: of a process that is frozen or cut off, the lease decides.
 */
export async function fenceAtOnce(incarnation: Incarnation, { db, clock, random, log }: DeadFenceDeps): Promise<void> {
  const untilMs = clock.monotonicMs() + LEASE.lastsMs + LEASE.graceMs;
  for (let waitMs = RETRY_FIRST_MS; ; waitMs = Math.min(RETRY_MS_MAX, waitMs * 2)) {
    try {
      await fenceDead(db, incarnation);
      log.info({ incarnation }, 'dead worker fenced');
      return;
    } catch (error) {
      if (clock.monotonicMs() >= untilMs) {
        log.warn({ err: error, incarnation }, 'dead worker not fenced; its lease has run out by now');
        return;
      }
    }
    const delayMs = waitMs * chanceFrom(random);
    await pause(clock, delayMs);
  }
}
