import { describe, expect, test } from 'vitest';
import { pack, unpack } from '../../../src/base/binary.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import { atomically, emptyStorage } from '../../../src/room/storage/tree.ts';
import { compactNodes, serializedNodes, toJson } from '../../support/storage-documents.ts';
import {
  createFile,
  createList,
  createMap,
  createObject,
  createRegister,
  createText,
  deleteKey,
  deleteNode,
  FILE,
  moveItem,
  send,
  storageOf,
  updateObject,
  updateText,
} from './ops.ts';

const furnished = () =>
  storageOf(
    updateObject('1:0', 'root', { title: 'x', nothing: null }),
    createObject('1:1', '1:1', 'root', 'object', { n: { deep: [1] } }),
    createList('1:2', '1:2', '1:1', 'list'),
    createRegister('1:3', '1:3', '1:2', '"', 'b'),
    createRegister('1:4', '1:4', '1:2', '!', 'a'),
    createMap('1:5', '1:5', '1:2', '#'),
    createRegister('1:6', '1:6', '1:5', 'any key €', null),
    createText('1:7', '1:7', 'root', 'text', [['he'], ['llo', { b: true }]], 3),
    createFile('1:8', '1:8', 'root', 'file'),
  );

describe('nodes leave', () => {
  test('[ST18] as compact tuples, the root first, of which an empty Storage has nothing else', () => {
    expect(compactNodes(emptyStorage())).toEqual([['root', {}]]);
    expect(compactNodes(furnished())).toEqual([
      ['root', { title: 'x', nothing: null }],
      ['1:1', 0, 'root', 'object', { n: { deep: [1] } }],
      ['1:2', 1, '1:1', 'list'],
      ['1:3', 3, '1:2', '"', 'b'],
      ['1:4', 3, '1:2', '!', 'a'],
      ['1:5', 2, '1:2', '#'],
      ['1:6', 3, '1:5', 'any key €', null],
      ['1:7', 4, 'root', 'text', [['he'], ['llo', { b: true }]], 3],
      ['1:8', 5, 'root', 'file', FILE],
    ]);
  });

  test('[ST18] in full, the root without a parent', () => {
    const nodes = serializedNodes(furnished());
    expect(nodes[0]).toEqual(['root', { type: 0, data: { title: 'x', nothing: null } }]);
    expect(nodes[2]).toEqual(['1:2', { type: 1, parentId: '1:1', parentKey: 'list' }]);
    expect(nodes[6]).toEqual(['1:6', { type: 3, parentId: '1:5', parentKey: 'any key €', data: null }]);
    expect(nodes[7]).toEqual([
      '1:7',
      { type: 4, parentId: 'root', parentKey: 'text', data: [['he'], ['llo', { b: true }]], version: 3 },
    ]);
  });

  test('[ST18] as copies: what was taken out does not change with the tree', () => {
    const storage = furnished();
    const before = structuredClone(compactNodes(storage));
    const taken = compactNodes(storage);
    send(
      storage,
      updateObject('2:0', 'root', { title: 'y' }),
      updateText('2:1', '1:7', 3, [{ type: 'insert', index: 0, text: 'X' }]),
    );
    expect(taken).toEqual(before);
  });
});

describe('a snapshot', () => {
  test('[ST19] brings back all nodes and the order of lists, through the packing of snapshots', () => {
    const storage = furnished();
    const loaded = loadStorage(unpack(pack(dumpStorage(storage))));
    expect(compactNodes(loaded)).toEqual(compactNodes(storage));
    expect(dumpStorage(loaded)).toEqual(dumpStorage(storage));
    send(loaded, moveItem('2:0', '1:5', '!'));
    expect(toJson(loaded)).toMatchObject({ object: { list: ['a', { 'any key €': null }, 'b'] } });
  });

  test('[ST19] keeps text that no UTF-8 can spell', () => {
    const storage = storageOf(updateObject('1:0', 'root', { half: '\ud83d', '\udc00': 'key' }));
    expect(toJson(loadStorage(unpack(pack(dumpStorage(storage)))))).toEqual({ half: '\ud83d', '\udc00': 'key' });
  });

  test.each([
    ['not text', 7],
    ['no JSON', '{'],
    ['something else', '[]'],
    ['without a root', '{"nodes":[],"histories":[]}'],
    ['a child before its parent', '{"nodes":[["root",{}],["1:1",3,"1:0","!",1]],"histories":[]}'],
    ['a child of a register', '{"nodes":[["root",{}],["1:0",3,"root","a",1],["1:1",1,"1:0","b"]],"histories":[]}'],
    ['two nodes in one place', '{"nodes":[["root",{}],["1:0",1,"root","a"],["1:1",1,"root","a"]],"histories":[]}'],
    ['two nodes of one id', '{"nodes":[["root",{}],["1:0",1,"root","a"],["1:0",1,"root","b"]],"histories":[]}'],
    ['a kind from the future', '{"nodes":[["root",{}],["1:0",6,"root","a"]],"histories":[]}'],
    ['a history of no text', '{"nodes":[["root",{}]],"histories":[["1:0",{"opIds":[],"updates":[]}]]}'],
  ])('[ST19] that is %s is refused, not mended', (_, dump) => {
    expect(() => loadStorage(dump)).toThrow(expect.objectContaining({ code: 'ROOM_UNREADABLE' }));
  });
});

describe('a group of changes', () => {
  test('[ST20] that ends in an error is taken back whole, order of lists and history of texts included', () => {
    const storage = furnished();
    const before = JSON.parse(dumpStorage(storage) as string);
    const failing = () =>
      atomically(storage, () => {
        send(
          storage,
          updateObject('2:0', 'root', { title: 'y', added: 1 }),
          updateText('2:1', '1:7', 3, [{ type: 'insert', index: 0, text: 'X' }]),
          moveItem('2:2', '1:4', '$'),
          createRegister('2:3', '2:3', '1:2', '!', 'new'),
          deleteNode('2:4', '1:5'),
          deleteKey('2:5', 'root', 'object'),
          createMap('2:6', '2:6', 'root', 'file'),
          createList('2:7', '2:7', 'root', 'object'),
        );
        throw new Error('stop');
      });
    expect(failing).toThrow('stop');
    const { nodes, histories } = JSON.parse(dumpStorage(storage) as string);
    expect(nodes).toHaveLength(before.nodes.length);
    expect(nodes).toEqual(expect.arrayContaining(before.nodes));
    expect(histories).toEqual(before.histories);
    expect(toJson(storage)).toMatchObject({
      object: { list: ['a', 'b', { 'any key €': null }] },
      text: [['he'], ['llo', { b: true }]],
    });
    expect(loadStorage(dumpStorage(storage)).nodes.size).toBe(storage.nodes.size);
  });

  test('[ST20] that succeeds stays', () => {
    const storage = furnished();
    atomically(storage, () => void send(storage, deleteKey('2:0', 'root', 'object')));
    expect(Object.keys(toJson(storage))).toEqual(['title', 'nothing', 'text', 'file']);
    expect(storage.changes).toBeNull();
  });
});
