/**
 * The Storage ops of one client that were passed on and are not answered yet: what it will send again once it has read a new snapshot, all of
 * them and in order (protocol 6.1).
 *
 * After its session has joined anew, ops are held back until the oldest of these comes by again. What the client sends before it has read the
 * snapshot would otherwise be applied before what was lost, and would build on what is not there.
 */
import { SmallSet } from '../base/small.ts';
import type { Command } from './shapes.ts';

/** Ops of one client that may wait for the room's answers when it sends more: a frame of FRAME_BYTES_MAX holds up to 300,000, and a room answers in a commit. */
const OPS_MAX = 500_000;

export class Unanswered {
  /** Null while the client has written nothing. */
  #opIds: Set<string> | null = null;
  /** The op that the client begins with when it sends all of them again. */
  #awaited: string | null = null;

  /** Whether no more may come before some are answered. */
  get isFull(): boolean {
    return this.#opIds !== null && this.#opIds.size > OPS_MAX;
  }

  get isAwaiting(): boolean {
    return this.#awaited !== null;
  }

  /** Whether the room is to hear the command now; if not, the client will send it again. */
  passes(command: Command): boolean {
    if (command.type !== 'storage.change') return true;
    if (this.#awaited !== null) {
      if (!command.ops.some(({ opId }) => opId === this.#awaited)) return false;
      this.#awaited = null;
      this.#opIds = null; // what the client does not send again, it does not wait for
    }
    this.note(command);
    return true;
  }

  /** The client waits for the answers to its ops, though nobody has heard them. */
  note(command: Command): void {
    if (command.type !== 'storage.change') return;
    this.#opIds ??= new SmallSet();
    for (const { opId } of command.ops) if (opId !== undefined) this.#opIds.add(opId);
  }

  answered(opIds: readonly string[]): void {
    for (const opId of opIds) this.#opIds?.delete(opId);
  }

  /** The session has joined anew. */
  rejoined(): void {
    const [oldest] = this.#opIds ?? [];
    this.#awaited = oldest ?? null;
  }
}
