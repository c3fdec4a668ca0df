/**
 * What does the bus between workers cost, over loopback with both ends in this one process?
 * Expected: an ask that waits for the last takes below 150 µs; of a thousand at once each takes below 15 µs, since those of a turn share their
 * writes; tells of 100 KB carry more than 300 MB a second. A network adds its own way there and back.
 */
import { afterAll, bench, describe } from 'vitest';
import { listenTcpBus } from '../../src/adapters/tcp-bus.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { Bus } from '../../src/kernel/cluster/bus.ts';

const worker = (): Promise<Bus> =>
  listenTcpBus({
    host: '127.0.0.1',
    port: 0,
    secrets: [new Uint8Array(32)],
    name: systemRandom.uuid(),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });

const DEADLINE = { deadlineMs: 10_000 };
const [here, there] = [await worker(), await worker()];
there.serve(({ payload }) => (payload instanceof Uint8Array ? null : payload));
afterAll(() => Promise.all([here.close(), there.close()]));

const update = { kind: 'deliver', payload: new Uint8Array(100_000) };
const cursor = { kind: 'room.tell', payload: { roomId: 'a room', from: 'a session', data: { cursor: { x: 1, y: 2 } } } };
const ask = (): Promise<unknown> => here.ask(there.address, cursor, DEADLINE);

describe('asks', () => {
  bench('one after the other', async () => {
    await ask();
  });
  bench('1,000 at once', async () => {
    await Promise.all(Array.from({ length: 1_000 }, ask));
  });
});

describe('tells, until the last is handled', () => {
  bench('1,000 cursors', async () => {
    for (let n = 0; n < 1_000; n += 1) here.tell(there.address, cursor);
    await ask();
  });
  bench('100 updates of 100 KB, 10 MB', async () => {
    for (let n = 0; n < 100; n += 1) here.tell(there.address, update);
    await ask();
  });
});
