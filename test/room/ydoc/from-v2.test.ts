import * as encoding from 'lib0/encoding';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { AppError } from '../../../src/base/errors.ts';
import { anyToJson } from '../../../src/room/ydoc/any-json.ts';
import { ByteReader } from '../../../src/room/ydoc/byte-reader.ts';
import { fromV2 } from '../../../src/room/ydoc/from-v2.ts';
import { YDOC_LIMITS } from '../../../src/room/ydoc/limits.ts';
import { scanUpdate } from '../../../src/room/ydoc/scan.ts';
import { V1Writer } from '../../../src/room/ydoc/v1-writer.ts';
import { ByteColumn, DiffColumn, TextColumn, UintColumn } from '../../../src/room/ydoc/v2-columns.ts';
import { bytes, chanceOf, docOf, edit, hashOf } from './builders.ts';

const inV1 = (update: Uint8Array): Uint8Array => fromV2(update).update;
/** Compared in a fraction of the time. */
const hex = (update: Uint8Array): string => Buffer.from(update).toString('hex');
const refusal = (reason: RegExp) =>
  expect.objectContaining({ code: 'YJS_UPDATE_INVALID', facts: { reason: expect.stringMatching(reason) } });

/** A document that says what it does in both encodings. */
function writtenInBoth(clientID: number): { ydoc: Y.Doc; v1: Uint8Array[]; v2: Uint8Array[] } {
  const ydoc = new Y.Doc();
  ydoc.clientID = clientID;
  const [v1, v2]: [Uint8Array[], Uint8Array[]] = [[], []];
  ydoc.on('update', (update: Uint8Array) => v1.push(update));
  ydoc.on('updateV2', (update: Uint8Array) => v2.push(update));
  return { ydoc, v1, v2 };
}

describe('[YD40] what Yjs writes in V2 becomes what it writes in V1', () => {
  test.each(Array.from({ length: 25 }, (_, seed) => seed + 1))('chance %i', (seed) => {
    const chance = chanceOf(seed);
    const [one, other] = [writtenInBoth(1 + chance(2 ** 31)), writtenInBoth(2 ** 32 + chance(2 ** 31))];
    for (let step = 0; step < 40; step += 1) {
      const { ydoc } = chance(2) === 0 ? one : other;
      ydoc.transact(() => {
        for (let edits = chance(3); edits >= 0; edits -= 1) edit(ydoc, chance);
      });
      if (chance(6) === 0) Y.applyUpdateV2(one.ydoc, Y.encodeStateAsUpdateV2(other.ydoc, Y.encodeStateVector(one.ydoc)));
      if (chance(6) === 0) Y.applyUpdateV2(other.ydoc, Y.encodeStateAsUpdateV2(one.ydoc, Y.encodeStateVector(other.ydoc)));
    }
    for (const { v1, v2 } of [one, other]) expect(v2.map(inV1)).toEqual(v1);

    for (const { ydoc } of [one, other]) expect(hex(inV1(Y.encodeStateAsUpdateV2(ydoc)))).toBe(hex(Y.encodeStateAsUpdate(ydoc)));
    const kept = one.v1.map(() => chance(3) > 0); // with gaps between them
    kept[0] = true;
    const merged = Y.mergeUpdatesV2(one.v2.filter((_, at) => kept[at]));
    expect(hex(inV1(merged))).toBe(hex(Y.mergeUpdates(one.v1.filter((_, at) => kept[at]))));
    // Yjs' own conversion forgets which structs have a key, where that is told by what they stand behind.
    for (const update of [merged, Y.encodeStateAsUpdateV2(one.ydoc)])
      expect(hashOf(docOf(inV1(update)))).toBe(hashOf(docOf(Y.convertUpdateFormatV2ToV1(update))));
  });

  test('texts that are cut between the halves of a pair, and values that JSON writes otherwise', () => {
    const { ydoc, v1, v2 } = writtenInBoth(7);
    const text = ydoc.getText('text');
    for (const half of ['\ud83d', '\ude00', 'é', '']) text.insert(text.length, half);
    text.insertEmbed(0, {
      a: -0,
      b: Number.NaN,
      c: 2 ** 70,
      d: new Uint8Array([1, 2]),
      e: [undefined, null],
      f: undefined,
      g: '"\u0000',
    });
    text.insertEmbed(0, 0.5);
    text.insertEmbed(0, [true, false, 'ü', {}]);
    expect(v2.map(inV1)).toEqual(v1);
  });

  test('nothing at all', () => {
    expect([...inV1(new Uint8Array(Buffer.from('AAAAAAAAAQAAAAAAAA==', 'base64')))]).toEqual([0, 0]);
  });

  test('a format that is undefined, for which V1 has no text, is null', () => {
    const ydoc = new Y.Doc();
    ydoc.getText('text').insert(0, 'a', { bold: undefined } as never);
    const update = inV1(Y.encodeStateAsUpdateV2(ydoc));
    scanUpdate(update, YDOC_LIMITS);
    expect(docOf(update).getText('text').toDelta()).toEqual([{ insert: 'a' }]);
  });
});

/** Columns written by hand. A text stands for all texts in one. */
interface Columns {
  readonly keyClocks?: Uint8Array;
  readonly clients?: Uint8Array;
  readonly lefts?: Uint8Array;
  readonly rights?: Uint8Array;
  readonly infos?: Uint8Array;
  readonly texts?: Uint8Array;
  readonly parents?: Uint8Array;
  readonly typeRefs?: Uint8Array;
  readonly lengths?: Uint8Array;
  readonly rest: Uint8Array;
}

const NONE = new Uint8Array(0);
const NO_TEXTS = Uint8Array.of(0);
const MANY = 2 ** 40;

function v2({
  keyClocks,
  clients,
  lefts,
  rights,
  infos,
  texts = NO_TEXTS,
  parents,
  typeRefs,
  lengths,
  rest,
}: Columns): Uint8Array {
  return encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, 0);
    for (const column of [keyClocks, clients, lefts, rights, infos, texts, parents, typeRefs, lengths])
      encoding.writeVarUint8Array(encoder, column ?? NONE);
    encoding.writeUint8Array(encoder, rest);
  });
}

const numbers = (...values: number[]): Uint8Array =>
  encoding.encode((encoder) => {
    for (const value of values) encoding.writeVarUint(encoder, value);
  });
/** The same number, so many times. */
const uints = (value: number, times = MANY): Uint8Array =>
  encoding.encode((encoder) => {
    encoding.writeVarInt(encoder, value === 0 ? -0 : -value);
    encoding.writeVarUint(encoder, times - 2);
  });
/** The same distance, so many times. */
const diffs = (value: number, times = MANY): Uint8Array =>
  encoding.encode((encoder) => {
    encoding.writeVarInt(encoder, 2 * value + 1);
    encoding.writeVarUint(encoder, times - 2);
  });
const textsOf = (all: string, lengths: Uint8Array): Uint8Array =>
  encoding.encode((encoder) => {
    encoding.writeVarString(encoder, all);
    encoding.writeUint8Array(encoder, lengths);
  });
const one = (value: number): Uint8Array => encoding.encode((encoder) => encoding.writeVarInt(encoder, value));
/** One block of client 1 with so many structs, and what follows. */
const structs = (count: number, ...after: number[]): Uint8Array => Uint8Array.of(...numbers(1, count, 0), ...after);

const BEHIND = 0x80;
const BEFORE = 0x40;
const [DELETED, JSON_LIST, STRING, EMBED, TYPE, ANY, DOCUMENT] = [1, 2, 4, 5, 7, 8, 9];
const [LIST, MAP] = [117, 118];

const ENDLESS: readonly (readonly [name: string, bomb: Uint8Array])[] = [
  ['collected structs', v2({ clients: uints(1), infos: Uint8Array.of(0), lengths: uints(1), rest: structs(MANY) })],
  ['infos, each with its count', v2({ clients: uints(1), infos: numbers(0, MANY, 0), lengths: uints(1), rest: structs(MANY) })],
  [
    'deleted content behind one clock',
    v2({ clients: uints(1), lefts: diffs(0), infos: Uint8Array.of(BEHIND | DELETED), lengths: uints(1), rest: structs(MANY) }),
  ],
  [
    'deleted content behind each other',
    v2({ clients: uints(2), lefts: diffs(1), infos: Uint8Array.of(BEHIND | DELETED), lengths: uints(1), rest: structs(MANY) }),
  ],
  [
    'deleted content before one clock',
    v2({ clients: uints(1), rights: diffs(0), infos: Uint8Array.of(BEFORE | DELETED), lengths: uints(1), rest: structs(MANY) }),
  ],
  [
    'children of one struct',
    v2({
      clients: uints(2),
      lefts: diffs(0),
      infos: Uint8Array.of(DELETED),
      parents: Uint8Array.of(0),
      lengths: uints(1),
      rest: structs(MANY),
    }),
  ],
  [
    'roots without a name',
    v2({
      clients: uints(1),
      infos: Uint8Array.of(DELETED),
      parents: Uint8Array.of(1),
      texts: textsOf('', uints(0)),
      lengths: uints(1),
      rest: structs(MANY),
    }),
  ],
  [
    'texts without a letter',
    v2({
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | STRING),
      texts: textsOf('', uints(0)),
      rest: structs(MANY),
    }),
  ],
  [
    'types',
    v2({ clients: uints(1), lefts: diffs(0), infos: Uint8Array.of(BEHIND | TYPE), typeRefs: uints(1), rest: structs(MANY) }),
  ],
  [
    'elements of one long name',
    v2({
      keyClocks: diffs(0),
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | TYPE),
      typeRefs: uints(3),
      texts: textsOf('x'.repeat(500), one(500)),
      rest: structs(MANY),
    }),
  ],
  [
    'elements of ever new names',
    v2({
      keyClocks: diffs(1),
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | TYPE),
      typeRefs: uints(3),
      texts: textsOf('', uints(0)),
      rest: structs(MANY),
    }),
  ],
  [
    'a list of JSON texts',
    v2({
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | JSON_LIST),
      texts: textsOf('', uints(0)),
      lengths: uints(MANY, 2),
      rest: structs(1),
    }),
  ],
];

const BROKEN: readonly (readonly [name: string, bomb: Uint8Array, reason: RegExp])[] = [
  [
    'a list of values that are not there',
    v2({ clients: uints(1), lefts: diffs(0), infos: Uint8Array.of(BEHIND | ANY), lengths: uints(MANY), rest: structs(MANY) }),
    /too early/,
  ],
  ['blocks that are not there', v2({ clients: uints(1), rest: numbers(MANY, 0) }), /more than its bytes/],
  ['deletions that are not there', v2({ rest: numbers(0, 1, 1, MANY) }), /more than its bytes/],
  ['clients of deletions that are not there', v2({ rest: numbers(0, MANY) }), /more than its bytes/],
  ['deletions beyond all numbers', v2({ rest: numbers(0, 1, 1, 2, Number.MAX_SAFE_INTEGER, 5, 1, 1) }), /out of range/],
  [
    'clocks beyond all numbers',
    v2({ clients: uints(1), lefts: diffs(2 ** 51), infos: Uint8Array.of(BEHIND | DELETED), lengths: uints(1), rest: structs(9) }),
    /out of range/,
  ],
  [
    'clocks below all numbers',
    v2({ clients: uints(1), lefts: diffs(-1), infos: Uint8Array.of(BEHIND | DELETED), lengths: uints(1), rest: structs(1) }),
    /out of range/,
  ],
  [
    'a text longer than all texts',
    v2({
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | STRING),
      texts: textsOf('ab', uints(MANY)),
      rest: structs(1),
    }),
    /a text in it ends too early/,
  ],
  ['texts that are not UTF-8', v2({ texts: Uint8Array.of(1, 0xff), rest: numbers(0, 0) }), /UTF-8/],
  [
    'a name before the first',
    v2({
      keyClocks: diffs(-1),
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | TYPE),
      typeRefs: uints(3),
      rest: structs(1),
    }),
    /a key in it/,
  ],
  [
    'content of no kind',
    v2({ clients: uints(1), lefts: diffs(0), infos: Uint8Array.of(BEHIND | 31), rest: structs(1) }),
    /unknown kind 31/,
  ],
  [
    'values nested without end',
    v2({
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | ANY),
      lengths: uints(1),
      rest: structs(1, ...Array(9_000).fill([LIST, 1]).flat()),
    }),
    /nested too deeply/,
  ],
  [
    'an embed nested without end',
    v2({
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | EMBED),
      rest: structs(1, ...Array(9_000).fill([LIST, 1]).flat()),
    }),
    /nested too deeply/,
  ],
  [
    'an embed of properties that are not there',
    v2({ clients: uints(1), lefts: diffs(0), infos: Uint8Array.of(BEHIND | EMBED), rest: structs(1, MAP, ...numbers(MANY)) }),
    /more than its bytes/,
  ],
  [
    'an embed that is a bigint',
    v2({
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | EMBED),
      rest: structs(1, 122, 0, 0, 0, 0, 0, 0, 0, 1, 0),
    }),
    /kind 122/,
  ],
  [
    'options of a document that are not there',
    v2({
      clients: uints(1),
      lefts: diffs(0),
      infos: Uint8Array.of(BEHIND | DOCUMENT),
      texts: textsOf('a', one(1)),
      rest: structs(1, MAP, ...numbers(MANY)),
    }),
    /more than its bytes/,
  ],
  ['more behind its end', v2({ rest: numbers(0, 0, 1) }), /bytes follow its end/],
  ['nothing but a beginning', Uint8Array.of(0, 0, 0), /too early/],
];

/** Embeds that are no shorter in V2 than what V1 may be; JSON would take some times as much. */
const LONG: readonly (readonly [name: string, embed: Uint8Array])[] = [
  ['nulls', bytes({ byte: LIST }, 8_000_000, new Uint8Array(8_000_000).fill(126))],
  [
    'empty lists',
    bytes(
      { byte: LIST },
      4_000_000,
      new Uint8Array(8_000_000).map((_, at) => (at % 2 === 0 ? LIST : 0)),
    ),
  ],
  [
    'empty texts',
    bytes(
      { byte: LIST },
      4_000_000,
      new Uint8Array(8_000_000).map((_, at) => (at % 2 === 0 ? 119 : 0)),
    ),
  ],
  ['bytes', bytes({ byte: 116 }, 8_000_000, new Uint8Array(8_000_000))],
];

/** What was read of columns and written while this ran. */
function workOf(run: () => void): number {
  let work = 0;
  const wrapped = [
    ...[UintColumn, DiffColumn, ByteColumn, TextColumn].map(({ prototype }) => [prototype, 'next'] as const),
    ...(['byte', 'varUint', 'text', 'copy'] as const).map((name) => [V1Writer.prototype, name] as const),
  ].map(([prototype, name]) => {
    const methods = prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    const original = methods[name]!;
    methods[name] = function counted(this: unknown, ...args: unknown[]) {
      work += 1;
      return original.apply(this, args);
    };
    return () => {
      methods[name] = original;
    };
  });
  try {
    run();
  } finally {
    for (const restore of wrapped) restore();
  }
  return work;
}

describe('[YD41] what a V2 update stands for is bounded by its bytes', () => {
  const limits = { ...YDOC_LIMITS, fromV2BytesMore: 4 * 1024 };

  test.each(ENDLESS)('%s without end are refused as soon as they are too many', (_, bomb) => {
    expect(bomb.length).toBeLessThan(600);
    const work = workOf(() => expect(() => fromV2(bomb, limits)).toThrow(refusal(/in V1 it would be longer/)));
    expect(work).toBeLessThan(5 * (limits.fromV2BytesMore + YDOC_LIMITS.fromV2BytesPerByte * bomb.length));
  });

  test.each(BROKEN)('%s: refused at once', (_, bomb, reason) => {
    const work = workOf(() => expect(() => fromV2(bomb)).toThrow(refusal(reason)));
    expect(work).toBeLessThan(100);
  });

  test.each(LONG)('an embed of millions of %s is refused before all of them are read', (_, embed) => {
    const reader = new ByteReader(embed);
    expect(() => anyToJson(reader, { nestingMax: 64, charactersMax: 60_000 })).toThrow(refusal(/too long for V1/));
    const isPassedOver = embed[0] === 116; // at the price of nothing
    if (!isPassedOver) expect(reader.at).toBeLessThan(10_000);
  });

  test('in V1 it may be as long as a frame of V1, whatever it is in V2', () => {
    const ydoc = new Y.Doc();
    const text = ydoc.getText('text');
    text.insert(0, 'a'.repeat(YDOC_LIMITS.fromV2BytesMax - 100));
    expect(fromV2(Y.encodeStateAsUpdateV2(ydoc)).messages).toBe(0);
    text.insert(0, 'b'.repeat(100));
    expect(() => fromV2(Y.encodeStateAsUpdateV2(ydoc))).toThrow(refusal(/longer than 8388608 bytes/));
  });

  test('what is refused has taken no more memory than the bound', () => {
    const [, bomb] = ENDLESS[0]!;
    expect(bomb.length).toBeLessThan(40);
    const before = process.memoryUsage().arrayBuffers;
    expect(() => fromV2(bomb)).toThrow(refusal(/in V1 it would be longer/));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * YDOC_LIMITS.fromV2BytesMore);
  });

  test('of a list of empty types, a few bytes in V2, what is beyond counts as messages', () => {
    const ydoc = new Y.Doc();
    ydoc.clientID = 2 ** 31;
    ydoc.getArray('list').push(Array.from({ length: 9_000 }, () => new Y.Map()));
    const update = Y.encodeStateAsUpdateV2(ydoc);
    expect(update.length).toBeLessThan(100);
    const { update: inV1, messages } = fromV2(update);
    expect(messages).toBe(Math.floor((inV1.length - update.length) / 8_192));
    expect(messages).toBeGreaterThan(5);
    ydoc.getText('text').insert(0, 'typed');
    expect(fromV2(Y.encodeStateAsUpdateV2(ydoc, Y.encodeStateVector(docOf(inV1)))).messages).toBe(0);
  });
});

describe('[YD2] a V2 update that is broken', () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed + 1))(
    'is refused by name, or becomes bytes of which the scan says what they are: chance %i',
    (seed) => {
      const chance = chanceOf(seed);
      const { ydoc, v2: sent } = writtenInBoth(1 + chance(1_000));
      for (let step = 0; step < 30; step += 1) edit(ydoc, chance);
      for (const update of [...sent, Y.encodeStateAsUpdateV2(ydoc)]) {
        for (let times = 0; times < 20; times += 1) {
          const broken = Uint8Array.from(update);
          for (let bytes = chance(3); bytes >= 0; bytes -= 1) broken[chance(broken.length)] = chance(256);
          const cut = broken.subarray(0, chance(4) === 0 ? chance(broken.length) : broken.length);
          try {
            scanUpdate(fromV2(cut, { ...YDOC_LIMITS, fromV2BytesMore: 4 * 1024 }).update, YDOC_LIMITS);
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
          }
        }
      }
    },
  );
});
