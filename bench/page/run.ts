/** `npm run bench:page`: the page of charts from the records that are there. */

import { CASES } from '../load/cases.ts';
import { GROWTH_CASES } from '../load/growth-cases.ts';
import { entriesOf } from '../record.ts';
import { writePage } from './write.ts';

await writePage(entriesOf([...CASES, ...GROWTH_CASES]));
console.log('bench/results/index.html');
process.exit(0); // the cases may hold something open
