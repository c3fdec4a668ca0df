/**
 * Looks at the start whether blobs can be kept in DATA_DIR. A definite no refuses the start with a sentence; a disk that is full, or fails at this
 * moment, does not: rooms go on without it, and who starts again is who deletes what nobody needs.
 */
import type { Log } from '../base/observe.ts';
import { StartRefused } from '../base/start-refused.ts';
import type { DiskBlobs } from './disk-blobs.ts';

interface StartCheckOptions {
  readonly blobs: Pick<DiskBlobs, 'tryOut'>;
  readonly log: Log;
}

const MAY_PASS: ReadonlySet<string | undefined> = new Set([
  ...['ENOSPC', 'EDQUOT'], // there is no room
  ...['EMFILE', 'ENFILE', 'ENOMEM'], // the process, or the machine, has too much open
  ...['EIO', 'ESTALE', 'ETIMEDOUT'], // the device, or the server of a network file system, does not answer
]);

/** @throws StartRefused with one sentence that names the setting. */
export async function checkDisk({ blobs, log }: StartCheckOptions): Promise<void> {
  try {
    await blobs.tryOut();
  } catch (error) {
    const { code: reason, message: said } = error as NodeJS.ErrnoException;
    if (!MAY_PASS.has(reason)) {
      throw new StartRefused(
        `DATA_DIR cannot hold files and large snapshots (${said}): name a folder that this user may write to, on a file system that has hard links, or set S3_BUCKET.`,
        { cause: error },
      );
    }
    log.warn({ reason, said }, 'DATA_DIR holds no files and large snapshots at the moment; started all the same');
  }
}
