/** The supervisor as a process of its own. Argument: what its workers run, `worker-child.ts` compiled. Settings come by the environment, as for the server. */
import { supervise } from '../../src/app/supervisor-process.ts';
import { makeLog } from '../../src/base/observe.ts';
import { StartRefused } from '../../src/base/start-refused.ts';
import { readSettings } from '../../src/config.ts';

const [entry] = process.argv.slice(2) as [string];
try {
  const { code, sentence } = await supervise(readSettings(process.env), { log: makeLog('info', process.stdout), entry });
  if (sentence !== null) process.stderr.write(`${sentence}\n`);
  process.exit(code);
} catch (error) {
  if (!(error instanceof StartRefused)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
