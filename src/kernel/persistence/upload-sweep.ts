/** Throws away the parts of uploads that were given up, that nobody went on with, or whose stream is gone. */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/observe.ts';
import type { BlobParts } from './blob-parts.ts';
import type { Sql } from './sql.ts';
import { Sweep } from './sweep.ts';
import { doomQuery, forgetQuery } from './upload-queries.ts';

interface UploadSweepDeps {
  readonly db: Sql;
  readonly parts: BlobParts;
  readonly clock: Clock;
  readonly log: Log;
}

const SWEEP_EVERY_MS = 60_000;
const UPLOADS_AT_ONCE = 20;

export function sweepUploads({ db, parts, clock, log }: UploadSweepDeps): Sweep {
  const some = async (): Promise<boolean> => {
    const doomed = await db.query(doomQuery(UPLOADS_AT_ONCE));
    const outcomes = await Promise.allSettled(doomed.map((upload) => parts.abort(upload)));
    const gone = doomed.filter((_, index) => outcomes[index]?.status === 'fulfilled').map(({ id }) => id);
    if (gone.length > 0) await db.query(forgetQuery(gone));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) log.warn({ err: failed.reason, uploads: doomed.length - gone.length }, 'uploads not aborted');
    return gone.length === UPLOADS_AT_ONCE; // the store may be away: then the rest waits
  };
  return new Sweep({ clock, log }, { phrase: 'uploads not swept', everyMs: SWEEP_EVERY_MS, some });
}
