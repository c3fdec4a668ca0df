/**
 * What does one keystroke cost the room, against what it costs a server that keeps a `Y.Doc`? Expected: a third or less,
 * about a microsecond, since an update is scanned and appended instead of integrated; and less the longer the document gets,
 * because the scan does not look at it. A newcomer to a document that is being typed in costs a copy of its bytes.
 */
import { bench, describe } from 'vitest';
import * as Y from 'yjs';
import { asSessionId } from '../../src/base/ids.ts';
import { acceptUpdate, decodeYdoc, emptyYdoc, missingFor, snapshotHash, stateVector } from '../../src/room/ydoc/ydoc.ts';

const from = { session: asSessionId('session'), live: { has: () => true } };

/** Mostly typing, now and then at another place, one keystroke in thirteen a deletion. */
function typingSession(keystrokes: number): Uint8Array[] {
  const ydoc = new Y.Doc();
  const text = ydoc.getText('text');
  const sent: Uint8Array[] = [];
  ydoc.on('update', (update: Uint8Array) => sent.push(update));
  for (let key = 0, at = 0; key < keystrokes; key += 1) {
    if (key % 40 === 0) at = (key * 7_919) % (text.length + 1);
    if (key % 13 === 12) text.delete(at - 1, 1);
    else text.insert(at, 'x');
    at += key % 13 === 12 ? -1 : 1;
  }
  return sent;
}

const session = typingSession(10_000);

describe.each([2_000, 20_000])('a typing session of %i keystrokes', (keystrokes) => {
  const session = typingSession(keystrokes);

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
    doc.answers = null;
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
