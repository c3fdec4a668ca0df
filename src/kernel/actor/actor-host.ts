/**
 * The actors alive on this worker.
 *
 * Commands wait only while their actor loads or stops, or is held because they take long (`held-slots.ts`); else each is decided the moment it arrives. The wait
 * is bounded, because a queue without a limit turns one slow load into a dead worker. One load per actor, however many callers; but what it found is no answer to
 * who came after it had begun to look.
 */
import { Background, type BackgroundTurn } from '../../base/background.ts';
import { type Clock, pause } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { Rounds } from '../../base/rounds.ts';
import { Turns } from '../../base/turns.ts';
import type { Recall } from '../cluster/ownership.ts';
import type { Actor, Loss } from './actor.ts';
import { HeldSlots } from './held-slots.ts';
import { Relapses } from './relapses.ts';
import { type Line, Slot } from './slot.ts';

export interface ActorHostDeps<Command> {
  readonly clock: Clock;
  /**
   * Brings an actor to life. `onLost` is how it says, later, that it lost its ownership or its journal: it is dropped unread,
   * and the next command loads it anew, after a rest where it failed again and again (`relapses.ts`).
   */
  readonly load: (key: string, onLost: (loss: Loss) => void) => Promise<Actor<Command>>;
  /** Whether a sleeping actor may be woken now; yes when absent. */
  readonly mayWake?: () => boolean;
  /** Most commands that wait for one load. */
  readonly waitingMax: number;
  readonly onError: (error: unknown, key: string) => void;
  /** A command that was told while its actor loaded or stopped found no actor in the end: nobody has heard it. */
  readonly onUntold?: (key: string, command: Command) => void;
  /** The actor has written down its state and given up its ownership, or could not: it is not here any more. */
  readonly onStopped?: (key: string) => void;
  /** Whether a command takes back what another one asked for: it is told behind that one, also where that waits for an actor that stops. */
  readonly undoes?: (command: Command) => boolean;
  /** About how much memory a command holds, in bytes; asked only of those that wait for a held actor. Nothing when absent. */
  readonly weightOf?: (command: Command) => number;
  /** An actor's commands took so long that further ones have their turns (`held`), or one found no room among those that wait (`refused`). */
  readonly onHeld?: (key: string, outcome: 'held' | 'refused') => void;
}

const TICK_EVERY_MS = 1_000;
/** Actors that are stopped side by side in `close`: each flushes and saves, and what they share is a few connections to the database. */
const STOPS_MAX = 50;
/** The same for claims after a lapsed lease. */
const RESUMES_MAX = 50;
const IDLE_STOPS_EVERY_MS = 10;
/** Of up to so many idle actors one stops at a time, of twice as many two, and so on: they are gone in the end, however many come. */
const IDLE_STOPS_FOR_EACH = 2_500;
/** So many commands more than for a load may wait for a held actor: whoever tells it sends 2,000 at once, without an answer. */
const HELD_BESIDE = 2_500;
/** They hold so much, and one command more. */
const HELD_BYTES_MAX = 16 * 1024 * 1024;
const HELD_BYTES_OF_ALL_MAX = 64 * 1024 * 1024;
/** So much finds room for every actor, however much waits for the others. */
const HELD_BYTES_SURE = 64 * 1024;
/**
 * An actor that moved is not woken here for so long: whoever remembers where it was would bring it back before anybody has asked the worker that it was to
 * go to. Those who ask meanwhile search again (`Router`); if that worker has ended, they find it here in the end.
 */
const MOVED_MS = 2_000;
/** Loads side by side; the others wait their turn. When a worker dies, thousands of actors may be asked for in one moment. */
export const LOADS_MAX = 50;

export class ActorHost<Command> {
  readonly #deps: ActorHostDeps<Command>;
  readonly #slots = new Map<string, Slot<Command>>();
  readonly #ticks: Rounds<string, Slot<Command>>;
  #isClosed = false;
  #areSuspended = false;
  readonly #turns = new Turns(LOADS_MAX);
  readonly #idleStops: Background;
  readonly #held: HeldSlots;
  readonly #relapses: Relapses;
  /** Given to other workers just now. */
  readonly #moved = new Set<string>();
  #isResuming = false;

  constructor(deps: ActorHostDeps<Command>) {
    this.#deps = deps;
    this.#idleStops = new Background(deps.clock, fewAtATime);
    this.#held = new HeldSlots({ clock: deps.clock, onError: deps.onError, onHeld: (key) => deps.onHeld?.(key, 'held') });
    this.#relapses = new Relapses(deps.clock);
    this.#ticks = new Rounds({
      clock: deps.clock,
      entries: this.#slots,
      everyMs: TICK_EVERY_MS,
      begin: () => {
        if (this.#areSuspended) void this.resumeAll();
      },
      visit: (key, slot) => this.#tick(key, slot),
    });
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Actors whose commands have their turns. */
  get held(): number {
    return this.#held.size;
  }

  get keys(): string[] {
    return [...this.#slots.keys()];
  }

  /** Those that may move, which fewest follow in front: hot ones are to move last (reliability 2.a). */
  get movable(): string[] {
    return this.#leastFollowedFirst().flatMap(([key, { isUp }]) => (isUp ? [key] : []));
  }

  /** Whether a command would be decided here without waking anybody. */
  isAwake(key: string): boolean {
    return this.#awake(key) !== null;
  }

  /** Whether the actor is here and would refuse any change now. */
  isFull(key: string): boolean {
    const slot = this.#slots.get(key);
    return slot?.stopped === null && slot.actor?.isFull === true; // of one that stops another worker may be asked
  }

  /**
   * Hands `command` to the actor, loading it first if it sleeps. Resolves with its reply.
   * @throws AppError the refusal; SERVER_STOPPING; WORKER_OVERLOADED when it may not be woken now; ROOM_OVERLOADED when too many wait
   * already. The last three are safe to retry.
   */
  async ask(key: string, command: Command): Promise<unknown> {
    if (this.#deps.mayWake?.() === false && !this.#slots.has(key)) throw new AppError('WORKER_OVERLOADED');
    const slot = this.#slotFor(key);
    if (slot.hears) return slot.act(command);
    const bytes = this.#weigh(slot, command);
    if (slot.isHeld ? !this.#fits(slot, bytes) : slot.waiting.length >= this.#deps.waitingMax)
      throw new AppError('ROOM_OVERLOADED');
    return new Promise((resolve, reject) => {
      slot.waiting.push({ run: (actor) => resolve(act(actor, command)), fail: reject, bytes });
    });
  }

  /** The same, but null when the actor sleeps: it is not woken. */
  askIfAwake(key: string, command: Command): Promise<unknown> | null {
    return this.#awake(key) === null ? null : this.ask(key, command);
  }

  /**
   * The same without an answer, and without waking anybody: false when the actor sleeps, or stops. Plain calls all the way, because this is the
   * path of every socket frame that has no line (`lineTo`) yet. What waits for a load is bounded by the senders: each has asked to join first, and `ask` is bounded. What a held actor has no
   * room for is refused to whoever sent it.
   */
  tell(key: string, command: Command): boolean {
    const slot = this.#awake(key);
    if (slot === null || (slot.stopped !== null && this.#deps.undoes?.(command) !== true)) return false;
    if (!slot.tell(command)) this.#keep(slot, command);
    return true;
  }

  #keep(slot: Slot<Command>, command: Command): void {
    const { key } = slot;
    const bytes = this.#weigh(slot, command);
    if (slot.isHeld && !this.#fits(slot, bytes) && slot.actor?.refuse(command, new AppError('ROOM_OVERLOADED')) === true) {
      this.#deps.onHeld?.(key, 'refused');
      return;
    }
    slot.waiting.push({ run: (actor) => actor.tell(command), fail: () => this.#deps.onUntold?.(key, command), bytes });
  }

  /** What waits for a load is not weighed. */
  #weigh({ isHeld }: Slot<Command>, command: Command): number {
    return isHeld ? (this.#deps.weightOf?.(command) ?? 0) : 0;
  }

  #fits({ waiting }: Slot<Command>, bytes: number): boolean {
    if (waiting.length >= this.#deps.waitingMax + HELD_BESIDE || waiting.bytes >= HELD_BYTES_MAX) return false;
    return this.#held.bytes < HELD_BYTES_OF_ALL_MAX || waiting.bytes + bytes <= HELD_BYTES_SURE;
  }

  /** The way to an actor that is awake here, or null. It may be kept, and keeps nothing of an actor that is gone. */
  lineTo(key: string): Line<Command> | null {
    return this.#awake(key);
  }

  /** `tell` to all that are awake. */
  tellAll(command: Command): void {
    for (const key of this.keys) this.tell(key, command);
  }

  /** Stops one actor so that another worker takes it; who asks for it meanwhile gets ROOM_MOVED. Never rejects. */
  async move(key: string): Promise<void> {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot.actor === null) return;
    slot.isMoving = true;
    this.#moved.add(key);
    try {
      await this.#stop(key, slot);
    } finally {
      this.#deps.clock.after(MOVED_MS, () => this.#moved.delete(key));
    }
  }

  /** Stops all actors in order; nothing is loaded any more. Resolves when each has written down its state, or could not: that is reported. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ticks.stop();
    this.#idleStops.stop();
    for (const [key, slot] of this.#slots) if (slot.actor === null && this.#relapses.restMs(key) > 0) this.#drop(key, slot);
    const rest = this.#leastFollowedFirst().values(); // hot ones last (reliability 2.d)
    const stopNext = async (): Promise<void> => {
      for (const [key, slot] of rest) {
        await slot.loaded;
        await this.#stop(key, slot);
      }
    };
    await side(STOPS_MAX, stopNext);
  }

  /** The lease is over: actors stay as they are until `resumeAll`, those that load are dropped. */
  suspendAll(): void {
    this.#areSuspended = true;
    for (const [key, slot] of this.#slots) {
      if (slot.actor === null) this.#drop(key, slot);
      else slot.actor.suspend();
    }
  }

  /** There is a lease again. What could not be resumed yet is tried again with each tick. Never rejects. */
  async resumeAll(): Promise<void> {
    if (this.#isResuming) return;
    this.#isResuming = true;
    this.#areSuspended = false; // before the first is resumed: the lease may lapse before the last is
    const rest = [...this.#slots];
    let remaining = 0;
    await side(RESUMES_MAX, async () => {
      for (let next = rest.pop(); next !== undefined; next = rest.pop()) if (!(await this.#isResumed(next))) remaining += 1;
    });
    this.#isResuming = false;
    if (remaining > 0) this.#areSuspended = true;
  }

  async #isResumed([key, { actor }]: [string, Slot<Command>]): Promise<boolean> {
    try {
      return actor === null || (await actor.resume()) === 'resumed';
    } catch (error) {
      this.#deps.onError(error, key);
      return false;
    }
  }

  recall(recalls: readonly Recall[]): void {
    for (const slot of this.#slots.values()) slot.recall(recalls);
  }

  /** The store may have lost the last that it acknowledged. Actors that load may have read that before: they are dropped, and loaded anew. */
  saveAnew(): void {
    for (const [key, slot] of this.#slots) {
      if (slot.actor === null) this.#drop(key, slot);
      else slot.actor.saveAnew();
    }
  }

  /** Drops all actors unread: this worker may not speak for them any more. */
  dropAll(): void {
    for (const [key, slot] of this.#slots) {
      slot.actor?.drop();
      this.#drop(key, slot);
    }
  }

  #leastFollowedFirst(): [string, Slot<Command>][] {
    const followers = ([, { actor }]: [string, Slot<Command>]): number => actor?.followers ?? 0;
    return [...this.#slots].sort((left, right) => followers(left) - followers(right));
  }

  /** Null for an actor that sleeps, or is about to with nobody waiting for it. */
  #awake(key: string): Slot<Command> | null {
    const slot = this.#slots.get(key);
    return slot === undefined || (slot.stopped !== null && slot.waiting.length === 0) ? null : slot;
  }

  #slotFor(key: string): Slot<Command> {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    if (this.#isClosed) throw new AppError('SERVER_STOPPING');
    if (this.#moved.has(key)) throw new AppError('ROOM_MOVED');
    const slot = new Slot<Command>(key, this.#held);
    this.#slots.set(key, slot); // before the first await: one load, however many callers
    slot.loaded = this.#load(key, slot).catch((error: unknown) => this.#deps.onError(error, key));
    return slot;
  }

  async #load(key: string, slot: Slot<Command>): Promise<void> {
    try {
      const restMs = this.#relapses.restMs(key);
      if (restMs > 0) await pause(this.#deps.clock, restMs); // no turn of those who may load
      const actor = await this.#turns.take(() => {
        if (this.#slots.get(key) !== slot) throw new AppError('ROOM_MOVED'); // dropped before its turn came
        queueMicrotask(() => {
          slot.early = slot.waiting.length; // with those who ask in this turn: nothing has been read yet
        });
        return this.#deps.load(key, (loss) => this.#lost(key, slot, loss));
      });
      if (this.#slots.get(key) !== slot) {
        actor.drop(); // lost while it loaded
        throw new AppError('ROOM_MOVED');
      }
      slot.begin(actor);
      slot.runLoaded();
    } catch (error) {
      this.#forget(key, slot);
      const isFinal = error instanceof AppError && !error.retry && !this.#isClosed;
      for (const { fail } of slot.waiting.take(isFinal ? slot.early : slot.waiting.length)) fail(error);
      this.#wakeAgain(key, slot); // for them it may be there by now, such as a room that was made meanwhile
      if (!(error instanceof AppError)) throw error;
    }
  }

  #tick(key: string, slot: Slot<Command>): void {
    const { actor } = slot;
    if (actor === null || slot.stopped !== null) return;
    const monotonicMs = this.#deps.clock.monotonicMs();
    try {
      actor.tick(monotonicMs);
      if (!slot.isIdle && actor.isIdle(monotonicMs)) this.#stopInTurn(key, slot);
    } catch (error) {
      this.#deps.onError(error, key); // of one actor; the others still have their tick
    }
  }

  /** In its turn, unless it has something to do again by then. */
  #stopInTurn(key: string, slot: Slot<Command>): void {
    slot.isIdle = true;
    this.#idleStops.next(() => {
      slot.isIdle = false;
      const isNeeded = slot.waiting.length > 0; // it is held
      if (!isNeeded && slot.actor?.isIdle(this.#deps.clock.monotonicMs()) === true) void this.#stop(key, slot);
    });
  }

  /** Commands that arrive meanwhile wait, and wake the actor again once it is down. Never rejects. */
  async #stop(key: string, slot: Slot<Command>): Promise<void> {
    if (slot.actor !== null) slot.stopped ??= this.#bringDown(key, slot, slot.actor);
    await slot.stopped;
  }

  async #bringDown(key: string, slot: Slot<Command>, actor: Actor<Command>): Promise<void> {
    try {
      await actor.stop();
    } catch (error) {
      this.#deps.onError(error, key);
    }
    const wasHere = this.#slots.get(key) === slot; // else it was lost, and another one may be here by now
    this.#forget(key, slot);
    if (wasHere) this.#deps.onStopped?.(key);
    this.#wakeAgain(key, slot);
  }

  #wakeAgain(key: string, { waiting, isMoving }: Slot<Command>): void {
    const rest = waiting.take();
    if (rest.length === 0) return;
    if (this.#isClosed || isMoving) for (const { fail } of rest) fail(new AppError(isMoving ? 'ROOM_MOVED' : 'SERVER_STOPPING'));
    else this.#slotFor(key).waiting.push(...rest);
  }

  #lost(key: string, slot: Slot<Command>, loss: Loss): void {
    if (loss === 'failed') this.#relapses.failed(key);
    this.#drop(key, slot);
  }

  #drop(key: string, slot: Slot<Command>): void {
    this.#forget(key, slot);
    for (const { fail } of slot.waiting.take()) fail(new AppError('ROOM_MOVED'));
  }

  #forget(key: string, slot: Slot<Command>): void {
    if (this.#slots.get(key) === slot) this.#slots.delete(key);
    slot.actor = null;
  }
}

/** Runs `work` so many times side by side. */
async function side(times: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: times }, work));
}

/** A refusal thrown in the same turn is a rejection to whoever asked. */
async function act<Command>(actor: Actor<Command>, command: Command): Promise<unknown> {
  return actor.act(command);
}

/** The pace of idle stops: each goes on after it returned, so that the time it took says little. */
function fewAtATime({ done, left }: BackgroundTurn): number {
  return done < Math.ceil((done + left) / IDLE_STOPS_FOR_EACH) ? 0 : IDLE_STOPS_EVERY_MS;
}
