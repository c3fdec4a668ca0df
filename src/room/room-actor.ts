/**
 * One live room's shell: lets `decide` speak and performs the effects. A room's I/O is here and in what it owns: `pending.ts` (journal),
 * `snapshot-keeper.ts`, `history-keeper.ts`. Its state is read before, by `load-room.ts`.
 *
 * The gate: what must be durable before it is told waits in order for the version it was decided at. One append is in flight at a time; what gathers meanwhile is
 * the next entry. A failed or fenced append drops the room: state that cannot be written down is not state (design §4; invariants I1–I3 of reliability 2.0).
 */
import { AppError } from '../base/errors.ts';
import type { Actor } from '../kernel/actor/actor.ts';
import type { Recall } from '../kernel/cluster/ownership.ts';
import type { AppendOutcome, JournalEntry } from '../kernel/persistence/journal.ts';
import { hasLargeAnswer, isChange, isEphemeral, isParting, keepsAwake, unheard } from './command-kinds.ts';
import { DocumentLine, mayHaveWaited } from './document-line.ts';
import { Fanout, type Sending, weightOf } from './fanout.ts';
import { type Answer, Gate, type Gated, heldBy } from './gate.ts';
import { HistoryKeeper } from './history-keeper.ts';
import { encodeRecord, type JournalRecord } from './journal-record.ts';
import { LOSSES, type RoomLoss } from './loss.ts';
import { Partings } from './partings.ts';
import { Pending } from './pending.ts';
import { GATED_BYTES_MAX, type RoomGround } from './policy.ts';
import { heedsTime } from './presence.ts';
import { decide } from './room.ts';
import type { LoadedRoom, RoomActorDeps } from './room-actor-deps.ts';
import type { RoomShell } from './room-shell.ts';
import { RoomWatch } from './room-watch.ts';
import { asItLeaves } from './sessions.ts';
import type { Command, Effect, RoomState, When } from './shapes.ts';
import { SnapshotKeeper } from './snapshot-keeper.ts';
import { letTextsGo } from './storage/texts.ts';
import { Upkeep } from './upkeep.ts';

/**
 * `suspended`: without a lease, though nobody is known to have claimed the room: people see each other, documents stand still. `claiming`: still so, and it is
 * being claimed again. `stopping` and `lost` end it.
 */
type Phase = 'serving' | 'suspended' | 'claiming' | 'stopping' | 'lost';

export class RoomActor implements Actor<Command>, RoomShell {
  readonly #deps: RoomActorDeps;
  readonly room: RoomState;
  #ground: RoomGround;
  readonly #fanout: Fanout;
  readonly #partings: Partings;
  readonly #gate: Gate;
  readonly #onLost: LoadedRoom['onLost'];
  readonly #pending: Pending;
  #phase: Phase = 'serving';
  /** Version that is in the journal; what waits for it may be held back longer than that. */
  #durable: number;
  #lastBusyMs: number; // monotonic
  readonly #keeper: SnapshotKeeper;
  readonly #history: HistoryKeeper;
  readonly #upkeep: Upkeep;
  readonly #watch: RoomWatch;
  readonly #line: DocumentLine;

  constructor(deps: RoomActorDeps, { room, ground, onLost }: LoadedRoom) {
    this.#deps = deps;
    this.room = room;
    this.#ground = ground;
    this.#onLost = onLost;
    this.#durable = room.version;
    this.#gate = new Gate(room.version);
    this.#watch = new RoomWatch(deps.watcher, room);
    this.#lastBusyMs = deps.clock.monotonicMs();
    this.#pending = new Pending(deps, this);
    this.#fanout = new Fanout(deps, this);
    this.#partings = new Partings(deps, { shell: this, fanout: this.#fanout });
    this.#keeper = new SnapshotKeeper(deps, this);
    this.#history = new HistoryKeeper(deps, this);
    this.#line = new DocumentLine(deps, this);
    this.#upkeep = new Upkeep(deps, this, [this.#keeper, this.#history]);
  }

  get ground(): RoomGround {
    return this.#ground;
  }

  get isAwaited(): boolean {
    return !this.#gate.isEmpty;
  }

  get place(): { stream: number; epoch: number; version: number } | null {
    if (this.#isLost || this.#phase === 'claiming') return null;
    return { stream: this.#ground.stream, epoch: this.#ground.epoch, version: this.room.version };
  }

  act(command: Command): Promise<unknown> {
    return this.#line.act(command) ?? this.answer(command);
  }

  answer(command: Command): Promise<unknown> {
    const effects = this.#decide(command);
    return new Promise((resolve, reject) => {
      this.#perform(effects, { resolve, reject: (error) => reject(unheard(command, error)) });
      if (command.type === 'session.join') this.guarded(() => this.#fanout.greet(command.newcomer.id));
    });
  }

  /** A refused message costs the session that sent it something (`partings.ts`), and nobody else anything. */
  tell(command: Command): void {
    try {
      if (!this.#line.takes(command)) this.take(command);
    } catch (error) {
      this.#partings.refuse(command, error);
    }
  }

  take(command: Command): void {
    const effects = this.#decide(command);
    this.#perform(effects, null);
    if (isParting(command) && effects.length > 0) this.#pending.append(); // who leaves takes along the copy that could bring it back
  }

  refuse(command: Command, error: unknown): boolean {
    return this.#partings.refuse(command, error);
  }

  tick(monotonicMs: number): void {
    if (this.#isLost) return;
    letTextsGo(this.room.storage);
    if (heedsTime(this.room)) this.tell({ type: 'clock.tick' });
    if (this.#mayWork) this.#upkeep.tick(monotonicMs);
  }

  /** Right after the load: what was in the journal alone may have been told to nobody; what is in no version is to be in one before it changes. */
  woke({ replayed }: { replayed: ReadonlySet<JournalRecord['kind']> }): void {
    this.#watch.replayed(replayed);
    this.#upkeep.now();
  }

  ifAble(task: () => void): void {
    if (this.#mayWork) this.guarded(task);
  }

  get #mayWork(): boolean {
    return this.#phase === 'serving';
  }

  get #isLost(): boolean {
    return this.#phase === 'lost';
  }

  get #isSuspended(): boolean {
    return this.#phase === 'suspended' || this.#phase === 'claiming';
  }

  saveAnew(): void {
    this.#keeper.doubt();
  }

  isIdle(monotonicMs: number): boolean {
    return (
      !this.#isSuspended &&
      this.room.sessions.size === 0 &&
      this.#gate.isEmpty &&
      !this.#history.isBusy &&
      monotonicMs - this.#lastBusyMs >= this.#deps.policy.idleMs
    );
  }

  get followers(): number {
    return this.room.sessions.size;
  }

  get isFull(): boolean {
    return !this.#isSuspended && (this.#pending.bytes > this.#deps.policy.pendingBytesMax || this.#deps.waiting.isFull);
  }

  drop(): void {
    this.#lose('lease lapsed');
  }

  recall({ stream, epoch }: Recall): void {
    if (stream === this.#ground.stream && epoch > this.#ground.epoch) this.#lose('recalled');
  }

  /** Whoever waits for an answer hears that it is not known; what sessions are to be told waits on. One that stops is over: what was acknowledged is in the journal. */
  suspend(): void {
    if (this.#isSuspended || this.#isLost) return;
    if (this.#phase === 'stopping') {
      this.#lose('lease lapsed');
      return;
    }
    this.#phase = 'suspended';
    this.#gate.refuseAnswers(new AppError('OUTCOME_UNKNOWN'));
  }

  /** Nobody else claimed it meanwhile when its epoch has risen by this claim alone: then its memory is still what the journal tells. */
  async resume(): Promise<'resumed' | 'not yet'> {
    if (!this.#isSuspended || this.#isLost) return 'resumed';
    if (this.#pending.isAppending || this.#phase === 'claiming' || !this.#deps.mayAnswer()) return 'not yet';
    const { stream, epoch } = this.#ground;
    this.#phase = 'claiming';
    const claim = await this.#deps.ownership.claim(stream).finally(() => {
      if (this.#phase === 'claiming') this.#phase = 'suspended'; // it may have been lost meanwhile
    });
    if (this.#isLost) return 'resumed';
    if ('refused' in claim || claim.epoch !== epoch + 1) this.#lose('claimed by another');
    else this.#resumed(claim.epoch);
    return 'resumed';
  }

  #resumed(epoch: number): void {
    this.#ground = { ...this.#ground, epoch };
    this.room.claim = { stream: this.#ground.stream, epoch };
    this.#phase = 'serving';
    this.guarded(() => this.#gate.open(this.#durable));
    this.#pending.append();
    this.#line.settleLater(); // without a lease it was refused
  }

  /** Everything is written down and told; the next owner finds a snapshot and no journal to replay, and the sessions join it. */
  async stop(): Promise<void> {
    if (this.#isSuspended) this.#lose('lease lapsed');
    if (!this.#isLost) this.#phase = 'stopping';
    await this.#history.rest();
    if (this.#isLost || !(await this.#isDurable())) return;
    try {
      const mayWait = this.room.sessions.size === 0; // else people wait for the next owner
      await this.#keeper.saveLast({ mayWait });
      if (this.#isLost) return;
      const { stream, epoch } = this.#ground;
      await this.#deps.ownership.release({ stream, epoch, numbersNext: this.room.numbers.next, mayWait });
    } finally {
      if (!this.#isLost) {
        this.#phase = 'lost';
        this.#pending.drop();
        this.guarded(() => this.#watch.close());
        this.#partings.loseEveryone();
      }
    }
  }

  /** @throws AppError when the room cannot take it at the moment, whatever it says */
  mustTake(command: Command): void {
    if (!this.#deps.mayAnswer()) this.suspend(); // after a freeze, the timer that says so may come late
    const isTooLate = this.#phase === 'stopping' && mayHaveWaited(command); // nothing else comes to a room that stops
    if (this.#isLost || isTooLate) throw new AppError('ROOM_MOVED');
    if (this.#isSuspended && !isEphemeral(command)) throw new AppError('DATABASE_UNAVAILABLE');
    if ((isChange(command) && this.isFull) || (hasLargeAnswer(command) && this.#gate.bytes > GATED_BYTES_MAX))
      throw new AppError('ROOM_OVERLOADED');
  }

  /** @throws AppError the refusal. After anything else that a change throws, memory and journal may differ: then memory goes. */
  #decide(command: Command): Effect[] {
    this.mustTake(command);
    const { clock, policy } = this.#deps;
    const { version } = this.room;
    if (keepsAwake(command)) this.#lastBusyMs = clock.monotonicMs();
    try {
      const effects = decide(this.room, command, { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), limits: policy });
      if (isParting(command) && effects.length > 0) this.#lastBusyMs = clock.monotonicMs();
      return effects;
    } catch (error) {
      if (isChange(command) && (!(error instanceof AppError) || this.room.version !== version)) this.#lose('decision broke off');
      throw error;
    }
  }

  /** Records come first: what is done next may bring in another command, and that must find them whole. */
  #perform(effects: readonly Effect[], answer: Answer | null): void {
    try {
      for (const effect of effects) if (effect.type === 'journal') this.#pending.add(encodeRecord(effect.record));
      this.#watch.decided(effects);
      this.#tell(effects, answer);
    } catch (error) {
      this.#break(error);
    }
    this.#pending.appendInTime();
    if (this.#isLost) answer?.reject(new AppError('ROOM_MOVED')); // unless it has been answered
    this.#line.settleLater();
  }

  #tell(effects: readonly Effect[], answer: Answer | null): void {
    const { decision, version } = this.room; // of now: what is done may bring in another command
    let hasReply = false;
    for (const effect of effects) {
      switch (effect.type) {
        case 'journal':
          break;
        case 'send':
          this.#send(effect, decision, effect.upTo ?? version);
          break;
        case 'close':
        case 'unreadable':
          this.#when(effect.when, version, { release: () => this.#partings.perform(effect) });
          break;
        case 'reply': {
          if (answer === null) break;
          hasReply = true;
          const { value } = effect;
          const { bytes, shared } = heldBy(value);
          this.#when(effect.when, version, { bytes, shared, release: () => answer.resolve(value), refuse: answer.reject });
          break;
        }
        case 'keep':
          hasReply = true;
          this.#history.keep(effect.version, answer);
          break;
        case 'retire':
          this.#lose('retired');
          break;
        default:
          effect satisfies never;
      }
    }
    if (!hasReply) answer?.resolve(null);
  }

  #send({ to, message, when }: Extract<Effect, { type: 'send' }>, decision: number, version: number): void {
    const bytes = weightOf(message);
    if (when === 'now') this.#fanout.send(to, message, decision, bytes);
    else this.#sendDurable(version, { to, message, decision, bytes });
  }

  /** Apart: what its closure keeps would be made for each message. */
  #sendDurable(version: number, { to, message, decision, bytes }: Sending): void {
    const shared = message.type === 'storage.state' ? message.frame : null;
    const release = (): void => this.#fanout.send(to, asItLeaves(this.room, to, message), decision, bytes);
    this.#when('durable', version, { bytes, shared, release });
  }

  #when(when: When, version: number, gated: Gated): void {
    if (when === 'now') gated.release();
    else if (this.#isLost) gated.refuse?.(new AppError('ROOM_MOVED'));
    else {
      this.#gate.pass(version, gated);
      this.#pending.appendInTime();
    }
  }

  whenDurable(gated: Gated): void {
    this.#when('durable', this.room.version, gated);
  }

  onAppended({ version, payload }: JournalEntry, outcome: AppendOutcome): void {
    if (outcome === 'fenced') this.#lose('fenced');
    else this.guarded(() => this.#appended(version, payload.length));
  }

  onNotAppended(error: unknown): void {
    this.#deps.log.error({ err: error, roomId: this.room.id }, 'append failed');
    this.#lose('append failed');
  }

  onFenced(): void {
    this.#lose('fenced');
  }

  /** A commit under this epoch proves that nobody had claimed the room by then; still nobody is told without a lease, reads least of all. */
  #appended(version: number, bytes: number): void {
    this.#durable = version;
    this.#watch.durable(version);
    if (!this.#deps.mayAnswer()) this.suspend();
    if (this.#isLost) return;
    if (!this.#isSuspended) this.#gate.open(version);
    this.#pending.appendInTime();
    this.#keeper.appended(bytes);
    if (this.#isSuspended) this.resume().catch((error: unknown) => this.#deps.log.debug({ err: error }, 'not resumed yet'));
  }

  /** Ownership or journal is gone: what was not told is forgotten, sessions join anew and their clients bring what they still hold, whatever breaks meanwhile. */
  #lose(why: RoomLoss): void {
    if (this.#isLost) return;
    this.#phase = 'lost';
    this.#pending.drop();
    this.guarded(() => this.#onLost(LOSSES[why])); // first: the next who asks finds another actor
    this.guarded(() => this.#watch.close());
    this.#deps.metrics?.count('atrium_rooms_lost_total', why);
    this.#deps.log[why === 'retired' ? 'debug' : 'warn'](
      { roomId: this.room.id, epoch: this.#ground.epoch, durable: this.#gate.durable, decided: this.room.version, why },
      'room lost',
    );
    // Fenced entries were not written, so nothing that waited had its effect; of the others it is not known.
    this.guarded(() => this.#gate.refuseAll(new AppError(why === 'fenced' ? 'ROOM_MOVED' : 'OUTCOME_UNKNOWN')));
    this.guarded(() => this.#partings.loseEveryone());
  }

  guarded(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#break(error);
    }
  }

  /** The error is a bug of ours: it costs this room its memory, not the worker its life. */
  #break(error: unknown): void {
    this.#deps.log.error({ err: error, roomId: this.room.id }, 'room broken');
    this.#lose('broken');
  }

  /** Resolves when all that is decided is in the journal, or with false when the room was lost before. */
  #isDurable(): Promise<boolean> {
    return new Promise((resolve) => this.whenDurable({ release: () => resolve(true), refuse: () => resolve(false) }));
  }
}
