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
import { type Deliver, Fanout } from './fanout.ts';
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

interface Gated {
  readonly version: number;
  readonly release: () => void;
  readonly refuse: (error: AppError) => void;
}

export class RoomActor implements Actor<Command> {
  readonly #deps: RoomActorDeps;
  readonly #room: RoomState;
  readonly #ground: RoomGround;
  readonly #fanout: Fanout;
  readonly #onLost: () => void;
  /** Records decided but not yet handed to the journal. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #isAppending = false;
  #durable: number;
  #gate: Gated[] = [];
  #isLost = false;
  #lastBusyMs: number;
  #snapshot: { version: number; atMs: number; bytesSince: number; isSaving: boolean };
  #isSettling = false;

  constructor(deps: RoomActorDeps, { room, ground, onLost }: { room: RoomState; ground: RoomGround; onLost: () => void }) {
    this.#deps = deps;
    this.#room = room;
    this.#ground = ground;
    this.#onLost = onLost;
    this.#durable = room.version;
    this.#fanout = new Fanout({ room, deliver: deps.deliver, soon: (task) => deps.clock.soon(task) });
    this.#lastBusyMs = deps.clock.nowMs();
    this.#snapshot = { version: ground.snapshotVersion, atMs: this.#lastBusyMs, bytesSince: 0, isSaving: false };
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
    return this.#room.sessions.size === 0 && this.#gate.length === 0 && nowMs - this.#lastBusyMs >= this.#deps.policy.idleMs;
  }

  drop(): void {
    this.#lose('lease lapsed');
  }

  /** Everything is written down and told; the next owner finds a snapshot and no journal to replay. */
  async stop(): Promise<void> {
    if (this.#isLost) return;
    this.#fanout.flush();
    this.#close([...this.#room.sessions.keys()], new AppError('SERVER_STOPPING'));
    await this.#whenDurable();
    if (this.#room.version > this.#snapshot.version) await this.#saveSnapshot(encodeSnapshot(this.#room), this.#room.version);
    await this.#deps.ownership.release(this.#ground.stream, { epoch: this.#ground.epoch, numbersNext: this.#room.numbers.next });
    this.#isLost = true;
  }

  #decide(command: Command): Effect[] {
    if (this.#isLost) throw new AppError('ROOM_MOVED');
    const { policy, clock } = this.#deps;
    if (this.#pendingBytes > policy.pendingBytesMax && command.type !== 'session.leave') throw new AppError('ROOM_OVERLOADED');
    if (command.type !== 'clock.tick') this.#lastBusyMs = clock.nowMs();
    return decide(this.#room, command, { nowMs: clock.nowMs(), limits: policy });
  }

  #perform(
    effects: readonly Effect[],
    answer: { resolve: (value: unknown) => void; reject: (error: AppError) => void } | null,
  ): void {
    const { decision, version } = this.#room;
    let hasReply = false;
    let isRetired = false;
    for (const effect of effects) {
      switch (effect.type) {
        case 'journal': {
          const bytes = encodeRecord(effect.record);
          this.#pending.push(bytes);
          this.#pendingBytes += bytes.length;
          break;
        }
        case 'send':
          this.#when(effect.when, version, () => this.#fanout.send(effect.to, effect.message, decision));
          break;
        case 'close':
          this.#when(effect.when, version, () => this.#closeFor(effect.session, effect.code, effect.facts));
          break;
        case 'reply':
          if (answer === null) break;
          hasReply = true;
          this.#when(effect.when, version, () => answer.resolve(effect.value), answer.reject);
          break;
        case 'retire':
          isRetired = true;
          break;
        default:
          effect satisfies never;
      }
    }
    if (isRetired) this.#lose('retired');
    if (answer !== null && !hasReply) answer.resolve(null);
    this.#append();
    if (this.#room.unsettled.size > 0) this.#settleLater();
  }

  #when(when: When, version: number, release: () => void, refuse: (error: AppError) => void = () => undefined): void {
    if (when === 'now' || this.#durable >= version) release();
    else this.#gate.push({ version, release, refuse });
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
        else this.#appended(entry.version, payload.length);
      },
      (error: unknown) => {
        this.#isAppending = false;
        this.#deps.log.error({ err: error, roomId: this.#room.id }, 'append failed');
        this.#lose('append failed');
      },
    );
  }

  #appended(version: number, bytes: number): void {
    this.#durable = version;
    this.#pendingBytes -= bytes;
    this.#snapshot.bytesSince += bytes;
    let released = 0;
    while (released < this.#gate.length && this.#gate[released]!.version <= version) this.#gate[released++]!.release();
    this.#gate.splice(0, released);
    this.#append();
    const { policy } = this.#deps;
    const changes = this.#room.version - this.#snapshot.version;
    if (changes >= policy.snapshotAfterChanges || this.#snapshot.bytesSince >= policy.snapshotAfterBytes) this.#takeSnapshot();
  }

  /** The state of this moment, saved once it is durable; a room has one snapshot under way at most. */
  #takeSnapshot(): void {
    if (this.#snapshot.isSaving || this.#isLost) return;
    this.#snapshot.isSaving = true;
    const { version } = this.#room;
    const bytes = encodeSnapshot(this.#room);
    const done = (): void => {
      this.#snapshot.isSaving = false;
    };
    const save = (): void => {
      this.#saveSnapshot(bytes, version)
        .catch((error: unknown) => this.#deps.log.warn({ err: error, roomId: this.#room.id }, 'snapshot failed'))
        .finally(done);
    };
    this.#when('durable', version, save, done);
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
  #lose(why: 'fenced' | 'append failed' | 'lease lapsed' | 'retired'): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const level = why === 'retired' ? 'debug' : 'warn';
    this.#deps.log[level](
      { roomId: this.#room.id, epoch: this.#ground.epoch, durable: this.#durable, decided: this.#room.version, why },
      'room lost',
    );
    const moved = new AppError('ROOM_MOVED');
    for (const { refuse } of this.#gate.splice(0)) refuse(moved);
    this.#close([...this.#room.sessions.keys()], moved);
    this.#onLost();
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
    this.#fanout.flush();
    this.#deps.closeSessions(sessions, refusal);
  }

  #whenDurable(): Promise<void> {
    return new Promise((resolve, reject) => this.#when('durable', this.#room.version, resolve, reject));
  }
}

function asRefusal(error: unknown): AppError {
  return error instanceof AppError ? error : new AppError('INTERNAL_SERVER_ERROR');
}
