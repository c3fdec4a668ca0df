/**
 * All a room is, hears and does: its state, the commands it decides and the effects it asks for.
 *
 * Frames, REST calls, timers and other workers all become `Command`s; `room.ts` decides them; `room-actor.ts` performs the
 * effects. Nothing else touches a room (house 3.1).
 */
import type { ByteWindow } from '../base/byte-window.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { RequestKey, RoomId, SessionId, WorkerAddress } from '../base/ids.ts';
import type { Json, JsonObject } from '../base/json.ts';
import type { YdocEncoding } from '../protocol/client-messages.ts';
import type { Visibility } from '../protocol/comments.ts';
import type { Permissions, Resource } from '../protocol/permissions.ts';
import type { CommentMessage, FeedNewsMessage, ServerMessage } from '../protocol/server-messages.ts';
import type { Op } from '../protocol/storage-ops.ts';
import type { History, TakenVersion } from './history.ts';
import type { JournalRecord } from './journal-record.ts';
import type { LateCopies } from './newcomers.ts';
import type { RecentRequests } from './recent-requests.ts';
import type { Recipient } from './recipient.ts';
import type { Schema } from './schema/compile.ts';
import type { JsonPatch } from './storage/patch.ts';
import type { Storage } from './storage/tree.ts';
import type { AskedAnew } from './ydoc/decide.ts';
import type { LateAnswers } from './ydoc/late-answers.ts';
import type { Ydoc } from './ydoc/ydoc.ts';

/** Who is in the room over which kind of client: the SDK's JSON protocol, y-websocket, or a presence set by REST. */
export type SessionKind = 'sdk' | 'yjs' | 'rest';

/** What a newcomer brings along; the room adds its actor number. */
export interface Newcomer {
  readonly id: SessionId;
  readonly kind: SessionKind;
  /** Null for anonymous clients (public key). */
  readonly userId: string | null;
  readonly info: JsonObject | null;
  readonly permissions: Permissions;
  /** The id of the first session over its socket: somebody who joins anew is still the same visitor. Absent: its own. */
  readonly visit?: string;
}

export interface Session extends Omit<Newcomer, 'info' | 'visit'>, Recipient {
  readonly visit: string;
  /** A presence set over REST may bring another one. */
  info: JsonObject | null;
  /** The connection id that clients see; also the prefix of the node and op ids this client makes (protocol 4). */
  readonly actor: number;
  /** Number of the decision that let it in; it is sent what is decided later. */
  readonly joinedAt: number;
  /** Number of the decision on its FETCH_STORAGE: only ops decided later are forwarded to it (protocol 4.4). */
  storageAt: number | null;
  /** The Yjs documents it follows, by guid; '' is the room's root document. */
  readonly ydocs: Set<string>;
  /** In which of them it takes the hash of a document. */
  ydocEncoding: YdocEncoding;
  /** How many of its Yjs updates were refused at the price of a new `Y.Doc`. */
  costlyUpdates: number;
  /** What it has asked of documents in this second (`ydoc/late-answers.ts`); null while it has not. */
  asked: ByteWindow | null;
  /** By guid, when it was last asked for all that the room lacks; null while it was not. */
  askedAnew: Map<string, AskedAnew> | null;
  /** Its presence as last known, patches merged; null until it sent one. */
  presence: JsonObject | null;
  /** What newcomers were sent of it in this second (`newcomers.ts`), if that is large; null while it is not. */
  copied: ByteWindow | null;
  /** Yjs client id under which y-websocket clients know its awareness. */
  awarenessId: number | null;
  /** For a presence set by REST: when it ends, by the monotonic clock. */
  expiresAtMs: number | null;
}

/** Numbers never handed out twice in this room's life: `next` is free, all below `reservedTo` are reserved. */
export interface ActorNumbers {
  next: number;
  reservedTo: number;
  /** What the claim reserved durably; beyond it a number is told only after its reservation is in the journal. */
  readonly claimedTo: number;
  /** The version with which the last of them were reserved; 0 for those of the claim. */
  reservedAt: number;
}

export interface RoomState {
  readonly id: RoomId;
  /** Count of journaled changes; the version of the last one. */
  version: number;
  /** Count of decisions since the room was loaded; orders messages against joins and subscriptions. */
  decision: number;
  readonly numbers: ActorNumbers;
  /** Only `roster.ts` adds and takes away. */
  readonly sessions: Map<SessionId, Session>;
  /** How many of them are of each kind: what one kind alone reads is made for nobody where there is none of it. */
  readonly headcount: Record<SessionKind, number>;
  storage: Storage;
  /** What bounds the changes of Storage, if anything does. */
  schema: AttachedSchema | null;
  /** The claim it lives under. */
  claim: { readonly stream: number; readonly epoch: number };
  /** Ids for nodes that REST makes: one actor number per activation, taken when first needed. */
  restIds: RestIds | null;
  /** By guid; '' is the root document. */
  readonly ydocs: Map<string, Ydoc>;
  /** Documents changed since their hash was told; see `ydoc.settle`. */
  readonly unsettled: Set<string>;
  /** Of the versions that people keep of it: what the next one is to say. */
  readonly history: History;
  /** Requests that were decided lately, to know them when they come again. */
  readonly requests: RecentRequests;
  /** What y-websocket clients call awareness, by Yjs client id. */
  readonly awareness: Map<number, AwarenessEntry>;
  /** The clock with which the state of a Yjs client ended; null while nobody has left. */
  departed: Map<number, number> | null;
  /** The last change of each thing in its feeds that was told, of the last things there were; null while there were none. */
  feedsTold: Map<string, number> | null;
  /** What is to be told at the next tick, as it would have been too much at once: presences to newcomers, and answers about documents. Null while there is none. */
  lateCopies: LateCopies | null;
  lateAnswers: LateAnswers | null;
}

/** The decision that attached a schema: of two, the later one of the later owner counts. */
export interface AttachedAt {
  readonly stream: number;
  readonly epoch: number;
  readonly decision: number;
}

export interface AttachedSchema {
  readonly id: string;
  readonly types: Schema;
  readonly at: AttachedAt;
}

/** The same as the database has it. */
export interface RoomSchema {
  readonly id: string;
  /** Its text. */
  readonly body: string;
  readonly at: AttachedAt;
}

export interface RestIds {
  readonly actor: number;
  nextNode: number;
  nextOp: number;
}

export interface AwarenessEntry {
  readonly session: SessionId;
  readonly clock: number;
  readonly state: JsonObject | null;
  readonly sentAtMs: number;
}

/** Bounds a room keeps; from the settings. */
export interface RoomLimits {
  readonly connectionsMax: number;
  readonly presenceBytesMax: number;
  readonly ydocsMax: number;
}

/** With it, a command that is sent again has its effect once, and its first answer (`once.ts`); the price is a record in the journal. */
interface Repeated {
  readonly request?: RequestKey;
}

/** All that may be asked of a room. Those with `from` come from a session, the others from REST or the shell. */
export type Command =
  | { readonly type: 'session.join'; readonly newcomer: Newcomer }
  | { readonly type: 'session.leave'; readonly sessionId: SessionId }
  | { readonly type: 'sessions.gone'; readonly sessionIds: ReadonlySet<SessionId> }
  | { readonly type: 'sessions.depart'; readonly workerName: string }
  | { readonly type: 'session.permit'; readonly sessionId: SessionId; readonly permissions: Permissions }
  | { readonly type: 'presence.patch'; readonly from: SessionId; readonly data: JsonObject; readonly targetActor: number | null }
  | { readonly type: 'presence.fetch'; readonly from: SessionId }
  | ({ readonly type: 'event.broadcast'; readonly from: SessionId | null; readonly event: Json } & Repeated)
  | { readonly type: 'storage.fetch'; readonly from: SessionId }
  | {
      readonly type: 'storage.change';
      readonly from: SessionId;
      readonly ops: readonly Op[];
      /** Files that the ops name and the room does not have; whoever hands the command on has looked (`file-check.ts`). */
      readonly missingFiles?: readonly string[];
    }
  | {
      readonly type: 'ydoc.fetch';
      readonly from: SessionId;
      readonly guid: string;
      readonly vector: Uint8Array;
      /** Absent when the client did not say. */
      readonly encoding?: YdocEncoding;
    }
  | ({
      readonly type: 'ydoc.change';
      readonly from: SessionId | null;
      readonly guid: string;
      readonly update: Uint8Array;
    } & Repeated)
  | { readonly type: 'awareness.change'; readonly from: SessionId; readonly update: Uint8Array }
  | { readonly type: 'awareness.fetch'; readonly from: SessionId }
  /** From the shell, some time after Yjs changes: tell SDK clients the hash that makes them call themselves synchronized. */
  | { readonly type: 'ydoc.settle' }
  // REST: each of these is answered with a reply of the type beside it.
  | { readonly type: 'users.list' } // → ActiveUser[]
  | { readonly type: 'sessions.list'; readonly after: number; readonly limit: number } // → SessionsPage
  | { readonly type: 'sessions.dismiss'; readonly connectionId: number | null } // → number, of those who were sent away
  | ({
      readonly type: 'presence.set';
      readonly userId: string;
      readonly data: JsonObject;
      readonly info: JsonObject;
      readonly ttlMs: number;
    } & Repeated) // → null
  | { readonly type: 'storage.read'; readonly format: 'plain-lson' | 'json'; readonly typeKey: string } // → Pieces of JSON in UTF-8
  | { readonly type: 'storage.read'; readonly format: 'array' } // → the same, of all nodes in full
  | { readonly type: 'storage.refers'; readonly fileIds: readonly string[] } // → string[], those of them that Storage refers to
  | ({ readonly type: 'storage.initialize'; readonly root: Json; readonly typeKey: string } & Repeated) // → JSON text
  | ({ readonly type: 'storage.delete' } & Repeated) // → null
  | ({ readonly type: 'storage.patch' } & JsonPatch & Repeated) // → null
  | ({ readonly type: 'storage.nodes' } & Repeated) // → { actor, lines }: a line of JSON for each node, Pieces in UTF-8
  | ({ readonly type: 'storage.send'; readonly ops: readonly Op[] } & Repeated) // → { ops }
  | { readonly type: 'schema.attach'; readonly schema: Pick<RoomSchema, 'id' | 'body'> } // → AttachedAt
  | { readonly type: 'schema.detach'; readonly upTo: AttachedAt } // → null
  | ({ readonly type: 'history.keep' } & Repeated) // → { id }, once it is kept
  /** From the shell: how that went. */
  | { readonly type: 'history.settle'; readonly id: string; readonly outcome: 'kept' | 'found' | 'not kept' }
  | { readonly type: 'ydoc.read'; readonly guid: string } // → Uint8Array
  | {
      readonly type: 'ydoc.json';
      readonly key: string | null;
      readonly kind: YdocKind | null;
      readonly formatting: 'plain' | 'delta';
    } // → Json
  /** From the outbox, for those who may read threads of this visibility. */
  | { readonly type: 'comments.tell'; readonly visibility: Visibility; readonly message: CommentMessage } // → null
  /** From who changed feeds, for those who may read them. Of two changes of one thing the later has the higher number. */
  | { readonly type: 'feeds.tell'; readonly message: FeedNewsMessage; readonly about: string; readonly change: number } // → null
  | { readonly type: 'room.close'; readonly code: ErrorCode; readonly facts: JsonObject } // → null
  | { readonly type: 'room.touch' } // → null
  | { readonly type: 'clock.tick' };

export type YdocKind = 'ymap' | 'ytext' | 'yxmltext' | 'yxmlfragment' | 'yarray';

/** One row of GET …/active-users (contract, Active user). */
export interface ActiveUser {
  readonly type: 'user';
  readonly id: string | null;
  readonly connectionId: number;
  readonly info: JsonObject;
}

/** Some of those who are in a room, for operators. */
export interface SessionsPage {
  readonly version: number;
  readonly total: number;
  /** Where the next page begins; null when this is the last. */
  readonly nextAfter: number | null;
  readonly sessions: readonly {
    readonly connectionId: number;
    readonly kind: SessionKind;
    readonly userId: string | null;
    readonly info: JsonObject;
    readonly permissions: readonly string[];
    readonly presence: JsonObject | null;
  }[];
}

/** Who gets a message: named, not listed, so that a decision costs the same in a room of two and of a thousand. */
export type Audience =
  | { readonly only: SessionId }
  | { readonly allBut: SessionId | null }
  | { readonly mayRead: Resource }
  | { readonly storageBut: SessionId | null }
  | { readonly ydocBut: SessionId | null; readonly guid: string }
  | { readonly ydocHashedIn: YdocEncoding; readonly guid: string };

/**
 * `now` leaves at once; `durable` waits, in order, until every change decided so far is in the journal (design §4, the gate).
 */
export type When = 'now' | 'durable';

export type Effect =
  | {
      readonly type: 'send';
      readonly to: Audience;
      readonly message: ServerMessage;
      readonly when: When;
      /** The version that is to be durable, where that is not the one of the decision. */
      readonly upTo?: number;
    }
  | { readonly type: 'journal'; readonly record: JournalRecord }
  | {
      readonly type: 'close';
      readonly session: SessionId | 'everyone';
      readonly code: ErrorCode;
      readonly facts: JsonObject;
      readonly when: When;
    }
  /** A Yjs document could not be read. Whoever runs the server is to know; and who asked for it, unless nobody did. */
  | {
      readonly type: 'unreadable';
      readonly guid: string;
      readonly askedBy: SessionId | null;
      readonly error: unknown;
      readonly when: When;
    }
  | { readonly type: 'reply'; readonly value: unknown; readonly when: When }
  /** Keep this version of the history for good, when all that is in it is durable, and reply with its id. */
  | { readonly type: 'keep'; readonly version: TakenVersion }
  /** The room is not ours to speak for any more (deleted, renamed): forget it; whoever asks next finds what is there now. */
  | { readonly type: 'retire' };

/** Inputs of a decision that are not the room's. */
export interface DecideContext {
  readonly nowMs: number;
  /** For what ends after a time: the wall clock may be set meanwhile. */
  readonly monotonicMs: number;
  readonly limits: RoomLimits;
}

export interface Ending {
  /** The worker that had the room; null when nobody did. */
  readonly at: WorkerAddress | null;
  /** What those who are in the room are told. */
  readonly code: ErrorCode;
  readonly facts: JsonObject;
}

/** How features speak to a room, wherever it lives. */
export interface RoomDoor {
  /** Whether the room would refuse any change now, so that a large one need not be read. False of a room on another worker: it says so itself. */
  isFull(roomId: RoomId): boolean;
  /**
   * Hands `command` to the owner of the room and resolves with its reply once that may be told (durable where it must be).
   * @throws AppError ROOM_NOT_FOUND, the refusals of the command, or a retryable one (ROOM_MOVED, ROOM_OVERLOADED, DATABASE_UNAVAILABLE).
   * OUTCOME_UNKNOWN when it may have had its effect: sent again with the same `request` it has it once. NO_ANSWER to what has none.
   */
  ask(roomId: RoomId, command: Command): Promise<unknown>;
  /** The same, but null when the room sleeps: what is asked of those present is answered by an empty room without waking it. */
  askIfAwake(roomId: RoomId, command: Command): Promise<{ readonly reply: unknown } | null>;
  /**
   * The same without an answer, and only if the room is awake: a sleeping room has nobody to tell. Resolves when the room has heard it, or cannot be
   * reached; false when none has. Never rejects.
   */
  tellIfAwake(roomId: RoomId, command: Command): Promise<boolean>;
  /**
   * A change of the database took the room from its owner, which is `at` that worker: tells it to send everybody away and forget the room.
   * Resolves when nobody answers for the room as it was any more, which takes a lease at worst. Never rejects.
   */
  close(roomId: RoomId, ending: Ending): Promise<void>;
}
