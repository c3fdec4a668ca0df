/**
 * Feeds as all clients read them (supplement 2.5; the SDK's messages 500 to 517): lists of messages in a room that last, such as what a person and an
 * assistant say to each other. Times are ms since the epoch.
 */
import Type, { type Static } from 'typebox';
import type { JsonObject } from '../base/json.ts';
import { NAME_LENGTHS } from './names.ts';

/** Bounds of ours but for the page (supplement 2.5). */
export const FEED_LIMITS = {
  idLengthMax: NAME_LENGTHS.feedId,
  metadataEntriesMax: 50,
  metadataKeyLengthMax: 40,
  metadataTextLengthMax: 4_000,
  metadataListMax: 100,
  /** As JSON in UTF-8. */
  metadataBytesMax: 16 * 1024,
  /** Of one message, as JSON in UTF-8. */
  dataBytesMax: 128 * 1024,
  messagesMax: 100_000,
  /** Of all messages of a feed. */
  contentBytesMax: 64 * 1024 * 1024,
  pageMax: 100,
  pageDefault: 20,
} as const;

const MetadataText = Type.String({ 'x-limits': { maxLength: FEED_LIMITS.metadataTextLengthMax } });
export const FeedMetadataValue = Type.Union([
  MetadataText,
  Type.Array(MetadataText, { 'x-limits': { maxItems: FEED_LIMITS.metadataListMax } }),
]);
export type FeedMetadataValue = Static<typeof FeedMetadataValue>;
export type FeedMetadata = Readonly<Record<string, FeedMetadataValue>>;

export interface Feed {
  readonly feedId: string;
  readonly metadata: FeedMetadata;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface FeedMessage {
  readonly id: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly data: JsonObject;
}

/** What an SDK client asks of feeds, by the codes of its messages. */
export const FEED_REQUESTS = {
  510: 'feeds.fetch',
  511: 'messages.fetch',
  512: 'feed.add',
  513: 'feed.update',
  514: 'feed.delete',
  515: 'message.add',
  516: 'message.update',
  517: 'message.delete',
} as const;

/** A request as it came: but for its id nothing of it has been checked, and whoever answers says what is wrong. */
export interface FeedRequest {
  readonly kind: (typeof FEED_REQUESTS)[keyof typeof FEED_REQUESTS];
  readonly requestId: string;
  readonly fields: JsonObject;
  /** Why it may not be taken, whatever it asks; null when it may. */
  readonly flaw: string | null;
}
