/** The place of one actor on this worker, from the first command for it until it is down. */
import type { Actor } from './actor.ts';

/** The way to an actor, for who tells it much: the actor need not be looked up for each command. */
export interface Line<Command> {
  /** False while the actor cannot hear it, and for good when it is gone: nothing was told, and whoever knows the key may find another way. */
  tell(command: Command): boolean;
}

export interface Waiting<Command> {
  run(actor: Actor<Command>): void;
  fail(error: unknown): void;
}

export class Slot<Command> implements Line<Command> {
  /** Null while it loads, and when it is gone. */
  actor: Actor<Command> | null = null;
  /** Commands that arrived before the actor was ready, in order. */
  readonly waiting: Waiting<Command>[] = [];
  /** So many of these were there before the load began to look. */
  early = 0;
  /** Settles, never rejects, when the load is over. */
  loaded: Promise<void> = Promise.resolve();
  /** Settles, never rejects, when the actor is down; null while it is up. */
  stopped: Promise<void> | null = null;
  /** It was seen idle, and its turn to stop has not come. */
  isIdle = false;
  /** It goes to another worker: who waits for the end of the stop is to follow it. */
  isMoving = false;

  tell(command: Command): boolean {
    if (this.actor === null || this.stopped !== null) return false;
    this.actor.tell(command);
    return true;
  }
}
