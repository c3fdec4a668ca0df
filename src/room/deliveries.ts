/**
 * Frames on their way to many sockets: some in each turn of the event loop, so that whoever speaks in another room waits for a moment, and not until thousands
 * have heard. Each socket gets what it gets in order: what comes for one that is still owed something waits behind it.
 */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import type { Hearer, Recipient } from './recipient.ts';

interface Delivery {
  readonly to: readonly Recipient[];
  /** Theirs when it began; null for one whose socket is not here. */
  readonly hearers: readonly (Hearer | null)[];
  readonly frames: readonly OutFrame[];
  readonly cameAtMs: number;
  /** Place of the one that is next. */
  next: number;
}

/** So many hear it in one turn: about half a millisecond. */
const AT_ONCE_MAX = 64;
/** What one turn has for those that are more. */
const SLICE_MS = 1;
const BETWEEN_LOOKS = 16;
/** What came so long ago leaves in this turn, however long that takes: a worker that cannot keep up is to read less, and not to gather more. */
const LATE_MS = 100;

export class Deliveries {
  readonly #deps: { readonly clock: Pick<Clock, 'soon' | 'monotonicMs'>; readonly log: Log };
  /** Oldest first. */
  readonly #leaving: Delivery[] = [];
  #leavesSoon = false;

  constructor(deps: { readonly clock: Pick<Clock, 'soon' | 'monotonicMs'>; readonly log: Log }) {
    this.#deps = deps;
  }

  /** To those of them whose hearer is known. Never throws. */
  deliver(to: readonly Recipient[], frames: readonly OutFrame[]): void {
    if (to.length > AT_ONCE_MAX || this.#isOwed(to)) this.#putOff(to, frames);
    else for (const { hearer } of to) if (hearer !== null) this.#send(hearer, frames);
  }

  /** Sends what is owed, all of it: before sockets are closed. */
  finish(): void {
    for (let first = this.#leaving[0]; first !== undefined; first = this.#leaving[0]) this.#sendSome(first, first.to.length);
  }

  #isOwed(to: readonly Recipient[]): boolean {
    return this.#leaving.length > 0 && to.some(({ hearer }) => hearer !== null && hearer.owed > 0);
  }

  #putOff(to: readonly Recipient[], frames: readonly OutFrame[]): void {
    const hearers = to.map(({ hearer }) => hearer);
    for (const hearer of hearers) if (hearer !== null) hearer.owed += 1;
    this.#leaving.push({ to, hearers, frames, cameAtMs: this.#deps.clock.monotonicMs(), next: 0 });
    if (!this.#leavesSoon) this.#slice();
  }

  #slice(): void {
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const mayGoOn = ({ cameAtMs }: Delivery): boolean => {
      const nowMs = clock.monotonicMs();
      return nowMs - startedMs < SLICE_MS || nowMs - cameAtMs >= LATE_MS;
    };
    let first = this.#leaving[0];
    for (; first !== undefined && mayGoOn(first); first = this.#leaving[0]) this.#sendSome(first, BETWEEN_LOOKS);
    if (first !== undefined) this.#sliceSoon();
  }

  #sliceSoon(): void {
    this.#leavesSoon = true;
    this.#deps.clock.soon(() => {
      this.#leavesSoon = false;
      this.#slice();
    });
  }

  /** To so many at most. What a send brings about may deliver, or finish, in the middle of it. */
  #sendSome(delivery: Delivery, most: number): void {
    const { to, hearers, frames } = delivery;
    const end = Math.min(delivery.next + most, to.length);
    while (delivery.next < end) {
      const at = delivery.next;
      delivery.next += 1;
      const hearer = hearers[at];
      if (hearer === null || hearer === undefined) continue;
      hearer.owed -= 1;
      if (hearer.carries(to[at]!.id)) this.#send(hearer, frames);
    }
    if (delivery.next === to.length && this.#leaving[0] === delivery) this.#leaving.shift();
  }

  /** What goes wrong costs one socket: its client would miss a frame. */
  #send(hearer: Hearer, frames: readonly OutFrame[]): void {
    try {
      hearer.send(frames);
    } catch (error) {
      this.#deps.log.error({ err: error }, 'delivery failed');
      hearer.refuse(new AppError('INTERNAL_SERVER_ERROR'));
    }
  }
}
