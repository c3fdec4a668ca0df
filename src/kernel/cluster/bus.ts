/**
 * The bus port: messages between workers. In-process in embedded mode, one TCP connection per worker pair in a cluster.
 *
 * An `ask` ends in one of three ways: answered (also with a refusal), not sent (WORKER_UNREACHABLE), or unknown (OUTCOME_UNKNOWN).
 * A `tell` may be lost, but never silently: once something for a worker may have been lost, `onDown` names that worker.
 */
import type { WorkerAddress } from '../../base/ids.ts';

/** What a message is for, and the message; the bus does not look inside. Plain data: JSON values and Uint8Array. */
export interface Message {
  readonly kind: string;
  readonly payload: unknown;
}

/** Answers an ask, at once or later; what it returns for a tell is dropped. An AppError it throws is thrown to who asked. */
export type BusHandler = (message: Message, from: WorkerAddress) => Promise<unknown> | unknown;

export interface Bus {
  /** Where other workers reach this one. */
  readonly address: WorkerAddress;
  /** Registers the one handler of this worker's inbox; what comes before waits or is refused as WORKER_UNREACHABLE. */
  serve(handler: BusHandler): void;
  /** Sends without waiting. Order per pair of workers is kept, asks and answers included, until the pair is down. */
  tell(to: WorkerAddress, message: Message): void;
  /** What was sent to that worker and has not been taken from here yet. */
  waitingBytes(to: WorkerAddress): number;
  /**
   * Sends and waits for the answer.
   * @throws AppError the refusal of the handler; WORKER_UNREACHABLE: it was not sent; OUTCOME_UNKNOWN: sent, but the deadline passed or the
   * connection ended before the answer came.
   */
  ask(to: WorkerAddress, message: Message, options: { deadlineMs: number }): Promise<unknown>;
  /**
   * The listener hears of every worker to which something sent may have been lost, or from which something may have been missed: its process
   * ended, it fell silent, it does not take what waits for it. It may be back at once; sending to it begins anew.
   */
  onDown(listener: (address: WorkerAddress) => void): void;
  /** Ends all connections; open asks end as OUTCOME_UNKNOWN. */
  close(): Promise<void>;
}
