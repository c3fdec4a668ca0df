import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import type { Op } from '../../../src/protocol/storage-ops.ts';
import { compileSchema } from '../../../src/room/schema/compile.ts';
import { matchChanges, matchStorage } from '../../../src/room/schema/match.ts';
import type { Mismatch } from '../../../src/room/schema/mismatch.ts';
import { applyOps } from '../../../src/room/storage/apply.ts';
import { applyJsonPatch, type PatchOperation } from '../../../src/room/storage/patch.ts';
import { atomically, type Change, emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { compactNodes } from '../../support/storage-documents.ts';
import {
  createList,
  createMap,
  createObject,
  createRegister,
  createText,
  deleteKey,
  deleteNode,
  moveItem,
  newIds,
  storageOf,
  updateObject,
  updateText,
} from '../storage/ops.ts';

const SCHEMA = compileSchema(`
  type Storage { a?: B | LiveObject<A>, b?: LiveList<B> | null, c?: LiveMap<string, LiveObject<A>>, d?: LiveList<LiveList<string>> }
  type A { a?: string, b: number | LiveList<LiveObject<A>>, c?: LiveText | null }
  type B { a: string, b?: string[] }`);

/** A Storage that matches, with every live type of the schema in it. */
function furnished(): Storage {
  const storage = storageOf(
    createObject('1:0', '1:0', 'root', 'a', { a: 'x' }),
    createList('1:1', '1:1', '1:0', 'b'),
    createObject('1:2', '1:2', '1:1', '!', { b: 1, c: null }),
    createList('1:3', '1:3', 'root', 'b'),
    createRegister('1:4', '1:4', '1:3', '!', { a: 'x' }),
    createMap('1:5', '1:5', 'root', 'c'),
    createObject('1:6', '1:6', '1:5', 'k', { b: 2 }),
    createText('1:7', '1:7', '1:6', 'c', [['x']]),
    createList('1:8', '1:8', 'root', 'd'),
    createList('1:9', '1:9', '1:8', '!'),
    createRegister('1:10', '1:10', '1:9', '!', 'x'),
  );
  expect(matchStorage(SCHEMA, storage)).toBeNull();
  return storage;
}

/** The changes as `matchChanges` sees them, and what the whole check says at the same moment; then kept or taken back. */
function tryOut(storage: Storage, work: () => void): { bySlots: Mismatch | null; whole: Mismatch | null } {
  let found: { bySlots: Mismatch | null; whole: Mismatch | null } = { bySlots: null, whole: null };
  atomically(storage, (changes) => {
    work();
    found = { bySlots: matchChanges(SCHEMA, storage, slotsOf(changes)), whole: matchStorage(SCHEMA, storage) };
    return found.whole === null ? undefined : 'take back';
  });
  return found;
}

const slotsOf = (changes: readonly Change[]) => changes.flatMap(({ slot }) => (slot === null ? [] : [slot]));
const nodesOf = (storage: Storage) => Object.fromEntries(compactNodes(storage).map((node) => [node[0], node]));

const node = fc.constantFrom('root', ...Array.from({ length: 12 }, (_, at) => `1:${at}`));
const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const plain: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
  1,
  'x',
  null,
  [],
  ['x'],
  { a: 'x' },
  { a: 'x', b: ['y'] },
  { b: 1 },
  { b: 'x' },
);
const data = fc.dictionary(key, plain, { maxKeys: 3, noNullPrototype: true });
/** Draws op ids and new node ids from small sets, so that ops meet. */
const anOp: fc.Arbitrary<Op> = fc.oneof(
  fc.tuple(node, node, key, data).map(([id, parent, at, content]) => createObject('1:0', made(id), parent, at, content)),
  fc.tuple(node, node, key).map(([id, parent, at]) => createList('1:0', made(id), parent, at)),
  fc.tuple(node, node, key).map(([id, parent, at]) => createMap('1:0', made(id), parent, at)),
  fc.tuple(node, node, key, plain).map(([id, parent, at, value]) => createRegister('1:0', made(id), parent, at, value)),
  fc.tuple(node, node, key).map(([id, parent, at]) => createText('1:0', made(id), parent, at, [['x']])),
  fc.tuple(node, data).map(([id, content]) => updateObject('1:0', id, content)),
  fc.tuple(node, key).map(([id, at]) => deleteKey('1:0', id, at)),
  node.map((id) => deleteNode('1:0', id)),
  fc.tuple(node, key).map(([id, at]) => moveItem('1:0', id, at)),
  node.map((id) => updateText('1:0', id, 0, [{ type: 'insert', index: 0, text: 'y' }])),
);
const made = (id: string) => (id === 'root' ? '1:12' : id);

test('[SC26] asked of the changes alone, the answer is that of the whole document, for any ops; what is refused leaves no trace', () => {
  let refusals = 0;
  let acceptances = 0;
  fc.assert(
    fc.property(fc.array(fc.array(anOp, { minLength: 1, maxLength: 5 }), { maxLength: 25 }), (messages) => {
      const storage = furnished();
      for (const ops of messages) {
        const before = nodesOf(storage);
        const { bySlots, whole } = tryOut(storage, () => void applyOps(storage, ops, { actor: 1 }));
        expect(bySlots === null).toBe(whole === null);
        if (whole !== null) expect(nodesOf(storage)).toEqual(before);
        if (whole === null) acceptances += 1;
        else refusals += 1;
      }
    }),
    { numRuns: 1_500 },
  );
  expect(refusals).toBeGreaterThan(1_000); // both answers came often enough to mean something
  expect(acceptances).toBeGreaterThan(1_000);
});

test('[SC27] the same within a JSON Patch, which takes back its own part first', () => {
  const path = fc
    .array(fc.constantFrom('a', 'b', 'c', 'd', '0', '-'), { minLength: 1, maxLength: 3 })
    .map((keys) => `/${keys.join('/')}`);
  const value = fc.oneof(plain, fc.constantFrom<Json[]>([[['x']]], [{ a: 'x' }], { b: [{ b: 2 }] }));
  const operation: fc.Arbitrary<PatchOperation> = fc.oneof(
    fc.record({ op: fc.constant('add' as const), path, value }),
    fc.record({ op: fc.constant('replace' as const), path, value }),
    fc.record({ op: fc.constant('remove' as const), path }),
    fc.record({ op: fc.constant('move' as const), from: path, path }),
    fc.record({ op: fc.constant('copy' as const), from: path, path }),
  );
  fc.assert(
    fc.property(fc.array(fc.array(operation, { minLength: 1, maxLength: 3 }), { maxLength: 20 }), (patches) => {
      const storage = furnished();
      const ids = newIds();
      for (const patch of patches) {
        const before = nodesOf(storage);
        let outcome: ReturnType<typeof tryOut> | null = null;
        try {
          outcome = tryOut(storage, () => void applyJsonPatch(storage, { operations: patch }, ids));
        } catch {
          // a patch that fails by itself
        }
        if (outcome !== null) expect(outcome.bySlots === null).toBe(outcome.whole === null);
        if (outcome?.whole !== null) expect(nodesOf(storage)).toEqual(before);
        expect(storage.changes).toBeNull();
      }
    }),
    { numRuns: 1_500 },
  );
});

test('[SC28] taking away what must be there is told apart from never bringing it', () => {
  const schema = compileSchema('type Storage { a?: LiveObject<A> } type A { b: string }');
  const storage = emptyStorage();
  const reasons = (ops: Op[]) => {
    let mismatch: Mismatch | null = null;
    atomically(storage, (changes) => {
      applyOps(storage, ops, { actor: 1 });
      mismatch = matchChanges(schema, storage, slotsOf(changes));
      return mismatch === null ? undefined : 'take back';
    });
    return mismatch as Mismatch | null;
  };
  expect(reasons([createObject('1:0', '1:0', 'root', 'a')])).toMatchObject({ problem: 'missing', pointer: '/a/b' });
  expect(reasons([createObject('1:1', '1:1', 'root', 'a'), updateObject('1:2', '1:1', { b: 'x' })])).toBeNull();
  expect(reasons([deleteKey('1:3', '1:1', 'b')])).toMatchObject({
    problem: 'not optional',
    reason: 'the property "b" of A is not optional',
    pointer: '/a/b',
  });
  expect(reasons([deleteKey('1:4', '1:1', 'b'), updateObject('1:5', '1:1', { b: 'y' })])).toBeNull();
  expect(reasons([deleteKey('1:6', 'root', 'a')])).toBeNull();
});
