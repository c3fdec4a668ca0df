/** What users want to hear of, in the database. Only what they said is kept; defaults may change. */
import type { RoomId } from '../../../base/ids.ts';
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';
import { channelsAfter, channelsFor, type StoredRoomSettings } from './rules.ts';
import type { Channel, ChannelSettings, ChannelSettingsChange, RoomSettingsChange } from './shapes.ts';

interface InRoom {
  readonly roomId: RoomId;
  readonly userId: string;
}

/** What a user set for a room, all null when that is nothing. Null when there is no such room. */
export async function findRoomSettings(db: Sql, { roomId, userId }: InRoom): Promise<StoredRoomSettings | null> {
  const [found] = await db.query(sql<StoredRoomSettings>`
    select s.threads, s.text_mentions as "textMentions"
      from rooms r left join room_subscription_settings s on s.room_pk = r.pk and s.user_id = ${userId}
     where r.id = ${roomId}`);
  return found ?? null;
}

/** What is set afterwards; what is not named stays, and who names nothing has said nothing. Null when there is no such room. */
export async function changeRoomSettings(
  db: Sql,
  { roomId, userId }: InRoom,
  change: RoomSettingsChange,
): Promise<StoredRoomSettings | null> {
  const { threads, textMentions } = { threads: null, textMentions: null, ...change };
  if (threads === null && textMentions === null) return findRoomSettings(db, { roomId, userId });
  const [changed] = await db.query(sql<StoredRoomSettings>`
    insert into room_subscription_settings as s (room_pk, user_id, threads, text_mentions)
    select pk, ${userId}, ${threads}, ${textMentions} from rooms where id = ${roomId} for key share
    on conflict (room_pk, user_id) do update
       set threads = coalesce(excluded.threads, s.threads), text_mentions = coalesce(excluded.text_mentions, s.text_mentions),
           changed_at = case when excluded.threads is null then s.changed_at else clock_timestamp() end
    returning s.threads, s.text_mentions as "textMentions"`);
  return changed ?? null;
}

/** False when there is no such room. The row stays, and says nothing: by its time clients hear which subscriptions have ended with it. */
export async function deleteRoomSettings(db: Sql, { roomId, userId }: InRoom): Promise<boolean> {
  const rooms = await db.query(sql`
    with room as (select pk from rooms where id = ${roomId}),
         gone as (
           update room_subscription_settings set threads = null, text_mentions = null, changed_at = clock_timestamp()
             from room where room_pk = room.pk and user_id = ${userId})
    select pk from room`);
  return rooms.length > 0;
}

/** Rooms for which a user set something, in the order of the rooms' numbers, from after `afterPk`. */
export async function listRoomSettings(
  db: Sql,
  { userId, organizationId, afterPk, limit }: { userId: string; organizationId: string | null; afterPk: number; limit: number },
): Promise<(StoredRoomSettings & { readonly roomPk: number; readonly roomId: string })[]> {
  return db.query(sql<StoredRoomSettings & { roomPk: number; roomId: string }>`
    select r.pk as "roomPk", r.id as "roomId", s.threads, s.text_mentions as "textMentions"
      from room_subscription_settings s join rooms r on r.pk = s.room_pk
     where s.user_id = ${userId} and coalesce(s.threads, s.text_mentions) is not null
       and s.room_pk > ${afterPk} and (${organizationId}::text is null or r.organization_id = ${organizationId})
     order by s.room_pk limit ${limit}`);
}

/** What a user said of channels. */
export async function findChannels(db: Sql, userId: string): Promise<ChannelSettingsChange> {
  const [found] = await db.query(sql<{ settings: ChannelSettingsChange }>`
    select settings from notification_settings where user_id = ${userId}`);
  return found?.settings ?? {};
}

/** What a user said after a change. @throws AppError as `channelsAfter`. */
export async function changeChannels(
  db: Sql,
  { userId, change }: { userId: string; change: ChannelSettingsChange },
): Promise<ChannelSettingsChange> {
  return db.transaction(async (tx) => {
    await tx.query(
      sql`insert into notification_settings (user_id, settings) values (${userId}, '{}') on conflict (user_id) do nothing`,
    );
    const [stored] = await tx.query(sql<{ settings: ChannelSettingsChange }>`
      select settings from notification_settings where user_id = ${userId} for update`);
    const after = channelsAfter(stored?.settings ?? {}, change);
    await tx.query(sql`update notification_settings set settings = ${JSON.stringify(after)}::jsonb where user_id = ${userId}`);
    return after;
  });
}

export async function deleteChannels(db: Sql, userId: string): Promise<void> {
  await db.query(sql`delete from notification_settings where user_id = ${userId}`);
}

/** The channels by which a user wants to hear of notifications of a kind. */
export async function findChannelsFor(
  db: Sql,
  { userId, kind, byDefault }: { userId: string; kind: string; byDefault: ChannelSettings },
): Promise<Channel[]> {
  return channelsFor(kind, await findChannels(db, userId), byDefault);
}
