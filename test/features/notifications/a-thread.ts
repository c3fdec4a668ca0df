/** Rooms, threads and comments written straight into the tables, for tests of what follows from them. */
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import type { Visibility } from '../../../src/protocol/comments.ts';
import type { RoomAccesses } from '../../../src/protocol/permissions.ts';

let made = 0;

export interface MadeRoom {
  readonly pk: number;
  readonly id: string;
}

/** Open to everyone, unless told otherwise. */
export async function makeRoom(
  db: Sql,
  { organizationId = 'default', ...lists }: Partial<RoomAccesses> & { readonly organizationId?: string } = {},
): Promise<MadeRoom> {
  const { defaultAccesses, usersAccesses = {}, groupsAccesses = {} } = { defaultAccesses: ['*:write'], ...lists };
  const [room] = await db.query(sql<MadeRoom>`
    insert into rooms (id, organization_id, default_accesses, users_accesses, groups_accesses)
    values (${`room ${++made}`}, ${organizationId}, ${JSON.stringify(defaultAccesses)}::jsonb, ${JSON.stringify(usersAccesses)}::jsonb,
            ${JSON.stringify(groupsAccesses)}::jsonb)
    returning pk, id`);
  return room!;
}

export interface MadeThread {
  readonly pk: number;
  readonly id: string;
  readonly visibility: Visibility;
  readonly room: MadeRoom;
}

export async function makeThread(db: Sql, room: MadeRoom, visibility: Visibility = 'public'): Promise<MadeThread> {
  const id = `th_${String(++made).padStart(21, '0')}`;
  const [thread] = await db.query(sql<{ pk: number }>`
    insert into threads (room_pk, id, created_by, created_at, updated_at, visibility)
    values (${room.pk}, ${id}, 'ann', now(), now(), ${visibility}) returning pk`);
  return { pk: thread!.pk, id, visibility, room };
}

/** Who is mentioned: `bob` by id, `@team` as a group, `@team:ann,bob` with those whom the client took to be in it. */
export function bodyMentioning(names: readonly string[]) {
  const children = names.map((name) => {
    const [id = '', userIds] = name.slice(1).split(':');
    if (!name.startsWith('@')) return { type: 'mention' as const, kind: 'user' as const, id: name };
    return { type: 'mention' as const, kind: 'group' as const, id, ...(userIds && { userIds: userIds.split(',') }) };
  });
  return { version: 1 as const, content: [{ type: 'paragraph' as const, children }] };
}

/** A comment, and that its author and whom it mentions take part. Returns its id. */
export async function makeComment(
  db: Sql,
  thread: MadeThread,
  { by = 'ann', mentions = [] }: { readonly by?: string; readonly mentions?: readonly string[] } = {},
): Promise<string> {
  const id = `cm_${String(++made).padStart(21, '0')}`;
  await db.query(sql`
    insert into comments (thread_pk, id, user_id, created_at, body, content, has_mentions)
    values (${thread.pk}, ${id}, ${by}, now(), ${JSON.stringify(bodyMentioning(mentions))}::jsonb, '', ${mentions.length > 0})`);
  const taking = [...new Set([by, ...mentions.filter((name) => !name.startsWith('@'))])].filter((name) => !name.includes('\0'));
  await db.query(sql`
    insert into thread_subscriptions (thread_pk, user_id, takes_part) select ${thread.pk}, id, true from unnest(${taking}::text[]) as id order by id
    on conflict (thread_pk, user_id) do update set takes_part = true`);
  return id;
}

/** What a user says of a thread, now. */
export async function say(db: Sql, thread: MadeThread, userId: string, isSubscribed: boolean): Promise<void> {
  await db.query(sql`
    insert into thread_subscriptions (thread_pk, user_id, is_subscribed, said_at) values (${thread.pk}, ${userId}, ${isSubscribed}, clock_timestamp())
    on conflict (thread_pk, user_id) do update set is_subscribed = excluded.is_subscribed, said_at = excluded.said_at`);
}
