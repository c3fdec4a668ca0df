import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const PLACES = ['/dev/shm', '/var/tmp'];

/** A folder on another file system than that of temporary files, for one test, or null where there is none. */
export async function aFolderElsewhere(): Promise<string | null> {
  const { dev } = await stat(tmpdir());
  for (const place of PLACES) {
    const found = await stat(place).catch(() => null);
    if (found === null || found.dev === dev) continue;
    const folder = await mkdtemp(join(place, 'atrium-elsewhere-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    return folder;
  }
  return null;
}
