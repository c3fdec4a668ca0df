/** What users are subscribed to. The rule itself is a function of the database, `is_subscribed`. */
import { isoFromMs } from '../../../base/clock.ts';
import { type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { SubscriptionDocument } from '../../../protocol/comments.ts';
import { joinsOf, type SubscriptionDefault, subscribedBy } from '../filters/queries.ts';
import { type RoomPks, type ThreadRow, visibleIn } from '../threads/queries.ts';
import { noThread } from '../threads/rules.ts';

/** When a subscription began that nobody asked for: with the thread, or with the setting for the room. */
const SINCE = sql`coalesce(s.created_at, greatest(t.created_at, rs.changed_at))::timestamptz(3)`;
const DOCUMENT = sql`'thread' as kind, t.id as "subjectId", ${SINCE} as "createdAt"`;

/** Which of these threads a user is subscribed to. */
export async function findSubscriptions(
  db: Sql,
  { userId, threadPks, byDefault }: { userId: string; threadPks: readonly number[]; byDefault: SubscriptionDefault },
): Promise<SubscriptionDocument[]> {
  if (threadPks.length === 0) return [];
  return db.query(sql<SubscriptionDocument>`
    select ${DOCUMENT} from threads t ${joinsOf(userId)}
     where t.pk = any(${threadPks}::bigint[]) and ${subscribedBy(byDefault)}
     order by t.pk`);
}

export type UserSubscription = SubscriptionDocument & { readonly userId: string };

/** All who are subscribed to a thread, as far as they are known: who said or set nothing, and takes no part, is nobody the database knows. */
export async function findSubscribers(
  db: Sql,
  { threadPk, byDefault }: { threadPk: number; byDefault: SubscriptionDefault },
): Promise<UserSubscription[]> {
  return db.query(sql<UserSubscription>`
    select ${DOCUMENT}, u.user_id as "userId"
      from threads t
     cross join lateral (
       select user_id from thread_subscriptions where thread_pk = t.pk
        union select user_id from room_subscription_settings where room_pk = t.room_pk) u
      left join thread_subscriptions s on s.thread_pk = t.pk and s.user_id = u.user_id
      left join room_subscription_settings rs on rs.room_pk = t.room_pk and rs.user_id = u.user_id
     where t.pk = ${threadPk} and ${subscribedBy(byDefault)}
     order by 3, 4`);
}

/** What a user says of a thread. */
interface Saying {
  readonly thread: Pick<ThreadRow, 'pk' | 'id'>;
  readonly userId: string;
  readonly nowMs: number;
}

/** A subscription that is there keeps the time it began. @throws AppError RESOURCE_NOT_FOUND when the thread is gone. */
export async function subscribe(db: Sql, saying: Saying): Promise<SubscriptionDocument> {
  const [said] = await db.query(saidQuery(saying, sql`true`));
  if (said === undefined) throw noThread(saying.thread.id);
  return { kind: 'thread', subjectId: saying.thread.id, createdAt: said.createdAt };
}

export async function unsubscribe(db: Sql, saying: Saying): Promise<void> {
  await db.query(saidQuery(saying, sql`false`));
}

/** No row when the thread is gone. */
function saidQuery({ thread, userId, nowMs }: Saying, says: Query): Query<{ createdAt: string }> {
  return sql<{ createdAt: string }>`
    insert into thread_subscriptions (thread_pk, user_id, is_subscribed, said_at, created_at)
    select pk, ${userId}, ${says}, clock_timestamp(), ${isoFromMs(nowMs)} from threads where pk = ${thread.pk} for key share
    on conflict (thread_pk, user_id) do update
       set is_subscribed = excluded.is_subscribed, said_at = excluded.said_at, changed_at = clock_timestamp(),
           created_at = case when thread_subscriptions.is_subscribed is false then excluded.created_at else thread_subscriptions.created_at end
    returning created_at as "createdAt"`;
}

export interface DeletedSubscription {
  readonly type: 'deletedSubscription';
  readonly kind: 'thread';
  readonly subjectId: string;
  readonly deletedAt: string;
}

export interface SubscriptionsAsked {
  readonly userId: string;
  readonly roomPks: RoomPks;
  readonly sinceMs: number;
  readonly byDefault: SubscriptionDefault;
}

/** More than this is not told at once. */
const CHANGED_MAX = 5_000;

/** What a user is subscribed to, or no longer, because they said so, took part, set something for the room, or the thread is new. */
export async function findSubscriptionsSince(
  db: Sql,
  { userId, roomPks, sinceMs, byDefault }: SubscriptionsAsked,
): Promise<{ subscriptions: SubscriptionDocument[]; deleted: DeletedSubscription[] }> {
  type Row = SubscriptionDocument & { isSubscribed: boolean; deletedAt: string | null };
  const rooms = [...new Set([...roomPks.public, ...roomPks.private])];
  const since = sql`${isoFromMs(sinceMs)}::timestamptz`;
  const rows = await db.query(sql<Row>`
    select ${DOCUMENT}, ${subscribedBy(byDefault)} as "isSubscribed", greatest(s.changed_at, rs.changed_at)::timestamptz(3) as "deletedAt"
      from threads t ${joinsOf(userId)}
     where ${visibleIn(roomPks)} and t.pk in (
       select changed.pk from threads changed where changed.room_pk = any(${rooms}::bigint[]) and changed.changed_at >= ${since}
        union all
       select thread_pk from thread_subscriptions where user_id = ${userId} and changed_at >= ${since}
        union all
       select of.pk from room_subscription_settings own join threads of on of.room_pk = own.room_pk
        where own.user_id = ${userId} and own.changed_at >= ${since})
     order by greatest(s.changed_at, rs.changed_at, t.changed_at) desc
     limit ${CHANGED_MAX}`);
  const subscriptions: SubscriptionDocument[] = [];
  const deleted: DeletedSubscription[] = [];
  for (const { isSubscribed, deletedAt, ...subscription } of rows) {
    if (isSubscribed) subscriptions.push(subscription);
    else if (deletedAt !== null)
      deleted.push({ type: 'deletedSubscription', kind: 'thread', subjectId: subscription.subjectId, deletedAt });
  }
  return { subscriptions, deleted };
}
