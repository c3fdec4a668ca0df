/** The pages as `npm run build` left them in dist/web, read once and kept in memory: they are few, and smaller than one room may be. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mimeTypeOf } from '../base/mime-types.ts';
import { sha256Hex } from '../base/sha256.ts';
import type { WebFile, WebFiles } from '../kernel/transport/pages.ts';

/** The same for the sources and the build. */
const WEB = new URL('../../dist/web/', import.meta.url);
const ETAG_LENGTH = 24;
/** The compressed form stands beside the file. */
const ZIPPED = '.gz';

/** None when they were not built: the server then serves without them. */
export async function readWebFiles(directory: URL = WEB): Promise<WebFiles> {
  const root = fileURLToPath(directory);
  const entries = (await unlessMissing(readdir(root, { recursive: true, withFileTypes: true }))) ?? [];
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(paths.map(async (path) => [path, await unlessMissing(readFile(path))] as const));
  const read = new Map(found);
  const files = new Map<string, WebFile>();
  for (const [path, bytes] of read)
    if (bytes !== null && !path.endsWith(ZIPPED))
      files.set(pathFrom(root, path), fileOf(path, bytes, read.get(path + ZIPPED) ?? null));
  return files;
}

/** A build that runs meanwhile may take a file away. */
async function unlessMissing<Found>(finding: Promise<Found>): Promise<Found | null> {
  return finding.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

function pathFrom(root: string, path: string): string {
  return path.slice(root.length - 1).replaceAll('\\', '/');
}

function fileOf(path: string, bytes: Uint8Array, zipped: Uint8Array | null): WebFile {
  return {
    contentType: `${mimeTypeOf(path)}; charset=utf-8`,
    bytes,
    gzipped: zipped !== null && zipped.byteLength < bytes.byteLength ? zipped : null,
    etag: `"${sha256Hex(bytes).slice(0, ETAG_LENGTH)}"`,
  };
}
