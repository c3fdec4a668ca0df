/** Whether something that others serve is there, for the log: one line when it goes and one when it is back, however many calls meet that. */
import type { Clock } from './clock.ts';
import type { Log } from './observe.ts';

export interface AwayDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
  /** What the lines say. */
  readonly away: string;
  readonly back: string;
}

/** It counts as back when nothing has failed for so long: one node of several that is away, or a slow one, fails now and then. */
const STEADY_MS = 2_000;

export class Away {
  readonly #deps: AwayDeps;
  #sinceMs: number | null = null;
  #failedAtMs = 0;

  constructor(deps: AwayDeps) {
    this.#deps = deps;
  }

  answered(): void {
    if (this.#sinceMs === null) return;
    const { clock, log, back } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#failedAtMs < STEADY_MS) return;
    log.info({ awayMs: Math.round(nowMs - this.#sinceMs) }, back);
    this.#sinceMs = null;
  }

  failed(error: unknown): void {
    const { clock, log, away } = this.#deps;
    this.#failedAtMs = clock.monotonicMs();
    if (this.#sinceMs !== null) return;
    this.#sinceMs = this.#failedAtMs;
    log.warn({ err: error }, away);
  }
}
