/** Notifications on their way beyond the inbox: each waits for some time, and is told of if it is still unread then and its user wants to hear by that channel. */
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { AppEvent } from '../../../protocol/app-events.ts';
import { enqueue, type NewDelivery } from '../delivery/queries.ts';
import { bodyOf, type Message } from '../delivery/rules.ts';

type Notified = Extract<AppEvent, { readonly type: 'inbox.notified' }>;

/** Not read since it moved up last. */
const IS_UNREAD = sql`(i.read_at is null or i.read_at < i.notified_at)`;

/**
 * Each that is unread, unless one waits already: that stands for all that happens until then, or until it is read, when a trigger takes it away. In
 * the order of their ids: two relays that wait for each other's would not end.
 */
export async function noteNotifications(tx: Sql, events: readonly Notified[], delayMs: number): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ notificationId, userId, kind, roomId, about }) => ({ notificationId, userId, kind, roomId, about }));
  await tx.query(sql`
    insert into webhook_notifications (notification_id, user_id, kind, room_id, about, due_at)
    select n."notificationId", n."userId", n.kind, n."roomId", n.about, clock_timestamp() + ${delayMs}::float8 * interval '1 millisecond'
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as n ("notificationId" text, "userId" text, kind text, "roomId" text, about jsonb)
     where exists (select from webhooks where not disabled and 'notification' = any(subscribed_events))
       and exists (select from inbox_notifications i where i.id = n."notificationId" and ${IS_UNREAD})
     order by n."notificationId" collate "C"
    on conflict (notification_id) do nothing`);
}

interface DueNotification {
  readonly notificationId: string;
  readonly userId: string;
  readonly kind: string;
  readonly roomId: string | null;
  readonly about: Readonly<Record<string, string>>;
  /** Null when it was read, or deleted. */
  readonly triggeredAt: string | null;
}

export interface NotificationDeps {
  readonly projectId: string;
  readonly nowIso: () => string;
  /** By which the user wants to hear of notifications of a kind. */
  readonly findChannels: (db: Sql, of: { readonly userId: string; readonly kind: string }) => Promise<readonly string[]>;
}

/** Tells of some that are due, or not. Returns how many. */
export async function tellDueNotifications(
  db: Sql,
  limit: number,
  { projectId, nowIso, findChannels }: NotificationDeps,
): Promise<number> {
  return db.transaction(async (tx) => {
    const due = await tx.query(sql<DueNotification>`
      with due as (
        delete from webhook_notifications where ctid = any(array(
          select ctid from webhook_notifications where due_at <= statement_timestamp() order by due_at limit ${limit} for update skip locked))
        returning *
      )
      select d.notification_id as "notificationId", d.user_id as "userId", d.kind, r.id as "roomId", d.about, i.notified_at as "triggeredAt"
        from due d
        left join inbox_notifications i on i.id = d.notification_id and ${IS_UNREAD}
        left join rooms r on r.pk = i.room_pk`);
    const deliveries: NewDelivery[] = [];
    for (const notification of due) {
      if (notification.triggeredAt === null) continue;
      for (const channel of await findChannels(tx, notification)) {
        const message = messageOf(notification, { channel, createdAt: nowIso() });
        deliveries.push({ type: 'notification', body: bodyOf(message, projectId) });
      }
    }
    await enqueue(tx, deliveries);
    return due.length;
  });
}

function messageOf(
  { notificationId, userId, kind, roomId, about, triggeredAt }: DueNotification,
  { channel, createdAt }: { readonly channel: string; readonly createdAt: string },
): Message {
  const data = { roomId, channel, kind, userId, inboxNotificationId: notificationId, ...about, createdAt, triggeredAt };
  return { type: 'notification', data };
}
