/**
 * Memory as Linux counts it: what a server's own process has made and holds in RAM. Its Postgres is not in it.
 *
 * Pages of the program's own file are not, either: the kernel takes back those that nobody ran for a while, which made a server look as if it gave memory back.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Trial } from './case.ts';
import { SETTLE } from './config.ts';

const WATCH_EVERY_MS = 50;

/**
 * Kilobytes held once nothing changes any more: garbage is collected where that can be asked for, and memory must stand still for a moment.
 *
 * The first collection lets go of what the second can then move together.
 */
export async function settledKb({ server, address: { pid } }: Pick<Trial, 'server' | 'address'>): Promise<number> {
  const deadlineMs = performance.now() + SETTLE.msMax;
  let before = Number.POSITIVE_INFINITY;
  for (;;) {
    if (server.garbage !== 'left to itself') process.kill(pid, 'SIGUSR2');
    await sleep(SETTLE.everyMs);
    const now = residentKb(pid);
    const isStill = Math.abs(before - now) <= now * SETTLE.shareMax;
    if (isStill || performance.now() > deadlineMs) return now;
    before = now;
  }
}

/** Looks every so often. `end` tells by how many MB memory was at its highest above where it began, garbage included. */
export function watchMemory(pid: number): { begin(): void; end(): number } {
  let [baseKb, mostKb] = [0, 0];
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    mostKb = Math.max(mostKb, residentKb(pid));
  };
  return {
    begin() {
      baseKb = residentKb(pid);
      timer = setInterval(look, WATCH_EVERY_MS);
    },
    end() {
      clearInterval(timer);
      look();
      return (mostKb - baseKb) / 1_024;
    },
  };
}

function residentKb(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}
