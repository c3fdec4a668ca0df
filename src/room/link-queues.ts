/**
 * What rooms here have for sessions on other workers, while a link there is full: it waits in order, and is packed for the link only when that has room. Many
 * sessions that fetch large documents at once would else end the link for all.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { Clock } from '../base/clock.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Bus, Message } from '../kernel/cluster/bus.ts';

export interface LinkQueuesDeps {
  readonly bus: Pick<Bus, 'tell' | 'waitingBytes'>;
  readonly clock: Pick<Clock, 'after'>;
}

interface Waiting {
  readonly message: Message;
  readonly length: number;
}

/** With more than this on its way a link is full: what else crosses it, and one more document, still fit into what it may hold. */
const LINK_BYTES_MAX = 64 * 1024 * 1024;
/** For one worker; of a document that many fetch each counts, though they may share it. */
const WAITING = { itemsMax: 10_000, bytesMax: 256 * 1024 * 1024 } as const;
const LOOK_EVERY_MS = 10;

export class LinkQueues {
  readonly #deps: LinkQueuesDeps;
  /** None for a worker that takes what it is sent. */
  readonly #queues = new Map<WorkerAddress, BoundedQueue<Waiting>>();

  constructor(deps: LinkQueuesDeps) {
    this.#deps = deps;
  }

  /** Sends it, behind what waits. False when it does not fit. */
  tell(to: WorkerAddress, waiting: Waiting): boolean {
    const queue = this.#queues.get(to);
    if (queue !== undefined) return queue.push(waiting, waiting.length);
    if (this.#deps.bus.waitingBytes(to) <= LINK_BYTES_MAX) {
      this.#deps.bus.tell(to, waiting.message);
      return true;
    }
    const first = new BoundedQueue<Waiting>(WAITING);
    if (!first.push(waiting, waiting.length)) return false;
    this.#queues.set(to, first);
    this.#lookSoon(to, first);
    return true;
  }

  /** That worker has ended, or fell out of touch: its sessions are others by now. */
  forget(to: WorkerAddress): void {
    this.#queues.delete(to);
  }

  #lookSoon(to: WorkerAddress, queue: BoundedQueue<Waiting>): void {
    const { bus, clock } = this.#deps;
    clock.after(LOOK_EVERY_MS, () => {
      if (this.#queues.get(to) !== queue) return;
      while (bus.waitingBytes(to) <= LINK_BYTES_MAX) {
        const next = queue.shift();
        if (next === undefined) {
          this.#queues.delete(to);
          return;
        }
        bus.tell(to, next.message);
      }
      this.#lookSoon(to, queue);
    });
  }
}
