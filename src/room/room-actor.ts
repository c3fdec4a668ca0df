/**
 * One live room's shell: loads its state, lets `decide` speak, performs the effects. All of a room's I/O is here.
 *
 * The gate: what must be durable before it is told waits in order for the version it was decided at. One append is in flight at a
 * time; what gathers meanwhile is the next entry. A failed or fenced append drops the room: state that cannot be written down is not
 * state (design §4; invariants I1–I3 of reliability 2.0).
 */
import { concat } from '../base/binary.ts';
import type { Clock } from '../base/clock.ts';
import { AppError, type ErrorCode } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Actor } from '../kernel/actor/actor.ts';
import type { Ownership } from '../kernel/cluster/ownership.ts';
import type { Journal } from '../kernel/persistence/journal.ts';
import type { Snapshots } from '../kernel/persistence/snapshots.ts';
import type { ServerMessage } from '../protocol/server-messages.ts';
import { type Deliver, Fanout } from './fanout.ts';
import { Gate, type Gated } from './gate.ts';
import { encodeRecord } from './journal-record.ts';
import { decide } from './room.ts';
import type { Command, Effect, RoomLimits, RoomState, When } from './shapes.ts';
import { encodeSnapshot } from './snapshot.ts';

export interface RoomActorDeps {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly snapshots: Snapshots;
  readonly ownership: Ownership;
  readonly deliver: Deliver;
  /** Closes the sockets of sessions, after what was delivered to them before. */
  readonly closeSessions: (sessions: readonly SessionId[], refusal: AppError) => void;
  /** Whether this worker's lease holds at this very moment; after a freeze the timers that say so may come late (reliability 2.c, "Reads"). */
  readonly mayAnswer: () => boolean;
  readonly log: Log;
  readonly policy: RoomPolicy;
}

/** When a room writes, sleeps and refuses; from the settings. */
export interface RoomPolicy extends RoomLimits {
  /** Bytes that may wait for the journal before writes are refused. */
  readonly pendingBytesMax: number;
  readonly snapshotAfterChanges: number;
  readonly snapshotAfterBytes: number;
  readonly snapshotEveryMs: number;
  /** How long a room without sessions stays in memory. */
  readonly idleMs: number;
}

/** Where the room stands in the database. */
export interface RoomGround {
  readonly stream: number;
  readonly epoch: number;
  /** Version of the newest snapshot; 0 when there is none. */
  readonly snapshotVersion: number;
}

/** Hashes of Yjs documents are told this long after a change, so that a burst of typing costs one. */
const SETTLE_AFTER_MS = 100;

/** An answer can be as large as the room; past this, those that wait for the journal are enough. */
const GATED_BYTES_MAX = 64 * 1024 * 1024;

/** After a snapshot that failed, the next is not tried before; changes go on, covered by the journal. */
const SNAPSHOT_AGAIN_MS = 5_000;

/** Commands that may change what is journaled. The others go on while the journal is behind, and cannot leave it behind the room. */
const CHANGES: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'session.join',
  'presence.set',
  'storage.change',
  'storage.initialize',
  'storage.delete',
  'storage.patch',
  'storage.nodes',
  'storage.send',
  'ydoc.change',
]);

/** Commands whose answer may be as large as the room. */
const LARGE_ANSWERS: ReadonlySet<Command['type']> = new Set<Command['type']>([
  'storage.fetch',
  'storage.read',
  'storage.nodes',
  'ydoc.fetch',
  'ydoc.read',
  'ydoc.json',
]);

interface Answer {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: AppError) => void;
}

export class RoomActor implements Actor<Command> {
  readonly #deps: RoomActorDeps;
  readonly #room: RoomState;
  readonly #ground: RoomGround;
  readonly #fanout: Fanout;
  readonly #gate: Gate;
  readonly #onLost: () => void;
  /** Records decided but not yet handed to the journal. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #isAppending = false;
  #isLost = false;
  #lastBusyMs: number;
  #snapshot: { version: number; atMs: number; notBeforeMs: number; bytesSince: number; isSaving: boolean };
  #isSettling = false;

  constructor(deps: RoomActorDeps, { room, ground, onLost }: { room: RoomState; ground: RoomGround; onLost: () => void }) {
    this.#deps = deps;
    this.#room = room;
    this.#ground = ground;
    this.#onLost = onLost;
    this.#gate = new Gate(room.version);
    const soon = (task: () => void): void => deps.clock.soon(() => this.#guarded(task));
    this.#fanout = new Fanout({ room, deliver: deps.deliver, soon });
    this.#lastBusyMs = deps.clock.nowMs();
    this.#snapshot = { version: ground.snapshotVersion, atMs: this.#lastBusyMs, notBeforeMs: 0, bytesSince: 0, isSaving: false };
  }

  act(command: Command): Promise<unknown> {
    const effects = this.#decide(command);
    return new Promise((resolve, reject) => this.#perform(effects, { resolve, reject }));
  }

  /** A refused message costs the session that sent it its socket, and nobody else anything. */
  tell(command: Command): void {
    try {
      this.#perform(this.#decide(command), null);
    } catch (error) {
      if (!(error instanceof AppError))
        this.#deps.log.error({ err: error, roomId: this.#room.id, command: command.type }, 'decision failed');
      if ('from' in command && command.from !== null) this.#close([command.from], asRefusal(error));
    }
  }

  tick(nowMs: number): void {
    if (this.#isLost) return;
    this.tell({ type: 'clock.tick' });
    if (this.#room.version > this.#snapshot.version && nowMs - this.#snapshot.atMs >= this.#deps.policy.snapshotEveryMs)
      this.#takeSnapshot();
  }

  isIdle(nowMs: number): boolean {
    return this.#room.sessions.size === 0 && this.#gate.isEmpty && nowMs - this.#lastBusyMs >= this.#deps.policy.idleMs;
  }

  drop(): void {
    this.#lose('lease lapsed');
  }

  /** Everything is written down and told; the next owner finds a snapshot and no journal to replay. */
  async stop(): Promise<void> {
    if (this.#isLost) return;
    this.#close([...this.#room.sessions.keys()], new AppError('SERVER_STOPPING'));
    if (!(await this.#isDurable())) return;
    if (this.#room.version > this.#snapshot.version) await this.#saveLast();
    await this.#deps.ownership.release(this.#ground.stream, { epoch: this.#ground.epoch, numbersNext: this.#room.numbers.next });
    this.#isLost = true;
  }

  /** @throws AppError the refusal. After anything else that a change throws, memory and journal may differ: then memory goes. */
  #decide(command: Command): Effect[] {
    if (!this.#isLost && !this.#deps.mayAnswer()) this.#lose('lease lapsed');
    if (this.#isLost) throw new AppError('ROOM_MOVED');
    const { policy, clock } = this.#deps;
    const isChange = CHANGES.has(command.type);
    const isTooMuch = isChange && this.#pendingBytes > policy.pendingBytesMax;
    if (isTooMuch || (LARGE_ANSWERS.has(command.type) && this.#gate.bytes > GATED_BYTES_MAX))
      throw new AppError('ROOM_OVERLOADED');
    if (command.type !== 'clock.tick') this.#lastBusyMs = clock.nowMs();
    const { version } = this.#room;
    try {
      return decide(this.#room, command, { nowMs: clock.nowMs(), limits: policy });
    } catch (error) {
      if (isChange && (!(error instanceof AppError) || this.#room.version !== version)) this.#lose('decision broke off');
      throw error;
    }
  }

  /** The journal comes first: what is done next may bring in another command, and that must find it whole. */
  #perform(effects: readonly Effect[], answer: Answer | null): void {
    for (const effect of effects) {
      if (effect.type !== 'journal') continue;
      const bytes = encodeRecord(effect.record);
      this.#pending.push(bytes);
      this.#pendingBytes += bytes.length;
    }
    this.#append();
    this.#guarded(() => this.#tell(effects, answer));
    if (this.#isLost) answer?.reject(new AppError('ROOM_MOVED')); // unless it has been answered
    if (this.#room.unsettled.size > 0) this.#settleLater();
  }

  #tell(effects: readonly Effect[], answer: Answer | null): void {
    const { decision, version } = this.#room;
    let hasReply = false;
    for (const effect of effects) {
      switch (effect.type) {
        case 'journal':
          break;
        case 'send': {
          const { to, message } = effect;
          const bytes = weightOf(message);
          this.#when(effect.when, version, { bytes, release: () => this.#fanout.send(to, message, decision, bytes) });
          break;
        }
        case 'close':
          this.#when(effect.when, version, { release: () => this.#closeFor(effect.session, effect.code, effect.facts) });
          break;
        case 'reply': {
          if (answer === null) break;
          hasReply = true;
          const { value } = effect;
          const bytes = typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
          this.#when(effect.when, version, { bytes, release: () => answer.resolve(value), refuse: answer.reject });
          break;
        }
        case 'retire':
          this.#lose('retired');
          break;
        default:
          effect satisfies never;
      }
    }
    if (!hasReply) answer?.resolve(null);
  }

  #when(when: When, version: number, gated: Gated): void {
    if (when === 'now') gated.release();
    else if (this.#isLost) gated.refuse?.(new AppError('ROOM_MOVED'));
    else this.#gate.pass(version, gated);
  }

  /** Hands what is pending to the journal as one entry, unless one is under way: then its end calls this again. */
  #append(): void {
    if (this.#isAppending || this.#pending.length === 0 || this.#isLost) return;
    const payload = concat(this.#pending);
    const entry = {
      stream: this.#ground.stream,
      epoch: this.#ground.epoch,
      version: this.#room.version,
      count: this.#pending.length,
      payload,
    };
    this.#pending = [];
    this.#isAppending = true;
    this.#deps.journal.append(entry).then(
      (outcome) => {
        this.#isAppending = false;
        if (outcome === 'fenced') this.#lose('fenced');
        else if (!this.#deps.mayAnswer()) this.#lose('lease lapsed');
        else this.#guarded(() => this.#appended(entry.version, payload.length));
      },
      (error: unknown) => {
        this.#isAppending = false;
        this.#deps.log.error({ err: error, roomId: this.#room.id }, 'append failed');
        this.#lose('append failed');
      },
    );
  }

  #appended(version: number, bytes: number): void {
    this.#pendingBytes -= bytes;
    this.#snapshot.bytesSince += bytes;
    this.#gate.open(version);
    this.#append();
    const { policy } = this.#deps;
    const changes = this.#room.version - this.#snapshot.version;
    if (changes >= policy.snapshotAfterChanges || this.#snapshot.bytesSince >= policy.snapshotAfterBytes) this.#takeSnapshot();
  }

  /** The state of this moment, saved once it is durable; a room has one snapshot under way at most. */
  #takeSnapshot(): void {
    if (this.#snapshot.isSaving || this.#isLost || this.#deps.clock.nowMs() < this.#snapshot.notBeforeMs) return;
    const bytes = this.#encoded();
    if (bytes === null) return;
    const { version } = this.#room;
    this.#snapshot.isSaving = true;
    const done = (): void => {
      this.#snapshot.isSaving = false;
    };
    const save = (): void => {
      this.#saveSnapshot(bytes, version)
        .catch((error: unknown) => this.#snapshotFailed(error))
        .finally(done);
    };
    this.#when('durable', version, { release: save, refuse: done, bytes: bytes.length });
  }

  /** The one at the end; without it the next owner replays the journal. */
  async #saveLast(): Promise<void> {
    const bytes = this.#encoded();
    if (bytes !== null)
      await this.#saveSnapshot(bytes, this.#room.version).catch((error: unknown) => this.#snapshotFailed(error));
  }

  #encoded(): Uint8Array | null {
    try {
      return encodeSnapshot(this.#room);
    } catch (error) {
      this.#snapshotFailed(error);
      return null;
    }
  }

  #snapshotFailed(error: unknown): void {
    this.#snapshot.notBeforeMs = this.#deps.clock.nowMs() + SNAPSHOT_AGAIN_MS;
    this.#deps.log.error({ err: error, roomId: this.#room.id }, 'snapshot failed');
  }

  async #saveSnapshot(bytes: Uint8Array, version: number): Promise<void> {
    const { stream, epoch } = this.#ground;
    this.#snapshot.atMs = this.#deps.clock.nowMs();
    this.#snapshot.bytesSince = 0;
    const outcome = await this.#deps.snapshots.save({ stream, epoch, version, bytes });
    if (outcome === 'stale') return;
    const previous = this.#snapshot.version;
    this.#snapshot.version = version;
    // One older snapshot stays, with the journal that leads on from it: one unreadable blob loses nothing.
    if (previous > 0) await this.#deps.journal.trim(stream, previous);
  }

  /** Ownership or journal is gone: what was not told is forgotten, clients come back and bring what they still hold. */
  #lose(why: 'fenced' | 'append failed' | 'lease lapsed' | 'decision broke off' | 'broken' | 'retired'): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const level = why === 'retired' ? 'debug' : 'warn';
    this.#deps.log[level](
      { roomId: this.#room.id, epoch: this.#ground.epoch, durable: this.#gate.durable, decided: this.#room.version, why },
      'room lost',
    );
    const moved = new AppError('ROOM_MOVED');
    this.#gate.refuseAll(moved);
    this.#close([...this.#room.sessions.keys()], moved);
    this.#onLost();
  }

  /** Runs what has nobody to throw at. An error in it is a bug of ours: it costs this room its memory, not the worker its life. */
  #guarded(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#deps.log.error({ err: error, roomId: this.#room.id }, 'room broken');
      this.#lose('broken');
    }
  }

  #settleLater(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    this.#deps.clock.after(SETTLE_AFTER_MS, () => {
      this.#isSettling = false;
      if (!this.#isLost) this.tell({ type: 'ydoc.settle' });
    });
  }

  #closeFor(session: SessionId | 'everyone', code: ErrorCode, facts: Record<string, unknown>): void {
    this.#close(session === 'everyone' ? [...this.#room.sessions.keys()] : [session], new AppError(code, facts));
  }

  #close(sessions: readonly SessionId[], refusal: AppError): void {
    this.#guarded(() => this.#fanout.flush());
    this.#deps.closeSessions(sessions, refusal);
  }

  /** Resolves when all that is decided is in the journal, or with false when the room was lost before. */
  #isDurable(): Promise<boolean> {
    return new Promise((resolve) =>
      this.#when('durable', this.#room.version, { release: () => resolve(true), refuse: () => resolve(false) }),
    );
  }
}

/** About how many bytes a message takes, where it may be many. */
function weightOf(message: ServerMessage): number {
  if (message.type === 'storage.state') return message.nodes.length * NODE_BYTES;
  return message.type === 'ydoc.state' ? message.update.length : 0;
}

/** A node of Storage on the wire, roughly. */
const NODE_BYTES = 100;

function asRefusal(error: unknown): AppError {
  return error instanceof AppError ? error : new AppError('INTERNAL_SERVER_ERROR');
}
