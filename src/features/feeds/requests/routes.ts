/**
 * What SDK clients ask of feeds over their sockets (messages 510 to 517), as data: what a request needs, what it says, and the function that answers. A
 * change is answered by the news of it, which the SDK takes for the answer.
 */
import type { Static, TSchema } from 'typebox';
import { AppError } from '../../../base/errors.ts';
import type { RoomId } from '../../../base/ids.ts';
import { type Check, makeCheck } from '../../../kernel/transport/validate.ts';
import { FEED_LIMITS, type FeedRequest } from '../../../protocol/feeds.ts';
import type { Permissions } from '../../../protocol/permissions.ts';
import type { FeedAnswerMessage } from '../../../protocol/server-messages.ts';
import type { FeedAnswer } from '../../../room/feed-desk.ts';
import { createFeed, createMessage, type Done, deleteFeed, deleteMessage, updateFeed, updateMessage } from '../queries.ts';
import { type FeedDeps, pageOfFeeds, pageOfMessages } from '../routes.ts';
import { checkData, checkId, checkMay, checkTime, metadataAfter, pastOf } from '../rules.ts';
import { Asked } from '../shapes.ts';

interface Place {
  readonly roomId: RoomId;
  readonly requestId: string;
}

interface Handler {
  readonly need: 'read' | 'write';
  readonly check: Check;
  handle(fields: unknown, place: Place, deps: FeedDeps): Promise<FeedAnswer>;
}

function reading<Fields extends TSchema>(
  fields: Fields,
  handle: (fields: Static<Fields>, place: Place, deps: FeedDeps) => Promise<FeedAnswerMessage>,
): Handler {
  return {
    need: 'read',
    check: makeCheck(fields, 'The request'),
    handle: async (asked, place, deps) => ({ message: await handle(asked as Static<Fields>, place, deps), isTold: false }),
  };
}

function writing<Fields extends TSchema>(
  fields: Fields,
  handle: (fields: Static<Fields>, place: Place, deps: FeedDeps) => Promise<Done<unknown>>,
): Handler {
  return {
    need: 'write',
    check: makeCheck(fields, 'The request'),
    async handle(asked, place, deps) {
      const { news, hasChanged } = await handle(asked as Static<Fields>, place, deps);
      return { message: news.message, isTold: hasChanged && (await deps.tell(news)) };
    },
  };
}

const changedSince = (since: number | undefined) =>
  since === undefined ? null : ({ atMs: pastOf(since), which: 'changed since' } as const);

const HANDLERS: Readonly<Record<FeedRequest['kind'], Handler>> = {
  'feeds.fetch': reading(Asked.feeds, async (fields, { roomId, requestId }, { db }) => {
    const { cursor, limit = FEED_LIMITS.pageDefault, metadata = {} } = fields;
    const { feeds, nextCursor } = await pageOfFeeds(db, roomId, { cursor, limit, metadata, since: changedSince(fields.since) });
    return { type: 'feeds.list', requestId, feeds, ...(nextCursor !== null && { nextCursor }) };
  }),
  'messages.fetch': reading(Asked.messages, async (fields, { roomId, requestId }, { db }) => {
    const { feedId, cursor, limit = FEED_LIMITS.pageDefault } = fields;
    const asked = { cursor, limit, since: changedSince(fields.since) };
    const { messages, nextCursor } = await pageOfMessages(db, { roomId, feedId }, asked);
    return { type: 'feed-messages.list', requestId, feedId, messages, ...(nextCursor !== null && { nextCursor }) };
  }),
  'feed.add': writing(Asked.newFeed, async (fields, { roomId }, { db, nowMs }) => {
    const feedId = checkId(fields.feedId, 'feedId');
    const atMs = checkTime(fields.createdAt, 'createdAt') ?? nowMs();
    return createFeed(db, { roomId, feedId, atMs, metadata: metadataAfter({}, fields.metadata) });
  }),
  'feed.update': writing(Asked.feedChanges, async ({ feedId, metadata }, { roomId }, { db, nowMs }) =>
    updateFeed(db, { roomId, feedId, atMs: nowMs(), metadataFrom: (before) => metadataAfter(before, metadata) }),
  ),
  'feed.delete': writing(Asked.feed, async ({ feedId }, { roomId }, { db }) => deleteFeed(db, { roomId, feedId })),
  'message.add': writing(Asked.newMessage, async (fields, { roomId }, { db, nowMs, newId }) => {
    const { feedId, data } = fields;
    const messageId = fields.id === undefined ? newId('msg_') : checkId(fields.id, 'id');
    const atMs = checkTime(fields.createdAt, 'createdAt') ?? nowMs();
    return createMessage(db, { roomId, feedId, messageId, data, bytes: checkData(data), atMs });
  }),
  'message.update': writing(Asked.messageChanges, async (fields, { roomId }, { db, nowMs }) => {
    const { feedId, messageId, data } = fields;
    const givenAtMs = checkTime(fields.updatedAt, 'updatedAt');
    return updateMessage(db, { roomId, feedId, messageId, data, bytes: checkData(data), givenAtMs, nowMs: nowMs() });
  }),
  'message.delete': writing(Asked.message, async ({ feedId, messageId }, { roomId }, { db }) =>
    deleteMessage(db, { roomId, feedId, messageId }),
  ),
};

/** @throws AppError UNAUTHORIZED_ROOM_ACCESS, UNPROCESSABLE_ENTITY naming the key, and what the endpoints of the same name refuse */
export async function answerFeedRequest(
  { kind, requestId, fields, flaw }: FeedRequest,
  { roomId, permissions }: { readonly roomId: RoomId; readonly permissions: Permissions },
  deps: FeedDeps,
): Promise<FeedAnswer> {
  const { need, check, handle } = HANDLERS[kind];
  checkMay(permissions, need);
  if (flaw !== null) throw new AppError('UNPROCESSABLE_ENTITY', { reason: `In the request ${flaw}` });
  return handle(check(fields), { roomId, requestId }, deps);
}
