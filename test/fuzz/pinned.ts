/**
 * Runs that failed once, kept so that they are run for ever: `npm test` begins with them.
 *
 * None of the server's so far: the seeds that failed while this was written were faults of the fuzz itself.
 */
import type { Run } from './convergence.ts';

export const PINNED: readonly Run[] = [];
/** Seeds of the Yjs fuzz. */
export const PINNED_YJS: readonly number[] = [];
