import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import type { AppError } from '../../../src/base/errors.ts';
import { readYdocJson } from '../../../src/room/ydoc/json.ts';
import { YDOC_LIMITS } from '../../../src/room/ydoc/limits.ts';
import {
  acceptUpdate,
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  missingFor,
  replayUpdate,
  snapshotHash,
  stateVector,
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { aRoom, id, messages, newcomer, say } from '../../support/a-room.ts';
import {
  aClient,
  acceptAll,
  block,
  bytes,
  collected,
  docOf,
  expectRefused,
  from,
  hashOf,
  string,
  stringAfter,
  typing,
} from './builders.ts';

function expectEarly(work: () => unknown): void {
  expect(work).toThrow(expect.objectContaining({ code: 'YJS_UPDATE_EARLY' }));
}

/** To try an update writes to the document; to refuse it untried does not. */
function watch(doc: Ydoc): { readonly writes: readonly (string | symbol)[]; readonly watched: Ydoc } {
  const writes: (string | symbol)[] = [];
  const watched = new Proxy(doc, {
    set(target, key, value) {
      writes.push(key);
      return Reflect.set(target, key, value);
    },
  });
  return { writes, watched };
}

describe('[YD8] updates that wait', () => {
  test('a flood out of order is held up to the bound, then refused, at a few milliseconds a message', () => {
    const limits = { ...YDOC_LIMITS, pendingBytesMax: 16 * 1024 };
    const doc = emptyYdoc();
    const early = typing(1, 'x'.repeat(601)).slice(1);
    const filler = 'y'.repeat(200);
    let refused = 0;
    const tookMs: number[] = [];
    for (let index = early.length - 1; index >= 0; index -= 1) {
      const update = index % 2 === 0 ? early[index]! : block(1000 + index, 1, string(filler));
      const startedMs = performance.now();
      try {
        acceptUpdate(doc, update, from('flood'), limits);
      } catch (error) {
        expect((error as AppError).code).toBe('YJS_UPDATE_EARLY');
        refused += 1;
      }
      tookMs.push(performance.now() - startedMs);
      expect(doc.pendingBytes).toBeLessThanOrEqual(limits.pendingBytesMax);
    }
    expect(refused).toBeGreaterThan(200);
    expect(refused).toBeLessThan(600);
    // The middle one: the machine is shared, and pauses are not ours.
    expect(tookMs.sort((one, other) => one - other)[300]).toBeLessThan(20);
    acceptAll(doc, typing(2, 'others go on'));
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'others go on' });
  });

  test('what would only wait, and is too much, is refused without being tried: a flood beyond the bound costs its bytes', () => {
    const limits = { ...YDOC_LIMITS, pendingBytesMax: 2_000 };
    const doc = emptyYdoc();
    const early = Array.from({ length: 10 }, (_, index) => block(7, 1 + 300 * index, string('x'.repeat(300))));
    for (const update of early.slice(0, 6)) acceptUpdate(doc, update, from('flood'), limits);
    const waiting = doc.pendingBytes;
    const { writes, watched } = watch(doc);
    for (const update of early.slice(6)) expectEarly(() => acceptUpdate(watched, update, from('flood'), limits));
    expect([writes, doc.pendingBytes]).toEqual([[], waiting]);
    expect(acceptUpdate(doc, early[4]!, from('flood'), limits).changed).toBe(false); // it waits already
    acceptUpdate(doc, block(7, 0, string('x')), from('flood'), limits);
    expect([doc.pendingBytes, readYdocJson(doc, { formatting: 'plain' })]).toEqual([0, { text: 'x'.repeat(1_801) }]);
  });

  test('a flood of deletions of what is not here is held to the same bound', () => {
    const limits = { ...YDOC_LIMITS, pendingBytesMax: 1_000 };
    const doc = emptyYdoc();
    acceptAll(doc, typing(2, 'text'));
    const flood = (client: number): Uint8Array =>
      bytes(0, 1, client, 100, ...Array.from({ length: 100 }, (_, index) => bytes(2 * index, 1)));
    const outcomes = Array.from({ length: 20 }, (_, index) => {
      try {
        return acceptUpdate(doc, flood(100 + index), from('flood'), limits).changed;
      } catch (error) {
        return (error as AppError).code;
      }
    });
    expect(outcomes[0]).toBe(true);
    expect(outcomes.at(-1)).toBe('YJS_UPDATE_EARLY');
    expect(doc.pendingBytes).toBeLessThanOrEqual(1_000);
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'text' });
  });

  test('deletions of what is not here are refused beyond their own bound, and those beyond it by themselves without being tried', () => {
    const limits = { ...YDOC_LIMITS, pendingDeletesBytesMax: 200 };
    const doc = emptyYdoc();
    acceptAll(doc, typing(2, 'text'));
    const flood = (client: number, ranges: number): Uint8Array =>
      bytes(0, 1, client, ranges, ...Array.from({ length: ranges }, (_, index) => bytes(2 * index, 1)));
    acceptUpdate(doc, flood(100, 90), from('flood'), limits);
    const { writes, watched } = watch(doc);
    expectEarly(() => acceptUpdate(watched, flood(101, 20), from('flood'), limits));
    expectEarly(() => acceptUpdate(watched, flood(102, 101), from('flood'), limits));
    const withText = bytes(1, 1, 3, 0, string('mine'), 1, 102, 101, ...Array.from({ length: 101 }, (_, at) => bytes(2 * at, 1)));
    expectEarly(() => acceptUpdate(watched, withText, from('flood'), limits));
    expect(writes).toEqual([]);
    expect(acceptUpdate(doc, flood(100, 90), from('flood'), limits).changed).toBe(false); // they wait already
    expect(acceptUpdate(doc, flood(100, 91), from('flood'), limits).changed).toBe(true); // one of them does not
    const { pendingBytes } = doc;
    const farApart = bytes(0, 1, 103, 4, ...Array.from({ length: 4 }, () => bytes(100_000, 1)));
    expectEarly(() => acceptUpdate(doc, farApart, from('flood'), limits)); // known only when it was tried
    expect(doc.pendingBytes).toBe(pendingBytes);
    acceptUpdate(doc, block(100, 0, string('x'.repeat(200))), from('victim'), limits);
    expect([doc.pendingBytes, readYdocJson(doc, { formatting: 'plain' })]).toEqual([
      0,
      { text: expect.stringMatching(/^(text)?x{109}(text)?$/) },
    ]);
  });

  test('deletions of what comes with them do not wait: a whole document with many is taken, over a part of it, too', () => {
    const limits = { ...YDOC_LIMITS, pendingDeletesBytesMax: 200 };
    const ydoc = new Y.Doc({ gc: false });
    const list = ydoc.getArray('list');
    list.push(Array.from({ length: 1_000 }, (_, index) => index));
    const part = Y.encodeStateAsUpdate(ydoc);
    list.push(Array.from({ length: 1_000 }, (_, index) => index));
    for (let index = 999; index > 0; index -= 1) list.delete(2 * index);
    for (const before of [[], [part]]) {
      const doc = emptyYdoc();
      acceptAll(doc, before);
      acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from('one'), limits);
      expect([doc.pendingBytes, snapshotHash(doc)]).toEqual([0, hashOf(ydoc)]);
    }
  });

  test('deletions of what waits itself count', () => {
    const limits = { ...YDOC_LIMITS, pendingDeletesBytesMax: 200 };
    const doc = emptyYdoc();
    const { writes, watched } = watch(doc);
    const ranges = Array.from({ length: 101 }, (_, index) => bytes(1 + 2 * index, 1));
    const update = bytes(block(7, 1, string('x'.repeat(300))).subarray(0, -1), 1, 7, ranges.length, ...ranges);
    expectEarly(() => acceptUpdate(watched, update, from('flood'), limits));
    expect(writes).toEqual([]);
  });

  test('who answers with all it has, and with what waits for somebody else besides, is not refused for its own deletions', () => {
    const limits = { ...YDOC_LIMITS, pendingDeletesBytesMax: 200 };
    const ydoc = new Y.Doc({ gc: false });
    const list = ydoc.getArray('list');
    list.push(Array.from({ length: 1_000 }, (_, index) => index));
    for (let index = 499; index > 0; index -= 1) list.delete(2 * index);
    Y.applyUpdate(ydoc, block(7, 0, stringAfter(8, 4, 'waits')));
    const doc = emptyYdoc();
    acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from('honest'), limits);
    expect(doc.pendingBytes).toBeGreaterThan(0);
    expect(snapshotHash(doc)).toBe(hashOf(ydoc));
  });

  test('what is refused at the price of a new Y.Doc closes whoever brings it again and again; without that price, nobody', () => {
    const room = aRoom(newcomer('yan', { kind: 'yjs' }));
    const change = (update: Uint8Array) => say(room, { type: 'ydoc.change', from: id('yan'), guid: '', update });
    const tooLong = string('x'.repeat(YDOC_LIMITS.pendingBytesMax));
    const costly = bytes(2, 1, 2, 0, string('here'), 1, 1, 5, tooLong, 0);
    for (let time = 0; time < 100; time += 1) change(block(1, 5, tooLong));
    for (let time = 0; time < YDOC_LIMITS.costlyAnswersMax; time += 1) change(costly);
    expect(() => change(costly)).toThrow(expect.objectContaining({ code: 'YJS_UPDATE_EARLY', close: 4000 }));
  });

  test('structs that wait are counted, whatever their bytes are, and each document within the document for sixteen', () => {
    const limits = { ...YDOC_LIMITS, waitingStructsMax: 40 };
    const types = (count: number): Uint8Array[] =>
      Array.from({ length: count }, (_, index) => bytes({ byte: 7 | 0x80 }, 7, index, 1));
    const documents = [bytes(9, 1, 'list', 0, 118, 0), bytes({ byte: 9 | 0x80 }, 8, 5, 0, 118, 0)];
    const doc = emptyYdoc();
    const { writes, watched } = watch(doc);
    for (const early of [block(7, 1, ...types(41)), block(7, 0, stringAfter(9, 4, 'x'), ...types(40))])
      expectEarly(() => acceptUpdate(watched, early, from('flood'), limits));
    expect(writes).toEqual([]);
    acceptUpdate(doc, block(8, 5, ...documents), from('one'), limits); // 32 of 40
    expectEarly(() => acceptUpdate(doc, block(7, 1, ...types(9)), from('flood'), limits));
    const again = decodeYdoc(encodeYdoc(doc));
    expectEarly(() => acceptUpdate(again, block(7, 1, ...types(9)), from('flood'), limits));
    for (const each of [doc, again]) acceptUpdate(each, block(7, 1, ...types(8)), from('one'), limits);
  });

  test('what was set free no longer counts, and what comes again only once', () => {
    const limits = { ...YDOC_LIMITS, waitingStructsMax: 3 };
    const doc = emptyYdoc();
    acceptUpdate(doc, block(9, 5, string('never comes')), from('one'), limits);
    const [first, ...rest] = typing(7, 'abcdefghij');
    for (let at = 0; at < rest.length; at += 2) {
      if (at === 0) acceptUpdate(doc, first!, from('one'), limits);
      if (rest[at + 1] === undefined) break;
      acceptUpdate(doc, rest[at + 1]!, from('one'), limits); // waits for the one before
      acceptUpdate(doc, rest[at]!, from('one'), limits);
    }
    for (const more of [1, 2, 3])
      acceptUpdate(doc, block(8, 5, string('a'), ...Array(more - 1).fill(stringAfter(8, 5, 'b'))).subarray(0), from('two'), {
        ...limits,
        waitingStructsMax: 4,
      });
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: expect.stringContaining('abcdefgh') });
  });

  test('too many whose wait only Yjs finds out are refused, at the price of who tries it again and again', () => {
    /** They stand behind one that comes with them, and waits. */
    const behindOne = (structs: number): Uint8Array => {
      const behind = Array.from({ length: structs }, (_, index) => bytes({ byte: 7 | 0x80 }, 6, index, 1));
      return bytes(2, 1, 5, 0, stringAfter(8, 4, 'a'), structs + 1, 6, 0, stringAfter(5, 0, 'b'), ...behind, 0);
    };
    expect(acceptUpdate(emptyYdoc(), behindOne(100), from('one')).changed).toBe(true);
    const room = aRoom(newcomer('yan', { kind: 'yjs' }));
    const update = behindOne(YDOC_LIMITS.waitingStructsMax);
    const change = () => say(room, { type: 'ydoc.change', from: id('yan'), guid: '', update });
    for (let time = 0; time < YDOC_LIMITS.costlyAnswersMax; time += 1) change();
    expect(change).toThrow(expect.objectContaining({ code: 'YJS_UPDATE_EARLY', close: 4000 }));
  });

  test('a document that two wrote in turns, each behind the other, is complete, and taken', () => {
    const [one, other] = [aClient(1), aClient(2)];
    for (let turn = 0; turn < 2_000; turn += 1) {
      const [writer, reader] = turn % 2 === 0 ? [one, other] : [other, one];
      writer.ydoc.getText('text').insert(turn, 'x');
      Y.applyUpdate(reader.ydoc, writer.sent.pop()!, 'remote');
      if (turn % 3 === 0) {
        writer.ydoc.getArray('list').insert(0, [turn]);
        Y.applyUpdate(reader.ydoc, writer.sent.pop()!, 'remote');
      }
    }
    const update = Y.encodeStateAsUpdate(one.ydoc);
    const strict = { ...YDOC_LIMITS, waitingStructsMax: 1, pendingDeletesBytesMax: 4 };
    for (const limits of [YDOC_LIMITS, strict]) {
      const doc = emptyYdoc();
      acceptUpdate(doc, update, from('one'), limits);
      expect([doc.pendingBytes, snapshotHash(doc)]).toEqual([0, hashOf(one.ydoc)]);
    }
  });

  test('documents within the document that were set free are not held against who set them free', () => {
    const limits = { ...YDOC_LIMITS, documentsMax: 3, waitingStructsMax: 100 };
    const document = (client: number, clock: number): Uint8Array =>
      block(client, clock, bytes({ byte: 9 | 0x80 }, client, clock - 1, 0, 118, 0));
    const doc = emptyYdoc();
    for (const client of [11, 12, 13]) acceptAll(doc, [block(client, 0, bytes(9, 1, 'list', 0, 118, 0))]);
    acceptUpdate(doc, document(7, 1), from('attacker'), limits);
    expect(acceptUpdate(doc, block(7, 0, string('x')), from('honest'), limits).changed).toBe(true);
    expect([doc.documents, doc.pendingBytes]).toEqual([3, 0]);
    expect(readYdocJson(doc, { formatting: 'plain' })).toMatchObject({ text: 'x' });
  });

  test('types that were set free too deep are not held against who set them free, whatever else waits by then', () => {
    /** Types of client 6, each in the one before, the first behind what client 7 writes next. */
    const tower = (depth: number): Uint8Array => {
      const inner = Array.from({ length: depth - 1 }, (_, index) => bytes(7, 0, 6, index, 1));
      return block(6, 0, bytes({ byte: 7 | 0x80 }, 7, 0, 1), ...inner);
    };
    for (const besides of [bytes(0), bytes(1, 1, 8, 50, string('waits for long, too'.repeat(20)), 0)]) {
      const doc = emptyYdoc();
      acceptUpdate(doc, tower(YDOC_LIMITS.nestingMax + 2), from('attacker'));
      const freeing = Y.mergeUpdates([block(7, 0, string('x')), besides.length > 1 ? besides : bytes(0, 0)]);
      expect(acceptUpdate(doc, freeing, from('honest')).changed).toBe(true);
      expect(doc.nestingBound).toBeLessThanOrEqual(YDOC_LIMITS.nestingMax);
      expect(readYdocJson(doc, { formatting: 'plain' })).toMatchObject({ text: 'x' });
    }
  });

  test('an update with a hole where all is known is taken, however long it is', () => {
    const strict = { ...YDOC_LIMITS, waitingStructsMax: 1, pendingDeletesBytesMax: 4 };
    const { ydoc, sent } = aClient(7);
    for (let at = 0; at < 120; at += 1) ydoc.getArray('list').insert(0, [at]);
    const doc = emptyYdoc();
    acceptAll(doc, sent.slice(0, 100));
    const withHole = Y.mergeUpdates([...sent.slice(0, 50), ...sent.slice(60)]);
    acceptUpdate(doc, withHole, from('one'), strict);
    expect([doc.pendingBytes, snapshotHash(doc)]).toEqual([0, hashOf(ydoc)]);
  });

  test('who answers a question with what is refused again is asked once a second, and at once when anything has changed', () => {
    const room = aRoom(newcomer('yan', { kind: 'yjs' }));
    say(room, { type: 'ydoc.change', from: null, guid: '', update: typing(4, 'x')[0]! });
    const refused = block(1, 5, string('x'.repeat(YDOC_LIMITS.pendingBytesMax)));
    const asks = (update: Uint8Array, nowMs: number): number =>
      messages(say(room, { type: 'ydoc.change', from: id('yan'), guid: '', update }, nowMs)).length;
    const questions = Array.from({ length: 100 }, (_, turn) => asks(refused, 25 * turn));
    expect(questions.reduce((one, other) => one + other)).toBe(3);
    expect(asks(refused, 2_501)).toBe(0);
    const change = say(room, { type: 'ydoc.change', from: null, guid: '', update: typing(2, 'x')[0]! }, 2_502);
    expect(messages(change)).toContainEqual(expect.objectContaining({ type: 'ydoc.question' })); // it was put off
    expect(asks(refused, 2_503)).toBe(0);
    expect(messages(say(room, { type: 'ydoc.change', from: null, guid: '', update: typing(3, 'x')[0]! }, 2_602))).toHaveLength(2);
  });

  test('an update of which a part would wait beyond the bound is refused as a whole', () => {
    const limits = { ...YDOC_LIMITS, pendingBytesMax: 20 };
    const doc = emptyYdoc();
    const update = bytes(2, 1, 2, 0, string('here'), 1, 1, 5, string('x'.repeat(30)), 0);
    expect(() => acceptUpdate(doc, update, from('one'), limits)).toThrow(/more than 20 bytes would wait/);
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({});
    expect(stateVector(doc)).toEqual(bytes(0));
  });

  test('an overlap with collected structs, on which Yjs throws, is refused and forgotten', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, block(3, 0, string('abc'), collected(2)), from('one'));
    const overlap = block(3, 4, bytes(8, 1, 'list', 2, 126, 126));
    expect(() => Y.applyUpdate(docOf(encodeYdoc(doc)), overlap)).toThrow(TypeError);
    expectRefused(doc, overlap, /Yjs says/, 'one');
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'abc' });
  });

  test("what waits cannot make someone else's update fail: it is dropped, live and in recovery", () => {
    const doc = emptyYdoc();
    const journal = [
      block(3, 0, string('abc')),
      // It waits for the victim's clock 1, and by then what stands before its second half is collected.
      block(3, 3, stringAfter(77, 0, 'zz')),
      block(3, 3, collected(1)),
      block(77, 0, string('victim')),
    ];
    acceptAll(doc, journal.slice(0, 3), 'attacker');
    expect(doc.pendingBytes).toBeGreaterThan(0);
    expect(acceptUpdate(doc, journal[3]!, from('victim')).changed).toBe(true);
    const recovered = emptyYdoc();
    for (const update of journal) replayUpdate(recovered, update);
    for (const each of [doc, recovered]) {
      expect(each.pendingBytes).toBe(0);
      expect(readYdocJson(each, { formatting: 'plain' })).toEqual({ text: 'abcvictim' });
    }
    expect(snapshotHash(doc)).toBe(snapshotHash(recovered));
  });

  test('what Yjs takes but cannot collect leaves the document readable', () => {
    const doc = emptyYdoc();
    const updates = [
      // A map in the root; an entry; what follows that entry holds two values, which a deletion then splits.
      block(1, 0, bytes(7 | 0x20, 1, 'map', 'in', 1)),
      block(1, 1, bytes(8 | 0x20, 0, 1, 0, 'key', 1, 126)),
      block(1, 2, bytes({ byte: 8 | 0x80 }, 1, 1, 2, 126, 126)),
      bytes(0, 1, 1, 1, 3, 1),
      bytes(0, 1, 1, 1, 0, 1),
    ];
    acceptAll(doc, updates);
    const peer = new Y.Doc();
    expect(() => Y.transact(peer, () => updates.map((update) => Y.applyUpdate(peer, update)))).toThrow('Unexpected case');
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ map: {} });
    expect(missingFor(doc, Uint8Array.of(0)).length).toBeGreaterThan(2);
  });
});
