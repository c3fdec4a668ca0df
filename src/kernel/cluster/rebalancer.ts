/**
 * Hands actors over when this worker has clearly more than its share: a few each round, and only while the set of workers stands still
 * and their loads are known.
 */
import type { Clock } from '../../base/clock.ts';
import type { WorkerAddress } from '../../base/ids.ts';
import type { Log } from '../../base/observe.ts';
import type { ActorHost } from '../actor/actor-host.ts';
import { movesOf } from './placement.ts';
import type { Workers } from './workers.ts';

export interface RebalancerDeps {
  readonly host: Pick<ActorHost<unknown>, 'movable' | 'move'>;
  readonly workers: Pick<Workers, 'candidates' | 'knowsLoads'>;
  readonly self: WorkerAddress;
  readonly clock: Clock;
  readonly log: Log;
}

/** Long enough for a worker that came to be seen by all, and for moved actors to show in the loads. */
const ROUND_EVERY_MS = 10_000;

export class Rebalancer {
  readonly #deps: RebalancerDeps;
  readonly #stopRounds: () => void;
  #lastSeen = '';

  constructor(deps: RebalancerDeps) {
    this.#deps = deps;
    this.#stopRounds = deps.clock.every(ROUND_EVERY_MS, () => void this.#round());
  }

  stop(): void {
    this.#stopRounds();
  }

  async #round(): Promise<void> {
    const { host, workers, self, log } = this.#deps;
    const { candidates } = workers;
    const seen = candidates
      .map(({ address }) => address)
      .sort()
      .join();
    const isSettled = seen === this.#lastSeen;
    this.#lastSeen = seen;
    if (!isSettled || candidates.length < 2 || !workers.knowsLoads) return;
    const moves = movesOf({ keys: host.movable, self, workers: candidates });
    if (moves.length > 0) log.info({ moves: moves.length, workers: candidates.length }, 'rooms rebalanced');
    await Promise.all(moves.map((key) => host.move(key)));
  }
}
