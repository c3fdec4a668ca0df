/**
 * Starts and stops the private Postgres of embedded mode; `postgres-sql.ts` then talks to it like to any other.
 *
 * It listens on a Unix socket in a directory of its own, never on the network, and lives exactly as long as this process: see the keeper.
 * Two processes on one DATA_DIR cannot both start.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chown, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Clock, Random } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import { StartRefused } from '../base/start-refused.ts';
import { KEEPER, KEEPER_EXIT } from './embedded-postgres-keeper.ts';
import { findPlace, type Place } from './embedded-postgres-place.ts';

export interface EmbeddedPostgresOptions {
  /** The data go to `postgres` in here. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Postgres ended without being asked, for `reason`. Nothing can be served any more: the process should end too, and be started again. */
  readonly onExit: (reason: string) => void;
  /** For what root must put outside DATA_DIR; see `embedded-postgres-place.ts`. */
  readonly sharedDir?: string;
  /** More settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** For `openPostgres`. */
  readonly url: string;
  /** Ends all connections, writes a checkpoint, resolves when Postgres is gone. */
  stop(): Promise<void>;
}

const SHARED_DIR = '/var/lib/atrium';
/** Recovery after a crash replays up to max_wal_size, which takes seconds; past this, something else is wrong. */
const READY_MS_MAX = 120_000;
/** At first; a Postgres that has to recover is asked less and less often. */
const LOOK_AGAIN_MS = 15;
const LOG_BYTES_MAX = 10 * 1024 * 1024;
/** A setting of our own by which we know our Postgres from one that another Atrium still runs on the same socket. */
const START_ID = 'atrium.start_id';
/** A socket's path may have 107 bytes on Linux and 103 on macOS. */
const SOCKET_PATH_BYTES_MAX = 103;

/**
 * Resolves when Postgres accepts connections: about 1 s the first time, 0.1 s later.
 * @throws StartRefused when another Atrium uses this DATA_DIR, nothing can be written there, or Postgres cannot run here.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, clock, log } = options;
  const startedMs = clock.monotonicMs();
  const { place, socket, logFile } = await makeReady(options).catch((error: unknown) => {
    throw unlessSystemSaysNo(error);
  });
  const startId = options.random.uuid();
  const keeper = startKeeper(place, { ...settingsFor(socket.dir), ...options.settings, [START_ID]: startId }, logFile.file.fd);
  await logFile.file.close(); // the keeper has its own
  const url = `postgres://atrium@localhost:5432/postgres?host=${encodeURIComponent(socket.dir)}&sslmode=disable`;

  let isStopping = false;
  const stop = async (): Promise<void> => {
    isStopping = true;
    keeper.child.stdin?.end(); // what the keeper waits for
    await keeper.exit;
    await socket.remove();
  };
  try {
    await untilReady({ url, startId, keeper, clock });
  } catch (error) {
    await stop();
    throw error instanceof KeeperEnded ? await refusal(error.code, { dataDir, place, logFile }) : error;
  }
  void keeper.exit.then((code) => {
    if (!isStopping) options.onExit(`the embedded Postgres ended with exit code ${code}; see ${logFile.path}`);
  });
  log.info({ home: place.home, startMs: Math.round(clock.monotonicMs() - startedMs) }, 'embedded Postgres started');
  return { url, stop };
}

/** All that must be on the disk before Postgres starts. */
async function makeReady({ dataDir, log, sharedDir = SHARED_DIR }: EmbeddedPostgresOptions) {
  const place = await findPlace({ dataDir, sharedDir, log });
  return { place, socket: await makeSocketDir(place), logFile: await openLog(join(place.home, 'postgres.log')) };
}

/** What a system call refused is the operator's to mend; everything else is thrown as it is. */
function unlessSystemSaysNo(error: unknown): unknown {
  const { syscall, message } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  return new StartRefused(
    `DATA_DIR cannot hold the private Postgres (${message}): name a folder that this user may write to, or set DATABASE_URL.`,
    { cause: error },
  );
}

interface Keeper {
  readonly child: ChildProcess;
  /** Its exit code, or the reason why it never ran. Never rejects. */
  readonly exit: Promise<number | string>;
}

function startKeeper({ home, bin, user }: Place, settings: Readonly<Record<string, string>>, logFd: number): Keeper {
  const postgresArgs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn('/bin/sh', ['-c', 'eval "$KEEPER"', 'atrium-postgres-keeper', home, bin, ...postgresArgs], {
    ...user,
    cwd: '/', // ours may be closed to the other user
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', KEEPER }, // no PG… or LD_… of the caller's
    detached: true, // a session of its own: signals to Atrium's process group are not for Postgres
    stdio: ['pipe', logFd, logFd],
  });
  child.stdin?.on('error', () => undefined); // the keeper is gone; its exit tells
  const exit = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    child.once('error', (error) => resolve(error.message));
  });
  return { child, exit };
}

function settingsFor(socketDir: string): Record<string, string> {
  return {
    listen_addresses: '',
    unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    fsync: 'on', // a yes to a client means: on disk
    synchronous_commit: 'on',
    log_min_messages: 'log', // statements that fail are told by who sent them
    log_checkpoints: 'off',
    log_line_prefix: '%m [%p] ',
  };
}

class KeeperEnded extends Error {
  readonly code: number | string;

  constructor(code: number | string) {
    super(`keeper ended: ${code}`);
    this.code = code;
  }
}

interface Starting {
  readonly url: string;
  readonly startId: string;
  readonly keeper: Keeper;
  readonly clock: Clock;
}

async function untilReady({ url, startId, keeper, clock }: Starting): Promise<void> {
  const giveUpMs = clock.monotonicMs() + READY_MS_MAX;
  for (let waitMs = LOOK_AGAIN_MS; (await askStartId(url)) !== startId; waitMs *= 1.1) {
    const wait = new Promise<null>((resolve) => clock.after(waitMs, () => resolve(null)));
    const end = await Promise.race([keeper.exit, wait]);
    if (end !== null) throw new KeeperEnded(end);
    if (clock.monotonicMs() > giveUpMs) throw new StartRefused('The embedded Postgres did not become ready within two minutes.');
  }
}

/** Null while nobody listens, or Postgres is still recovering. */
async function askStartId(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000, query_timeout: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ id: string | null }>(`select current_setting('${START_ID}', true) as id`);
    return rows[0]?.id ?? null;
  } catch {
    return null;
  } finally {
    await client.end();
  }
}

interface Failed {
  readonly dataDir: string;
  readonly place: Place;
  readonly logFile: LogFile;
}

async function refusal(code: number | string, { dataDir, place, logFile }: Failed): Promise<StartRefused> {
  switch (code) {
    case KEEPER_EXIT.inUse:
      return new StartRefused(
        `Another Atrium process uses the data directory ${dataDir}; stop it, or give this one another DATA_DIR.`,
      );
    case KEEPER_EXIT.orphanStays:
      return new StartRefused(
        `A Postgres that an earlier Atrium left running on ${place.home} does not stop; end it and start again.`,
      );
    case KEEPER_EXIT.noLockTool:
      return new StartRefused(
        'The embedded Postgres needs the command "flock" (package util-linux) or "perl"; install one, or set DATABASE_URL.',
      );
    default:
      return new StartRefused(
        `The embedded Postgres did not start (${code}); its log ${logFile.path} ends with:\n${await logFile.tail()}`,
      );
  }
}

interface LogFile {
  readonly path: string;
  readonly file: Awaited<ReturnType<typeof open>>;
  /** The last lines written since it was opened. */
  tail(): Promise<string>;
}

/** Appends; one older file is kept. */
async function openLog(path: string): Promise<LogFile> {
  const file = await open(path, 'a', 0o600);
  const { size } = await file.stat();
  if (size > LOG_BYTES_MAX) {
    await file.close();
    await rename(path, `${path}.1`);
    return openLog(path);
  }
  const tail = async (): Promise<string> => (await readFile(path, 'utf8')).slice(size).trimEnd().split('\n').slice(-8).join('\n');
  return { path, file, tail };
}

/** In the home directory, unless that path is too long for a socket. */
async function makeSocketDir({ home, user }: Place): Promise<{ dir: string; remove(): Promise<void> }> {
  const isShort = Buffer.byteLength(join(home, '.s.PGSQL.5432')) <= SOCKET_PATH_BYTES_MAX;
  if (isShort) return { dir: home, remove: async () => undefined };
  const dir = await mkdtemp(join(tmpdir(), 'atrium-'));
  if (user !== null) await chown(dir, user.uid, user.gid);
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}
