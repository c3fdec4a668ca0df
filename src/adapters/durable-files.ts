/** Files that appear whole or not at all: written aside, forced to disk, then given their name. It knows no blobs. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface Written {
  readonly size: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

/** Writes a new file and forces it to disk, its name not yet. `trailerOf` may add bytes at the end. When the body breaks off, no file stays. */
export async function writeAside(
  path: string,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  trailerOf: (written: Written) => string = () => '',
): Promise<Written> {
  const file = await open(path, 'wx', 0o600);
  try {
    const written = await writeAll(file, body instanceof Uint8Array ? [body] : body);
    await file.writeFile(trailerOf(written));
    await file.sync();
    return written;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Written> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of pieces) {
    await file.writeFile(piece);
    hash.update(piece);
    size += piece.length;
  }
  return { size, sha256: hash.digest('hex') };
}

/** Gives a file its name, for good also after a power cut. False, and nothing is changed, when the name is taken. */
export async function publish(aside: string, path: string): Promise<boolean> {
  const directory = dirname(path);
  const made = await makeFolder(directory);
  const isNew = await linkOnce(aside, path);
  await syncUp(directory, made === undefined ? directory : dirname(made));
  return isNew;
}

/**
 * Makes a folder, and those above it that are missing; resolves with the first one made. What Node calls ENOENT then is not always that: of a
 * read-only file system the folder, made by itself, tells.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    return await mkdir(path, { recursive: true });
  } catch (error) {
    const { code, path: failed } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && failed !== undefined) await mkdir(failed);
    throw error;
  }
}

async function linkOnce(aside: string, path: string): Promise<boolean> {
  try {
    await link(aside, path); // unlike rename it never replaces
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Gives a file its name, in the place of one that may have it. */
export async function replace(aside: string, path: string): Promise<void> {
  await rename(aside, path);
  await syncUp(dirname(path), dirname(path));
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}

/** A name is on disk only when its directory is; so are those of directories made on the way, from `directory` up to `top`. */
async function syncUp(directory: string, top: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (directory !== top) await syncUp(dirname(directory), top);
}

export function nullWhenMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
