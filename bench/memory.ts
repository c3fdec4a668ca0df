/** Memory as Linux counts it: what a server's own process holds in RAM. Its Postgres is not in it. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Trial } from './case.ts';
import { SETTLE } from './config.ts';

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

function residentKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}
