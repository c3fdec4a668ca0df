import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { sha256Base64, sha256Hex } from '../../../src/base/sha256.ts';
import { readYdocJson } from '../../../src/room/ydoc/json.ts';
import {
  acceptUpdate,
  compactYdoc,
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  factsOf,
  missingFor,
  releaseYdoc,
  replayUpdate,
  snapshotHash,
  stateVector,
  ydocBytes,
} from '../../../src/room/ydoc/ydoc.ts';
import { aClient, acceptAll, block, bytes, docOf, from, hashOf, string, stringAfter, typing } from './builders.ts';

const NOTHING = Uint8Array.of(0);
const EMPTY_HASH = 'lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=';
const json = (doc: Parameters<typeof readYdocJson>[0]): unknown => readYdocJson(doc, { formatting: 'plain' });

describe('a live update', () => {
  test('[YD1] is kept as bytes: typing makes no Y.Doc, and the journal gets what was sent', () => {
    const doc = emptyYdoc();
    const sent = typing(7, 'hello');
    for (const update of sent) expect(acceptUpdate(doc, update, from('one'))).toEqual({ changed: true, journal: update });
    expect(doc.live).toBeNull();
    expect(Y.decodeStateVector(stateVector(doc))).toEqual(new Map([[7, 5]]));
    expect(doc.live).toBeNull();
    expect(json(doc)).toEqual({ text: 'hello' });
  });

  test('[YD9] that says nothing new changes nothing and is not journaled', () => {
    const { ydoc, sent } = aClient(7);
    ydoc.getText('text').insert(0, 'hello');
    ydoc.getText('text').delete(1, 2);
    const doc = emptyYdoc();
    acceptAll(doc, sent);
    const unchanged = { changed: false, journal: null };
    expect(acceptUpdate(doc, bytes(0, 0), from('one'))).toEqual(unchanged);
    for (const update of sent) expect(acceptUpdate(doc, update, from('two'))).toEqual(unchanged);
    expect(acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from('two'))).toEqual(unchanged);
    expect(acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc, stateVector(doc)), from('two'))).toEqual(unchanged);
    expect(acceptUpdate(doc, bytes(0, 1, 7, 1, 2, 2), from('two')).changed).toBe(true);
    expect(json(doc)).toEqual({ text: 'ho' });
  });

  test('[YD9] deletions that only integration knew are journaled once, then known', () => {
    const [one, two] = [aClient(1), aClient(2)];
    one.ydoc.getMap('map').set('key', 'one');
    two.ydoc.getMap('map').set('key', 'two');
    const doc = emptyYdoc();
    acceptAll(doc, [...one.sent, ...two.sent]);
    Y.applyUpdate(one.ydoc, missingFor(doc, Y.encodeStateVector(one.ydoc)), 'remote');
    const reply = Y.encodeStateAsUpdate(one.ydoc, stateVector(doc));
    expect(acceptUpdate(doc, reply, from('one')).changed).toBe(true);
    expect(acceptUpdate(doc, reply, from('one')).changed).toBe(false);
    expect(json(doc)).toEqual({ map: { key: 'two' } });
  });

  test('[YD10] in the wrong order waits, is kept over a snapshot, and counts only when its turn has come', () => {
    const [first, second, third] = typing(7, 'abc');
    let doc = emptyYdoc();
    expect(acceptUpdate(doc, third!, from('one'))).toEqual({ changed: true, journal: third });
    expect(acceptUpdate(doc, third!, from('one')).changed).toBe(false);
    expect(acceptUpdate(doc, first!, from('one')).changed).toBe(true);
    expect(Y.decodeStateVector(stateVector(doc))).toEqual(new Map([[7, 1]]));
    expect(json(doc)).toEqual({ text: 'a' });
    doc = decodeYdoc(encodeYdoc(doc));
    expect(docOf(missingFor(doc, NOTHING)).store.pendingStructs).not.toBeNull();
    expect(Y.decodeStateVector(stateVector(doc))).toEqual(new Map([[7, 1]]));
    acceptUpdate(doc, second!, from('one'));
    expect(Y.decodeStateVector(stateVector(doc))).toEqual(new Map([[7, 3]]));
    expect(json(doc)).toEqual({ text: 'abc' });
    expect(doc.pendingBytes).toBe(0);
  });

  test("[YD10] waits for another client's structs the same way, and so does a deletion", () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, block(2, 0, stringAfter(1, 2, '!')), from('two'));
    acceptUpdate(doc, bytes(0, 1, 1, 1, 0, 1), from('two'));
    expect(doc.pendingBytes).toBeGreaterThan(0);
    expect(json(doc)).toEqual({});
    acceptUpdate(doc, block(1, 0, string('abc')), from('one'));
    expect(json(doc)).toEqual({ text: 'bc!' });
  });

  test('[YD10] from two clients that wait for each other waits for ever, and is not counted', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, bytes(2, 1, 2, 0, stringAfter(1, 0, 'b'), 1, 1, 0, stringAfter(2, 0, 'a'), 0), from('one'));
    expect(stateVector(doc)).toEqual(NOTHING);
    expect(doc.pendingBytes).toBeGreaterThan(0);
  });

  test('[YD11] of one client may hold what another wrote, in one message', () => {
    const one = aClient(1);
    const two = aClient(2);
    one.ydoc.getText('text').insert(0, 'one');
    Y.applyUpdate(two.ydoc, one.sent[0]!, 'remote');
    two.ydoc.getText('text').insert(3, ' two');
    const doc = emptyYdoc();
    expect(acceptUpdate(doc, Y.encodeStateAsUpdate(two.ydoc), from('two')).changed).toBe(true);
    expect(json(doc)).toEqual({ text: 'one two' });
  });
});

describe('recovery', () => {
  test.each(['read', 'known by its facts'])(
    '[YD12] replaying the journal over a snapshot that is %s gives the same document, without a Y.Doc',
    (how) => {
      const sent = typing(7, 'a document');
      const doc = emptyYdoc();
      acceptAll(doc, sent.slice(0, 4));
      const snapshot = encodeYdoc(doc).slice();
      const facts = factsOf(doc);
      acceptAll(doc, sent.slice(4));
      const recovered = decodeYdoc(snapshot, how === 'read' ? null : facts);
      for (const update of sent.slice(4)) replayUpdate(recovered, update);
      expect(recovered.live).toBeNull();
      expect(stateVector(recovered)).toEqual(stateVector(doc));
      expect(snapshotHash(recovered)).toBe(snapshotHash(doc));
    },
  );

  test('[YD12] what was accepted under other limits is replayed', () => {
    const update = block(1, 0, bytes(8 | 0x20, 1, 'map', '__proto__', 1, 126));
    const doc = emptyYdoc();
    replayUpdate(doc, update);
    const [[key, value]] = Object.entries(readYdocJson(doc, { key: 'map', formatting: 'plain' }) as object) as [
      [string, unknown],
    ];
    expect([key, value]).toEqual(['__proto__', null]);
    expect(Y.decodeStateVector(stateVector(decodeYdoc(encodeYdoc(doc))))).toEqual(new Map([[1, 1]]));
  });

  test('[YD12] the facts of a document are what its bytes tell, and none are kept while something waits', () => {
    const author = aClient(7);
    const text = author.ydoc.getText('text');
    text.insert(0, 'written and taken back');
    text.delete(3, 9);
    text.delete(8, 2);
    author.ydoc.getMap('map').set('inner', new Y.Map([['key', 1]]));
    const doc = emptyYdoc();
    acceptAll(doc, author.sent);
    const bytes = encodeYdoc(doc);
    const [read, known] = [decodeYdoc(bytes), decodeYdoc(bytes, factsOf(doc))];
    expect([known.base, known.known, known.deleted]).toEqual([read.base, read.known, read.deleted]);
    expect(known.nestingBound).toBeGreaterThanOrEqual(read.nestingBound);
    expect(snapshotHash(known)).toBe(snapshotHash(read));
    const later = aClient(8);
    later.ydoc.getText('text').insert(0, 'a');
    later.ydoc.getText('text').insert(1, 'b');
    acceptUpdate(doc, later.sent[1]!, from('two'));
    encodeYdoc(doc);
    expect(factsOf(doc)).toBeNull();
  });

  test('[YD12] bytes that Yjs cannot read fail the load by name', () => {
    expect(() => decodeYdoc(Uint8Array.of(1, 1, 1, 0, 4))).toThrow(expect.objectContaining({ code: 'ROOM_UNREADABLE' }));
    expect(() => replayUpdate(emptyYdoc(), Uint8Array.of(9))).toThrow(expect.objectContaining({ code: 'ROOM_UNREADABLE' }));
  });
});

describe('what others are told', () => {
  test('[YD13] a newcomer gets base and tail joined from bytes, and the same bytes until the next change', () => {
    const sent = typing(7, 'abcdef');
    const doc = emptyYdoc();
    acceptAll(doc, sent.slice(0, 3));
    compactYdoc(doc);
    releaseYdoc(doc);
    expect(missingFor(doc, NOTHING)).toBe(encodeYdoc(doc));
    acceptAll(doc, sent.slice(3));
    const whole = missingFor(doc, NOTHING);
    expect(doc.live).toBeNull();
    expect(docOf(whole).getText('text').toString()).toBe('abcdef');
    expect(missingFor(doc, NOTHING)).toBe(whole);
    acceptAll(doc, typing(7, 'abcdefg').slice(6));
    expect(docOf(missingFor(doc, NOTHING)).getText('text').toString()).toBe('abcdefg');
  });

  test('[YD13] one who comes back gets what came since, and every deletion', () => {
    const { ydoc, sent } = aClient(7);
    const text = ydoc.getText('text');
    text.insert(0, 'abc');
    const doc = emptyYdoc();
    acceptAll(doc, sent.splice(0));
    const peer = docOf(missingFor(doc, NOTHING));
    text.insert(3, 'def');
    text.delete(0, 2);
    acceptAll(doc, sent);
    const missing = missingFor(doc, Y.encodeStateVector(peer));
    expect(Y.decodeUpdate(missing).structs).toHaveLength(1);
    Y.applyUpdate(peer, missing);
    expect(peer.getText('text').toString()).toBe('cdef');
    expect(missingFor(doc, Y.encodeStateVector(peer))).toEqual(bytes(0, 1, 7, 1, 0, 2));
    expect(doc.live).toBeNull();
  });

  test('[YD13] one who stands in the middle of what was folded gets a difference that Yjs makes', () => {
    const sent = typing(7, 'abcdef');
    const doc = emptyYdoc();
    acceptAll(doc, sent);
    compactYdoc(doc);
    const peer = docOf(Y.mergeUpdates(sent.slice(0, 2)));
    const missing = missingFor(doc, Y.encodeStateVector(peer));
    expect(missing.length).toBeLessThan(encodeYdoc(doc).length);
    Y.applyUpdate(peer, missing);
    expect(peer.getText('text').toString()).toBe('abcdef');
  });

  test('[YD13] a long tail is folded before it is joined', () => {
    const doc = emptyYdoc();
    acceptAll(doc, typing(7, 'x'.repeat(2_001)));
    expect(docOf(missingFor(doc, NOTHING)).getText('text').length).toBe(2_001);
    expect(doc.tail.ends).toHaveLength(0);
  });

  test.each([
    ['nothing', new Uint8Array()],
    ['a count too high', bytes(2 ** 30)],
    ['half an entry', bytes(1, 5)],
    ['something after it', bytes(1, 5, 1, 0)],
    ['an endless number', new Uint8Array(50).fill(255)],
  ])('[YD14] a state vector of %s is refused', (_, vector) => {
    const doc = emptyYdoc();
    acceptAll(doc, typing(7, 'abc'));
    expect(() => missingFor(doc, vector)).toThrow(expect.objectContaining({ code: 'YJS_UPDATE_INVALID' }));
  });

  test('[YD14] a state vector from a future this document has not seen asks for nothing but deletions', () => {
    const doc = emptyYdoc();
    acceptAll(doc, typing(7, 'abc'));
    expect(missingFor(doc, bytes(2, 7, 100, 8, 5))).toEqual(bytes(0, 0));
  });
});

describe('the snapshot hash', () => {
  test('[YD15] of an empty document is the one of the protocol', () => {
    expect(snapshotHash(emptyYdoc())).toBe(EMPTY_HASH);
    expect(snapshotHash(decodeYdoc(encodeYdoc(emptyYdoc())))).toBe(EMPTY_HASH);
    expect(sha256Base64(bytes(0, 0))).toBe(EMPTY_HASH);
    expect(sha256Hex(bytes(0, 0))).toBe(Buffer.from(EMPTY_HASH, 'base64').toString('hex'));
  });

  test('[YD15] is that of every client, from bytes and from the Y.Doc alike', () => {
    const { ydoc, sent } = aClient(7);
    ydoc.getText('text').insert(0, 'hello');
    ydoc.getText('text').delete(0, 2);
    ydoc.getMap('map').set('key', new Y.Array());
    ydoc.getMap('map').set('key', 1);
    const doc = emptyYdoc();
    acceptAll(doc, sent);
    expect(snapshotHash(doc)).toBe(hashOf(ydoc));
    const loaded = decodeYdoc(encodeYdoc(doc));
    expect(snapshotHash(loaded)).toBe(hashOf(ydoc));
    expect(loaded.live).toBeNull();
  });

  test('[YD42] in V2 is that of every client that takes it so, from bytes and from the Y.Doc alike', () => {
    const { ydoc, sent } = aClient(7);
    const other = aClient(9);
    for (const { ydoc: at } of [{ ydoc }, other]) {
      at.getText('text').insert(0, 'hello, hello');
      for (const from of [7, 4, 0]) at.getText('text').delete(from, 2);
    }
    const doc = emptyYdoc();
    acceptAll(doc, [...sent, ...other.sent]);
    Y.applyUpdate(ydoc, encodeYdoc(doc));
    const hash = sha256Base64(Y.encodeSnapshotV2(Y.snapshot(ydoc)));
    expect([snapshotHash(doc, 'V2'), snapshotHash(doc)]).toEqual([hash, hashOf(ydoc)]);
    const loaded = decodeYdoc(encodeYdoc(doc));
    expect([snapshotHash(loaded, 'V2'), loaded.live]).toEqual([hash, null]);
    expect(hash).not.toBe(hashOf(ydoc));
    acceptAll(doc, typing(11, 'x'));
    expect(snapshotHash(doc, 'V2')).not.toBe(hash);
    expect(snapshotHash(emptyYdoc(), 'V2')).toBe(EMPTY_HASH);
  });

  test('[YD16] formats that became redundant are left to the clients: the server deletes nothing by itself', () => {
    const one = aClient(1);
    one.ydoc.getMap('map').set('text', new Y.Text('both make this bold'));
    const two = aClient(2);
    Y.applyUpdate(two.ydoc, one.sent[0]!, 'remote');
    for (const { ydoc } of [one, two]) (ydoc.getMap('map').get('text') as Y.Text).format(0, 9, { bold: true });
    const sent = [...one.sent, ...two.sent];
    const tidied = new Y.Doc();
    for (const update of sent) Y.applyUpdate(tidied, update);
    expect(Y.decodeUpdate(Y.encodeStateAsUpdate(tidied)).ds.clients.size).toBe(1);
    const doc = emptyYdoc();
    for (const update of sent) {
      acceptUpdate(doc, update, from('one'));
      snapshotHash(doc);
    }
    expect(Y.decodeUpdate(encodeYdoc(doc)).ds.clients.size).toBe(0);
  });
});

describe('memory', () => {
  test('[YD17] compaction drops deleted content and keeps the document', () => {
    const { ydoc, sent } = aClient(7);
    const text = ydoc.getText('text');
    text.insert(0, 'x'.repeat(10_000));
    text.delete(0, 9_999);
    const doc = emptyYdoc();
    acceptAll(doc, sent);
    expect(ydocBytes(doc)).toBeGreaterThan(10_000);
    compactYdoc(doc);
    expect(ydocBytes(doc)).toBeLessThan(100);
    expect(json(doc)).toEqual({ text: 'x' });
    const compacted = encodeYdoc(doc);
    compactYdoc(doc);
    expect(encodeYdoc(doc)).toBe(compacted);
  });

  test('[YD17] a released document goes on as if nothing had been', () => {
    const sent = typing(7, 'abcdef');
    const doc = emptyYdoc();
    for (const update of sent) {
      acceptUpdate(doc, update, from('one'));
      snapshotHash(doc);
      releaseYdoc(doc);
      expect(doc.live).toBeNull();
    }
    expect(json(doc)).toEqual({ text: 'abcdef' });
  });

  test('[YD17] the bytes of an update belong to the caller again', () => {
    const doc = emptyYdoc();
    const update = typing(7, 'a')[0]!.slice();
    acceptUpdate(doc, update, from('one'));
    update.fill(255);
    expect(json(doc)).toEqual({ text: 'a' });
  });
});
