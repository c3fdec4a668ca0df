/**
 * Tells every worker of a change to a room in the database, so that each can draw its conclusion before the change is acknowledged: whoever is in the room
 * shows again what lets them in; what is remembered of the room is forgotten.
 *
 * A word that is lost would leave somebody in a room that has shut them out, so each worker is asked until it has answered. One that was without a
 * lease meanwhile draws these conclusions for all rooms when it has one again. It does not know what becomes of a word if its own worker ends.
 */
import { type Clock, pause } from '../base/clock.ts';
import { asRoomId, type RoomId, type WorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Bus, Message } from '../kernel/cluster/bus.ts';

export interface AnnouncementsDeps {
  readonly bus: Pick<Bus, 'ask' | 'address'>;
  readonly clock: Clock;
  readonly log: Log;
  /** All others that may have sockets. @throws AppError DATABASE_UNAVAILABLE */
  readonly findOthers: () => Promise<readonly WorkerAddress[]>;
  /** How old a list of the others may be where a change is told first, in ms: whoever is new draws the conclusion by itself for as long. */
  readonly othersLastMs: number;
  /** Tells these announcements from others on the bus. */
  readonly kind: string;
  /** What follows on this worker. */
  readonly here: { changed(roomId: RoomId): void; anyMayHaveChanged(): void };
}

/** What some workers have not heard of yet. Null: any room may have changed. */
interface Change {
  readonly roomId: RoomId | null;
  readonly told: Set<WorkerAddress>;
  readonly endMs: number;
  readonly resolve: () => void;
}

const ANSWER_MS = 1_000;
const AGAIN_MS = 250;
/** A worker that holds its lease and cannot be reached for so long is in no touch with the rooms of others either. */
const GIVEN_UP_MS = 60_000;
/** More are told as one: look at everybody. */
const LATE_MAX = 1_000;

export class Announcements {
  readonly #deps: AnnouncementsDeps;
  /** Not told yet; what gathers while others are told is told together. */
  #fresh: Change[] = [];
  #isTelling = false;
  /** Those that somebody did not answer for at first; all are told together again. */
  #late: Change[] = [];
  #isRetrying = false;
  #others: { readonly found: readonly WorkerAddress[]; readonly untilMs: number } | null = null;

  constructor(deps: AnnouncementsDeps) {
    this.#deps = deps;
  }

  /** Whether a message of the bus is for `handle`. */
  isFor({ kind }: Message): boolean {
    return kind === this.#deps.kind;
  }

  /** Resolves when every worker has heard of it, or has ended. Never rejects. */
  announce(roomId: RoomId): Promise<void> {
    this.#deps.here.changed(roomId);
    const endMs = this.#deps.clock.monotonicMs() + GIVEN_UP_MS;
    return new Promise<void>((resolve) => {
      this.#fresh.push({ roomId, told: new Set(), endMs, resolve });
      void this.#tellFresh();
    });
  }

  handle({ payload }: Message): null {
    const roomIds = payload as readonly string[] | null;
    if (roomIds === null) this.#deps.here.anyMayHaveChanged();
    else for (const roomId of roomIds) this.#deps.here.changed(asRoomId(roomId));
    return null;
  }

  async #tellFresh(): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    while (this.#fresh.length > 0) {
      const left = await this.#tell(asOneIfMany(this.#fresh.splice(0), this.#deps.clock.monotonicMs() + GIVEN_UP_MS));
      this.#late.push(...left);
      if (left.length > 0) void this.#retry();
    }
    this.#isTelling = false; // in the turn of the last look, so none falls between
  }

  async #retry(): Promise<void> {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    const { clock, log } = this.#deps;
    while (this.#late.length > 0) {
      await pause(clock, AGAIN_MS);
      const taken = asOneIfMany(this.#late.splice(0), clock.monotonicMs() + GIVEN_UP_MS);
      this.#others = null; // some of them may be gone
      for (const change of await this.#tell(taken)) {
        if (clock.monotonicMs() < change.endMs) {
          this.#late.push(change);
          continue;
        }
        log.warn({ roomId: change.roomId, kind: this.#deps.kind }, 'a change did not reach every worker');
        change.resolve();
      }
    }
    this.#isRetrying = false; // in the turn of the last look at what is late, so none falls between
  }

  /** Asks those who have not answered for them yet; returns what somebody has still not heard of. */
  async #tell(changes: readonly Change[]): Promise<Change[]> {
    const others = await this.#findOthers().catch(() => null);
    if (others === null) return [...changes];
    await Promise.all(others.map((at) => this.#tellOne(at, changes)));
    const [done, left] = [[] as Change[], [] as Change[]];
    for (const change of changes) (others.every((at) => change.told.has(at)) ? done : left).push(change);
    for (const { resolve } of done) resolve();
    return left;
  }

  async #findOthers(): Promise<readonly WorkerAddress[]> {
    const { clock, findOthers, othersLastMs } = this.#deps;
    const askedMs = clock.monotonicMs();
    if (this.#others !== null && askedMs < this.#others.untilMs) return this.#others.found;
    const found = await findOthers();
    this.#others = { found, untilMs: askedMs + othersLastMs };
    return found;
  }

  async #tellOne(at: WorkerAddress, changes: readonly Change[]): Promise<void> {
    const news = changes.filter(({ told }) => !told.has(at));
    if (news.length === 0) return;
    const payload = news.some(({ roomId }) => roomId === null) ? null : news.map(({ roomId }) => roomId);
    await this.#deps.bus.ask(at, { kind: this.#deps.kind, payload }, { deadlineMs: ANSWER_MS }).then(
      () => {
        for (const { told } of news) told.add(at);
      },
      () => undefined, // it is asked again, if it is still there
    );
  }
}

/** So many are too much to name; those who have heard of some of them look once more. */
function asOneIfMany(changes: Change[], endMs: number): Change[] {
  if (changes.length <= LATE_MAX) return changes;
  const resolve = (): void => {
    for (const change of changes) change.resolve();
  };
  return [{ roomId: null, told: new Set(), endMs, resolve }];
}
