/**
 * The outbox in Postgres: a row per event, relayed some at a time, those of one type in one transaction or in several.
 *
 * What a consumer writes through its `sql` commits with the event's removal, so it happens once, whatever crashes and however many workers
 * relay. What it does elsewhere may happen again, or never where it does it after the commit. When a consumer fails, the events that went with that one are relayed again one by one; the one
 * at fault waits longer and longer but is never dropped, and others pass it.
 */
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Log } from '../../base/observe.ts';
import { Passes } from '../../base/passes.ts';
import type { Outbox, OutboxConsumer, OutboxEvent } from './outbox.ts';
import { named, type Query, type Sql, sql } from './sql.ts';

export interface SqlOutboxDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

/** The backstop for events whose worker died between commit and relay. Shorter costs an idle query per worker and poll. */
const POLL_EVERY_MS = 5_000;
const RETRY_MS_MAX = 300_000;
/** Events of one pass. Those of one type go together, unless their consumer takes fewer at a time. */
const PASS_MAX = 500;
/** What is told of during a pass and so long after it goes together: a pass is six statements, however much it relays. */
const BETWEEN_PASSES_MS = 50;

interface Registered {
  readonly consumer: OutboxConsumer;
  readonly togetherMax: number;
}

export class SqlOutbox implements Outbox {
  readonly #deps: SqlOutboxDeps;
  readonly #consumers = new Map<string, Registered>();
  readonly #passes: Passes;

  constructor(deps: SqlOutboxDeps) {
    this.#deps = deps;
    this.#passes = new Passes({
      clock: deps.clock,
      everyMs: POLL_EVERY_MS,
      betweenMs: BETWEEN_PASSES_MS,
      pass: () => this.#relayDue(),
    });
  }

  /**
   * Registers what happens to events of a type; one consumer each, before `start`. Of rows that were written together, those whose type was registered
   * first go first. A type nobody here knows is left to newer workers.
   * @param togetherMax events in one transaction: few where each keeps rows locked that somebody may wait for
   */
  consume(type: string, consumer: OutboxConsumer, togetherMax = PASS_MAX): void {
    if (this.#consumers.has(type)) throw new Error(`outbox: ${type} has a consumer already`);
    this.#consumers.set(type, { consumer, togetherMax });
  }

  start(): void {
    this.#passes.start();
  }

  /** Resolves when the event under way is done; the others wait for the next start. */
  async close(): Promise<void> {
    await this.#passes.close();
  }

  /** Resolves when this worker relays nothing at the moment. */
  async idle(): Promise<void> {
    await this.#passes.idle();
  }

  async add(db: Sql, ...events: readonly Omit<OutboxEvent, 'id'>[]): Promise<void> {
    const rows = JSON.stringify(events.map(({ type, payload }) => ({ type, payload })));
    await db.query(addQuery(rows));
    this.#passes.again(); // a consumer may have written them, which nobody tells
  }

  /** Nobody need do these any more. @throws AppError DATABASE_UNAVAILABLE */
  async remove(ids: readonly number[]): Promise<void> {
    await this.#deps.db.query(removeQuery(ids));
  }

  nudge(): void {
    this.#passes.nudge();
  }

  /** Relays until nothing is due. Never rejects: the next poll tries again. */
  async #relayDue(): Promise<void> {
    while ((await this.#relaySome()) && !this.#passes.isClosed);
  }

  /**
   * Relays what is due now, type by type. Rows that were written together are seen together, so nothing overtakes what was registered before it.
   * Returns whether more may be due.
   */
  async #relaySome(): Promise<boolean> {
    const due = await this.#deps.db.query(dueQuery([...this.#consumers.keys()])).catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'outbox not read');
      return [];
    });
    let relayed = 0;
    for (const [type, registered] of this.#consumers) {
      const ids = due.filter((event) => event.type === type).map(({ id }) => id);
      const count = await this.#relayOfType(ids, registered);
      if (count === null) return false;
      relayed += count;
    }
    return relayed > 0 && due.length === PASS_MAX;
  }

  async #relayOfType(ids: readonly number[], { consumer, togetherMax }: Registered): Promise<number | null> {
    let relayed = 0;
    for (let at = 0; at < ids.length && !this.#passes.isClosed; at += togetherMax) {
      const count = await this.#relay(ids.slice(at, at + togetherMax), consumer);
      if (count === null) return null;
      relayed += count;
    }
    return relayed;
  }

  /** Returns how many were relayed or postponed, which excludes those that others relay at this moment; null when the database is away. */
  async #relay(ids: readonly number[], consumer: OutboxConsumer): Promise<number | null> {
    try {
      return await this.#relayTogether(ids, consumer);
    } catch (error) {
      if (ids.length === 1) {
        this.#deps.log[willPass(error) ? 'warn' : 'error']({ err: error, eventId: ids[0] }, 'outbox relay failed');
        return (await this.#postpone(ids[0]!)) ? 1 : null;
      }
    }
    let relayed = 0;
    for (const id of ids) {
      const count = await this.#relay([id], consumer);
      if (count === null) return null;
      relayed += count;
    }
    return relayed;
  }

  async #relayTogether(ids: readonly number[], consumer: OutboxConsumer): Promise<number> {
    const { count, afterCommit } = await this.#deps.db.transaction(async (tx) => {
      const events = await tx.query(takeQuery(ids));
      const afterCommit = events.length === 0 ? undefined : await consumer(events, tx);
      if (events.length > 0) await tx.query(removeQuery(events.map(({ id }) => id)));
      return { count: events.length, afterCommit };
    });
    afterCommit?.();
    return count;
  }

  async #postpone(id: number): Promise<boolean> {
    return this.#deps.db.query(postponeQuery(id)).then(
      () => true,
      (error: unknown) => {
        this.#deps.log.warn({ err: error, eventId: id }, 'outbox event not postponed');
        return false;
      },
    );
  }
}

/** A room that moves, a database that is away. What does not pass makes the outbox old, which is measured. */
function willPass(error: unknown): boolean {
  return error instanceof AppError && error.status === 503;
}

/** Part of a statement that writes an event for each row of `source`, which has its type and its payload. Whoever runs it nudges. */
export function insertEvents(source: Query): Query {
  return sql`insert into outbox (type, payload) ${source}`;
}

/**
 * The same for events that their writer acts on by itself once they are committed, and then removes: they come due for others only if that takes longer
 * than `afterMs`, as when it has ended.
 */
export function insertEventsInCase(source: Query, afterMs: number): Query<{ readonly id: number; readonly payload: JsonObject }> {
  return sql<{ id: number; payload: JsonObject }>`
    insert into outbox (type, payload, due_at)
    select event.type, event.payload, clock_timestamp() + ${afterMs} * interval '1 millisecond' from (${source}) as event (type, payload)
    returning id, payload`;
}

/** @param rows JSON of an array of type and payload; they get their ids in its order. */
function addQuery(rows: string): Query {
  const source = sql`select event.type, event.payload from jsonb_to_recordset(${rows}::jsonb) as event (type text, payload jsonb)`;
  return named('outbox.add', insertEvents(source));
}

function dueQuery(types: readonly string[]): Query<{ readonly id: number; readonly type: string }> {
  return named(
    'outbox.due',
    sql<{ id: number; type: string }>`
    select id, type from outbox where due_at <= now() and type = any(${types}::text[]) order by due_at, id limit ${PASS_MAX}`,
  );
}

/** The rows stay locked until the transaction ends, and stay there while the consumer works, which may look at them; other relays pass them by. */
function takeQuery(ids: readonly number[]): Query<OutboxEvent> {
  const query = sql<OutboxEvent>`
    select id, type, payload from outbox
     where id = any(${ids}::bigint[]) and due_at <= now()
     order by due_at, id
       for update skip locked`;
  return named('outbox.take', query);
}

function removeQuery(ids: readonly number[]): Query {
  return named('outbox.remove', sql`delete from outbox where id = any(${ids}::bigint[])`);
}

/** 1 s, 2 s, 4 s … 5 min. */
function postponeQuery(id: number): Query {
  return sql`
    update outbox
       set attempts = attempts + 1,
           due_at = now() + least(${RETRY_MS_MAX}, 1000 * 2 ^ least(attempts, 20)) * interval '1 millisecond'
     where id = ${id}`;
}
