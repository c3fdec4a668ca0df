/**
 * V8 collects garbage and compiles beside the code that runs, on threads of its own. Where the process has one core these only take it away from what
 * people wait for, 4 to 60 ms at a time: there, garbage is marked and moved by the code's own thread in small steps, and the others run when it has
 * nothing to do: they have a lower priority, and waking up does not let them interrupt it (sched(7)), where the system has `renice` and `chrt` and permits
 * them. Measured in bench/FLOORS.md.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/**
 * Garbage of the whole heap is looked for when nearly half of what it may grow by is used. V8 by itself begins when less is left than the young
 * generation has: in a heap of 40 MB after 5 MB of growth, every few seconds where little happens, at 60 ms each. In a large heap this is earlier.
 */
const MARKING = ['--incremental-marking-soft-trigger=45', '--incremental-marking-hard-trigger=90'];
const FLAGS = ['--no-concurrent-marking', '--no-parallel-scavenge', ...MARKING];
/** One that waits for timers, four that work (`--v8-pool-size`): Node starts them before anything else, so they are the first after ours. */
const V8_THREADS = 5;
/**
 * Makes threads SCHED_BATCH (sched(7)), which Node cannot, and lets them have a tenth of the core while ours wants it (setpriority(2): on Linux it holds
 * for one thread). Both in processes of their own: a unit of systemd with a SystemCallFilter ends who tries, and that must not be us.
 */
const STEP_BACK = 'for thread; do chrt -b -p 0 "$thread"; done; renice -n 10 -p "$@"';

/** Call it before anything else has filled the heap. What the system refuses is left as it was: it costs speed, never the start. */
export function spareTheOnlyCore(): void {
  if (availableParallelism() > 1) return;
  for (const flag of FLAGS) setFlagsFromString(flag);
  const helpers = threads().slice(1, 1 + V8_THREADS);
  if (helpers.length > 0) spawnSync('/bin/sh', ['-c', STEP_BACK, 'sh', ...helpers], { stdio: 'ignore' });
}

/** In the order in which they were started; none where the system does not say. */
function threads(): string[] {
  try {
    return readdirSync('/proc/self/task');
  } catch {
    return []; // no Linux, or one without /proc
  }
}
