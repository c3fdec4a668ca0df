import { expect, test } from 'vitest';
import { asIncarnation, asWorkerAddress } from '../../../src/base/ids.ts';
import { type Log, silentLog } from '../../../src/base/observe.ts';
import type { Directory, WorkerEntry } from '../../../src/kernel/cluster/directory.ts';
import { Workers } from '../../../src/kernel/cluster/workers.ts';
import { manualClock } from '../../support/manual-clock.ts';

const entry = (name: string, over: Partial<WorkerEntry> = {}): WorkerEntry => ({
  incarnation: asIncarnation(name),
  address: asWorkerAddress(`${name}:1`),
  draining: false,
  load: 0,
  ...over,
});

function someWorkers(self: WorkerEntry | null = entry('me'), log: Log = silentLog) {
  const clock = manualClock();
  const seen = { heartbeat: async (): Promise<WorkerEntry[]> => [], leased: async (): Promise<WorkerEntry[]> => [] };
  const directory = { heartbeat: () => seen.heartbeat() } as unknown as Directory;
  const workers = new Workers({ directory, clock, log, self: () => self, findLeased: () => seen.leased() });
  return { clock, seen, workers };
}

test('[WK1] draining workers and those under suspicion take no rooms; suspicion ends after 5 s, or with an answer', async () => {
  const { clock, seen, workers } = someWorkers();
  seen.heartbeat = async () => [entry('me'), entry('a'), entry('b', { draining: true })];
  await workers.beat();
  expect(workers.others.map(({ address }) => address)).toEqual(['a:1', 'b:1']);
  expect(workers.candidates.map(({ address }) => address)).toEqual(['me:1', 'a:1']);
  workers.suspect(asWorkerAddress('a:1'));
  expect(workers.candidates.map(({ address }) => address)).toEqual(['me:1']);
  clock.advance(4_999);
  expect(workers.candidates).toHaveLength(1);
  clock.advance(1);
  expect(workers.candidates).toHaveLength(2);
  workers.suspect(asWorkerAddress('a:1'));
  workers.trust(asWorkerAddress('a:1'));
  expect(workers.candidates).toHaveLength(2);
});

test('[WK2] while the directory is away, the leases in the database tell who is alive; with neither, what was known counts', async () => {
  const { seen, workers } = someWorkers();
  seen.heartbeat = async () => {
    throw new Error('no Redis');
  };
  seen.leased = async () => [entry('me'), entry('c')];
  await workers.beat();
  expect(workers.others.map(({ address }) => address)).toEqual(['c:1']);
  seen.leased = async () => {
    throw new Error('no Postgres either');
  };
  await workers.beat();
  expect(workers.others.map(({ address }) => address)).toEqual(['c:1']);
});

test('[WK3] a worker without a lease announces nothing and is no candidate', async () => {
  const { seen, workers } = someWorkers(null);
  let beats = 0;
  seen.heartbeat = async () => {
    beats += 1;
    return [];
  };
  await workers.beat();
  expect(beats).toBe(0);
  expect(workers.candidates).toEqual([]);
});

test('[WK6] that another worker lives under the same address is an error in the log, said once of each; one that has ended is none', async () => {
  const said: unknown[] = [];
  const { clock, seen, workers } = someWorkers(entry('me'), {
    ...silentLog,
    error: (...line: unknown[]) => said.push(line),
  } as never);
  workers.close(); // beats only when told
  const namesake = (name: string): WorkerEntry => entry(name, { address: entry('me').address });
  const beats = async (count: number, found: WorkerEntry[]): Promise<void> => {
    seen.heartbeat = async () => found;
    for (let beat = 0; beat < count; beat += 1) {
      await workers.beat();
      clock.advance(1_000);
    }
  };
  await beats(9, [entry('me'), namesake('ended')]);
  await beats(20, [entry('me'), entry('other')]);
  expect(said).toEqual([]);
  await beats(30, [entry('me'), namesake('alive')]);
  expect(said).toHaveLength(1);
  expect(workers.others).toEqual([]);
  await beats(12, [namesake('second'), entry('me')]);
  expect(said).toHaveLength(2);
});

test('[WK8] a directory that fails now and then is told of once, and as back when it has failed no more for two seconds', async () => {
  const said: string[] = [];
  const say = (_fields: unknown, phrase: string): void => void said.push(phrase.split(';')[0]!);
  const { clock, seen, workers } = someWorkers(entry('me'), { ...silentLog, warn: say, info: say } as never);
  workers.close(); // beats only when told
  for (let beat = 0; beat < 20; beat += 1) {
    seen.heartbeat = async () => {
      if (beat % 2 === 0) throw new Error('it is slow');
      return [entry('me')];
    };
    await workers.beat();
    expect(workers.knowsLoads).toBe(beat % 2 === 1);
    clock.advance(1_000);
  }
  expect(said).toEqual(['directory away']);
  await workers.beat();
  clock.advance(1_000);
  await workers.beat();
  expect(said).toEqual(['directory away', 'directory back']);
});
