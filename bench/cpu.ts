/** CPU time as Linux counts it: of a server, of the processes it started, of this process and its own, of the whole machine. */
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Address } from './servers/server.ts';

/** Ticks a second in `/proc`: USER_HZ, 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** All in CPU seconds since some moment in the past. */
export interface CpuTimes {
  /** With its workers, where it has some. */
  readonly server: number;
  /** Stores below the server, such as its private Postgres, and beside it; those that have ended included. */
  readonly helpers: number;
  /** This process, and those below it. */
  readonly load: number;
  /** All cores, idle time left out; time that was stolen counts as busy. */
  readonly machine: number;
  /** Of that, what the hypervisor gave to other guests while something here wanted to run. */
  readonly stolen: number;
}

type Processes = Pick<Address, 'pid' | 'storesPid' | 'children'>;

/** A process below the server may end while it is read, such as a worker of its Postgres: then all are read again, its time is its parent's now. */
const ATTEMPTS_MAX = 20;
/** Several may end in one moment, and their parent may have to wait for a core before it knows. */
const PAUSE_MS = 5;
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

/** Takes about a millisecond: read outside the measured window. @throws an Error where there is no `/proc`, or the server has ended. */
export function readCpu(processes: Processes): CpuTimes {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return readOnce(processes);
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
      Atomics.wait(NEVER_WOKEN, 0, 0, PAUSE_MS);
    }
  }
}

function readOnce({ pid, storesPid, children }: Processes): CpuTimes {
  const own = process.cpuUsage();
  const below = descendantsOf(pid).reduce((sum, each) => sum + spentBy(each), endedChildrenOf(pid));
  const beside =
    storesPid === undefined ? 0 : [storesPid, ...descendantsOf(storesPid)].reduce((sum, each) => sum + spentBy(each), 0);
  return {
    server: secondsOf(pid) + (children === 'workers' ? below : 0),
    helpers: beside + (children === 'workers' ? 0 : below),
    load: descendantsOf(process.pid).reduce((sum, each) => sum + spentBy(each), (own.user + own.system) / 1e6),
    ...machineSeconds(),
  };
}

function spentBy(pid: number): number {
  return secondsOf(pid) + endedChildrenOf(pid);
}

/** From the scheduler, in nanoseconds: the ticks of `stat` are too coarse for a window of seconds. */
function secondsOf(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  }
  return nanoseconds / 1e9;
}

function endedChildrenOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field, the name, may hold spaces; cutime and cstime are fields 16 and 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

function descendantsOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/**
 * What is not idle is busy: idle time is measured, and the times of what runs are samples, one a tick, which miss whoever runs between two of them, or always
 * meet it (`CONFIG_TICK_CPU_ACCOUNTING`).
 */
function machineSeconds(): Pick<CpuTimes, 'machine' | 'stolen'> {
  const all = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/\s+/).slice(1).map(Number);
  const [, , , idle, waitsForDisks, , , stolen] = all;
  const passedSeconds = (performance.now() / 1_000) * cpus().length;
  return { machine: passedSeconds - (idle! + waitsForDisks!) / TICKS_PER_SECOND, stolen: stolen! / TICKS_PER_SECOND };
}
