/** Mentions in texts as rows of inboxes: one for each user whom a mention reaches, gone when the mention is taken out of the text. */
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { Mention } from '../../../protocol/inbox.ts';

/** Whom a mention concerns and what they set for the room. */
interface Concerned {
  readonly userId: string;
  readonly textMentions: 'mine' | 'none' | null;
}

export interface NewTextMention {
  readonly roomPk: number;
  readonly organizationId: string;
  readonly mentionId: string;
  readonly createdBy: string;
  readonly mention: Mention;
  readonly nowIso: string;
}

/** The user, or those whom the client took to be in the group and those who are in it. */
export async function findConcerned(
  tx: Sql,
  { roomPk, organizationId, mention, createdBy }: NewTextMention,
): Promise<Concerned[]> {
  const named = mention.kind === 'user' ? [mention.id] : (mention.userIds ?? []);
  const groupId = mention.kind === 'group' ? mention.id : null;
  return tx.query(sql<Concerned>`
    with concerned as (
      select id as user_id from unnest(${named}::text[]) as id
      union
      select m.user_id from groups g join group_members m on m.group_pk = g.pk
       where g.id = ${groupId}::text and g.organization_id = ${organizationId}
    )
    select u.user_id as "userId", s.text_mentions as "textMentions"
      from concerned u left join room_subscription_settings s on s.room_pk = ${roomPk} and s.user_id = u.user_id
     where u.user_id <> ${createdBy}
     order by 1`);
}

/** Rows that were added; a mention that is told of twice adds none. */
export async function addTextMention(
  tx: Sql,
  { roomPk, organizationId, mentionId, createdBy, mention, nowIso }: NewTextMention,
  users: readonly { readonly id: string; readonly userId: string }[],
): Promise<{ readonly id: string; readonly userId: string }[]> {
  const details = JSON.stringify({ createdBy, mention });
  return tx.query(sql<{ id: string; userId: string }>`
    insert into inbox_notifications (id, user_id, organization_id, kind, room_pk, subject_id, details, notified_at)
    select one.id, one."userId", ${organizationId}, 'textMention', ${roomPk}::bigint, ${mentionId}, ${details}::jsonb, ${nowIso}::timestamptz
      from jsonb_to_recordset(${JSON.stringify(users)}::jsonb) as one (id text, "userId" text)
    on conflict (room_pk, user_id, subject_id) where kind = 'textMention' do nothing
    returning id, user_id as "userId"`);
}

export async function deleteTextMention(db: Sql, { roomPk, mentionId }: { roomPk: number; mentionId: string }): Promise<void> {
  await db.query(sql`
    delete from inbox_notifications where room_pk = ${roomPk} and subject_id = ${mentionId} and kind = 'textMention'`);
}
