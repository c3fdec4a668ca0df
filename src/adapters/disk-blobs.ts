/**
 * Blobs as files, for embedded mode. A file appears whole or not at all. URLs are signed by ourselves and served by `kernel/transport/downloads.ts`,
 * which asks `grantOf` what they permit.
 */
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Random } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import {
  type BlobBody,
  type BlobStream,
  type Blobs,
  type ByteRange,
  type DownloadTerms,
  mustBeBlobKey,
  type StoredBlob,
} from '../kernel/persistence/blobs.ts';
import { type BlobGrant, grantOf, signedPath } from './blob-urls.ts';
import { DiskParts } from './disk-parts.ts';
import { nullWhenMissing, publish, readPieces, sha256Of, writeAside } from './durable-files.ts';

export interface DiskBlobsOptions {
  readonly directory: string;
  /** Where clients reach this server, without a slash at the end; asked at each signature, because a port may be known only after listening. */
  readonly publicUrl: () => string;
  /** Signs URLs. Kept over restarts, or URLs end with the process. */
  readonly secret: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
}

/** Begins with a dot, as no key does. What is in it and old was left by a process that died. */
const UNFINISHED = '.unfinished';

export class DiskBlobs implements Blobs {
  readonly parts: DiskParts;
  readonly #options: DiskBlobsOptions;
  readonly #unfinished: string;

  constructor(options: DiskBlobsOptions) {
    this.#options = options;
    this.#unfinished = join(options.directory, UNFINISHED);
    this.parts = new DiskParts({
      directory: this.#unfinished,
      random: options.random,
      put: (key, body) => this.put(key, body),
    });
  }

  async put(key: string, body: BlobBody): Promise<StoredBlob> {
    const path = this.#pathOf(key);
    await mkdir(this.#unfinished, { recursive: true });
    const aside = join(this.#unfinished, this.#options.random.uuid());
    const stored = await writeAside(aside, body);
    try {
      const isNew = await publish(aside, path);
      if (!isNew && (await sha256Of(path)) !== stored.sha256)
        throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'blob', id: key });
      return stored;
    } finally {
      await rm(aside, { force: true });
    }
  }

  async get(key: string): Promise<Uint8Array | null> {
    return readFile(this.#pathOf(key)).catch(nullWhenMissing);
  }

  async read(key: string, range?: ByteRange): Promise<BlobStream | null> {
    const found = await this.head(key);
    if (found === null) return null;
    if (range !== undefined && range.start >= found.size) throw new AppError('RANGE_NOT_SATISFIABLE', found);
    return { size: found.size, body: readPieces(this.#pathOf(key), range) };
  }

  async head(key: string): Promise<{ size: number } | null> {
    const found = await stat(this.#pathOf(key)).catch(nullWhenMissing);
    return found === null ? null : { size: found.size };
  }

  async delete(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true });
  }

  async presign(key: string, { validMs, fileName, mimeType }: DownloadTerms): Promise<string> {
    const { clock, secret, publicUrl } = this.#options;
    const grant = { key: mustBeBlobKey(key), expiresAtMs: clock.nowMs() + validMs, fileName, mimeType };
    return `${publicUrl()}${signedPath(grant, secret)}`;
  }

  /** What a URL of `presign` permits now; null when it was changed or has expired. */
  grantOf(request: { path: string; query: string }): BlobGrant | null {
    return grantOf(request, { nowMs: this.#options.clock.nowMs(), secret: this.#options.secret });
  }

  #pathOf(key: string): string {
    return join(this.#options.directory, mustBeBlobKey(key));
  }
}
