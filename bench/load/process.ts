/** The load process: one run, told by the runner over the message channel, answered the same way. */
import type { Outcome } from '../case.ts';
import { type Job, partsOf } from './job.ts';

export type Report = { readonly outcome: Outcome } | { readonly failure: string };

process.once('message', async (job: Job) => {
  process.send!(await reportOn(job), () => process.exit(0));
});
process.once('disconnect', () => process.exit(1)); // the runner is gone

async function reportOn(job: Job): Promise<Report> {
  try {
    const { variant, trial } = partsOf(job);
    return { outcome: await variant.load(trial) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}
