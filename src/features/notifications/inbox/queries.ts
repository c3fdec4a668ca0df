/**
 * Inboxes in the database.
 *
 * Whose organisation a notification is of follows its room, which may move. Rows of threads and rooms that are deleted go with them, and a
 * trigger notes each that goes, for clients that ask what has changed.
 */
import { isoFromMs } from '../../../base/clock.ts';
import type { RoomId } from '../../../base/ids.ts';
import { joinSql, type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { ActivityData, DeletedInboxNotification, InboxNotification } from '../../../protocol/inbox.ts';
import { fitting, type Position } from '../../../protocol/paging.ts';
import type { RoomAccesses } from '../../../protocol/permissions.ts';
import type { Person } from '../../../protocol/person.ts';
import { documentOf, type InboxFilter, type InboxRow, type Readable, TRIGGER_LIMITS } from './rules.ts';

/** More that has changed than this is not told at once. */
const CHANGED_MAX = 1_000;

const COLUMNS = sql`n.pk, n.id, n.user_id as "userId", n.kind, r.id as "roomId", coalesce(r.organization_id, n.organization_id) as "organizationId",
  n.thread_pk as "threadPk", n.subject_id as "subjectId", n.details, n.notified_at as "notifiedAt", n.read_at as "readAt",
  n.changed_at as "changedAt", coalesce(t.content_bytes, 0) + octet_length(n.details::text) as "answerBytes",
  octet_length(n.details::text) as "ownBytes"`;
const TABLES = sql`inbox_notifications n left join rooms r on r.pk = n.room_pk left join threads t on t.pk = n.thread_pk`;
/** A case, for Postgres takes it to hold for every second row: of an equation it expects one in two hundred, and reads and sorts all of an inbox for the first page. */
const organizationIs = (organizationId: string | null): Query =>
  organizationId === null
    ? sql`true`
    : sql`case coalesce((select of.organization_id from rooms of where of.pk = n.room_pk), n.organization_id)
            when ${organizationId} then true else false end`;

/** Whose, and which of theirs. `organizationId` null: of all organisations. `readable` null: all of them. */
export interface InboxScope {
  readonly userId: string;
  readonly organizationId: string | null;
  readonly filter: InboxFilter;
  readonly readable: Readable | null;
}

function conditionOf({ userId, organizationId, filter, readable }: InboxScope): Query {
  const conditions = [sql`n.user_id = ${userId}`, organizationIs(organizationId)];
  for (const roomId of filter.roomIds) conditions.push(sql`r.id = ${roomId}`);
  for (const kind of filter.kinds) conditions.push(sql`n.kind = ${kind}`);
  for (const unread of filter.unread) conditions.push(unread ? sql`n.read_at is null` : sql`n.read_at is not null`);
  if (readable !== null) conditions.push(isReadable(readable));
  return joinSql(conditions, ' and ');
}

function isReadable({ publicIn, privateIn, textsIn }: Readable): Query {
  return sql`case n.kind
    when 'thread' then (t.visibility = 'public' and n.room_pk = any(${publicIn}::bigint[]))
                    or (t.visibility = 'private' and n.room_pk = any(${privateIn}::bigint[]))
    when 'textMention' then n.room_pk = any(${textsIn}::bigint[])
    else true end`;
}

/** Up to `limit` notifications, the latest first, from just after `after`; with `to`, none beyond that. */
export async function listInbox(
  db: Sql,
  scope: InboxScope,
  { after, to = null, limit }: { readonly after: Position | null; readonly to?: Position | null; readonly limit: number },
): Promise<InboxRow[]> {
  return db.query(sql<InboxRow>`
    select ${COLUMNS} from ${TABLES} where ${conditionOf(scope)} and ${beyond(after)} and ${notBeyond(to)}
     order by n.notified_at desc, n.pk desc limit ${limit}`);
}

const placeOf = ({ atMs, pk }: Position): Query => sql`(${isoFromMs(atMs)}::timestamptz, ${pk}::bigint)`;
const beyond = (after: Position | null): Query => (after === null ? sql`true` : sql`(n.notified_at, n.pk) < ${placeOf(after)}`);
const notBeyond = (to: Position | null): Query => (to === null ? sql`true` : sql`(n.notified_at, n.pk) >= ${placeOf(to)}`);

/** So many notifications are looked at for one page, those among them that may not be read, too. */
export const LOOKED_AT_MAX = 1_000;

/** The rooms of the notifications that a page may show, and where the last of these stands: null when all are among them. */
export async function lookAhead(
  db: Sql,
  scope: InboxScope,
  after: Position | null,
): Promise<{ readonly rooms: RoomOfInbox[]; readonly to: Position | null }> {
  const rows = await db.query(sql<{ roomPk: number | null; notifiedAt: string; pk: number }>`
    select n.room_pk as "roomPk", n.notified_at as "notifiedAt", n.pk from ${TABLES} where ${conditionOf({ ...scope, readable: null })} and ${beyond(after)}
     order by n.notified_at desc, n.pk desc limit ${LOOKED_AT_MAX}`);
  const pks = [...new Set(rows.flatMap(({ roomPk }) => roomPk ?? []))];
  const last = rows.length < LOOKED_AT_MAX ? undefined : rows.at(-1);
  return {
    rooms: await findRooms(db, sql`pk = any(${pks}::bigint[])`),
    to: last === undefined ? null : { atMs: Date.parse(last.notifiedAt), pk: last.pk },
  };
}

/** What has changed in an inbox, as much of it as one answer has, and the threads that it is of. */
export interface InboxChanges {
  readonly inboxNotifications: InboxNotification[];
  readonly threadPks: number[];
  /** When the first that is not here changed; null: all are. */
  readonly leftOutMs: number | null;
}

/** What was added, moved up or read since, the earliest change first. `sinceMs` as `changesSince` makes it. */
export async function findInboxSince(db: Sql, scope: InboxScope, sinceMs: number): Promise<InboxChanges> {
  const found = await db.query(sql<InboxRow>`
    select ${COLUMNS} from ${TABLES} where ${conditionOf(scope)} and n.changed_at >= ${isoFromMs(sinceMs)}::timestamptz
     order by n.changed_at, n.pk limit ${CHANGED_MAX + 1}`);
  const told = fitting(found, CHANGED_MAX);
  const leftOut = found[told.length];
  return {
    inboxNotifications: told.map(documentOf),
    threadPks: told.flatMap(({ threadPk }) => threadPk ?? []),
    leftOutMs: leftOut === undefined ? null : Date.parse(leftOut.changedAt),
  };
}

export async function countUnread(db: Sql, scope: InboxScope): Promise<number> {
  const [counted] = await db.query(sql<{ count: number }>`
    select count(*) as count from ${TABLES} where ${conditionOf(scope)} and n.read_at is null`);
  return Number(counted!.count);
}

/** A room as its accesses are judged. */
export interface RoomOfInbox {
  readonly pk: number;
  readonly id: RoomId;
  readonly organizationId: string;
  readonly accesses: RoomAccesses;
}

const ACCESSES = sql`jsonb_build_object(
  'defaultAccesses', default_accesses, 'usersAccesses', users_accesses, 'groupsAccesses', groups_accesses) as accesses`;

function findRooms(db: Sql, which: Query): Promise<RoomOfInbox[]> {
  return db.query(
    sql<RoomOfInbox>`select pk, id, organization_id as "organizationId", ${ACCESSES} from rooms where ${which} order by pk`,
  );
}

/** The rooms that what is unread is of. */
export function findRoomsOfUnread(db: Sql, scope: InboxScope): Promise<RoomOfInbox[]> {
  return findRooms(
    db,
    sql`pk in (select n.room_pk from ${TABLES} where ${conditionOf({ ...scope, readable: null })} and n.read_at is null)`,
  );
}

/**
 * The rooms of a person's inbox of which there may be something to tell since: of the inbox, of threads, or of what the person said of them. Each part finds
 * its rooms by index: as one condition with `or`, all rooms of the organisation would be read for it.
 */
export function findRoomsChangedSince(db: Sql, { userId, organizationId }: Person, sinceMs: number): Promise<RoomOfInbox[]> {
  const since = sql`${isoFromMs(sinceMs)}::timestamptz`;
  return findRooms(
    db,
    sql`organization_id = ${organizationId} and pk = any(array(
      with mine as materialized (select distinct room_pk from inbox_notifications where user_id = ${userId} and room_pk is not null)
      select room_pk from inbox_notifications where user_id = ${userId} and changed_at >= ${since}
       union
      select r.pk from deleted_inbox_notifications d join rooms r on r.id = d.room_id where d.user_id = ${userId} and d.deleted_at >= ${since}
       union
      select room_pk from mine
       where exists (select from threads t where t.room_pk = mine.room_pk and t.changed_at >= ${since})
          or exists (select from deleted_threads d where d.room_pk = mine.room_pk and d.deleted_at >= ${since})
       union
      select room_pk from mine join room_subscription_settings s using (room_pk) where s.user_id = ${userId} and s.changed_at >= ${since}
       union
      select room_pk from thread_subscriptions s join threads t on t.pk = s.thread_pk join mine using (room_pk)
       where s.user_id = ${userId} and s.changed_at >= ${since}))`,
  );
}

export async function findNotification(db: Sql, { id, userId }: { id: string; userId: string }): Promise<InboxRow | null> {
  const [row] = await db.query(sql<InboxRow>`select ${COLUMNS} from ${TABLES} where n.id = ${id} and n.user_id = ${userId}`);
  return row ?? null;
}

/** Those of one thread, of all users. */
export async function findNotificationsOfThread(db: Sql, threadPk: number): Promise<InboxRow[]> {
  return db.query(sql<InboxRow>`select ${COLUMNS} from ${TABLES} where n.thread_pk = ${threadPk} order by n.pk`);
}

/**
 * Those rows `n`, locked in the order in which all do that who change several: by room and thread, as the consumer of comments has them. Two that
 * wait for each other's would not end.
 */
function inOrder(which: Query): Query {
  return sql`n.pk = any(array(
    select n.pk from inbox_notifications n where ${which} order by n.room_pk, n.subject_id collate "C", n.pk for update))`;
}

const READ = sql`read_at = greatest(now(), n.notified_at), changed_at = clock_timestamp()`;

/** False when there is none of this id. What was read before keeps its time. */
export async function markRead(db: Sql, id: string): Promise<boolean> {
  const found = await db.query(sql`select pk from inbox_notifications where id = ${id}`);
  await db.query(sql`update inbox_notifications n set ${READ} where n.id = ${id} and n.read_at is null`);
  return found.length > 0;
}

/**
 * An inbox is read or deleted so many at a time, each time for good: Postgres takes 30 to 90 µs for each, and ends a statement after 10 s. (Within a
 * transaction they go together, and whoever else locks them may then be who waits in vain.)
 */
const TOGETHER_MAX = 10_000;

/** Does the work for each part of an inbox, from the latest down; what moves up meanwhile is newer than "all". Returns how many rows it changed. */
async function inParts(db: Sql, userId: string, change: (part: Query) => Promise<number>): Promise<number> {
  let changed = 0;
  for (let after: Position | null = null; ; ) {
    const [last]: { notifiedAt: string; pk: number }[] = await db.query(sql<{ notifiedAt: string; pk: number }>`
      select n.notified_at as "notifiedAt", n.pk from inbox_notifications n where n.user_id = ${userId} and ${beyond(after)}
       order by n.notified_at desc, n.pk desc offset ${TOGETHER_MAX - 1} limit 1`);
    const to: Position | null = last === undefined ? null : { atMs: Date.parse(last.notifiedAt), pk: last.pk };
    changed += await change(sql`${beyond(after)} and ${notBeyond(to)}`);
    if (to === null) return changed;
    after = to;
  }
}

/** Marks as read what is a person's, of these ids; what is not is passed by. */
export async function markReadOf(db: Sql, { userId, organizationId }: Person, ids: readonly string[] | 'all'): Promise<void> {
  const read = (which: Query): Promise<number> =>
    db.change(sql`
      update inbox_notifications n set ${READ}
       where ${inOrder(sql`n.user_id = ${userId} and n.read_at is null and ${organizationIs(organizationId)} and ${which}`)}`);
  if (ids === 'all') await inParts(db, userId, read);
  else await read(sql`n.id = any(${ids}::text[])`);
}

/** Returns how many there were. `id` null: all of them. */
export function deleteNotifications(
  db: Sql,
  { userId, organizationId, id }: { userId: string; organizationId: string | null; id: string | null },
): Promise<number> {
  const remove = (which: Query): Promise<number> =>
    db.change(sql`
      delete from inbox_notifications n
       where ${inOrder(sql`n.user_id = ${userId} and ${organizationIs(organizationId)} and ${which}`)}`);
  return id === null ? inParts(db, userId, remove) : remove(sql`n.id = ${id}`);
}

/** A thread as its notifications are asked for; null when the room has none of this id. */
export async function findThreadPk(
  db: Sql,
  { roomId, threadId }: { roomId: RoomId; threadId: string },
): Promise<number | null | 'no room'> {
  const [found] = await db.query(sql<{ threadPk: number | null }>`
    select t.pk as "threadPk" from rooms r left join threads t on t.room_pk = r.pk and t.id = ${threadId} where r.id = ${roomId}`);
  return found === undefined ? 'no room' : found.threadPk;
}

/** The room a notification is to be of, kept from being deleted until the transaction ends. */
export async function holdRoom(tx: Sql, roomId: RoomId): Promise<RoomOfInbox | null> {
  const [room] = await tx.query(sql<RoomOfInbox>`
    select pk, id, organization_id as "organizationId", ${ACCESSES} from rooms where id = ${roomId} for key share`);
  return room ?? null;
}

export interface NewActivity {
  /** Of a notification that is made for it. */
  readonly notificationId: string;
  readonly activityId: string;
  readonly userId: string;
  readonly organizationId: string;
  readonly kind: string;
  readonly subjectId: string;
  readonly roomPk: number | null;
  readonly data: ActivityData;
  readonly nowIso: string;
}

/** Puts an activity into an inbox, as a notification of its own. Returns the id of that. */
export async function addNotification(tx: Sql, { notificationId, ...activity }: NewActivity): Promise<string> {
  const { userId, organizationId, kind, roomPk, subjectId, nowIso } = activity;
  const details = JSON.stringify({ activities: [shownActivity(activity)] });
  await tx.query(sql`
    insert into inbox_notifications (id, user_id, organization_id, kind, room_pk, subject_id, details, notified_at)
    values (${notificationId}, ${userId}, ${organizationId}, ${kind}, ${roomPk}, ${subjectId}, ${details}::jsonb, ${nowIso})`);
  return notificationId;
}

/** Adds an activity to the latest notification of the same user, kind and subject, which moves up and becomes unread; to a new one when that is full. */
export async function addToBatch(tx: Sql, activity: NewActivity): Promise<string> {
  const { userId, organizationId, kind, roomPk, subjectId, nowIso } = activity;
  // two activities at once would else both find no notification
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify([userId, kind, subjectId])}, 0))`);
  const [latest] = await tx.query(sql<{ pk: number; id: string; activities: number }>`
    select pk, id, jsonb_array_length(details -> 'activities') as activities from inbox_notifications
     where user_id = ${userId} and kind = ${kind} and subject_id = ${subjectId} and room_pk is not distinct from ${roomPk}
       and (room_pk is not null or organization_id = ${organizationId})     -- a room may have moved since
     order by pk desc limit 1 for update`);
  if (latest === undefined || latest.activities >= TRIGGER_LIMITS.activitiesMax) return addNotification(tx, activity);
  const added = JSON.stringify([shownActivity(activity)]);
  await tx.query(sql`
    update inbox_notifications n
       set details = jsonb_set(details, '{activities}', (details -> 'activities') || ${added}::jsonb),
           notified_at = greatest(n.notified_at, ${nowIso}::timestamptz), read_at = null, changed_at = clock_timestamp()
     where pk = ${latest.pk}`);
  return latest.id;
}

function shownActivity({ activityId, nowIso, data }: Omit<NewActivity, 'notificationId'>) {
  return { id: activityId, createdAt: nowIso, data };
}

/** What a user was told of these threads. */
export async function findInboxOfThreads(
  db: Sql,
  { userId, threadPks }: { userId: string; threadPks: readonly number[] },
): Promise<InboxNotification[]> {
  const rows = await db.query(sql<InboxRow>`
    select ${COLUMNS} from ${TABLES} where n.user_id = ${userId} and n.thread_pk = any(${threadPks}::bigint[])`);
  return rows.map(documentOf);
}

/** More deleted ones than this are told one answer after the other. */
const DELETED_MAX = 5_000;

export interface DeletedOfInbox {
  readonly deletedInboxNotifications: DeletedInboxNotification[];
  /** When the first that did not fit into the answer was deleted; null: all did. */
  readonly leftOutMs: number | null;
}

/** Those that went first, first. `roomId` null: of all rooms, and of none. */
export async function findDeletedInboxSince(
  db: Sql,
  { userId, organizationId, roomId, sinceMs }: Person & { readonly roomId: string | null; readonly sinceMs: number },
): Promise<DeletedOfInbox> {
  const rows = await db.query(sql<{ id: string; roomId: string | null; deletedAt: string }>`
    select id, room_id as "roomId", deleted_at as "deletedAt" from deleted_inbox_notifications
     where user_id = ${userId} and organization_id = ${organizationId} and deleted_at >= ${isoFromMs(sinceMs)}::timestamptz
       and ${roomId === null ? sql`true` : sql`room_id = ${roomId}`}
     order by deleted_at, id limit ${DELETED_MAX + 1}`);
  const leftOut = rows[DELETED_MAX];
  return {
    deletedInboxNotifications: rows
      .slice(0, DELETED_MAX)
      .map(({ roomId: of, ...row }) => ({ type: 'deletedInboxNotification', ...row, ...(of !== null && { roomId: of }) })),
    leftOutMs: leftOut === undefined ? null : Date.parse(leftOut.deletedAt),
  };
}

/** Deletes some of what is kept no longer of deleted ones, of users who have deleted nothing since. Returns how many. */
export function deleteForgotten(db: Sql, limit: number): Promise<number> {
  return db.change(sql`
    delete from deleted_inbox_notifications where ctid = any(array(
      select ctid from deleted_inbox_notifications where deleted_at < now() - interval '30 days' limit ${limit} for update skip locked))`);
}
