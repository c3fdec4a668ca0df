import { describe, expect, test } from 'vitest';
import { CRDT, checkOps, OP, type Op } from '../../../src/protocol/storage-ops.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { toJson } from '../../support/storage-documents.ts';
import {
  createList,
  createMap,
  createObject,
  createRegister,
  createText,
  deleteKey,
  send,
  storageOf,
  updateObject,
} from './ops.ts';

/** As they come out of a frame. */
const unfit = (...ops: Op[]) => checkOps(JSON.parse(JSON.stringify(ops)));
const furniture = () =>
  storageOf(
    updateObject('1:0', 'root', { title: 'old' }),
    createMap('1:1', '1:1', 'root', 'map'),
    createList('1:2', '1:2', 'root', 'list'),
  );
const deep = JSON.parse('['.repeat(40) + ']'.repeat(40));

describe('an op whose key or value may not be stored', () => {
  test('[ST40] is rejected by its id, and all others of its message are applied', () => {
    const storage = furniture();
    const words = ['hello', 'constructor', 'world', 'prototype'];
    const ops = words.map((word, n) => createRegister(`2:${n}`, `2:${n}`, '1:1', word, n));
    const { rejected, replies, forwards, journal, needsRepair } = send(storage, ...unfit(...ops));
    expect(rejected).toEqual([
      { opIds: ['2:1'], reason: `The op's /parentKey names the key "constructor", which is not allowed` },
      { opIds: ['2:3'], reason: `The op's /parentKey names the key "prototype", which is not allowed` },
    ]);
    expect(replies.map(({ opId }) => opId)).toEqual(['2:0', '2:1', '2:2', '2:3']);
    expect([forwards.length, journal.length, needsRepair]).toEqual([2, 2, true]);
    expect(toJson(storage)).toEqual({ title: 'old', map: { hello: 0, world: 2 }, list: [] });
  });

  test.each<[string, Op, Op[]]>([
    [
      'a value over a plain one',
      updateObject('2:0', 'root', { title: deep, other: 1 }),
      [
        updateObject('2:0', 'root', { title: null, other: null }),
        { type: OP.UPDATE_OBJECT, id: 'root', data: { title: 'old' } },
        { type: OP.DELETE_OBJECT_KEY, id: 'root', key: 'other' },
      ],
    ],
    [
      'a new node',
      createObject('2:0', '2:0', 'root', 'new', { a: deep }),
      [createObject('2:0', '2:0', 'root', 'new'), { type: OP.DELETE_OBJECT_KEY, id: 'root', key: 'new' }],
    ],
    [
      'a deletion',
      deleteKey('2:0', 'root', 'constructor'),
      [deleteKey('2:0', 'root', 'constructor'), { type: OP.DELETE_OBJECT_KEY, id: 'root', key: 'constructor' }],
    ],
  ])('[ST40] %s: ops say what is there, so that no initial Storage is set again', (_, op, replies) => {
    expect(send(furniture(), ...unfit(op))).toMatchObject({
      replies,
      needsRepair: false,
      forwards: [],
      rejected: [{ opIds: ['2:0'] }],
    });
  });

  test('[CB69] what is there is told as far as one message may have us write; behind that a snapshot says it', () => {
    const long = 'x'.repeat(200_000);
    const storage = storageOf(updateObject('1:0', 'root', { a: long }));
    const { replies, needsRepair } = send(
      storage,
      ...unfit(...Array.from({ length: 10 }, (_, n) => updateObject(`2:${n}`, 'root', { a: deep }))),
    );
    const fix = { type: OP.UPDATE_OBJECT, id: 'root', data: { a: long } };
    const comesBack = (n: number) => updateObject(`2:${n}`, 'root', { a: null });
    expect(replies).toEqual([comesBack(0), fix, comesBack(1), fix, ...Array.from({ length: 8 }, (_, n) => comesBack(n + 2))]);
    expect(needsRepair).toBe(true);
    const next = send(storage, ...unfit(updateObject('2:10', 'root', { a: deep })));
    expect(next).toMatchObject({ replies: [comesBack(10), fix], needsRepair: false });
  });

  test.each<[string, Op]>([
    ['a value over a node', updateObject('2:0', 'root', { list: deep })],
    ['a node over a node', createObject('2:0', '2:0', 'root', 'list', { a: deep })],
    ['an item', createRegister('2:0', '2:0', '1:2', '!', deep)],
    ['a move', { type: OP.SET_PARENT_KEY, opId: '2:0', id: '1:2', parentKey: 'constructor' }],
  ])('[ST40] %s: a snapshot brings back what was there', (_, op) => {
    const { replies, needsRepair } = send(furniture(), ...unfit(op));
    expect([replies.length, needsRepair]).toEqual([1, true]);
  });

  test('[ST40] an edit of a text is taken back by its client alone', () => {
    const storage = storageOf(createText('1:0', '1:0', 'root', 't', [['ab']]));
    const format = { type: 'format', index: 0, length: 1, attributes: JSON.parse('{"constructor":1}') } as const;
    const op: Op = { type: OP.UPDATE_TEXT, opId: '2:0', id: '1:0', baseVersion: 0, ops: [format] };
    expect(send(storage, ...unfit(op))).toMatchObject({ replies: [], needsRepair: false, rejected: [{ opIds: ['2:0'] }] });
    expect(storage.nodes.get('1:0')).toMatchObject({ type: CRDT.TEXT, data: [['ab']] });
  });

  test('[ST40] within a message that is taken back whole it is, too', () => {
    const room = aRoom('ann');
    const ops = unfit(updateObject('1:0', 'root', { a: 1 }), updateObject('1:1', 'root', { constructor: 1 } as never));
    const effects = say(room, { type: 'storage.change', from: id('ann'), ops, missingFiles: ['fl_1'] });
    expect(effects.map((effect) => (effect.type === 'send' ? effect.message : null))).toEqual([
      {
        type: 'storage.ops',
        ops: [
          updateObject('1:0', 'root', { a: 1 }),
          updateObject('1:1', 'root', { constructor: null } as never),
          deleteKey('', 'root', 'a'),
          deleteKey('', 'root', 'constructor'),
        ].map(({ opId, ...op }) => (opId === '' ? op : { opId, ...op })),
      },
      { type: 'storage.rejected', opIds: ['1:0', '1:1'], reason: expect.stringContaining('fl_1') },
    ]);
  });
});
