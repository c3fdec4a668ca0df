import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemRandom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { asWorkerAddress } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import type { Claim, Refusal } from '../../../src/kernel/cluster/ownership.ts';
import { Quarantine } from '../../../src/kernel/cluster/quarantine.ts';
import { SqlOwnership } from '../../../src/kernel/cluster/sql-ownership.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { claimed } from '../../contract/ownership.contract.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream, meddled } from '../../support/streams.ts';

const postgres = usePostgres();
let db: PostgresSql;
/** Takes what others leave. */
let heir: SqlOwnership;
beforeAll(async () => {
  db = await postgres.open();
  heir = await aWorker();
  await db.query(sql`update worker_lease set lease_until = now() + interval '1 hour'`); // it is never renewed here
});
afterAll(() => heir.retire());

function aWorker(over: { db: Sql; clock: ManualClock } = { db, clock: manualClock() }): Promise<SqlOwnership> {
  return SqlOwnership.register({
    ...{ ...over, lease: over.db, random: systemRandom, log: silentLog, address: asWorkerAddress('test:1') },
    ...{ onLapsed: () => undefined, onRecalled: () => undefined },
  });
}

/** How a worker loads, and the clock by which it outlives what it loaded. */
function aQuarantine(over: Sql = db): { quarantine: Quarantine; clock: ManualClock } {
  const clock = manualClock();
  return { quarantine: new Quarantine({ db: over, clock, log: silentLog }), clock };
}

/** A worker that ends while it loads this. */
async function crashOn(stream: number): Promise<void> {
  const worker = await aWorker();
  const { quarantine } = aQuarantine();
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

function secondsOf(refusal: Claim | Refusal, fromMs: number): number {
  return (Date.parse((refusal as { until: string }).until) - fromMs) / 1_000;
}

const later = (stream: number, time: string): Promise<unknown> =>
  db.query(
    sql`update actor_owner set crashed_at = crashed_at - ${time}::interval, quarantined_until = quarantined_until - ${time}::interval where stream = ${stream}`,
  );

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
      await db.query(sql`
        update actor_owner set loading_since = lease_until - interval '14001 ms' from worker_lease
         where stream = ${stream} and incarnation = ${incarnation}`);
      await heir.fence(incarnation, 'dead');
    },
  ],
  [
    'gave it up before',
    async (worker, stream) => {
      const { epoch, numbersFrom } = await claimed(worker, stream);
      await worker.release({ stream, epoch, numbersNext: numbersFrom });
      await heir.fence(worker.incarnation, 'dead');
    },
  ],
])('[QN1] one that %s does not', async (_, end) => {
  const [worker, stream] = [await aWorker(), await aStream(db)];
  await claimed(worker, stream);
  await end(worker, stream);
  expect(await claimed(heir, stream)).toMatchObject({ crashes: 0 });
});

test('[QN1] the ten seconds are counted to the last renewal of its lease', async () => {
  const [worker, stream] = [await aWorker(), await aStream(db)];
  await claimed(worker, stream);
  await db.query(sql`
    update actor_owner set loading_since = lease_until - interval '13999 ms' from worker_lease
     where stream = ${stream} and incarnation = ${worker.incarnation}`);
  await heir.fence(worker.incarnation, 'dead');
  expect(await claimed(heir, stream)).toMatchObject({ crashes: 1 });
});

test('[QN2] a load that succeeds clears a suspect before anybody has it: when its owner ends then, however soon, it is none again', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  await crashOn(stream);
  for (let restarts = 1; restarts <= 6; restarts += 1) {
    const worker = await aWorker();
    const claim = await claimed(worker, stream);
    expect(claim.crashes).toBeLessThanOrEqual(2);
    expect(await aQuarantine().quarantine.load(claim, async () => 'loaded')).toBe('loaded');
    expect(await crashesOf(stream)).toBe(0);
    await heir.fence(worker.incarnation, 'dead');
  }
});

test('[QN2] a load that fails clears nothing, and leaves no mark', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  const worker = await aWorker();
  const failing = aQuarantine().quarantine.load(await claimed(worker, stream), () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(await crashesOf(stream)).toBe(1);
  await heir.fence(worker.incarnation, 'dead');
  expect(await claimed(heir, stream)).toMatchObject({ crashes: 1 });
});

test('[QN2] what was loaded stays loaded when the database is away as it is to be cleared', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  let isAway = false;
  const { quarantine } = aQuarantine(
    meddled(db, (_, run) => (isAway ? Promise.reject(new AppError('DATABASE_UNAVAILABLE')) : run())),
  );
  const load = async (): Promise<string> => {
    isAway = true;
    return 'loaded';
  };
  expect(await quarantine.load(await claimed(heir, stream), load)).toBe('loaded');
  expect(await crashesOf(stream)).toBe(1);
});

/** Actors whose last two owners ended while they loaded them. */
async function suspects(count: number): Promise<number[]> {
  const streams = await Promise.all(Array.from({ length: count }, () => aStream(db)));
  for (const stream of streams) {
    await crashOn(stream);
    await crashOn(stream);
  }
  return streams;
}

test('[QN3] after two crashes suspects are loaded one at a time, and who waits for its turn is not blamed when the worker ends', async () => {
  const [culprit, innocent] = (await suspects(2)) as [number, number];
  const [worker, { quarantine }] = [await aWorker(), aQuarantine()];
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

test('[QN3] the next one is loaded once the first is, or its load has failed', async () => {
  const [fails, works, last] = (await suspects(3)) as [number, number, number];
  const { quarantine } = aQuarantine();
  const claims = { fails: await claimed(heir, fails), works: await claimed(heir, works), last: await claimed(heir, last) };
  const loading: string[] = [];
  const held: { finish(): void } = { finish: () => undefined };
  const load = (name: keyof typeof claims, work: () => Promise<unknown>): Promise<unknown> =>
    quarantine.load(claims[name], () => {
      loading.push(name);
      return work();
    });
  const first = load('works', () => new Promise<void>((resolve) => Object.assign(held, { finish: resolve })));
  const failing = expect(load('fails', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  const after = load('last', async () => 'loaded');
  await expect.poll(() => loading).toEqual(['works']);
  held.finish();
  await first;
  await failing;
  expect(await after).toBe('loaded');
  expect(loading).toEqual(['works', 'fails', 'last']);
});

test('[QN3] nor does it wait for a load that takes longer than ten seconds', async () => {
  const { quarantine, clock } = aQuarantine({ change: async () => 1 } as unknown as Sql);
  const claim = { stream: 1, epoch: 1, numbersFrom: 1, crashes: 2 };
  void quarantine.load(claim, () => new Promise(() => undefined));
  const next = quarantine.load(claim, async () => 'loaded');
  await new Promise(setImmediate);
  clock.advance(10_000);
  expect(await next).toBe('loaded');
});

test('[QN3] suspects of one crash, and all others, do not wait for each other', async () => {
  const [first, second] = [await aStream(db), await aStream(db)];
  for (const stream of [first, second]) await crashOn(stream);
  const [worker, { quarantine }] = [await aWorker(), aQuarantine()];
  onTestFinished(() => worker.retire());
  let loading = 0;
  const hangs = (): Promise<never> => {
    loading += 1;
    return new Promise(() => undefined);
  };
  for (const stream of [first, second, await aStream(db)]) void quarantine.load(await claimed(worker, stream), hangs);
  await expect.poll(() => loading).toBe(3);
});

test('[QN3] a ninth that waits is sent away, and all who wait when the worker stops', async () => {
  const { quarantine } = aQuarantine({ change: async () => 1 } as unknown as Sql);
  const claim = { stream: 1, epoch: 1, numbersFrom: 1, crashes: 2 };
  const hangs = (): Promise<never> => new Promise(() => undefined);
  void quarantine.load(claim, hangs);
  const waiting = Array.from({ length: 8 }, () => quarantine.load(claim, hangs));
  await expect(quarantine.load(claim, hangs)).rejects.toMatchObject({ code: 'WORKER_OVERLOADED' });
  quarantine.close();
  for (const one of waiting) await expect(one).rejects.toMatchObject({ code: 'SERVER_STOPPING' });
  await expect(quarantine.load(claim, hangs)).rejects.toMatchObject({ code: 'SERVER_STOPPING' });
});

test('[QN3] a suspect whose claim has gone while it waited is not loaded', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  const claim = await claimed(heir, stream);
  await claimed(heir, stream);
  const load = aQuarantine().quarantine.load(claim, () => Promise.reject(new Error('loaded')));
  await expect(load).rejects.toMatchObject({ code: 'ROOM_MOVED' });
});

test('[QN4] after three crashes in a row nobody may load it for five seconds', async () => {
  const stream = await aStream(db);
  for (let crash = 1; crash <= 3; crash += 1) await crashOn(stream);
  const startedMs = Date.now();
  const refusal = await heir.claim(stream);
  expect(refusal).toEqual({ refused: 'quarantined', until: expect.any(String) });
  expect(secondsOf(refusal, startedMs)).toBeCloseTo(5, 0);
  expect(await (await aWorker()).claim(stream)).toEqual(refusal); // and asking does not prolong it
  await later(stream, '5 seconds');
  expect(await heir.claim(stream)).toMatchObject({ crashes: 3 });
});

test('[QN4] each further crash is four times as long, up to the eighth, and who outlives it ends it', async () => {
  const stream = await aStream(db);
  for (let crash = 1; crash <= 3; crash += 1) await crashOn(stream);
  expect(await heir.claim(stream)).toMatchObject({ refused: 'quarantined' });
  for (const seconds of [20, 80, 320, 1_280, 5_120, 5_120]) {
    await later(stream, '2 hours');
    await crashOn(stream);
    const startedMs = Date.now();
    expect(secondsOf(await heir.claim(stream), startedMs)).toBeCloseTo(seconds, 0);
  }
  await later(stream, '2 hours');
  await aQuarantine().quarantine.load(await claimed(heir, stream), async () => undefined);
  expect(await crashesOf(stream)).toBe(0);
});

test('[QN4] the lease that ran out while a crash was counted makes no claim', async () => {
  const stream = await aStream(db);
  await crashOn(stream);
  const clock = manualClock();
  const late = meddled(db, async (query, run) => {
    const rows = await run();
    if (query.text.includes('least(o.crashes')) clock.advance(4_000);
    return rows;
  });
  const worker = await aWorker({ db: late, clock });
  await expect(worker.claim(stream)).rejects.toMatchObject({ code: 'SERVER_STOPPING' });
});

test('[QN4] crashes more than ten minutes apart do not add up', async () => {
  const stream = await aStream(db);
  for (let crash = 1; crash <= 4; crash += 1) {
    await crashOn(stream);
    const { epoch, numbersFrom, crashes } = await claimed(heir, stream);
    expect(crashes).toBe(1);
    await heir.release({ stream, epoch, numbersNext: numbersFrom });
    await later(stream, '10 minutes');
  }
});
