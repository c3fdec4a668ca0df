/**
 * Frames on their way to the many sockets of a room: some in each turn of the event loop, so that whoever speaks in another room waits for a moment, and not
 * until thousands have heard. Each socket gets what it gets in order: what comes for one that is still owed something waits behind it.
 */
import type { Clock } from '../base/clock.ts';
import type { SessionId } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Slices } from '../base/slices.ts';
import { lengthOf } from '../kernel/transport/frame.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import type { Hearer, Recipient } from './recipient.ts';

interface Delivery {
  readonly frames: readonly OutFrame[];
  readonly hearers: readonly Hearer[];
  /** The sessions that they carried when it came. */
  readonly ids: readonly SessionId[];
  readonly cameAtMs: number;
  /** So many hear it in one step of a slice. */
  readonly step: number;
  /** Some of them were owed something when it came: it waits until all before it is through. */
  isBehind: boolean;
  /** Place of the one that is next. */
  next: number;
}

interface DeliveriesDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly slices: Slices;
  readonly log: Log;
}

/** So many hear it in one turn, and so many bytes leave with it: about half a millisecond. */
const AT_ONCE_MAX = 64;
const BYTES_AT_ONCE_MAX = 512 * 1024;
const STEP_MAX = 8;
const STEP_BYTES_MAX = 64 * 1024;
/** What came so long ago leaves in this turn, however long that takes: a worker that cannot keep up is to read less, and not to gather more. */
const LATE_MS = 100;
/** One more, and all leave at once. */
const LEAVING_MAX = 1_000;

export class Deliveries {
  readonly #deps: DeliveriesDeps;
  readonly #slices: Slices;
  /** Oldest first. */
  readonly #leaving = new Set<Delivery>();

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
    this.#slices = deps.slices;
  }

  /** To those of them whose hearer is known. Returns who hears it last, or null when all have heard. */
  deliver(to: readonly Recipient[], frames: readonly OutFrame[]): Hearer | null {
    if (isMuch(to.length, frames) || this.#isOwed(to)) return this.#begin(to, frames);
    for (const { hearer } of to) hearer?.send(frames);
    return null;
  }

  /** Sends what is owed, all of it: before a socket is closed that is owed something. */
  finish(): void {
    for (let first = this.#first(); first !== undefined; first = this.#first()) this.#sendSome(first, first.hearers.length);
  }

  #first(): Delivery | undefined {
    return this.#leaving.values().next().value;
  }

  #isOwed(to: readonly Recipient[]): boolean {
    return this.#leaving.size > 0 && to.some(({ hearer }) => hearer !== null && hearer.owed > 0);
  }

  #begin(to: readonly Recipient[], frames: readonly OutFrame[]): Hearer | null {
    const isBehind = this.#isOwed(to);
    const here = to.filter(({ hearer }) => hearer !== null);
    if (here.length === 0) return null;
    const hearers = here.map(({ hearer }) => hearer!);
    for (const hearer of hearers) hearer.owed += 1;
    const ids = here.map(({ id }) => id);
    const step = Math.min(STEP_MAX, Math.ceil(STEP_BYTES_MAX / lengthOfAll(frames)));
    const delivery: Delivery = { frames, hearers, ids, cameAtMs: this.#deps.clock.monotonicMs(), step, isBehind, next: 0 };
    this.#leaving.add(delivery);
    if (this.#leaving.size > LEAVING_MAX) this.finish();
    else if (!isBehind) this.#goOnSoon(delivery);
    return this.#leaving.has(delivery) ? hearers.at(-1)! : null;
  }

  #goOnSoon(delivery: Delivery): void {
    this.#slices.next(() => this.#goOn(delivery));
  }

  /** Never throws. What a send brings about may deliver, or finish, in the middle of it. */
  #goOn(delivery: Delivery): void {
    if (!this.#leaving.has(delivery)) return;
    const { clock, log } = this.#deps;
    try {
      this.#sendSome(delivery, clock.monotonicMs() - delivery.cameAtMs < LATE_MS ? delivery.step : delivery.hearers.length);
    } catch (error) {
      log.error({ err: error }, 'delivery failed'); // for one of them
    }
    if (this.#leaving.has(delivery)) this.#goOnSoon(delivery);
  }

  /** To so many at most. */
  #sendSome(delivery: Delivery, most: number): void {
    const { frames, hearers, ids } = delivery;
    const end = Math.min(delivery.next + most, hearers.length);
    while (delivery.next < end) {
      const place = delivery.next;
      const hearer = hearers[place]!;
      delivery.next += 1;
      hearer.owed -= 1;
      if (delivery.next === hearers.length) this.#through(delivery);
      if (hearer.carries(ids[place]!)) hearer.send(frames);
    }
  }

  /** Whoever waited for it alone is the first now. */
  #through(delivery: Delivery): void {
    this.#leaving.delete(delivery);
    const first = this.#first();
    if (!first?.isBehind) return;
    first.isBehind = false;
    this.#goOnSoon(first);
  }
}

/** One alone hears at once, however long it is: there is nobody to wait for. */
function isMuch(hearers: number, frames: readonly OutFrame[]): boolean {
  return hearers > AT_ONCE_MAX || (hearers > 1 && hearers * lengthOfAll(frames) > BYTES_AT_ONCE_MAX);
}

function lengthOfAll(frames: readonly OutFrame[]): number {
  let length = 0;
  for (const { data } of frames) length += lengthOf(data);
  return length;
}
