/**
 * Asks for a worker whose process cannot be made, asks it at once to stop and to be killed, and prints how it ended. Argument: throws or later, which is how
 * Node tells. For a process group of its own: a signal to nobody must not be one to all.
 */
import { childWorkers } from '../../src/adapters/child-workers.ts';
import type { ChildExit } from '../../src/kernel/cluster/child-worker.ts';

/** A single string of the environment may have 128 KiB on Linux: Node throws what the system says then. */
const settings: Readonly<Record<string, string>> = process.argv[2] === 'throws' ? { LONG: 'x'.repeat(200_000) } : {};
if (process.argv[2] === 'later') process.execPath = '/no/such/node';

let isLater = false;
const exit = await new Promise<ChildExit & { pid: number | null; isLater: boolean }>((resolve) => {
  const child = childWorkers({ entry: 'none.mjs', execArgv: [] })({
    index: 0,
    settings,
    onReport: () => undefined,
    onExit: (how) => resolve({ ...how, pid: child.pid, isLater }),
  });
  isLater = true;
  child.stop();
  child.kill();
});
console.log(JSON.stringify(exit));
