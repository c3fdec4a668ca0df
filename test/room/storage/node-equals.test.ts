import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { applyOps } from '../../../src/room/storage/apply.ts';
import { jsonEquals } from '../../../src/room/storage/json-equals.ts';
import { opsFromLson } from '../../../src/room/storage/lson.ts';
import { nodeEquals } from '../../../src/room/storage/node-equals.ts';
import { SortedKeys } from '../../../src/room/storage/sorted-keys.ts';
import { emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { toJson } from '../../support/storage-documents.ts';
import { FILE, newIds } from './ops.ts';

const node = (liveblocksType: string, data: Json): Json => ({ liveblocksType, data });

const { lson } = fc.letrec<{ lson: Json }>((tie) => {
  const members = fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('lson'), { maxKeys: 2, noNullPrototype: true });
  const items = fc.array(tie('lson'), { maxLength: 2 });
  return {
    lson: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(1, 'x', null, [1], { a: 1 }, node('LiveText', 'x'), node('LiveText', ''), node('LiveFile', FILE)),
      members.map((data) => node('LiveObject', data)),
      members.map((data) => node('LiveMap', data)),
      items.map((data) => node('LiveList', data)),
    ),
  };
});
const aStorage = fc
  .dictionary(fc.constantFrom('a', 'b'), lson, { noNullPrototype: true })
  .map((data) => storageFrom(node('LiveObject', data)));

function storageFrom(document: Json): Storage {
  const storage = emptyStorage();
  applyOps(storage, opsFromLson(document, newIds()), { actor: 900 });
  return storage;
}

describe('a node beside a JSON value', () => {
  test('[CB11] equals it when what is written of the node does', () => {
    fc.assert(
      fc.property(aStorage, aStorage, (one, other) => {
        const json = toJson(one);
        expect(nodeEquals(one.root, json)).toBe(true);
        expect(nodeEquals(other.root, json)).toBe(jsonEquals(toJson(other), json));
        for (const value of [[], {}, null, 'x', { ...json, d: 1 }, { ...json, a: 0 }])
          expect(nodeEquals(one.root, value)).toBe(jsonEquals(json, value));
      }),
      { numRuns: 300 },
    );
  });

  test('[CB11] is not read when its size says already that it is another one', () => {
    const storage = storageFrom(node('LiveObject', { list: node('LiveList', [1, 2, 3]) }));
    const whole = vi.spyOn(SortedKeys.prototype, 'toArray');
    expect(nodeEquals(storage.root, { list: [1, 2] })).toBe(false);
    expect(whole).not.toHaveBeenCalled();
    expect(nodeEquals(storage.root, { list: [1, 2, 3] })).toBe(true);
    whole.mockRestore();
  });
});
