/**
 * The outbox port: events written in the transaction of the change they tell of, relayed after its commit.
 * At least once per consumer; consumers drop repeats by event id.
 */
import type { JsonObject } from '../../base/json.ts';
import type { Sql } from './sql.ts';

export interface OutboxEvent {
  readonly id: number;
  readonly type: string;
  readonly payload: JsonObject;
}

/**
 * Handles events of its type, oldest first, inside the relay's transaction: what it writes through `sql` commits with their removal. The transaction waits
 * for nobody else, so whom it tells it tells in the function that it returns, which runs once that has committed, if nobody dies, and must not throw.
 */
export type OutboxConsumer = (events: readonly OutboxEvent[], sql: Sql) => Promise<void> | Promise<() => void>;

export interface Outbox {
  /** Writes events through the caller's transaction; one that several consumers want is a row for each, under a type of its own. */
  add(sql: Sql, ...events: readonly Omit<OutboxEvent, 'id'>[]): Promise<void>;
  /** Call after the commit: relays at once instead of at the next poll. */
  nudge(): void;
}
