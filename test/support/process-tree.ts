/** Processes of this machine as /proc shows them: who descends from whom, and whether one is still the one it was. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
  /** When it started, in the kernel's ticks: tells it from a later one with the same id. */
  readonly started: string;
}

/** All processes that descend from this one. */
export function descendantsOf(ancestor: number): Process[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (processOf(Number(name)) ?? []) : []));
  const childrenOf = (pid: number): Process[] =>
    all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...childrenOf(child.pid)]);
  return childrenOf(ancestor);
}

export function isRunning({ pid, started }: Process): boolean {
  const now = processOf(pid);
  return now !== null && now.started === started && now.state !== 'Z';
}

/** Null when there is no such process. */
export function processOf(pid: number): Process | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before may hold anything
    return { pid, state: fields[0]!, parent: Number(fields[1]), started: fields[19]! };
  } catch {
    return null;
  }
}
