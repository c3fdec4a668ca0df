/**
 * When which webhook is told that the Storage or the Yjs documents of a room changed: at once, then at most once in its window, with what changed
 * since. The rows are the memory of all workers together.
 */
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';

export type ChangeEvent = 'storageUpdated' | 'ydocUpdated';

export interface NotedChange {
  readonly roomPk: number;
  readonly event: ChangeEvent;
  /** Of the last change. */
  readonly at: string;
}

/** When the window ends that began when the webhook was told last; now, if it is over. */
const WINDOW_ENDS = sql`greatest(clock_timestamp(), c.told_at + interval '1 second' * (
  select case when c.event = 'storageUpdated' then storage_throttle_s else ydoc_throttle_s end from webhooks where pk = c.webhook_pk))`;

/** For each webhook that wants it there is something to tell: now, or when its window ends. */
export async function noteChanges(tx: Sql, changes: readonly NotedChange[], notedBy: string): Promise<void> {
  await tx.query(sql`
    insert into webhook_changes as c (webhook_pk, room_pk, event, changed_at, noted_by, due_at)
    select w.pk, r.pk, m.event, max(m.at), ${notedBy}, clock_timestamp()
      from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as m ("roomPk" bigint, event text, at timestamptz)
      join rooms r on r.pk = m."roomPk" join webhooks w on not w.disabled and m.event = any(w.subscribed_events)
     group by w.pk, r.pk, m.event
     order by w.pk, r.pk, m.event   -- two that write lock in one order
    on conflict (webhook_pk, room_pk, event) do update
      set changed_at = greatest(c.changed_at, excluded.changed_at), noted_by = excluded.noted_by,
          due_at = least(c.due_at, ${WINDOW_ENDS})`);
}

/** What waits beyond is told when its room changes again, or its old window ends: the rows are locked, and whoever changed the webhook waits. */
const SOONER_MAX = 10_000;

/** Of a webhook whose windows may be shorter than they were: what waits is told when they end now. */
export async function tellSooner(tx: Sql, webhookPk: number): Promise<void> {
  await tx.query(sql`
    update webhook_changes c set due_at = least(c.due_at, ${WINDOW_ENDS})
     where c.webhook_pk = ${webhookPk} and c.due_at is not null and (c.room_pk, c.event) in (
       select c.room_pk, c.event from webhook_changes c
        where c.webhook_pk = ${webhookPk} and c.due_at is not null and c.due_at > ${WINDOW_ENDS}
        order by c.room_pk, c.event limit ${SOONER_MAX} for no key update)   -- locked in the order of those that note`);
}

export interface Cover {
  readonly roomPk: number;
  readonly event: ChangeEvent;
  /** Until then every webhook that wants to will be told of whatever changes. */
  readonly forMs: number;
}

/** Those of the changes of which nobody need be told anew for a while. */
export async function findCovers(tx: Sql, changes: readonly NotedChange[]): Promise<Cover[]> {
  return tx.query(sql<Cover>`
    select c.room_pk as "roomPk", c.event, (extract(epoch from min(c.due_at) - clock_timestamp()) * 1000)::float8 as "forMs"
      from webhook_changes c join jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as m ("roomPk" bigint, event text)
        on m."roomPk" = c.room_pk and m.event = c.event
      join webhooks w on w.pk = c.webhook_pk and not w.disabled and c.event = any(w.subscribed_events)
     group by c.room_pk, c.event having bool_and(c.due_at is not null)`);
}

export interface DueChange extends NotedChange {
  readonly webhookPk: number;
  readonly roomId: string;
}

/** What others have noted is left to them for so long: they know of the last change. */
const OTHERS_FIRST = sql`interval '2 seconds'`;

/** Takes some that are due. The row stays, so that the window is known. */
export async function takeDueChanges(tx: Sql, { worker, limit }: { worker: string; limit: number }): Promise<DueChange[]> {
  return tx.query(sql<DueChange>`
    with due as (
      select webhook_pk, room_pk, event from webhook_changes
       where due_at <= statement_timestamp() and (noted_by = ${worker} or due_at <= statement_timestamp() - ${OTHERS_FIRST})
       order by due_at limit ${limit} for update skip locked
    ), told as (
      update webhook_changes c set due_at = null, told_at = clock_timestamp() from due
       where c.webhook_pk = due.webhook_pk and c.room_pk = due.room_pk and c.event = due.event
      returning c.*
    )
    select t.webhook_pk as "webhookPk", t.room_pk as "roomPk", r.id as "roomId", t.event, t.changed_at as at
      from told t join rooms r on r.pk = t.room_pk`);
}

/** Deletes some whose window is long over. Returns how many. */
export function deleteOldChanges(db: Sql, limit: number): Promise<number> {
  return db.change(sql`
    delete from webhook_changes where ctid = any(array(
      select ctid from webhook_changes where due_at is null and told_at < now() - interval '2 hours' limit ${limit} for update skip locked))`);
}
