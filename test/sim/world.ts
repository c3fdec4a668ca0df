/**
 * Virtual time: events in a heap, run one at a time, each in a turn of the event loop of its own.
 *
 * Nothing here waits: the clock jumps from event to event. Every event runs in an immediate, because Node settles all promises between two
 * immediates: what an event sets off is done before the next begins, and the same seed gives the same run. It knows neither rooms nor faults.
 */
import type { Clock, Random } from '../../src/base/clock.ts';
import { Dice } from '../fuzz/dice.ts';

interface Event {
  readonly atMs: number;
  /** Breaks ties: first come, first served. */
  readonly number: number;
  readonly process: Process | null;
  readonly kind: 'timer' | 'input';
  task: (() => void) | null;
}

/** Immediates queued at once: the loop's own round costs more than an event. */
const EVENTS_PER_ROUND = 64;
/** A run with more is one that turns in circles. */
const EVENTS_MAX = 300_000;
const START_MS = 1_000_000;

export class World {
  readonly dice: Dice;
  readonly #heap: Event[] = [];
  readonly #log: string[] | null;
  #nowMs = START_MS;
  #scheduled = 0;
  #hash = 0x811c9dc5;
  #onThrown: (error: unknown) => void = (error) => {
    throw error;
  };

  constructor({ seed, keepsLog = false }: { seed: number; keepsLog?: boolean }) {
    this.dice = new Dice(seed);
    this.#log = keepsLog ? [] : null;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Milliseconds since the world began. */
  get elapsedMs(): number {
    return this.#nowMs - START_MS;
  }

  get events(): number {
    return this.#scheduled;
  }

  /** Of every event that ran, in order: two runs with the same one took the same course. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  get log(): readonly string[] {
    return this.#log ?? [];
  }

  /** Remembers a line of what happened, when somebody wants to read it. */
  note(line: () => string): void {
    this.#log?.push(`${this.elapsedMs.toFixed(1).padStart(9)} ${line()}`);
  }

  onThrown(listener: (error: unknown) => void): void {
    this.#onThrown = listener;
  }

  /** Runs `task` after `delayMs`; in a process only while that lives, and not while it is paused. The returned function cancels it. */
  after(delayMs: number, task: () => void, process: Process | null = null, kind: Event['kind'] = 'input'): () => void {
    const event: Event = { atMs: this.#nowMs + Math.max(0, delayMs), number: this.#scheduled++, process, kind, task };
    this.#push(event);
    return () => {
      event.task = null;
    };
  }

  /** Lets virtual time pass; endless time passes until nothing is due any more. Resolves when all that was due has run. */
  run(forMs: number): Promise<void> {
    const untilMs = this.#nowMs + forMs;
    const limit = this.#scheduled + EVENTS_MAX;
    return new Promise((resolve, reject) => {
      const step = (): void => {
        const event = this.#popUntil(untilMs);
        if (event !== undefined) this.#fire(event);
      };
      const round = (): void => {
        if (this.#isIdle(untilMs)) {
          if (untilMs < Number.POSITIVE_INFINITY) this.#nowMs = untilMs;
          resolve();
        } else if (this.#scheduled > limit) {
          reject(new Error('too many events: something turns in circles'));
        } else {
          for (let count = 0; count < EVENTS_PER_ROUND; count += 1) setImmediate(step);
          setImmediate(round);
        }
      };
      setImmediate(round);
    });
  }

  #fire(event: Event): void {
    const { task, process } = event;
    if (task === null) return;
    if (process !== null && !process.mayRun(event)) return;
    this.#mix(event.number);
    this.#mix(Math.floor(event.atMs * 1_000));
    try {
      task();
    } catch (error) {
      this.#onThrown(error);
    }
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, 0x01000193);
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  /** Whether nothing is due until then; what was cancelled is cleared away. */
  #isIdle(untilMs: number): boolean {
    const heap = this.#heap;
    while (heap.length > 0 && heap[0]!.task === null) pop(heap);
    return heap.length === 0 || heap[0]!.atMs > untilMs;
  }

  #popUntil(untilMs: number): Event | undefined {
    if (this.#isIdle(untilMs)) return undefined;
    const first = pop(this.#heap);
    this.#nowMs = first.atMs;
    return first;
  }
}

function pop(heap: Event[]): Event {
  const first = heap[0]!;
  const last = heap.pop()!;
  if (heap.length > 0) sink(heap, last);
  return first;
}

function sink(heap: Event[], event: Event): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (!isBefore(heap[child]!, event)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = event;
}

function isBefore(left: Event, right: Event): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.number < right.number);
}

/** One life of one operating-system process: it can be stopped for a while as by SIGSTOP, and killed. Its clock counts on meanwhile. */
export class Process {
  readonly name: string;
  readonly world: World;
  readonly clock: Clock;
  readonly random: Random;
  #isAlive = true;
  #isPaused = false;
  #deferred: Event[] = [];
  /** How long its machine stood still, clock and all. */
  #stoodStillMs = 0;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.clock = clockOf(this);
    this.random = randomOf(world.dice);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Goes on through a pause, but not while the machine stands still. */
  get monotonicMs(): number {
    return this.world.nowMs - this.#stoodStillMs;
  }

  /** Runs `task` in this process, as input that arrives after `delayMs`. */
  input(delayMs: number, task: () => void): void {
    this.world.after(delayMs, task, this);
  }

  /** Runs `work` in this process: at once if it runs, later if it is paused, never if it is dead. */
  enter<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = (): void => {
        try {
          resolve(work());
        } catch (error) {
          reject(error as Error);
        }
      };
      if (this.#isAlive && !this.#isPaused) run();
      else this.input(0, run);
    });
  }

  pause(): void {
    this.#isPaused = true;
  }

  /**
   * What came due meanwhile runs now: input first, as in a loop that was stopped while it waited for some; or timers first, or as it came. Of a machine that stood still for so long, clock and timers
   * have not moved.
   */
  resume({ stoodStillMs = 0 } = {}): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#stoodStillMs += stoodStillMs;
    const { dice } = this.world;
    const first = dice.pick(['input', 'input', 'timer', null] as const);
    const deferred = this.#deferred;
    this.#deferred = [];
    this.world.note(() => `${this.name} goes on, ${first ?? 'nothing'} first of ${deferred.length}`);
    const order =
      first === null ? deferred : [...deferred.filter((e) => e.kind === first), ...deferred.filter((e) => e.kind !== first)];
    for (const event of order) this.world.after(0, () => event.task?.(), this, event.kind);
  }

  kill(): void {
    this.#isAlive = false;
    this.#deferred = [];
  }

  /** Whether the event runs now; one that comes during a pause is kept for later. */
  mayRun(event: Event): boolean {
    if (!this.#isAlive) return false;
    if (this.#isPaused) this.#deferred.push(event);
    return !this.#isPaused;
  }
}

/** Sums of fractions are not exact. */
const EARLY_MS = 1e-6;

function clockOf(process: Process): Clock {
  const { world } = process;
  const timer = (delayMs: number, task: () => void): (() => void) => {
    const dueMs = process.monotonicMs + delayMs;
    const run = (): void => {
      const earlyMs = dueMs - process.monotonicMs;
      if (earlyMs > EARLY_MS) cancel = world.after(earlyMs, run, process, 'timer');
      else task();
    };
    let cancel = world.after(delayMs, run, process, 'timer');
    return () => cancel();
  };
  return {
    nowMs: () => world.nowMs,
    monotonicMs: () => process.monotonicMs,
    after: timer,
    every(everyMs, task) {
      let isOver = false;
      const next = (): void => {
        timer(everyMs, () => {
          if (isOver) return;
          next();
          task();
        });
      };
      next();
      return () => {
        isOver = true;
      };
    },
    soon: (task) => void timer(0, task),
  };
}

function randomOf(dice: Dice): Random {
  const hex = (digits: number): string => Array.from({ length: digits }, () => dice.below(16).toString(16)).join('');
  return {
    bytes: (size) => Uint8Array.from({ length: size }, () => dice.below(256)),
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}
