/**
 * The messages that wait for webhooks. A row per message and webhook is written with what it tells of; whoever claims it sends it, and says how that
 * went if nobody has claimed it since.
 */
import { named, type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import { giveUpWaitingQuery } from '../endpoints/queries.ts';
import type { WebhookEvent } from '../endpoints/shapes.ts';

/** So many may wait for one webhook; what comes beyond is written down as given up, to be recovered. */
export const WAITING_MAX = 10_000;

export interface NewDelivery {
  readonly type: WebhookEvent;
  readonly body: string;
  /** One webhook; all that are subscribed when absent. */
  readonly webhookPk?: number;
}

/** Writes a row for each message and each webhook that wants it, in their order. Returns how many. */
export async function enqueue(tx: Sql, messages: readonly NewDelivery[]): Promise<number> {
  if (messages.length === 0) return 0;
  const query = sql`
    with hooks as materialized (  -- counted once, however many messages there are
      select pk, subscribed_events, ${WAITING_MAX} <= (select count(*) from (select from webhook_deliveries d
               where d.webhook_pk = webhooks.pk and d.due_at >= webhooks.due_from
               order by d.due_at limit ${WAITING_MAX}) waiting) as is_full           -- in order, or all messages may be read
        from webhooks where not disabled
    )
    insert into webhook_deliveries (webhook_pk, id, body, due_at, failed_at, problem)
    select w.pk, 'msg_' || replace(gen_random_uuid()::text, '-', ''), m.body,
           case when w.is_full then null else clock_timestamp() end, case when w.is_full then clock_timestamp() end,
           case when w.is_full then 'too many messages were waiting' end
      from jsonb_to_recordset(${JSON.stringify(messages.map((message, n) => ({ n, ...message })))}::jsonb)
             as m (n integer, type text, body text, "webhookPk" bigint)
      join hooks w on m.type = any(w.subscribed_events) and (m."webhookPk" is null or w.pk = m."webhookPk")
     order by m.n`;
  return tx.change(named('deliveries enqueued', query));
}

/** Whether thousands may be written for all webhooks that want them, and none be given up. */
export async function mayWriteMany(db: Sql, type: WebhookEvent): Promise<boolean> {
  const full = await db.query(sql`
    select 1 from webhooks w where not w.disabled and ${type} = any(w.subscribed_events) and exists (
      select from webhook_deliveries d where d.webhook_pk = w.pk and d.due_at >= w.due_from order by d.due_at offset ${WAITING_MAX / 2})`);
  return full.length === 0;
}

export interface Wanted {
  readonly events: ReadonlySet<WebhookEvent>;
  /** Another one when webhooks have changed. */
  readonly edition: string;
}

/** What some webhook wants to hear of. */
export async function findWanted(db: Sql): Promise<Wanted> {
  const query = sql<{ id: string; updatedAt: string; events: WebhookEvent[] }>`
    select id, updated_at as "updatedAt", subscribed_events as events from webhooks where not disabled order by pk`;
  const rows = await db.query(named('webhooks wanted', query));
  return {
    events: new Set(rows.flatMap(({ events }) => events)),
    edition: rows.map(({ id, updatedAt }) => `${id} ${updatedAt}`).join(),
  };
}

/** Webhooks for which messages are due. */
export async function findDue(db: Sql): Promise<number[]> {
  const query = sql<{ pk: number }>`
    select pk from webhooks w
     where not disabled and next_at < statement_timestamp() + interval '1 second'
       and (select d.due_at from webhook_deliveries d where d.webhook_pk = w.pk and d.due_at >= w.due_from       -- one step for each, whatever a plan expects
             order by d.due_at limit 1) <= statement_timestamp()`;
  const rows = await db.query(named('webhooks due', query));
  return rows.map(({ pk }) => pk);
}

/** A transaction that wrote messages and has not committed for so long is waited for, */
const WRITTEN_WITHIN = sql`interval '1 minute'`;
/** and messages of one that took longer are found by a look that begins so much earlier. */
const LOOKS_BACK = sql`interval '10 minutes'`;

/**
 * Notes from where what waits for each webhook is looked for. Whatever is written is due then or later. It is read ahead of the change, for who claims
 * waits for the row of the webhook.
 */
export async function noteWhereWaitingBegins(db: Sql): Promise<void> {
  const begins = await db.query(sql<{ pk: number; from: string }>`
    select pk, least(statement_timestamp(), (
             select d.due_at from webhook_deliveries d where d.webhook_pk = w.pk and d.due_at >= w.due_from - ${LOOKS_BACK}
              order by d.due_at limit 1)) - ${WRITTEN_WITHIN} as "from"
      from webhooks w where not disabled`);
  await db.query(sql`
    update webhooks w set due_from = begins."from"
      from jsonb_to_recordset(${JSON.stringify(begins)}::jsonb) as begins (pk bigint, "from" timestamptz)
     where w.pk = begins.pk and w.due_from <> begins."from"`);
}

export interface Claimed {
  readonly pk: number;
  readonly claim: number;
  readonly id: string;
  readonly body: string;
  readonly attempts: number;
  readonly webhookPk: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The secret of today, then those that still hold. */
  readonly secrets: readonly string[];
  /** It leaves then, for the webhook takes so many a second. */
  readonly waitMs: number;
}

/** An attempt has certainly ended by then: it waits a second at most, and 15 s for an answer. If its worker is gone, another one begins. */
export const CLAIM_MS = 30_000;

/** Takes up to `limit` messages that are due; two that ask take different ones. With a rate, each has its moment within the next second. */
export function claimQuery(webhookPk: number, limit: number, only: number | null = null): Query<Claimed> {
  return sql<Claimed>`
    with hook as materialized (
      select *, greatest(next_at, clock_timestamp()) as first_at from webhooks
       where pk = ${webhookPk} and not disabled and (rate_limit is null or next_at < clock_timestamp() + interval '1 second')
         for no key update
    ), due as materialized (
      select d.pk from webhook_deliveries d
       where d.webhook_pk = ${webhookPk} and exists (select from hook)
         and case when ${only}::bigint is null then d.due_at >= (select due_from from hook) and d.due_at <= statement_timestamp()
                  else d.pk = ${only}::bigint end
       order by d.due_at, d.pk
       limit (select least(${limit}::integer, coalesce(rate_limit, ${limit}::integer)) from hook)
         for update skip locked
    ), placed as (
      select pk, row_number() over (order by pk) - 1 as place from due
    ), paced as (
      update webhooks w set next_at = hook.first_at + (select count(*) from due) * interval '1 second' / hook.rate_limit
        from hook where w.pk = hook.pk and hook.rate_limit is not null and exists (select from due)
    ), claimed as (
      update webhook_deliveries d set claim = d.claim + 1, due_at = case when ${only}::bigint is null then clock_timestamp() + ${CLAIM_MS} * interval '1 millisecond' end
        from placed where d.pk = placed.pk and d.pk = any(array(select pk from due))  -- few, whatever a plan expects
      returning d.*, placed.place
    )
    select c.pk, c.claim, c.id, c.body, c.attempts, c.webhook_pk as "webhookPk", hook.url, hook.additional_headers as headers,
           array[hook.secret] || array(select old ->> 'value' from jsonb_array_elements(hook.old_secrets) with ordinality as secrets (old, place)
                                        where (old ->> 'until')::timestamptz > clock_timestamp() order by place) as secrets,
           coalesce(greatest(0, extract(epoch from hook.first_at + c.place * interval '1 second' / hook.rate_limit - clock_timestamp()) * 1000), 0)::float8 as "waitMs"
      from claimed c, hook order by c.pk`;
}

type Mine = Pick<Claimed, 'pk' | 'claim' | 'webhookPk'>;

export async function noteDelivered(db: Sql, { pk, claim, webhookPk }: Mine): Promise<void> {
  await db.query(sql`
    update webhook_deliveries set delivered_at = clock_timestamp(), due_at = null, failed_at = null, problem = null
     where pk = ${pk} and claim = ${claim}`);
  await db.query(sql`update webhooks set failing_since = null where pk = ${webhookPk} and failing_since is not null`);
}

/** Everything has failed for so long: the webhook is disabled (supplement 6.3). */
const DISABLED_AFTER = sql`interval '5 days'`;

interface Failure {
  readonly problem: string;
  /** null: it is given up. */
  readonly againMs: number | null;
}

/** Returns whether that was the failure after which the webhook is disabled. */
export async function noteFailed(db: Sql, { pk, claim, webhookPk }: Mine, { problem, againMs }: Failure): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [hook] = await tx.query(sql<{ disabled: boolean }>`
      update webhooks set failing_since = coalesce(failing_since, clock_timestamp()),
             disabled = coalesce(failing_since < clock_timestamp() - ${DISABLED_AFTER}, false),
             updated_at = case when failing_since < clock_timestamp() - ${DISABLED_AFTER} then now() else updated_at end
       where pk = ${webhookPk} and not disabled returning disabled`);
    await tx.query(sql`
      update webhook_deliveries set attempts = attempts + 1, problem = ${problem},
             due_at = clock_timestamp() + ${againMs}::float8 * interval '1 millisecond',
             failed_at = case when ${againMs}::float8 is null then clock_timestamp() end
       where pk = ${pk} and claim = ${claim} and (due_at is not null or ${againMs}::float8 is null)`);
    if (hook?.disabled !== true) return false;
    await tx.query(giveUpWaitingQuery(webhookPk));
    return true;
  });
}

/** It was not sent after all: whoever asks next takes it. */
export async function release(db: Sql, { pk, claim }: Mine): Promise<void> {
  await db.query(sql`
    update webhook_deliveries set due_at = clock_timestamp() where pk = ${pk} and claim = ${claim} and due_at is not null`);
}

/** A test for one webhook alone, which nobody claims but who knows it: it counts as given up until it is taken. */
export async function insertTest(
  db: Sql,
  webhookPk: number,
  body: string,
): Promise<{ readonly pk: number; readonly id: string }> {
  const [row] = await db.query(sql<{ pk: number; id: string }>`
    insert into webhook_deliveries (webhook_pk, id, body, failed_at, problem, is_test)
    values (${webhookPk}, 'msg_' || replace(gen_random_uuid()::text, '-', ''), ${body}, clock_timestamp(), 'it could not be sent at once', true)
    returning pk, id`);
  return row!;
}

/** Delivered ones are kept for a day, given up ones for a week, and of these so many of each webhook. */
const FAILED_KEPT_MAX = 20_000;

/** Deletes some that are kept no longer. Returns how many. */
export function deleteOld(db: Sql, limit: number): Promise<number> {
  return db.change(sql`
    delete from webhook_deliveries where pk = any(array(
      (select pk from webhook_deliveries where delivered_at < now() - interval '1 day' limit ${limit})
      union all
      (select d.pk from webhooks w cross join lateral (
         (select pk from webhook_deliveries where webhook_pk = w.pk and failed_at < now() - interval '7 days' limit ${limit})
         union all
         (select pk from webhook_deliveries where webhook_pk = w.pk and failed_at is not null
           order by failed_at desc offset ${FAILED_KEPT_MAX} limit ${limit})) d
        limit ${limit})))`);
}

/** Deletes some whose webhook is gone. Returns how many. */
export function deleteOrphans(db: Sql, limit: number): Promise<number> {
  return db.change(sql`
    with recursive of as (          -- webhooks that have messages, few: each is one step in the index
      (select webhook_pk from webhook_deliveries order by webhook_pk limit 1)
      union all
      select (select d.webhook_pk from webhook_deliveries d where d.webhook_pk > of.webhook_pk order by d.webhook_pk limit 1)
        from of where of.webhook_pk is not null
    )
    delete from webhook_deliveries where pk = any(array(
      select d.pk from of cross join lateral (      -- a range in its order: of an equation with a limit Postgres may read the whole table
         select m.pk from webhook_deliveries m where m.webhook_pk >= of.webhook_pk and m.webhook_pk < of.webhook_pk + 1
          order by m.webhook_pk limit ${limit} for update skip locked) d
       where not exists (select from webhooks w where w.pk = of.webhook_pk)
       limit ${limit}))`);
}
