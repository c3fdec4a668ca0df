import { expect, test } from 'vitest';
import { MemoryNetwork } from '../../src/adapters/memory-bus.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { until } from '../support/e2e/until.ts';
import { manualClock } from '../support/manual-clock.ts';
import { aTcpBus } from '../support/tcp-workers.ts';
import { busContract } from './bus.contract.ts';

busContract('memory', () => {
  const network = new MemoryNetwork({ clock: systemClock, log: silentLog });
  let joined = 0;
  return {
    join: async (address) => {
      joined += 1;
      return network.join(address ?? asWorkerAddress(`worker:${joined}`));
    },
    nowhere: asWorkerAddress('worker:0'),
  };
});

busContract('tcp', () => ({
  join: (address) => aTcpBus({ port: Number(address?.split(':')[1] ?? 0) }),
  nowhere: asWorkerAddress('127.0.0.1:1'), // a port that only root may open, and nobody does
}));

const [here, there] = [asWorkerAddress('here:1'), asWorkerAddress('there:1')];
const message = { kind: 'test', payload: null };

test('[BU6] a deadline does not pass early', async () => {
  const clock = manualClock();
  const network = new MemoryNetwork({ clock, log: silentLog });
  const asker = network.join(here);
  network.join(there).serve(() => new Promise(() => undefined));
  let outcome: unknown = 'waiting';
  const asking = asker.ask(there, message, { deadlineMs: 1_000 }).catch((error: unknown) => {
    outcome = error;
  });
  clock.turn();
  clock.advance(999);
  await Promise.resolve();
  expect(outcome).toBe('waiting');
  clock.advance(1);
  await asking;
  expect(outcome).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
});

test('[BU12] in memory, workers can be parted: both hear of it, and find each other again when that is over', async () => {
  const network = new MemoryNetwork({ clock: systemClock, log: silentLog });
  const workers = [network.join(here), network.join(there)] as const;
  const heard: string[] = [];
  for (const worker of workers) {
    worker.serve(() => worker.address);
    worker.onDown((address) => heard.push(`${worker.address} lost ${address}`));
  }
  const asking = workers[0].ask(there, message, { deadlineMs: 5_000 });
  network.part(here, there);
  await expect(asking).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  await expect(workers[1].ask(here, message, { deadlineMs: 5_000 })).rejects.toMatchObject({ code: 'WORKER_UNREACHABLE' });
  await until('both have heard', () => heard.length === 2);
  expect(heard.sort()).toEqual(['here:1 lost there:1', 'there:1 lost here:1']);
  network.heal(here, there);
  expect(await workers[0].ask(there, message, { deadlineMs: 5_000 })).toBe(there);
});

test('[BU12] in memory, a message may travel for a while, and order is kept when the next one travels faster', async () => {
  const clock = manualClock();
  const travelMs = [30, 10, 0];
  const network = new MemoryNetwork({ clock, log: silentLog, travelMs: () => travelMs.shift() ?? 0 });
  const seen: unknown[] = [];
  const asker = network.join(here);
  network.join(there).serve(({ payload }) => void seen.push(payload));
  for (const payload of [1, 2, 3]) asker.tell(there, { kind: 'test', payload });
  clock.advance(29);
  expect(seen).toEqual([]);
  clock.advance(1);
  expect(seen).toEqual([1, 2, 3]);
});
