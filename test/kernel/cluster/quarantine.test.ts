import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemRandom } from '../../../src/base/clock.ts';
import { asWorkerAddress } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import type { Claim } from '../../../src/kernel/cluster/ownership.ts';
import { Quarantine } from '../../../src/kernel/cluster/quarantine.ts';
import { SqlOwnership } from '../../../src/kernel/cluster/sql-ownership.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { claimed } from '../../contract/ownership.contract.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream } from '../../support/streams.ts';

const postgres = usePostgres();
let db: PostgresSql;
/** Takes what others leave. */
let heir: SqlOwnership;
beforeAll(async () => {
  db = await postgres.open();
  heir = await aWorker();
});
afterAll(() => heir.retire());

function aWorker(): Promise<SqlOwnership> {
  return SqlOwnership.register({
    ...{ db, clock: manualClock(), random: systemRandom, log: silentLog, address: asWorkerAddress('test:1') },
    ...{ onLapsed: () => undefined, onRecalled: () => undefined },
  });
}

/** A worker that ends while it loads this. */
async function crashOn(stream: number): Promise<void> {
  const worker = await aWorker();
  const quarantine = new Quarantine(db);
  const claim = await claimed(worker, stream);
  await new Promise<void>((resolve) => {
    const hangs = async (): Promise<never> => {
      resolve();
      return new Promise(() => undefined);
    };
    void quarantine.load(claim, hangs);
  });
  await heir.fence(worker.incarnation, 'dead');
}

const crashesOf = async (stream: number): Promise<number> =>
  (await db.query(sql<{ crashes: number }>`select crashes from actor_owner where stream = ${stream}`))[0]!.crashes;

const later = (stream: number, time: string): Promise<unknown> =>
  db.query(sql`update actor_owner set crashed_at = crashed_at - ${time}::interval where stream = ${stream}`);

test('[QN1] an owner that ended while it loaded an actor, or soon after it began, counts as a crash of that actor', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  expect(await claimed(heir, stream)).toMatchObject({ crashes: 1 });
});

test.each<[string, (worker: SqlOwnership, stream: number) => Promise<unknown>]>([
  ['ended in order', (worker) => worker.retire()],
  ['lives on under another name', ({ incarnation }) => heir.follow(incarnation)],
  [
    'ended long after it had loaded it',
    async ({ incarnation }, stream) => {
      await db.query(sql`update actor_owner set loading_since = loading_since - interval '10100 ms' where stream = ${stream}`);
      await heir.fence(incarnation, 'dead');
    },
  ],
  [
    'gave it up before',
    async (worker, stream) => {
      const { epoch, numbersFrom } = await claimed(worker, stream);
      await worker.release(stream, { epoch, numbersNext: numbersFrom });
      await heir.fence(worker.incarnation, 'dead');
    },
  ],
])('[QN1] one that %s does not', async (_, end) => {
  const [worker, stream] = [await aWorker(), await aStream(db)];
  await claimed(worker, stream);
  await end(worker, stream);
  expect(await claimed(heir, stream)).toMatchObject({ crashes: 0 });
});

test('[QN2] a load that succeeds clears a suspect: when its owner ends right after, it is none again', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  await crashOn(stream);
  const worker = await aWorker();
  expect(await new Quarantine(db).load(await claimed(worker, stream), async () => 'loaded')).toBe('loaded');
  expect(await crashesOf(stream)).toBe(0);
  await heir.fence(worker.incarnation, 'dead');
  expect(await claimed(heir, stream)).toMatchObject({ crashes: 0 });
});

test('[QN2] one that fails does not', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  const failing = new Quarantine(db).load(await claimed(heir, stream), () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(await crashesOf(stream)).toBe(1);
});

test('[QN3] after two crashes suspects are loaded one at a time, and who waits for its turn is not blamed when the worker ends', async () => {
  const [culprit, innocent] = [await aStream(db), await aStream(db)];
  for (const stream of [culprit, culprit, innocent, innocent]) await crashOn(stream);
  const [worker, quarantine] = [await aWorker(), new Quarantine(db)];
  const loading: string[] = [];
  const load = (name: string, claim: Claim): Promise<unknown> =>
    quarantine.load(claim, () => {
      loading.push(name);
      return new Promise(() => undefined);
    });
  void load('culprit', await claimed(worker, culprit));
  void load('innocent', await claimed(worker, innocent));
  await expect.poll(() => loading).toEqual(['culprit']);
  await heir.fence(worker.incarnation, 'dead');
  expect(await heir.claim(culprit)).toMatchObject({ refused: 'quarantined' });
  expect(await claimed(heir, innocent)).toMatchObject({ crashes: 2 });
  expect(loading).toEqual(['culprit']);
});

test('[QN3] suspects of one crash, and all others, do not wait for each other', async () => {
  const [first, second] = [await aStream(db), await aStream(db)];
  for (const stream of [first, second]) await crashOn(stream);
  const [worker, quarantine] = [await aWorker(), new Quarantine(db)];
  onTestFinished(() => worker.retire());
  let loading = 0;
  const hangs = (): Promise<never> => {
    loading += 1;
    return new Promise(() => undefined);
  };
  for (const stream of [first, second, await aStream(db)]) void quarantine.load(await claimed(worker, stream), hangs);
  await expect.poll(() => loading).toBe(3);
});

test('[QN3] a suspect whose claim has gone while it waited is not loaded', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  const claim = await claimed(heir, stream);
  await claimed(heir, stream);
  await expect(new Quarantine(db).load(claim, () => Promise.reject(new Error('loaded')))).rejects.toMatchObject({
    code: 'ROOM_MOVED',
  });
});

test('[QN4] after three crashes in a row nobody may load it for an hour', async () => {
  const stream = await aStream(db);
  for (let crash = 1; crash <= 3; crash += 1) await crashOn(stream);
  const startedMs = Date.now();
  const refusal = await heir.claim(stream);
  expect(refusal).toEqual({ refused: 'quarantined', until: expect.any(String) });
  const lastsMs = Date.parse((refusal as { until: string }).until) - startedMs;
  expect(lastsMs / 60_000).toBeCloseTo(60, 0);
  expect(await heir.claim(stream)).toEqual(refusal); // and asking does not prolong it
  await later(stream, '59 minutes');
  expect(await heir.claim(stream)).toMatchObject({ refused: 'quarantined' });
});

test('[QN4] then it is tried again: one more crash is another hour, a load that succeeds is the end of it', async () => {
  const stream = await aStream(db);
  for (let crash = 1; crash <= 3; crash += 1) await crashOn(stream);
  expect(await heir.claim(stream)).toMatchObject({ refused: 'quarantined' });
  await later(stream, '1 hour');
  await crashOn(stream);
  expect(await heir.claim(stream)).toMatchObject({ refused: 'quarantined' });
  await later(stream, '1 hour');
  await new Quarantine(db).load(await claimed(heir, stream), async () => undefined);
  expect(await crashesOf(stream)).toBe(0);
});

test('[QN4] crashes more than ten minutes apart do not add up', async () => {
  const stream = await aStream(db);
  for (let crash = 1; crash <= 4; crash += 1) {
    await crashOn(stream);
    const { epoch, numbersFrom, crashes } = await claimed(heir, stream);
    expect(crashes).toBe(1);
    await heir.release(stream, { epoch, numbersNext: numbersFrom });
    await later(stream, '10 minutes');
  }
});
