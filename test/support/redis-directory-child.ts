/**
 * A process with a Redis directory, for what only a process has. Arguments: the URL, and what to wait for before it closes the directory: an
 * `answer`, or that it is `away`. It prints one JSON line, and then has to end by itself: nothing here ends it.
 */
import { openRedisDirectory } from '../../src/adapters/redis-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asIncarnation, asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { until } from './e2e/until.ts';

const [url, awaited] = process.argv.slice(2) as [string, 'answer' | 'away'];
const self = { incarnation: asIncarnation('one'), address: asWorkerAddress('127.0.0.1:1'), draining: false, load: 0 };
const directory = openRedisDirectory({ url, prefix: 'test-child', clock: systemClock, log: silentLog });

const outcome = await until(awaited, async () => {
  const beat = await directory.heartbeat(self).catch((error: Error) => String(error.cause));
  return (typeof beat === 'string') === (awaited === 'away') ? beat : null;
});
await directory.close();
console.log(JSON.stringify(outcome));
