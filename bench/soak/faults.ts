/** Stores that falter while rooms are lived in: each of them stands still for a while, now and then, and Postgres hangs up. What waits or fails then may leave nothing either. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { descendantsOf } from '../../test/support/process-tree.ts';
import { SOAK } from '../config.ts';
import type { Running } from '../servers/server.ts';

const PROGRAMS = ['postgres', 'redis-server', 'radosgw'] as const;
type Program = (typeof PROGRAMS)[number];

/** One after another for so long. Returns how many there were, by what they were. */
export async function falter(running: Running, seconds: number): Promise<ReadonlyMap<string, number>> {
  const faults = new Map<string, number>();
  const endMs = performance.now() + seconds * 1_000;
  for (let turn = 0; performance.now() < endMs; turn += 1) {
    await sleep(Math.random() * 2 * SOAK.restMs);
    const program = PROGRAMS[turn % PROGRAMS.length]!;
    const processes = processesOf(running, program);
    if (processes.length === 0) continue; // an embedded server has no such store
    const fault = program === 'postgres' && turn % 2 === 0 ? hangUp(processes) : await standStill(running, program);
    faults.set(fault, (faults.get(fault) ?? 0) + 1);
  }
  return faults;
}

function processesOf({ pid, storesPid }: Running, program: Program): number[] {
  return descendantsOf(storesPid ?? pid).flatMap((one) => (nameOf(one.pid) === program ? one.pid : []));
}

/** Ends some connections, whatever is under way on them. */
function hangUp(processes: readonly number[]): string {
  const [, ...children] = processes; // the first is who starts them
  for (const pid of children) if (Math.random() < 0.5) signal(pid, 'SIGTERM');
  return 'Postgres hangs up';
}

async function standStill(running: Running, program: Program): Promise<string> {
  for (let looked = 0; looked < 2; looked += 1) for (const pid of processesOf(running, program)) signal(pid, 'SIGSTOP'); // twice: some are made meanwhile
  await sleep(Math.random() * SOAK.stillMsMax);
  for (const pid of processesOf(running, program)) signal(pid, 'SIGCONT');
  return `${program} stands still`;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {} // it has ended
}

function nameOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return null;
  }
}
