import { describe, expect, test } from 'vitest';
import { OP, type Op } from '../../../src/protocol/storage-ops.ts';
import type { Effect, RoomState } from '../../../src/room/shapes.ts';
import { encodeSnapshot, restoreSnapshot } from '../../../src/room/snapshot.ts';
import { atomically, insertNode } from '../../../src/room/storage/tree.ts';
import { aRoom, id, messages, newcomer, READER, say } from '../../support/a-room.ts';
import { serializedNodes } from '../../support/storage-documents.ts';
import { createList, createMap, createRegister, deleteNode, updateObject } from './ops.ts';

const fileId = (letter: string): string => `fl_${letter.repeat(21)}`;
const file = (letter: string) => ({ id: fileId(letter), name: 'a.txt', size: 1, mimeType: 'text/plain' });
const createFile = (opId: string, nodeId: string, parentKey: string, letter: string, parentId = 'root'): Op => ({
  type: OP.CREATE_FILE,
  opId,
  id: nodeId,
  parentId,
  parentKey,
  data: file(letter),
});
const change = (room: RoomState, ops: Op[], missingFiles?: string[]): Effect[] =>
  say(room, { type: 'storage.change', from: id('ann'), ops, ...(missingFiles !== undefined && { missingFiles }) });
const refers = (room: RoomState, ...letters: string[]) => say(room, { type: 'storage.refers', fileIds: letters.map(fileId) });

describe('which files Storage refers to', () => {
  test('[ST30] is answered once it is durable, in the order asked', () => {
    const room = aRoom('ann');
    change(room, [
      createFile('1:0', '1:0', 'f', 'a'),
      createList('1:1', '1:1', 'root', 'l'),
      createFile('1:2', '1:2', '!', 'b', '1:1'),
    ]);
    expect(refers(room, 'b', 'x', 'a')).toEqual([{ type: 'reply', value: [fileId('b'), fileId('a')], when: 'durable' }]);
    expect(refers(room)).toEqual([{ type: 'reply', value: [], when: 'durable' }]);
  });

  test('[ST30] a file counts while any node stands for it: replaced, deleted with what is around it, by a new Storage', () => {
    const room = aRoom('ann');
    const now = (): string[] => [...room.storage.files.keys()].map((key) => key[3]!).sort();
    change(room, [
      createMap('1:0', '1:0', 'root', 'm'),
      createFile('1:1', '1:1', 'k', 'a', '1:0'),
      createFile('1:2', '1:2', 'f', 'a'),
    ]);
    expect(now()).toEqual(['a']);
    change(room, [createFile('1:3', '1:3', 'f', 'b')]);
    expect(now()).toEqual(['a', 'b']);
    change(room, [deleteNode('1:4', '1:0')]);
    expect(now()).toEqual(['b']);
    change(room, [updateObject('1:5', 'root', { f: 1 })]);
    expect(now()).toEqual([]);
    change(room, [createFile('1:6', '1:6', 'f', 'c')]);
    say(room, { type: 'storage.delete' });
    expect(now()).toEqual([]);
  });

  test('[ST30] what is taken back counts as before', () => {
    const room = aRoom('ann');
    change(room, [createMap('1:0', '1:0', 'root', 'm'), createFile('1:1', '1:1', 'k', 'a', '1:0')]);
    const { storage } = room;
    const before = [...storage.files];
    atomically(storage, () => {
      change(room, [createFile('1:2', '1:2', 'f', 'b'), deleteNode('1:3', '1:0')]);
      insertNode(storage, { id: '1:4', parent: storage.root, key: 'g' }, { type: 5, data: file('b') });
      expect([...storage.files]).toEqual([[fileId('b'), 2]]);
      return 'take back';
    });
    expect([...storage.files]).toEqual(before);
  });

  test('[ST30] it is known again after a load', () => {
    const room = aRoom('ann');
    change(room, [createFile('1:0', '1:0', 'f', 'a'), createFile('1:1', '1:1', 'g', 'a')]);
    const loaded = aRoom();
    restoreSnapshot(loaded, { version: room.version, bytes: encodeSnapshot(room) });
    expect([...loaded.storage.files]).toEqual([[fileId('a'), 2]]);
  });
});

describe('a message with a file that nobody uploaded', () => {
  /** A room of two that follow Storage. */
  function two(): RoomState {
    const room = aRoom('ann', 'bo');
    for (const from of ['ann', 'bo']) say(room, { type: 'storage.fetch', from: id(from) });
    change(room, [
      updateObject('1:0', 'root', { n: 1 }),
      createMap('1:1', '1:1', 'root', 'm'),
      createRegister('1:2', '1:2', '1:1', 'k', 'old'),
    ]);
    return room;
  }

  test('[ST31] changes nothing, for nobody: its sender gets its ops back, the keys as they were, then the reason', () => {
    const room = two();
    const before = JSON.stringify(serializedNodes(room.storage));
    const ops = [updateObject('1:3', 'root', { n: 2 }), createFile('1:4', '1:4', 'f', 'x')];
    const effects = change(room, ops, [fileId('x')]);
    expect(effects.map((effect) => (effect.type === 'send' ? effect.to : effect.type))).toEqual([
      { only: 'ann' },
      { only: 'ann' },
    ]);
    expect(messages(effects)).toEqual([
      {
        type: 'storage.ops',
        ops: [
          ...ops,
          { type: OP.UPDATE_OBJECT, id: 'root', data: { n: 1 } },
          { type: OP.DELETE_OBJECT_KEY, id: 'root', key: 'f' },
        ],
      },
      { type: 'storage.rejected', opIds: ['1:3', '1:4'], reason: `No file "${fileId('x')}" was uploaded to this room.` },
    ]);
    expect(JSON.stringify(serializedNodes(room.storage))).toBe(before);
    expect([room.storage.files.size, room.version]).toEqual([0, 1]);
  });

  test('[ST31] comes with a snapshot where nodes must come back', () => {
    const room = two();
    const effects = change(room, [createFile('1:3', '1:3', 'k', 'x', '1:1')], [fileId('x')]);
    expect(messages(effects)).toMatchObject([{ type: 'storage.ops' }, { type: 'storage.state' }, { type: 'storage.rejected' }]);
    expect(room.storage.nodes.has('1:2')).toBe(true);
  });

  test('[ST31] from one who may not write is refused for that', () => {
    const room = aRoom(newcomer('ann', { permissions: READER }));
    const effects = change(room, [createFile('1:0', '1:0', 'f', 'x')], [fileId('x')]);
    expect(messages(effects).slice(1)).toEqual([
      { type: 'storage.rejected', opIds: ['1:0'], reason: 'The session may not write to Storage.' },
    ]);
  });
});
