/**
 * Schemas in the database, and which room has which. Guards stand in the statements or under a row lock.
 *
 * Attaching has two halves: the room has looked at its Storage and enforces the schema from then on, and then it is written down here, but
 * only while the owner that looked still owns the room. A later owner reads the row after its claim, so no change slips between them.
 */
import { AppError } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import { type Sql, sql } from '../../kernel/persistence/sql.ts';
import type { AttachedAt, RoomSchema } from '../../room/shapes.ts';
import { idOf, type SchemaId } from './rules.ts';
import type { SchemaDocument } from './shapes.ts';

/** A row of `schemas`; times are ISO strings. */
export interface SchemaRow extends SchemaId {
  readonly pk: number;
  readonly body: string;
  readonly createdAt: string;
}

const COLUMNS = sql`schemas.pk, name, version, body, schemas.created_at as "createdAt"`;

export function documentOf({ name, version, body, createdAt }: SchemaRow): SchemaDocument {
  return { id: idOf({ name, version }), name, version, createdAt, updatedAt: createdAt, body };
}

export interface NewSchema {
  readonly name: string;
  readonly body: string;
  readonly nowIso: string;
}

/** The first version of a name, or the first after all of it were deleted. @throws AppError RESOURCE_ALREADY_EXISTS when there is any version of it. */
export async function createSchema(db: Sql, schema: NewSchema): Promise<SchemaRow> {
  const { name } = schema;
  return db.transaction(async (tx) => {
    await tx.query(sql`
      insert into schema_names (name, last_version) values (${name}, 0)
      on conflict (name) do update set last_version = schema_names.last_version   -- whoever is faster is waited for`);
    const versions = await tx.query(sql`select 1 from schemas where name = ${name} limit 1`);
    if (versions.length > 0) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'schema', id: name });
    return insertVersion(tx, schema);
  });
}

/** Under a number that the name never had. Another build may have added versions without a note of their number. */
async function insertVersion(tx: Sql, { name, body, nowIso }: NewSchema): Promise<SchemaRow> {
  const [made] = await tx.query(sql<SchemaRow>`
    with next as (
      insert into schema_names (name, last_version)
      select ${name}, coalesce(max(version), 0) + 1 from schemas where name = ${name}
      on conflict (name) do update set last_version = greatest(schema_names.last_version + 1, excluded.last_version)
      returning last_version
    )
    insert into schemas (name, version, body, created_at) select ${name}, last_version, ${body}, ${nowIso} from next
    returning ${COLUMNS}`);
  return made!;
}

/** @throws AppError SCHEMA_NOT_FOUND */
export async function findSchema(db: Sql, id: SchemaId): Promise<SchemaRow> {
  const [found] = await db.query(
    sql<SchemaRow>`select ${COLUMNS} from schemas where name = ${id.name} and version = ${id.version}`,
  );
  if (found === undefined) throw new AppError('SCHEMA_NOT_FOUND', { id: idOf(id) });
  return found;
}

/** Up to `limit` schemas, newest first, from just after `after`. */
export async function listSchemas(db: Sql, { after, limit }: { after: number | null; limit: number }): Promise<SchemaRow[]> {
  const bound = after === null ? sql`true` : sql`pk < ${after}`;
  return db.query(sql<SchemaRow>`select ${COLUMNS} from schemas where ${bound} order by pk desc limit ${limit}`);
}

/**
 * The version after all that this name ever had (supplement 3.4: of an older version, too).
 * @throws AppError SCHEMA_NOT_FOUND, or SCHEMA_FROZEN while a room has the version that `id` names.
 */
export async function addVersion(
  db: Sql,
  { id, body, nowIso }: { id: SchemaId; body: string; nowIso: string },
): Promise<SchemaRow> {
  return db.transaction(async (tx) => {
    await lockUnattached(tx, id);
    return insertVersion(tx, { name: id.name, body, nowIso });
  });
}

/** @throws AppError SCHEMA_NOT_FOUND, or SCHEMA_FROZEN while a room has it. */
export async function deleteSchema(db: Sql, id: SchemaId): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUnattached(tx, id);
    await tx.query(sql`delete from schemas where name = ${id.name} and version = ${id.version}`);
  });
}

/** Locks all versions of the name, so that versions are added one after the other and an attachment waits for what follows. */
async function lockUnattached(tx: Sql, id: SchemaId): Promise<void> {
  const versions = await tx.query(sql<{ pk: number; version: number }>`
    select pk, version from schemas where name = ${id.name} order by version for update`);
  const pk = versions.find(({ version }) => version === id.version)?.pk;
  if (pk === undefined) throw new AppError('SCHEMA_NOT_FOUND', { id: idOf(id) });
  // A statement of its own: it sees the attachments that the lock has waited for.
  const attached = await tx.query(sql`select 1 from room_schemas where schema_pk = ${pk} limit 1`);
  if (attached.length > 0) throw new AppError('SCHEMA_FROZEN', { id: idOf(id) });
}

/** The schema of a room. @throws AppError ROOM_NOT_FOUND, or SCHEMA_NOT_FOUND when none is attached. */
export async function findSchemaOfRoom(db: Sql, roomId: RoomId): Promise<SchemaRow> {
  const [found] = await db.query(sql<SchemaRow | { pk: null }>`
    select ${COLUMNS} from rooms left join room_schemas on room_pk = rooms.pk left join schemas on schemas.pk = schema_pk
     where rooms.id = ${roomId}`);
  if (found === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
  if (found.pk === null) throw new AppError('SCHEMA_NOT_FOUND', { roomId });
  return found;
}

/** What a room that wakes must enforce; `stream` is its number. Read it after the claim. */
export async function findSchemaOfStream(db: Sql, stream: number): Promise<RoomSchema | null> {
  const [found] = await db.query(sql<SchemaRow & { epoch: number; decision: number }>`
    select ${COLUMNS}, epoch, decision from room_schemas join schemas on schemas.pk = schema_pk where room_pk = ${stream}`);
  if (found === undefined) return null;
  const { body, epoch, decision } = found;
  return { id: idOf(found), body, at: { stream, epoch, decision } };
}

/**
 * Writes down what the room has decided, unless it has decided another attachment since.
 * @returns false when that owner does not own the room any more: nothing is written, the next owner must decide anew
 * @throws AppError SCHEMA_NOT_FOUND when the schema was deleted meanwhile
 */
export async function recordAttachment(db: Sql, { schema, at }: { schema: SchemaRow; at: AttachedAt }): Promise<boolean> {
  const [outcome] = await db.query(sql<{ isOwner: boolean; isKnown: boolean }>`
    with owner as (
      select stream from actor_owner where stream = ${at.stream} and epoch = ${at.epoch} for share   -- a claim waits
    ), wanted as (
      select pk from schemas where pk = ${schema.pk} for key share                                    -- a delete waits
    ), attached as (
      insert into room_schemas (room_pk, schema_pk, epoch, decision)
      select stream, pk, ${at.epoch}::bigint, ${at.decision}::bigint from owner, wanted
      on conflict (room_pk) do update set schema_pk = excluded.schema_pk, epoch = excluded.epoch, decision = excluded.decision
        where (room_schemas.epoch, room_schemas.decision) < (excluded.epoch, excluded.decision)
    )
    select exists (select 1 from owner) as "isOwner", exists (select 1 from wanted) as "isKnown"`);
  if (!outcome!.isKnown) throw new AppError('SCHEMA_NOT_FOUND', { id: idOf(schema) });
  return outcome!.isOwner;
}

/**
 * Takes the room's schema away.
 * @returns what the room may stop enforcing: any attachment up to this one
 * @throws AppError ROOM_NOT_FOUND, or SCHEMA_NOT_FOUND when none is attached.
 */
export async function detachSchema(db: Sql, roomId: RoomId): Promise<AttachedAt> {
  const [detached] = await db.query(sql<AttachedAt>`
    update room_schemas set schema_pk = null from rooms
     where rooms.id = ${roomId} and room_pk = rooms.pk and schema_pk is not null
    returning room_pk as stream, epoch, decision`);
  if (detached !== undefined) return detached;
  await findSchemaOfRoom(db, roomId); // says which of the two is missing
  throw new AppError('SCHEMA_NOT_FOUND', { roomId }); // attached again since
}
