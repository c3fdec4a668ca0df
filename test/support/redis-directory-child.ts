/**
 * A process with a Redis directory, for what only a process has. Arguments: the URL, and what to wait for before it closes the directory: an
 * `answer`, that it is `away`, or a `run` of answers to calls that do not wait for each other. It prints one JSON line, and then has to end by
 * itself: nothing here ends it.
 */
import { openRedisDirectory } from '../../src/adapters/redis-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asIncarnation, asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { until } from './e2e/until.ts';

const [url, awaited] = process.argv.slice(2) as [string, 'answer' | 'away' | 'run'];
const self = { incarnation: asIncarnation('one'), address: asWorkerAddress('127.0.0.1:1'), draining: false, load: 0 };
const directory = openRedisDirectory({ url, prefix: 'test-child', clock: systemClock, log: silentLog });

const beat = () => directory.heartbeat(self).catch((error: Error) => String(error.cause));

let answeredInARow = 0;
const outcome = await until(awaited, async () => {
  const beating = beat().then((answer) => {
    answeredInARow = typeof answer === 'string' ? 0 : answeredInARow + 1;
    return answer;
  });
  if (awaited === 'run') return answeredInARow >= 50;
  const answer = await beating;
  return (typeof answer === 'string') === (awaited === 'away') ? answer : null;
});
await directory.close();
console.log(JSON.stringify(outcome));
