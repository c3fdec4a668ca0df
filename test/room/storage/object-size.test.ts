import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { decodeSdkFrame } from '../../../src/protocol/client-messages.ts';
import { OP } from '../../../src/protocol/storage-ops.ts';
import { charactersOf, VALUE_CHARACTERS_MAX, VALUE_KEYS_MAX } from '../../../src/protocol/storage-values.ts';
import { replayOps } from '../../../src/room/storage/apply.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import { emptyStorage, isEmptyStorage } from '../../../src/room/storage/tree.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { toJson } from '../../support/storage-documents.ts';
import { createObject, createText, deleteKey, deleteNode, send, storageOf, updateObject } from './ops.ts';

/** Text that fills a whole object when it stands under a key of one letter. */
const FULL = VALUE_CHARACTERS_MAX - 'k'.length - 3 - 3 - 3;
const text = (length: number) => 'x'.repeat(length);
const half = text(FULL / 2);
const REASON = `A LiveObject may not hold more than ${VALUE_CHARACTERS_MAX} characters of plain values`;

/** An object whose one plain value leaves no room for another. */
const fullObject = () => storageOf(createObject('1:0', '1:0', 'root', 'o'), updateObject('1:1', '1:0', { k: text(FULL) }));

describe('the plain values of one LiveObject', () => {
  test('[ST28] have their bound together, whatever op brings them; one character more is refused', () => {
    const storage = storageOf(createObject('1:0', '1:0', 'root', 'o', { a: half }));
    const rest = text(FULL - half.length - 'b'.length - 3 - 3);
    expect(send(storage, updateObject('2:0', '1:0', { b: `${rest}x` })).rejected).toEqual([{ opIds: ['2:0'], reason: REASON }]);
    expect(send(storage, updateObject('2:1', '1:0', { b: rest })).rejected).toEqual([]);
    expect(toJson(storage)).toEqual({ o: { a: half, b: rest } });
  });

  test('[ST28] what is replaced, deleted or made live counts no more; live children never do', () => {
    const storage = fullObject();
    expect(send(storage, updateObject('2:0', '1:0', { k: text(FULL).toUpperCase() })).rejected).toEqual([]);
    expect(send(storage, createObject('2:1', '2:1', '1:0', 'child', { k: half })).rejected).toEqual([]);
    expect(send(storage, createObject('2:2', '2:2', '1:0', 'k', { k: half })).rejected).toEqual([]);
    expect(send(storage, updateObject('2:3', '1:0', { k: text(FULL) })).rejected).toEqual([]);
    expect(send(storage, updateObject('2:4', '1:0', { l: 1 })).rejected).toHaveLength(1);
    expect(send(storage, deleteKey('2:5', '1:0', 'k')).rejected).toEqual([]);
    expect(send(storage, updateObject('2:6', '1:0', { l: text(FULL) })).rejected).toEqual([]);
  });

  test('[ST39] have 10,000 keys together, at all depths, however they come; one that has more may lose some', () => {
    const many = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`k${from + n}`, n]));
    const storage = storageOf(createObject('1:0', '1:0', 'root', 'o', many(0, 6_000)));
    const more = updateObject('2:0', '1:0', { deep: [{ a: many(6_000, 9_999) }] });
    expect(send(storage, more).rejected).toEqual([
      { opIds: ['2:0'], reason: `A LiveObject may not hold more than ${VALUE_KEYS_MAX} keys of plain values` },
    ]);
    expect(send(storage, updateObject('2:1', '1:0', { deep: [{ a: many(6_000, 9_998) }] })).rejected).toEqual([]);
    expect(send(storage, updateObject('2:2', '1:0', { last: 1 })).rejected).toHaveLength(1);
    expect(send(storage, updateObject('2:3', '1:0', { k0: { one: 1 } })).rejected).toHaveLength(1);
    expect(send(storage, deleteKey('2:4', '1:0', 'k0'), updateObject('2:5', '1:0', { last: 1 })).rejected).toEqual([]);
    const stored = emptyStorage();
    replayOps(stored, [updateObject('1:0', 'root', many(0, 10_000)), updateObject('1:1', 'root', many(10_000, 20_000))]);
    const loaded = loadStorage(dumpStorage(stored));
    expect(Object.keys(toJson(loaded) as object)).toHaveLength(20_000);
    expect(send(loaded, updateObject('2:0', 'root', { l: 1 })).rejected).toHaveLength(1);
    expect(send(loaded, updateObject('2:1', 'root', { k1: 2 }), deleteKey('2:2', 'root', 'k2')).rejected).toEqual([]);
  });

  test('[ST39] one op brings back all of an object that has as much as may be, and a frame any value that is stored', () => {
    const full = { k: text(FULL) };
    const deep = JSON.parse('['.repeat(32) + ']'.repeat(32));
    const keys = Object.fromEntries(Array.from({ length: VALUE_KEYS_MAX }, (_, n) => [`k${n}`, n]));
    for (const data of [full, { deep }, keys]) {
      expect(send(storageOf(createObject('1:0', '1:0', 'root', 'o')), updateObject('1:1', '1:0', data)).rejected).toEqual([]);
      const back = [{ type: 201, ops: [createObject('1:2', '1:0', 'root', 'o', data)] }];
      expect(decodeSdkFrame(JSON.stringify(back))).toEqual([{ type: 'storage.change', ops: back[0]!.ops }]);
    }
    const styled = [{ type: 201, ops: [createText('1:0', '1:0', 'root', 't', [['a', { deep: deep[0] }]])] }];
    expect(decodeSdkFrame(JSON.stringify(styled))).toHaveLength(1);
  });

  test('[ST28] what was taken back counts as it did before', () => {
    const room = aRoom('ann');
    say(room, { type: 'storage.change', from: id('ann'), ops: [updateObject('1:0', 'root', { k: 1 })] });
    const filled = { op: 'add' as const, path: '/k', value: text(FULL) };
    const failing = { op: 'test' as const, path: '/k', value: 1 };
    for (const _ of [1, 2]) expect(() => say(room, { type: 'storage.patch', operations: [filled, failing] })).toThrow();
    say(room, { type: 'storage.patch', operations: [filled] });
    expect(() => say(room, { type: 'storage.patch', operations: [{ op: 'add', path: '/l', value: 1 }] })).toThrow(REASON);
  });

  test('[ST29] whoever is refused gets the ops back as if applied, then the values as they were, and needs no snapshot', () => {
    const storage = fullObject();
    const op = updateObject('2:0', '1:0', { k: `${text(FULL)}x`, l: 1 });
    expect(send(storage, op)).toEqual({
      replies: [
        op,
        { type: OP.UPDATE_OBJECT, id: '1:0', data: { k: text(FULL) } },
        { type: OP.DELETE_OBJECT_KEY, id: '1:0', key: 'l' },
      ],
      forwards: [],
      journal: [],
      rejected: [{ opIds: ['2:0'], reason: REASON }],
      needsRepair: false,
    });
  });

  const withoutKeysLeft = (value: Json) =>
    storageOf(
      createObject('1:0', '1:0', 'root', 'o'),
      updateObject('1:1', '1:0', Object.fromEntries(Array.from({ length: VALUE_KEYS_MAX - 1 }, (_, n) => [`k${n}`, n]))),
      updateObject('1:2', '1:0', { long: value }),
    );
  const oneKeyMore = (n: number) => updateObject(`2:${n}`, '1:0', { long: { one: 1 } });

  test('[CB69] values that are much longer than what came are told as far as one message may have us write', () => {
    const storage = withoutKeysLeft(text(200_000));
    const ops = Array.from({ length: 10 }, (_, n) => oneKeyMore(n));
    const { replies, rejected, needsRepair } = send(storage, ...ops);
    expect(rejected.map(({ opIds }) => opIds.length)).toEqual([10]);
    expect(replies.filter(({ opId }) => opId === undefined)).toHaveLength(2);
    expect(needsRepair).toBe(true);
  });

  test('[CB70] a large value is walked once, however many ops are held against it', () => {
    let walks = 0;
    const watched = new Proxy<Json[]>(Array(10_000).fill(0), {
      get(target, name, receiver) {
        if (name === '9999') walks += 1;
        return Reflect.get(target, name, receiver) as unknown;
      },
    });
    const storage = withoutKeysLeft(watched);
    send(storage, oneKeyMore(0));
    const before = walks;
    expect(send(storage, ...Array.from({ length: 10 }, (_, n) => oneKeyMore(n + 1))).rejected[0]?.opIds).toHaveLength(10);
    expect([before > 0, walks - before]).toEqual([true, 0]);
  });

  test('[ST29] where a live child would have gone, a snapshot brings it back', () => {
    const storage = fullObject();
    send(storage, createObject('1:2', '1:2', '1:0', 'child'));
    const op = updateObject('2:0', '1:0', { child: text(FULL) });
    expect(send(storage, op)).toMatchObject({ replies: [op], forwards: [], journal: [], needsRepair: true });
    expect(toJson(storage)).toEqual({ o: { k: text(FULL), child: {} } });
  });

  test('[ST28] an object that is too large already may shrink, and is read again from journal and snapshot', () => {
    const parts = [updateObject('1:0', 'root', { a: text(FULL) }), updateObject('1:1', 'root', { b: text(FULL) })];
    const replayed = emptyStorage();
    replayOps(replayed, parts);
    const loaded = loadStorage(dumpStorage(replayed));
    for (const storage of [replayed, loaded]) {
      expect(charactersOf(toJson(storage))).toBeGreaterThan(VALUE_CHARACTERS_MAX);
      expect(send(storage, updateObject('2:0', 'root', { c: 1 })).rejected).toHaveLength(1);
      expect(send(storage, updateObject('2:1', 'root', { a: half })).rejected).toEqual([]);
      expect(send(storage, deleteKey('2:2', 'root', 'b')).rejected).toEqual([]);
      expect(send(storage, updateObject('2:3', 'root', { c: 1 })).rejected).toEqual([]);
    }
  });
});

describe('a back end that sends ops', () => {
  test('[RS20] is refused whole when one of them is, and nothing has changed', () => {
    const room = aRoom('ann');
    const ops = [updateObject('9:0', 'root', { k: text(FULL) }), updateObject('9:1', 'root', { l: 1 }), deleteNode('9:2', '9:9')];
    expect(() => say(room, { type: 'storage.send', ops })).toThrow(
      expect.objectContaining({ code: 'INVALID_STORAGE_MUTATION_REQUEST', facts: { reason: REASON } }),
    );
    expect(isEmptyStorage(room.storage)).toBe(true);
    expect(room.version).toBe(0);
    expect(say(room, { type: 'storage.send', ops: ops.slice(1) })).toContainEqual(expect.objectContaining({ type: 'journal' }));
  });
});
