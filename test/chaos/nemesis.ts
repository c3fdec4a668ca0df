/** Carries out a plan: each fault at its time, healed at its time. It remembers what was broken when, for those who look for a cause. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { type ChaosCluster, NODES } from './cluster.ts';
import { type Cut, type Fault, nameOf } from './plan.ts';

/** What was broken from when to when, in ms of the history. */
export interface Span {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Drain {
  readonly name: string;
  readonly exitCode: number | null;
  readonly tookMs: number;
  /** No other fault was on meanwhile. */
  readonly isAlone: boolean;
}

const FLAP_MS = 150;

export class Nemesis {
  readonly spans: Span[] = [];
  readonly drains: Drain[] = [];
  readonly #cluster: ChaosCluster;
  readonly #nowMs: () => number;
  readonly #note: (what: object) => void;
  readonly #active = new Set<Fault>();
  #begun = 0;

  constructor(cluster: ChaosCluster, { nowMs, note }: { nowMs: () => number; note: (what: object) => void }) {
    this.#cluster = cluster;
    this.#nowMs = nowMs;
    this.#note = note;
  }

  /** Resolves when all faults are healed and every worker may own rooms again. */
  async run(plan: readonly Fault[]): Promise<void> {
    const startMs = this.#nowMs();
    await Promise.all(
      plan.map(async (fault) => {
        await sleep(Math.max(0, startMs + fault.atMs - this.#nowMs()));
        await this.#inflict(fault);
      }),
    );
    await this.#cluster.healWays();
    await this.#cluster.start();
  }

  async #inflict(fault: Fault): Promise<void> {
    const fromMs = this.#nowMs();
    this.#active.add(fault);
    this.#begun += 1;
    try {
      await this.#do(fault);
    } finally {
      this.#active.delete(fault);
      const span = { name: nameOf(fault), fromMs, toMs: this.#nowMs() };
      this.spans.push(span);
      this.#note({ fault: span });
    }
  }

  async #do(fault: Fault): Promise<void> {
    const { action, lastsMs } = fault;
    const { nodes, stores } = this.#cluster;
    switch (action.do) {
      case 'kill worker':
        nodes[action.node]!.signalWorker(action.worker, 'SIGKILL');
        return;
      case 'kill node':
        await nodes[action.node]!.kill();
        await sleep(lastsMs);
        return nodes[action.node]!.start();
      case 'stop worker':
        nodes[action.node]!.signalWorker(action.worker, 'SIGSTOP');
        await sleep(lastsMs);
        nodes[action.node]!.signalWorker(action.worker, 'SIGCONT');
        return;
      case 'stop node':
        nodes[action.node]!.signalAll('SIGSTOP');
        await sleep(lastsMs);
        nodes[action.node]!.signalAll('SIGCONT');
        return;
      case 'drain node':
        return this.#drain(fault, action.node);
      case 'roll node':
        return nodes[action.node]!.roll();
      case 'empty redis':
        await stores.redis.stop();
        await sleep(lastsMs);
        return stores.redis.start();
      case 'freeze redis':
        stores.redis.freeze();
        await sleep(lastsMs);
        return stores.redis.thaw();
      case 'restart postgres':
        await stores.postgres.stopAtOnce();
        await sleep(lastsMs);
        return stores.postgres.start();
      case 'freeze postgres':
        stores.postgres.freeze();
        await sleep(lastsMs);
        return stores.postgres.thaw();
      case 'refuse s3':
        return cut(this.#waysToS3(), 'reset', lastsMs);
      case 'freeze s3':
        return cut(this.#waysToS3(), 'silent', lastsMs);
      case 'cut store':
        return cut([this.#cluster.wayToStore(action.node, action.store)], action.how, lastsMs);
      case 'cut nodes': {
        const { node, other } = action;
        const ways = [...this.#cluster.waysBetween(node, other), ...this.#cluster.waysBetween(other, node)];
        return cut(ways, action.how, lastsMs);
      }
      default:
        action satisfies never;
    }
  }

  async #drain(fault: Fault, index: number): Promise<void> {
    const node = this.#cluster.nodes[index]!;
    const startMs = this.#nowMs();
    const othersBefore = this.#active.size - 1;
    const begunBefore = this.#begun;
    const exitCode = await node.drain();
    const isAlone = othersBefore === 0 && this.#begun === begunBefore;
    this.drains.push({ name: nameOf(fault), exitCode, tookMs: this.#nowMs() - startMs, isAlone });
    await sleep(fault.lastsMs);
    node.start();
  }

  #waysToS3(): TcpProxy[] {
    return Array.from({ length: NODES }, (_, node) => this.#cluster.wayToStore(node, 's3'));
  }
}

async function cut(ways: readonly TcpProxy[], how: Cut, lastsMs: number): Promise<void> {
  if (how === 'flapping') {
    const endMs = performance.now() + lastsMs;
    while (performance.now() < endMs) {
      for (const way of ways) breakWay(way, 'silent');
      await sleep(Math.min(FLAP_MS, lastsMs));
      for (const way of ways) way.heal();
      await sleep(FLAP_MS);
    }
    return;
  }
  for (const way of ways) breakWay(way, how);
  await sleep(lastsMs);
  for (const way of ways) way.heal();
}

function breakWay(way: TcpProxy, how: Cut): void {
  if (how === 'silent') way.blackHole();
  else if (how === 'deaf') way.blackHole('toClient');
  else {
    way.refuse();
    way.cut();
  }
}
