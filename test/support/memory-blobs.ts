/** Blobs that a test can look into and damage. */
import { createHash } from 'node:crypto';
import { AppError } from '../../src/base/errors.ts';
import {
  type BlobParts,
  countedBody,
  mustBePartNumber,
  mustMatchParts,
  noSuchUpload,
  type PartsUpload,
  type UploadedPart,
} from '../../src/kernel/persistence/blob-parts.ts';
import { type BlobBody, type Blobs, mustBeBlobKey } from '../../src/kernel/persistence/blobs.ts';

export interface MemoryBlobs extends Blobs {
  readonly stored: Map<string, Uint8Array>;
}

export function memoryBlobs(): MemoryBlobs {
  const stored = new Map<string, Uint8Array>();
  const blobs: MemoryBlobs = {
    stored,
    async put(key, body) {
      const bytes = await collect(body);
      const before = stored.get(mustBeBlobKey(key));
      if (before !== undefined && Buffer.compare(before, bytes) !== 0)
        throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'blob', id: key });
      stored.set(key, bytes);
      return { size: bytes.length, sha256: sha256(bytes) };
    },
    get: async (key) => stored.get(mustBeBlobKey(key)) ?? null,
    async read(key, range) {
      const bytes = await blobs.get(key);
      if (bytes === null) return null;
      const size = bytes.length;
      if (range !== undefined && range.start >= size) throw new AppError('RANGE_NOT_SATISFIABLE', { size });
      return { size, body: once(range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)) };
    },
    async head(key) {
      const bytes = await blobs.get(key);
      return bytes === null ? null : { size: bytes.length };
    },
    delete: async (key) => void stored.delete(mustBeBlobKey(key)),
    presign: async (key) => `memory:${mustBeBlobKey(key)}`,
    parts: memoryParts((key, body) => blobs.put(key, body)),
  };
  return blobs;
}

interface Upload {
  readonly key: string;
  readonly begunMs: number;
  readonly parts: Map<number, UploadedPart & { readonly bytes: Uint8Array }>;
}

function memoryParts(put: Blobs['put']): BlobParts {
  const uploads = new Map<string, Upload>();
  let begun = 0;
  const find = (upload: PartsUpload): Upload => {
    const found = uploads.get(upload.uploadId);
    if (found?.key !== upload.key) throw noSuchUpload(upload);
    return found;
  };
  return {
    async start(key) {
      const uploadId = `upload-${++begun}`;
      uploads.set(uploadId, { key: mustBeBlobKey(key), begunMs: Date.now(), parts: new Map() });
      return { key, uploadId };
    },
    async put(upload, partNumber, { body, size }) {
      mustBePartNumber(partNumber);
      const { parts } = find(upload);
      const bytes = await collect(countedBody(body, size));
      const part = { partNumber, etag: sha256(bytes).slice(0, 32), size: bytes.length };
      parts.set(partNumber, { ...part, bytes });
      return part;
    },
    async complete(upload, named, limits) {
      const { parts } = find(upload);
      const inOrder = mustMatchParts([...parts.values()], named, limits);
      const { size } = await put(upload.key, Buffer.concat(inOrder.map(({ partNumber }) => parts.get(partNumber)!.bytes)));
      uploads.delete(upload.uploadId);
      return { size };
    },
    abort: async (upload) => void (uploads.get(upload.uploadId)?.key === upload.key && uploads.delete(upload.uploadId)),
    async abortStale({ beforeMs }) {
      const stale = [...uploads].filter(([, { begunMs }]) => begunMs < beforeMs);
      for (const [uploadId] of stale) uploads.delete(uploadId);
      return stale.length;
    },
  };
}

async function collect(body: BlobBody): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body instanceof Uint8Array ? [body] : body) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
