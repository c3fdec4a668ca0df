import type { AppError } from '../../base/errors.ts';
import type { Recall } from '../cluster/ownership.ts';

/** Why an actor is gone that nobody stopped: it is not this worker's any more, or it failed, and may again of the same when it is loaded anew. */
export type Loss = 'taken' | 'failed';

/** What the kernel knows of an actor: it acts on commands one at a time, can be idle, and can be stopped in order. */
export interface Actor<Command> {
  /**
   * Decides and performs the effects, at once unless a read must be prepared first; the promise is the reply, which may wait for the journal.
   * @throws AppError the refusal of the command, in the same turn; of one that was prepared the promise rejects with it.
   */
  act(command: Command): Promise<unknown>;
  /** The same for commands without an answer: refusals are the actor's own affair. */
  tell(command: Command): void;
  /**
   * The command was told, and is not to be decided: as if that had thrown `error`, also while it stops. False when nobody sent it whom that could be said to; then
   * nothing was done.
   */
  refuse(command: Command, error: AppError): boolean;
  /** Called about once a second. */
  tick(monotonicMs: number): void;
  /** True when it has had nothing to do for so long that it may sleep. */
  isIdle(monotonicMs: number): boolean;
  /** How many would notice that it stops here and goes on elsewhere. */
  readonly followers: number;
  /** Whether it would refuse any change now: as much waits for the journal as may. */
  readonly isFull: boolean;
  /** The worker's lease is over: writes nothing new and answers nothing of substance, but stays as it is. */
  suspend(): void;
  /** The worker has a lease again: the actor is claimed anew, or is lost. Rejects, or says so, when it must be tried again. */
  resume(): Promise<'resumed' | 'not yet'>;
  /** A change of the database took the actor of this stream from all who claimed it under a lower epoch: forgets everything, if that is meant. */
  recall(recall: Recall): void;
  /** The store may have lost the last that it acknowledged: what is in memory is written down whole, in its turn. */
  saveAnew(): void;
  /** This worker may not speak for it any more: forgets what was not told. Afterwards it is never called again. */
  drop(): void;
  /** Writes down what is not yet written, gives up ownership. Afterwards it is told nothing but `saveAnew`, while it stops. */
  stop(): Promise<void>;
}
