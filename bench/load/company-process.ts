/** The process of `company.ts`. */
import { once } from 'node:events';
import type { CompanyWord } from './company.ts';
import { type Job, partsOf } from './job.ts';

/** How old the count of refusals may be. */
const COUNT_EVERY_MS = 20;

process.once('disconnect', () => process.exit(1)); // who invited it is gone
const [job] = (await once(process, 'message')) as [Job];
const { variant, trial } = partsOf(job);
const company = await variant.company!(trial);
let told = 0;
setInterval(() => {
  const count = company.refused?.() ?? 0;
  if (count > told) say({ kind: 'refused', count });
  told = count;
}, COUNT_EVERY_MS);
say({ kind: 'invited' });
await once(process, 'message');
say({ kind: 'stopped', losses: await company.stop() });

function say(word: CompanyWord): void {
  process.send!(word);
}
