/**
 * Actors that end whoever loads them, by what loading them takes or breaks.
 *
 * An owner leaves a mark in the database when it begins to load one, and who takes it over from a worker that ended soon after that counts a crash. Such a
 * suspect has a mark only while it loads. After its second crash it loads while no other like it does here; after its third nobody loads it for five
 * seconds (reliability 2.c, "Recovery"), and after each further one for four times as long. A load that succeeds clears it before anybody is answered, so
 * who is killed after an answer, however soon and often, is no crash.
 */
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import { type Query, type Sql, sql } from '../persistence/sql.ts';
import { LEASE } from './lease.ts';
import type { Claim } from './ownership.ts';

/** From the second crash on actors load one at a time. */
const CRASHES_ALONE = 2;
/** So many crashes, each within ten minutes of the one before, and it is left alone. */
const CRASHES_MAX = 3;
const IN_A_ROW_MS = 600_000;
/** After the third crash; four times as long after the fourth, and so on up to the eighth (85 minutes): who met bad luck is soon back. */
const QUARANTINE_MS = 5_000;
const QUARANTINE_GROWTH = 4;
const CRASHES_COUNTED = 8;
/** Who ends later than this after it began to load an actor has not ended by that. */
const LOAD_MS = 10_000;
/** More that wait to load alone are sent away: each holds one of the worker's loads. */
const WAITING_MAX = 8;

export interface QuarantineDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

interface Turn {
  begin(): void;
  fail(error: AppError): void;
}

/** How one worker loads what it has claimed. */
export class Quarantine {
  readonly #deps: QuarantineDeps;
  readonly #waiting: Turn[] = [];
  #isOneLoading = false;
  #isClosed = false;

  constructor(deps: QuarantineDeps) {
    this.#deps = deps;
  }

  /**
   * @throws AppError ROOM_MOVED when the claim has gone while it waited; WORKER_OVERLOADED when too many wait, SERVER_STOPPING, DATABASE_UNAVAILABLE: safe to
   * retry; what `load` throws.
   */
  async load<Loaded>(claim: Claim, load: () => Promise<Loaded>): Promise<Loaded> {
    if (claim.crashes === 0) return load();
    const pass = claim.crashes >= CRASHES_ALONE ? await this.#turn() : (): void => undefined;
    const cancel = this.#deps.clock.after(LOAD_MS, pass); // what ends a worker later is not blamed on it
    try {
      if ((await this.#deps.db.change(markQuery(claim))) === 0) throw new AppError('ROOM_MOVED');
      const loaded = await load();
      await this.#written(clearQuery(claim));
      return loaded;
    } catch (error) {
      await this.#written(unmarkQuery(claim));
      throw error;
    } finally {
      cancel();
      pass();
    }
  }

  /** Nobody waits any more. */
  close(): void {
    this.#isClosed = true;
    for (const { fail } of this.#waiting.splice(0)) fail(new AppError('SERVER_STOPPING'));
  }

  /** Resolves when no other loads alone, with the function that passes the turn on. */
  async #turn(): Promise<() => void> {
    if (this.#isClosed) throw new AppError('SERVER_STOPPING');
    if (this.#isOneLoading) await this.#waits();
    this.#isOneLoading = true;
    let hasPassed = false;
    return () => {
      if (hasPassed) return;
      hasPassed = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#isOneLoading = false;
      else next.begin();
    };
  }

  #waits(): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) throw new AppError('WORKER_OVERLOADED');
    return new Promise((begin, fail) => this.#waiting.push({ begin, fail }));
  }

  /** Never rejects: what it could not write costs the actor a crash that was none, at worst. */
  async #written(query: Query): Promise<void> {
    await this.#deps.db.change(query).catch((error: unknown) => this.#deps.log.warn({ err: error }, 'suspect not cleared'));
  }
}

/** Whether the owner under the lease `w`, which has ended, may have ended by loading the actor of the row `o`. */
export function endedLoading(): Query {
  return sql`not w.lived_on and o.loading_since > w.lease_until - ${LEASE.lastsMs + LOAD_MS} * interval '1 millisecond'`;
}

/** One more crash, and the end of this claim where it is one too many; no row when it has gone. */
export function countCrashQuery({
  stream,
  epoch,
}: Pick<Claim, 'stream' | 'epoch'>): Query<{ crashes: number; until: string | null }> {
  const counted = sql`
    select case when o.crashes >= ${CRASHES_MAX} or o.crashed_at > clock_timestamp() - ${IN_A_ROW_MS} * interval '1 millisecond'
                then least(o.crashes + 1, ${CRASHES_COUNTED}) else 1 end as crashes`;
  const until = sql`clock_timestamp() + ${QUARANTINE_MS} * power(${QUARANTINE_GROWTH}::int, c.crashes - ${CRASHES_MAX}::int) * interval '1 millisecond'`;
  return sql`
    update actor_owner o
       set loading_since = null, crashed_at = clock_timestamp(),
           (crashes, owner, quarantined_until) = (
             select c.crashes, case when c.crashes < ${CRASHES_MAX} then o.owner end, case when c.crashes >= ${CRASHES_MAX} then ${until} end
               from (${counted}) c)
     where o.stream = ${stream} and o.epoch = ${epoch}
    returning o.crashes, o.quarantined_until as until`;
}

function markQuery({ stream, epoch }: Claim): Query {
  return sql`update actor_owner set loading_since = clock_timestamp() where stream = ${stream} and epoch = ${epoch}`;
}

function unmarkQuery({ stream, epoch }: Claim): Query {
  return sql`update actor_owner set loading_since = null where stream = ${stream} and epoch = ${epoch}`;
}

function clearQuery({ stream, epoch }: Claim): Query {
  return sql`
    update actor_owner set loading_since = null, crashes = 0, crashed_at = null, quarantined_until = null
     where stream = ${stream} and epoch = ${epoch}`;
}
