/**
 * Whoever listens goes before all others of its core. Without that the figure is partly the load's own: a kernel that preempts lazily lets whoever runs keep
 * the core until its next tick, up to 4 ms, even at SCHED_IDLE (Linux 6.18; `perf sched timehist`).
 */
import { spawnSync } from 'node:child_process';

/** Of this process its own thread alone, not those of V8 (sched(7), SCHED_FIFO). Where that is not allowed nothing changes. */
export async function firstOnCore<Result>(work: () => Promise<Result>): Promise<Result> {
  schedule('--fifo', '1');
  try {
    return await work();
  } finally {
    schedule('--other', '0');
  }
}

function schedule(policy: string, priority: string): void {
  spawnSync('chrt', [policy, '--pid', priority, String(process.pid)]);
}
