/** A worker process for tests of the supervisor. TEST_WORKER=refuse or =crash: it ends before it serves, and before it has loaded anything. */
import { findSupervisor } from '../../src/adapters/child-workers.ts';

const link = findSupervisor();
if (link === null) throw new Error('a worker of this kind is started by a supervisor');
if (process.env.TEST_WORKER === 'refuse') {
  await link.report({ type: 'refused', sentence: 'The test wants it so.' });
  process.exit(1);
}
if (process.env.TEST_WORKER === 'crash') process.exit(3);
await (await import('./worker-at-work.ts')).work(link);
