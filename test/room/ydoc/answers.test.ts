import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { asSessionId } from '../../../src/base/ids.ts';
import { YDOC_LIMITS } from '../../../src/room/ydoc/limits.ts';
import { decodeKnownOf } from '../../../src/room/ydoc/vector.ts';
import {
  acceptUpdate,
  compactYdoc,
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  missingFor,
  missingForSession,
  releaseYdoc,
  snapshotHash,
  stateVector,
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { aClient, acceptAll, block, bytes, chanceOf, docOf, edit, from, hashOf, string, typing } from './builders.ts';

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

test('[CB73] of a vector that is asked with, what it says of clients that the document does not know is passed over', () => {
  const doc = typed();
  const known = new Map([[7, 9]]);
  expect(decodeKnownOf(known, bytes(3, 6, 1, 7, 4, 8, 1))).toEqual(new Map([[7, 4]]));
  expect(() => decodeKnownOf(known, bytes(1, 8, 1, 0))).toThrow(expect.objectContaining({ code: 'YJS_UPDATE_INVALID' }));
  expect(missingFor(doc, bytes(3, 6, 1, 7, 4, 8, 1))).toEqual(missingFor(doc, bytes(1, 7, 4)));
  expect(missingFor(doc, bytes(2, 6, 1, 8, 1))).toBe(missingFor(doc, bytes(0)));
});

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
  const has = (clock: number) => new Map([[7, clock]]);
  for (let times = 0; times < YDOC_LIMITS.partlyAnswersMax; times += 1) {
    expect(missingForSession(doc, has(4), one)).toEqual(missingFor(doc, part));
  }
  const whole = missingFor(doc, bytes(0));
  expect(missingForSession(doc, has(4), one)).toBe(whole);
  expect(missingForSession(doc, has(5), one)).toBe(whole);
  expect(missingForSession(doc, has(4), other)).toEqual(missingFor(doc, part));
  const [next] = typing(8, 'x');
  acceptAll(doc, [next!]);
  expect(missingForSession(doc, has(4), one)).toEqual(missingFor(doc, part));
});

test('[CB33] to ask when nothing is missing is not counted', () => {
  const doc = typed();
  for (let times = 0; times < 2 * YDOC_LIMITS.partlyAnswersMax; times += 1) missingForSession(doc, new Map([[7, 9]]), one);
  expect(missingForSession(doc, new Map([[7, 4]]), one)).toEqual(missingFor(doc, bytes(1, 7, 4)));
});

describe('a state vector that falls into what was folded', () => {
  test('[CB62] is answered without a Y.Doc, with what Yjs sends of a text: what lies behind it', () => {
    const { ydoc } = aClient(7);
    const text = ydoc.getText('text');
    text.insert(0, 'some ünïcode, 😀 and more');
    text.insert(5, 'between the others');
    text.insert(0, 'x');
    ydoc.getText('second').insert(0, 'after all');
    const doc = decodeYdoc(Y.encodeStateAsUpdate(ydoc));
    for (let clock = 1; clock < Y.getState(ydoc.store, 7); clock += 1)
      expect(Buffer.from(missingFor(doc, bytes(1, 7, clock)))).toEqual(
        Buffer.from(Y.encodeStateAsUpdate(ydoc, bytes(1, 7, clock))),
      );
    expect(doc.live).toBeNull();
  });

  test('[CB62] brings its client to the document that all have, wherever it falls and whatever was edited', () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const chance = chanceOf(seed);
      const { ydoc, sent } = aClient(9);
      const doc = emptyYdoc();
      for (let step = 0; step < 60; step += 1) {
        edit(ydoc, chance);
        if (step % 20 === 0) foldAll(doc, sent);
      }
      foldAll(doc, sent);
      for (let heard = 0; heard <= sent.length; heard += 1 + chance(4)) {
        const behind = new Y.Doc();
        for (const update of sent.slice(0, heard)) Y.applyUpdate(behind, update);
        Y.applyUpdate(behind, missingFor(doc, Y.encodeStateVector(behind)));
        expect(hashOf(behind)).toBe(hashOf(ydoc));
      }
      expect(doc.live).toBeNull();
    }
  });

  test('[CB62] is found behind any number of structs', () => {
    const { ydoc } = aClient(7);
    const list = ydoc.getArray<string>('list');
    for (let at = 0; at < 1_500; at += 1) list.insert(0, ['a', 'b']);
    const doc = decodeYdoc(Y.encodeStateAsUpdate(ydoc));
    for (const clock of [1, 2, 511, 512, 513, 1_024, 2_047, 2_998, 2_999]) {
      const missing = missingFor(doc, bytes(1, 7, clock));
      expect(Y.decodeUpdate(missing).structs[0]!.id).toEqual({ client: 7, clock: clock - (clock % 2) });
      expect(Y.decodeUpdate(missing).structs).toHaveLength(1_500 - Math.floor(clock / 2));
    }
  });
});

/** Takes what is new of `sent`, and folds it. */
function foldAll(doc: Ydoc, sent: readonly Uint8Array[]): void {
  for (const update of sent) acceptUpdate(doc, update, from('one'));
  doc.base = encodeYdoc(doc);
  releaseYdoc(doc);
}

test('[CB63] a long update is scanned once for all who ask for parts, and is forgotten with its tail', () => {
  const doc = emptyYdoc();
  acceptAll(doc, [...typing(7, 'x'), block(8, 0, string('y'.repeat(2_000)))]);
  missingFor(doc, bytes(1, 7, 1));
  const scans = [...(doc.tail.scans ?? [])];
  acceptAll(doc, [block(9, 0, string('z'))]);
  missingFor(doc, bytes(1, 8, 1_000));
  expect(scans).toHaveLength(1);
  expect([...(doc.tail.scans ?? [])]).toEqual(scans);
  expect(doc.tail.scans?.get(1)).toBe(scans[0]![1]);
  compactYdoc(doc);
  expect(doc.tail.scans).toBeNull();
});
