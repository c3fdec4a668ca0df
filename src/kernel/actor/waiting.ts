/** Commands that wait for one actor, in order. What they hold is counted with that of all other actors of the host. */
import type { Actor } from './actor.ts';

export interface Waiting<Command> {
  run(actor: Actor<Command>): void;
  fail(error: unknown): void;
  /** About how much memory it holds; 0 where others bound that. */
  readonly bytes: number;
}

/** Of all actors together. */
export interface Total {
  bytes: number;
}

export class WaitingCommands<Command> {
  readonly #total: Total;
  readonly #list: Waiting<Command>[] = [];
  #bytes = 0;

  constructor(total: Total) {
    this.#total = total;
  }

  get length(): number {
    return this.#list.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(...more: readonly Waiting<Command>[]): void {
    this.#list.push(...more);
    for (const { bytes } of more) this.#count(bytes);
  }

  shift(): Waiting<Command> | undefined {
    const next = this.#list.shift();
    if (next !== undefined) this.#count(-next.bytes);
    return next;
  }

  /** Takes the first of them away, or all. */
  take(most = this.#list.length): Waiting<Command>[] {
    const taken = this.#list.splice(0, most);
    for (const { bytes } of taken) this.#count(-bytes);
    return taken;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#total.bytes += bytes;
  }
}
