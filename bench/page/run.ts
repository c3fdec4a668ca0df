/** `npm run bench:page`: the page of results and the page of charts, anew from the records that are there. */
import { writeFileSync } from 'node:fs';
import { CASES } from '../load/cases.ts';
import { GROWTH_CASES } from '../load/growth-cases.ts';
import { entriesOf } from '../record.ts';
import { resultsPage } from '../report.ts';
import { writePage } from './write.ts';

const entries = entriesOf([...CASES, ...GROWTH_CASES]);
writeFileSync(new URL('../RESULTS.md', import.meta.url), resultsPage(entries));
await writePage(entries);
console.log('bench/RESULTS.md, bench/results/index.html');
process.exit(0); // the cases may hold something open
