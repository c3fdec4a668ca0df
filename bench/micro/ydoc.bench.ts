/**
 * What does one keystroke cost the room, against what it costs a server that keeps a `Y.Doc`?
 * Expected: at least ten times less, since an update is scanned and appended instead of integrated; and a newcomer to a document that
 * is being typed in costs a copy of its bytes, not an encoding.
 */
import { bench, describe } from 'vitest';
import * as Y from 'yjs';
import { acceptUpdate, decodeYdoc, emptyYdoc, missingFor, snapshotHash, stateVector } from '../../src/room/ydoc/ydoc.ts';

const KEYSTROKES = 10_000;
const from = { session: 'session', isLive: () => true };

/** Mostly typing, now and then at another place, one keystroke in thirteen a deletion. */
function typingSession(): Uint8Array[] {
  const ydoc = new Y.Doc();
  const text = ydoc.getText('text');
  const sent: Uint8Array[] = [];
  ydoc.on('update', (update: Uint8Array) => sent.push(update));
  for (let key = 0, at = 0; key < KEYSTROKES; key += 1) {
    if (key % 40 === 0) at = (key * 7_919) % (text.length + 1);
    if (key % 13 === 12) text.delete(at - 1, 1);
    else text.insert(at, 'x');
    at += key % 13 === 12 ? -1 : 1;
  }
  return sent;
}

const session = typingSession();

describe(`a typing session of ${KEYSTROKES} keystrokes`, () => {
  bench('acceptUpdate', () => {
    const doc = emptyYdoc();
    for (const update of session) acceptUpdate(doc, update, from);
  });

  bench('Y.applyUpdate', () => {
    const ydoc = new Y.Doc();
    for (const update of session) Y.applyUpdate(ydoc, update);
  });
});

describe('a newcomer, one keystroke after the last', () => {
  const stored = Y.mergeUpdates(session.slice(0, -100));
  const doc = decodeYdoc(stored);
  for (const update of session.slice(-100)) acceptUpdate(doc, update, from);
  const ydoc = new Y.Doc();
  for (const update of session) Y.applyUpdate(ydoc, update);

  bench('missingFor, joined from bytes', () => {
    doc.whole = null;
    missingFor(doc, Uint8Array.of(0));
  });

  bench('Y.encodeStateAsUpdate', () => {
    Y.encodeStateAsUpdate(ydoc);
  });

  bench('missingFor one who has it all', () => {
    missingFor(doc, stateVector(doc));
  });
});

describe('the hash that SDK clients wait for', () => {
  const doc = emptyYdoc();
  for (const update of session) acceptUpdate(doc, update, from);

  bench('snapshotHash', () => {
    snapshotHash(doc);
  });
});
