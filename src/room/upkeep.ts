/** What a room does by the clock, when its turn comes: thousands of rooms that were quiet together have the same to do in one moment. */
import type { Background } from '../base/background.ts';
import type { Clock } from '../base/clock.ts';

/** Does by itself what the time asks for. */
export interface Keeper {
  isDue(nowMs: number): boolean;
  /** Does what is due. */
  tick(nowMs: number): void;
}

export interface UpkeepDeps {
  readonly clock: Clock;
  readonly background: Background;
  readonly keepers: readonly Keeper[];
  /** Runs it unless the room is gone by then, or may not write. It must not throw. */
  readonly ifAble: (task: () => void) => void;
}

export class Upkeep {
  readonly #deps: UpkeepDeps;
  #isWaiting = false;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
  }

  tick(nowMs: number): void {
    const { background, keepers, ifAble } = this.#deps;
    if (this.#isWaiting || !keepers.some((keeper) => keeper.isDue(nowMs))) return;
    this.#isWaiting = true;
    background.next(() => {
      this.#isWaiting = false;
      ifAble(() => this.now());
    });
  }

  /** Out of turn. */
  now(): void {
    const { clock, keepers } = this.#deps;
    for (const keeper of keepers) keeper.tick(clock.nowMs());
  }
}
