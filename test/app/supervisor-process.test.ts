/** The supervisor with real processes: real leases, a real shared port, real signals. */
import { beforeAll, expect, test, vi } from 'vitest';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { SqlOwnership } from '../../src/kernel/cluster/sql-ownership.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { compiled } from '../support/compiled.ts';
import { quietPorts } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';
import { usePostgres } from '../support/postgres.ts';
import { aStream } from '../support/streams.ts';
import { Supervised } from '../support/supervised.ts';

vi.setConfig({ testTimeout: 120_000 }); // processes start slowly where others work too
const postgres = usePostgres();
let url: string;
let db: Sql;
beforeAll(async () => {
  url = await postgres.database();
  db = await postgres.open({ url });
});

const [supervisor, worker] = await Promise.all([
  compiled('test/support/supervisor-child.ts'),
  compiled('test/support/worker-child.ts'),
]);

function start(settings: Readonly<Record<string, string>> = {}): Supervised {
  return new Supervised([supervisor, worker], {
    WORKERS: '2',
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: url,
    REDIS_URL: 'redis://127.0.0.1:1', // these workers ask neither
    S3_BUCKET: 'none',
    SECRET_KEY: 'sk_for_the_supervisor_test',
    PUBLIC_KEY: 'pk_for_the_supervisor_test',
    ...settings,
  });
}

interface Serving {
  readonly pid: number;
  readonly incarnation: string;
  readonly port: number;
}

/** The `count`th process at this place, once it serves. */
async function served(supervised: Supervised, worker: number, count = 1): Promise<Serving> {
  const isIt = () => supervised.lines.filter((line) => line.worker === worker && line.serves !== undefined)[count - 1];
  await supervised.line(`worker ${worker} serves for the ${count}. time`, () => isIt() !== undefined);
  const { pid, serves, port } = isIt()!;
  return { pid: Number(pid), incarnation: String(serves), port: Number(port) };
}

/** A connection that the system gave to a worker in the moment it closed its port is reset, not refused. */
function codeOf(error: unknown): string {
  const { code } = (error as { cause?: { code?: string } }).cause ?? {};
  if (code === undefined) throw error;
  return code;
}

async function fencedAfterMs(incarnation: string, sinceMs: number): Promise<number> {
  await until('the lease is fenced', async () => (await lease(incarnation)).isFenced);
  return performance.now() - sinceMs;
}

async function lease(incarnation: string): Promise<{ isFenced: boolean; isValid: boolean }> {
  const [row] = await db.query(
    sql<{ isFenced: boolean; isValid: boolean }>`
      select fenced_at is not null as "isFenced", lease_until > clock_timestamp() as "isValid" from worker_lease where incarnation = ${incarnation}`,
  );
  return row!;
}

test('[SV9] kill -9 of a worker: its lease, still valid, is fenced within 500 ms, what it owned can be claimed, and another takes its place', async () => {
  const supervised = start();
  const [dead, other] = await Promise.all([served(supervised, 0), served(supervised, 1)]);
  const stream = await aStream(db);
  await db.query(sql`update actor_owner set owner = ${dead.incarnation} where stream = ${stream}`);
  const heir = await SqlOwnership.register({
    db,
    lease: db,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    address: asWorkerAddress('heir:1'),
    onLapsed: () => undefined,
    onRecalled: () => undefined,
  });
  expect(await heir.claim(stream)).toMatchObject({ refused: 'owned' });
  const killedMs = performance.now();
  supervised.signalWorker(dead.pid, 'SIGKILL');
  expect(await fencedAfterMs(dead.incarnation, killedMs)).toBeLessThan(500);
  expect(await lease(dead.incarnation)).toEqual({ isFenced: true, isValid: true });
  expect(await heir.claim(stream)).toMatchObject({ stream });
  await heir.retire();
  const successor = await served(supervised, 0, 2);
  expect(successor.pid).not.toBe(dead.pid);
  expect(supervised.running.toSorted()).toEqual([other.pid, successor.pid].toSorted());
  expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('[SV10] a worker that is frozen for less than ten seconds is not dead: it is neither fenced nor replaced, and goes on with its lease', async () => {
  const supervised = start();
  const [frozen] = await Promise.all([served(supervised, 0), served(supervised, 1)]);
  supervised.signalWorker(frozen.pid, 'SIGSTOP');
  await until('two renewals were missed', async () => {
    const [row] = await db.query(
      sql<{ missed: boolean }>`
        select lease_until < clock_timestamp() + interval '2 seconds' as missed from worker_lease where incarnation = ${frozen.incarnation}`,
    );
    return row?.missed;
  });
  expect(await lease(frozen.incarnation)).toMatchObject({ isFenced: false });
  supervised.signalWorker(frozen.pid, 'SIGCONT');
  expect(supervised.pids()).toHaveLength(2);
  expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('[SV18] a worker that stays frozen is killed by the supervisor, fenced, and another takes its place', async () => {
  const supervised = start();
  const [frozen, other] = await Promise.all([served(supervised, 0), served(supervised, 1)]);
  supervised.signalWorker(frozen.pid, 'SIGSTOP');
  await supervised.line('it is killed', ({ msg, pid }) => msg === 'worker killed: it hangs' && pid === frozen.pid);
  const successor = await served(supervised, 0, 2);
  await until('the lease is fenced', async () => (await lease(frozen.incarnation)).isFenced);
  expect(supervised.running.toSorted()).toEqual([other.pid, successor.pid].toSorted());
  expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('[SV11] kill -9 of the supervisor: its workers see it, give up their leases and are gone within 5 s', async () => {
  const supervised = start();
  const workers = await Promise.all([served(supervised, 0), served(supervised, 1)]);
  await supervised.stop('SIGKILL');
  await until('both workers are gone', () => supervised.running.length === 0, { timeoutMs: 5_000 });
  for (const { incarnation } of workers) expect((await lease(incarnation)).isFenced).toBe(true);
});

test('[SV17] it logs the process ID that signals are for', async () => {
  const supervised = start();
  await supervised.line('it says that it started', ({ msg, pid }) => msg === 'supervisor started' && pid === supervised.pid);
  await served(supervised, 0);
  expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('[SV12] SIGTERM ends all workers in order, and the code is 0', async () => {
  const supervised = start({ WORKERS: '3' });
  const workers = await Promise.all([0, 1, 2].map((worker) => served(supervised, worker)));
  expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(supervised.running).toEqual([]);
  const ends = supervised.lines.filter((line) => line.msg === 'worker ended');
  expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
  for (const { incarnation } of workers) expect((await lease(incarnation)).isFenced).toBe(true); // by themselves
});

test('[SV13] SIGHUP replaces all workers, and never is there nobody to answer on the port', async () => {
  const supervised = start();
  const [{ port }] = await Promise.all([served(supervised, 0), served(supervised, 1)]);
  const answered = new Set<string>();
  const asking = { isOver: false };
  const ask = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })).text();
  const asks = (async () => {
    while (!asking.isOver) answered.add(await ask().catch(codeOf));
  })();
  supervised.signal('SIGHUP');
  await supervised.line('all are replaced', ({ msg }) => msg === 'rolling restart done');
  const successors = supervised.running.map(String);
  await until('a successor has answered', () => successors.some((pid) => answered.has(pid)));
  asking.isOver = true;
  await asks;
  expect(answered).not.toContain('ECONNREFUSED');
  expect(supervised.pids()).toHaveLength(4);
  expect(supervised.running.toSorted()).toEqual(supervised.pids().slice(2).toSorted());
  expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('[SV14] the public port is chosen once for all, the others are counted up from the first; that it serves is said once, in a line of the log', async () => {
  const bus = await quietPorts(4);
  const admin = bus + 2;
  const supervised = start({ BUS_PORT: String(bus), ADMIN_PORT: String(admin), WORKERS: '2' });
  const { port } = await served(supervised, 0);
  await served(supervised, 1);
  const told = supervised.lines
    .filter(({ serves }) => serves !== undefined)
    .toSorted((a, b) => Number(a.worker) - Number(b.worker));
  expect(told).toEqual([
    expect.objectContaining({ worker: 0, port, busPort: bus, adminPort: admin }),
    expect.objectContaining({ worker: 1, port, busPort: bus + 1, adminPort: admin + 1 }),
  ]);
  const ready = supervised.lines.filter(({ msg }) => msg === 'server ready');
  expect(ready).toEqual([expect.objectContaining({ url: `http://127.0.0.1:${port}`, workers: 2 })]);
  expect(await supervised.stop('SIGINT')).toEqual({ code: 0, signal: null });
});

test('[SV14] ports are counted up to the last there is, which no worker takes for the first of as many', async () => {
  const supervised = start({ ADMIN_PORT: '65534' });
  await Promise.all([served(supervised, 0), served(supervised, 1)]);
  const told = supervised.lines.filter(({ serves }) => serves !== undefined).map(({ adminPort }) => adminPort);
  expect(told.toSorted()).toEqual([65_534, 65_535]);
  expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('[SV15] workers that refuse to start end the supervisor with their sentence, once; workers that crash with another', async () => {
  const refused = start({ TEST_WORKER: 'refuse', WORKERS: '3' });
  expect(await refused.exited).toEqual({ code: 1, signal: null });
  expect(refused.stderr).toBe('The test wants it so.\n');
  const crashed = start({ TEST_WORKER: 'crash' });
  expect(await crashed.exited).toEqual({ code: 1, signal: null });
  expect(crashed.stderr).toMatch(/^The workers end as soon as they start.*\n$/);
});

test('[SV15] a port that somebody else has refuses to start, before any worker is', async () => {
  const first = start();
  const { port } = await served(first, 0);
  const second = start({ PORT: String(port) });
  expect(await second.exited).toEqual({ code: 1, signal: null });
  expect(second.stderr).toContain(`port ${port} is taken`);
  expect(second.pids()).toEqual([]);
});

test('[SV15] a DATABASE_URL that nothing can read refuses to start, once, before any worker is', async () => {
  const refused = start({ DATABASE_URL: 'postgres://ada:pass/word@localhost/rooms' });
  expect(await refused.exited).toEqual({ code: 1, signal: null });
  expect(refused.stderr).toMatch(/^DATABASE_URL is no URL .*\.\n$/);
  expect(refused.pids()).toEqual([]);
});
