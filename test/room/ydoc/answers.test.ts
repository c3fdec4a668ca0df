import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { asSessionId } from '../../../src/base/ids.ts';
import { YDOC_LIMITS } from '../../../src/room/ydoc/limits.ts';
import {
  acceptUpdate,
  compactYdoc,
  emptyYdoc,
  encodeYdoc,
  missingFor,
  missingForSession,
  releaseYdoc,
  snapshotHash,
  stateVector,
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { aClient, acceptAll, bytes, chanceOf, docOf, edit, from, hashOf, typing } from './builders.ts';

const one = asSessionId('one');
const other = asSessionId('other');

function typed(): Ydoc {
  const doc = emptyYdoc();
  acceptAll(doc, typing(7, 'some text'));
  acceptAll(doc, [bytes(0, 1, 7, 1, 2, 2)]);
  return doc;
}

test('[CB32] hash, vector and answers are computed once until the document changes', () => {
  const doc = typed();
  const hash = snapshotHash(doc);
  const whole = missingFor(doc, bytes(0));
  const deletions = missingFor(doc, bytes(1, 7, 9));
  const vector = stateVector(doc);
  releaseLive(doc);
  expect(snapshotHash(doc)).toBe(hash);
  expect(missingFor(doc, bytes(0))).toBe(whole);
  expect(missingFor(doc, bytes(2, 7, 20, 8, 1))).toBe(deletions);
  expect(stateVector(doc)).toBe(vector);
  expect(doc.live).toBeNull(); // nothing was integrated for it
  acceptAll(doc, [bytes(0, 1, 7, 1, 5, 1)]);
  expect(snapshotHash(doc)).not.toBe(hash);
  expect(missingFor(doc, bytes(1, 7, 9))).not.toEqual(deletions);
});

function releaseLive(doc: Ydoc): void {
  doc.live = null;
}

test('[CB32] whatever happens in between, answers are those of now', () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const chance = chanceOf(seed);
    const doc = emptyYdoc();
    const reference = new Y.Doc();
    const { ydoc, sent } = aClient(9);
    for (let step = 0; step < 60; step += 1) {
      edit(ydoc, chance);
      while (sent.length > 0 && chance(3) > 0) {
        const [update] = sent.splice(chance(sent.length), 1); // those that come early wait
        acceptUpdate(doc, update!, from('one'));
        Y.applyUpdate(reference, update!);
      }
      if (chance(8) === 0) compactYdoc(doc);
      if (chance(8) === 0) releaseYdoc(doc);
      if (chance(8) === 0) encodeYdoc(doc);
      expect(snapshotHash(doc)).toBe(hashOf(reference));
      expect(Buffer.from(stateVector(doc)).equals(Y.encodeStateVector(reference))).toBe(true);
      const behind = docOf(missingFor(doc, bytes(0)));
      Y.applyUpdate(behind, missingFor(doc, Y.encodeStateVector(behind)));
      expect(hashOf(behind)).toBe(hashOf(reference));
    }
  }
});

test('[CB33] a session that goes on asking for parts of an unchanged document is sent the whole, which is shared', () => {
  const doc = typed();
  const part = bytes(1, 7, 4);
  for (let times = 0; times < YDOC_LIMITS.partlyAnswersMax; times += 1) {
    expect(missingForSession(doc, part, one)).toEqual(missingFor(doc, part));
  }
  const whole = missingFor(doc, bytes(0));
  expect(missingForSession(doc, part, one)).toBe(whole);
  expect(missingForSession(doc, bytes(1, 7, 5), one)).toBe(whole);
  expect(missingForSession(doc, part, other)).toEqual(missingFor(doc, part));
  const [next] = typing(8, 'x');
  acceptAll(doc, [next!]);
  expect(missingForSession(doc, part, one)).toEqual(missingFor(doc, part));
});

test('[CB33] to ask when nothing is missing is not counted', () => {
  const doc = typed();
  for (let times = 0; times < 2 * YDOC_LIMITS.partlyAnswersMax; times += 1) missingForSession(doc, bytes(1, 7, 9), one);
  expect(missingForSession(doc, bytes(1, 7, 4), one)).toEqual(missingFor(doc, bytes(1, 7, 4)));
});
