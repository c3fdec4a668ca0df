import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { AppError } from '../../../src/base/errors.ts';
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
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { aClient, bytes, type Chance, chanceOf, docOf, edit, from, hashOf } from './builders.ts';

/** Set to look for more than the suite does each time. */
const FACTOR = Number(process.env.FUZZ_FACTOR ?? 1);
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1);
const seeds = Array.from({ length: 15 * FACTOR }, (_, index) => FIRST_SEED + index);
/** Where what waits was merged by Yjs into bytes that it could not read itself. */
const PINNED = [50_089, 51_971];

describe('random clients', () => {
  test.each(seeds)('[YD1] with seed %i: whatever way updates come, the document is the one Yjs has', (seed) => {
    const chance = chanceOf(seed);
    const clients = [11, 5, 2 ** 32 - 7].map(aClient);
    const reference = new Y.Doc();
    const journal: Uint8Array[] = [];
    let doc = emptyYdoc();
    const send = (update: Uint8Array): void => {
      const accepted = acceptUpdate(doc, update, from('session'));
      Y.applyUpdate(reference, update);
      if (accepted.journal !== null) journal.push(accepted.journal);
    };
    for (let step = 0; step < 120; step += 1) {
      const client = clients[chance(clients.length)]!;
      if (chance(6) > 0) edit(client.ydoc, chance);
      else Y.applyUpdate(client.ydoc, missingFor(doc, Y.encodeStateVector(client.ydoc)), 'remote');
      while (client.sent.length > 0 && chance(3) > 0) send(takeOne(client.sent, chance));
      if (chance(15) === 0) send(Y.encodeStateAsUpdate(client.ydoc, stateVector(doc)));
      doc = disturb(doc, chance);
      expect(Buffer.from(stateVector(doc)).equals(Y.encodeStateVector(reference)), `seed ${seed}, step ${step}`).toBe(true);
    }
    for (const { ydoc } of clients) send(Y.encodeStateAsUpdate(ydoc, stateVector(doc)));
    for (const { sent } of clients) for (const update of sent) send(update);
    expect(snapshotHash(doc)).toBe(hashOf(reference));
    expect(hashOf(docOf(missingFor(doc, Uint8Array.of(0))))).toBe(hashOf(reference));
    for (const { ydoc } of clients) {
      Y.applyUpdate(ydoc, missingFor(doc, Y.encodeStateVector(ydoc)), 'remote');
      expect(Y.encodeStateVector(ydoc)).toEqual(Y.encodeStateVector(reference));
    }
    const replayed = emptyYdoc();
    for (const update of journal) replayUpdate(replayed, update);
    expect(snapshotHash(replayed)).toBe(hashOf(reference));
  });

  function takeOne(sent: Uint8Array[], chance: Chance): Uint8Array {
    return sent.splice(chance(4) === 0 ? chance(sent.length) : 0, 1)[0]!;
  }

  function disturb(doc: Ydoc, chance: Chance): Ydoc {
    const what = chance(25);
    if (what === 0) compactYdoc(doc);
    if (what === 1) releaseYdoc(doc);
    if (what === 2) snapshotHash(doc);
    if (what === 3) return decodeYdoc(encodeYdoc(doc));
    return what === 4 ? decodeYdoc(encodeYdoc(doc), factsOf(doc)) : doc;
  }
});

describe('broken updates', () => {
  const perSeed = 2_000;

  test.each(seeds.slice(0, 6 * FACTOR))(
    `[YD2] with seed %i: of ${perSeed} mutants none throws anything but a refusal, and none poisons`,
    (seed) => {
      const chance = chanceOf(1000 + seed);
      const corpus = corpusOf(chance);
      let taken = 0;
      for (let round = 0; round < perSeed; round += 1) {
        const mutant = mutate(corpus, chance);
        const doc = emptyYdoc();
        acceptUpdate(doc, corpus[0]!, from(null));
        const startedMs = performance.now();
        const accepted = outcomeOf(() => acceptUpdate(doc, mutant, from('session')));
        const tookMs = performance.now() - startedMs;
        // A pause of the machine is not ours: what is slow must be slow again.
        if (tookMs > 50) expect(repeatedMs(mutant), `seed ${seed}, round ${round}`).toBeLessThan(50);
        if (accepted === 'refused') continue;
        taken += 1;
        const readAll = (): unknown => [
          snapshotHash(doc),
          readYdocJson(doc, { formatting: 'delta' }),
          decodeYdoc(encodeYdoc(doc)),
          readYdocJson(decodeYdoc(encodeYdoc(doc), factsOf(doc)), { formatting: 'delta' }),
          docOf(encodeYdoc(doc)),
        ];
        expect(readAll, `seed ${seed}, round ${round}: ${Buffer.from(mutant).toString('base64')}`).not.toThrow();
      }
      expect(taken).toBeGreaterThan(0);
    },
  );

  test.each([...PINNED, ...seeds])(
    '[YD2] with seed %i: well-formed nonsense is taken or refused, and what was taken can be read for ever',
    (seed) => {
      const chance = chanceOf(2000 + seed);
      let taken = 0;
      for (let round = 0; round < 8; round += 1) {
        const doc = emptyYdoc();
        for (let step = 0; step < 12; step += 1) {
          const update = nonsense(chance);
          if (outcomeOf(() => acceptUpdate(doc, update, from('session'))) === 'refused') continue;
          taken += 1;
          if (chance(3) === 0) releaseYdoc(doc);
          const at = `seed ${seed}, round ${round}, step ${step}: ${Buffer.from(update).toString('base64')}`;
          expect(
            () => [
              snapshotHash(doc),
              readYdocJson(doc, { formatting: 'delta' }),
              keepingDocOf(missingFor(doc, Uint8Array.of(0))),
            ],
            at,
          ).not.toThrow();
          if (chance(4) === 0) expect(() => readYdocJson(decodeYdoc(encodeYdoc(doc)), { formatting: 'plain' }), at).not.toThrow();
        }
      }
      expect(taken).toBeGreaterThan(0);
    },
  );

  function outcomeOf(run: () => unknown): 'accepted' | 'refused' {
    try {
      run();
      return 'accepted';
    } catch (error) {
      if (error instanceof AppError && error.code !== 'ROOM_UNREADABLE') return 'refused';
      throw error;
    }
  }

  function repeatedMs(update: Uint8Array): number {
    let bestMs = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 5; run += 1) {
      const startedMs = performance.now();
      outcomeOf(() => acceptUpdate(emptyYdoc(), update, from('session')));
      bestMs = Math.min(bestMs, performance.now() - startedMs);
    }
    return bestMs;
  }
});

/** A replica that collects nothing: of nonsense Yjs may accept what it cannot collect. */
function keepingDocOf(update: Uint8Array): Y.Doc {
  const ydoc = new Y.Doc({ gc: false });
  Y.applyUpdate(ydoc, update);
  return ydoc;
}

/** Whole documents and single edits; the first is a whole one. */
function corpusOf(chance: Chance): Uint8Array[] {
  const { ydoc, sent } = aClient(1 + chance(300));
  for (let step = 0; step < 60; step += 1) edit(ydoc, chance);
  const other = aClient(400 + chance(300));
  Y.applyUpdate(other.ydoc, Y.encodeStateAsUpdate(ydoc), 'remote');
  for (let step = 0; step < 30; step += 1) edit(other.ydoc, chance);
  return [
    Y.encodeStateAsUpdate(ydoc),
    Y.encodeStateAsUpdate(other.ydoc),
    Y.encodeStateAsUpdateV2(other.ydoc),
    ...sent,
    ...other.sent,
  ];
}

/** Structs of every kind in the right form, by three clients that refer to each other, and to their own past, at random; deletions in any order, empty ones too. */
function nonsense(chance: Chance): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (const client of [1, 2, 3].slice(chance(3))) {
    const first = chance(8);
    const structs: Uint8Array[] = [];
    for (let clock = first, left = 1 + chance(5); left > 0; left -= 1) {
      const [length, struct] = nonsenseStruct(client, clock, chance);
      structs.push(struct);
      clock += length;
    }
    blocks.push(bytes(structs.length, client, first, ...structs));
  }
  const deletes = Array.from({ length: chance(3) }, () => {
    const ranges = Array.from({ length: chance(3) }, () => bytes(chance(10), chance(5)));
    return bytes(1 + chance(3), ranges.length, ...ranges);
  });
  return bytes(blocks.length, ...blocks, deletes.length, ...deletes);
}

function nonsenseStruct(client: number, clock: number, chance: Chance): [length: number, struct: Uint8Array] {
  const length = 1 + chance(3);
  if (chance(12) === 0) return [length, bytes(chance(2) === 0 ? 0 : 10, length)];
  const [kind, clocks, content] = nonsenseContent(length, chance);
  const id = (): Uint8Array => {
    const other = 1 + chance(3);
    return other === client && clock > 0 ? bytes(client, chance(clock)) : bytes(1 + (client % 3), chance(8));
  };
  const place = chance(4);
  if (place > 0) return [clocks, bytes({ byte: kind | (place << 6) }, ...(place === 3 ? [id(), id()] : [id()]), content)];
  const parent = chance(2) === 0 ? bytes(1, ['text', 'map'][chance(2)]!) : bytes(0, id());
  const key = chance(2) === 0 ? ['k', 'l'][chance(2)]! : null;
  return [clocks, key === null ? bytes({ byte: kind }, parent, content) : bytes({ byte: kind | 0x20 }, parent, key, content)];
}

function nonsenseContent(length: number, chance: Chance): [kind: number, clocks: number, content: Uint8Array] {
  const contents: [number, number, Uint8Array][] = [
    [1, length, bytes(length)],
    [2, 1, bytes(1, '{"a":1}')],
    [3, 1, bytes('bytes')],
    [4, length, bytes(['a', '😀', 'abc'][length - 1]!)],
    [5, 1, bytes('{"e":1}')],
    [6, 1, bytes('bold', ['true', 'null', '{"a":"b"}'][chance(3)]!)],
    [7, 1, chance(2) === 0 ? bytes(chance(3)) : bytes(3, 'p')],
    [7, 1, chance(2) === 0 ? bytes(5, 'hook') : bytes(4 + 2 * chance(2))],
    [8, 2, bytes(2, 125, 1, 119, 'x')],
    [9, 1, bytes('guid', 118, 1, 'autoLoad', 120)],
  ];
  return contents[chance(contents.length)]!;
}

function mutate(corpus: readonly Uint8Array[], chance: Chance): Uint8Array {
  const source = [...corpus[chance(corpus.length)]!];
  const at = (): number => chance(source.length);
  for (let changes = 1 + chance(3); changes > 0; changes -= 1) {
    const change = chance(7);
    if (change === 0) source[at()] = chance(256);
    if (change === 1) source[at()]! ^= 1 << chance(8);
    if (change === 2) source.splice(at(), chance(4));
    if (change === 3) source.splice(at(), 0, chance(256));
    if (change === 4) source.splice(at(), 1, 255, 255, 255, chance(128));
    if (change === 5) source.length = at();
    if (change === 6) source.splice(at(), chance(20), ...corpus[chance(corpus.length)]!.subarray(0, chance(20)));
    if (source.length === 0) source.push(chance(256));
  }
  return chance(10) === 0 ? Uint8Array.from({ length: chance(60) }, () => chance(256)) : Uint8Array.from(source);
}
