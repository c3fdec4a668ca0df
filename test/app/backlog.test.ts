/** What waits in a real database, as gauges. */
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { watchBacklog } from '../../src/app/backlog.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { GaugeName, Metrics } from '../../src/base/metrics.ts';
import { noMetrics } from '../../src/base/metrics.ts';
import { silentLog } from '../../src/base/observe.ts';
import { sql } from '../../src/kernel/persistence/sql.ts';
import { until } from '../support/e2e/until.ts';
import { manualClock } from '../support/manual-clock.ts';
import { usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();

function gauges(): { metrics: Metrics; read: (name: GaugeName) => number } {
  const reads = new Map<GaugeName, () => number>();
  return { metrics: { ...noMetrics, gauge: (name, read) => void reads.set(name, read) }, read: (name) => reads.get(name)!() };
}

test('[BG1] due events and undelivered messages are counted, with the age of the oldest; what is not due yet is no delay', async () => {
  const db = await postgres.open();
  await db.query(sql`insert into outbox (type, payload, due_at) values
    ('x', '{}', now() - interval '1 hour'), ('x', '{}', now()), ('x', '{}', now() + interval '1 hour')`);
  await db.query(sql`
    with hook as (insert into webhooks (id, url, subscribed_events, storage_throttle_s, ydoc_throttle_s, secret)
                  values ('wh_1', 'https://a', '{}', 60, 60, 's') returning pk)
    insert into webhook_deliveries (webhook_pk, id, body, due_at)
    select pk, id, '{}', due_at from hook, (values ('a', now() - interval '2 minutes'), ('b', now() + interval '1 hour'), ('c', null)) as m (id, due_at)`);
  await db.query(sql`
    with off as (insert into webhooks (id, url, subscribed_events, storage_throttle_s, ydoc_throttle_s, secret, disabled)
                 values ('wh_2', 'https://a', '{}', 60, 60, 's', true) returning pk)
    insert into webhook_deliveries (webhook_pk, id, body, due_at)
    select pk, 'd', '{}', now() - interval '1 hour' from off union select 0, 'e', '{}', now() - interval '1 hour'`); // nobody waits for these
  const { metrics, read } = gauges();
  const backlog = watchBacklog({ db, clock: systemClock, log: silentLog, metrics });
  onTestFinished(() => backlog.close());
  await until('it has looked', () => !Number.isNaN(read('atrium_outbox_events')));
  expect(read('atrium_outbox_events')).toBe(2);
  expect(Math.round(read('atrium_outbox_age_seconds') / 60)).toBe(60);
  expect(read('atrium_webhook_messages')).toBe(2);
  expect(Math.round(read('atrium_webhook_age_seconds') / 60)).toBe(2);
  expect([0, Number.NaN]).toContain(read('atrium_database_sync_standbys'));
});

test('[BG2] while the database is away the gauges are not numbers, and nothing else happens', async () => {
  const clock = manualClock();
  const { metrics, read } = gauges();
  let asked = 0;
  const away = async (): Promise<never> => {
    asked += 1;
    throw new Error('away');
  };
  const db = { query: away, change: away, transaction: away };
  const backlog = watchBacklog({ db, clock, log: silentLog, metrics });
  await setImmediate(); // the first look has ended
  await clock.advance(15_000);
  await backlog.close();
  expect(asked).toBe(2);
  expect(read('atrium_outbox_events')).toBeNaN();
  await clock.advance(60_000);
  expect(asked).toBe(2);
});
