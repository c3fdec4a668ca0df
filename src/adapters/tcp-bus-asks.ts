/** Asks that wait for their answers, each until its deadline. It knows neither links nor what is asked. */
import type { Clock } from '../base/clock.ts';
import { ERRORS, type Facts } from '../base/error-table.ts';
import { AppError, type ErrorCode } from '../base/errors.ts';
import { PassingMap } from '../base/passing.ts';

interface OpenAsk {
  isSent: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: AppError) => void;
  readonly cancelDeadline: () => void;
}

export class OpenAsks {
  readonly #clock: Clock;
  readonly #open = new PassingMap<number, OpenAsk>();
  #begun = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * `send` is given the number of the ask; when it throws, so does this. The promise ends as the answer does, and as `fail` says when the
   * deadline passes.
   */
  begin({ deadlineMs, send }: { deadlineMs: number; send: (id: number) => void }): Promise<unknown> {
    this.#begun += 1;
    const id = this.#begun;
    return new Promise((resolve, reject) => {
      const cancelDeadline = this.#clock.after(deadlineMs, () => this.fail(id));
      this.#open.set(id, { isSent: false, resolve, reject, cancelDeadline });
      try {
        send(id);
      } catch (error) {
        this.#end(id);
        reject(error);
      }
    });
  }

  isOpen(id: number): boolean {
    return this.#open.has(id);
  }

  /** From now on nobody knows whether it has its effect. */
  sent(id: number): void {
    const ask = this.#open.get(id);
    if (ask !== undefined) ask.isSent = true;
  }

  /** An answer that comes after the deadline is dropped. */
  answer(id: number, value: unknown): void {
    this.#end(id)?.resolve(value);
  }

  /** A code that only a newer worker knows is an error like any other. */
  refuse(id: number, { code, facts }: { code: string; facts: Facts }): void {
    const isKnown = Object.hasOwn(ERRORS, code);
    this.#end(id)?.reject(isKnown ? new AppError(code as ErrorCode, facts) : new AppError('INTERNAL_SERVER_ERROR'));
  }

  /** There will be no answer: WORKER_UNREACHABLE when it was not sent, else OUTCOME_UNKNOWN. */
  fail(id: number): void {
    const ask = this.#end(id);
    ask?.reject(new AppError(ask.isSent ? 'OUTCOME_UNKNOWN' : 'WORKER_UNREACHABLE'));
  }

  failAll(): void {
    for (const id of this.#open.keys()) this.fail(id);
  }

  #end(id: number): OpenAsk | undefined {
    const ask = this.#open.get(id);
    ask?.cancelDeadline();
    this.#open.delete(id);
    return ask;
  }
}
