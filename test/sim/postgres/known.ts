/**
 * The statements that the fake Postgres knows, by their whole text. When one changes, the fake refuses it: look whether it still does the
 * same here, then put the new checksum beside it. `fake-postgres.test.ts` holds both to the same contracts.
 */
import { crc32 } from '../../../src/base/crc32.ts';
import * as journal from './journal.ts';
import * as ownership from './ownership.ts';
import * as rooms from './rooms.ts';
import * as snapshots from './snapshots.ts';
import type { Statement } from './statement.ts';

interface Known {
  readonly what: string;
  readonly run: Statement;
}

/** By the checksum of the text, with white space made one and comments left out. */
const KNOWN: Readonly<Record<number, Known>> = {
  3526099289: { what: 'register', run: ownership.register },
  3890005079: { what: 'renew', run: ownership.renew({ checksLease: true }) },
  2321502723: { what: 'claim', run: ownership.claim },
  79855772: { what: 'look at owner', run: ownership.lookAtOwner({ believesExpired: false }) },
  3603451323: { what: 'release', run: ownership.release({ onConflict: 'wait' }) },
  3310656433: { what: 'release together', run: ownership.release({ onConflict: 'skip' }) },
  851871222: { what: 'fence the dead', run: ownership.fence({ needsExpiry: false }) },
  3422022611: { what: 'fence the expired', run: ownership.fence({ needsExpiry: true }) },
  3976379382: { what: 'drain', run: ownership.drain },
  2905348408: { what: 'end in order', run: ownership.endInOrder },
  3952765321: { what: 'count crash', run: ownership.countCrash },
  3712205686: { what: 'mark loading', run: ownership.underClaim((loadingSinceMs) => ({ loadingSinceMs })) },
  1503803355: { what: 'unmark loading', run: ownership.underClaim(() => ({ loadingSinceMs: null })) },
  3953538823: {
    what: 'clear crashes',
    run: ownership.underClaim(() => ({ loadingSinceMs: null, crashes: 0, crashedAtMs: null, quarantinedUntilMs: null })),
  },
  145359117: { what: 'forget recalls', run: ownership.forgetRecalls },
  1313569072: { what: 'find leased', run: ownership.findLeased },
  736338980: { what: 'append', run: journal.append({ fence: 'lock' }) },
  3998747698: { what: 'append one', run: journal.append({ fence: 'lock' }) },
  2318431829: { what: 'append without waiting', run: journal.append({ fence: 'lock or skip' }) },
  1705150892: { what: 'find', run: journal.find },
  1824616336: { what: 'read', run: journal.read },
  2859962422: { what: 'trim', run: journal.trim },
  11925534: { what: 'load snapshots', run: snapshots.loadSnapshots },
  1463953909: { what: 'save snapshots', run: snapshots.saveSnapshots({ isGuarded: true }) },
  3124055990: { what: 'intend blob', run: snapshots.intend },
  1: { what: 'journal bytes', run: snapshots.journalBytes },
  2622107441: { what: 'fence all others', run: ownership.fenceAllOthers },
  3552523484: { what: 'find owner', run: ownership.findOwner },
  1119610194: { what: 'find snapshot', run: snapshots.findSnapshot },
  1033009424: { what: 'find room', run: rooms.findRoom },
  3886586688: { what: 'make room', run: rooms.makeRoom },
  742224504: { what: 'fence room', run: rooms.fenceRoom },
  3369319477: { what: 'remove room', run: rooms.removeRoom },
  2107736234: { what: 'lock room', run: rooms.lockRoom },
  426200297: { what: 'move room', run: rooms.moveRoom },
  1687794754: { what: 'find schema', run: () => [] },
};

/** Functions of the database, by the checksum of the text that makes them; see above. */
export const FUNCTIONS: Readonly<Record<string, number>> = { save_snapshots: 2907966259 };

/** What mutants run in the place of a statement, with its values. */
const MUTANTS: Readonly<Record<string, Statement>> = {
  'mutant: append without a lock': journal.append({ fence: 'look' }),
  'mutant: claim under a given epoch': ownership.claimUnderGivenEpoch,
  'mutant: everybody looks expired': ownership.lookAtOwner({ believesExpired: true }),
  'mutant: fence whoever it is': ownership.fence({ needsExpiry: false }),
  'mutant: renew whatever there is': ownership.renew({ checksLease: false }),
  'mutant: trim whatever is asked': journal.trimBlindly,
  'mutant: the last save wins': snapshots.saveSnapshots({ isGuarded: false }),
  'mutant: load what the pointer says': snapshots.loadSnapshotAtPointer,
};

const byText = new Map<string, Known>(Object.entries(MUTANTS).map(([what, run]) => [what, { what, run }]));

/** What the statement is for; the empty string for one that is not known, which the server will say. */
export function whatIs(text: string): string {
  return find(text)?.what ?? '';
}

/** @throws Error for a statement, or a version of one, that the fake does not know. */
export function knownStatement(text: string): Known {
  const known = find(text);
  if (known !== undefined) return known;
  const plain = plainOf(text);
  throw new Error(`the fake Postgres does not know this statement (0x${sumOf(plain).toString(16)}): ${plain}`);
}

function find(text: string): Known | undefined {
  const known = byText.get(text) ?? KNOWN[sumOf(plainOf(text))];
  if (known !== undefined) byText.set(text, known);
  return known;
}

/** The checksum by which a text is known. */
export function sumOfText(text: string): number {
  return sumOf(plainOf(text));
}

function plainOf(text: string): string {
  return text
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function sumOf(plain: string): number {
  return crc32(new TextEncoder().encode(plain)) >>> 0;
}
