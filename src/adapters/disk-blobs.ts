/**
 * Blobs as files, for embedded mode. A file appears whole or not at all. URLs are signed by ourselves and served by `kernel/transport/downloads.ts`,
 * which asks `grantOf` what they permit.
 */
import { open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Random } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Keyring } from '../base/keyring.ts';
import type { Log } from '../base/observe.ts';
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
import { Disk } from './disk.ts';
import { DiskParts } from './disk-parts.ts';
import { makeFolder, nullWhenMissing, publish, sha256Of, type Written, writeAside } from './durable-files.ts';

export interface DiskBlobsOptions {
  readonly directory: string;
  /** Where clients reach this server, without a slash at the end; asked at each signature, because a port may be known only after listening. */
  readonly publicUrl: () => string;
  /** Sign URLs. Kept over restarts, or URLs end with the process. */
  readonly secrets: Keyring;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Begins with a dot, as no key does. What is in it and old was left by a process that died. */
const UNFINISHED = '.unfinished';
/** The same, of `tryOut`: what a process leaves that dies in it is a byte. */
const TRIED = '.tried-';

export class DiskBlobs implements Blobs {
  readonly parts: DiskParts;
  readonly #options: DiskBlobsOptions;
  readonly #unfinished: string;
  readonly #disk: Disk;

  constructor(options: DiskBlobsOptions) {
    this.#options = options;
    this.#unfinished = join(options.directory, UNFINISHED);
    this.#disk = new Disk(options.log);
    this.parts = new DiskParts({
      directory: this.#unfinished,
      random: options.random,
      disk: this.#disk,
      put: (key, body) => this.put(key, body),
    });
  }

  async put(key: string, body: BlobBody): Promise<StoredBlob> {
    const path = this.#pathOf(key);
    return this.#disk.ask('put', async () => {
      const { stored, isNew } = await this.#store(path, body);
      if (!isNew && (await sha256Of(path)) !== stored.sha256)
        throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'blob', id: key });
      return stored;
    });
  }

  async get(key: string): Promise<Uint8Array | null> {
    const path = this.#pathOf(key);
    return this.#disk.ask('get', () => readFile(path).catch(nullWhenMissing));
  }

  /** Opens the file at once, not with the first piece: a refusal then comes before an answer has begun. */
  async read(key: string, range?: ByteRange): Promise<BlobStream | null> {
    const found = await this.head(key);
    if (found === null) return null;
    if (range !== undefined && range.start >= found.size) throw new AppError('RANGE_NOT_SATISFIABLE', found);
    const file = await this.#disk.ask('read', () => open(this.#pathOf(key)).catch(nullWhenMissing));
    return file === null ? null : { size: found.size, body: this.#disk.stream(file.createReadStream(range)) };
  }

  async head(key: string): Promise<{ size: number } | null> {
    const path = this.#pathOf(key);
    const found = await this.#disk.ask('head', () => stat(path).catch(nullWhenMissing));
    return found === null ? null : { size: found.size };
  }

  async delete(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await this.#disk.ask('delete', () => rm(path, { force: true }));
  }

  /** Does with one small file what is done with blobs. @throws what node:fs throws: who looks into it wants to know which call failed. */
  async tryOut(): Promise<void> {
    const path = join(this.#options.directory, `${TRIED}${this.#options.random.uuid()}`);
    await this.#store(path, new Uint8Array(1));
    try {
      await readFile(path);
    } finally {
      await rm(path);
    }
  }

  async presign(key: string, { validMs, fileName, mimeType }: DownloadTerms): Promise<string> {
    const { clock, secrets, publicUrl } = this.#options;
    const grant = { key: mustBeBlobKey(key), expiresAtMs: clock.nowMs() + validMs, fileName, mimeType };
    return `${publicUrl()}${signedPath(grant, secrets[0])}`;
  }

  /** What a URL of `presign` permits now; null when it was changed or has expired. */
  grantOf(request: { path: string; query: string }): BlobGrant | null {
    return grantOf(request, { nowMs: this.#options.clock.nowMs(), secrets: this.#options.secrets });
  }

  async #store(path: string, body: BlobBody): Promise<{ stored: Written; isNew: boolean }> {
    await makeFolder(this.#unfinished);
    const aside = join(this.#unfinished, this.#options.random.uuid());
    const stored = await writeAside(aside, body);
    try {
      return { stored, isNew: await publish(aside, path) };
    } finally {
      await rm(aside, { force: true });
    }
  }

  #pathOf(key: string): string {
    return join(this.#options.directory, mustBeBlobKey(key));
  }
}
