import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

/** Each of these starts its own processes, whatever the other files run against. */
const OWN_PROCESSES = ['test/e2e/start.test.ts', 'test/e2e/kill.test.ts', 'test/e2e/several-workers.test.ts', 'test/e2e/failover.test.ts'];

/** Tools and pages that are clients of the API like any other: once is enough. */
const TOOLS = ['test/e2e/import.test.ts', 'test/e2e/load.test.ts', 'test/e2e/docs.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/run-folder.ts', 'test/support/install-services.ts'],
    testTimeout: 60_000, // of work that takes seconds where nothing runs beside it
    hookTimeout: 60_000,
    pool: 'forks',
    isolate: false, // a process loads what it tests once, not for each file: a third of all that a run takes
    maxWorkers: 3, // more than cores: most of the time is spent waiting for disks and clocks
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'all', include: ['test/**/*.test.ts'] } },
      // The same end-to-end files, unchanged, on three workers, where every client lands on one that does not own its room.
      {
        extends: true,
        test: { name: 'cluster', include: ['test/e2e/**/*.test.ts'], exclude: [...OWN_PROCESSES, ...TOOLS], env: { E2E_CLUSTER: '1' } },
      },
    ],
  },
});
