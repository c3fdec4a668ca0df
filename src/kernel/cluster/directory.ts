/**
 * The directory port: hints on who is alive and where an actor was last seen. It may forget or be wrong at any time:
 * ownership is decided by `ownership.ts` in the database alone. Memory in embedded mode, Redis in a cluster.
 */
import type { Incarnation } from '../../base/ids.ts';

export interface WorkerEntry {
  readonly incarnation: Incarnation;
  /** host:port of the worker's bus. */
  readonly address: string;
  readonly draining: boolean;
  /** Number of actors alive there; weighs placement. */
  readonly load: number;
}

export interface Location {
  readonly key: string;
  readonly incarnation: Incarnation;
  readonly epoch: number;
}

export interface Directory {
  /** Announces this worker and returns all that are alive. */
  heartbeat(self: WorkerEntry): Promise<WorkerEntry[]>;
  locate(key: string): Promise<Location | null>;
  /** Publishes a location; one of an older epoch never replaces a newer. */
  publish(location: Location): Promise<void>;
  /** Removes the location if it still is this one. */
  retract(location: Location): Promise<void>;
}
