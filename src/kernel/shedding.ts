/**
 * What a worker refuses when it cannot keep up, so that it finishes what it has accepted (reliability 2.f): rooms that sleep, then sockets too, then
 * reads as well.
 *
 * It is strained when each of the last five seconds saw its event loop come late, its sockets heard late, or its heap nearly full: then it refuses one kind more, and with five
 * more such seconds the next. Five good seconds take one kind back. One long pause, as of a process that was frozen, is one second, and a bad second among
 * good ones costs five of them.
 *
 * Who is refused comes back as soon as he may: what was strain a minute ago is strain again. So each time that a kind has to be refused within a minute
 * after one was taken back, the next is taken back after twice as many good seconds, up to a minute.
 */
import type { Clock } from '../base/clock.ts';
import { type Metrics, noMetrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';

/** In the order in which they are refused. */
const KINDS = ['wake', 'socket', 'read'] as const;
export type Sheddable = (typeof KINDS)[number];

/** How a process bears its load, since it was asked before. */
export interface Strain {
  /** How late the event loop comes, or what sockets say is heard. */
  readonly lagMs: number;
  /** Of the largest heap there may be, 0 to 1. */
  readonly heapShare: number;
}

export interface SheddingDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** More than either is strain. */
  readonly limits: Strain;
  readonly readStrain: () => Strain;
}

/** Asked before work of a kind is begun: whether to answer WORKER_OVERLOADED instead. */
export type Sheds = (kind: Sheddable) => boolean;

const LOOK_EVERY_MS = 1_000;
const LOOKS = 5;
/** A refusal so soon after one was taken back shows that this was too early. */
const RELAPSE_LOOKS = 60;
const GOOD_LOOKS_MAX = 60;

export class Shedding {
  readonly #deps: SheddingDeps;
  readonly #stop: () => void;
  /** So many of KINDS are refused. */
  #refused = 0;
  /** Looks on end that saw strain. */
  #strained = 0;
  /** Good ones; each that saw strain takes as many back as would be a reason to refuse. */
  #good = 0;
  #looks = 0;
  #tookBackAt = Number.NEGATIVE_INFINITY;
  /** Good ones that take a kind back. */
  #goodLooks = LOOKS;

  constructor(deps: SheddingDeps) {
    this.#deps = deps;
    this.#stop = deps.clock.every(LOOK_EVERY_MS, () => this.#look());
    (deps.metrics ?? noMetrics).gauge('atrium_shedding', () => this.#refused);
  }

  readonly sheds: Sheds = (kind) => KINDS.indexOf(kind) < this.#refused;

  close(): void {
    this.#stop();
  }

  #look(): void {
    const { limits, readStrain, log } = this.#deps;
    const strain = readStrain();
    const isStrained = strain.lagMs > limits.lagMs || strain.heapShare > limits.heapShare;
    this.#looks += 1;
    this.#strained = isStrained ? this.#strained + 1 : 0;
    this.#good = isStrained ? Math.max(0, this.#good - LOOKS) : this.#good + 1;
    if (this.#strained >= LOOKS && this.#refused < KINDS.length) {
      this.#refusesMore();
      log.warn({ ...strain, ...this.#state }, 'overloaded, refuses more');
    } else if (this.#good >= this.#goodLooks && this.#refused > 0) {
      this.#refuses(this.#refused - 1);
      this.#tookBackAt = this.#looks;
      log.warn({ ...strain, ...this.#state }, 'refuses less');
    }
  }

  get #state(): { readonly refused: readonly Sheddable[]; readonly takesBackAfterSeconds: number } {
    return { refused: KINDS.slice(0, this.#refused), takesBackAfterSeconds: this.#goodLooks };
  }

  #refuses(kinds: number): void {
    this.#refused = kinds;
    this.#strained = 0;
    this.#good = 0;
  }

  #refusesMore(): void {
    if (this.#looks - this.#tookBackAt <= RELAPSE_LOOKS) {
      this.#goodLooks = Math.min(GOOD_LOOKS_MAX, this.#goodLooks * 2);
      this.#tookBackAt = Number.NEGATIVE_INFINITY; // it was too early once, however many kinds are refused for it now
    } else if (this.#refused === 0) this.#goodLooks = LOOKS;
    this.#refuses(this.#refused + 1);
  }
}
