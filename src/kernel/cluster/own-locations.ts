/** Tells the directory which actors are on this worker. Hints: what cannot be told is logged and forgotten. */
import type { Incarnation, WorkerAddress } from '../../base/ids.ts';
import type { Log } from '../../base/observe.ts';
import type { Directory, Location } from './directory.ts';

export class OwnLocations {
  readonly #deps: {
    readonly directory: Directory;
    readonly address: WorkerAddress;
    readonly incarnation: () => Incarnation;
    readonly log: Log;
  };
  readonly #published = new Map<string, Location>();

  constructor(deps: { directory: Directory; address: WorkerAddress; incarnation: () => Incarnation; log: Log }) {
    this.#deps = deps;
  }

  /** Nothing when the actor has been claimed under a higher one since. */
  publish(key: string, epoch: number): void {
    if ((this.#published.get(key)?.epoch ?? epoch) > epoch) return;
    const { directory, address, incarnation } = this.#deps;
    const location = { key, epoch, address, incarnation: incarnation() };
    this.#published.set(key, location);
    directory.publish(location).catch((error: unknown) => this.#failed(error));
  }

  /** With an epoch, unless the actor has been claimed under another one since. */
  retract(key: string, epoch?: number): void {
    const location = this.#published.get(key);
    if (location === undefined || (epoch !== undefined && location.epoch !== epoch)) return;
    this.#published.delete(key);
    this.#deps.directory.retract(location).catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    this.#deps.log.debug({ err: error }, 'location not told');
  }
}
