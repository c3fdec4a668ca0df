/**
 * One folder for all that a run of the tests leaves in temporary files, in memory where that is large enough, and gone with the run: vitest
 * calls this once, before the first test file. Each file that uses Postgres makes and removes a thousand files, which a disk's file system
 * makes slow: `test/features` took 76 s on ext4 where it takes 53 (two cores, …v782).
 *
 * Whoever sets TMPDIR decides where it is.
 */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Several times what a whole run has there at once. */
const MEMORY_BYTES_LEAST = 8 * 1024 ** 3;
const FOLDER = /^atrium-tests-(\d+)-\w{6}$/;

export default function setup(): (() => void) | undefined {
  if (process.env.TEST_TEMPLATES !== undefined) return; // the other project of this run has made it
  process.env.TEST_TEMPLATES = tmpdir();
  const base = process.env.TMPDIR === undefined && hasRoom(MEMORY) ? MEMORY : tmpdir();
  removeLeftovers(base);
  const folder = mkdtempSync(join(base, `atrium-tests-${process.pid}-`));
  chmodSync(folder, 0o711); // Postgres runs as another user where the tests run as root
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= MEMORY_BYTES_LEAST;
}

/** What runs of this user left that were killed. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = FOLDER.exec(name)?.[1];
    if (pid === undefined || lives(Number(pid))) continue;
    const path = join(base, name);
    if (statSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // it does, and is somebody else's
  }
}
