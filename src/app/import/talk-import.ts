/** Brings what people said in a room: threads with their comments, and feeds. What was changed at the source since it was brought is brought again. */
import { type RestClient, RestFailure } from './rest-client.ts';
import { type FeedOfRoom, pathOf, type Source } from './source.ts';

interface BringTalk {
  readonly source: Source;
  readonly target: RestClient;
}

/** Returns what the person who runs it should know. @throws RestFailure */
export async function bringTalk(roomId: string, { source, target }: BringTalk): Promise<string[]> {
  let attachments = 0;
  for (const thread of await source.threads(roomId)) {
    attachments += thread.comments.reduce((sum, comment) => sum + (comment.attachments?.length ?? 0), 0);
    await unlessThere(target.json('PUT', `${pathOf(roomId)}/threads/${encodeURIComponent(thread.id)}`, thread));
  }
  for await (const feed of source.feeds(roomId)) await bringFeed(roomId, feed, target);
  return attachments === 0 ? [] : [`${attachments} attachments of its comments were not brought`];
}

async function bringFeed(
  roomId: string,
  { feedId, metadata, createdAt, messages }: FeedOfRoom,
  target: RestClient,
): Promise<void> {
  const feeds = `${pathOf(roomId)}/feeds`;
  const path = `${feeds}/${encodeURIComponent(feedId)}/messages`;
  await unlessThere(target.json('POST', feeds, { feedId, metadata, timestamp: createdAt }));
  for (const { id, data, createdAt: timestamp, updatedAt } of messages) {
    await unlessThere(target.json('POST', path, { id, data, timestamp }));
    if (updatedAt > timestamp) await target.json('PATCH', `${path}/${encodeURIComponent(id)}`, { data, timestamp: updatedAt });
  }
}

const CONFLICT = 409;

/** It was brought before, or was deleted at the target. */
async function unlessThere(bringing: Promise<unknown>): Promise<void> {
  try {
    await bringing;
  } catch (error) {
    if (!(error instanceof RestFailure) || error.status !== CONFLICT) throw error;
  }
}
