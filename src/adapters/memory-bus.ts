/**
 * The bus between workers that share a process: one in embedded mode, several in tests. A message is still never handled in the turn that
 * sends it, as on a wire.
 */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Incarnation } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Bus, BusHandler, Envelope } from '../kernel/cluster/bus.ts';

export class MemoryBus implements Bus {
  readonly #deps: { readonly clock: Clock; readonly log: Log };
  readonly #handlers = new Map<Incarnation, BusHandler>();

  constructor(deps: { readonly clock: Clock; readonly log: Log }) {
    this.#deps = deps;
  }

  serve(self: Incarnation, handler: BusHandler): void {
    this.#handlers.set(self, handler);
  }

  /** The worker is gone: what is sent to it fails from now on. */
  leave(self: Incarnation): void {
    this.#handlers.delete(self);
  }

  tell(to: Incarnation, envelope: Envelope): void {
    this.#deliver(to, envelope).catch((error: unknown) =>
      this.#deps.log.debug({ err: error, kind: envelope.kind }, 'message lost'),
    );
  }

  async ask(to: Incarnation, envelope: Envelope, { deadlineMs }: { deadlineMs: number }): Promise<unknown> {
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = this.#deps.clock.after(deadlineMs, () => reject(new AppError('ROOM_MOVED', { reason: 'no answer in time' })));
    });
    return Promise.race([this.#deliver(to, envelope), late]).finally(cancel);
  }

  #deliver(to: Incarnation, envelope: Envelope): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#deps.clock.soon(() => {
        const handler = this.#handlers.get(to);
        if (handler === undefined) reject(new AppError('ROOM_MOVED'));
        else
          Promise.resolve()
            .then(() => handler(envelope))
            .then(resolve, reject);
      });
    });
  }
}
