/**
 * The outbox in Postgres: a row per event, relayed one transaction each.
 *
 * What a consumer writes through its `sql` commits with the event's removal, so it happens once, whatever crashes and however many workers
 * relay. What it does elsewhere may happen again. An event whose consumer fails waits longer and longer but is never dropped; others pass it.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/observe.ts';
import type { Outbox, OutboxConsumer, OutboxEvent } from './outbox.ts';
import { type Query, type Sql, sql } from './sql.ts';

export interface SqlOutboxDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

/** The backstop for events whose worker died between commit and relay. Shorter costs an idle query per worker and poll. */
const POLL_EVERY_MS = 5_000;
const RETRY_MS_MAX = 300_000;

export class SqlOutbox implements Outbox {
  readonly #deps: SqlOutboxDeps;
  readonly #consumers = new Map<string, OutboxConsumer>();
  #stopPolling: () => void = () => undefined;
  #pass: Promise<void> | null = null;
  /** Counts nudges, so that one that comes during a pass is not lost. */
  #nudges = 0;
  #isClosed = false;

  constructor(deps: SqlOutboxDeps) {
    this.#deps = deps;
  }

  /** Registers what happens to events of a type; one consumer each, before `start`. A type nobody here knows is left to newer workers. */
  consume(type: string, consumer: OutboxConsumer): void {
    if (this.#consumers.has(type)) throw new Error(`outbox: ${type} has a consumer already`);
    this.#consumers.set(type, consumer);
  }

  start(): void {
    this.#stopPolling = this.#deps.clock.every(POLL_EVERY_MS, () => this.nudge());
    this.nudge();
  }

  /** Resolves when the event under way is done; the others wait for the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopPolling();
    await this.idle();
  }

  /** Resolves when this worker relays nothing at the moment. */
  async idle(): Promise<void> {
    await this.#pass;
  }

  async add(db: Sql, ...events: readonly Omit<OutboxEvent, 'id'>[]): Promise<void> {
    const rows = JSON.stringify(events.map(({ type, payload }) => ({ type, payload })));
    await db.query(sql`
      insert into outbox (type, payload)
      select event.type, event.payload from jsonb_to_recordset(${rows}::jsonb) as event (type text, payload jsonb)`);
  }

  nudge(): void {
    this.#nudges++;
    if (!this.#isClosed) this.#pass ??= this.#relayAll();
  }

  /** Relays until nothing is due. Never rejects: the next poll tries again. */
  async #relayAll(): Promise<void> {
    for (let seen = -1; seen !== this.#nudges; ) {
      seen = this.#nudges;
      while ((await this.#relayOne()) && !this.#isClosed);
    }
    this.#pass = null; // in the turn of the last look at the nudges, so none falls between
  }

  /** Returns whether another event may be due. */
  async #relayOne(): Promise<boolean> {
    let event: OutboxEvent | undefined;
    try {
      return await this.#deps.db.transaction(async (tx) => {
        [event] = await tx.query(takeQuery([...this.#consumers.keys()]));
        if (event === undefined) return false;
        await this.#consumers.get(event.type)!(event, tx);
        await tx.query(sql`delete from outbox where id = ${event.id}`);
        return true;
      });
    } catch (error) {
      this.#deps.log.error({ err: error, eventId: event?.id, type: event?.type }, 'outbox relay failed');
      return event !== undefined && this.#postpone(event.id);
    }
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

/** The row stays locked until the transaction ends; other relays pass it by. */
function takeQuery(types: readonly string[]): Query<OutboxEvent> {
  return sql<OutboxEvent>`
    select id, type, payload from outbox
     where due_at <= now() and type = any(${types}::text[])
     order by due_at, id
     limit 1
       for update skip locked`;
}

/** 1 s, 2 s, 4 s … 5 min. */
function postponeQuery(id: number): Query {
  return sql`
    update outbox
       set attempts = attempts + 1,
           due_at = now() + least(${RETRY_MS_MAX}, 1000 * 2 ^ least(attempts, 20)) * interval '1 millisecond'
     where id = ${id}`;
}
