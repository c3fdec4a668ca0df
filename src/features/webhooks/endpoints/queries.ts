/** Webhooks in the database. */
import { AppError } from '../../../base/errors.ts';
import { soughtId } from '../../../base/text.ts';
import { joinSql, type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { Position } from '../../../protocol/paging.ts';
import { tellSooner } from '../changes/queries.ts';
import type { WebhookDocument, WebhookEvent } from './shapes.ts';

/** A row of `webhooks`; times are ISO strings. */
export interface WebhookRow {
  readonly pk: number;
  readonly id: string;
  readonly url: string;
  readonly subscribedEvents: WebhookEvent[];
  readonly rateLimit: number | null;
  readonly additionalHeaders: Record<string, string>;
  readonly storageThrottleS: number;
  readonly ydocThrottleS: number;
  readonly disabled: boolean;
  readonly secret: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const COLUMNS = sql`pk, id, url, subscribed_events as "subscribedEvents", rate_limit as "rateLimit", additional_headers as "additionalHeaders",
  storage_throttle_s as "storageThrottleS", ydoc_throttle_s as "ydocThrottleS", disabled, secret, created_at as "createdAt",
  updated_at as "updatedAt"`;

/** Whoever sends has room for all of them at once (see `sender.ts`). */
export const WEBHOOKS_MAX = 50;

export function webhookOf({
  pk: _,
  storageThrottleS,
  ydocThrottleS,
  rateLimit,
  additionalHeaders,
  secret,
  ...row
}: WebhookRow): WebhookDocument {
  return {
    ...row,
    secret: { value: secret },
    storageUpdatedThrottleSeconds: storageThrottleS,
    yDocUpdatedThrottleSeconds: ydocThrottleS,
    ...(rateLimit !== null && { rateLimit }),
    ...(Object.keys(additionalHeaders).length > 0 && { additionalHeaders }),
  };
}

export async function listWebhooks(db: Sql, { after, limit }: { after: Position | null; limit: number }): Promise<WebhookRow[]> {
  const beyond =
    after === null ? sql`true` : sql`(created_at, pk) < (to_timestamp(${after.atMs}::float8 / 1000), ${after.pk}::bigint)`;
  return db.query(sql<WebhookRow>`
    select ${COLUMNS} from webhooks where ${beyond} order by created_at desc, pk desc limit ${limit}`);
}

export async function findWebhook(db: Sql, id: string): Promise<WebhookRow | null> {
  const [row] = await db.query(sql<WebhookRow>`select ${COLUMNS} from webhooks where id = ${soughtId(id)}`);
  return row ?? null;
}

export type NewWebhook = Omit<WebhookRow, 'pk' | 'disabled' | 'createdAt' | 'updatedAt'>;

/** @throws AppError UNPROCESSABLE_ENTITY when there are as many as may be */
export async function insertWebhook(db: Sql, hook: NewWebhook): Promise<WebhookRow> {
  const [row] = await db.query(sql<WebhookRow>`
    insert into webhooks (id, url, subscribed_events, rate_limit, additional_headers, storage_throttle_s, ydoc_throttle_s, secret)
    select ${hook.id}, ${hook.url}, ${hook.subscribedEvents}::text[], ${hook.rateLimit}::integer, ${JSON.stringify(hook.additionalHeaders)}::jsonb,
           ${hook.storageThrottleS}::integer, ${hook.ydocThrottleS}::integer, ${hook.secret}
     where (select count(*) from webhooks) < ${WEBHOOKS_MAX}
    returning ${COLUMNS}`);
  if (row === undefined)
    throw new AppError('UNPROCESSABLE_ENTITY', { reason: `There may be ${WEBHOOKS_MAX} webhooks at most; delete one first` });
  return row;
}

export type WebhookChanges = Partial<
  Pick<
    WebhookRow,
    'url' | 'subscribedEvents' | 'rateLimit' | 'storageThrottleS' | 'ydocThrottleS' | 'disabled' | 'additionalHeaders'
  >
>;

/** Null when there is none. A shorter window counts for what waits, too. To disable it ends what waits; to enable it again forgets how it failed, and ends what was being written meanwhile. */
export async function updateWebhook(db: Sql, id: string, changes: WebhookChanges): Promise<WebhookRow | null> {
  return db.transaction(async (tx) => {
    const [found] = await tx.query(sql<WebhookRow & { wasDisabled: boolean }>`
      update webhooks set ${joinSql(assignments(changes), ', ')}
        from (select pk as of, disabled as was_disabled from webhooks where id = ${soughtId(id)} for no key update) before
       where pk = before.of returning ${COLUMNS}, was_disabled as "wasDisabled"`);
    if (found === undefined) return null;
    const { wasDisabled, ...row } = found;
    if (changes.disabled === true || (changes.disabled === false && wasDisabled)) await tx.query(giveUpWaitingQuery(row.pk));
    if (changes.storageThrottleS !== undefined || changes.ydocThrottleS !== undefined) await tellSooner(tx, row.pk);
    return row;
  });
}

function assignments({
  url,
  subscribedEvents,
  rateLimit,
  storageThrottleS,
  ydocThrottleS,
  disabled,
  additionalHeaders,
}: WebhookChanges): Query[] {
  const set = [sql`updated_at = now()`];
  if (url !== undefined) set.push(sql`url = ${url}`);
  if (subscribedEvents !== undefined) set.push(sql`subscribed_events = ${subscribedEvents}::text[]`);
  if (rateLimit !== undefined) set.push(sql`rate_limit = ${rateLimit}`);
  if (storageThrottleS !== undefined) set.push(sql`storage_throttle_s = ${storageThrottleS}`);
  if (ydocThrottleS !== undefined) set.push(sql`ydoc_throttle_s = ${ydocThrottleS}`);
  if (disabled !== undefined) set.push(sql`disabled = ${disabled}, failing_since = null`);
  if (additionalHeaders !== undefined) set.push(sql`additional_headers = ${JSON.stringify(additionalHeaders)}::jsonb`);
  return set;
}

/** What waits for a webhook that is disabled is given up; it can be recovered. */
export function giveUpWaitingQuery(webhookPk: number): Query {
  return sql`
    update webhook_deliveries set due_at = null, failed_at = clock_timestamp(), problem = coalesce(problem, 'the webhook was disabled')
     where webhook_pk = ${webhookPk} and due_at is not null`;
}

/** Merges or removes under a row lock. Null when there is no such webhook. */
export async function changeHeaders(
  db: Sql,
  id: string,
  change: (headers: Record<string, string>) => Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>> | null> {
  return db.transaction(async (tx) => {
    const [row] = await tx.query(sql<WebhookRow>`select ${COLUMNS} from webhooks where id = ${soughtId(id)} for no key update`);
    if (row === undefined) return null;
    const headers = change(row.additionalHeaders);
    await updateWebhook(tx, id, { additionalHeaders: { ...headers } });
    return headers;
  });
}

/** Its messages go after it, some at a time (`deleteOrphans`). */
export async function deleteWebhook(db: Sql, id: string): Promise<boolean> {
  return (await db.change(sql`delete from webhooks where id = ${soughtId(id)}`)) > 0;
}

/** More are not kept beside the one that counts; the oldest goes first. */
const OLD_SECRETS_MAX = 5;

/** The secret before goes on signing for a day; the newest stands first, also of two in one millisecond. False when there is no such webhook. */
export async function rollSecret(db: Sql, id: string, secret: string): Promise<boolean> {
  const rolled = await db.change(sql`
    update webhooks w set secret = ${secret}, updated_at = now(), old_secrets = (
             select coalesce(jsonb_agg(old order by place), '[]') from (
               select old, place from jsonb_array_elements(jsonb_build_array(
                        jsonb_build_object('value', w.secret, 'until', to_char((now() + interval '1 day') at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) || w.old_secrets)
                      with ordinality as secrets (old, place)
                where old ->> 'until' > to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
                order by place limit ${OLD_SECRETS_MAX}) kept)
     where id = ${soughtId(id)}`);
  return rolled > 0;
}

/** Sends again what was written since then and given up, but no tests; what waits for a later attempt does not wait any more. */
export async function recoverFailed(db: Sql, webhookPk: number, sinceIso: string): Promise<void> {
  await db.query(sql`
    update webhook_deliveries set due_at = clock_timestamp(), failed_at = null, attempts = 0
     where webhook_pk = ${webhookPk} and created_at >= ${sinceIso}::timestamptz and not is_test
       and (failed_at is not null or (attempts > 0 and due_at > clock_timestamp() + interval '1 minute'))`); // sooner: it may be on its way
}
