/**
 * Workers that talk to each other while wires are cut, slowed and silenced and workers start anew, judged by what the port promises. Seeded, though
 * the timing of sockets is not; `BUS_SEEDS=1000:200` runs 200 seeds from 1,000 on.
 */
import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { AppError } from '../../src/base/errors.ts';
import type { WorkerAddress } from '../../src/base/ids.ts';
import type { Bus } from '../../src/kernel/cluster/bus.ts';
import { Dice } from '../fuzz/dice.ts';
import { until } from '../support/e2e/until.ts';
import type { Direction } from '../support/tcp-proxy.ts';
import { aProxiedBus, type ProxiedBus } from '../support/tcp-workers.ts';

const WORKERS = 3;
const RUN_MS = 1_200;
const FASTER = 10;
/** All times of the bus pass ten times as fast: a silent peer is found in 0.3 s. */
const fastClock: Clock = {
  ...systemClock,
  after: (delayMs, task) => systemClock.after(delayMs / FASTER, task),
  every: (everyMs, task) => systemClock.every(everyMs / FASTER, task),
};

/** One message that was sent, the `n`th of one life to one address. */
interface Sent {
  readonly n: number;
  /** The outcome of an ask; null for a tell. */
  outcome: string | null;
  heardTimes: number;
  /** The sender was told that it may be lost. */
  isExcused: boolean;
}

/** What one life of a worker heard, in this order. */
type Heard = { readonly from: WorkerAddress; readonly life: number; readonly n: number } | { readonly down: WorkerAddress };

/** One life of a worker, and its diary. */
class Life {
  readonly number: number;
  readonly bus: Bus;
  readonly heard: Heard[] = [];
  readonly #sent = new Map<WorkerAddress, Sent[]>();
  isOver = false;

  constructor(bus: Bus, number: number) {
    this.number = number;
    this.bus = bus;
    bus.onDown((address) => {
      this.heard.push({ down: address });
      for (const sent of this.sentTo(address)) sent.isExcused = true;
    });
  }

  get allSent(): Sent[] {
    return [...this.#sent.values()].flat();
  }

  sentTo(address: WorkerAddress): Sent[] {
    const known = this.#sent.get(address) ?? [];
    this.#sent.set(address, known);
    return known;
  }

  tell(to: WorkerAddress, size: number): void {
    const sent = this.#note(to, null);
    this.bus.tell(to, this.#message(sent, size));
  }

  /** The outcome. */
  async ask(to: WorkerAddress, size: number, deadlineMs: number): Promise<string> {
    const sent = this.#note(to, 'open');
    sent.outcome = await this.bus.ask(to, this.#message(sent, size), { deadlineMs: deadlineMs * FASTER }).then(
      (value) => (value === sent.n ? 'answered' : `answered by ${value}`),
      (error: AppError) => error.code,
    );
    return sent.outcome;
  }

  #note(to: WorkerAddress, outcome: string | null): Sent {
    const all = this.sentTo(to);
    const sent = { n: all.length, outcome, heardTimes: 0, isExcused: false };
    all.push(sent);
    return sent;
  }

  #message({ n }: Sent, size: number) {
    return { kind: 'test', payload: { life: this.number, n, filling: new Uint8Array(size) } };
  }
}

interface Place extends ProxiedBus {
  life: Life;
}

class Cluster {
  readonly lives: Life[] = [];
  readonly #dice: Dice;
  readonly #places: Place[] = [];

  constructor(seed: number) {
    this.#dice = new Dice(seed);
  }

  async start(): Promise<void> {
    for (let index = 0; index < WORKERS; index += 1) {
      const proxied = await aProxiedBus({ clock: fastClock });
      this.#places.push({ ...proxied, life: this.#live(proxied.bus) });
    }
  }

  /** Everybody says something to somebody, or nothing. */
  speak(): void {
    for (const [life, to] of this.#pairs()) {
      if (life.isOver) continue;
      for (let count = this.#dice.below(4); count > 0; count -= 1) {
        const size = this.#dice.below(Number(this.#dice.weighted({ 1: 10, 300: 5, 20000: 1 })));
        if (this.#dice.chance(0.7)) life.tell(to, size);
        else void life.ask(to, size, this.#dice.pick([5, 100, 400]));
      }
    }
  }

  async disturb(): Promise<void> {
    const dice = this.#dice;
    const place = dice.pick(this.#places);
    const { proxy } = place;
    const acts = { cut: 4, cutAfter: 2, refuse: 1, delay: 2, throttle: 1, blackHole: 2, heal: 6, restart: 1 };
    const act = dice.weighted(acts);
    if (act === 'cut') proxy.cut();
    else if (act === 'cutAfter') proxy.cutAfter({ bytes: dice.below(20_000) });
    else if (act === 'refuse') proxy.refuse();
    else if (act === 'delay') proxy.delay({ ms: dice.below(20) });
    else if (act === 'throttle') proxy.throttle({ bytesPerSecond: 100_000 });
    else if (act === 'blackHole') proxy.blackHole(...dice.pick<Direction[]>([[], ['toTarget'], ['toClient']]));
    else if (act === 'heal') proxy.heal();
    else await this.#restart(place);
  }

  /** The wires are well again, everybody reaches everybody, and every ask has ended. */
  async settle(): Promise<void> {
    for (const { proxy } of this.#places) proxy.heal();
    for (const [life, to] of this.#pairs()) {
      await until(`life ${life.number} reaches ${to}`, async () => (await life.ask(to, 0, 400)) === 'answered');
    }
    const isOpen = ({ outcome }: Sent): boolean => outcome === 'open';
    await until('no ask is open', () => !this.lives.some((life) => life.allSent.some(isOpen)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#places.map(({ life }) => life.bus.close()));
    await Promise.all(this.#places.map(({ proxy }) => proxy.close()));
  }

  #pairs(): [Life, WorkerAddress][] {
    return this.#places.flatMap(({ life }) =>
      this.#places.filter((other) => other.life !== life).map((other): [Life, WorkerAddress] => [life, other.life.bus.address]),
    );
  }

  async #restart(place: Place): Promise<void> {
    place.life.isOver = true;
    await place.life.bus.close();
    place.life = this.#live(await place.rejoin());
  }

  #live(bus: Bus): Life {
    const life = new Life(bus, this.lives.length);
    this.lives.push(life);
    bus.serve(({ payload }, from) => {
      const { life: number, n } = payload as { life: number; n: number };
      life.heard.push({ from, life: number, n });
      this.lives[number]!.sentTo(bus.address)[n]!.heardTimes += 1;
      const slowness = this.#dice.below(20);
      if (slowness === 0) return new Promise((resolve) => setTimeout(() => resolve(n), this.#dice.below(300)));
      return slowness < 5 ? Promise.resolve(n) : n;
    });
    return life;
  }
}

/** Messages against the promise that their sender was given. */
function brokenToSenders(lives: readonly Life[]): string[] {
  return lives.flatMap((life) =>
    life.allSent.flatMap(({ n, outcome, heardTimes, isExcused }) => {
      const isFine =
        outcome === null
          ? heardTimes === 1 || (heardTimes === 0 && (isExcused || life.isOver))
          : (outcome === 'answered' && heardTimes === 1) ||
            (outcome === 'WORKER_UNREACHABLE' && heardTimes === 0) ||
            (outcome === 'OUTCOME_UNKNOWN' && heardTimes <= 1);
      return isFine ? [] : [`life ${life.number}, message ${n}: ${outcome ?? 'told'}, heard ${heardTimes} times`];
    }),
  );
}

/** What each life heard: in order, and nothing that was sent missing between two messages unless their sender was named as down between them. */
function brokenToListeners(lives: readonly Life[]): string[] {
  const broken: string[] = [];
  for (const listener of lives) {
    const last = new Map<WorkerAddress, { life: number; n: number; isDown: boolean }>();
    for (const heard of listener.heard) {
      if ('down' in heard) {
        const before = last.get(heard.down);
        if (before !== undefined) before.isDown = true;
        continue;
      }
      const { from, life, n } = heard;
      const before = last.get(from);
      last.set(from, { life, n, isDown: false });
      if (before === undefined) continue;
      const isLater = life > before.life || (life === before.life && n > before.n);
      const between = lives[life]!.sentTo(listener.bus.address).slice(life === before.life ? before.n + 1 : 0, n);
      const isWhole = life === before.life && between.every(({ outcome }) => outcome === 'WORKER_UNREACHABLE');
      if (!isLater || (!isWhole && !before.isDown)) {
        broken.push(
          `life ${listener.number} heard ${life}/${n} from ${from} after ${before.life}/${before.n}, down: ${before.isDown}`,
        );
      }
    }
  }
  return broken;
}

const [firstSeed, seeds] = (process.env.BUS_SEEDS ?? '1:8').split(':').map(Number) as [number, number];

test(`[BU23] whatever happens to wires and workers, order and outcomes are as promised (${seeds} seeds)`, {
  timeout: 60_000 + seeds * 10_000,
}, async () => {
  const seen = new Set<string | null>();
  let downs = 0;
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const dice = new Dice(seed);
    const cluster = new Cluster(seed);
    await cluster.start();
    for (const endMs = performance.now() + RUN_MS; performance.now() < endMs; ) {
      cluster.speak();
      if (dice.chance(0.15)) await cluster.disturb();
      await new Promise((resolve) => setTimeout(resolve, dice.below(8)));
    }
    await cluster.settle();
    await cluster.close();
    const broken = [...brokenToSenders(cluster.lives), ...brokenToListeners(cluster.lives)];
    expect(broken, `seed ${seed}`).toEqual([]);
    for (const { outcome } of cluster.lives.flatMap(({ allSent }) => allSent)) seen.add(outcome);
    downs += cluster.lives.flatMap(({ heard }) => heard).filter((each) => 'down' in each).length;
  }
  // Else nothing happened that could have gone wrong.
  expect([...seen].sort()).toEqual(['OUTCOME_UNKNOWN', 'WORKER_UNREACHABLE', 'answered', null].sort());
  expect(downs).toBeGreaterThan(seeds);
});
