import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { checkOps, type Op } from '../../../src/protocol/storage-ops.ts';
import { applyOps, replayOps } from '../../../src/room/storage/apply.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import { positionsOf } from '../../../src/room/storage/nodes.ts';
import { plainValue } from '../../../src/room/storage/plain-values.ts';
import { emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { compactNodes } from '../../support/storage-documents.ts';
import { textOperations } from './arbitraries.ts';
import {
  createList,
  createMap,
  createObject,
  createRegister,
  createText,
  deleteKey,
  deleteNode,
  moveItem,
  updateObject,
  updateText,
} from './ops.ts';

/** Few ids, keys and positions, so that ops hit each other, come twice, and bring deleted nodes back. */
const id = fc.nat(9).map((n) => `1:${n}`);
const target = fc.oneof({ weight: 3, arbitrary: id }, { weight: 1, arbitrary: fc.constant('root') });
const key = fc.constantFrom('a', 'b', '!', '!!', '"', '! O');
const value = fc.constantFrom<Json[]>(null, false, 0, 'x', [1, { a: [] }], { a: { b: 'c' } });
const intent = fc.constantFrom({}, {}, { intent: 'push' as const }, { intent: 'set' as const });

const anOp: fc.Arbitrary<(opId: string) => Op> = fc.oneof(
  fc.tuple(id, target, key).map(
    ([...place]) =>
      (opId: string) =>
        createObject(opId, ...place, { x: 1 }),
  ),
  fc.tuple(id, target, key).map(
    ([...place]) =>
      (opId: string) =>
        createList(opId, ...place),
  ),
  fc.tuple(id, target, key).map(
    ([...place]) =>
      (opId: string) =>
        createMap(opId, ...place),
  ),
  fc.tuple(id, target, key, value, intent).map(
    ([...all]) =>
      (opId: string) =>
        createRegister(opId, ...all),
  ),
  fc.tuple(id, target, key, id).map(
    ([node, parent, at, deletedId]) =>
      (opId: string) =>
        createRegister(opId, node, parent, at, 1, { intent: 'set', deletedId }),
  ),
  fc.tuple(id, target, key).map(
    ([...place]) =>
      (opId: string) =>
        createText(opId, ...place, [['ab'], ['c', { b: true }]]),
  ),
  fc.tuple(target, fc.dictionary(key, value, { maxKeys: 2, noNullPrototype: true })).map(
    ([node, data]) =>
      (opId: string) =>
        updateObject(opId, node, data),
  ),
  fc.tuple(target, key).map(
    ([node, at]) =>
      (opId: string) =>
        deleteKey(opId, node, at),
  ),
  id.map((node) => (opId: string) => deleteNode(opId, node)),
  fc.tuple(id, key).map(
    ([node, at]) =>
      (opId: string) =>
        moveItem(opId, node, at),
  ),
  fc.tuple(fc.constantFrom('1:3', '1:3', '1:6'), fc.nat(4), textOperations(5)).map(
    ([node, base, operations]) =>
      (opId: string) =>
        updateText(opId, node, base, operations),
  ),
);
const furniture = [
  createList('9:0', '1:0', 'root', 'list'),
  createMap('9:1', '1:1', 'root', 'map'),
  createObject('9:2', '1:2', 'root', 'object'),
  createText('9:3', '1:3', 'root', 'text', [['ab'], ['c', { b: true }]]),
  createRegister('9:4', '1:4', '1:0', '!', 'first'),
  createRegister('9:5', '1:5', '1:0', '!!', 'second'),
];
/** Op ids come twice now and then. */
const someOps = fc
  .array(fc.tuple(anOp, fc.nat(60)), { minLength: 1, maxLength: 80, size: 'max' })
  .map((drawn) => checkOps(JSON.parse(JSON.stringify([...furniture, ...drawn.map(([make, n]) => make(`1:${n}`))]))));

const asJson = (storage: Storage) => JSON.parse(dumpStorage(storage) as string);

test('[ST21] replaying the journal leads to the same state, from nothing and from a snapshot on the way', () => {
  fc.assert(
    fc.property(someOps, fc.nat(80), (ops, cut) => {
      const live = emptyStorage();
      const first = applyOps(live, ops.slice(0, cut), { actor: 1 }).journal;
      const snapshot = dumpStorage(live);
      const second = applyOps(live, ops.slice(cut), { actor: 1 }).journal;
      const fromNothing = emptyStorage();
      replayOps(fromNothing, JSON.parse(JSON.stringify([...first, ...second])));
      expect(asJson(fromNothing)).toEqual(asJson(live));
      const fromSnapshot = loadStorage(snapshot);
      replayOps(fromSnapshot, JSON.parse(JSON.stringify(second)));
      expect(asJson(fromSnapshot)).toEqual(asJson(live));
    }),
    { numRuns: 500 },
  );
});

test('[ST21] another client that applies only what it is forwarded comes to the same nodes', () => {
  fc.assert(
    fc.property(someOps, (ops) => {
      const live = emptyStorage();
      const other = emptyStorage();
      for (const op of ops) {
        const { forwards } = applyOps(live, [op], { actor: 1 });
        expect(forwards.every(({ opId }) => opId === undefined)).toBe(true);
        replayOps(other, forwards);
      }
      expect(compactNodes(other)).toEqual(compactNodes(live));
    }),
    { numRuns: 500 },
  );
});

test('[ST22] whatever is sent, the nodes stay one tree: parents are here, places are held once, lists know their order', () => {
  fc.assert(
    fc.property(someOps, (ops) => {
      const storage = emptyStorage();
      applyOps(storage, ops, { actor: 1 });
      const seen = new Set<string>();
      for (const node of storage.nodes.values()) {
        expect(seen.add(node.id).has(node.parent?.id ?? 'root')).toBe(true);
        if (node.parent === null) continue;
        expect(node.parent.children.get(node.key)).toBe(node);
        expect(node.depth).toBe(node.parent.depth + 1);
        if (node.parent.type === 0) expect(plainValue(node.parent.data, node.key)).toBeUndefined();
        if (node.parent.type === 1) expect(positionsOf(node.parent).toArray()).toEqual([...node.parent.children.keys()].sort());
      }
    }),
    { numRuns: 500 },
  );
});
