/** A worker as it reaches itself when something is sent to its own address: packed and unpacked as for all others, without a wire. */
import type { Clock } from '../base/clock.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Message } from '../kernel/cluster/bus.ts';
import { OpenAsks } from './tcp-bus-asks.ts';
import { boundedFrame, unpackFrame } from './tcp-bus-frames.ts';
import type { Inbox } from './tcp-bus-inbox.ts';

export interface LoopDeps {
  readonly address: WorkerAddress;
  readonly clock: Clock;
  readonly log: Log;
  readonly inbox: Inbox;
  readonly frameBytesMax: number;
  readonly onDown: () => void;
}

export class Loop {
  readonly #deps: LoopDeps;
  readonly #asks: OpenAsks;

  constructor(deps: LoopDeps) {
    this.#deps = deps;
    this.#asks = new OpenAsks(deps.clock);
  }

  tell(message: Message): void {
    try {
      this.#carry(boundedFrame({ type: 'tell', message }, this.#deps));
    } catch (error) {
      this.#deps.log.error({ kind: message.kind, err: error }, 'message cannot be sent');
      this.#deps.clock.soon(this.#deps.onDown);
    }
  }

  ask(message: Message, { deadlineMs }: { deadlineMs: number }): Promise<unknown> {
    const send = (id: number): void => {
      this.#carry(boundedFrame({ type: 'ask', id, message }, this.#deps));
      this.#asks.sent(id);
    };
    return this.#asks.begin({ deadlineMs, send });
  }

  close(): void {
    this.#asks.failAll();
  }

  #carry(body: Uint8Array): void {
    const frame = unpackFrame(body.slice());
    this.#deps.clock.soon(() => {
      if (frame.type === 'answer') return this.#asks.answer(frame.id, frame.value);
      if (frame.type === 'refusal') return this.#asks.refuse(frame.id, frame);
      if (frame.type !== 'ask' && frame.type !== 'tell') return;
      const nothing = (): void => undefined;
      this.#deps.inbox.hear(frame.message, {
        address: this.#deps.address,
        askId: frame.type === 'ask' ? frame.id : null,
        send: (answer) => this.#carry(answer),
        begun: nothing,
        finished: nothing,
      });
    });
  }
}
