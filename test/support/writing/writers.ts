/**
 * Clients that write under load: each write carries an id, and the log is told of it before it is sent and again when the server has
 * acknowledged it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../../fuzz/dice.ts';
import type { Target } from './place.ts';

/** Hears what a writer did and saw. */
export interface WriteLog {
  wrote(id: string): void;
  /** The server said that it has it. */
  acked(id: string): void;
  /** Another client was told of it by a route that tells only what will stay (reliability 3.2, C8). */
  shown(id: string): void;
  /** A snapshot that was asked for at `askedMs`, of `performance.now`, held these. */
  saw?(ids: readonly string[], askedMs: number): void;
  /** A socket of the writer has ended, or did not come to be. */
  lostSocket?(code: number, reason: string): void;
}

export interface Writer {
  /** Makes one write; does not wait for the answer. */
  write(): void;
  /** Waits until all that it still holds is acknowledged. */
  settle(): Promise<void>;
  leave(): void;
}

export interface WriterDeps {
  readonly server: Target;
  readonly ledger: WriteLog;
  readonly roomId: string;
  /** Ids of the calls to come; never the same twice. */
  readonly nextId: (kind: string) => string;
}

/** Longer than the pause the SDK makes when it was told twice in a row to try again later: 30 s (protocol 3.4). */
export const SDK_SETTLE_MS_MAX = 50_000;

/** Longest time between two writes of one writer. */
const PAUSE_MS_MAX = 25;

/** Lets writers write until told to stop. */
export async function keepWriting(
  writer: Writer,
  dice: Dice,
  { isOver, pauseMsMax = PAUSE_MS_MAX }: { isOver: () => boolean; pauseMsMax?: number },
): Promise<void> {
  while (!isOver()) {
    writer.write();
    await sleep(dice.below(pauseMsMax));
  }
}
