/**
 * Turns a comment, as the outbox tells of it, into rows of inboxes, in the transaction that takes the event out of the outbox.
 *
 * The same event again changes nothing, and a thread or comment that is gone meanwhile is nobody's news. Each user has one row for a thread:
 * it moves up and becomes unread again, but for the author's own, which is read with what they write.
 */
import type { Outbox, OutboxEvent } from '../../../kernel/persistence/outbox.ts';
import { type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import { type AppEvent, appEventOf, outboxRowsOf } from '../../../protocol/app-events.ts';
import { type CommentBody, type Mentions, mentionsIn, type Visibility } from '../../../protocol/comments.ts';
import type { RoomAccesses } from '../../../protocol/permissions.ts';
import { knowableGroups } from '../groups/rules.ts';
import { isUserId } from '../inbox/rules.ts';
import { readsOf } from '../readers/queries.ts';
import { isNotified, type Listener, type MayRead, mayRead, type News, type ThreadsSetting } from './rules.ts';

export interface NotifyDeps {
  readonly outbox: Outbox;
  /** Of who set nothing for the room. */
  readonly byDefault: ThreadsSetting;
  newNotificationId(): string;
}

/** Users whom one comment may reach. Ours: a group has a tenth of it. */
const NOTIFIED_MAX = 10_000;

type CommentEvent = Extract<AppEvent, { type: 'comment.created' | 'comment.edited' }>;

/** The consumer of the `inbox` rows of the outbox, in the order in which they were written. */
export async function notifyOfComments(rows: readonly OutboxEvent[], tx: Sql, deps: NotifyDeps): Promise<void> {
  const happened = rows.flatMap((row) => {
    const event = appEventOf(row);
    return event.type === 'comment.created' || event.type === 'comment.edited' ? [{ id: row.id, event }] : [];
  });
  if (happened.length === 0) return;
  await holdThreads(
    tx,
    happened.map(({ event }) => event),
  );
  for (const one of happened) await notifyOfComment(one, tx, deps);
}

/**
 * Who tells of the same thread waits here. Of several threads all that is locked while they are told of is locked first, in the order in which everybody
 * locks it: rooms and threads before what is in inboxes, as by whoever deletes them, and that by room and thread.
 */
async function holdThreads(tx: Sql, events: readonly CommentEvent[]): Promise<void> {
  const threads = new Map(events.map(({ roomPk, threadId }) => [`${roomPk} ${threadId}`, { roomPk, threadId }]));
  const keys = [...threads.keys()].sort();
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('inbox ' || key, 0)) from unnest(${keys}::text[]) as key`);
  if (threads.size < 2) return;
  const told = sql`jsonb_to_recordset(${JSON.stringify([...threads.values()])}::jsonb) as told ("roomPk" bigint, "threadId" text)`;
  await tx.query(sql`
    with room as materialized (select pk from rooms where pk in (select "roomPk" from ${told}) order by pk for key share)
    select from room join threads t on t.room_pk = room.pk join ${told} on told."roomPk" = t.room_pk and told."threadId" = t.id
     order by room.pk, t.id collate "C" for key share of t`);
  await tx.query(sql`
    select from inbox_notifications n join ${told} on n.room_pk = told."roomPk" and n.subject_id = told."threadId"
     order by n.room_pk, n.subject_id collate "C", n.pk for update of n`);
}

interface Happened {
  /** In the outbox. */
  readonly id: number;
  readonly event: CommentEvent;
}

async function notifyOfComment({ id, event }: Happened, tx: Sql, deps: NotifyDeps): Promise<void> {
  const comment = await findComment(tx, event);
  if (comment === null) return;
  const mentioned = await findMentioned(tx, comment, newMentions(mentionsIn(comment.body), event));
  const what = event.type === 'comment.created' ? ('comment' as const) : ('edit' as const);
  if (what === 'comment') await readByAuthor(tx, { comment, event: id, at: event.at });
  const news = { author: comment.author, what, byDefault: deps.byDefault };
  const listeners = await findListeners(tx, comment, { ...news, mentioned, event: id });
  const notified = listeners.filter((listener) => isNotified(listener, news));
  const rows = await moveUp(tx, { comment, what, event: id, at: event.at, users: notified }, deps);
  const certain = new Set(notified.filter((listener) => listener.mayRead === 'yes').map(({ userId }) => userId));
  const told = rows.filter(({ userId }) => certain.has(userId));
  if (told.length > 0) await deps.outbox.add(tx, ...told.flatMap((one) => outboxRowsOf(eventOf(one, comment))));
}

interface Comment {
  readonly author: string;
  readonly body: CommentBody;
  readonly threadPk: number;
  readonly threadId: string;
  readonly visibility: Visibility;
  readonly roomPk: number;
  readonly roomId: string;
  readonly organizationId: string;
  readonly accesses: RoomAccesses;
}

/** Null when it is gone. Else room and thread stay until the transaction ends; the room is held first, as by whoever deletes it. */
async function findComment(tx: Sql, { roomPk, threadId, commentId }: CommentEvent): Promise<Comment | null> {
  const [found] = await tx.query(sql<Comment>`
    with room as materialized (select * from rooms where pk = ${roomPk} for key share)
    select c.user_id as author, c.body, t.pk as "threadPk", t.id as "threadId", t.visibility,
           r.pk as "roomPk", r.id as "roomId", r.organization_id as "organizationId",
           jsonb_build_object('defaultAccesses', r.default_accesses, 'usersAccesses', r.users_accesses, 'groupsAccesses', r.groups_accesses) as accesses
      from room r join threads t on t.room_pk = r.pk join comments c on c.thread_pk = t.pk
     where t.id = ${threadId} and c.id = ${commentId} and c.deleted_at is null
       for key share of t`);
  return found ?? null;
}

/** Of an edited comment those that were not in it before. */
function newMentions({ userIds, groups }: Mentions, event: CommentEvent): Mentions {
  const before = new Set(event.type === 'comment.edited' ? event.mentionedBefore : []);
  const groupsBefore = new Set(event.type === 'comment.edited' ? event.groupsMentionedBefore : []);
  return {
    userIds: userIds.filter((id) => !before.has(id)),
    groups: groups
      .filter(({ id }) => !groupsBefore.has(id))
      .map(({ id, userIds: named }) => ({ id, userIds: named.filter((userId) => !before.has(userId)) })),
  };
}

/** The users: by id, those whom the client took to be in a group, and those who are in it. */
async function findMentioned(tx: Sql, { organizationId }: Comment, { userIds, groups }: Mentions): Promise<string[]> {
  const ids = knowableGroups(groups.map(({ id }) => id));
  const members =
    ids.length === 0
      ? []
      : await tx.query(sql<{ userId: string }>`
          select distinct m.user_id as "userId" from groups g join group_members m on m.group_pk = g.pk
           where g.id = any(${ids}::text[]) and g.organization_id = ${organizationId}`);
  const named = [...userIds, ...groups.flatMap((group) => group.userIds)].filter(isUserId);
  return [...new Set([...named, ...members.map(({ userId }) => userId)])];
}

/** Users whom the comment may concern, with all that the rules ask of them; those who are mentioned first. */
async function findListeners(
  tx: Sql,
  { threadPk, roomPk, visibility, accesses }: Comment,
  { author, what, byDefault, mentioned, event }: News & { readonly mentioned: readonly string[]; readonly event: number },
): Promise<Listener[]> {
  const others = what === 'edit' ? sql`` : sql`${ofThread(threadPk)} ${ofRoom(roomPk, byDefault)}`;
  const rows = await tx.query(sql<Omit<Listener, 'mayRead'> & { shown: boolean | null }>`
    with concerned as (select mentioned.id as user_id from unnest(${mentioned}::text[]) as mentioned(id) ${others})
    select u.user_id as "userId", u.user_id = any(${mentioned}::text[]) as "isMentioned",
           -- not since a later comment: when this one was written, and with it its event
           coalesce(s.takes_part and s.created_at <= coalesce((select o.created_at from outbox o where o.id = ${event}), 'infinity'), false) as "takesPart",
           s.is_subscribed as "isSubscribed", rs.threads, coalesce(s.said_at > rs.changed_at, false) as "saidOfThreadLast",
           coalesce(${readsOf(sql`u.user_id`, { roomPk, visibility })}, case when s.is_subscribed or ${hasWritten(roomPk, visibility)} then true end) as shown
      from concerned u
      left join thread_subscriptions s on s.thread_pk = ${threadPk} and s.user_id = u.user_id
      left join room_subscription_settings rs on rs.room_pk = ${roomPk} and rs.user_id = u.user_id
     where u.user_id <> ${author}
     order by 2 desc, 1 limit ${NOTIFIED_MAX}`);
  const resource = `comments:${visibility}` as const;
  return rows
    .filter(({ userId }) => isUserId(userId))
    .map(({ shown, ...listener }) => {
      const reading: MayRead = mayRead(accesses, { userId: listener.userId, resource, shown });
      return { ...listener, mayRead: reading };
    });
}

/** Whether the user `u` wrote in threads of this visibility in the room. */
function hasWritten(roomPk: number, visibility: Visibility): Query {
  return sql`exists (
    select from thread_subscriptions ws join threads wt on wt.pk = ws.thread_pk
     where ws.user_id = u.user_id and ws.takes_part and wt.room_pk = ${roomPk} and wt.visibility = ${visibility}
       and exists (select from comments wc where wc.thread_pk = wt.pk and wc.user_id = u.user_id))`;
}

/** Who takes part in a thread, or subscribed to it. */
function ofThread(threadPk: number): Query {
  return sql`union select user_id from thread_subscriptions where thread_pk = ${threadPk} and (takes_part or is_subscribed)`;
}

/** Who wants to hear of all of a room. When that is the default: whoever wrote there or is named by it, for others are not known. */
function ofRoom(roomPk: number, byDefault: ThreadsSetting): Query {
  const wantAll = sql`union select user_id from room_subscription_settings where room_pk = ${roomPk} and threads = 'all'`;
  if (byDefault !== 'all') return wantAll;
  return sql`${wantAll}
    union select ks.user_id from thread_subscriptions ks join threads kt on kt.pk = ks.thread_pk where kt.room_pk = ${roomPk}
    union select jsonb_object_keys(users_accesses) from rooms where pk = ${roomPk}`;
}

/** Not before the comment, or clients would not count it as news; but a time that was given and lies ahead is not believed. */
const atLeast = (at: string): Query => sql`least(${at}::timestamptz, now() + interval '1 minute')`;

/**
 * Who writes in a thread has read it: the SDK moves their row up with the comment, and shows it as read. What came after the comment stays unread,
 * which the order of the events tells: a row has the time at which it was told.
 */
async function readByAuthor(tx: Sql, { comment, event, at }: Omit<Move, 'what' | 'users'>): Promise<void> {
  const { author, threadPk } = comment;
  await tx.query(sql`
    update inbox_notifications n
       set notified_at = greatest(n.notified_at, ${atLeast(at)}), read_at = greatest(n.read_at, n.notified_at, ${atLeast(at)}),
           changed_at = clock_timestamp(), last_event = ${event}
     where n.user_id = ${author} and n.thread_pk = ${threadPk} and coalesce(n.last_event, 0) < ${event}`);
}

interface Told {
  readonly id: string;
  readonly userId: string;
  readonly notifiedAt: string;
}

interface Move {
  readonly comment: Comment;
  readonly what: News['what'];
  /** In the outbox. */
  readonly event: number;
  readonly at: string;
  readonly users: readonly Listener[];
}

/** Rows that were added or moved up; none for an event that was here before. */
async function moveUp(tx: Sql, { comment, what, event, at, users }: Move, { newNotificationId }: NotifyDeps): Promise<Told[]> {
  if (users.length === 0) return [];
  const { organizationId, roomPk, threadPk, threadId } = comment;
  const rows = JSON.stringify(users.map(({ userId }) => ({ id: newNotificationId(), user_id: userId })));
  const notifiedAt = sql`greatest(clock_timestamp(), ${atLeast(at)})`;
  // A comment that was edited before its own event came has been read with the edit in it: the time of the row must be later than that reading.
  const isKnown = what === 'edit' ? sql`n.read_at is null and n.notified_at >= ${at}::timestamptz` : sql`false`;
  return tx.query(sql<Told>`
    insert into inbox_notifications as n (id, user_id, organization_id, kind, room_pk, thread_pk, subject_id, notified_at, last_event)
    select one.id, one.user_id, ${organizationId}, 'thread', ${roomPk}::bigint, ${threadPk}::bigint, ${threadId}, ${notifiedAt}, ${event}::bigint
      from jsonb_to_recordset(${rows}::jsonb) as one (id text, user_id text)
     order by one.user_id             -- in one order always: two comments that wait for each other's rows would not end
    on conflict (user_id, thread_pk) do update
       set notified_at = greatest(n.notified_at, excluded.notified_at), read_at = null, changed_at = clock_timestamp(),
           last_event = excluded.last_event
     where n.last_event is distinct from excluded.last_event and not (${isKnown})
    returning n.id, n.user_id as "userId", n.notified_at as "notifiedAt"`);
}

function eventOf({ id, userId, notifiedAt }: Told, { roomId, threadId }: Comment): AppEvent {
  return { type: 'inbox.notified', notificationId: id, userId, kind: 'thread', roomId, at: notifiedAt, about: { threadId } };
}
