import { expect, test } from 'vitest';
import { childWorkers } from '../../src/adapters/child-workers.ts';
import type { ChildExit } from '../../src/kernel/cluster/child-worker.ts';

/** A single string of the environment may have 128 KiB on Linux: Node throws what the system says then. */
const TOO_LONG = 'x'.repeat(200_000);

test.each([
  { how: 'throws', entry: 'none.mjs', settings: { LONG: TOO_LONG }, code: 'E2BIG' },
  { how: 'is told later', entry: 'none.mjs', settings: {}, code: 'ENOENT' },
])(
  '[SV16] a process that cannot be made is one that ended, in a later turn, with why: it $how',
  async ({ entry, settings, code }) => {
    const execPath = process.execPath;
    if (code === 'ENOENT') process.execPath = '/no/such/node';
    try {
      let isStarting = true;
      const exit = await new Promise<ChildExit & { isLater: boolean }>((resolve) => {
        const child = childWorkers({ entry, execArgv: [] })({
          index: 0,
          settings,
          onReport: () => undefined,
          onExit: (how) => resolve({ ...how, isLater: !isStarting }),
        });
        isStarting = false;
        expect(child.pid).toBeNull();
        child.stop();
        child.kill();
      });
      expect(exit).toMatchObject({ code: null, signal: null, err: { code }, isLater: true });
    } finally {
      process.execPath = execPath;
    }
  },
);
