/**
 * The directory port: hints on who is alive and where an actor was last seen. It may forget or be wrong at any time:
 * ownership is decided by `ownership.ts` in the database alone. Memory in embedded mode, Redis in a cluster.
 */
import type { Incarnation, WorkerAddress } from '../../base/ids.ts';

export interface WorkerEntry {
  readonly incarnation: Incarnation;
  /** host:port of the worker's bus. */
  readonly address: WorkerAddress;
  readonly draining: boolean;
  /** Number of actors alive there; weighs placement. */
  readonly load: number;
}

export interface Location {
  readonly key: string;
  readonly incarnation: Incarnation;
  readonly address: WorkerAddress;
  readonly epoch: number;
}

/** A worker that has not been heard of for so long counts as gone. */
export const WORKER_SILENT_MS = 3_000;

/** Every method may reject when the directory is away, and then does so within a fraction of a second: callers go on without it. */
export interface Directory {
  /** Announces this worker and returns all that were heard of within WORKER_SILENT_MS, this one included. */
  heartbeat(self: WorkerEntry): Promise<WorkerEntry[]>;
  /** This worker is gone, in order: others need not wait for its silence. */
  leave(incarnation: Incarnation): Promise<void>;
  locate(key: string): Promise<Location | null>;
  /** Publishes a location; one of an older epoch never replaces a newer. */
  publish(location: Location): Promise<void>;
  /** Removes the location if it still is this one. */
  retract(location: Location): Promise<void>;
  close(): Promise<void>;
}
