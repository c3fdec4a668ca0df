import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { OP } from '../../../src/protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX } from '../../../src/protocol/storage-values.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import {
  FEW_MAX,
  isWithoutValues,
  plainEntries,
  plainValue,
  plainValuesOf,
  withPlainValue,
} from '../../../src/room/storage/plain-values.ts';
import { isEmptyStorage } from '../../../src/room/storage/tree.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { toJson } from '../../support/storage-documents.ts';
import { createObject, deleteKey, send, storageOf, updateObject } from './ops.ts';

/** Members of `Object.prototype` that Storage may hold as keys. */
const KNOWN_KEYS = ['toString', 'valueOf', 'hasOwnProperty', '__defineGetter__'];

describe.each(KNOWN_KEYS)('the key %s of an object', (key) => {
  test('[ST34] is absent until it is set, and after it is deleted', () => {
    const storage = storageOf(createObject('1:0', '1:0', 'root', 'o'));
    expect(toJson(storage)).toEqual({ o: {} });
    expect(send(storage, updateObject('2:0', '1:0', { [key]: 1 })).forwards).toEqual([
      { type: OP.UPDATE_OBJECT, id: '1:0', data: { [key]: 1 } },
    ]);
    const loaded = loadStorage(dumpStorage(storage));
    expect(toJson(loaded)).toEqual({ o: { [key]: 1 } });
    send(loaded, deleteKey('2:1', '1:0', key));
    expect(toJson(loaded)).toEqual({ o: {} });
  });

  test('[ST34] is not found by a patch where nobody set it, nor after one that was taken back', () => {
    const room = aRoom('ann');
    say(room, { type: 'storage.change', from: id('ann'), ops: [updateObject('1:0', 'root', { a: 1 })] });
    const patch = (...operations: object[]) => say(room, { type: 'storage.patch', operations: operations as never });
    expect(() => patch({ op: 'replace', path: `/${key}`, value: 1 })).toThrow('does not exist');
    expect(() => patch({ op: 'add', path: `/${key}`, value: 1 }, { op: 'test', path: '/a', value: 2 })).toThrow('/a');
    expect(() => patch({ op: 'remove', path: `/${key}` })).toThrow('does not exist');
  });
});

test('[ST34] nor does it make an empty Storage a full one', () => {
  const storage = storageOf(updateObject('1:0', 'root', { toString: 1 }), deleteKey('1:1', 'root', 'toString'));
  expect(isEmptyStorage(storage)).toBe(true);
});

test('[ST35] what an op said does not change with what it made', () => {
  const create = createObject('1:0', '1:0', 'root', 'o', { a: 1 });
  const storage = storageOf(create);
  send(storage, updateObject('2:0', '1:0', { a: 2, b: 3 }), deleteKey('2:1', '1:0', 'a'));
  expect(create).toHaveProperty('data', { a: 1 });
  expect(toJson(storage)).toEqual({ o: { b: 3 } });
});

test('[ST34] is told as absent to whose change is taken back', () => {
  const storage = storageOf(createObject('1:0', '1:0', 'root', 'o'));
  const tooLarge = 'x'.repeat(VALUE_CHARACTERS_MAX);
  expect(send(storage, updateObject('2:0', '1:0', { toString: tooLarge })).replies.slice(1)).toEqual([
    { type: OP.DELETE_OBJECT_KEY, id: '1:0', key: 'toString' },
  ]);
});

describe('plain values', () => {
  const names = fc.integer({ min: 0, max: 2 * FEW_MAX }).map((number) => `k${number}`);
  /** Numbers are rare: one makes a map of all, and then no object would be seen. */
  const anyKeys = fc.oneof(
    { arbitrary: fc.constantFrom(...KNOWN_KEYS), weight: 10 },
    { arbitrary: fc.integer({ min: 0, max: 2_000 }).map(String), weight: 1 },
    { arbitrary: names, weight: 10 },
    { arbitrary: fc.constant(''), weight: 1 },
  );
  const rarely = fc.option(fc.integer(), { nil: undefined, freq: 9 });

  test.each([
    ['of any keys', anyKeys],
    ['of names alone', names],
  ])('[ST36] hold what was set last, and in that order: %s', (_, keys) => {
    const seen = { objects: 0, maps: 0 };
    fc.assert(
      fc.property(
        fc.dictionary(keys, fc.integer()),
        fc.array(fc.tuple(keys, rarely), { maxLength: 60, size: 'max' }),
        (data, changes) => {
          const expected = new Map<string, Json>(Object.entries(data));
          let values = plainValuesOf(data);
          for (const [name, value] of changes) {
            values = withPlainValue(values, name, value);
            if (value === undefined) expected.delete(name);
            else expected.set(name, value);
            expect(plainValue(values, name)).toBe(value);
          }
          expect([...plainEntries(values)]).toEqual([...expected]);
          expect(isWithoutValues(values)).toBe(expected.size === 0);
          seen[values instanceof Map ? 'maps' : 'objects'] += 1;
        },
      ),
    );
    expect(Math.min(seen.objects, seen.maps)).toBeGreaterThan(0);
  });

  const members = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));

  test.each([
    ['few names', plainValuesOf(members(FEW_MAX)), false],
    ['few names that came one by one', withPlainValue(plainValuesOf(members(FEW_MAX - 1)), 'last', 1), false],
    ['few names of which one went', withPlainValue(plainValuesOf(members(FEW_MAX)), 'k0', undefined), false],
    ['many names', plainValuesOf(members(FEW_MAX + 1)), true],
    ['many names that came one by one', withPlainValue(plainValuesOf(members(FEW_MAX)), 'last', 1), true],
    ['a number among those of an op', plainValuesOf({ 1000: true }), true],
    ['a number that came later', withPlainValue(plainValuesOf({ a: 1 }), '300', true), true],
  ])('[ST36] are a map where an object would take more: %s', (_, values, isMap) => {
    expect(values instanceof Map).toBe(isMap);
  });
});
