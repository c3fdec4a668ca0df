/**
 * Ownership in the database: this worker's lease, and the claims it makes under it.
 *
 * One lease per worker, not one per actor. It is renewed on the same event loop that runs the actors, so a loop that is stuck does not
 * renew. It never comes back once it has lapsed: this object is then finished, and the worker goes on under a new one (reliability 2.a).
 */
import type { Clock, Random } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { asIncarnation, type Incarnation, type WorkerAddress } from '../../base/ids.ts';
import { type Metrics, noMetrics } from '../../base/metrics.ts';
import type { Log } from '../../base/observe.ts';
import { named, type Query, type Sql, sql } from '../persistence/sql.ts';
import { type Duty, dutyAt, LEASE } from './lease.ts';
import { type Claim, NUMBERS_PER_CLAIM, type Ownership, type Recall, type Refusal, type Release } from './ownership.ts';
import { countCrashQuery, endedLoading } from './quarantine.ts';
import { Releases } from './releases.ts';
import { WallClock } from './wall-clock.ts';

export interface SqlOwnershipDeps {
  readonly db: Sql;
  /** For the lease alone, a connection that is open as long as the worker: where claims and the journal take long, or another has to be made, no renewal waits. */
  readonly lease: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly address: WorkerAddress;
  /** The lease is gone: no actor may decide a change until it is claimed anew. Called once, also when another worker fenced this one. */
  readonly onLapsed: () => void;
  /** Of these the actors must go, unread, before this returns. May be called more than once for one. */
  readonly onRecalled: (recalls: readonly Recall[]) => void;
}

/** A claim can meet an owner that died just now, and a rival that claims first; each is worth one more look, not a loop. */
const CLAIM_ATTEMPTS_MAX = 3;

export class SqlOwnership implements Ownership {
  readonly incarnation: Incarnation;
  readonly #deps: SqlOwnershipDeps;
  readonly #releases: Releases;
  readonly #wallClock: WallClock;
  #renewalSentMs: number;
  #isRenewing = false;
  #isOver = false;
  readonly #stopRenewing: () => void;
  #cancelDeadline: () => void;

  /** Takes a lease under a new incarnation. @throws AppError DATABASE_UNAVAILABLE */
  static async register(deps: SqlOwnershipDeps): Promise<SqlOwnership> {
    const incarnation = asIncarnation(deps.random.uuid());
    const sentMs = deps.clock.monotonicMs();
    await deps.lease.query(sql`
      insert into worker_lease (incarnation, address, lease_until)
      values (${incarnation}, ${deps.address}, clock_timestamp() + ${LEASE.lastsMs} * interval '1 millisecond')`);
    return new SqlOwnership(deps, { incarnation, sentMs });
  }

  private constructor(deps: SqlOwnershipDeps, lease: { incarnation: Incarnation; sentMs: number }) {
    this.incarnation = lease.incarnation;
    this.#deps = deps;
    this.#releases = new Releases({ db: deps.db, clock: deps.clock, self: lease.incarnation, isOver: () => this.#isOver });
    this.#wallClock = new WallClock(deps.log);
    this.#renewalSentMs = lease.sentMs;
    this.#cancelDeadline = this.#awaitDeadline();
    this.#stopRenewing = deps.clock.every(LEASE.renewEveryMs, () => void this.#renew());
  }

  /** Whether this worker may answer for its actors at this moment; ask right before an answer leaves (reliability 2.c, "Reads"). */
  get duty(): Duty {
    if (this.#isOver) return 'stop';
    return dutyAt(this.#deps.clock.monotonicMs(), { renewalSentMs: this.#renewalSentMs });
  }

  /** How long it may still answer unless it renews. */
  get remainingMs(): number {
    if (this.#isOver) return 0;
    return Math.max(0, this.#renewalSentMs + LEASE.servesForMs - this.#deps.clock.monotonicMs());
  }

  /** @throws AppError as the port says; ROOM_MOVED when rivals keep claiming it first, safe to retry. */
  async claim(stream: number): Promise<Claim | Refusal> {
    let hasFenced = false;
    for (let attempt = 1; attempt <= CLAIM_ATTEMPTS_MAX; attempt++) {
      const claim = await this.#tryClaim(stream, hasFenced ? 'expired' : 'dead');
      if (claim !== null) return claim;
      const [found] = await this.#deps.db.query(ownerQuery(stream, this.incarnation));
      if (found?.holdsLease === false) this.#lapse('fenced by another worker');
      this.#mustServe();
      if (found === undefined) return { refused: 'gone' };
      const { owner, address, until } = found;
      hasFenced = owner !== null && !found.isFenced && found.isExpired && (await this.fence(owner, 'expired'));
      const isFree = owner === null || found.isFenced || hasFenced;
      if (!isFree) return { refused: 'owned', by: owner, at: address };
      if (until !== null) return { refused: 'quarantined', until };
    }
    throw new AppError('ROOM_MOVED'); // others claim it faster than we can look
  }

  async #tryClaim(stream: number, ofDead: 'dead' | 'expired'): Promise<Claim | Refusal | null> {
    this.#mustServe();
    const [row] = await this.#deps.db.query(claimQuery(stream, this.incarnation));
    this.#mustServe(); // the answer may have come after the lease; the claim is then as good as fenced
    if (row === undefined) return null;
    const { from, ...claim } = row;
    const isOfDead = from === 'other' || from === 'loading';
    this.#metrics.count('atrium_takeovers_total', isOfDead ? ofDead : from);
    return from === 'loading' ? this.#suspected(claim) : claim;
  }

  async #suspected(claim: Claim): Promise<Claim | Refusal> {
    const { stream, epoch } = claim;
    const [counted] = await this.#deps.db.query(countCrashQuery(claim));
    this.#mustServe();
    if (counted === undefined) throw new AppError('ROOM_MOVED');
    const { crashes, until } = counted;
    this.#deps.log.warn({ stream, epoch, crashes, until }, 'owner ended while it loaded this');
    return until === null ? { ...claim, crashes } : { refused: 'quarantined', until };
  }

  get #metrics(): Metrics {
    return this.#deps.metrics ?? noMetrics;
  }

  #mustServe(): void {
    if (this.duty === 'stop') throw new AppError('SERVER_STOPPING');
  }

  release(release: Release): Promise<void> {
    return this.#releases.ask(release);
  }

  /** Says that this worker takes no more actors, for who asks the database who is there. */
  async drain(): Promise<void> {
    await this.#deps.lease.change(sql`update worker_lease set draining = true where incarnation = ${this.incarnation}`);
  }

  /** Gives this lease up at once, because what was claimed under it may have been forgotten. */
  abandon(why: string): void {
    this.#lapse(why);
  }

  /**
   * Declares a worker dead, for good: its actors may be claimed at once. `dead` needs proof, such as the exit of its process; `expired` asks the
   * database whether its lease has run out. Returns false when it has not.
   */
  async fence(incarnation: Incarnation, because: 'dead' | 'expired'): Promise<boolean> {
    const proof = because === 'dead' ? sql`true` : isExpired('worker_lease');
    return (await this.#deps.db.change(fenceQuery(incarnation, proof))) > 0;
  }

  /** Declares all other workers dead. Only where something else proves it: the lock on DATA_DIR does, in embedded mode. */
  async fenceAllOthers(): Promise<void> {
    await this.#deps.db.query(sql`
      update worker_lease set fenced_at = clock_timestamp() where incarnation <> ${this.incarnation} and fenced_at is null`);
  }

  /** The end in order: others may take at once what was not released. Stop all actors before. */
  async retire(): Promise<void> {
    this.#end();
    await this.#deps.lease.change(endQuery(this.incarnation));
  }

  /** Ends the name that this worker had before: nothing is done under it any more. */
  async follow(former: Incarnation): Promise<void> {
    await this.#deps.lease.change(endQuery(former));
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing || this.#isOver) return;
    this.#isRenewing = true;
    const { clock, lease } = this.#deps;
    const sentMs = clock.monotonicMs();
    const askedMs = clock.nowMs();
    try {
      const [renewed] = await lease.query(renewQuery(this.incarnation));
      if (renewed === undefined) return this.#lapse('fenced by another worker');
      this.#wallClock.compare({ databaseMs: renewed.databaseMs, askedMs, heardMs: clock.nowMs() });
      this.#metrics.count('atrium_lease_renewals_total', 'renewed');
      this.#renewed(sentMs);
      if (renewed.recalls.length > 0) await this.#recalled(renewed.recalls);
    } catch (error) {
      this.#metrics.count('atrium_lease_renewals_total', 'failed');
      this.#deps.log.warn({ err: error, incarnation: this.incarnation }, 'lease renewal failed');
    } finally {
      this.#isRenewing = false;
    }
    // The event loop, or the database, takes long: waiting for the next time would make of every turn two.
    if (clock.monotonicMs() - sentMs >= LEASE.renewEveryMs) void this.#renew();
  }

  /** An answer that comes after the deadline changes nothing: the actors are gone. */
  #renewed(sentMs: number): void {
    if (this.duty === 'stop') return;
    this.#renewalSentMs = sentMs;
    this.#cancelDeadline();
    this.#cancelDeadline = this.#awaitDeadline();
  }

  async #recalled(recalls: readonly Recall[]): Promise<void> {
    this.#deps.onRecalled(recalls);
    await this.#deps.lease.query(recalledQuery(this.incarnation, recalls));
  }

  #awaitDeadline(): () => void {
    const { clock } = this.#deps;
    const remainingMs = this.#renewalSentMs + LEASE.servesForMs - clock.monotonicMs();
    return clock.after(Math.max(0, Math.ceil(remainingMs)), () => this.#lapse('not renewed in time'));
  }

  #lapse(why: string): void {
    if (this.#isOver) return;
    this.#end();
    this.#metrics.count('atrium_lease_renewals_total', 'lapsed');
    this.#deps.log.warn({ incarnation: this.incarnation, why }, 'lease lapsed');
    this.#deps.onLapsed();
  }

  #end(): void {
    this.#isOver = true;
    this.#stopRenewing();
    this.#cancelDeadline();
  }
}

/**
 * Declares a worker dead, for good, by who has proof of it and holds no lease of its own: its process was seen to end. Again is no harm.
 * @throws AppError DATABASE_UNAVAILABLE
 */
export async function fenceDead(db: Sql, incarnation: Incarnation): Promise<void> {
  await db.change(fenceQuery(incarnation, sql`true`));
}

function fenceQuery(incarnation: Incarnation, proof: Query): Query {
  return sql`
    update worker_lease set fenced_at = coalesce(fenced_at, clock_timestamp())
     where incarnation = ${incarnation} and (fenced_at is not null or ${proof})`;
}

/** As a fence, of a worker that was not ended by what it did. */
function endQuery(incarnation: Incarnation): Query {
  return sql`
    update worker_lease set fenced_at = coalesce(fenced_at, clock_timestamp()), lived_on = true where incarnation = ${incarnation}`;
}

type Former = 'released' | 'own' | 'loading' | 'other';

/**
 * One row, one statement. It waits for appends on their way (they hold the row for share), so all they wrote can be read afterwards.
 * The lease of the claimer is part of the guard: who was fenced claims nothing.
 */
function claimQuery(stream: number, self: Incarnation): Query<Claim & { from: Former }> {
  return named(
    'ownership.claim',
    sql<Claim & { from: Former }>`
    update actor_owner o
       set epoch = o.epoch + 1, owner = ${self}, numbers_next = o.numbers_next + ${NUMBERS_PER_CLAIM},
           loading_since = case when o.crashes = 0 then clock_timestamp() end
     where o.stream = ${stream} and (o.quarantined_until is null or o.quarantined_until < clock_timestamp())
       and (o.owner is null or o.owner = ${self}
            or exists (select from worker_lease w where w.incarnation = o.owner and w.fenced_at is not null))
       and exists (select from worker_lease me where me.incarnation = ${self} and me.fenced_at is null and me.lease_until > clock_timestamp())
    returning o.stream, o.epoch, o.numbers_next - ${NUMBERS_PER_CLAIM} as "numbersFrom", o.crashes,
              ${formerOwner(stream, self)} as from`,
  );
}

/** By the row as it was when the statement began: enough to be counted. */
function formerOwner(stream: number, self: Incarnation): Query {
  return sql`(
    select case when o.owner is null then 'released' when o.owner = ${self} then 'own' when ${endedLoading()} then 'loading' else 'other' end
      from actor_owner o left join worker_lease w on w.incarnation = o.owner where o.stream = ${stream})`;
}

interface FoundOwner {
  readonly owner: Incarnation | null;
  readonly address: WorkerAddress;
  readonly isFenced: boolean;
  readonly isExpired: boolean;
  readonly holdsLease: boolean;
  /** Of its quarantine. */
  readonly until: string | null;
}

function ownerQuery(stream: number, self: Incarnation): Query<FoundOwner> {
  return sql<FoundOwner>`
    select o.owner, w.address, coalesce(w.fenced_at is not null, false) as "isFenced", coalesce(${isExpired('w')}, false) as "isExpired",
           exists (select from worker_lease me where me.incarnation = ${self} and me.fenced_at is null and me.lease_until > clock_timestamp())
             as "holdsLease",
           case when o.quarantined_until > clock_timestamp() then o.quarantined_until end as until
      from actor_owner o left join worker_lease w on w.incarnation = o.owner
     where o.stream = ${stream}`;
}

function isExpired(table: 'worker_lease' | 'w'): Query {
  const grace = sql`clock_timestamp() - ${LEASE.graceMs} * interval '1 millisecond'`;
  return { text: `${table}.lease_until < ${grace.text}`, values: grace.values };
}

interface Renewed {
  readonly recalls: Recall[];
  /** The time there. */
  readonly databaseMs: number;
}

function renewQuery(self: Incarnation): Query<Renewed> {
  return named(
    'ownership.renew',
    sql<Renewed>`
    update worker_lease set lease_until = clock_timestamp() + ${LEASE.lastsMs} * interval '1 millisecond'
     where incarnation = ${self} and fenced_at is null and lease_until > clock_timestamp()
    returning (select coalesce(jsonb_agg(jsonb_build_object('stream', stream, 'epoch', epoch)), '[]') from recalls where incarnation = ${self})
              as recalls, (extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseMs"`,
  );
}

function recalledQuery(self: Incarnation, recalls: readonly Recall[]): Query {
  return sql`
    delete from recalls r
     using unnest(${recalls.map(({ stream }) => stream)}::bigint[], ${recalls.map(({ epoch }) => epoch)}::bigint[]) as done (stream, epoch)
     where r.incarnation = ${self} and r.stream = done.stream and r.epoch = done.epoch`;
}
