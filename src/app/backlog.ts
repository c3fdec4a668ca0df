/**
 * What waits in the database to be told to somebody, and whether what is written there is on a second machine: looked at now and then, because
 * no worker knows it by itself. Counts, never content.
 */
import type { Clock } from '../base/clock.ts';
import type { GaugeName, Metrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import { type Query, type Sql, sql } from '../kernel/persistence/sql.ts';

interface BacklogDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

const LOOK_EVERY_MS = 15_000;

interface Found {
  readonly events: number;
  readonly eventsAgeS: number;
  readonly messages: number;
  readonly messagesAgeS: number;
  readonly standbys: number | null;
}

const SHOWN = {
  atrium_outbox_events: 'events',
  atrium_outbox_age_seconds: 'eventsAgeS',
  atrium_webhook_messages: 'messages',
  atrium_webhook_age_seconds: 'messagesAgeS',
  atrium_database_sync_standbys: 'standbys',
} as const satisfies Partial<Record<GaugeName, keyof Found>>;

/** Looks from now on, until it is closed. Closing waits for the look under way. */
export function watchBacklog({ db, clock, log, metrics }: BacklogDeps): { close(): Promise<void> } {
  let found: Found | null = null;
  let looking: Promise<void> = Promise.resolve();
  let isLooking = false;
  const look = async (): Promise<void> => {
    try {
      [found = null] = await db.query(backlogQuery());
    } catch (error) {
      found = null; // what was seen before would be taken for how it is
      log.debug({ err: error }, 'backlog not seen');
    }
    isLooking = false;
  };
  const lookUnlessLooking = (): void => {
    if (isLooking) return;
    isLooking = true;
    looking = look();
  };
  for (const [name, of] of Object.entries(SHOWN) as [GaugeName, keyof Found][])
    metrics.gauge(name, () => found?.[of] ?? Number.NaN);
  const stop = clock.every(LOOK_EVERY_MS, lookUnlessLooking);
  lookUnlessLooking();
  return {
    close() {
      stop();
      return looking;
    },
  };
}

/** Standbys are seen by members of pg_monitor only; to others they all look asynchronous. */
function backlogQuery(): Query<Found> {
  return sql<Found>`
    select o.events, o.age as "eventsAgeS", w.messages, w.age as "messagesAgeS",
           case when pg_has_role(current_user, 'pg_monitor', 'usage')
                then (select count(*)::int from pg_stat_replication where sync_state in ('sync', 'quorum')) end as standbys
      from (select count(*)::int as events, coalesce(extract(epoch from now() - min(due_at)), 0)::float as age
              from outbox where due_at <= now()) o,
           (select count(*)::int as messages,
                   greatest(0, coalesce(extract(epoch from now() - min(due_at)), 0))::float as age
              from webhook_deliveries d join webhooks on webhooks.pk = d.webhook_pk and not disabled
             where due_at is not null) w`;
}
