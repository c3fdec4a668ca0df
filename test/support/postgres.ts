/**
 * A real Postgres for test files, and databases of its own for each of them.
 *
 * The files that a process runs one after another share a server, the embedded one: it ends with the process, however that ends (see its keeper), so no
 * run can leave one behind or meet another's. It starts in a tenth of a second, because initdb runs once per machine and version and is copied,
 * and a database is a copy of one that is migrated.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/adapters/embedded-postgres.ts';
import { KEEPER } from '../../src/adapters/embedded-postgres-keeper.ts';
import { readMigrations } from '../../src/adapters/migration-files.ts';
import { openPostgres, type PostgresOptions, type PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { migrate } from '../../src/kernel/persistence/migrate.ts';

export interface TestPostgres {
  /** The URL of a new database, migrated; it is gone when the file ends. */
  database(): Promise<string>;
  /** A pool on it, or on a database that is there already; closed when the file ends. */
  open(options?: Partial<PostgresOptions>): Promise<PostgresSql>;
}

const TEMPLATE = 'migrated';

let server: Promise<EmbeddedPostgres> | null = null;
let databases = 0;

/** Call at the top of a test file. The server starts when it is first asked for. */
export function usePostgres(): TestPostgres {
  const made: string[] = [];
  const pools: PostgresSql[] = [];

  const connect = (options: Partial<PostgresOptions> & { url: string }): PostgresSql => {
    const pool = openPostgres({ poolMax: 10, log: silentLog, ...options });
    pools.push(pool);
    return pool;
  };
  const database = async (): Promise<string> => {
    server ??= startServer();
    const { url } = await server;
    const name = `test_${++databases}`;
    await askAlone(url, `create database ${name} template ${TEMPLATE} strategy file_copy`);
    made.push(name);
    return urlOf(url, name);
  };
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    if (server === null) return;
    const { url } = await server;
    for (const name of made) await askAlone(url, `drop database ${name} with (force)`);
  });
  return { database, open: async (options = {}) => connect({ ...options, url: options.url ?? (await database()) }) };
}

function urlOf(url: string, database: string): string {
  return url.replace('/postgres?', `/${database}?`);
}

function askAlone(url: string, text: string): Promise<unknown> {
  return withAlone(url, (db) => db.query({ text, values: [] }));
}

async function withAlone(url: string, work: (db: PostgresSql) => Promise<unknown>): Promise<void> {
  const db = openPostgres({ url, poolMax: 1, log: silentLog });
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

async function startServer(): Promise<EmbeddedPostgres> {
  const dataDir = await aDataDir('atrium-test-');
  await fillDataDir(dataDir);
  const postgres = await start(dataDir);
  await askAlone(postgres.url, `create database ${TEMPLATE}`);
  await withAlone(urlOf(postgres.url, TEMPLATE), async (db) => migrate(db, await readMigrations()));
  return postgres;
}

/** Puts an initialised, empty Postgres into a new DATA_DIR: ten times faster than initdb. */
export async function fillDataDir(dataDir: string): Promise<void> {
  const template = await findTemplate();
  await promisify(execFile)('cp', ['-a', join(template, 'postgres'), dataDir]); // keeps the owner, which fs.cp does not
}

/** The result of initdb, kept for other runs under a name that changes with how it is made. */
async function findTemplate(): Promise<string> {
  const made = createHash('sha256')
    .update(KEEPER)
    .update(import.meta.url)
    .digest('hex')
    .slice(0, 12);
  const kept = process.env.TEST_TEMPLATES ?? tmpdir();
  const template = join(kept, `atrium-test-template-${made}-${process.getuid?.() ?? 0}`);
  if (await stat(template).catch(() => null)) return template;
  const unfinished = await aDataDir('atrium-test-template-', kept);
  await (await start(unfinished)).stop();
  await rename(unfinished, template).catch(() => rm(unfinished, { recursive: true })); // another file was faster
  return template;
}

/** Open to the user that Postgres runs as when the tests run as root. */
export async function aDataDir(prefix: string, parent = tmpdir()): Promise<string> {
  const directory = await mkdtemp(join(parent, prefix));
  await chmod(directory, 0o711);
  return directory;
}

function start(dataDir: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    dataDir,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    onExit: (reason) => {
      throw new Error(reason);
    },
    settings: { fsync: 'off', shared_buffers: '16MB' }, // no test here cuts the power
  });
}
