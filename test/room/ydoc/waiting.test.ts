import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
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
import { acceptAll, bytes, docOf, from, hashOf, typing } from './builders.ts';

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
