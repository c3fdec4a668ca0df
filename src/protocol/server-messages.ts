/**
 * All that a room tells its clients, once as meaning and once per client kind as bytes.
 *
 * The room speaks in `ServerMessage`s; what an SDK client reads as JSON (protocol §4.2) and a y-websocket client as binary
 * frames is decided here, so one decision serves both kinds.
 */
import { toBase64 } from '../base/binary.ts';
import type { Json, JsonObject } from '../base/json.ts';
import type { Pieces } from '../base/pieces.ts';
import type { Feed, FeedMessage } from './feeds.ts';
import type { OpsText } from './storage-ops.ts';
import {
  type AwarenessState,
  awarenessFrame,
  encodeAwareness,
  permissionDeniedFrame,
  syncStep1Frame,
  syncStep2Frame,
  updateFrame,
} from './yjs-frames.ts';

/** What other clients learn of a user; id and info are absent for anonymous ones (protocol 4.3). */
export interface RoomUser {
  readonly id?: string;
  readonly info?: JsonObject;
  readonly scopes: readonly string[];
}

/** What happened to a thread or a comment, with its ids alone. */
export type CommentMessage =
  | { readonly type: 'thread.created'; readonly threadId: string }
  | { readonly type: 'thread.metadata-updated'; readonly threadId: string }
  /** Resolved, or no longer. */
  | { readonly type: 'thread.updated'; readonly threadId: string }
  | { readonly type: 'thread.deleted'; readonly threadId: string }
  | ({ readonly type: 'comment.created' } & CommentIds)
  | ({ readonly type: 'comment.edited' } & CommentIds)
  | ({ readonly type: 'comment.deleted' } & CommentIds)
  | ({ readonly type: 'comment.metadata-updated' } & CommentIds)
  | ({ readonly type: 'comment.reaction-added'; readonly emoji: string } & CommentIds)
  | ({ readonly type: 'comment.reaction-removed'; readonly emoji: string } & CommentIds);
interface CommentIds {
  readonly threadId: string;
  readonly commentId: string;
}

/** What happened to feeds, with all of what is new: clients ask for nothing more. */
export type FeedNewsMessage =
  | { readonly type: 'feeds.added'; readonly feeds: readonly Feed[] }
  | { readonly type: 'feeds.updated'; readonly feeds: readonly Feed[] }
  | { readonly type: 'feed.deleted'; readonly feedId: string }
  | { readonly type: 'feed-messages.added'; readonly feedId: string; readonly messages: readonly FeedMessage[] }
  | { readonly type: 'feed-messages.updated'; readonly feedId: string; readonly messages: readonly FeedMessage[] }
  | { readonly type: 'feed-messages.deleted'; readonly feedId: string; readonly messageIds: readonly string[] };

interface FeedPage {
  readonly requestId: string;
  /** Absent on the last page. */
  readonly nextCursor?: string;
}
/** Answers to one request about feeds. A change that was made is answered by the news of it. */
export type FeedAnswerMessage =
  | ({ readonly type: 'feeds.list'; readonly feeds: readonly Feed[] } & FeedPage)
  | ({ readonly type: 'feed-messages.list'; readonly feedId: string; readonly messages: readonly FeedMessage[] } & FeedPage)
  | { readonly type: 'feed.refused'; readonly requestId: string; readonly code: string; readonly reason: string };

export type ServerMessage =
  | CommentMessage
  | FeedNewsMessage
  | FeedAnswerMessage
  | {
      readonly type: 'room.state';
      readonly actor: number;
      readonly scopes: readonly string[];
      readonly users: Readonly<Record<string, RoomUser>>;
    }
  | { readonly type: 'user.joined'; readonly actor: number; readonly user: RoomUser }
  | { readonly type: 'user.left'; readonly actor: number }
  /** `targetActor` marks a full presence; without it the data is a patch. */
  | { readonly type: 'presence'; readonly actor: number; readonly data: JsonObject; readonly targetActor: number | null }
  /** Full presences of several, each as `presenceText` has it. */
  | { readonly type: 'presences'; readonly texts: readonly string[] }
  /** `actor` −1: sent over REST. */
  | { readonly type: 'event'; readonly actor: number; readonly event: Json }
  /** All of Storage, as the frame that says it (`STORAGE_FRAME`). */
  | { readonly type: 'storage.state'; readonly frame: Pieces }
  | ({ readonly type: 'storage.ops' } & OpsText)
  | { readonly type: 'storage.rejected'; readonly opIds: readonly string[]; readonly reason: string }
  | {
      readonly type: 'ydoc.state';
      readonly guid: string;
      readonly update: Uint8Array;
      readonly vector: Uint8Array;
      readonly hash: string;
    }
  /** Without a hash: it is told before it is saved, and a hash is what SDK clients take for "saved". */
  | { readonly type: 'ydoc.update'; readonly guid: string; readonly update: Uint8Array }
  /** Tells SDK clients what the document hashes to now; they call themselves synchronized when theirs is the same. */
  | { readonly type: 'ydoc.hash'; readonly guid: string; readonly hash: string }
  /** Asks a client for what this state vector lacks. */
  | { readonly type: 'ydoc.question'; readonly guid: string; readonly vector: Uint8Array }
  | { readonly type: 'ydoc.denied'; readonly guid: string; readonly reason: string }
  /** y-protocols awareness states, for y-websocket clients; SDK clients see the same as presence. */
  | {
      readonly type: 'awareness';
      readonly states: readonly AwarenessState[];
      /** Their encoding, where it came from a client as it is; null where there is none before somebody hears them. */
      readonly update: Uint8Array | null;
      readonly tellsOf: 'state' | 'departure';
    };

/** What a client reads: the SDK's JSON, or the binary frames of y-websocket. */
export type ClientKind = 'sdk' | 'yjs';

/** Whether clients of this kind are told such messages at all: one that nobody in the room can read is not worth an encoding. */
export function isReadBy(kind: ClientKind, { type }: ServerMessage): boolean {
  switch (type) {
    case 'ydoc.state':
    case 'ydoc.update':
    case 'ydoc.question':
      return true;
    case 'ydoc.denied':
    case 'awareness':
      return kind === 'yjs';
    default:
      return kind === 'sdk';
  }
}

/**
 * What somebody is doing at the moment. A slow reader may miss it: once it reads again, it is told where all are. A presence for one session alone is not among
 * them; states for one y-websocket client are, and are asked for once more if they, too, were too much. Nor is that somebody left: of who is not there it is
 * told nothing later.
 */
export function isCursor(message: ServerMessage): boolean {
  if (message.type === 'awareness') return message.tellsOf === 'state';
  return message.type === 'presence' && (message.targetActor ?? ALL_OTHERS) === ALL_OTHERS;
}

/** What somebody waits for, and what hardly ever comes with company: typing, and a document that was asked for. */
export function isAwaited(message: ServerMessage): boolean {
  return message.type === 'ydoc.update' || message.type === 'ydoc.state' || message.type === 'storage.state';
}

/** `targetActor` of a full presence for all others (protocol 4.1). */
export const ALL_OTHERS = -1;

/** Messages that must be a frame of their own: a bare object for 104, and 299 because development clients throw on it (protocol 3.2, 5.8). */
export function standsAlone(message: ServerMessage): boolean {
  return message.type === 'room.state' || message.type === 'storage.rejected';
}

/** One or more JSON objects joined by commas, ready to stand in an array; null when SDK clients are not told this. */
export function encodeForSdk(message: Exclude<ServerMessage, { type: 'storage.state' }>): string | null {
  switch (message.type) {
    case 'room.state':
      return JSON.stringify({
        type: 104,
        actor: message.actor,
        nonce: String(message.actor),
        scopes: message.scopes,
        users: message.users,
        meta: {},
      });
    case 'user.joined':
      return JSON.stringify({ type: 101, actor: message.actor, ...message.user });
    case 'user.left':
      return JSON.stringify({ type: 102, actor: message.actor });
    case 'presence':
      return presenceText(message);
    case 'presences':
      return message.texts.join(',');
    case 'event':
      return JSON.stringify({ type: 103, actor: message.actor, event: message.event });
    case 'storage.ops':
      return `{"type":201,"ops":${message.json ?? JSON.stringify(message.ops)}}`; // an object around it would cost a third more, and ops are many
    case 'storage.rejected':
      return JSON.stringify({ type: 299, opIds: message.opIds, reason: message.reason });
    case 'ydoc.state':
    case 'ydoc.update':
      return ydocText(message, toBase64(message.update));
    case 'ydoc.hash':
    case 'ydoc.question':
      return ydocText(message, EMPTY_UPDATE);
    case 'ydoc.denied':
    case 'awareness':
      return null;
    default:
      return JSON.stringify({ ...message, type: CODES[message.type] });
  }
}

/** A presence as SDK clients read it. */
export function presenceText({ actor, data, targetActor }: Omit<Extract<ServerMessage, { type: 'presence' }>, 'type'>): string {
  return JSON.stringify({ type: 100, actor, data, targetActor: targetActor ?? undefined });
}

/** Of those that read as they are. */
const CODES: Readonly<Record<(CommentMessage | FeedNewsMessage | FeedAnswerMessage)['type'], number>> = {
  'thread.created': 400,
  'thread.metadata-updated': 401,
  'comment.created': 402,
  'comment.edited': 403,
  'comment.deleted': 404,
  'comment.reaction-added': 405,
  'comment.reaction-removed': 406,
  'thread.deleted': 407,
  'thread.updated': 408,
  'comment.metadata-updated': 409,
  'feeds.list': 500,
  'feeds.added': 501,
  'feeds.updated': 502,
  'feed.deleted': 503,
  'feed-messages.list': 504,
  'feed-messages.added': 505,
  'feed-messages.updated': 506,
  'feed-messages.deleted': 507,
  'feed.refused': 508,
};

/** The binary frame of a y-websocket client; null when such clients are not told this. */
export function encodeForYjs(message: ServerMessage): Uint8Array | null {
  switch (message.type) {
    case 'ydoc.state':
      return syncStep2Frame(message.update);
    case 'ydoc.update':
      return updateFrame(message.update);
    case 'ydoc.question':
      return syncStep1Frame(message.vector);
    case 'ydoc.denied':
      return permissionDeniedFrame(message.reason);
    case 'awareness':
      return awarenessFrame(message.update ?? encodeAwareness(message.states));
    default:
      return null;
  }
}

/** The V1 encoding of no change at all, in base64. */
const EMPTY_UPDATE = 'AAA=';

/** What stands around the nodes of a Storage in the frame that tells a client all of it: some `CompactNode`s in each chunk (protocol 4.4). */
export const STORAGE_FRAME = {
  begin: '[',
  beginChunk: '{"type":210,"nodes":[',
  endChunk: ']},',
  end: '{"type":211}]',
} as const;

type YdocMessage = Extract<ServerMessage, { type: 'ydoc.state' | 'ydoc.update' | 'ydoc.hash' | 'ydoc.question' }>;

/** `update`: its bytes in base64. */
function ydocText(message: YdocMessage, update: string): string {
  const { guid } = message;
  return JSON.stringify({
    type: 300,
    update,
    isSync: 'vector' in message,
    stateVector: 'vector' in message ? toBase64(message.vector) : null,
    guid: guid === '' ? undefined : guid,
    v2: false,
    remoteSnapshotHash: 'hash' in message ? message.hash : '',
  });
}

type LongMessage = Extract<ServerMessage, { type: 'ydoc.state' | 'ydoc.update' }>;

/** From here on it is worth a frame of its own. */
const LONG_UPDATE_BYTES = 64 * 1024;
/** A multiple of three, so that base64 of the parts is that of the whole. */
const BASE64_PART = 24 * 1024;
/** The last that somebody was sent, as long as its bytes are there: who enters after another is sent the same. */
let keptFrames = new WeakMap<Uint8Array, { readonly of: LongMessage; readonly frame: Uint8Array }>();

/** Whether `longFrame` has it: as a string it would be made, looked through and encoded anew for every reader. */
export function isLong(message: ServerMessage): message is LongMessage {
  return (message.type === 'ydoc.state' || message.type === 'ydoc.update') && message.update.length >= LONG_UPDATE_BYTES;
}

/** The frame in which an SDK client reads it, UTF-8. The bytes of its update are not written to any more: the frame may be sent again for them. */
export function longFrame(message: LongMessage): Uint8Array {
  const { update } = message;
  const kept = keptFrames.get(update);
  if (kept !== undefined && saysTheSame(kept.of, message)) return kept.frame;
  const json = ydocText(message, '');
  const updateAt = json.indexOf('""') + 1;
  const [head, tail] = [`[${json.slice(0, updateAt)}`, `${json.slice(updateAt)}]`];
  const frame = Buffer.allocUnsafeSlow(head.length + base64Length(update.length) + Buffer.byteLength(tail));
  let at = frame.write(head);
  for (let from = 0; from < update.length; from += BASE64_PART)
    at += frame.write(toBase64(update.subarray(from, from + BASE64_PART)), at, 'latin1');
  frame.write(tail, at);
  keptFrames = new WeakMap([[update, { of: message, frame }]]);
  return frame;
}

/** Of messages with the same bytes of an update: the hash is of the document, and so of its state vector. */
function saysTheSame(one: LongMessage, other: LongMessage): boolean {
  if (one.type !== other.type || one.guid !== other.guid) return false;
  return one.type === 'ydoc.update' || (other.type === 'ydoc.state' && one.hash === other.hash);
}

function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
