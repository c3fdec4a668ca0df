/** The endpoints of feeds, for back ends (supplement 2.5, rows 57 to 65). */
import type { RoomId } from '../../base/ids.ts';
import type { Sql } from '../../kernel/persistence/sql.ts';
import { type BoundRoute, bindRoute, empty, type Input, routeFor } from '../../kernel/transport/route.ts';
import type { Feed, FeedMessage } from '../../protocol/feeds.ts';
import { checkRoomId } from '../../protocol/names.ts';
import { cursorAfter, listAsked, pageFrom, positionAt } from '../../protocol/paging.ts';
import { findRoomRef } from '../../room/room-row.ts';
import {
  createFeed,
  createMessage,
  type Done,
  deleteFeed,
  deleteMessage,
  type FeedNews,
  type FeedPlace,
  feedOf,
  findFeed,
  listFeeds,
  listMessages,
  type Since,
  updateFeed,
  updateMessage,
} from './queries.ts';
import { checkData, checkId, checkTime, metadataAfter, pastOf } from './rules.ts';
import {
  FeedChangesBody,
  FeedPage,
  FeedParams,
  FeedReply,
  ListQuery,
  MessageChangesBody,
  MessagePage,
  MessageParams,
  MessageReply,
  NewFeedBody,
  NewMessageBody,
  RoomParams,
} from './shapes.ts';

export interface FeedDeps {
  readonly db: Sql;
  nowMs(): number;
  newId(prefix: string): string;
  /** Tells those who are in the room. Never throws. */
  tell(news: FeedNews): void;
}

const route = routeFor<FeedDeps>();
const tag = 'Feeds';
const feeds = { path: '/v2/rooms/:roomId/feeds', needs: 'secret', tag, params: RoomParams } as const;
const oneFeed = {
  path: '/v2/rooms/:roomId/feeds/:feedId',
  needs: 'secret',
  tag,
  params: FeedParams,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
} as const;
const messages = { ...oneFeed, path: '/v2/rooms/:roomId/feeds/:feedId/messages' } as const;
const oneMessage = {
  ...oneFeed,
  path: '/v2/rooms/:roomId/feeds/:feedId/messages/:messageId',
  params: MessageParams,
} as const;

export const listFeedsRoute = route({
  ...feeds,
  method: 'GET',
  summary: 'List the feeds of a room, newest first',
  query: ListQuery,
  reply: FeedPage,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, query }, { db }) {
    const { cursor, limit } = query;
    const page = await pageOfFeeds(db, roomIn(params), { cursor, limit, since: madeLater(query.since), metadata: {} });
    return { nextCursor: page.nextCursor, data: page.feeds };
  },
});

export const createFeedRoute = route({
  ...feeds,
  method: 'POST',
  summary: 'Create a feed',
  once: 'transaction',
  body: NewFeedBody,
  reply: FeedReply,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
  async handle({ params, body, afterCommit }, deps) {
    const feedId = checkId(body.feedId, 'feedId');
    const atMs = checkTime(body.timestamp, 'timestamp') ?? deps.nowMs();
    const metadata = metadataAfter({}, body.metadata);
    return told(await createFeed(deps.db, { roomId: roomIn(params), feedId, metadata, atMs }), deps, afterCommit);
  },
});

export const getFeedRoute = route({
  ...oneFeed,
  method: 'GET',
  summary: 'Get a feed',
  reply: FeedReply,
  async handle({ params }, { db }) {
    return feedOf(await findFeed(db, feedIn(params)));
  },
});

export const updateFeedRoute = route({
  ...oneFeed,
  method: 'PATCH',
  summary: 'Change the metadata of a feed; null removes a key',
  once: 'transaction',
  body: FeedChangesBody,
  reply: FeedReply,
  async handle({ params, body, afterCommit }, deps) {
    metadataAfter({}, body.metadata);
    const metadataFrom = (before: Feed['metadata']) => metadataAfter(before, body.metadata);
    return told(await updateFeed(deps.db, { ...feedIn(params), atMs: deps.nowMs(), metadataFrom }), deps, afterCommit);
  },
});

export const deleteFeedRoute = route({
  ...oneFeed,
  method: 'DELETE',
  summary: 'Delete a feed with its messages',
  once: 'transaction',
  reply: empty(204),
  async handle({ params, afterCommit }, deps) {
    told(await deleteFeed(deps.db, feedIn(params)), deps, afterCommit);
  },
});

export const listMessagesRoute = route({
  ...messages,
  method: 'GET',
  summary: 'List the messages of a feed, newest first; a page may hold fewer than asked for where they are long',
  query: ListQuery,
  reply: MessagePage,
  async handle({ params, query }, { db }) {
    const { cursor, limit } = query;
    const page = await pageOfMessages(db, feedIn(params), { cursor, limit, since: madeLater(query.since) });
    return { nextCursor: page.nextCursor, data: page.messages };
  },
});

export const createMessageRoute = route({
  ...messages,
  method: 'POST',
  summary: 'Add a message to a feed',
  once: 'transaction',
  body: NewMessageBody,
  reply: MessageReply,
  refuses: [...messages.refuses, 'RESOURCE_ALREADY_EXISTS'],
  async handle({ params, body, afterCommit }, deps) {
    const { data, timestamp } = body;
    const messageId = body.id === undefined ? deps.newId('msg_') : checkId(body.id, 'id');
    const atMs = checkTime(timestamp, 'timestamp') ?? deps.nowMs();
    const message = { ...feedIn(params), messageId, data, bytes: checkData(data), atMs };
    return told(await createMessage(deps.db, message), deps, afterCommit);
  },
});

export const updateMessageRoute = route({
  ...oneMessage,
  method: 'PATCH',
  summary: 'Give a message other data',
  once: 'transaction',
  body: MessageChangesBody,
  reply: MessageReply,
  async handle({ params, body, afterCommit }, deps) {
    const { data, timestamp } = body;
    const times = { givenAtMs: checkTime(timestamp, 'timestamp'), nowMs: deps.nowMs() };
    const change = { ...feedIn(params), messageId: params.messageId, data, bytes: checkData(data), ...times };
    return told(await updateMessage(deps.db, change), deps, afterCommit);
  },
});

export const deleteMessageRoute = route({
  ...oneMessage,
  method: 'DELETE',
  summary: 'Delete a message',
  once: 'transaction',
  reply: empty(204),
  async handle({ params, afterCommit }, deps) {
    told(await deleteMessage(deps.db, { ...feedIn(params), messageId: params.messageId }), deps, afterCommit);
  },
});

export function feedRoutes(deps: FeedDeps): BoundRoute[] {
  return [
    bindRoute(listFeedsRoute, deps),
    bindRoute(createFeedRoute, deps),
    bindRoute(getFeedRoute, deps),
    bindRoute(updateFeedRoute, deps),
    bindRoute(deleteFeedRoute, deps),
    bindRoute(listMessagesRoute, deps),
    bindRoute(createMessageRoute, deps),
    bindRoute(updateMessageRoute, deps),
    bindRoute(deleteMessageRoute, deps),
  ];
}

interface PageAsked {
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly since: Since | null;
}

/** @throws AppError ROOM_NOT_FOUND; UNPROCESSABLE_ENTITY for a cursor of another list */
export async function pageOfFeeds(
  db: Sql,
  roomId: RoomId,
  { cursor, limit, since, metadata }: PageAsked & { readonly metadata: Readonly<Record<string, string>> },
): Promise<{ readonly feeds: Feed[]; readonly nextCursor: string | null }> {
  const { pk } = await findRoomRef(db, roomId);
  const list = listAsked('feeds', [String(pk), sinceText(since), JSON.stringify(metadata)]);
  const after = cursor === undefined ? null : positionAt(cursor, { list, key: 'cursor' });
  const found = await listFeeds(db, { roomPk: pk, since, metadata, after, limit: limit + 1 });
  const { page, nextCursor } = pageFrom(found, { limit, list, positionOf: ({ position }) => position });
  return { feeds: page.map(({ thing }) => thing), nextCursor };
}

/** @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND; UNPROCESSABLE_ENTITY for a cursor of another list */
export async function pageOfMessages(
  db: Sql,
  place: FeedPlace,
  { cursor, limit, since }: PageAsked,
): Promise<{ readonly messages: FeedMessage[]; readonly nextCursor: string | null }> {
  const { pk: feedPk } = await findFeed(db, place);
  const list = listAsked('feed-messages', [String(feedPk), sinceText(since)]);
  const after = cursor === undefined ? null : positionAt(cursor, { list, key: 'cursor' });
  const { found, hasMore } = await listMessages(db, { feedPk, since, after, limit });
  const nextCursor = hasMore ? cursorAfter(found.at(-1)!.position, list) : null;
  return { messages: found.map(({ thing }) => thing), nextCursor };
}

function sinceText(since: Since | null): string | null {
  return since === null ? null : `${since.which} ${since.atMs}`;
}

function madeLater(since: number | undefined): Since | null {
  return since === undefined ? null : { atMs: pastOf(since), which: 'made later' };
}

function told<Thing>(
  { thing, news, hasChanged }: Done<Thing>,
  { tell }: FeedDeps,
  afterCommit: Input<unknown, unknown, unknown>['afterCommit'],
): Thing {
  if (hasChanged) afterCommit(() => tell(news));
  return thing;
}

function roomIn({ roomId }: { readonly roomId: string }): RoomId {
  return checkRoomId(roomId, 'roomId');
}

function feedIn({ roomId, feedId }: { readonly roomId: string; readonly feedId: string }): FeedPlace {
  return { roomId: checkRoomId(roomId, 'roomId'), feedId };
}
