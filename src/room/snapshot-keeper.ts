/**
 * Saves a room whole from time to time, so that its next owner has little to replay: after so many changes, bytes of journal, or seconds, and the
 * larger the room, the more of each, up to a bound: a large one costs much to encode, and a little more replay is little beside reading it.
 *
 * A snapshot is of a version that is durable, replaces older ones only, and one older stays with the journal that leads on from it: one
 * unreadable blob loses nothing.
 */
import { type Clock, doneWithin } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import type { SnapshotSave, Snapshots } from '../kernel/persistence/snapshots.ts';
import type { DocumentsAhead } from './documents-ahead.ts';
import type { RoomPolicy } from './policy.ts';
import type { RoomShell } from './room-shell.ts';
import { encodeSnapshot } from './snapshot.ts';
import type { Keeper } from './upkeep.ts';

export interface SnapshotKeeperDeps {
  readonly snapshots: Snapshots;
  readonly clock: Clock;
  readonly log: Log;
  readonly policy: RoomPolicy;
  readonly documents: DocumentsAhead;
}

type Shell = Pick<RoomShell, 'room' | 'ground' | 'place' | 'whenDurable'>;

/**
 * After a snapshot that failed, the next is not tried before; changes go on, covered by the journal. Twice as long each time: encoding whole rooms
 * in vain would slow down what the worker is there for.
 */
const AGAIN_FIRST_MS = 5_000;
const AGAIN_MS_MAX = 60_000;
/** The last one: people wait for the next owner, and a store that is silent says so after three times as long. */
const LAST_MS_MAX = 5_000;
/** A room of so many bytes waits twice as long as an empty one, of twice as many three times. */
const PATIENCE_BYTES = 256 * 1024;
/** No room waits longer than this many times: with the default, some 8 MiB of journal to replay, as many as wait for a store of blobs that is away. */
const PATIENCE_MAX = 8;

export class SnapshotKeeper implements Keeper {
  readonly #deps: SnapshotKeeperDeps;
  readonly #shell: Shell;
  #savedVersion: number;
  /** Monotonic, like the next: when the last one was begun, and when one may be tried again. */
  #begunAtMs: number;
  #notBeforeMs = 0;
  #failures = 0;
  #bytesSince = 0;
  /** Of the newest snapshot. */
  #savedBytes: number;
  #isSaving = false;
  /** How often what was saved came into doubt, and as of which of these doubts it is saved again. */
  #doubts = 0;
  #doubtsMet = 0;

  constructor(deps: SnapshotKeeperDeps, shell: Shell) {
    this.#deps = deps;
    this.#shell = shell;
    const { snapshotVersion, snapshotBytes } = shell.ground;
    this.#savedVersion = snapshotVersion;
    this.#savedBytes = snapshotBytes;
    this.#begunAtMs = deps.clock.monotonicMs();
  }

  /** So many bytes were added to the journal. */
  appended(bytes: number): void {
    this.#bytesSince += bytes;
    const { policy } = this.#deps;
    const { room } = this.#shell;
    const changes = (room.version - this.#savedVersion) / this.#patience;
    if (changes >= policy.snapshotAfterChanges || this.#bytesSince / this.#patience >= policy.snapshotAfterBytes) this.#take();
  }

  isDue(monotonicMs: number): boolean {
    const { policy } = this.#deps;
    if (this.#isDoubted) return this.#maySave(monotonicMs);
    const isOld = monotonicMs - this.#begunAtMs >= policy.snapshotEveryMs * this.#patience;
    return isOld && this.#shell.room.version > this.#savedVersion && this.#maySave(monotonicMs);
  }

  tick(monotonicMs: number): void {
    if (this.isDue(monotonicMs)) this.#take();
  }

  /** The database may have lost the last that it acknowledged, snapshots and journal: the state of now is saved, whatever was saved before. */
  doubt(): void {
    if (this.#shell.room.version === 0) return;
    this.#doubts += 1;
    this.#failures = 0;
    this.#notBeforeMs = 0;
  }

  get #isDoubted(): boolean {
    return this.#doubts > this.#doubtsMet;
  }

  #maySave(monotonicMs: number): boolean {
    return !this.#isSaving && monotonicMs >= this.#notBeforeMs;
  }

  get #patience(): number {
    return Math.min(PATIENCE_MAX, 1 + Math.floor(this.#savedBytes / PATIENCE_BYTES));
  }

  /** The one at the end, when all is durable; without it the next owner replays the journal, so one that takes long is not waited for. Never rejects. */
  async saveLast({ mayWait }: { readonly mayWait: boolean }): Promise<void> {
    const { clock } = this.#deps;
    const { room } = this.#shell;
    if (room.version <= this.#savedVersion && !this.#isDoubted) return;
    try {
      const ahead = this.#ahead();
      if (ahead !== null && !(await this.#isDoneInTime(ahead))) return;
      const { version } = room;
      const bytes = encodeSnapshot(room);
      if (ahead !== null && !(await this.#isDurable())) return; // something was decided meanwhile
      const saved = this.#save({ bytes, version, mayWait }).catch((error: unknown) => this.#failed(error));
      await doneWithin(clock, LAST_MS_MAX, saved);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #isDoneInTime(work: Promise<void>): Promise<boolean> {
    let isDone = false;
    const noted = work.then(() => {
      isDone = true;
    });
    await doneWithin(this.#deps.clock, LAST_MS_MAX, noted);
    return isDone;
  }

  /** Resolves when all that is decided is in the journal, or with false when the room was lost before. */
  #isDurable(): Promise<boolean> {
    return new Promise((resolve) =>
      this.#shell.whenDurable({ release: () => resolve(true), refuse: () => resolve(false), bytes: 0 }),
    );
  }

  /** The state of this moment, or of the one in which large documents have been read, saved once it is durable; a room has one snapshot under way at most. */
  #take(): void {
    if (!this.#maySave(this.#deps.clock.monotonicMs())) return;
    this.#isSaving = true;
    try {
      const ahead = this.#ahead();
      if (ahead === null) this.#takeNow();
      else void ahead.then(() => this.#takeNow()).catch((error: unknown) => this.#notTaken(error));
    } catch (error) {
      this.#notTaken(error);
    }
  }

  #notTaken(error: unknown): void {
    this.#isSaving = false;
    this.#failed(error);
  }

  #takeNow(): void {
    const bytes = encodeSnapshot(this.#shell.room);
    const { version } = this.#shell.room;
    const done = (): void => {
      this.#isSaving = false;
    };
    const save = (): void => {
      this.#save({ bytes, version, mayWait: true })
        .catch((error: unknown) => this.#failed(error))
        .finally(done);
    };
    this.#shell.whenDurable({ release: save, refuse: done, bytes: bytes.length });
  }

  async #save({ bytes, version, mayWait }: Required<Omit<SnapshotSave, 'stream' | 'epoch'>>): Promise<void> {
    const { clock, snapshots } = this.#deps;
    const { stream, epoch } = this.#shell.ground;
    this.#begunAtMs = clock.monotonicMs();
    this.#bytesSince = 0;
    const doubts = this.#doubts;
    const outcome = await snapshots.save({ stream, epoch, version, bytes, mayWait });
    this.#failures = 0;
    // One that is stale because the room was claimed anew meanwhile, or is being, has saved nothing.
    if (outcome === 'saved' || this.#shell.place?.epoch === epoch) this.#doubtsMet = doubts;
    if (outcome === 'stale') return;
    this.#savedVersion = version;
    this.#savedBytes = bytes.length;
  }

  /** Has the Yjs documents read and written, if that takes long. */
  #ahead(): Promise<void> | null {
    const { ydocs } = this.#shell.room;
    return ydocs.size === 0 ? null : this.#deps.documents.prepare(ydocs.values(), ['write']);
  }

  #failed(error: unknown): void {
    this.#notBeforeMs = this.#deps.clock.monotonicMs() + Math.min(AGAIN_MS_MAX, AGAIN_FIRST_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#deps.log.error({ err: error, roomId: this.#shell.room.id }, 'snapshot failed');
  }
}
