/** Where large snapshots and files are: in the bucket of S3_BUCKET, or in DATA_DIR under URLs that we serve; and the sweep of what nothing refers to. */
import { join } from 'node:path';
import { BLOB_PATH } from '../adapters/blob-urls.ts';
import { DiskBlobs } from '../adapters/disk-blobs.ts';
import { checkDisk } from '../adapters/disk-start.ts';
import { systemClock, systemRandom } from '../base/clock.ts';
import type { Keyring } from '../base/keyring.ts';
import type { Log } from '../base/observe.ts';
import type { Settings } from '../config.ts';
import { deleteOldDrafts } from '../features/comments/attachments/queries.ts';
import { deleteForgotten } from '../features/notifications/inbox/queries.ts';
import { BlobSweep } from '../kernel/persistence/blob-sweep.ts';
import type { Blobs } from '../kernel/persistence/blobs.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import { Sweep } from '../kernel/persistence/sweep.ts';
import { sweepUploads } from '../kernel/persistence/upload-sweep.ts';
import { serveDownloads } from '../kernel/transport/downloads.ts';
import type { HttpHandler } from '../kernel/transport/server.ts';

export interface OpenedBlobs {
  readonly blobs: Blobs;
  /** Answers the URLs of blobs that we serve ourselves, and hands everything else on. */
  serve(others: HttpHandler): HttpHandler;
  close(): Promise<void>;
}

interface OpenBlobs {
  readonly db: Sql;
  readonly log: Log;
  /** Where clients reach this server; known once it listens. */
  readonly publicUrl: () => string;
  /** Sign URLs; the same after a restart. */
  readonly secrets: Keyring;
}

/** @throws StartRefused when the bucket, or DATA_DIR, says no. */
export async function openBlobs(settings: Settings, { db, log, publicUrl, secrets }: OpenBlobs): Promise<OpenedBlobs> {
  const stored =
    settings.S3_BUCKET === undefined ? await openDisk(settings, { log, publicUrl, secrets }) : await openS3(settings, log);
  const sweeps = [
    new BlobSweep({ db, blobs: stored.blobs, clock: systemClock, log }),
    sweepUploads({ db, parts: stored.blobs.parts, clock: systemClock, log }),
    sweepLeftovers(db, log),
  ];
  const close = async (): Promise<void> => {
    await Promise.all(sweeps.map((sweep) => sweep.close()));
    stored.close();
  };
  return { blobs: stored.blobs, serve: stored.serve, close };
}

const LEFTOVERS_EVERY_MS = 600_000;
const LEFTOVERS_AT_ONCE = 100;

/** Attachments that were uploaded for a comment which never came, and notifications that were deleted so long ago that nobody hears of it. */
function sweepLeftovers(db: Sql, log: Log): Sweep {
  const some = async (): Promise<boolean> => {
    const deleted = [await deleteOldDrafts(db, LEFTOVERS_AT_ONCE), await deleteForgotten(db, LEFTOVERS_AT_ONCE)];
    return deleted.includes(LEFTOVERS_AT_ONCE);
  };
  return new Sweep({ clock: systemClock, log }, { phrase: 'leftovers not swept', everyMs: LEFTOVERS_EVERY_MS, some });
}

interface Stored extends Pick<OpenedBlobs, 'blobs' | 'serve'> {
  close(): void;
}

async function openDisk({ DATA_DIR }: Settings, { log, publicUrl, secrets }: Omit<OpenBlobs, 'db'>): Promise<Stored> {
  const directory = join(DATA_DIR, 'blobs');
  const blobs = new DiskBlobs({ directory, publicUrl, secrets, clock: systemClock, random: systemRandom, log });
  await checkDisk({ blobs, log });
  const downloads = serveDownloads({ blobs, grantOf: (request) => blobs.grantOf(request), log });
  const serve = (others: HttpHandler): HttpHandler => {
    return (request) => (request.path.startsWith(BLOB_PATH) ? downloads(request) : others(request));
  };
  return { blobs, serve, close: () => undefined };
}

/** The SDK is large: only those who use it load it. */
async function openS3(settings: Settings, log: Log): Promise<Stored> {
  const { S3_BUCKET, S3_ENDPOINT: endpoint, S3_PUBLIC_ENDPOINT: publicEndpoint, S3_REGION: region } = settings;
  const [{ S3Blobs }, { checkBucket }] = await Promise.all([
    import('../adapters/s3-blobs.ts'),
    import('../adapters/s3-start.ts'),
  ]);
  const forcePathStyle = settings.S3_FORCE_PATH_STYLE;
  const blobs = new S3Blobs({ bucket: S3_BUCKET!, endpoint, publicEndpoint, region, forcePathStyle, log });
  const missing = settings.S3_CREATE_BUCKET ? 'create' : 'refuse';
  try {
    await checkBucket({ bucket: blobs.bucket, endpoint, region, missing, log });
  } catch (error) {
    blobs.close();
    throw error;
  }
  return { blobs, serve: (others) => others, close: () => blobs.close() };
}
