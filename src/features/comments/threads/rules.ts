/** What threads and comments may carry, who may see and change them, and what a list of threads is asked for. Pure. */
import { msFromIso } from '../../../base/clock.ts';
import { AppError, valueAtKey } from '../../../base/errors.ts';
import { isStorableText } from '../../../base/text.ts';
import { COMMENT_LIMITS, type CommentMetadata, type Visibility } from '../../../protocol/comments.ts';
import { checkName } from '../../../protocol/names.ts';
import { allows, FULL_ACCESS, type Permissions } from '../../../protocol/permissions.ts';

/** Bounds of ours: a thread with all its comments is one document, and is read whole. */
export const THREAD_LIMITS = {
  commentsMax: 10_000,
  /** Of all comments of a thread, as JSON. */
  contentBytesMax: 16 * 1024 * 1024,
} as const;

/** Who asks. `userId` is null for a back end, and for whoever has the public key. */
export interface Viewer {
  readonly userId: string | null;
  readonly permissions: Permissions;
}

/** Whoever has the secret key. */
export const BACK_END: Viewer = { userId: null, permissions: FULL_ACCESS };

/** What a viewer may read. */
export function readableBy({ permissions }: Pick<Viewer, 'permissions'>): Visibility[] {
  return (['public', 'private'] as const).filter((visibility) => allows(permissions, `comments:${visibility}`, 'read'));
}

export function noThread(threadId: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'thread', id: threadId });
}

export function noComment(commentId: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'comment', id: commentId });
}

/** @throws AppError RESOURCE_NOT_FOUND: what may not be read is not there. */
export function checkMayRead(viewer: Viewer, { id, visibility }: { id: string; visibility: Visibility }): void {
  if (!readableBy(viewer).includes(visibility)) throw noThread(id);
}

/** @throws AppError RESOURCE_NOT_FOUND for what may not be read either, UNAUTHORIZED_ROOM_ACCESS. */
export function checkMayWrite(viewer: Viewer, thread: { id: string; visibility: Visibility }): void {
  checkMayRead(viewer, thread);
  checkMayCreate(viewer, thread.visibility);
}

/** @throws AppError UNAUTHORIZED_ROOM_ACCESS */
export function checkMayCreate({ permissions }: Viewer, visibility: Visibility): void {
  const resource = `comments:${visibility}` as const;
  if (!allows(permissions, resource, 'write')) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { need: `${resource}:write` });
}

/** The user whom a route for clients asks for. @throws AppError UNAUTHORIZED_ROOM_ACCESS for a key, which is nobody. */
export function userOf({ userId }: Viewer): string {
  if (userId === null) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { reason: 'This needs the token of a user' });
  return userId;
}

/** A user changes only what is theirs; a back end anything. @throws AppError UNAUTHORIZED_ROOM_ACCESS */
export function checkIsOwn({ userId }: Viewer, authorId: string): void {
  if (userId !== null && userId !== authorId)
    throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { reason: 'Only its author may do this' });
}

/** Metadata to begin with, found at `key` of the body. @throws AppError UNPROCESSABLE_ENTITY naming the place. */
export function checkMetadata(metadata: CommentMetadata | undefined, key = 'metadata'): CommentMetadata {
  return metadataAfter({}, metadata ?? {}, key);
}

/** Metadata after a change, found at `key` of the body, or '' for all of it; null removes. @throws AppError UNPROCESSABLE_ENTITY naming the place. */
export function metadataAfter(
  before: CommentMetadata,
  changes: Readonly<Record<string, CommentMetadata[string] | null>>,
  whole = 'metadata',
): CommentMetadata {
  const { metadataEntriesMax, metadataKeyLengthMax, metadataTextLengthMax } = COMMENT_LIMITS;
  const after: CommentMetadata = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    const key = whole === '' ? name : `${whole}.${name}`;
    checkName(name, key, metadataKeyLengthMax);
    if (value === null) delete after[name];
    else after[name] = typeof value === 'string' ? checkText(value, key, metadataTextLengthMax) : value;
  }
  const entries = Object.keys(after).length;
  if (entries > metadataEntriesMax)
    throw valueAtKey(
      whole === '' ? 'metadata' : whole,
      `may have at most ${metadataEntriesMax} entries; it would have ${entries}`,
    );
  return after;
}

function checkText(text: string, key: string, lengthMax: number): string {
  if (text.length > lengthMax) throw valueAtKey(key, `must have at most ${lengthMax} characters`);
  if (!isStorableText(text)) throw valueAtKey(key, 'may not hold U+0000 or half of a surrogate pair');
  return text;
}

/** A year before the last that four digits write: times rise by a millisecond at least with each change. */
const TIME_MS_MAX = Date.UTC(9999, 0, 1);

/** A time given by a back end, in ms since the epoch; `orElseMs` when none is. @throws AppError UNPROCESSABLE_ENTITY naming `key`. */
export function checkTime(time: string | undefined, key: string, orElseMs: number): number {
  if (time === undefined) return orElseMs;
  const ms = msFromIso(time);
  if (ms === null || ms < 0 || ms > TIME_MS_MAX) throw valueAtKey(key, 'must be a date-time such as 2026-01-02T03:04:05.678Z');
  return ms;
}
