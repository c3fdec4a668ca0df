import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { AppError } from '../../../src/base/errors.ts';
import { readYdocJson } from '../../../src/room/ydoc/json.ts';
import { YDOC_LIMITS } from '../../../src/room/ydoc/limits.ts';
import { nestingOf } from '../../../src/room/ydoc/live.ts';
import {
  acceptUpdate,
  compactYdoc,
  decodeYdoc,
  emptyYdoc,
  encodeYdoc,
  factsOf,
  replayUpdate,
  snapshotHash,
  type Ydoc,
} from '../../../src/room/ydoc/ydoc.ts';
import { Dice } from '../../fuzz/dice.ts';
import {
  aClient,
  acceptAll,
  block,
  bytes,
  collected,
  docOf,
  entry,
  expectHeld,
  expectRefused,
  from,
  gap,
  hashOf,
  string,
  stringAfter,
  typing,
} from './builders.ts';

describe('[YD3] counts', () => {
  test('a declared count of structs allocates nothing: 7 bytes that cost Yjs 232 MB', () => {
    const bomb = bytes(1, 30_000_000, 1, 0);
    expect(bomb.length).toBe(7);
    const beforeBytes = process.memoryUsage().heapUsed;
    expectRefused(emptyYdoc(), bomb, /more than its bytes can hold/);
    expect(process.memoryUsage().heapUsed - beforeBytes).toBeLessThan(50_000_000);
  });

  test('a count is taken when the bytes can hold it, and refused when one is missing', () => {
    expect(acceptUpdate(emptyYdoc(), block(1, 0, collected(1), collected(1)), from('one')).changed).toBe(true);
    expectRefused(emptyYdoc(), bytes(1, 4, 1, 0, collected(1), collected(1), 0), /more than its bytes can hold/);
  });

  test.each([
    ['clients', bytes(2 ** 31, 0)],
    ['clients with deletions', bytes(0, 2 ** 31)],
    ['deletions', bytes(0, 1, 1, 2 ** 31)],
    ['values', block(1, 0, bytes(8, 1, 'list', 2 ** 31))],
    ['properties', block(1, 0, bytes(8, 1, 'list', 1, 118, 2 ** 31))],
    ['JSON texts', block(1, 0, bytes(2, 1, 'list', 2 ** 31))],
  ])('the same for %s', (_, bomb) => {
    expectRefused(emptyYdoc(), bomb, /more than its bytes can hold/);
  });
});

describe('[YD4] clocks', () => {
  const victim = 77;
  const attacker = { clientId: victim, session: 'attacker' };

  function typed(): Ydoc {
    const doc = emptyYdoc();
    acceptAll(doc, typing(victim, 'abc'), 'victim');
    return doc;
  }

  test("a collected struct cannot use up the victim's clocks: 10 bytes that made all later edits vanish", () => {
    const doc = typed();
    const bomb = block(victim, 3, collected(1_000_000));
    expect(bomb.length).toBeLessThanOrEqual(10);
    expectHeld(doc, bomb, attacker);
    expectHeld(doc, block(victim, 3, bytes(1, 1, 'text', 1_000_000)), attacker);
    acceptAll(doc, typing(victim, 'abcdef').slice(3), 'victim');
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'abcdef' });
  });

  test('up to the bound a stranger may, since people do hand on what was deleted meanwhile; the writer itself may go on', () => {
    expect(acceptUpdate(typed(), block(victim, 3, collected(YDOC_LIMITS.strangerAdvanceMax)), from('friend')).changed).toBe(true);
    expectHeld(typed(), block(victim, 3, collected(YDOC_LIMITS.strangerAdvanceMax + 1)), attacker);
    expect(acceptUpdate(typed(), block(victim, 3, collected(YDOC_LIMITS.strangerAdvanceMax + 1)), from('victim')).changed).toBe(
      true,
    );
    const gone = from('friend', (session) => session !== 'victim');
    expect(acceptUpdate(typed(), block(victim, 3, collected(YDOC_LIMITS.strangerAdvanceMax + 1)), gone).changed).toBe(true);
  });

  test('no clock beyond 2³¹: 12 bytes that set one to 2⁴⁰', () => {
    expectRefused(emptyYdoc(), block(1, 0, collected(2 ** 40)), /a clock in it is beyond/);
    expectRefused(emptyYdoc(), block(1, 2 ** 31, string('a')), /a clock in it is beyond/);
    expectRefused(emptyYdoc(), bytes(0, 1, 1, 1, 2 ** 31, 1), /a clock in it is beyond/);
    expectRefused(emptyYdoc(), block(1, 0, stringAfter(2, 2 ** 31, 'a')), /a clock in it is beyond/);
    expectRefused(emptyYdoc(), block(1, 0, collected(2 ** 31 + 1)), /a clock in it is beyond/, null);
    expect(acceptUpdate(emptyYdoc(), block(1, 0, collected(2 ** 31)), from(null)).changed).toBe(true);
  });

  test('deleted content of one message advances clocks by at most a million, over all clients', () => {
    const half = YDOC_LIMITS.deletedAdvanceMax / 2;
    const two = (second: number): Uint8Array => bytes(2, 1, 2, 0, collected(half), 1, 1, 0, collected(second), 0);
    expect(acceptUpdate(emptyYdoc(), two(half), from('one')).changed).toBe(true);
    expectRefused(emptyYdoc(), two(half + 1), /more than 1000000 clocks with deleted content/);
    expect(acceptUpdate(emptyYdoc(), two(half + 1), from(null)).changed).toBe(true);
  });

  test('content that takes bytes is not counted: a first sync may be large', () => {
    const update = block(1, 0, string('x'.repeat(YDOC_LIMITS.deletedAdvanceMax + 1)));
    expect(acceptUpdate(emptyYdoc(), update, from('one')).changed).toBe(true);
  });

  test('nothing begins, and nothing is deleted, further beyond what is known than the lead', () => {
    const lead = YDOC_LIMITS.clockLeadMax;
    expect(acceptUpdate(typed(), block(victim, 3 + lead, string('z')), from('victim')).changed).toBe(true);
    expectRefused(typed(), block(victim, 4 + lead, string('z')), /too far beyond what is known/, 'victim');
    expectRefused(typed(), block(victim, 3, string('d'), gap(lead + 1), string('z')), /too far beyond what is known/, 'victim');
    expect(acceptUpdate(typed(), bytes(0, 1, victim, 1, 0, 3 + lead), from('friend')).changed).toBe(true);
    expectRefused(typed(), bytes(0, 1, victim, 1, 0, 4 + lead), /deletes too far beyond/);
  });

  test('numbers that lib0 would read as NaN are refused', () => {
    const endless = new Uint8Array(200).fill(0x80);
    expectRefused(emptyYdoc(), bytes(1, 1, endless, 0), /out of range/);
    expectRefused(emptyYdoc(), block(1, 0, bytes(8, 1, 'list', 1, 125, endless)), /out of range/);
    expectRefused(
      emptyYdoc(),
      bytes(1, 1, Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 127), 0, collected(1), 0),
      /out of range/,
    );
  });
});

describe('[YD5] nesting', () => {
  function nested(depth: number): Uint8Array {
    const ydoc = new Y.Doc();
    ydoc.clientID = 9;
    ydoc.transact(() => {
      let map = ydoc.getMap<unknown>('map');
      for (let level = 0; level < depth; level += 1) {
        const next = new Y.Map<unknown>();
        map.set('in', next);
        map = next;
      }
    });
    return Y.encodeStateAsUpdate(ydoc);
  }

  function mapsIn(map: Y.Map<unknown>): Y.Map<unknown>[] {
    return [...map.values()].filter((value) => value instanceof Y.Map).flatMap((inner) => [inner, ...mapsIn(inner)]);
  }

  const deepestIn = (ydoc: Y.Doc): number => nestingOf(ydoc, 100);

  test('maps 8,000 deep are refused: they made toJSON throw for ever', () => {
    const doc = emptyYdoc();
    expectRefused(doc, nested(8_000), /nests types deeper than 64/);
    acceptAll(doc, typing(1, 'still here'));
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'still here' });
  });

  test('64 levels are taken and can be read, 65 are not', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, nested(64), from('one'));
    expect(JSON.stringify(readYdocJson(doc, { formatting: 'plain' })).match(/"in"/g)).toHaveLength(64);
    expectRefused(emptyYdoc(), nested(65), /nests types deeper than 64/);
  });

  test('level by level it is the same, and many types side by side are no depth', () => {
    const doc = emptyYdoc();
    const { ydoc, sent } = aClient(3);
    let map = ydoc.getMap<unknown>('map');
    for (let level = 0; level < 65; level += 1) {
      ydoc.getArray('flat').push([new Y.Text('beside'), new Y.Array()]);
      map.set('in', new Y.Map());
      map = map.get('in') as Y.Map<unknown>;
    }
    const last = sent.pop()!;
    acceptAll(doc, sent);
    expectRefused(doc, last, /nests types deeper than 64/, 'session');
  });

  test('measured piece by piece it is what it is measured at once, with refused updates in between and after a compaction', () => {
    const limits = { ...YDOC_LIMITS, nestingMax: 6 };
    const dice = new Dice(1);
    let refused = 0;
    for (let run = 0; run < 50; run += 1) {
      const doc = emptyYdoc();
      const clients = [aClient(1), aClient(2)];
      for (let step = 0; step < 60; step += 1) {
        const client = dice.pick(clients);
        const maps = [client.ydoc.getMap<unknown>('map'), ...mapsIn(client.ydoc.getMap('map'))];
        dice.pick(maps).set(`key ${dice.below(4)}`, new Y.Map());
        const update = client.sent.pop()!;
        if (deepestIn(client.ydoc) > limits.nestingMax) {
          expect(() => acceptUpdate(doc, update, from('one'), limits)).toThrow(/deeper than 6/);
          refused += 1;
          const [other] = clients.filter((one) => one !== client);
          other!.ydoc.getMap('map').set('still', new Y.Map());
          expect(acceptUpdate(doc, other!.sent.pop()!, from('one'), limits).changed).toBe(true);
          break; // what it types next builds on what was refused
        }
        acceptUpdate(doc, update, from('one'), limits);
        for (const other of clients) Y.applyUpdate(other.ydoc, update, 'remote');
        if (dice.chance(0.1)) compactYdoc(doc);
      }
    }
    expect(refused).toBeGreaterThan(10);
  });

  test('400 KB of nested values are refused without a stack overflow', () => {
    const levels = 200_000;
    const value = bytes(
      new Uint8Array(2 * levels).map((_, index) => (index % 2 === 0 ? 117 : 1)),
      126,
    );
    expectRefused(emptyYdoc(), block(1, 0, bytes(8, 1, 'list', 1, value)), /nested too deeply/);
  });

  test('values may nest to the bound', () => {
    const nest = (levels: number): Uint8Array => bytes(...Array.from({ length: levels }, () => [117, 1]).flat(), 126);
    expect(acceptUpdate(emptyYdoc(), block(1, 0, entry('key', nest(64))), from('one')).changed).toBe(true);
    expectRefused(emptyYdoc(), block(1, 0, entry('key', nest(65))), /nested too deeply/);
  });

  test('JSON in embeds and formats is bounded too', () => {
    const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
    expectRefused(emptyYdoc(), block(1, 0, bytes(5, 1, 'text', deep)), /nested deeper/);
    expectRefused(emptyYdoc(), block(1, 0, bytes(6, 1, 'text', 'bold', deep)), /nested deeper/);
  });
});

describe('[YD6] keys that reach a prototype', () => {
  const value = bytes(126);

  test.each([
    ['of a map', block(1, 0, entry('__proto__', value))],
    ['of a map, constructor', block(1, 0, entry('constructor', value))],
    ['of a map, prototype', block(1, 0, entry('prototype', value))],
    ['of a value', block(1, 0, entry('key', bytes(118, 1, '__proto__', 118, 0)))],
    ['of a value in a list', block(1, 0, bytes(8, 1, 'list', 1, 117, 1, 118, 1, '__proto__', 126))],
    ['of a root', block(1, 0, bytes(4, 1, '__proto__', 'text'))],
    ['of a format', block(1, 0, bytes(6, 1, 'text', '__proto__', 'true'))],
    ['of an embed', block(1, 0, bytes(5, 1, 'text', '{"__proto__":{}}'))],
    ['of an escaped embed', block(1, 0, bytes(5, 1, 'text', '{"__pro\\u0074o__":{}}'))],
    ['of old JSON content', block(1, 0, bytes(2, 1, 'list', 1, '{"__proto__":1}'))],
    ['of the options of a subdocument', block(1, 0, bytes(9, 1, 'list', 'guid', 118, 1, '__proto__', 126))],
  ])('are refused as a key %s', (_, update) => {
    expectRefused(emptyYdoc(), update, /the key "(__proto__|constructor|prototype)" is not allowed/);
  });

  test('and names that only look like them are taken', () => {
    expect(
      acceptUpdate(emptyYdoc(), block(1, 0, entry('__proto_a', value), entry('Constructor', value)), from('one')).changed,
    ).toBe(true);
  });
});

describe('[YD7] bytes that are no update', () => {
  const { ydoc } = aClient(5);
  ydoc.getText('text').insert(0, 'some text', { bold: true });
  ydoc.getMap('map').set('key', { a: [1, 2.5, 'three'] });
  const whole = Y.encodeStateAsUpdate(ydoc);

  test('cut anywhere, or followed by one byte more, it is refused', () => {
    for (let length = 0; length < whole.length; length += 1)
      expect(() => acceptUpdate(emptyYdoc(), whole.subarray(0, length), from('one'))).toThrow(AppError);
    expectRefused(emptyYdoc(), bytes(whole, { byte: 0 }), /bytes follow its end/);
    expect(acceptUpdate(emptyYdoc(), whole, from('one')).changed).toBe(true);
  });

  test('V2 is refused: the empty one, a whole document, and some twenty bytes that promise 2²⁸ structs', () => {
    expectRefused(emptyYdoc(), Y.encodeStateAsUpdateV2(new Y.Doc()), /V2/);
    expect(() => acceptUpdate(emptyYdoc(), Y.encodeStateAsUpdateV2(ydoc), from('one'))).toThrow(AppError);
    // In the manner of yjs#687: run-length decoders that repeat their last value for ever, and a count.
    const bomb = bytes(0, '', '\x01', '', '', '\0', '\0', '', '', '\x01', 1, 2 ** 28, 0, 0);
    expect(bomb.length).toBeLessThan(27);
    const startedMs = performance.now();
    expect(() => acceptUpdate(emptyYdoc(), bomb, from('one'))).toThrow(AppError);
    expect(performance.now() - startedMs).toBeLessThan(50);
  });

  test.each([
    ['an empty struct', block(1, 0, string('')), /empty struct/],
    ['an empty collected struct', block(1, 0, collected(0)), /empty struct/],
    ['an empty gap', block(1, 0, gap(0)), /empty struct/],
    ['a client twice', bytes(2, 1, 1, 0, collected(1), 1, 1, 1, collected(1), 0), /client 1 twice/],
    ['content of an unknown kind', block(1, 0, bytes(11, 1, 'text', 1)), /unknown kind 11/],
    ['a gap with a place', block(1, 0, bytes({ byte: 10 | 0x80 }, 1, 0, 1)), /unknown kind|own future/],
    ['a type of an unknown kind', block(1, 0, bytes(7, 1, 'list', 7)), /type of the unknown kind 7/],
    ['a value of an unknown kind', block(1, 0, entry('key', bytes(115))), /value of the unknown kind 115/],
    ['a value of an unknown kind above', block(1, 0, entry('key', bytes({ byte: 128 }))), /value of the unknown kind 128/],
    ['a parent that is neither', block(1, 0, bytes(4, 2, 'text', 'a')), /no parent/],
    ['its own future as origin', block(1, 3, stringAfter(1, 3, 'a')), /own future/],
    ['its own future as parent', block(1, 3, bytes(4, 0, 1, 3, 'a')), /own future/],
    ['text that is not UTF-8', block(1, 0, bytes(4, 1, 'text', 1, { byte: 0xff })), /not UTF-8/],
    ['half a surrogate pair', block(1, 0, bytes(4, 1, 'text', 3, Uint8Array.of(0xed, 0xa0, 0x80))), /not UTF-8/],
    ['an overlong letter', block(1, 0, bytes(4, 1, 'text', 2, Uint8Array.of(0xc0, 0x80))), /not UTF-8/],
    ['JSON that is none', block(1, 0, bytes(5, 1, 'text', '{')), /not JSON/],
    ['a subdocument without options', block(1, 0, bytes(9, 1, 'list', 'guid', 126)), /options of a subdocument/],
    ['a subdocument whose guid is overwritten', block(1, 0, bytes(9, 1, 'list', 'guid', 118, 1, 'guid', 126)), /not allowed/],
    ['an entry of several values', block(1, 0, bytes(4 | 0x20, 1, 'map', 'key', 'abc')), /several values/],
  ])('%s is refused', (_, update, reason) => {
    expectRefused(emptyYdoc(), update, reason);
  });

  test('an update or a document beyond its bytes is refused by name', () => {
    const limits = { ...YDOC_LIMITS, updateBytesMax: whole.length, documentBytesMax: whole.length + 2 };
    expect(acceptUpdate(emptyYdoc(), whole, from('one'), limits).changed).toBe(true);
    expect(() => acceptUpdate(emptyYdoc(), whole, from('one'), { ...limits, updateBytesMax: whole.length - 1 })).toThrow(
      /update is larger than/,
    );
    expect(() => acceptUpdate(emptyYdoc(), whole, from('one'), { ...limits, documentBytesMax: whole.length + 1 })).toThrow(
      /document with this update is larger/,
    );
  });
});

describe('[YD22] deleted ranges without length', () => {
  const EMPTY_FAR_AWAY = bytes(0, 1, 7, 1, 50, 0);
  const BETWEEN_OTHERS = bytes(0, 1, 2, 3, 0, 1, 40, 0, 2, 1);
  const aText = (): Ydoc => {
    const doc = emptyYdoc();
    acceptAll(doc, typing(2, 'text'));
    return doc;
  };

  test('make Yjs throw for ever', () => {
    expect(() => Y.applyUpdate(new Y.Doc(), EMPTY_FAR_AWAY)).toThrow('Unexpected case');
  });

  test('say nothing, and are not handed on with what says something', () => {
    const doc = aText();
    expect(acceptUpdate(doc, EMPTY_FAR_AWAY, from('attacker'))).toEqual({ changed: false, journal: null });
    expect(Buffer.from(acceptUpdate(doc, BETWEEN_OTHERS, from('attacker')).journal!)).toEqual(
      Buffer.from([0, 1, 2, 2, 0, 1, 2, 1]),
    );
    expect(readYdocJson(decodeYdoc(encodeYdoc(doc)), { formatting: 'plain' })).toEqual({ text: 'et' });
  });

  test('a journal that has them can be read', () => {
    const doc = aText();
    for (const update of [EMPTY_FAR_AWAY, BETWEEN_OTHERS]) replayUpdate(doc, update);
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ text: 'et' });
  });
});

describe('[YD23] values that follow each other', () => {
  test('50,000 that nobody joined, which took all of a heap of 4 GB, are joined', () => {
    const doc = emptyYdoc();
    const behind = (_: unknown, index: number): Uint8Array => bytes({ byte: 8 | 0x80 }, 9, index, 1, 126);
    acceptUpdate(doc, block(9, 0, bytes(8, 1, 'list', 1, 126), ...Array.from({ length: 49_999 }, behind)), from('one'));
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ list: Array.from({ length: 50_000 }, () => null) });
    expect(encodeYdoc(doc).length).toBeLessThan(51_000);
  });

  test('pushed one by one, and split again by what others put between, are what Yjs has', () => {
    const { ydoc, sent } = aClient(9);
    const list = ydoc.getArray<number>('list');
    for (let value = 0; value < 8_000; value += 1) list.push([value]);
    const other = aClient(10);
    Y.applyUpdate(other.ydoc, Y.encodeStateAsUpdate(ydoc), 'remote');
    for (let at = 100; at < 8_000; at += 1_000) other.ydoc.getArray<number>('list').insert(at, [-at, -at]);
    other.ydoc.getArray('list').delete(2_000, 3_000);
    const doc = emptyYdoc();
    acceptAll(doc, [...sent, ...other.sent]);
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ list: other.ydoc.getArray('list').toJSON() });
    expect(snapshotHash(doc)).toBe(hashOf(other.ydoc));
    expect(docOf(encodeYdoc(doc)).getArray('list').toJSON()).toEqual(other.ydoc.getArray('list').toJSON());
  });

  test('a list of 100,000 of which each fourth is deleted by one update, which took Yjs 16 seconds, is what is left', () => {
    const ydoc = new Y.Doc();
    ydoc.clientID = 9;
    ydoc.getArray('list').push(Array.from({ length: 100_000 }, (_, value) => value));
    const ranges = Array.from({ length: 25_000 }, (_, range) => bytes(4 * range, 1));
    const doc = emptyYdoc();
    acceptAll(doc, [Y.encodeStateAsUpdate(ydoc), bytes(0, 1, 9, ranges.length, Buffer.concat(ranges))]);
    const left = Array.from({ length: 100_000 }, (_, value) => value).filter((value) => value % 4 !== 0);
    for (const each of [doc, decodeYdoc(encodeYdoc(doc))])
      expect(readYdocJson(each, { formatting: 'plain' })).toEqual({ list: left });
  });

  test('JSON values of older Yjs are joined the same', () => {
    const doc = emptyYdoc();
    const behind = (_: unknown, index: number): Uint8Array => bytes({ byte: 2 | 0x80 }, 9, index, 1, String(index + 1));
    acceptUpdate(doc, block(9, 0, bytes(2, 1, 'list', 1, '0'), ...Array.from({ length: 999 }, behind)), from('one'));
    expect(readYdocJson(doc, { formatting: 'plain' })).toEqual({ list: Array.from({ length: 1_000 }, (_, value) => value) });
  });
});

describe('[YD24] documents within a document', () => {
  const limits = { ...YDOC_LIMITS, documentsMax: 3 };
  const add = (ydoc: Y.Doc, key: string): void => void ydoc.getMap('map').set(key, new Y.Doc({ guid: key }));

  test('are taken up to the bound, and again when one is deleted, however the document was stored', () => {
    const { ydoc, sent } = aClient(9);
    let doc = emptyYdoc();
    const send = (): unknown => acceptUpdate(doc, sent.pop()!, from('one'), limits);
    for (const key of ['a', 'b', 'c']) {
      add(ydoc, key);
      send();
    }
    for (const again of [doc, decodeYdoc(encodeYdoc(doc)), decodeYdoc(encodeYdoc(doc), factsOf(doc))]) {
      doc = again;
      const { ydoc: other, sent: others } = aClient(10);
      add(other, 'd');
      expect(() => acceptUpdate(doc, others[0]!, from('other'), limits)).toThrow(/holds at most 3 others/);
    }
    acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc, bytes(0)), from('one'), limits);
    ydoc.getMap('map').delete('a');
    send();
    add(ydoc, 'd');
    acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from('one'), limits); // all of it once more, and one that is new
    expect([snapshotHash(doc), doc.documents]).toEqual([hashOf(ydoc), 3]);
  });

  test('more than may be are refused without being made', () => {
    const { ydoc } = aClient(9);
    for (const key of ['a', 'b', 'c', 'd']) add(ydoc, key);
    const doc = emptyYdoc();
    expect(() => acceptUpdate(doc, Y.encodeStateAsUpdate(ydoc), from('one'), limits)).toThrow(/holds at most 3 others/);
    expect(doc.live).toBeNull();
  });

  test('10,000 can be deleted at once, which overflowed the stack for ever', () => {
    const struct = (index: number): Uint8Array =>
      index === 0 ? bytes(9, 1, 'list', 0, 118, 0) : bytes({ byte: 9 | 0x80 }, 9, index - 1, 0, 118, 0);
    const doc = emptyYdoc();
    acceptUpdate(doc, block(9, 0, ...Array.from({ length: 10_000 }, (_, index) => struct(index))), from('one'));
    expect(readYdocJson(doc, { formatting: 'plain' })).toMatchObject({ list: { length: 10_000 } });
    acceptUpdate(doc, bytes(0, 1, 9, 1, 0, 10_000), from('one'));
    expect(docOf(encodeYdoc(doc)).getArray('list').length).toBe(0);
    expect([doc.documents, decodeYdoc(encodeYdoc(doc)).documents]).toEqual([0, 0]);
  });
});

describe('[YD25] roots', () => {
  const limits = { ...YDOC_LIMITS, rootsMax: 3 };
  const root = (client: number, ...names: string[]): Uint8Array =>
    bytes(1, names.length, client, 0, Buffer.concat(names.map((name) => bytes(4, 1, name, 'x'))), 0);

  test('are taken up to the bound, however the document was stored; those that are there may be written to', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, root(1, 'a', 'b', 'a'), from('one'), limits);
    acceptUpdate(doc, root(2, 'c', 'b'), from('one'), limits);
    const stored = [decodeYdoc(encodeYdoc(doc)), decodeYdoc(encodeYdoc(doc), factsOf(doc))];
    for (const [index, each] of [doc, ...stored].entries()) {
      expect(() => acceptUpdate(each, root(30 + index, 'a', 'd'), from('other'), limits)).toThrow(/at most 3 roots/);
      acceptUpdate(each, root(50 + index, 'a', 'b', 'c'), from('other'), limits);
    }
  });

  test('50,000 of one item each, among which Yjs looked for eight seconds whenever it wrote them, are refused', () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `r${index}`);
    expectRefused(emptyYdoc(), root(1, ...names), /at most 5000 roots/);
  });
});

describe('[YD26] items', () => {
  const limits = { ...YDOC_LIMITS, itemsMax: 20 };
  /** One behind the other: lists are not joined unless they are deleted. */
  const lists = (client: number, count: number): Uint8Array =>
    block(client, 0, ...Array.from({ length: count }, (_, index) => listBehind(client, index)));
  const listBehind = (client: number, clock: number): Uint8Array =>
    clock === 0 ? bytes(7, 1, 'list', 0) : bytes({ byte: 7 | 0x80 }, client, clock - 1, 0);

  test('are taken up to the bound, however the document was stored, and counted as Yjs keeps them', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, lists(1, 15), from('one'), limits);
    const text = new Y.Doc();
    text.clientID = 2;
    text.on('update', (update) => acceptUpdate(doc, update, from('other'), limits));
    for (let count = 0; count < 100; count += 1) text.getText('text').insert(count, 'a'); // one item in the end
    const stored = [decodeYdoc(encodeYdoc(doc)), decodeYdoc(encodeYdoc(doc), factsOf(doc))];
    for (const each of [doc, ...stored]) {
      expect(() => acceptUpdate(each, lists(3, 5), from('third'), limits)).toThrow(/at most 20 items/);
      acceptUpdate(each, lists(3, 4), from('third'), limits);
    }
  });

  test('of a document that is full can be sent again, and deleted', () => {
    const doc = emptyYdoc();
    acceptUpdate(doc, lists(1, 20), from('one'), limits);
    expect(acceptUpdate(doc, lists(1, 20), from('other'), limits).changed).toBe(false);
    acceptUpdate(doc, bytes(0, 1, 1, 1, 0, 20), from('one'), limits);
    acceptUpdate(doc, lists(2, 19), from('other'), limits); // what was deleted is one by now
    expect(docOf(encodeYdoc(doc)).getArray('list').length).toBe(19);
  });
});
