/**
 * Has versions of a room's history kept, once all that is in them is durable, and tells the room how that went; asks for one by itself when the
 * settings want it. It knows neither tables nor blobs.
 *
 * A room that goes on changing has a version every so many seconds. What was in none when the room fell asleep is taken when it wakes, before
 * anything else changes.
 */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';
import { SmallMap } from '../base/small.ts';
import type { Answer } from './gate.ts';
import { hasUnkeptChanges, type TakenVersion } from './history.ts';
import type { RoomPolicy } from './policy.ts';
import type { RoomShell } from './room-shell.ts';
import type { Command } from './shapes.ts';
import type { Keeper } from './upkeep.ts';

/** A version as it is to be kept; the epoch is that of the owner who took it. */
export interface KeptVersion extends Pick<TakenVersion, 'id' | 'atMs' | 'authors' | 'body'> {
  readonly stream: number;
  readonly epoch: number;
}

/**
 * Keeps a version for good. `found`: one of this id was there already, and stays as it is. `fenced`: another owner rules the room, nothing was kept.
 * @throws AppError BLOBS_UNAVAILABLE when nothing was kept; DATABASE_UNAVAILABLE when that is not known.
 */
export type KeepVersion = (version: KeptVersion) => Promise<'kept' | 'found' | 'fenced'>;

export interface HistoryKeeperDeps {
  readonly keepVersion: KeepVersion;
  readonly policy: Pick<RoomPolicy, 'autoVersionMs'>;
  readonly clock: Clock;
  readonly log: Log;
}

type Shell = Pick<RoomShell, 'room' | 'ground' | 'place' | 'whenDurable' | 'act' | 'onFenced'>;

interface UnderWay {
  readonly answers: Answer[];
  /** Never rejects. */
  readonly end: Promise<void>;
}

/** After one that failed, the next is not tried before; twice as long each time. Only for those that nobody asks for. */
const AGAIN_FIRST_MS = 5_000;
const AGAIN_MS_MAX = 300_000;

export class HistoryKeeper implements Keeper {
  readonly #deps: HistoryKeeperDeps;
  readonly #shell: Shell;
  readonly #underWay = new SmallMap<string, UnderWay>();
  /** What the room could not be told while it was suspended or overloaded. */
  #untold: Command[] = [];
  /** When a change was first seen that is in no version; null while there is none. Monotonic, like the next two. */
  #changedSinceMs: number | null;
  /** When the newest kept version was taken. */
  #newestAtMs: number;
  #notBeforeMs = 0;
  #failures = 0;

  constructor(deps: HistoryKeeperDeps, shell: Shell) {
    this.#deps = deps;
    this.#shell = shell;
    const { clock } = deps;
    const { history } = shell.room;
    this.#changedSinceMs = hasUnkeptChanges(history) ? Number.NEGATIVE_INFINITY : null;
    // Of what an owner before wrote down its age is known, by the wall clock; where that has stepped back since then it counts as kept now.
    this.#newestAtMs = clock.monotonicMs() - Math.max(0, clock.nowMs() - history.keptAtMs);
  }

  get isBusy(): boolean {
    return this.#underWay.size > 0 || this.#untold.length > 0;
  }

  /** Answers with the id once it is kept; asked for a version that is on its way, waits with those who asked before. */
  keep(version: TakenVersion, answer: Answer | null): void {
    const { id } = version;
    const underWay = this.#underWay.get(id) ?? { answers: [], end: this.#begin(version) };
    this.#underWay.set(id, underWay);
    if (answer !== null) underWay.answers.push(answer);
  }

  /** Resolves when nothing is on its way any more. */
  async rest(): Promise<void> {
    await Promise.all(Array.from(this.#underWay.values(), ({ end }) => end));
  }

  isDue(monotonicMs: number): boolean {
    return this.#untold.length > 0 || this.#isVersionDue(monotonicMs);
  }

  tick(monotonicMs: number): void {
    for (const command of this.#untold.splice(0)) void this.#tell(command);
    if (this.#isVersionDue(monotonicMs)) void this.#keepUnasked();
  }

  #isVersionDue(monotonicMs: number): boolean {
    const { autoVersionMs } = this.#deps.policy;
    if (autoVersionMs === 0) return false;
    this.#changedSinceMs = hasUnkeptChanges(this.#shell.room.history) ? (this.#changedSinceMs ?? monotonicMs) : null;
    if (this.#changedSinceMs === null || this.isBusy || monotonicMs < this.#notBeforeMs) return false;
    return monotonicMs - Math.max(this.#changedSinceMs, this.#newestAtMs) >= autoVersionMs;
  }

  async #keepUnasked(): Promise<void> {
    const { clock, log } = this.#deps;
    try {
      await this.#shell.act({ type: 'history.keep' });
      this.#failures = 0;
    } catch (error) {
      this.#notBeforeMs = clock.monotonicMs() + Math.min(AGAIN_MS_MAX, AGAIN_FIRST_MS * 2 ** this.#failures);
      this.#failures += 1;
      log.warn({ err: error, roomId: this.#shell.room.id }, 'automatic version not kept');
    }
  }

  async #begin(version: TakenVersion): Promise<void> {
    const { id } = version;
    const takenAtMs = this.#deps.clock.monotonicMs();
    const outcome = await this.#store(version).catch((reason: unknown) => this.#asRefusal(reason));
    if (outcome === 'kept') this.#newestAtMs = Math.max(this.#newestAtMs, takenAtMs);
    const answers = this.#underWay.get(id)?.answers ?? [];
    this.#underWay.delete(id);
    const told = this.#tell({ type: 'history.settle', id, outcome: outcome instanceof AppError ? 'not kept' : outcome });
    for (const answer of answers) {
      if (outcome instanceof AppError) answer.reject(outcome);
      else answer.resolve({ id });
    }
    await told;
  }

  async #store({ id, atMs, authors, body }: TakenVersion): Promise<'kept' | 'found'> {
    await new Promise<void>((resolve, reject) =>
      this.#shell.whenDurable({ release: resolve, refuse: reject, bytes: body.length }),
    );
    for (;;) {
      const { stream, epoch } = this.#shell.ground;
      const outcome = await this.#deps.keepVersion({ id, atMs, authors, body, stream, epoch });
      if (outcome !== 'fenced') return outcome;
      if (this.#shell.place === null) throw new AppError('DATABASE_UNAVAILABLE'); // it is lost, or being claimed anew
      if (this.#shell.ground.epoch === epoch) break; // else it was this owner who claimed the room anew: once more, under that
    }
    this.#shell.onFenced();
    throw new AppError('ROOM_MOVED');
  }

  /** A room that is lost needs not hear of it: its next owner finds no such version on its way. */
  async #tell(command: Command): Promise<void> {
    try {
      await this.#shell.act(command);
    } catch (error) {
      if (!(error instanceof AppError)) this.#deps.log.error({ err: error, roomId: this.#shell.room.id }, 'version not settled');
      else if (error.code !== 'ROOM_MOVED') this.#untold.push(command);
    }
  }

  #asRefusal(reason: unknown): AppError {
    if (reason instanceof AppError) return reason;
    this.#deps.log.error({ err: reason, roomId: this.#shell.room.id }, 'version not kept');
    return new AppError('INTERNAL_SERVER_ERROR');
  }
}
