/**
 * The bus port: messages between workers. `tell` may be lost; `ask` ends as ok, failed or unknown.
 * In-process in embedded mode, one TCP connection per worker pair in a cluster.
 */
import type { Incarnation } from '../../base/ids.ts';

export interface Envelope {
  readonly from: Incarnation;
  /** What the payload is for; the kernel does not look inside. */
  readonly kind: string;
  readonly payload: unknown;
}

export type BusHandler = (envelope: Envelope) => Promise<unknown> | unknown;

export interface Bus {
  /** Registers the one handler of a worker's inbox. */
  serve(self: Incarnation, handler: BusHandler): void;
  /** Sends without waiting; order per pair of workers is kept. */
  tell(to: Incarnation, envelope: Envelope): void;
  /** Sends and waits for the answer of the handler. @throws AppError ROOM_MOVED when the worker is gone. */
  ask(to: Incarnation, envelope: Envelope, options: { deadlineMs: number }): Promise<unknown>;
}
