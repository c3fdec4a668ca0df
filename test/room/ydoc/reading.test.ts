import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { readYdocJson } from '../../../src/room/ydoc/json.ts';
import { materialise } from '../../../src/room/ydoc/live.ts';
import { isLongToRead } from '../../../src/room/ydoc/long.ts';
import { piecesOf } from '../../../src/room/ydoc/pieces.ts';
import { Reading } from '../../../src/room/ydoc/reading.ts';
import { type Span, scanStored } from '../../../src/room/ydoc/scan.ts';
import { structPlace } from '../../../src/room/ydoc/struct-walk.ts';
import { Writing } from '../../../src/room/ydoc/writing.ts';
import {
  acceptUpdate,
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  factsOf,
  missingFor,
  replayUpdate,
  snapshotHash,
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { aClient, bytes, type Chance, chanceOf, docOf, edit, from, hashOf, string, stringAfter } from './builders.ts';

const FACTOR = Number(process.env.FUZZ_FACTOR ?? 1);
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);
const seeds = Array.from({ length: 3 * FACTOR }, (_, index) => FIRST_SEED + index);
const CLIENTS = [11, 5, 2 ** 32 - 7, 900];

const jsonOf = (ydoc: Y.Doc): unknown => readYdocJson(decodeYdoc(Y.encodeStateAsUpdate(ydoc)), { formatting: 'delta' });

/** What people who hear of each other from time to time leave behind. */
function written(chance: Chance, edits: number): { ydoc: Y.Doc; updates: Uint8Array[] } {
  const clients = CLIENTS.map(aClient);
  const updates: Uint8Array[] = [];
  const share = (): void => {
    for (const { sent } of clients) {
      for (const update of sent.splice(0)) {
        updates.push(update);
        for (const { ydoc } of clients) Y.applyUpdate(ydoc, update, 'remote');
      }
    }
  };
  for (let step = 0; step < edits; step += 1) {
    edit(clients[chance(clients.length)]!.ydoc, chance);
    if (chance(5) === 0) share();
  }
  share();
  return { ydoc: clients[0]!.ydoc, updates };
}

describe('[YD27] an update in pieces', () => {
  test.each(seeds)('with seed %i: each is integrated with those before it, and all of them are the whole', (seed) => {
    const { ydoc } = written(chanceOf(seed), 2_000);
    const whole = Y.encodeStateAsUpdate(ydoc);
    const copy = new Y.Doc();
    const pieces = piecesOf(whole, scanStored(whole)!, () => 0)!;
    let count = 0;
    for (let piece = pieces.next(); piece !== null; piece = pieces.next(), count += 1) {
      Y.applyUpdate(copy, piece);
      expect([copy.store.pendingStructs, copy.store.pendingDs]).toEqual([null, null]);
    }
    expect(count).toBeGreaterThan(2);
    expect(hashOf(copy)).toBe(hashOf(ydoc));
    expect(jsonOf(copy)).toEqual(jsonOf(ydoc));
  });
});

describe('[YD28] a document that is read a piece at a time', () => {
  function readAll(doc: Ydoc, between: () => void = () => undefined): number {
    const reading = new Reading(doc);
    let pieces = 1;
    for (; reading.read(); pieces += 1) between();
    return pieces;
  }

  const accept = (doc: Ydoc, update: Uint8Array): unknown => acceptUpdate(doc, update, from('one'));

  test.each([
    ['replayed', replayUpdate, 3],
    ['accepted', accept, 1], // for which it may be read at once
  ] as const)('is what Yjs reads at once, also when something is %s meanwhile', (_, take, piecesMin) => {
    for (const seed of seeds) {
      const chance = chanceOf(100_000 + seed);
      const { updates } = written(chance, 2_000);
      const reference = new Y.Doc();
      for (const update of updates) Y.applyUpdate(reference, update);
      const stored = emptyYdoc();
      const later = updates.splice(-200);
      const tail = updates.splice(-100);
      for (const update of updates) acceptUpdate(stored, update, from('one'));
      const doc = decodeYdoc(encodeYdoc(stored), factsOf(stored));
      for (const update of tail) replayUpdate(doc, update);
      expect(isLongToRead(doc)).toBe(true);
      const count = readAll(doc, () => {
        if (later.length > 0) take(doc, later.shift()!);
      });
      expect(count).toBeGreaterThan(piecesMin);
      expect(isLongToRead(doc)).toBe(false);
      for (const update of later) acceptUpdate(doc, update, from('one'));
      expect(snapshotHash(doc)).toBe(hashOf(reference));
      const again = decodeYdoc(encodeYdoc(doc));
      expect([snapshotHash(again), again.known.size]).toEqual([hashOf(reference), doc.known.size]);
    }
  });
});

describe('[YD28] a reading', () => {
  const stored = (ydoc: Y.Doc): Ydoc => {
    const doc = emptyYdoc();
    acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from('one'));
    return decodeYdoc(encodeYdoc(doc), factsOf(doc));
  };
  const pictures = (clientID: number, count: number, ydoc = new Y.Doc()): Y.Doc => {
    ydoc.clientID = clientID;
    const at = ydoc.getText('text').length;
    ydoc.transact(() => {
      for (let index = 0; index < count; index += 1) ydoc.getText('text').insertEmbed(at + index, { index });
    });
    return ydoc;
  };

  test('hands its Y.Doc over once: one into which a refused update went is not used again', () => {
    const ydoc = pictures(7, 3_000);
    const doc = stored(ydoc);
    const reading = new Reading(doc);
    while (doc.live === null) expect(reading.read()).toBe(true);
    const deep = new Y.Doc();
    deep.clientID = 666;
    let map = deep.getMap('deep');
    deep.transact(() => {
      for (let depth = 0; depth < 80; depth += 1) map = map.set('k', new Y.Map());
    });
    expect(() => acceptUpdate(doc, Y.encodeStateAsUpdate(deep), from('other'))).toThrow(/nests types deeper/);
    while (reading.read());
    acceptUpdate(doc, Y.encodeStateAsUpdate(pictures(7, 1, ydoc)), from('one'));
    expect([...docOf(encodeYdoc(doc)).store.clients.keys()]).toEqual([7]);
  });

  test('notes what it has read as it is noted of what is read at once', () => {
    const ydoc = pictures(7, 3_000);
    const [one, other] = [stored(ydoc), stored(ydoc)];
    const update = Y.encodeStateAsUpdate(pictures(7, 2_500, ydoc), Y.encodeStateVector(docOf(one.base)));
    for (const doc of [one, other]) replayUpdate(doc, update);
    materialise(one);
    const reading = new Reading(other);
    while (reading.read());
    expect(other.crowding).toEqual(one.crowding);
  });
});

test('[YD27] of two thousand clients each of whom needs the one before, all come in order', () => {
  const clients = Array.from({ length: 2_000 }, (_, index) => 2_000 - index);
  const blocks = clients.flatMap((client) => [1, client, 0, client === 1 ? string('a') : stringAfter(client - 1, 0, 'a')]);
  const update = bytes(clients.length, ...blocks, 0);
  const copy = new Y.Doc();
  const pieces = piecesOf(update, scanStored(update)!, () => 0);
  for (let piece = pieces.next(); piece !== null; piece = pieces.next()) {
    Y.applyUpdate(copy, piece);
    expect(copy.store.pendingStructs).toBeNull();
  }
  expect(copy.getText('text').length).toBe(2_000);
});

describe('[YD30] a document that is written a piece at a time', () => {
  test('is what Yjs writes, byte by byte', () => {
    const { ydoc } = written(chanceOf(7), 1_500);
    const writing = new Writing(ydoc);
    let pieces = 1;
    for (; writing.write(); pieces += 1);
    const { bytes, scanned } = writing.finish();
    expect(pieces).toBeGreaterThan(3);
    expect(Buffer.compare(bytes, Y.encodeStateAsUpdate(ydoc))).toBe(0);
    const { spans, deletes, deletesAt } = scanStored(bytes)!;
    const placeOf = ({ client, from, to, structs, bytesFrom, bytesTo }: Span): unknown => [
      client,
      from,
      to,
      structs,
      bytesFrom,
      bytesTo,
    ];
    expect(scanned.spans.map(placeOf)).toEqual(spans.map(placeOf));
    expect([scanned.deletes, scanned.deletesAt]).toEqual([deletes, deletesAt]);
    for (const span of scanned.spans) {
      for (const clock of [0, Math.floor(span.to / 2), span.to - 1]) {
        const { client } = span;
        const place = structPlace(bytes, spans.find((other) => other.client === client)!, clock);
        expect(structPlace(bytes, span, clock)).toMatchObject({
          clock: place.clock,
          bytesFrom: place.bytesFrom,
          structsBefore: place.structsBefore,
        });
      }
    }
  });

  test.each(seeds)('with seed %i: is what there is, whatever came meanwhile', (seed) => {
    const chance = chanceOf(200_000 + seed);
    const { updates } = written(chance, 1_500);
    const reference = new Y.Doc();
    const doc = emptyYdoc();
    const send = (): void => {
      const update = updates.shift();
      if (update === undefined) return;
      Y.applyUpdate(reference, update);
      acceptUpdate(doc, update, from('one'));
      if (chance(3) === 0) materialise(doc);
    };
    for (let left = updates.length; left > 400; left -= 1) send();
    for (let round = 0; round < 3; round += 1) {
      doc.writing = new Writing(materialise(doc));
      while (doc.writing.write()) for (let count = chance(4); count > 0; count -= 1) send();
      send();
      const stored = encodeYdoc(doc);
      expect([doc.writing, hashOf(docOf(stored))]).toEqual([null, hashOf(reference)]);
      expect(jsonOf(docOf(stored))).toEqual(jsonOf(reference));
      expect(snapshotHash(decodeYdoc(stored, factsOf(doc)))).toBe(hashOf(reference));
      const newcomer = docOf(missingFor(doc, Uint8Array.of(0)));
      expect(hashOf(newcomer)).toBe(hashOf(reference));
      const some = docOf(updates.length > 0 ? updates[0]! : stored);
      Y.applyUpdate(some, missingFor(doc, Y.encodeStateVector(some)));
      for (let count = 0; count < 20; count += 1) send();
    }
  });
});
