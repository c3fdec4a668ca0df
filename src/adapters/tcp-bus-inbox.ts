/** What other workers send to this one: hands it to the handler, and its outcome back to who asked. It knows no sockets. */
import type { Random } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { BusHandler, Message } from '../kernel/cluster/bus.ts';
import { boundedFrame, packFrame } from './tcp-bus-frames.ts';

/** Where a message came from, and the outcome goes. */
export interface Sender {
  readonly address: WorkerAddress;
  /** The number of the ask; null for a tell, whose outcome nobody waits for. */
  readonly askId: number | null;
  /** Takes a packed frame, valid until the next one is packed. */
  send(body: Uint8Array): void;
  /** The handler takes its time, then has finished. */
  begun(): void;
  finished(): void;
}

export interface InboxDeps {
  readonly log: Log;
  readonly random: Random;
  readonly frameBytesMax: number;
}

export class Inbox {
  readonly #deps: InboxDeps;
  #handler: BusHandler | null = null;

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  get isServed(): boolean {
    return this.#handler !== null;
  }

  serve(handler: BusHandler): void {
    this.#handler = handler;
  }

  /** Never throws. */
  hear(message: Message, sender: Sender): void {
    try {
      if (this.#handler === null) throw new AppError('WORKER_UNREACHABLE');
      const outcome = this.#handler(message, sender.address);
      if (outcome instanceof Promise) this.#follow(outcome, message, sender);
      else this.#answer(outcome, message, sender);
    } catch (error) {
      this.#refuse(error, message, sender);
    }
  }

  #follow(outcome: Promise<unknown>, message: Message, sender: Sender): void {
    sender.begun();
    outcome.then(
      (value) => {
        this.#answer(value, message, sender);
        sender.finished();
      },
      (error: unknown) => {
        this.#refuse(error, message, sender);
        sender.finished();
      },
    );
  }

  #answer(value: unknown, message: Message, sender: Sender): void {
    if (sender.askId === null) return;
    try {
      sender.send(boundedFrame({ type: 'answer', id: sender.askId, value }, this.#deps));
    } catch (error) {
      this.#refuse(error, message, sender); // it cannot be packed
    }
  }

  #refuse(error: unknown, { kind }: Message, { address: peer, askId, send }: Sender): void {
    const { log, random } = this.#deps;
    const isRefusal = error instanceof AppError;
    const refusal = isRefusal ? error : new AppError('INTERNAL_SERVER_ERROR', { errorId: random.uuid() });
    if (!isRefusal) log.error({ errorId: refusal.facts.errorId, kind, peer, err: error }, 'message failed');
    else if (askId === null) log.debug({ code: refusal.code, kind, peer }, 'message refused');
    if (askId !== null) send(this.#refusalFrame(askId, refusal));
  }

  #refusalFrame(id: number, { code, facts }: AppError): Uint8Array {
    try {
      return boundedFrame({ type: 'refusal', id, code, facts }, this.#deps);
    } catch (error) {
      this.#deps.log.error({ code, err: error }, 'facts of a refusal cannot be sent');
      return packFrame({ type: 'refusal', id, code, facts: {} });
    }
  }
}
