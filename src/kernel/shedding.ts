/**
 * What a worker refuses when it cannot keep up, so that it finishes what it has accepted (reliability 2.f): rooms that sleep, then sockets too, then
 * reads as well.
 *
 * It is strained when each of the last five seconds saw its event loop come late or its heap nearly full: then it refuses one kind more, and with five
 * more such seconds the next. Five good seconds take one kind back. One long pause, as of a process that was frozen, is one second.
 */
import type { Clock } from '../base/clock.ts';
import { type Metrics, noMetrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';

/** In the order in which they are refused. */
const KINDS = ['wake', 'socket', 'read'] as const;
export type Sheddable = (typeof KINDS)[number];

/** How a process bears its load, since it was asked before. */
export interface Strain {
  readonly loopLagMs: number;
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

export class Shedding {
  readonly #deps: SheddingDeps;
  readonly #stop: () => void;
  /** So many of KINDS are refused. */
  #refused = 0;
  /** Looks on end that asked for a change; above zero for more refusals. */
  #trend = 0;

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
    const isStrained = strain.loopLagMs > limits.loopLagMs || strain.heapShare > limits.heapShare;
    this.#trend = isStrained ? Math.max(0, this.#trend) + 1 : Math.min(0, this.#trend) - 1;
    if (Math.abs(this.#trend) < LOOKS) return;
    const refused = Math.min(KINDS.length, Math.max(0, this.#refused + Math.sign(this.#trend)));
    this.#trend = 0;
    if (refused === this.#refused) return;
    log.warn(
      { ...strain, refused: KINDS.slice(0, refused) },
      refused > this.#refused ? 'overloaded, refuses more' : 'refuses less',
    );
    this.#refused = refused;
  }
}
