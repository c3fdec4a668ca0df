/**
 * Blobs as files, for embedded mode. A file appears whole or not at all: written aside, forced to disk, renamed. URLs are signed by ourselves and
 * served by a route of ours, which asks `verifyBlobUrl` and then `open`.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock, Random } from '../base/clock.ts';
import type { Blobs } from '../kernel/persistence/blobs.ts';

export interface DiskBlobsOptions {
  readonly directory: string;
  /** Where clients reach this server, without a slash at the end; asked at each signature, because a port may be known only after listening. */
  readonly publicUrl: () => string;
  /** Signs URLs. Kept over restarts, or URLs end with the process. */
  readonly secret: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
}

/** A blob to be served: its size, and any part of it as a stream. */
export interface BlobReader {
  readonly size: number;
  /** The bytes from `start` up to and including `end`, as in a Range header. */
  stream(range?: { start: number; end: number }): AsyncIterable<Uint8Array>;
}

export class DiskBlobs implements Blobs {
  readonly #options: DiskBlobsOptions;

  constructor(options: DiskBlobsOptions) {
    this.#options = options;
  }

  async put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ size: number }> {
    const path = this.#pathOf(key);
    const directory = dirname(path);
    const made = await mkdir(directory, { recursive: true });
    const unfinished = `${path}.${this.#options.random.uuid()}.part`;
    try {
      const size = await writeDurably(unfinished, body);
      await rename(unfinished, path);
      await syncUp(directory, made === undefined ? directory : dirname(made));
      return { size };
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async get(key: string): Promise<Uint8Array | null> {
    return readFile(this.#pathOf(key)).catch(nullWhenMissing);
  }

  async delete(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true });
  }

  async presign(
    key: string,
    { validMs, fileName, mimeType }: { validMs: number; fileName: string; mimeType: string },
  ): Promise<string> {
    mustBeKey(key);
    const { clock, secret, publicUrl } = this.#options;
    const grant = { key, expiresAtMs: clock.nowMs() + validMs, fileName, mimeType };
    const query = new URLSearchParams({
      expires: String(grant.expiresAtMs),
      name: fileName,
      type: mimeType,
      signature: sign(grant, secret),
    });
    return `${publicUrl()}/blobs/${key}?${query}`;
  }

  /** Null when there is no such blob. */
  async open(key: string): Promise<BlobReader | null> {
    const path = this.#pathOf(key);
    const found = await stat(path).catch(nullWhenMissing);
    return found === null ? null : { size: found.size, stream: (range) => createReadStream(path, range) };
  }

  #pathOf(key: string): string {
    return join(this.#options.directory, mustBeKey(key));
  }
}

/** What a signed URL permits. */
export interface BlobGrant {
  readonly key: string;
  readonly expiresAtMs: number;
  readonly fileName: string;
  readonly mimeType: string;
}

/** The grant of a URL made by `presign`, from its path after `/blobs/` and its query; null when it was changed or has expired. */
export function verifyBlobUrl({
  key,
  query,
  nowMs,
  secret,
}: {
  key: string;
  query: URLSearchParams;
  nowMs: number;
  secret: Uint8Array;
}): BlobGrant | null {
  const [expires, fileName, mimeType, signature] = ['expires', 'name', 'type', 'signature'].map((name) => query.get(name));
  if (expires == null || fileName == null || mimeType == null || signature == null || !KEY.test(key)) return null;
  const grant = { key, expiresAtMs: Number(expires), fileName, mimeType };
  const expected = Buffer.from(sign(grant, secret));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return nowMs < grant.expiresAtMs ? grant : null;
}

/** Over a list in JSON, so that no part can grow into its neighbour. */
function sign({ key, expiresAtMs, fileName, mimeType }: BlobGrant, secret: Uint8Array): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([key, expiresAtMs, fileName, mimeType]))
    .digest('base64url');
}

/** Segments of up to 200 letters, digits, `_`, `-` and `.`, none beginning with a dot: no key leaves the directory. */
const KEY = /^(?!\.)[\w.-]{1,200}(\/(?!\.)[\w.-]{1,200})*$/;

/** Keys are made by us; a bad one is our bug, and better met here than on the disk. */
function mustBeKey(key: string): string {
  if (key.length > 512 || !KEY.test(key)) throw new Error(`not a blob key: ${JSON.stringify(key)}`);
  return key;
}

async function writeDurably(path: string, body: Uint8Array | AsyncIterable<Uint8Array>): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  try {
    const size = await writeAll(file, body instanceof Uint8Array ? [body] : body);
    await file.sync();
    return size;
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const part of parts) {
    await file.writeFile(part);
    size += part.length;
  }
  return size;
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

function nullWhenMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
