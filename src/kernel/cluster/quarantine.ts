/**
 * Actors that end whoever loads them, by what loading them takes or breaks.
 *
 * An owner leaves a mark in the database when it begins to load one, and who takes it over from a worker that ended soon after that counts a crash. Such a
 * suspect has a mark only while it loads. After its second crash it loads while no other suspect does, so that the next crash has
 * one culprit; after its third nobody loads it for an hour (reliability 2.c, "Recovery"). A load that succeeds clears it.
 */
import { AppError } from '../../base/errors.ts';
import { Turns } from '../../base/turns.ts';
import { type Query, type Sql, sql } from '../persistence/sql.ts';
import { LEASE } from './lease.ts';
import type { Claim } from './ownership.ts';

/** From the second crash on an actor loads alone. */
const CRASHES_ALONE = 2;
/** So many crashes, each within ten minutes of the one before, and it is left alone. */
const CRASHES_MAX = 3;
const IN_A_ROW_MS = 600_000;
/** From the last crash on; the next one begins it again. */
const QUARANTINE_MS = 3_600_000;
/** Who ends later than this after it began to load an actor has not ended by that. */
const LOAD_MS = 10_000;
const COUNTED_MAX = 1_000;

/** How one worker loads what it has claimed. */
export class Quarantine {
  readonly #db: Sql;
  readonly #turns = new Turns(1);

  constructor(db: Sql) {
    this.#db = db;
  }

  /** @throws AppError ROOM_MOVED when the claim has gone while it waited; DATABASE_UNAVAILABLE; what `load` throws */
  async load<Loaded>(claim: Claim, load: () => Promise<Loaded>): Promise<Loaded> {
    if (claim.crashes === 0) return load();
    const marked = async (): Promise<Loaded> => {
      if ((await this.#db.change(markQuery(claim))) === 0) throw new AppError('ROOM_MOVED');
      return load();
    };
    const loaded = await (claim.crashes < CRASHES_ALONE ? marked() : this.#turns.take(marked));
    await this.#db.change(clearQuery(claim));
    return loaded;
  }
}

/** Until when nobody may load the actor of the row `o` of `actor_owner`; null when somebody may. */
export function quarantinedUntil(): Query {
  return sql`case when o.crashes >= ${CRASHES_MAX} and o.crashed_at > clock_timestamp() - ${QUARANTINE_MS} * interval '1 millisecond'
                  then o.crashed_at + ${QUARANTINE_MS} * interval '1 millisecond' end`;
}

/** Whether the owner under the lease `w`, which has ended, may have ended by loading the actor of the row `o`. */
export function endedLoading(): Query {
  return sql`not w.lived_on and o.loading_since > w.lease_until - ${LEASE.lastsMs + LOAD_MS} * interval '1 millisecond'`;
}

/** One more crash; no row when the claim has gone. */
export function countCrashQuery({
  stream,
  epoch,
}: Pick<Claim, 'stream' | 'epoch'>): Query<{ crashes: number; until: string | null }> {
  return sql`
    update actor_owner o
       set crashes = case when o.crashes >= ${CRASHES_MAX} or o.crashed_at > clock_timestamp() - ${IN_A_ROW_MS} * interval '1 millisecond'
                          then least(o.crashes + 1, ${COUNTED_MAX}) else 1 end,
           crashed_at = clock_timestamp(), loading_since = null
     where o.stream = ${stream} and o.epoch = ${epoch}
    returning o.crashes, ${quarantinedUntil()} as until`;
}

function markQuery({ stream, epoch }: Claim): Query {
  return sql`update actor_owner set loading_since = clock_timestamp() where stream = ${stream} and epoch = ${epoch}`;
}

function clearQuery({ stream, epoch }: Claim): Query {
  return sql`update actor_owner set loading_since = null, crashes = 0, crashed_at = null where stream = ${stream} and epoch = ${epoch}`;
}
