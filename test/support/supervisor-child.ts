/** The supervisor as a process of its own, over workers of `worker-child.ts`. Settings come by the environment, as for the server. */
import { fileURLToPath } from 'node:url';
import { supervise } from '../../src/app/supervisor-process.ts';
import { makeLog } from '../../src/base/observe.ts';
import { StartRefused } from '../../src/base/start-refused.ts';
import { readSettings } from '../../src/config.ts';

const entry = fileURLToPath(new URL('worker-child.ts', import.meta.url));
try {
  const { code, sentence } = await supervise(readSettings(process.env), { log: makeLog('info'), entry });
  if (sentence !== null) process.stderr.write(`${sentence}\n`);
  process.exit(code);
} catch (error) {
  if (!(error instanceof StartRefused)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
