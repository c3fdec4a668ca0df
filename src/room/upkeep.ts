/** What a room does by the clock, when its turn comes: thousands of rooms that were quiet together have the same to do in one moment. */
import type { Background } from '../base/background.ts';
import type { Clock } from '../base/clock.ts';
import type { RoomShell } from './room-shell.ts';

/** Does by itself what the time asks for: on the monotonic clock, because the other may step back by a day. */
export interface Keeper {
  isDue(monotonicMs: number): boolean;
  /** Does what is due. */
  tick(monotonicMs: number): void;
}

export interface UpkeepDeps {
  readonly clock: Clock;
  readonly background: Background;
}

export class Upkeep {
  readonly #deps: UpkeepDeps;
  readonly #shell: Pick<RoomShell, 'ifAble'>;
  readonly #keepers: readonly Keeper[];
  #isWaiting = false;

  constructor(deps: UpkeepDeps, shell: Pick<RoomShell, 'ifAble'>, keepers: readonly Keeper[]) {
    this.#deps = deps;
    this.#shell = shell;
    this.#keepers = keepers;
  }

  tick(monotonicMs: number): void {
    if (this.#isWaiting || !this.#keepers.some((keeper) => keeper.isDue(monotonicMs))) return;
    this.#isWaiting = true;
    this.#deps.background.next(() => {
      this.#isWaiting = false;
      this.#shell.ifAble(() => this.now());
    });
  }

  /** Out of turn. */
  now(): void {
    const { clock } = this.#deps;
    for (const keeper of this.#keepers) keeper.tick(clock.monotonicMs());
  }
}
