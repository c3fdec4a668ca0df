/** The load process: one run, told by the runner over the message channel, answered the same way. */
import { type Outcome, serversOf } from '../case.ts';
import type { Address } from '../servers/server.ts';
import { CASES } from './cases.ts';
import { GROWTH_CASES } from './growth-cases.ts';

/** A trial by the names of its parts, because functions do not cross processes. */
export interface Job {
  readonly caseName: string;
  readonly variantName: string;
  readonly serverName: string;
  readonly address: Address;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

export type Report = { readonly outcome: Outcome } | { readonly failure: string };

process.once('message', async (job: Job) => {
  process.send!(await reportOn(job), () => process.exit(0));
});
process.once('disconnect', () => process.exit(1)); // the runner is gone

async function reportOn({ caseName, variantName, serverName, ...trial }: Job): Promise<Report> {
  try {
    const theCase = [...CASES, ...GROWTH_CASES].find(({ name }) => name === caseName)!;
    const variant = theCase.variants.find(({ name }) => name === variantName)!;
    const server = serversOf(theCase, variant).find(({ name }) => name === serverName)!;
    const outcome = await variant.load({ server, ...trial });
    return { outcome };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}
