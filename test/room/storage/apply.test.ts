import { describe, expect, test } from 'vitest';
import { OP, type Op } from '../../../src/protocol/storage-ops.ts';
import { takeBackReplies } from '../../../src/room/schema/take-back.ts';
import { applyOps, replayOps } from '../../../src/room/storage/apply.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import { noteHeir } from '../../../src/room/storage/heirs.ts';
import { NODE_DEPTH_MAX } from '../../../src/room/storage/nodes.ts';
import { emptyStorage, isEmptyStorage } from '../../../src/room/storage/tree.ts';
import { compactNodes, toJson } from '../../support/storage-documents.ts';
import {
  createFile,
  createList,
  createMap,
  createObject,
  createRegister,
  createText,
  deleteKey,
  deleteNode,
  moveItem,
  seen,
  send,
  storageOf,
  untagged,
  updateObject,
} from './ops.ts';

const ids = (storage: Parameters<typeof compactNodes>[0]) => compactNodes(storage).map(([id]) => id);
/** An object, a map and a list with the items a, b, c at !, !! and !". */
const furnished = () =>
  storageOf(
    createObject('1:0', '1:0', 'root', 'object', { n: 1 }),
    createMap('1:1', '1:1', 'root', 'map'),
    createList('1:2', '1:2', 'root', 'list'),
    createRegister('1:3', '1:3', '1:2', '!', 'a'),
    createRegister('1:4', '1:4', '1:2', '!!', 'b'),
    createRegister('1:5', '1:5', '1:2', '!"', 'c'),
  );
const push = (opId: string, id: string, data: string, parentKey = '!') =>
  createRegister(opId, id, '1:2', parentKey, data, { intent: 'push' });
const set = (opId: string, id: string, data: string, parentKey: string, deletedId?: string) =>
  createRegister(opId, id, '1:2', parentKey, data, deletedId === undefined ? { intent: 'set' } : { intent: 'set', deletedId });

describe('acks and forwards', () => {
  test('[ST3] an op that has an effect goes back to its sender with its opId, and to the others without', () => {
    const op = updateObject('2:0', 'root', { a: { b: [1, null] } });
    expect(send(emptyStorage(), op)).toEqual({
      replies: [op],
      forwards: [untagged(op)],
      journal: [op],
      rejected: [],
      needsRepair: false,
    });
  });

  test.each([
    ['UPDATE_OBJECT', updateObject('2:0', '9:9', { a: 1 })],
    ['DELETE_OBJECT_KEY', deleteKey('2:0', '9:9', 'a')],
    ['DELETE_CRDT', deleteNode('2:0', '9:9')],
    ['SET_PARENT_KEY', moveItem('2:0', '9:9', '!')],
    [
      'UPDATE_TEXT',
      {
        type: OP.UPDATE_TEXT,
        opId: '2:0',
        id: '9:9',
        baseVersion: 0,
        ops: [{ type: 'delete', index: 0, length: 1 }],
      } satisfies Op,
    ],
    ['a CREATE', createMap('2:0', '2:0', '9:9', 'a')],
  ])('[ST4] %s on a node that is gone has no effect; only its sender learns that it was seen', (_, op) => {
    expect(send(furnished(), op)).toEqual({
      replies: [seen('2:0')],
      forwards: [],
      journal: [],
      rejected: [],
      needsRepair: false,
    });
  });

  test.each([
    ['UPDATE_OBJECT of a map', updateObject('2:0', '1:1', { a: 1 })],
    ['DELETE_OBJECT_KEY of a list', deleteKey('2:0', '1:2', 'a')],
    ['SET_PARENT_KEY of a map entry', moveItem('2:0', '1:0', '!')],
    ['SET_PARENT_KEY of the root', moveItem('2:0', 'root', '!')],
    ['DELETE_CRDT of the root', deleteNode('2:0', 'root')],
    ['a CREATE under a register', createMap('2:0', '2:0', '1:3', 'a')],
    ['a CREATE under itself', createMap('2:0', '2:0', '2:0', 'a')],
    ['a code that nobody knows', { type: OP.UNKNOWN, opId: '2:0' } satisfies Op],
  ])('[ST4] %s has no effect either', (_, op) => {
    const storage = furnished();
    const before = compactNodes(storage);
    expect(send(storage, op).replies).toEqual([seen('2:0')]);
    expect(compactNodes(storage)).toEqual(before);
  });

  test('[ST4] an op of an unknown code without an id is passed over in silence', () => {
    expect(send(emptyStorage(), { type: OP.UNKNOWN }).replies).toEqual([]);
  });

  test('[ST4] nothing can be put under a text or a file', () => {
    const storage = storageOf(createText('1:0', '1:0', 'root', 'text', []), createFile('1:1', '1:1', 'root', 'file'));
    const { replies } = send(storage, createMap('2:0', '2:0', '1:0', 'a'), createMap('2:1', '2:1', '1:1', 'a'));
    expect(replies).toEqual([seen('2:0'), seen('2:1')]);
  });

  test('[ST3] several ops are answered and forwarded in their order', () => {
    const ops = [createList('2:0', '2:0', 'root', 'list'), push('2:1', '2:1', 'a'), deleteKey('2:2', 'root', 'list')].map((op) =>
      'parentId' in op && op.parentId === '1:2' ? { ...op, parentId: '2:0' } : op,
    );
    const { replies, forwards } = send(emptyStorage(), ...ops);
    expect(replies).toEqual(ops);
    expect(forwards).toEqual(ops.map(untagged));
  });
});

describe('objects and maps', () => {
  test('[ST5] a node created at a taken key replaces what is there, live or plain, with all below it', () => {
    const storage = furnished();
    send(storage, updateObject('2:0', '1:0', { list: 'plain' }), createList('2:1', '2:1', '1:0', 'list'));
    expect(toJson(storage)).toMatchObject({ object: { n: 1, list: [] } });
    send(
      storage,
      createMap('3:0', '3:0', '1:0', 'list'),
      createRegister('3:1', '3:1', '3:0', 'k', 1),
      createList('3:2', '3:2', '1:0', 'list'),
    );
    expect(ids(storage)).not.toContain('3:1');
    expect(toJson(storage)).toMatchObject({ object: { list: [] } });
  });

  test('[ST5] of two that set one map key the later is left, alone', () => {
    const storage = furnished();
    send(storage, createRegister('2:0', '2:0', '1:1', 'k', 'first'));
    const later = createRegister('3:0', '3:0', '1:1', 'k', 'second');
    expect(send(storage, later)).toMatchObject({ replies: [later], forwards: [untagged(later)], needsRepair: false });
    expect(toJson(storage)).toMatchObject({ map: { k: 'second' } });
    expect(ids(storage)).not.toContain('2:0');
  });

  test('[ST6] UPDATE_OBJECT sets plain values, null too, over live children with all below them', () => {
    const storage = furnished();
    send(storage, updateObject('2:0', 'root', { list: null, object: 1 }));
    expect(toJson(storage)).toEqual({ map: {}, list: null, object: 1 });
    expect(ids(storage)).toEqual(['root', '1:1']);
  });

  test('[ST6] DELETE_OBJECT_KEY removes a live or plain value, and is echoed even when there is none', () => {
    const storage = furnished();
    const ops = [deleteKey('2:0', 'root', 'list'), deleteKey('2:1', '1:0', 'n'), deleteKey('2:2', 'root', 'never')];
    expect(send(storage, ...ops)).toMatchObject({ replies: ops, forwards: ops.map(untagged) });
    expect(toJson(storage)).toEqual({ object: {}, map: {} });
  });

  test('[ST6] a register under an object reads as a plain value', () => {
    expect(toJson(storageOf(createRegister('1:0', '1:0', 'root', 'k', { a: 1 })))).toEqual({ k: { a: 1 } });
  });

  test('[ST7] DELETE_CRDT removes a node and all below it', () => {
    const storage = furnished();
    send(storage, deleteNode('2:0', '1:2'));
    expect(ids(storage)).toEqual(['root', '1:0', '1:1']);
    expect(send(storage, updateObject('3:0', '1:3', {})).replies).toEqual([seen('3:0')]);
  });

  test('[ST7] a root without keys is an empty Storage, whatever was there before', () => {
    const storage = storageOf(createMap('1:0', '1:0', 'root', 'map'), updateObject('1:1', 'root', { a: null }));
    expect(isEmptyStorage(storage)).toBe(false);
    send(storage, deleteNode('2:0', '1:0'));
    expect(isEmptyStorage(storage)).toBe(false);
    send(storage, deleteKey('2:1', 'root', 'a'));
    expect(isEmptyStorage(storage)).toBe(true);
  });
});

describe('inserting into a list', () => {
  test('[ST8] an insert at a free position stays there; at a taken one it goes right after, and both answers say so', () => {
    const storage = furnished();
    const free = createRegister('2:0', '2:0', '1:2', '!O', 'free');
    expect(send(storage, free).replies).toEqual([free]);
    const taken = createRegister('3:0', '3:0', '1:2', '!', 'taken');
    const placed = { ...taken, parentKey: '! O' };
    expect(send(storage, taken)).toMatchObject({ replies: [placed], forwards: [untagged(placed)], journal: [placed] });
    expect(toJson(storage)).toMatchObject({ list: ['a', 'taken', 'b', 'c', 'free'] });
  });

  test('[ST8] behind the last item there is no neighbour to stay before', () => {
    const storage = furnished();
    expect(send(storage, createRegister('2:0', '2:0', '1:2', '!"', 'd')).replies).toMatchObject([{ parentKey: '!#' }]);
  });

  test('[ST8] a position that is none is made one', () => {
    const storage = furnished();
    expect(send(storage, createRegister('2:0', '2:0', '1:2', 'x\u0001 ', 'd')).replies).toMatchObject([{ parentKey: 'x' }]);
  });

  test('[ST9] a push goes to the true end, whatever end its sender saw', () => {
    const storage = furnished();
    expect(send(storage, push('2:0', '2:0', 'd', '!!')).replies).toMatchObject([{ parentKey: '!#', intent: 'push' }]);
    const beyond = push('2:1', '2:1', 'e', '%');
    expect(send(storage, beyond).replies).toEqual([beyond]);
    expect(toJson(storage)).toMatchObject({ list: ['a', 'b', 'c', 'd', 'e'] });
    expect(send(storageOf(createList('1:2', '1:2', 'root', 'list')), push('2:0', '2:0', 'x', '%')).replies).toMatchObject([
      { parentKey: '%' },
    ]);
  });
});

describe('replacing a list item', () => {
  test('[ST10] a set deletes the item it names, with all below it, and takes the place', () => {
    const storage = furnished();
    const op = set('2:0', '2:0', 'B', '!!', '1:4');
    expect(send(storage, op)).toEqual({
      replies: [op],
      forwards: [untagged(op)],
      journal: [op],
      rejected: [],
      needsRepair: false,
    });
    expect(toJson(storage)).toMatchObject({ list: ['a', 'B', 'c'] });
  });

  test('[ST10] the named item is deleted wherever in the list it was moved to', () => {
    const storage = furnished();
    send(storage, moveItem('3:0', '1:4', '#'), set('2:0', '2:0', 'B', '!!', '1:4'));
    expect(toJson(storage)).toMatchObject({ list: ['a', 'B', 'c'] });
  });

  test('[ST10] whoever else holds the place is deleted too, and everybody is told first, without an opId', () => {
    const storage = furnished();
    const fix = { type: OP.DELETE_CRDT, id: '1:4' };
    const op = set('2:0', '2:0', 'B', '!!', '1:3');
    expect(send(storage, op)).toMatchObject({ replies: [fix, op], forwards: [fix, untagged(op)], journal: [op] });
    expect(toJson(storage)).toMatchObject({ list: ['B', 'c'] });
  });

  test('[ST46] but stays where the item was put elsewhere: the set goes where that is, for clients as a deletion and an insertion', () => {
    const storage = furnished();
    const insert = createRegister('2:0', '2:0', '1:2', '!', 'd');
    send(storage, insert);
    const before = structuredClone(dumpStorage(storage));
    const { replies, forwards, journal } = send(storage, set('2:1', '2:1', 'D', '!', '2:0'));
    const deletion = { type: OP.DELETE_CRDT, id: '2:0' };
    const inserted = createRegister('2:1', '2:1', '1:2', '! O', 'D');
    expect({ replies, forwards }).toEqual({ replies: [deletion, inserted], forwards: [deletion, untagged(inserted)] });
    expect(toJson(storage)).toMatchObject({ list: ['a', 'D', 'b', 'c'] });
    const replayed = loadStorage(before);
    replayOps(replayed, journal);
    expect(compactNodes(replayed)).toEqual(compactNodes(storage));
    send(storage, set('2:2', '2:2', 'once more', '!', '2:1'));
    expect(toJson(storage)).toMatchObject({ list: ['a', 'once more', 'b', 'c'] });
  });

  test('[ST46] and where its maker came back since, and may have found another place for it', () => {
    const storage = furnished();
    applyOps(storage, [createMap('1:9', '1:9', 'root', 'again')], { actor: 4 });
    noteHeir(storage.heirs, [createMap('1:9', '1:9', 'root', 'again')], 4);
    send(storage, set('4:0', '4:0', 'B', '!!', '1:3'));
    expect(toJson(storage)).toMatchObject({ list: ['B', 'b', 'c'] });
  });

  test('[ST46] and where what came in its place is here, the set goes there', () => {
    const storage = furnished();
    send(
      storage,
      set('3:0', '3:0', 'x', '!"', '1:5'),
      moveItem('3:1', '3:0', '!#'),
      createRegister('3:2', '3:2', '1:2', '!"', 'other'),
    );
    const before = structuredClone(dumpStorage(storage));
    const { replies, journal } = send(storage, set('4:0', '4:0', 'C', '!"', '1:5'));
    expect(replies).toEqual([{ type: OP.DELETE_CRDT, id: '3:0' }, createRegister('4:0', '4:0', '1:2', '!#', 'C')]);
    expect(toJson(storage)).toMatchObject({ list: ['a', 'b', 'other', 'C'] });
    const replayed = loadStorage(before);
    replayOps(replayed, journal);
    expect(compactNodes(replayed)).toEqual(compactNodes(storage));
  });

  test('[ST46] and goes behind the other where the item was deleted', () => {
    const storage = furnished();
    send(storage, deleteNode('3:0', '1:5'), push('3:1', '3:0', 'd'));
    const { journal } = send(storage, set('2:0', '2:0', 'C', '!"', '1:5'));
    expect(toJson(storage)).toMatchObject({ list: ['a', 'b', 'd', 'C'] });
    const replayed = furnished();
    replayOps(replayed, [deleteNode('3:0', '1:5'), push('3:1', '3:0', 'd', '!"'), ...journal]);
    expect(compactNodes(replayed)).toEqual(compactNodes(storage));
  });

  test.each([
    ['was replaced', [set('3:0', '3:0', 'x', '!"', '1:5')], '1:5'],
    ['is not known', [], '9:9'],
    ['was deleted, and the other is of the same sender', [deleteNode('2:0', '1:5'), push('2:1', '2:1', 'x')], '1:5'],
  ] as const)(
    '[ST46] where the item %s, whoever holds the place is deleted, and everybody is told first, without an opId',
    (_, before, named) => {
      const storage = furnished();
      send(storage, ...before);
      const other = compactNodes(storage).at(-1)![0];
      const fix = { type: OP.DELETE_CRDT, id: other };
      const op = set('2:2', '2:2', 'C', '!"', named);
      expect(send(storage, op)).toMatchObject({ replies: [fix, op], forwards: [fix, untagged(op)], journal: [op] });
      expect(toJson(storage)).toMatchObject({ list: ['a', 'b', 'C'] });
    },
  );

  test('[ST10] an item that is gone, or not in this list, is not deleted; the set still inserts', () => {
    const storage = furnished();
    send(storage, set('2:0', '2:0', 'x', '#', '9:9'), set('2:1', '2:1', 'y', '$', '1:0'));
    expect(toJson(storage)).toMatchObject({ object: { n: 1 }, list: ['a', 'b', 'c', 'x', 'y'] });
  });
});

describe('moving a list item', () => {
  test('[ST11] to a free position it goes as asked; the others keep theirs', () => {
    const storage = furnished();
    const op = moveItem('2:0', '1:3', '!~');
    expect(send(storage, op)).toMatchObject({ replies: [op], forwards: [untagged(op)] });
    expect(toJson(storage)).toMatchObject({ list: ['b', 'c', 'a'] });
  });

  test('[ST11] onto a taken position it goes right after the occupant, and both answers carry the final one', () => {
    const storage = furnished();
    const placed = moveItem('2:0', '1:5', '! O');
    expect(send(storage, moveItem('2:0', '1:5', '!'))).toMatchObject({
      replies: [placed],
      forwards: [untagged(placed)],
      journal: [placed],
    });
    expect(toJson(storage)).toMatchObject({ list: ['a', 'c', 'b'] });
  });

  test('[ST11] onto its own position it stays', () => {
    const storage = furnished();
    const op = moveItem('2:0', '1:4', '!!');
    expect(send(storage, op).replies).toEqual([op]);
    expect(toJson(storage)).toMatchObject({ list: ['a', 'b', 'c'] });
  });
});

describe('ops that come again', () => {
  test('[ST12] a CREATE whose node is here is acknowledged with its place of now, and touches nothing else', () => {
    const storage = furnished();
    const op = set('2:0', '2:0', 'B', '!!', '1:4');
    send(storage, op, moveItem('3:0', '2:0', '#'), createRegister('3:1', '1:4', '1:2', '%', 'undone'));
    const before = compactNodes(storage);
    const { replies, forwards, journal } = send(storage, op);
    const { intent, deletedId, ...bare } = op as Record<string, unknown> & Op;
    expect(replies).toEqual([{ ...bare, parentKey: '#' }]);
    expect([forwards, journal]).toEqual([[], []]);
    expect(compactNodes(storage)).toEqual(before);
  });

  test('[ST45] ops of one message are applied in the order in which their ids were made, not as text: of those without an id nothing is known', () => {
    const storage = emptyStorage();
    const { replies } = send(
      storage,
      updateObject('2:2', 'root', { a: 'last' }),
      updateObject('1:9', 'root', { a: 'first' }),
      deleteKey('1:10', 'root', 'a'),
    );
    expect(replies.map(({ opId }) => opId)).toEqual(['1:9', '1:10', '2:2']);
    expect(toJson(storage)).toEqual({ a: 'last' });
    send(
      storage,
      updateObject('2:12', 'root', { a: 'sent first' }),
      untagged(updateObject('', 'root', { a: 1 })),
      deleteKey('2:11', 'root', 'a'),
    );
    expect(toJson(storage)).toEqual({});
  });

  test('[ST42] an item that was replaced and comes again with what took its place goes again, for all; of another message it stays', () => {
    const storage = furnished();
    const both = [push('1:6', '1:6', 'd', '!#'), set('1:7', '1:7', 'D', '!#', '1:6')];
    send(storage, ...both);
    expect(toJson(storage).list).toEqual(['a', 'b', 'c', 'D']);
    const { replies, forwards, journal } = send(storage, ...both);
    expect(toJson(storage).list).toEqual(['a', 'b', 'c', 'D']);
    for (const told of [replies, forwards, journal]) expect(told).toContainEqual({ type: OP.DELETE_CRDT, id: '1:6' });
    send(storage, both[0]!);
    send(storage, both[1]!);
    expect(toJson(storage).list).toEqual(['a', 'b', 'c', 'D', 'd']);
  });

  test('[ST12] a CREATE_TEXT whose node is here is acknowledged with the text of now', () => {
    const op = createText('1:0', '1:0', 'root', 'text', [['a']]);
    const storage = storageOf(op, {
      type: OP.UPDATE_TEXT,
      opId: '1:1',
      id: '1:0',
      baseVersion: 0,
      ops: [{ type: 'insert', index: 1, text: 'b' }],
    });
    expect(send(storage, op).replies).toEqual([{ ...op, data: [['ab']], version: 1 }]);
  });

  test('[ST12] an id that is taken by something else is not acknowledged as created', () => {
    const storage = furnished();
    expect(send(storage, createMap('2:0', '1:0', 'root', 'object'), createObject('2:1', '1:0', '1:1', 'object')).replies).toEqual(
      [seen('2:0'), seen('2:1')],
    );
  });

  test('[ST13] a CREATE whose node is gone makes it anew; under an object or map its sender gets it twice', () => {
    for (const parentId of ['1:0', '1:1']) {
      const storage = furnished();
      const op = createRegister('2:0', '2:0', parentId, 'k', 1);
      expect(send(storage, op).needsRepair).toBe(false);
      send(storage, deleteNode('3:0', '2:0'));
      expect(send(storage, op)).toEqual({
        replies: [op, untagged(op)],
        forwards: [untagged(op)],
        journal: [op],
        rejected: [],
        needsRepair: false,
      });
      expect(ids(storage)).toContain('2:0');
    }
  });

  test('[ST13] so it does when nobody here remembers the deletion: the node was made by another connection', () => {
    const storage = loadStorage(dumpStorage(furnished()));
    const op = createRegister('2:0', '1:9', '1:1', 'k', 1);
    expect(send(storage, op)).toMatchObject({ replies: [op, untagged(op)], forwards: [untagged(op)], needsRepair: false });
  });

  test('[ST13] in a list its sender gets it once', () => {
    const storage = furnished();
    send(storage, deleteNode('3:0', '1:4'));
    const op = createRegister('2:0', '1:4', '1:2', '!!', 'b');
    expect(send(storage, op)).toMatchObject({ replies: [op], forwards: [untagged(op)], needsRepair: false });
    expect(toJson(storage)).toMatchObject({ list: ['a', 'b', 'c'] });
  });

  test('[ST13] a CREATE of an earlier connection is told twice too, known to be back or not', () => {
    const op = createMap('1:9', '1:9', 'root', 'new');
    expect(send(emptyStorage(), updateObject('4:0', 'root', {}), op)).toMatchObject({
      replies: [op, untagged(op), {}],
      needsRepair: true,
    });
  });

  test('[ST14] an op of an earlier connection is applied again, echoed and forwarded, and its sender gets a snapshot', () => {
    const storage = furnished();
    send(storage, updateObject('3:0', '1:0', { n: 'theirs' }));
    const op = updateObject('1:9', '1:0', { n: 'mine' });
    const { replies, forwards, needsRepair } = send(storage, updateObject('4:0', 'root', {}), op);
    expect([replies[0], forwards[0], needsRepair]).toEqual([op, untagged(op), true]);
    expect(toJson(storage)).toMatchObject({ object: { n: 'mine' } });
  });

  test('[ST14] a replayed DELETE_CRDT of a node that is gone is acknowledged as seen', () => {
    const storage = furnished();
    send(storage, deleteNode('3:0', '1:4'));
    expect(send(storage, updateObject('4:0', 'root', {}), deleteNode('1:9', '1:4'))).toMatchObject({
      replies: [seen('1:9'), {}],
      needsRepair: true,
    });
  });

  test('[ST14] connection 1 does not take an op of connection 11 for its own', () => {
    expect(send(emptyStorage(), updateObject('1:0', 'root', {}), updateObject('11:0', 'root', {})).needsRepair).toBe(true);
    expect(send(emptyStorage(), updateObject('11:0', 'root', {})).needsRepair).toBe(false);
  });
});

describe('bounds', () => {
  const chain = (depth: number): Op[] =>
    Array.from({ length: depth }, (_, level) =>
      createObject(`1:${level}`, `1:${level}`, level === 0 ? 'root' : `1:${level - 1}`, 'k'),
    );

  test('[ST12] so it is when its whole message is refused, and one of another type or place comes back as it was', () => {
    const storage = furnished();
    const again = set('1:4', '1:4', 'b', '!', '1:3');
    const other = createMap('2:0', '1:2', 'root', 'list');
    expect(takeBackReplies(storage, [again, other], { changed: [], rejected: new Set() })).toEqual({
      replies: [createRegister('1:4', '1:4', '1:2', '!!', 'b'), other],
      needsState: false,
    });
  });

  test('[CB69] and is told of what is known as far as one message may have us write; behind that a snapshot says it', () => {
    const long = 'x'.repeat(200_000);
    const storage = storageOf(createText('1:0', '1:0', 'root', 'text', [[long]]));
    const again = createText('1:0', '1:0', 'root', 'text', []);
    const { replies, needsState } = takeBackReplies(storage, Array(10).fill(again), { changed: [], rejected: new Set() });
    expect(replies).toEqual([...Array(2).fill({ ...again, data: [[long]] }), ...Array(8).fill(again)]);
    expect(needsState).toBe(true);
  });

  test('[ST11] a move is no set, whatever else stands in it: the room can be read again', () => {
    const storage = furnished();
    send(storage, { ...moveItem('2:0', '1:4', '!'), intent: 'set' } as Op);
    expect(toJson(storage)).toMatchObject({ list: ['a', 'b', 'c'] });
    expect(toJson(loadStorage(dumpStorage(storage)))).toEqual(toJson(storage));
  });

  test('[ST15] nodes nest so deep and no deeper; the sender learns why, and gets a snapshot', () => {
    const storage = storageOf(...chain(NODE_DEPTH_MAX));
    const tooDeep = createObject('2:0', '2:0', `1:${NODE_DEPTH_MAX - 1}`, 'k');
    expect(send(storage, tooDeep, createObject('2:1', '2:1', '2:0', 'k'))).toEqual({
      replies: [tooDeep, seen('2:1')], // the first as if applied: its sender keeps the key locked until then
      forwards: [],
      journal: [],
      rejected: [{ opIds: ['2:0'], reason: 'Storage may not be nested deeper than 1000' }],
      needsRepair: true,
    });
    expect(JSON.stringify(toJson(storage))).toHaveLength(NODE_DEPTH_MAX * 6 + 2);
    send(storage, deleteNode('3:0', '1:0'));
    expect(ids(storage)).toEqual(['root']);
  });

  test('[ST15] a message of 10,000 nested creates ends with one rejection', () => {
    const { rejected, journal } = send(emptyStorage(), ...chain(10_000));
    expect([journal.length, rejected.length]).toEqual([NODE_DEPTH_MAX, 1]);
  });

  test('[ST16] 20,000 items are inserted, moved and deleted in a fraction of a second', () => {
    const storage = storageOf(createList('1:2', '1:2', 'root', 'list'));
    const count = 20_000;
    const startedMs = performance.now();
    send(storage, ...Array.from({ length: count }, (_, n) => push(`2:${n}`, `2:${n}`, `${n}`)));
    const positions = compactNodes(storage)
      .slice(2)
      .map((node) => `${node[3]}`);
    send(storage, ...positions.map((position, n) => moveItem(`3:${n}`, `2:${(n * 7) % count}`, position)));
    send(storage, ...Array.from({ length: count }, (_, n) => deleteNode(`4:${n}`, `2:${n}`)));
    expect(toJson(storage)).toEqual({ list: [] });
    // A list that looked through all its items for each op would take minutes.
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});
