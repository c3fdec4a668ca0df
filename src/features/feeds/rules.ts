/** What feeds and their messages may carry. Pure. */
import { AppError, valueAtKey } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { checkTexts, entriesAfter, type Texts } from '../../protocol/entries.ts';
import { FEED_LIMITS, type FeedMetadata, type FeedMetadataValue } from '../../protocol/feeds.ts';
import { checkName } from '../../protocol/names.ts';
import { allows, type Permissions } from '../../protocol/permissions.ts';

export function noFeed(feedId: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'feed', id: feedId });
}

export function noMessage(messageId: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'feed message', id: messageId });
}

/** @throws AppError UNAUTHORIZED_ROOM_ACCESS */
export function checkMay(permissions: Permissions, need: 'read' | 'write'): void {
  if (!allows(permissions, 'feeds', need)) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { need: `feeds:${need}` });
}

/** @throws AppError UNPROCESSABLE_ENTITY naming `key` */
export function checkId(id: string, key: string): string {
  return checkName(id, key, FEED_LIMITS.idLengthMax);
}

type MetadataChanges = Readonly<Record<string, FeedMetadataValue | null>>;

/** Metadata after a change: null removes, what is not named stays (supplement 2.5). @throws AppError UNPROCESSABLE_ENTITY naming the place */
export function metadataAfter(before: FeedMetadata, changes: MetadataChanges | undefined): FeedMetadata {
  const { metadataEntriesMax, metadataKeyLengthMax, metadataBytesMax } = FEED_LIMITS;
  const after = entriesAfter(before as Readonly<Record<string, Texts>>, changes, {
    key: 'metadata',
    entriesMax: metadataEntriesMax,
    nameLengthMax: metadataKeyLengthMax,
    check: checkValue,
  });
  const bytes = jsonBytes(after);
  if (bytes > metadataBytesMax)
    throw valueAtKey('metadata', `may have at most ${metadataBytesMax} bytes as JSON; it would have ${bytes}`);
  return after;
}

function checkValue(value: Texts, key: string): Texts {
  return checkTexts(value, key, { lengthMax: FEED_LIMITS.metadataTextLengthMax, itemsMax: FEED_LIMITS.metadataListMax });
}

/** How long it is as JSON, in bytes of UTF-8. @throws AppError UNPROCESSABLE_ENTITY when that is too long for a message */
export function checkData(data: JsonObject): number {
  const bytes = jsonBytes(data);
  if (bytes > FEED_LIMITS.dataBytesMax) throw valueAtKey('data', `may have at most ${FEED_LIMITS.dataBytesMax} bytes as JSON`);
  return bytes;
}

/** What the messages of a feed come to. */
export interface FeedSize {
  readonly messageCount: number;
  readonly contentBytes: number;
}

/** @throws AppError UNPROCESSABLE_ENTITY when the feed has no room for so much more */
export function checkRoomInFeed({ messageCount, contentBytes }: FeedSize, more: { messages: number; bytes: number }): void {
  const { messagesMax, contentBytesMax } = FEED_LIMITS;
  if (messageCount + more.messages > messagesMax) throw valueAtKey('feedId', `has ${messagesMax} messages; that is the most`);
  if (more.bytes > 0 && contentBytes + more.bytes > contentBytesMax)
    throw valueAtKey('data', `does not fit: all messages of a feed may have ${contentBytesMax} bytes`);
}

/** The last year that four digits write. */
const TIME_MS_MAX = Date.UTC(9999, 11, 31);

/** A time that is given, in ms since the epoch. @throws AppError UNPROCESSABLE_ENTITY naming `key` */
export function checkTime(ms: number | undefined, key: string): number | undefined {
  if (ms === undefined) return undefined;
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > TIME_MS_MAX)
    throw valueAtKey(key, `must be a time in milliseconds since the epoch, at most ${TIME_MS_MAX}`);
  return ms;
}

function jsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** A time to ask the database for, in ms: what lies before all times, or after them, asks for as much as the first, or the last. */
export function pastOf(ms: number): number {
  return Math.max(0, Math.min(ms, TIME_MS_MAX));
}
