/**
 * Rooms in the database. Guards stand in the statements or under a row lock, so nothing slips between a check and its write.
 *
 * What changes who serves a room, or whether anybody may, raises the epoch of its actor in the same transaction: an owner that has not
 * heard of it yet can write nothing more (design §4). Such transactions lock the owner's row first and the room's second, the order
 * of a journal append; the other way round the two would wait for each other.
 */
import { AppError, missingKey, valueAtKey } from '../../base/errors.ts';
import { asRoomId, asRoomPk, type RoomId, type RoomPk, type WorkerAddress } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { isUniqueViolation, joinSql, named, type Query, type Sql, sql } from '../../kernel/persistence/sql.ts';
import { insertEvents, insertEventsInCase } from '../../kernel/persistence/sql-outbox.ts';
import type { RoomAccesses } from '../../protocol/permissions.ts';
import { eventsOfNew, type NewRoomFields, type Position, type RoomClause, type RoomFilter } from './rules.ts';
import type { Room, RoomFields } from './shapes.ts';

/** A row of `rooms`; times are ISO strings. */
export interface RoomRow extends RoomFields {
  readonly pk: RoomPk;
  readonly id: RoomId;
  readonly organizationId: string;
  readonly createdAt: string;
  readonly lastConnectionAt: string | null;
}

const COLUMNS = sql`pk, id, organization_id as "organizationId", created_at as "createdAt", last_connection_at as "lastConnectionAt",
  metadata, default_accesses as "defaultAccesses", users_accesses as "usersAccesses", groups_accesses as "groupsAccesses"`;

/** A row as the contract shows it: `lastConnectionAt` is absent until somebody connected. */
export function roomOf(row: RoomRow): Room {
  const { id, createdAt, lastConnectionAt, organizationId, metadata, defaultAccesses, usersAccesses, groupsAccesses } = row;
  const fields = { organizationId, metadata, defaultAccesses, usersAccesses, groupsAccesses };
  return lastConnectionAt === null
    ? { type: 'room', id, createdAt, ...fields }
    : { type: 'room', id, createdAt, lastConnectionAt, ...fields };
}

const texts = new WeakMap<RoomRow, string>();

/** `roomOf` as JSON, written once for each row that was read. */
export function roomTextOf(row: RoomRow): string {
  let text = texts.get(row);
  if (text === undefined) {
    text = JSON.stringify(roomOf(row));
    texts.set(row, text);
  }
  return text;
}

export async function findRoom(db: Sql, roomId: RoomId): Promise<RoomRow | null> {
  const [room] = await db.query(named('room', sql<RoomRow>`select ${COLUMNS} from rooms where id = ${roomId}`));
  return room ?? null;
}

export interface NewRoom extends NewRoomFields {
  readonly id: RoomId;
  readonly nowIso: string;
}

/** What is written with a room that goes, in the same transaction. */
export type WithRoom = (tx: Sql, room: { readonly id: RoomId; readonly pk: RoomPk }) => Promise<void>;

export interface Found {
  readonly room: RoomRow;
  readonly isNew: boolean;
}

/** The room of this id, made with these fields if there was none. */
export async function findOrCreateRoom(db: Sql, room: NewRoom): Promise<Found> {
  const [found] = await findOrCreateRooms(db, [room]);
  return found!;
}

/**
 * The rooms of these ids, which differ, in any order; one statement, so they are there afterwards whoever races. Of those that it makes it tells, if some
 * webhook wants to hear of them: the outbox is to be nudged.
 */
export async function findOrCreateRooms(db: Sql, rooms: readonly NewRoom[]): Promise<Found[]> {
  const wanted = JSON.stringify(rooms.map((room) => ({ events: eventsOfNew(room), ...room })));
  const query = sql<RoomRow & { isNew: boolean }>`
    with wanted as (
      select * from jsonb_to_recordset(${wanted}::jsonb) as room
        (id text, "organizationId" text, "nowIso" timestamptz, metadata jsonb, "defaultAccesses" jsonb, "usersAccesses" jsonb, "groupsAccesses" jsonb, events jsonb)
    ), made as (
      insert into rooms (id, organization_id, created_at, metadata, default_accesses, users_accesses, groups_accesses)
      select id, "organizationId", "nowIso", metadata, "defaultAccesses", "usersAccesses", "groupsAccesses" from wanted
       order by id                                      -- two such statements never wait for each other
      on conflict (id) do update set id = excluded.id   -- changes nothing; returns and locks the row that is there
      returning *, xmax = 0 as is_new                   -- a row just inserted has no xmax
    ), owned as (
      insert into actor_owner (stream) select pk from made where is_new
    ), told as (${insertEvents(sql`
      select event.type, event.payload || jsonb_build_object('roomPk', made.pk)
        from made join wanted using (id), jsonb_to_recordset(wanted.events) as event (type text, payload jsonb)
       where is_new and exists (select from webhooks where not disabled and 'roomCreated' = any(subscribed_events))`)}
    )
    select ${COLUMNS}, is_new as "isNew" from made`;
  const rows = await db.query(named('rooms made', query));
  return rows.map(({ isNew, ...room }) => ({ room, isNew }));
}

/** A room as a change left it. */
export interface ChangedRoom extends RoomRow {
  /** The event of the outbox that says that its accesses are others, to be removed by who has told of it; null when they are not. */
  readonly accessEvent: number | null;
}

/** The type of those events; the payload has the `roomId`. */
export const ACCESSES_CHANGED = 'accesses.changed';
/** Who changes accesses tells of it by itself; a caller waits for that for 4.25 s. From then on others may. */
const TOLD_WITHIN_MS = 5_000;

/** Part of a statement that writes such an event for each room of `source`, which has its id; it returns `id` and `payload`. */
function tellOfAccesses(source: Query): Query<{ readonly id: number; readonly payload: JsonObject }> {
  const events = sql`select ${ACCESSES_CHANGED}::text, jsonb_build_object('roomId', changed.id) from (${source}) as changed (id)`;
  return insertEventsInCase(events, TOLD_WITHIN_MS);
}

/** Writes these events of the outbox anew, for the case that this worker, too, ends before it has told of them. */
export async function keepTellingOfAccesses(
  tx: Sql,
  events: readonly { readonly id: number }[],
): Promise<{ readonly id: number; readonly roomId: RoomId }[]> {
  const ids = events.map(({ id }) => id);
  const kept = await tx.query(
    tellOfAccesses(sql`select distinct payload ->> 'roomId' from outbox where id = any(${ids}::bigint[])`),
  );
  return kept.map(({ id, payload }) => ({ id, roomId: asRoomId(String(payload.roomId)) }));
}

/** A room as it was read, with a stamp that tells whether it has been written to since. */
export type StampedRoom = RoomRow & { readonly stamp: string };

export function findStampedRooms(db: Sql, roomIds: readonly RoomId[]): Promise<StampedRoom[]> {
  const query = sql<StampedRoom>`select ${COLUMNS}, xmin::text as stamp from rooms where id = any(${roomIds}::text[])`;
  return db.query(named('rooms stamped', query));
}

export interface Saved {
  readonly stamp: string;
  readonly accessEvent: number | null;
}

/** Saves the fields of those rooms that nobody has written to since they were read, nor holds at this moment; returns which, with their new stamps. */
export async function saveUnlessWrittenTo(db: Sql, rooms: readonly StampedRoom[]): Promise<Map<RoomPk, Saved>> {
  const drafts = JSON.stringify(
    rooms.map(({ pk, stamp, metadata, defaultAccesses, usersAccesses, groupsAccesses }) => ({
      ...{ pk, stamp, metadata, defaultAccesses, usersAccesses, groupsAccesses },
    })),
  );
  const query = sql<{ pk: RoomPk } & Saved>`
    with drafts as (
      select * from jsonb_to_recordset(${drafts}::jsonb) as draft
        (pk bigint, stamp text, metadata jsonb, "defaultAccesses" jsonb, "usersAccesses" jsonb, "groupsAccesses" jsonb)
    ), locked as (
      select drafts.*, id, (default_accesses, users_accesses, groups_accesses)
               is distinct from ("defaultAccesses", "usersAccesses", "groupsAccesses") as has_new_accesses
        from rooms join drafts using (pk) where rooms.xmin = drafts.stamp::xid for no key update of rooms skip locked
    ), told as (${tellOfAccesses(sql`select id from locked where has_new_accesses`)}
    )
    update rooms set metadata = locked.metadata, default_accesses = "defaultAccesses", users_accesses = "usersAccesses",
           groups_accesses = "groupsAccesses"
      from locked where rooms.pk = locked.pk
    returning rooms.pk, rooms.xmin::text as stamp,
              (select told.id from told where told.payload ->> 'roomId' = rooms.id) as "accessEvent"`;
  const saved = await db.query(named('rooms saved', query));
  return new Map(saved.map(({ pk, ...one }) => [pk, one]));
}

/**
 * Replaces the fields of a room by what `change` makes of them, under a row lock. Null when there is no such room. A throw of `change` is
 * thrown on, and nothing has changed.
 */
export async function changeRoom(db: Sql, roomId: RoomId, change: (room: RoomRow) => RoomFields): Promise<ChangedRoom | null> {
  return db.transaction(async (tx) => {
    const [room] = await tx.query(sql<RoomRow>`select ${COLUMNS} from rooms where id = ${roomId} for no key update`);
    return room === undefined ? null : saveFields(tx, room.pk, change(room));
  });
}

/**
 * `changeRoom`, or the room made from `fields` when there is none.
 * @throws AppError UNPROCESSABLE_ENTITY missing `defaultAccesses` when the room must be made and `fields` is null.
 */
export async function upsertRoom(
  db: Sql,
  {
    id,
    nowIso,
    fieldsIfNew,
    change,
  }: {
    id: RoomId;
    nowIso: string;
    fieldsIfNew: () => NewRoomFields | null;
    change: (room: RoomRow) => RoomFields;
  },
): Promise<ChangedRoom> {
  const changed = await changeRoom(db, id, change);
  if (changed !== null) return changed;
  const fields = fieldsIfNew();
  if (fields === null) throw missingKey('defaultAccesses'); // supplement 7, row 43
  return db.transaction(async (tx) => {
    const { room, isNew } = await findOrCreateRoom(tx, { id, nowIso, ...fields });
    return isNew ? { ...room, accessEvent: null } : saveFields(tx, room.pk, change(room)); // made by somebody else meanwhile; its row is locked now
  });
}

/** Deletes the room with all that hangs on it. Null when there was none. */
export async function deleteRoom(db: Sql, roomId: RoomId, whenGone?: WithRoom): Promise<Taken<true> | null> {
  return db.transaction(async (tx) => {
    const { pk, ownerAt } = await fenceOwner(tx, roomId);
    const gone = await tx.change(sql`delete from rooms where pk = ${pk} and id = ${roomId}`);
    if (gone === 0) return null;
    await whenGone?.(tx, { id: roomId, pk: pk! });
    return { value: true, ownerAt };
  });
}

/** @throws AppError ROOM_NOT_FOUND, or ROOM_ALREADY_EXISTS when the new id is taken. */
export async function renameRoom(db: Sql, { roomId, newRoomId }: { roomId: RoomId; newRoomId: RoomId }): Promise<Taken<RoomRow>> {
  try {
    return await db.transaction(async (tx) => {
      const { pk, ownerAt } = await fenceOwner(tx, roomId);
      const [room] = await tx.query(
        sql<RoomRow>`update rooms set id = ${newRoomId} where pk = ${pk} and id = ${roomId} returning ${COLUMNS}`,
      );
      if (room === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
      return { value: room, ownerAt };
    });
  } catch (error) {
    throw isUniqueViolation(error) ? new AppError('ROOM_ALREADY_EXISTS', { roomId: newRoomId }) : error;
  }
}

/** @throws AppError ROOM_NOT_FOUND, or UNPROCESSABLE_ENTITY when `from` is not the room's organisation (supplement 7, row 49). */
export async function moveRoom(
  db: Sql,
  { roomId, from, to }: { roomId: RoomId; from: string; to: string },
): Promise<Taken<ChangedRoom>> {
  return db.transaction(async (tx) => {
    const { pk, ownerAt } = await fenceOwner(tx, roomId);
    const [before] = await tx.query(sql<{ organizationId: string }>`
      select organization_id as "organizationId" from rooms where pk = ${pk} and id = ${roomId} for no key update`);
    if (before === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
    if (before.organizationId !== from) throw valueAtKey('fromOrganizationId', 'is not the organisation of the room');
    const [room] = await tx.query(sql<ChangedRoom>`
      with told as (${tellOfAccesses(sql`select id from rooms where pk = ${pk}`)})
      update rooms set organization_id = ${to} where pk = ${pk} returning ${COLUMNS}, (select told.id from told) as "accessEvent"`);
    return { value: room!, ownerAt };
  });
}

/** Up to `limit` rooms that the filter lets through, newest first, from just after `after`. */
export async function listRooms(
  db: Sql,
  { filter, after, limit }: { filter: RoomFilter; after: Position | null; limit: number },
): Promise<RoomRow[]> {
  const conditions = conditionsOf(filter);
  if (after !== null) conditions.push(sql`(created_at, pk) < (${after.createdAt}::timestamptz, ${after.pk}::bigint)`);
  return db.query(sql<RoomRow>`
    select ${COLUMNS} from rooms
     where ${joinSql([sql`true`, ...conditions], ' and ')}
     order by created_at desc, pk desc
     limit ${limit}`);
}

export interface RoomAtEntry {
  readonly pk: RoomPk;
  readonly id: RoomId;
  readonly organizationId: string;
  readonly accesses: RoomAccesses;
}

export async function findRoomForEntry(db: Sql, roomId: RoomId): Promise<RoomAtEntry | null> {
  const room = await findRoom(db, roomId);
  return room === null ? null : atEntry(room);
}

/** The ids that the rooms of these numbers have now, without those that are gone. */
export async function findRoomIds(db: Sql, roomPks: readonly number[]): Promise<Map<number, RoomId>> {
  const rooms = await db.query(sql<{ pk: number; id: RoomId }>`select pk, id from rooms where pk = any(${roomPks}::bigint[])`);
  return new Map(rooms.map(({ pk, id }) => [pk, id]));
}

/** Where the worker is that owns the room under a valid lease; null when nobody does. */
export async function findOwnerAddress(db: Sql, roomId: RoomId): Promise<WorkerAddress | null> {
  const query = sql<{ address: WorkerAddress }>`
    select w.address
      from rooms r join actor_owner o on o.stream = r.pk join worker_lease w on w.incarnation = o.owner
     where r.id = ${roomId} and w.fenced_at is null and w.lease_until > clock_timestamp()`;
  const [owner] = await db.query(named('room owner', query));
  return owner?.address ?? null;
}

/** The room that somebody enters for the first time: private, so that only tokens that name it open it (supplement 1.10). */
export function roomOnEntry({
  roomId,
  ...rest
}: {
  readonly roomId: RoomId;
  readonly organizationId: string;
  readonly nowIso: string;
}): NewRoom {
  return { id: roomId, ...rest, metadata: {}, defaultAccesses: [], usersAccesses: {}, groupsAccesses: {} };
}

export interface Visit {
  readonly roomId: RoomId;
  readonly atIso: string;
}

/** Writes down when rooms were last entered; each once. Their rows are locked in order, so that two such writes never wait for each other. */
export async function noteVisits(db: Sql, visits: readonly Visit[]): Promise<void> {
  const query = sql`
    with visits as (
      select * from unnest(${visits.map(({ roomId }) => roomId)}::text[], ${visits.map(({ atIso }) => atIso)}::timestamptz[]) as v (id, at)
    ), locked as (
      select pk, at from rooms join visits using (id) order by pk for no key update of rooms
    )
    update rooms set last_connection_at = greatest(last_connection_at, at) from locked where rooms.pk = locked.pk`;
  await db.query(named('rooms visited', query));
}

/** What the entry into a room is decided on. */
export function atEntry({ pk, id, organizationId, defaultAccesses, usersAccesses, groupsAccesses }: RoomRow): RoomAtEntry {
  return { pk, id, organizationId, accesses: { defaultAccesses, usersAccesses, groupsAccesses } };
}

async function saveFields(tx: Sql, pk: RoomPk, fields: RoomFields): Promise<ChangedRoom> {
  const [room] = await tx.query(sql<ChangedRoom>`
    with fields as (
      select ${JSON.stringify(fields.metadata)}::jsonb as new_metadata, ${JSON.stringify(fields.defaultAccesses)}::jsonb as new_default,
             ${JSON.stringify(fields.usersAccesses)}::jsonb as new_users, ${JSON.stringify(fields.groupsAccesses)}::jsonb as new_groups
    ), told as (${tellOfAccesses(sql`
      select id from rooms, fields
       where pk = ${pk} and (default_accesses, users_accesses, groups_accesses) is distinct from (new_default, new_users, new_groups)`)}
    )
    update rooms set metadata = new_metadata, default_accesses = new_default, users_accesses = new_users, groups_accesses = new_groups
      from fields where pk = ${pk}
    returning ${COLUMNS}, (select told.id from told) as "accessEvent"`);
  return room!; // its row is locked by the caller
}

export interface Taken<Value> {
  readonly value: Value;
  /** Where the worker is that had the room, if its lease is valid: it may be answering for it at this moment. */
  readonly ownerAt: WorkerAddress | null;
}

/**
 * Raises the epoch, so that nothing more is written under the last claim, and recalls the room from its owner. The owner stays in the row: until
 * its lease is over, or it claims the room anew, nobody else may.
 */
async function fenceOwner(tx: Sql, roomId: RoomId): Promise<{ pk: RoomPk | null; ownerAt: WorkerAddress | null }> {
  const [fenced] = await tx.query(sql<{ stream: number; ownerAt: WorkerAddress | null }>`
    with fenced as (
      update actor_owner set epoch = epoch + 1
       where stream = (select pk from rooms where id = ${roomId})
      returning stream, epoch, owner
    ), recalled as (
      insert into recalls (incarnation, stream, epoch)
      select owner, stream, epoch from fenced
       where owner is not null and not exists (select from worker_lease w where w.incarnation = owner and w.fenced_at is not null) -- who has ended reads none
    )
    select f.stream, w.address as "ownerAt"
      from fenced f
      left join worker_lease w on w.incarnation = f.owner and w.fenced_at is null and w.lease_until > clock_timestamp()`);
  return fenced === undefined ? { pk: null, ownerAt: null } : { pk: asRoomPk(fenced.stream), ownerAt: fenced.ownerAt };
}

function conditionsOf({ organizationId, userId, groupIds, clauses }: RoomFilter): Query[] {
  const conditions = clauses.map(conditionOf);
  if (organizationId !== null) conditions.push(sql`organization_id = ${organizationId}`);
  // A list of none is no access, so it does not count as a match (supplement 4.4 row 13).
  const members: Query[] = [];
  if (userId !== null)
    members.push(sql`users_accesses <> '{}' and users_accesses ? ${userId} and users_accesses -> ${userId} <> '[]'::jsonb`);
  if (groupIds !== null) {
    members.push(sql`groups_accesses <> '{}' and groups_accesses ?| ${groupIds}::text[]
      and exists (select 1 from unnest(${groupIds}::text[]) as wanted(id) where groups_accesses -> wanted.id <> '[]'::jsonb)`);
  }
  if (members.length > 0) conditions.push(sql`(${joinSql(members, ' or ')})`);
  return conditions;
}

function conditionOf({ field, key, operator, value }: RoomClause): Query {
  if (field === 'roomId') return operator === ':' ? sql`id = ${value}` : sql`starts_with(id, ${value})`;
  if (operator === ':') return sql`metadata <> '{}' and metadata @> ${JSON.stringify({ [String(key)]: value })}::jsonb`; // an array holds no string: it never matches
  return sql`jsonb_typeof(metadata -> ${key}) = 'string' and starts_with(metadata ->> ${key}, ${value})`;
}
