/**
 * Uploads in parts on disk: a folder per upload, a file per part that ends with its etag. Completing copies the parts into one blob.
 */
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../base/clock.ts';
import type { AppError } from '../base/errors.ts';
import {
  type BlobParts,
  countedBody,
  mustBePartNumber,
  mustMatchParts,
  type NamedPart,
  noSuchUpload,
  type PartsUpload,
  replacedPart,
  type SizeLimits,
  type UploadedPart,
} from '../kernel/persistence/blob-parts.ts';
import { type BlobBody, mustBeBlobKey, type StoredBlob } from '../kernel/persistence/blobs.ts';
import type { Disk } from './disk.ts';
import { makeFolder, nullWhenMissing, replace, writeAside } from './durable-files.ts';

interface DiskPartsOptions {
  readonly directory: string;
  readonly random: Random;
  readonly disk: Disk;
  readonly put: (key: string, body: BlobBody) => Promise<StoredBlob>;
}

const ETAG_LENGTH = 32;
/** Holds the key that the upload is for; its age is that of the upload. */
const KEY_FILE = 'key';
const UPLOAD_ID = /^[\w-]{1,64}$/;
const STALE_AT_ONCE_MAX = 10_000;

export class DiskParts implements BlobParts {
  readonly #options: DiskPartsOptions;

  constructor(options: DiskPartsOptions) {
    this.#options = options;
  }

  async start(key: string): Promise<PartsUpload> {
    const upload = { key: mustBeBlobKey(key), uploadId: this.#options.random.uuid() };
    const folder = this.#folderOf(upload);
    return this.#options.disk.ask('start upload', async () => {
      await makeFolder(folder);
      await writeAside(join(folder, KEY_FILE), Buffer.from(key));
      return upload;
    });
  }

  async put(upload: PartsUpload, partNumber: number, part: { body: BlobBody; size?: number }): Promise<UploadedPart> {
    mustBePartNumber(partNumber);
    const folder = this.#folderOf(upload);
    return this.#options.disk.ask('put part', async () => {
      await this.#mustExist(upload);
      const aside = join(folder, this.#options.random.uuid());
      const { size, sha256 } = await writeAside(aside, countedBody(part.body, part.size), etagOf).catch(goneOf(upload));
      await replace(aside, join(folder, String(partNumber))).catch(goneOf(upload));
      return { partNumber, size, etag: etagOf({ sha256 }) };
    });
  }

  async complete(upload: PartsUpload, parts: readonly NamedPart[], limits: SizeLimits): Promise<{ size: number }> {
    return this.#options.disk.ask('complete upload', async () => {
      await this.#mustExist(upload);
      const inOrder = mustMatchParts(await this.#list(upload), parts, limits);
      const { size } = await this.#options.put(upload.key, this.#bytesOf(upload, inOrder));
      await this.#abort(upload);
      return { size };
    });
  }

  async abort(upload: PartsUpload): Promise<void> {
    await this.#options.disk.ask('abort', () => this.#abort(upload));
  }

  async abortStale({ beforeMs }: { beforeMs: number }): Promise<number> {
    return this.#options.disk.ask('abort stale', () => this.#abortStale(beforeMs));
  }

  /**
   * The folder loses its name before its parts: what a worker that ends here leaves of them would be refused, for good, to who completes the
   * upload once more. `abortStale` finds it.
   */
  async #abort(upload: PartsUpload): Promise<void> {
    if (!(await this.#exists(upload))) return;
    const nameless = join(this.#options.directory, this.#options.random.uuid());
    await rename(this.#folderOf(upload), nameless).catch(nullWhenMissing); // somebody else did
    await rm(nameless, { recursive: true, force: true });
  }

  async #abortStale(beforeMs: number): Promise<number> {
    const entries = (await readdir(this.#options.directory, { withFileTypes: true }).catch(nullWhenMissing)) ?? [];
    let aborted = 0;
    for (const entry of entries.slice(0, STALE_AT_ONCE_MAX)) {
      const path = join(this.#options.directory, entry.name);
      const dated = entry.isDirectory() ? join(path, KEY_FILE) : path;
      const found = (await stat(dated).catch(nullWhenMissing)) ?? (await stat(path).catch(nullWhenMissing));
      if (found === null || found.mtimeMs >= beforeMs) continue;
      await rm(path, { recursive: true, force: true });
      aborted++;
    }
    return aborted;
  }

  /** A part may come again meanwhile: only the one that was named is taken. */
  async *#bytesOf(upload: PartsUpload, parts: readonly UploadedPart[]): AsyncGenerator<Uint8Array> {
    try {
      for (const part of parts) {
        const file = await open(join(this.#folderOf(upload), String(part.partNumber)), 'r');
        try {
          const { size, trailer } = await trailerOf(file);
          if (size !== part.size || trailer !== part.etag) throw replacedPart(part);
          if (size > 0) yield* file.createReadStream({ start: 0, end: size - 1, autoClose: false });
        } finally {
          await file.close();
        }
      }
    } catch (error) {
      goneOf(upload)(error as NodeJS.ErrnoException);
    }
  }

  /** All that were uploaded; while somebody else takes them away, some might be missing. */
  async #list(upload: PartsUpload): Promise<UploadedPart[]> {
    const folder = this.#folderOf(upload);
    const numbers = (await readdir(folder).catch(goneOf(upload))).filter((name) => /^\d{1,5}$/.test(name));
    const parts: UploadedPart[] = [];
    for (const name of numbers) {
      const { size, trailer } = await readTrailer(join(folder, name)).catch(goneOf(upload));
      parts.push({ partNumber: Number(name), size, etag: trailer });
    }
    await this.#mustExist(upload);
    return parts;
  }

  async #mustExist(upload: PartsUpload): Promise<void> {
    if (!(await this.#exists(upload))) throw noSuchUpload(upload);
  }

  /** The id may be a client's text: it is looked at before it becomes a path. */
  async #exists(upload: PartsUpload): Promise<boolean> {
    if (!UPLOAD_ID.test(upload.uploadId)) return false;
    const key = await readFile(join(this.#folderOf(upload), KEY_FILE), 'utf8').catch(nullWhenMissing);
    return key === upload.key;
  }

  #folderOf({ uploadId }: PartsUpload): string {
    return join(this.#options.directory, uploadId);
  }
}

function etagOf({ sha256 }: Pick<StoredBlob, 'sha256'>): string {
  return sha256.slice(0, ETAG_LENGTH);
}

/** What follows the bytes of a part, and how many bytes those are. */
async function readTrailer(path: string): Promise<{ size: number; trailer: string }> {
  const file = await open(path, 'r');
  try {
    return await trailerOf(file);
  } finally {
    await file.close();
  }
}

async function trailerOf(file: FileHandle): Promise<{ size: number; trailer: string }> {
  const size = (await file.stat()).size - ETAG_LENGTH;
  const { buffer } = await file.read(Buffer.alloc(ETAG_LENGTH), 0, ETAG_LENGTH, size);
  return { size, trailer: buffer.toString('latin1') };
}

/** A file that is missing now means that somebody else completed or aborted the upload meanwhile. */
function goneOf(upload: PartsUpload): (error: NodeJS.ErrnoException) => never {
  return (error): never => {
    const refusal: AppError | NodeJS.ErrnoException = error.code === 'ENOENT' ? noSuchUpload(upload) : error;
    throw refusal;
  };
}
