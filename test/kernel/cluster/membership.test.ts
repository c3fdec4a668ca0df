import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { asWorkerAddress } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { LEASE } from '../../../src/kernel/cluster/lease.ts';
import { Membership } from '../../../src/kernel/cluster/membership.ts';
import type { Query, Sql } from '../../../src/kernel/persistence/sql.ts';
import { manualClock } from '../../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A worker whose database answers, is away, or holds its answers back. */
async function aWorker() {
  const clock = manualClock();
  const heard: string[] = [];
  const held: (() => void)[] = [];
  const database = { mode: 'answers' as 'answers' | 'away' | 'holds' };
  const query = async <Row>({ text }: Query<Row>): Promise<Row[]> => {
    heard.push(text.trim().split(/\s+/, 3).join(' '));
    if (database.mode === 'away') throw new AppError('DATABASE_UNAVAILABLE');
    if (database.mode === 'holds') await new Promise<void>((resolve) => held.push(resolve));
    return [{}] as Row[];
  };
  const db: Sql = { query, change: async (one) => (await query(one)).length, transaction: (work) => work(db) };
  let lapses = 0;
  const membership = await Membership.join({
    db,
    lease: db,
    clock,
    random: systemRandom,
    log: silentLog,
    address: asWorkerAddress('test:1'),
    onLapsed: () => (lapses += 1),
    onRecalled: () => undefined,
  });
  return { membership, clock, heard, held, database, lapses: () => lapses };
}

test('[MB1] a worker whose lease lapsed drops its actors first, and goes on under a new incarnation when the database is back', async () => {
  const { membership, clock, database, lapses } = await aWorker();
  const before = membership.incarnation;
  database.mode = 'away';
  clock.advance(LEASE.servesForMs);
  expect(lapses()).toBe(1);
  expect(membership.isStanding).toBe(false);
  await settled();
  database.mode = 'answers';
  clock.advance(500);
  await settled();
  expect(membership.isStanding).toBe(true);
  expect(membership.incarnation).not.toBe(before);
});

test('[MB2] a worker that leaves while a new lease is on its way gives that one up too', async () => {
  const { membership, clock, database, held, heard } = await aWorker();
  database.mode = 'holds';
  clock.advance(LEASE.servesForMs);
  expect(heard.at(-1)).toBe('insert into worker_lease');
  const left = membership.leave();
  database.mode = 'answers';
  for (const answer of held.splice(0)) answer();
  await left;
  await settled();
  expect(heard.at(-1)).toBe('update worker_lease set'); // fenced by itself
  expect(membership.isStanding).toBe(false);
  const count = heard.length;
  clock.advance(10_000);
  await settled();
  expect(heard).toHaveLength(count);
});

test('[OW16] a worker that drains says so in the database, under each name that it takes', async () => {
  const { membership, clock, database, heard, held } = await aWorker();
  await membership.drain();
  expect(heard.at(-1)).toBe('update worker_lease set');
  database.mode = 'holds';
  clock.advance(LEASE.servesForMs);
  expect(heard.at(-1)).toBe('insert into worker_lease');
  const before = heard.length;
  database.mode = 'answers';
  for (const answer of held.splice(0)) answer();
  await settled();
  expect(membership.isStanding).toBe(true);
  expect(heard.slice(before)).toEqual(['update worker_lease set', 'update worker_lease set']); // the end of its former name, and that
});

test('[OW16] also when it is to drain while it takes one, and while the database is away without an error', async () => {
  const { membership, clock, database, heard, held } = await aWorker();
  database.mode = 'holds';
  clock.advance(LEASE.servesForMs);
  await membership.drain(); // it has no name at the moment
  const before = heard.length;
  database.mode = 'answers';
  for (const answer of held.splice(0)) answer();
  await settled();
  expect(heard.slice(before)).toEqual(['update worker_lease set', 'update worker_lease set']);
  database.mode = 'away';
  await expect(membership.drain()).resolves.toBeUndefined();
});

test('[MB3] a worker can leave while the database is away: its lease ends by itself', async () => {
  const { membership, clock, database, heard } = await aWorker();
  database.mode = 'away';
  await membership.leave();
  expect(membership.isStanding).toBe(false);
  const count = heard.length;
  clock.advance(10_000);
  await settled();
  expect(heard).toHaveLength(count);
});

test('[MB4] a lease that is over before it is in use, because the database took so long, is followed by another', async () => {
  const { membership, clock, database, held, lapses } = await aWorker();
  database.mode = 'holds';
  clock.advance(LEASE.servesForMs);
  await settled();
  held.shift()!(); // the lease is there; its former name is not given up yet
  await settled();
  clock.advance(LEASE.servesForMs);
  await settled();
  for (; held.length > 1; await settled()) held.pop()!(); // whatever was begun after that comes first
  held.shift()!();
  database.mode = 'answers';
  await settled();
  expect(membership.isStanding).toBe(true);
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1_000);
    await settled();
  }
  expect(membership.isStanding).toBe(true);
  expect(lapses()).toBe(1);
});

test('[MB6] a lease under which the former name cannot be given up is none: actors claimed under it would be owned by another', async () => {
  const { membership, clock, database, held, heard } = await aWorker();
  database.mode = 'holds';
  clock.advance(LEASE.servesForMs);
  await settled();
  database.mode = 'away';
  for (const answer of held.splice(0)) answer(); // the lease is there
  await settled();
  expect(membership.isStanding).toBe(false);
  database.mode = 'answers';
  const asked = heard.length;
  clock.advance(500);
  await settled();
  expect(membership.isStanding).toBe(true);
  expect(heard.slice(asked)).toEqual(['insert into worker_lease', 'update worker_lease set']);
});

test('[MB5] a database that may have forgotten claims is asked for all of them again, under a new incarnation', async () => {
  const { membership, lapses } = await aWorker();
  const before = membership.incarnation;
  membership.claimAnew();
  expect([lapses(), membership.isStanding]).toEqual([1, false]);
  membership.claimAnew(); // on its way already
  await settled();
  expect([lapses(), membership.isStanding]).toEqual([1, true]);
  expect(membership.incarnation).not.toBe(before);
});
