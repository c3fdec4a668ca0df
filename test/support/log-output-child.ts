/** A process that logs to standard output, or ends, when it is told to, and answers each time. Messages: how many lines of which size, or an exit code. */
import { LogOutput } from '../../src/adapters/log-output.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Log, makeLog } from '../../src/base/observe.ts';

export type Told = { readonly lines: number; readonly size: number } | { readonly exit: number };

const onLost = (lines: number): void => log.warn({ lines }, 'log lines lost');
const output = new LogOutput({ fd: 1, clock: systemClock, onLost });
const log: Log = makeLog('info', output);
process.on('exit', () => output.finish());

let number = 0;
process.on('message', (told: Told) => {
  if ('exit' in told) process.exit(told.exit);
  for (let line = 0; line < told.lines; line += 1) {
    log.info({ number, filling: 'x'.repeat(told.size) }, 'a line');
    number += 1;
  }
  process.send!('logged');
});
process.send!('there');
