/** When a session joins anew, after which refusals it tries again, how soon, and how long its client is waited for then. Pure. */
import type { ErrorCode } from '../base/errors.ts';

/** The room is between two owners, or the database is away; anything else is the answer. */
export const REJOIN_AFTER: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ROOM_MOVED',
  'ROOM_OVERLOADED',
  'WORKER_OVERLOADED',
  'SERVER_STOPPING',
  'WORKER_UNREACHABLE',
  'OUTCOME_UNKNOWN',
  'DATABASE_UNAVAILABLE',
]);

/** Over this time the sessions of a room whose accesses changed join anew: a thousand in one turn would hold up all others. */
export const ANEW_MS_MAX = 2_000;

/** The same for sessions whose rooms were on a worker that fell out of touch: if it is still there, its link carries what they are all sent. */
export const DOWN_MS_MAX = 500;

/** The same for a session of which an op could not be looked at (`file-check.ts`): its client sends that op again as soon as it has joined. */
export const ASKED_AGAIN_MS_MAX = 2_000;

/** From a new snapshot to what its reader sends again: a round trip, and the snapshot's own time on the wire. */
export const RESEND_MS_MAX = 10_000;

const FIRST_MS = 25;
const MS_MAX = 2_000;

/** Full jitter over a doubling range: thousands of sessions that lost one room do not come back in one moment. */
export function pauseBeforeRejoinMs(attempt: number, chance: number): number {
  return chance * Math.min(MS_MAX, FIRST_MS * 2 ** Math.min(attempt, 10));
}
