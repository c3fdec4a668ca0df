import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { readYdocJson } from '../../../src/room/ydoc/json.ts';
import {
  acceptUpdate,
  compactYdoc,
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  missingFor,
  releaseYdoc,
  snapshotHash,
  stateVector,
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { acceptAll, block, bytes, collected, docOf, from, hashOf, string, stringAfter, typing } from './builders.ts';

const ALL = Uint8Array.of(0);
const LATE_CLIENT = 7;

/** Updates of one client of which those in the middle are late, and a deletion of what they bring. */
function late(): { readonly first: Uint8Array; readonly missing: readonly Uint8Array[]; readonly early: readonly Uint8Array[] } {
  const updates = typing(LATE_CLIENT, 'abcdef');
  return { first: updates[0]!, missing: updates.slice(1, 4), early: [...updates.slice(4), bytes(0, 1, LATE_CLIENT, 1, 2, 1)] };
}

function waitingDoc(): Ydoc {
  const { first, early } = late();
  const doc = emptyYdoc();
  acceptAll(doc, [...typing(3, 'here'), first, ...early]);
  expect(doc.pendingBytes).toBeGreaterThan(0);
  return doc;
}

/** What somebody has who got these, and at last what was late. */
function hashWith(...updates: readonly Uint8Array[]): string {
  const ydoc = docOf(updates[0]!);
  for (const update of [...updates.slice(1), ...late().missing]) Y.applyUpdate(ydoc, update);
  return hashOf(ydoc);
}

const { first, missing, early } = late();
const COMPLETE = hashWith(Y.mergeUpdates([...typing(3, 'here'), first, ...missing, ...early]));

describe('[YD21] a document in which something waits', () => {
  test('is compacted around the Y.Doc that it has', () => {
    const doc = waitingDoc();
    const { ydoc } = doc.live!;
    const { pendingBytes } = doc;
    const hash = snapshotHash(doc);
    compactYdoc(doc);
    expect(doc.live?.ydoc).toBe(ydoc);
    expect([doc.pendingBytes, doc.tail.ends, snapshotHash(doc)]).toEqual([pendingBytes, [], hash]);
    acceptAll(doc, late().missing);
    expect([doc.pendingBytes, snapshotHash(doc)]).toEqual([0, COMPLETE]);
  });

  test('is sent without a Y.Doc, as it came and as it was compacted', () => {
    const doc = waitingDoc();
    for (const compact of [() => undefined, () => compactYdoc(doc)]) {
      compact();
      releaseYdoc(doc);
      const whole = missingFor(doc, ALL);
      expect(doc.live).toBeNull();
      expect(hashWith(whole)).toBe(COMPLETE);
    }
  });

  test('is sent in parts to who has some of it', () => {
    const doc = waitingDoc();
    compactYdoc(doc);
    const inBase = docOf(Y.mergeUpdates(typing(3, 'here')));
    const part = missingFor(doc, Y.encodeStateVector(inBase));
    expect(part.length).toBeLessThan(missingFor(doc, ALL).length);
    expect(hashWith(Y.encodeStateAsUpdate(inBase), part)).toBe(COMPLETE);
  });

  test('is read back from its bytes, with what waits', () => {
    const doc = waitingDoc();
    const again = decodeYdoc(encodeYdoc(doc));
    expect(again.pendingBytes).toBe(doc.pendingBytes);
    expect([stateVector(again), snapshotHash(again)]).toEqual([stateVector(doc), snapshotHash(doc)]);
    acceptAll(again, late().missing);
    expect([again.pendingBytes, snapshotHash(again)]).toEqual([0, COMPLETE]);
  });

  test('is sent whole when what was missing has come behind its bytes', () => {
    const doc = waitingDoc();
    compactYdoc(doc);
    acceptAll(doc, late().missing.slice(0, 2));
    expect(doc.pendingBytes).toBeGreaterThan(0);
    const whole = missingFor(doc, ALL);
    expect(Y.encodeStateVector(docOf(whole))).toEqual(stateVector(doc));
    expect(hashWith(whole)).toBe(COMPLETE);
    acceptUpdate(doc, late().missing[2]!, from('late'));
    expect(doc.pendingBytes).toBe(0);
    expect(hashOf(docOf(missingFor(doc, ALL)))).toBe(COMPLETE);
  });
});

/** Both must have the same once what was late has come: a document that was saved meanwhile, and one that never was. */
function expectKept(updates: readonly Uint8Array[], late: readonly Uint8Array[]): void {
  const [saved, kept] = [emptyYdoc(), emptyYdoc()];
  for (const doc of [saved, kept]) acceptAll(doc, updates);
  expect(saved.pendingBytes).toBeGreaterThan(0);
  const again = decodeYdoc(encodeYdoc(saved));
  const newcomer = docOf(missingFor(kept, ALL));
  for (const update of late) Y.applyUpdate(newcomer, update);
  for (const doc of [saved, again, kept]) acceptAll(doc, late);
  for (const doc of [saved, again]) expect(readYdocJson(doc, AS_DELTA)).toEqual(readYdocJson(kept, AS_DELTA));
  expect([snapshotHash(saved), snapshotHash(again), hashOf(newcomer)]).toEqual(Array(3).fill(snapshotHash(kept)));
}

const AS_DELTA = { formatting: 'delta' } as const;

describe('[YD10] over a snapshot waits, too,', () => {
  test('an entry of several values, which its own update deletes', () => {
    const both = bytes(1, 1, 7, 1, { byte: 8 | 0x20 }, 1, 'map', 'key', 2, 125, 1, 125, 2, 1, 7, 1, 1, 2);
    expectKept([...typing(3, 'here'), both], [block(7, 0, string('x'))]);
  });

  test('what a later update has brought otherwise', () => {
    const needsAnother = bytes(1, 2, 7, 1, { byte: 4 | 0x80 }, 9, 0, 'y', { byte: 4 | 0x80 }, 7, 1, 'z', 0);
    expectKept([block(7, 0, string('x')), needsAnother, block(7, 1, collected(1))], [block(9, 0, string('n'))]);
  });

  test('what two updates say differently: the first one counts', () => {
    expectKept(
      [block(7, 0, string('x')), block(7, 5, stringAfter(7, 4, 'abc')), block(7, 5, stringAfter(7, 4, 'ABCD'))],
      [block(7, 1, stringAfter(7, 0, 'late'))],
    );
  });
});

test('[YD11] beside what waits nobody can write anew what is here: newcomers have it as everybody else', () => {
  const doc = emptyYdoc();
  const text = 'x'.repeat(100);
  acceptAll(doc, [block(7, 0, string(text)), block(8, 5, stringAfter(8, 4, 'waits'))]);
  compactYdoc(doc);
  acceptUpdate(doc, block(7, 0, collected(101)), from('stranger'));
  releaseYdoc(doc);
  expect(docOf(missingFor(doc, ALL)).getText('text').toString()).toBe(text);
});
