/** Groups in the database. Who changes the members of a group locks its row first, so its size is counted by one at a time. */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import { isUniqueViolation, type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { Position } from '../../../protocol/paging.ts';
import { checkSize, type NewGroup, noGroup } from './rules.ts';
import type { Group } from './shapes.ts';

/** A row of `groups` with its members; times are ISO strings. */
interface GroupRow {
  readonly pk: number;
  readonly id: string;
  readonly organizationId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly members: readonly { readonly id: string; readonly addedAtMs: number }[];
}

const COLUMNS = sql`g.pk, g.id, g.organization_id as "organizationId", g.created_at as "createdAt", g.updated_at as "updatedAt",
  coalesce((select jsonb_agg(jsonb_build_object('id', m.user_id, 'addedAtMs', round(extract(epoch from m.added_at) * 1000)) order by m.added_at, m.user_id)
     from group_members m where m.group_pk = g.pk), '[]') as members`;

function groupOf({ id, organizationId, createdAt, updatedAt, members }: GroupRow): Group {
  const shown = members.map((member) => ({ id: member.id, addedAt: isoFromMs(member.addedAtMs) }));
  return { type: 'group', id, organizationId, createdAt, updatedAt, scopes: { mention: true }, members: shown };
}

/** @throws AppError RESOURCE_ALREADY_EXISTS */
export async function createGroup(db: Sql, { id, organizationId, memberIds }: NewGroup): Promise<Group> {
  try {
    return await db.transaction(async (tx) => {
      const [made] = await tx.query(sql<{ pk: number }>`
        insert into groups (id, organization_id) values (${id}, ${organizationId}) returning pk`);
      await tx.query(insertMembers(made!.pk, memberIds));
      return groupOf((await find(tx, id))!);
    });
  } catch (error) {
    throw isUniqueViolation(error, 'groups_id_key') ? new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'group', id }) : error;
  }
}

/** @throws AppError RESOURCE_NOT_FOUND */
export async function getGroup(db: Sql, id: string): Promise<Group> {
  const found = await find(db, id);
  if (found === undefined) throw noGroup(id);
  return groupOf(found);
}

async function find(db: Sql, id: string): Promise<GroupRow | undefined> {
  const [found] = await db.query(sql<GroupRow>`select ${COLUMNS} from groups g where g.id = ${id}`);
  return found;
}

/** @throws AppError RESOURCE_NOT_FOUND */
export async function deleteGroup(db: Sql, id: string): Promise<void> {
  const gone = await db.change(sql`delete from groups where id = ${id}`);
  if (gone === 0) throw noGroup(id);
}

/** @throws AppError RESOURCE_NOT_FOUND, or UNPROCESSABLE_ENTITY when the group would become too large. */
export async function addMembers(db: Sql, { id, memberIds }: { id: string; memberIds: readonly string[] }): Promise<Group> {
  return change(db, id, async (tx, pk) => {
    const added = await tx.query(insertMembers(pk, memberIds));
    const [counted] = await tx.query(sql<{ count: number }>`select count(*) as count from group_members where group_pk = ${pk}`);
    checkSize(counted!.count);
    return added.length;
  });
}

/** Who is no member already is passed by. @throws AppError RESOURCE_NOT_FOUND */
export async function removeMembers(db: Sql, { id, memberIds }: { id: string; memberIds: readonly string[] }): Promise<Group> {
  return change(db, id, async (tx, pk) => {
    const removed = await tx.query(sql`
      delete from group_members where group_pk = ${pk} and user_id = any(${memberIds}::text[]) returning user_id`);
    return removed.length;
  });
}

async function change(db: Sql, id: string, work: (tx: Sql, pk: number) => Promise<number>): Promise<Group> {
  return db.transaction(async (tx) => {
    const [group] = await tx.query(sql<{ pk: number }>`select pk from groups where id = ${id} for no key update`);
    if (group === undefined) throw noGroup(id);
    const changed = await work(tx, group.pk);
    if (changed > 0)
      await tx.query(
        sql`update groups set updated_at = greatest(now(), updated_at + interval '1 millisecond') where pk = ${group.pk}`,
      );
    return groupOf((await find(tx, id))!);
  });
}

function insertMembers(groupPk: number, memberIds: readonly string[]): Query {
  return sql`
    insert into group_members (group_pk, user_id) select ${groupPk}, id from unnest(${memberIds}::text[]) as id
    on conflict (group_pk, user_id) do nothing returning user_id`;
}

/** Up to `limit` groups, newest first, from just after `after`. `userId` null: all, else those that this user is in. */
export async function listGroups(
  db: Sql,
  { userId, after, limit }: { userId: string | null; after: Position | null; limit: number },
): Promise<{ readonly group: Group; readonly position: Position }[]> {
  const from =
    after === null ? sql`true` : sql`(g.created_at, g.pk) < (${isoFromMs(after.atMs)}::timestamptz, ${after.pk}::bigint)`;
  const has =
    userId === null
      ? sql`true`
      : sql`exists (select from group_members mine where mine.user_id = ${userId} and mine.group_pk = g.pk)`;
  const rows = await db.query(sql<GroupRow>`
    select ${COLUMNS} from groups g where ${has} and ${from} order by g.created_at desc, g.pk desc limit ${limit}`);
  return rows.map((row) => ({ group: groupOf(row), position: { atMs: Date.parse(row.createdAt), pk: row.pk } }));
}

/** Groups of an organisation by their ids; those that are not there are left out. */
export async function findGroups(
  db: Sql,
  { ids, organizationId }: { ids: readonly string[]; organizationId: string },
): Promise<Group[]> {
  if (ids.length === 0) return [];
  const rows = await db.query(sql<GroupRow>`
    select ${COLUMNS} from groups g where g.id = any(${ids}::text[]) and g.organization_id = ${organizationId} order by g.id`);
  return rows.map(groupOf);
}
