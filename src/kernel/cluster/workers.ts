/**
 * Who is alive, as far as this worker knows: heartbeats through the directory, or the leases in the database while that is away.
 *
 * Nothing that is decided here is trusted: it says where to try first. A worker that could not be reached is passed over for a while.
 */
import { Away } from '../../base/away.ts';
import type { Clock } from '../../base/clock.ts';
import type { Incarnation, WorkerAddress } from '../../base/ids.ts';
import type { Log } from '../../base/observe.ts';
import type { Directory, WorkerEntry } from './directory.ts';

export interface WorkersDeps {
  readonly directory: Directory;
  /** The workers with a valid lease, from the database. */
  readonly findLeased: () => Promise<WorkerEntry[]>;
  /** This worker as it is now; null while it holds no lease. */
  readonly self: () => WorkerEntry | null;
  readonly clock: Clock;
  readonly log: Log;
}

const BEAT_EVERY_MS = 1_000;
/** A worker that did not answer is tried again after this; by then its lease tells whether it lives. */
const SUSPECT_MS = 5_000;
/** Longer than a worker that has ended, or a name that this one had before, is heard of: another that lives has this address. */
const NAMESAKE_MS = 10_000;

export class Workers {
  readonly #deps: WorkersDeps;
  readonly #suspectUntilMs = new Map<WorkerAddress, number>();
  readonly #stopBeating: () => void;
  #others: readonly WorkerEntry[] = [];
  #isDirectoryAway = false;
  readonly #directoryAway: Away;
  #isBeating = false;
  /** Another worker under the address of this one, since when it is heard of (monotonic), and whether that has been said. */
  #namesake: { readonly incarnation: Incarnation; readonly sinceMs: number; isSaid: boolean } | null = null;

  constructor(deps: WorkersDeps) {
    this.#deps = deps;
    const lines = { away: 'directory away; the database tells who is alive', back: 'directory back' };
    this.#directoryAway = new Away({ clock: deps.clock, log: deps.log, ...lines });
    this.#stopBeating = deps.clock.every(BEAT_EVERY_MS, () => void this.beat());
  }

  /** Those that may take actors: alive, not draining, not under suspicion; this worker included when it may. */
  get candidates(): WorkerEntry[] {
    const self = this.#deps.self();
    const all = self === null ? this.#others : [self, ...this.#others];
    return all.filter(({ address, draining }) => !draining && !this.isSuspect(address));
  }

  /** Whether the loads of others are theirs: the database, asked while the directory is away, tells of none. */
  get knowsLoads(): boolean {
    return !this.#isDirectoryAway;
  }

  /** All others that were heard of, draining ones too. */
  get others(): readonly WorkerEntry[] {
    return this.#others;
  }

  isSuspect(address: WorkerAddress): boolean {
    const untilMs = this.#suspectUntilMs.get(address);
    if (untilMs === undefined) return false;
    if (untilMs > this.#deps.clock.monotonicMs()) return true;
    this.#suspectUntilMs.delete(address);
    return false;
  }

  /** It could not be reached, or is stopping: not a place for actors for now. */
  suspect(address: WorkerAddress): void {
    this.#suspectUntilMs.set(address, this.#deps.clock.monotonicMs() + SUSPECT_MS);
  }

  /** It has answered. */
  trust(address: WorkerAddress): void {
    this.#suspectUntilMs.delete(address);
  }

  /** Announces this worker and learns of the others; also called at once when something about this worker changes. Never rejects. */
  async beat(): Promise<void> {
    const self = this.#deps.self();
    if (self === null || this.#isBeating) return;
    this.#isBeating = true;
    const found = await this.#seen(self);
    this.#isBeating = false;
    if (found === null) return;
    this.#others = found.filter(({ address }) => address !== self.address);
    this.#lookForNamesake(found, self);
  }

  /** Whoever looks for a room of the one is led to the other, or to itself, for ever: nothing else tells of it. */
  #lookForNamesake(found: readonly WorkerEntry[], self: WorkerEntry): void {
    const { clock, log } = this.#deps;
    const others = found.filter(({ address, incarnation }) => address === self.address && incarnation !== self.incarnation);
    const known = others.find(({ incarnation }) => incarnation === this.#namesake?.incarnation) ?? others[0];
    if (known?.incarnation !== this.#namesake?.incarnation)
      this.#namesake =
        known === undefined ? null : { incarnation: known.incarnation, sinceMs: clock.monotonicMs(), isSaid: false };
    const namesake = this.#namesake;
    if (namesake === null || namesake.isSaid || clock.monotonicMs() - namesake.sinceMs < NAMESAKE_MS) return;
    namesake.isSaid = true;
    log.error({ address: self.address, setting: 'BUS_HOST' }, 'another worker has the same address');
  }

  /** Null when neither directory nor database answers: then what was known goes on to count. */
  async #seen(self: WorkerEntry): Promise<WorkerEntry[] | null> {
    try {
      const found = await this.#deps.directory.heartbeat(self);
      this.#isDirectoryAway = false;
      this.#directoryAway.answered();
      return found;
    } catch (error) {
      this.#isDirectoryAway = true;
      this.#directoryAway.failed(error);
      return this.#deps.findLeased().catch(() => null);
    }
  }

  close(): void {
    this.#stopBeating();
  }
}
