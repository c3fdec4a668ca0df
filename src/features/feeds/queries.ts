/**
 * Feeds in the database. A change locks its feed first, so that changes of one feed come one after the other, and is given the next number of all; once
 * it is committed those in the room are told of it, by that number in the order in which it happened.
 */
import { isoFromMs } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { isStorableJson, soughtId } from '../../base/text.ts';
import { joinSql, type Query, type Sql, sql } from '../../kernel/persistence/sql.ts';
import type { Feed, FeedMessage, FeedMetadata } from '../../protocol/feeds.ts';
import type { Position } from '../../protocol/paging.ts';
import type { FeedNewsMessage } from '../../protocol/server-messages.ts';
import { lockRoom } from '../../room/room-row.ts';
import { checkRoomInFeed, type FeedSize, noFeed, noMessage } from './rules.ts';

/** Of what those in the room are told. */
export interface FeedNews {
  readonly roomId: RoomId;
  /** Names the thing that changed. */
  readonly about: string;
  readonly change: number;
  readonly message: FeedNewsMessage;
}

/** What was asked for as it is now, and what there is to be told of it. */
export interface Done<Thing> {
  readonly thing: Thing;
  readonly news: FeedNews;
  /** False when it was so, or newer, before: then there is nothing new to others. */
  readonly hasChanged: boolean;
}

interface FeedRow extends FeedSize {
  readonly pk: number;
  readonly feedId: string;
  readonly metadata: FeedMetadata;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const msOf = (column: Query): Query => sql`(extract(epoch from ${column}) * 1000)::bigint`;
const FEED_COLUMNS = sql`f.pk, f.id as "feedId", f.metadata, ${msOf(sql`f.created_at`)} as "createdAt", ${msOf(sql`f.updated_at`)} as "updatedAt",
  f.message_count as "messageCount", f.content_bytes as "contentBytes"`;
const MESSAGE_COLUMNS = sql`m.id, m.data, ${msOf(sql`m.created_at`)} as "createdAt", ${msOf(sql`m.updated_at`)} as "updatedAt"`;
const NEXT_CHANGE = sql`nextval('feed_changes') as change`;

/** A change as it was made: with its number. */
type Numbered<Row> = Row & { readonly change: number };
type MessageRow = FeedMessage & { readonly pk: number };

export function feedOf({ feedId, metadata, createdAt, updatedAt }: FeedRow): Feed {
  return { feedId, metadata, createdAt, updatedAt };
}

function messageOf({ id, createdAt, updatedAt, data }: FeedMessage): FeedMessage {
  return { id, createdAt, updatedAt, data };
}

export interface NewFeed {
  readonly roomId: RoomId;
  readonly feedId: string;
  readonly metadata: FeedMetadata;
  readonly atMs: number;
}

/** @throws AppError ROOM_NOT_FOUND, RESOURCE_ALREADY_EXISTS */
export async function createFeed(db: Sql, { roomId, feedId, metadata, atMs }: NewFeed): Promise<Done<Feed>> {
  return db.transaction(async (tx) => {
    const room = await lockRoom(tx, roomId);
    const at = isoFromMs(atMs);
    const [made] = await tx.query(sql<Numbered<FeedRow>>`
      with f as (
        insert into feeds (room_pk, id, metadata, created_at, updated_at)
        values (${room.pk}, ${feedId}, ${JSON.stringify(metadata)}::jsonb, ${at}, ${at})
        on conflict (room_pk, id) do nothing
        returning *
      )
      select ${FEED_COLUMNS}, ${NEXT_CHANGE} from f`);
    if (made === undefined) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'feed', id: feedId });
    return changedFeed({ roomId, feedId }, made, 'feeds.added');
  });
}

export interface FeedPlace {
  readonly roomId: RoomId;
  readonly feedId: string;
}

/** @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND */
export async function updateFeed(
  db: Sql,
  { atMs, metadataFrom, ...place }: FeedPlace & { atMs: number; metadataFrom: (before: FeedMetadata) => FeedMetadata },
): Promise<Done<Feed>> {
  return db.transaction(async (tx) => {
    const feed = await lockFeed(tx, place);
    const [changed] = await tx.query(sql<Numbered<FeedRow>>`
      update feeds f
         set metadata = ${JSON.stringify(metadataFrom(feed.metadata))}::jsonb,
             updated_at = greatest(updated_at + interval '1 millisecond', ${isoFromMs(atMs)}::timestamptz)
       where pk = ${feed.pk} returning ${FEED_COLUMNS}, ${NEXT_CHANGE}`);
    return changedFeed(place, changed!, 'feeds.updated');
  });
}

/** With all that was said in it. @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND */
export async function deleteFeed(db: Sql, place: FeedPlace): Promise<Done<null>> {
  return db.transaction(async (tx) => {
    const { pk } = await lockFeed(tx, place);
    const [gone] = await tx.query(sql<{ change: number }>`delete from feeds where pk = ${pk} returning ${NEXT_CHANGE}`);
    return { thing: null, news: newsOf(place, gone!.change, { type: 'feed.deleted', feedId: place.feedId }), hasChanged: true };
  });
}

export interface NewMessage extends FeedPlace {
  readonly messageId: string;
  readonly data: JsonObject;
  /** Of `data`, as JSON. */
  readonly bytes: number;
  readonly atMs: number;
}

/** @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND, RESOURCE_ALREADY_EXISTS; UNPROCESSABLE_ENTITY when the feed is full */
export async function createMessage(db: Sql, { messageId, data, bytes, atMs, ...place }: NewMessage): Promise<Done<FeedMessage>> {
  return db.transaction(async (tx) => {
    const feed = await lockFeed(tx, place);
    checkRoomInFeed(feed, { messages: 1, bytes });
    const at = isoFromMs(atMs);
    const [made] = await tx.query(sql<Numbered<MessageRow>>`
      with m as (
        insert into feed_messages (room_pk, feed_pk, id, data, created_at, updated_at)
        select room_pk, pk, ${messageId}, ${JSON.stringify(data)}::json, ${at}::timestamptz, ${at}::timestamptz from feeds where pk = ${feed.pk}
        on conflict (feed_pk, id) do nothing
        returning *
      ), counted as (
        update feeds set message_count = message_count + 1, content_bytes = content_bytes + ${bytes}
         where pk = ${feed.pk} and exists (select from m)
      )
      select ${MESSAGE_COLUMNS}, ${NEXT_CHANGE} from m`);
    if (made === undefined) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'feed message', id: messageId });
    return changedMessage(place, made, 'feed-messages.added');
  });
}

export interface MessageChange extends FeedPlace {
  readonly messageId: string;
  readonly data: JsonObject;
  readonly bytes: number;
  /** When it was changed, if that is said: what was changed later stays (supplement 2.5). */
  readonly givenAtMs: number | undefined;
  readonly nowMs: number;
}

/** @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND; UNPROCESSABLE_ENTITY when the feed is full */
export async function updateMessage(db: Sql, { messageId, data, bytes, ...change }: MessageChange): Promise<Done<FeedMessage>> {
  const { roomId, feedId, givenAtMs, nowMs } = change;
  return db.transaction(async (tx) => {
    const feed = await lockFeed(tx, { roomId, feedId });
    const before = await findMessage(tx, feed.pk, messageId);
    if (givenAtMs !== undefined && givenAtMs < before.updatedAt) {
      const known = changedMessage({ roomId, feedId }, { ...before, change: 0 }, 'feed-messages.updated');
      return { ...known, hasChanged: false };
    }
    checkRoomInFeed(feed, { messages: 0, bytes: bytes - before.bytes });
    const atMs = givenAtMs ?? Math.max(nowMs, before.updatedAt);
    const [changed] = await tx.query(sql<Numbered<MessageRow>>`
      with counted as (update feeds set content_bytes = content_bytes + ${bytes - before.bytes} where pk = ${feed.pk})
      update feed_messages m set data = ${JSON.stringify(data)}::json, updated_at = ${isoFromMs(atMs)}
       where feed_pk = ${feed.pk} and id = ${messageId} returning ${MESSAGE_COLUMNS}, ${NEXT_CHANGE}`);
    return changedMessage({ roomId, feedId }, changed!, 'feed-messages.updated');
  });
}

/** @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND */
export async function deleteMessage(db: Sql, { messageId, ...place }: FeedPlace & { messageId: string }): Promise<Done<null>> {
  return db.transaction(async (tx) => {
    const feed = await lockFeed(tx, place);
    const { bytes } = await findMessage(tx, feed.pk, messageId);
    const [gone] = await tx.query(sql<{ change: number }>`
      with counted as (
        update feeds set message_count = message_count - 1, content_bytes = content_bytes - ${bytes} where pk = ${feed.pk}
      )
      delete from feed_messages where feed_pk = ${feed.pk} and id = ${messageId} returning ${NEXT_CHANGE}`);
    const message = { type: 'feed-messages.deleted', feedId: place.feedId, messageIds: [messageId] } as const;
    return { thing: null, news: newsOf({ ...place, messageId }, gone!.change, message), hasChanged: true };
  });
}

/** Up to `limit` of a list, newest first, from just after `after`. */
interface Page {
  readonly after: Position | null;
  readonly limit: number;
}

export interface FeedsAsked extends Page {
  readonly roomPk: number;
  readonly since: Since | null;
  /** What its metadata must say, text by text. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** `made later`: as back ends ask (supplement 2.5). `changed since`: made or changed at that time or later, as the SDK asks for what it then shows. */
export interface Since {
  readonly atMs: number;
  readonly which: 'made later' | 'changed since';
}

interface Listed<Thing> {
  readonly thing: Thing;
  readonly position: Position;
}

export async function listFeeds(db: Sql, { roomPk, since, metadata, after, limit }: FeedsAsked): Promise<Listed<Feed>[]> {
  if (!isStorableJson(metadata)) return [];
  const conditions = [sql`f.room_pk = ${roomPk}`, ...conditionsOf(sql`f`, { since, after })];
  if (Object.keys(metadata).length > 0) conditions.push(sql`f.metadata @> ${JSON.stringify(metadata)}::jsonb`);
  const rows = await db.query(sql<FeedRow>`
    select ${FEED_COLUMNS} from feeds f where ${joinSql(conditions, ' and ')} order by f.created_at desc, f.pk desc limit ${limit}`);
  return rows.map((row) => ({ thing: feedOf(row), position: { atMs: row.createdAt, pk: row.pk } }));
}

/** A page of messages has no more bytes than this, unless it is of one. */
const PAGE_BYTES_MAX = 1024 * 1024;

/** Fewer than there are where they would be too many bytes: `hasMore` says whether more follow. */
export async function listMessages(
  db: Sql,
  { feedPk, since, after, limit }: Page & { readonly feedPk: number; readonly since: Since | null },
): Promise<{ readonly found: Listed<FeedMessage>[]; readonly hasMore: boolean }> {
  const conditions = [sql`m.feed_pk = ${feedPk}`, ...conditionsOf(sql`m`, { since, after })];
  const rows = await db.query(sql<MessageRow & { readonly together: number }>`
    select ${MESSAGE_COLUMNS}, m.pk, m.together from (
      select m.*, count(*) over () as together, row_number() over newest as place, sum(octet_length(m.data::text)) over newest as bytes
        from (select * from feed_messages m where ${joinSql(conditions, ' and ')} order by m.created_at desc, m.pk desc limit ${limit + 1}) m
      window newest as (order by m.created_at desc, m.pk desc)) m
     where m.place <= ${limit} and (m.place = 1 or m.bytes <= ${PAGE_BYTES_MAX})
     order by m.place`);
  const found = rows.map((row) => ({ thing: messageOf(row), position: { atMs: row.createdAt, pk: row.pk } }));
  return { found, hasMore: rows.length < (rows[0]?.together ?? 0) };
}

function conditionsOf(row: Query, { since, after }: { since: Since | null; after: Position | null }): Query[] {
  const conditions: Query[] = [];
  if (after !== null)
    conditions.push(sql`(${row}.created_at, ${row}.pk) < (${isoFromMs(after.atMs)}::timestamptz, ${after.pk}::bigint)`);
  if (since === null) return conditions;
  const at = sql`${isoFromMs(since.atMs)}::timestamptz`;
  conditions.push(since.which === 'made later' ? sql`${row}.created_at > ${at}` : sql`${row}.updated_at >= ${at}`); // which is never before it was made
  return conditions;
}

/** @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND */
export async function findFeed(db: Sql, { roomId, feedId }: FeedPlace): Promise<FeedRow> {
  const [feed] = await db.query(sql<FeedRow & { pk: number | null }>`
    select ${FEED_COLUMNS} from rooms r left join feeds f on f.room_pk = r.pk and f.id = ${soughtId(feedId)} where r.id = ${roomId}`);
  if (feed === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
  if (feed.pk === null) throw noFeed(feedId);
  return feed;
}

/** The room first, as a deletion of it goes. */
async function lockFeed(tx: Sql, { roomId, feedId }: FeedPlace): Promise<FeedRow> {
  const room = await lockRoom(tx, roomId);
  const [feed] = await tx.query(sql<FeedRow>`
    select ${FEED_COLUMNS} from feeds f where f.room_pk = ${room.pk} and f.id = ${soughtId(feedId)} for update`);
  if (feed === undefined) throw noFeed(feedId);
  return feed;
}

async function findMessage(tx: Sql, feedPk: number, messageId: string): Promise<FeedMessage & { readonly bytes: number }> {
  const [message] = await tx.query(sql<FeedMessage & { bytes: number }>`
    select ${MESSAGE_COLUMNS}, octet_length(m.data::text) as bytes from feed_messages m where m.feed_pk = ${feedPk} and m.id = ${soughtId(messageId)}`);
  if (message === undefined) throw noMessage(messageId);
  return message;
}

function changedFeed(place: FeedPlace, row: Numbered<FeedRow>, type: 'feeds.added' | 'feeds.updated'): Done<Feed> {
  const thing = feedOf(row);
  return { thing, news: newsOf(place, row.change, { type, feeds: [thing] }), hasChanged: true };
}

function changedMessage(
  place: FeedPlace,
  row: Numbered<FeedMessage>,
  type: 'feed-messages.added' | 'feed-messages.updated',
): Done<FeedMessage> {
  const thing = messageOf(row);
  const news = newsOf({ ...place, messageId: thing.id }, row.change, { type, feedId: place.feedId, messages: [thing] });
  return { thing, news, hasChanged: true };
}

function newsOf(
  { roomId, feedId, messageId }: FeedPlace & { messageId?: string },
  change: number,
  message: FeedNewsMessage,
): FeedNews {
  return { roomId, about: JSON.stringify(messageId === undefined ? [feedId] : [feedId, messageId]), change, message };
}
