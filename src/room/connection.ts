/**
 * One socket from admission to close: it waits at the door, joins its room, and from then on turns frames into commands.
 *
 * Frames that arrive before it has joined wait here in order: of a client that is refused, the room hears nothing.
 */
import { BoundedQueue, TokenBucket } from '../base/bounded.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { RoomId, SessionId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { Log } from '../base/observe.ts';
import { type OutFrame, SendBudget } from '../kernel/transport/send-budget.ts';
import type { Socket, SocketHandler } from '../kernel/transport/server.ts';
import { type ClientMessage, decodeSdkFrame } from '../protocol/client-messages.ts';
import type { Permissions } from '../protocol/permissions.ts';
import { decodeYjsFrame, type YjsClientFrame } from '../protocol/yjs-frames.ts';
import type { Command } from './shapes.ts';
import type { SocketTarget } from './socket-target.ts';

/** What a client may do here, and as whom; from its token or the public key. */
export interface Admission {
  readonly roomId: RoomId;
  readonly userId: string | null;
  readonly info: JsonObject | null;
  readonly permissions: Permissions;
  /** When its token expires, in ms since the epoch; Infinity for the public key. */
  readonly expiresAtMs: number;
}

/** What all connections of a worker share. */
export interface ConnectionDeps {
  readonly clock: Clock;
  readonly rooms: { ask(key: RoomId, command: Command): Promise<unknown>; tell(key: RoomId, command: Command): boolean };
  /** Checks credentials and access; creates the room when it is new and the client may. @throws AppError with the close code to use. */
  readonly admit: (target: SocketTarget) => Promise<Admission>;
  readonly limits: ConnectionLimits;
  readonly log: Log;
}

export interface ConnectionLimits {
  readonly messagesPerSecondMax: number;
  readonly messagesBurstMax: number;
  readonly sendBytesSoftMax: number;
  readonly sendBytesHardMax: number;
  /** A connection that sends nothing for so long is dead: SDK clients ping every 30 s, hidden tabs each minute (protocol 3.5). */
  readonly idleMs: number;
}

/** What is this one's own. */
interface OwnDeps extends ConnectionDeps {
  readonly id: SessionId;
  readonly socket: Socket;
  readonly onClosed: () => void;
}

type Phase =
  | { readonly name: 'waiting' }
  | { readonly name: 'joining' | 'entered'; readonly roomId: RoomId; readonly target: SocketTarget }
  | { readonly name: 'closed' };

/** What is kept of frames while credentials are checked, from anybody; a client has a handful to say before it hears from us. */
const EARLY_FRAMES_MAX = 100;
const EARLY_BYTES_MAX = 10 * 1024 * 1024;

const PONG: OutFrame = { data: 'pong', droppable: false };

export class Connection implements SocketHandler {
  readonly #deps: OwnDeps;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #socket: Socket;
  readonly #bucket: TokenBucket;
  readonly #budget: SendBudget;
  #phase: Phase = { name: 'waiting' };
  #kind: SocketTarget['kind'] = 'sdk';
  /** What came before it had joined. */
  readonly #early = new BoundedQueue<string | Uint8Array>({ itemsMax: EARLY_FRAMES_MAX, bytesMax: EARLY_BYTES_MAX });
  /** The room it asks for, before it is known whether it may. */
  #wanted: string | null = null;
  /** Its room's accesses changed while it was let in by them. */
  #isOutdated = false;
  /** Count of looks at changed accesses: only the last one counts. */
  #looks = 0;
  /** Monotonic time of the last frame from the client. */
  heardAtMs: number;
  expiresAtMs = Number.POSITIVE_INFINITY;

  constructor(deps: OwnDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#socket = deps.socket;
    this.heardAtMs = deps.clock.monotonicMs();
    const { limits } = deps;
    this.#bucket = new TokenBucket({
      perSecond: limits.messagesPerSecondMax,
      burst: limits.messagesBurstMax,
      nowMs: this.heardAtMs,
    });
    this.#budget = new SendBudget({
      socket: deps.socket,
      softBytesMax: limits.sendBytesSoftMax,
      hardBytesMax: limits.sendBytesHardMax,
    });
  }

  /** Admits the client and joins its room, or closes the socket with the code of the refusal. Never rejects. */
  async enter(target: SocketTarget): Promise<void> {
    this.#kind = target.kind;
    try {
      const admission = await this.#admitted(target);
      if (admission === null) return; // closed meanwhile
      const { roomId, expiresAtMs, ...who } = admission;
      this.expiresAtMs = expiresAtMs;
      this.#phase = { name: 'joining', roomId, target };
      await this.#deps.rooms.ask(roomId, { type: 'session.join', newcomer: { id: this.#deps.id, kind: target.kind, ...who } });
      if (this.#isClosed) return; // its leave followed the join
      this.#phase = { name: 'entered', roomId, target };
      for (let frame = this.#early.shift(); frame !== undefined; frame = this.#early.shift()) this.#take(frame);
    } catch (error) {
      this.refuse(this.#asRefusal(error));
    }
  }

  /** What it may do, by accesses that still held when it was told. Null when it was closed meanwhile. */
  async #admitted(target: SocketTarget): Promise<Admission | null> {
    this.#wanted = target.roomId;
    for (;;) {
      this.#isOutdated = false;
      const admission = await this.#deps.admit(target);
      if (this.#phase.name !== 'waiting') return null;
      if (!this.#isOutdated) return admission;
    }
  }

  /** The room it is in, or asks to be in. */
  get roomId(): string | null {
    return 'roomId' in this.#phase ? this.#phase.roomId : this.#wanted;
  }

  get #isClosed(): boolean {
    return this.#phase.name === 'closed';
  }

  /** Looks again at what the client may do, because the accesses of its room changed. Never rejects. */
  async reconsider(): Promise<void> {
    this.#isOutdated = true;
    const phase = this.#phase;
    if (!('roomId' in phase)) return;
    this.#looks += 1;
    const look = this.#looks;
    try {
      const { permissions } = await this.#deps.admit(phase.target);
      if (look === this.#looks)
        this.#deps.rooms.tell(phase.roomId, { type: 'session.permit', sessionId: this.#deps.id, permissions });
    } catch (error) {
      if (look === this.#looks) this.refuse(this.#asRefusal(error));
    }
  }

  /** Closes with the code and the sentence of the refusal; what was sent before still arrives. */
  refuse(refusal: AppError): void {
    this.#leave();
    this.#socket.close(closeCodeFor(this.#kind, refusal.close), refusal.message);
  }

  send(frames: readonly OutFrame[]): void {
    if (this.#phase.name === 'closed') return;
    const verdict = this.#budget.send(frames);
    if (verdict === 'exceeded') this.refuse(new AppError('SLOW_CONSUMER'));
  }

  message(data: string | Uint8Array): void {
    if (this.#isClosed) return;
    this.heardAtMs = this.#clock.monotonicMs();
    if (!this.#isWithinRate(1)) return;
    if (data === 'ping') this.send([PONG]);
    else if (this.#phase.name === 'entered') this.#take(data);
    else if (!this.#early.push(data, data.length)) {
      const reason = `more than ${EARLY_FRAMES_MAX} frames, or ${EARLY_BYTES_MAX} bytes, came before the room was entered`;
      this.refuse(new AppError('FRAME_INVALID', { reason }));
    }
  }

  #isWithinRate(messages: number): boolean {
    if (this.#bucket.take(this.heardAtMs, messages)) return true;
    this.refuse(new AppError('TOO_MANY_MESSAGES', { perSecondMax: this.#deps.limits.messagesPerSecondMax }));
    return false;
  }

  closed(): void {
    this.#leave();
  }

  drained(): void {
    this.#budget.drained();
  }

  #take(data: string | Uint8Array): void {
    if (this.#phase.name !== 'entered') return;
    const { roomId, target } = this.#phase;
    try {
      const commands = target.kind === 'sdk' ? sdkCommands(data, this.#deps.id) : yjsCommands(data, this.#deps.id);
      // The frame itself has been counted.
      if (commands.length > 1 && !this.#isWithinRate(commands.length - 1)) return;
      for (const command of commands) {
        if (this.#isClosed) return; // by the command before
        this.#deps.rooms.tell(roomId, command);
      }
    } catch (error) {
      this.refuse(this.#asRefusal(error));
    }
  }

  #leave(): void {
    const phase = this.#phase;
    if (phase.name === 'closed') return;
    this.#phase = { name: 'closed' };
    this.#deps.onClosed();
    if ('roomId' in phase) this.#deps.rooms.tell(phase.roomId, { type: 'session.leave', sessionId: this.#deps.id });
  }

  #asRefusal(error: unknown): AppError {
    if (error instanceof AppError) return error;
    this.#log.error({ err: error, sessionId: this.#deps.id }, 'connection failed');
    return new AppError('INTERNAL_SERVER_ERROR');
  }
}

/** Binary frames mean nothing to the SDK's protocol and are passed over. */
function sdkCommands(data: string | Uint8Array, from: SessionId): Command[] {
  return typeof data === 'string' ? decodeSdkFrame(data).map((message) => commandOf(message, from)) : [];
}

function commandOf(message: ClientMessage, from: SessionId): Command {
  switch (message.type) {
    case 'presence':
      return { type: 'presence.patch', from, data: message.data, targetActor: message.targetActor };
    case 'broadcast':
      return { type: 'event.broadcast', from, event: message.event };
    case 'storage.fetch':
      return { type: 'storage.fetch', from };
    case 'storage.change':
      return { type: 'storage.change', from, ops: message.ops };
    case 'ydoc.fetch':
      return { type: 'ydoc.fetch', from, guid: message.guid, vector: message.vector };
    case 'ydoc.change':
      return { type: 'ydoc.change', from, guid: message.guid, update: message.update };
    default:
      return message satisfies never;
  }
}

function yjsCommands(data: string | Uint8Array, from: SessionId): Command[] {
  if (typeof data === 'string') throw new AppError('FRAME_INVALID', { reason: 'a Yjs client speaks in binary frames' });
  return [yjsCommandOf(decodeYjsFrame(data), from)];
}

function yjsCommandOf(frame: YjsClientFrame, from: SessionId): Command {
  switch (frame.type) {
    case 'step1':
      return { type: 'ydoc.fetch', from, guid: '', vector: frame.vector };
    case 'update':
      return { type: 'ydoc.change', from, guid: '', update: frame.update };
    case 'awareness':
      return { type: 'awareness.change', from, update: frame.update };
    case 'query-awareness':
      return { type: 'awareness.fetch', from };
    default:
      return frame satisfies never;
  }
}

/**
 * What stops an SDK client for good is 4000–4099 (protocol 3.4); y-websocket stops at 4400–4499 and would knock for ever at any other.
 */
function closeCodeFor(kind: SocketTarget['kind'], code: number): number {
  return kind === 'yjs' && code >= 4000 && code < 4100 ? code + 400 : code;
}
