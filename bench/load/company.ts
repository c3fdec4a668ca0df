/**
 * Company in a process of its own: what is to be measured is what the calm feel of it on their worker, not in the process that listens for them. On the
 * core that both have, that one goes first when something has come for it.
 */
import type { Company } from '../case.ts';
import { CORES } from '../config.ts';
import { type Started, start, stop } from '../processes.ts';
import type { Job } from './job.ts';

/** What the process says: that all is set up; how often it was refused so far; at the end why its figures should not be trusted. */
export type CompanyWord =
  | { readonly kind: 'invited' }
  | { readonly kind: 'refused'; readonly count: number }
  | { readonly kind: 'stopped'; readonly losses: readonly string[] };

const PROCESS = new URL('./company-process.ts', import.meta.url);

/** Invites the company of the job's variant. @throws an Error when it could not come, or left early. */
export async function inItsProcess(job: Job): Promise<Company> {
  const started = start(PROCESS, { core: CORES.load, language: 'ts', priority: 'idle' });
  let refused = 0;
  started.child.on('message', (word: CompanyWord) => {
    if (word.kind === 'refused') refused = word.count;
  });
  started.child.send(job);
  await wordOf(started, 'invited');
  return {
    refused: () => refused,
    async stop() {
      started.child.send('stop');
      const { losses } = await wordOf(started, 'stopped');
      await stop(started);
      return losses;
    },
  };
}

async function wordOf<Kind extends CompanyWord['kind']>(
  { child, ended, output }: Started,
  kind: Kind,
): Promise<CompanyWord & { kind: Kind }> {
  return new Promise((resolve, reject) => {
    child.on('message', (word: CompanyWord) => {
      if (word.kind === kind) resolve(word as CompanyWord & { kind: Kind });
    });
    void ended.then((reason) => reject(new Error(`company told nothing, ${reason}: ${output()}`)));
  });
}
