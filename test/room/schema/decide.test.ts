import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { OP, type Op } from '../../../src/protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX } from '../../../src/protocol/storage-values.ts';
import type { AttachedAt, Effect, RoomState } from '../../../src/room/shapes.ts';
import { POSITION_LENGTH_MAX } from '../../../src/room/storage/list-places.ts';
import type { PatchOperation } from '../../../src/room/storage/patch.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { serializedNodes } from '../../support/storage-documents.ts';
import {
  createList,
  createObject,
  createRegister,
  createText,
  deleteKey,
  deleteNode,
  updateObject,
  updateText,
} from '../storage/ops.ts';

const BODY =
  'type Storage { title: string, count?: number, list?: LiveList<string>, text?: LiveText, a?: LiveObject<A> } type A { x?: string }';
const attach = (room: RoomState, body = BODY) => say(room, { type: 'schema.attach', schema: { id: 's@1', body } });
const change = (room: RoomState, ...ops: Op[]) => say(room, { type: 'storage.change', from: id('ann'), ops });

/** A room of two, with a schema that its Storage matches. */
function bound(): RoomState {
  const room = aRoom('ann', 'bo');
  for (const from of ['ann', 'bo']) say(room, { type: 'storage.fetch', from: id(from) });
  change(
    room,
    updateObject('1:0', 'root', { title: 'x', count: 1 }),
    createList('1:1', '1:1', 'root', 'list'),
    createText('1:2', '1:2', 'root', 'text', [['hi']]),
  );
  attach(room);
  return room;
}

const sends = (effects: readonly Effect[]) => effects.flatMap((effect) => (effect.type === 'send' ? [effect] : []));
const types = (effects: readonly Effect[]) => sends(effects).map(({ message }) => message.type);
const rejection = (effects: readonly Effect[]) =>
  sends(effects)
    .map(({ message }) => message)
    .find(({ type }) => type === 'storage.rejected');

describe('attaching', () => {
  test('[SC30] replies which decision it was, once all it looked at is durable', () => {
    const room = aRoom('ann');
    room.claim = { stream: 5, epoch: 3 };
    change(room, updateObject('1:0', 'root', { title: 'x' }));
    expect(attach(room)).toEqual([{ type: 'reply', value: { stream: 5, epoch: 3, decision: room.decision }, when: 'durable' }]);
  });

  test('[SC31] a Storage that does not match keeps the schema it has, or none', () => {
    const room = aRoom('ann');
    expect(() => attach(room)).toThrow(
      'The Storage of the room does not match the schema "s@1": at "/title" the property "title" of Storage is missing.',
    );
    expect(room.schema).toBeNull();
    const other = bound();
    expect(() => attach(other, 'type Storage {}')).toThrow(expect.objectContaining({ code: 'SCHEMA_NOT_COMPATIBLE' }));
    expect(rejection(change(other, updateObject('1:9', 'root', { title: 3 })))).toBeDefined();
  });

  test('[SC32] a detachment ends what was attached up to it, not what came later', () => {
    const room = bound();
    const { at } = room.schema!;
    const detach = (upTo: AttachedAt) => say(room, { type: 'schema.detach', upTo });
    detach({ ...at, decision: at.decision - 1 });
    expect(room.schema).not.toBeNull();
    detach({ ...at, epoch: at.epoch - 1, decision: at.decision + 1 });
    expect(room.schema).not.toBeNull();
    detach(at);
    expect(room.schema).toBeNull();
    attach(room);
    detach({ ...room.schema!.at, epoch: 1, decision: 0 });
    expect(room.schema).toBeNull();
  });
});

describe('a message that the schema refuses', () => {
  test('[SC33] changes nothing: no record, no forward, no version; what was right in it goes, too', () => {
    const room = bound();
    const before = serializedNodes(room.storage);
    const { version } = room;
    const effects = change(room, updateObject('1:5', 'root', { count: 2 }), createRegister('1:6', '1:6', '1:1', '!', 3));
    expect(effects.filter(({ type }) => type === 'journal')).toEqual([]);
    expect(sends(effects).every(({ to }) => 'only' in to && to.only === 'ann')).toBe(true);
    expect(room.version).toBe(version);
    expect(new Map(serializedNodes(room.storage))).toEqual(new Map(before));
    expect(rejection(effects)).toEqual({
      type: 'storage.rejected',
      opIds: ['1:5', '1:6'],
      reason:
        'The Storage would not match the schema s@1: at "/list/0" the property "0" of LiveList<string> has the wrong type: it must be string, and is 3.',
    });
  });

  test('[SC34] of plain values comes back as echo and repair of the keys, then the reason: no snapshot, so no client fills in for ever', () => {
    const ops = [
      updateObject('1:5', 'root', { title: 3 }),
      updateObject('1:6', 'root', { other: 1 }),
      deleteKey('1:7', 'root', 'count'),
      createObject('1:8', '1:8', 'root', 'new', { y: 1 }),
    ];
    const effects = change(bound(), ...ops);
    expect(sends(effects)[0]?.message).toEqual({
      type: 'storage.ops',
      ops: [
        ...ops,
        { type: OP.UPDATE_OBJECT, id: 'root', data: { title: 'x' } },
        { type: OP.DELETE_OBJECT_KEY, id: 'root', key: 'other' },
        { type: OP.UPDATE_OBJECT, id: 'root', data: { count: 1 } },
        { type: OP.DELETE_OBJECT_KEY, id: 'root', key: 'new' },
      ],
    });
    expect(types(effects)).toEqual(['storage.ops', 'storage.rejected']);
  });

  test.each<[string, Op[]]>([
    ['a node that must come back', [deleteNode('1:5', '1:1'), updateObject('1:6', 'root', { title: 1 })]],
    ['an item that must go', [createRegister('1:5', '1:5', '1:1', '!', 1)]],
    [
      'a text that must be as before',
      [updateText('1:5', '1:2', 0, [{ type: 'insert', index: 0, text: 'y' }]), updateObject('1:6', 'root', { title: 1 })],
    ],
  ])('[SC35] with %s comes back with a snapshot, before the reason', (_, ops) => {
    expect(types(change(bound(), ...ops))).toEqual(['storage.ops', 'storage.state', 'storage.rejected']);
  });

  test('[SC81] says of values that were refused for their size, too, what they are', () => {
    const room = bound();
    room.schema = null;
    const half = 'x'.repeat(VALUE_CHARACTERS_MAX / 2);
    change(room, updateObject('1:5', 'root', { title: half, count: 1 }));
    attach(room);
    const ops = [updateObject('1:6', 'root', { count: 2, other: half }), updateObject('1:7', 'root', { title: 3 })];
    const effects = change(room, ...ops);
    const fixes = [
      { type: OP.UPDATE_OBJECT, id: 'root', data: { title: half } },
      { type: OP.UPDATE_OBJECT, id: 'root', data: { count: 1 } },
      { type: OP.DELETE_OBJECT_KEY, id: 'root', key: 'other' },
    ];
    expect(sends(effects)[0]?.message).toEqual({ type: 'storage.ops', ops: [...ops, ...fixes] });
    expect(types(effects)).toEqual(['storage.ops', 'storage.rejected']);
  });

  test('[SC81] brings back with a snapshot what was refused for itself and is more than a value', () => {
    const over = updateObject('1:5', 'root', { list: 'x'.repeat(VALUE_CHARACTERS_MAX) });
    const place = createRegister('1:6', '1:6', '1:1', '~'.repeat(POSITION_LENGTH_MAX + 1), 'a');
    for (const op of [over, place])
      expect(types(change(bound(), op, updateObject('1:9', 'root', { title: 1 })))).toEqual([
        'storage.ops',
        'storage.state',
        'storage.rejected',
      ]);
  });

  test('[SC36] ends an edit of a text with nothing of it left', () => {
    const effects = change(
      bound(),
      updateText('1:5', '1:2', 0, [{ type: 'insert', index: 0, text: 'y' }]),
      updateObject('1:6', 'root', { title: 1 }),
    );
    expect(sends(effects)[0]?.message).toMatchObject({
      ops: [{ type: OP.UPDATE_TEXT, opId: '1:5', baseVersion: 0, version: 0, ops: [] }, { opId: '1:6' }],
    });
  });
});

test('[SC37] what is allowed is as without a schema, texts and moves included', () => {
  const ops = [
    updateObject('1:5', 'root', { title: 'y' }),
    createRegister('1:6', '1:6', '1:1', '!', 'a'),
    updateText('1:7', '1:2', 0, [{ type: 'insert', index: 0, text: 'y' }]),
  ];
  const room = bound();
  const free = bound();
  free.schema = null;
  expect(change(room, ...ops)).toEqual(change(free, ...ops));
});

test('[SC38] a Storage that was deleted must match as a whole when it is filled again', () => {
  const room = bound();
  say(room, { type: 'storage.delete' });
  expect(rejection(change(room, updateObject('1:5', 'root', { count: 1 })))).toMatchObject({
    reason: expect.stringContaining('"title" of Storage is missing'),
  });
  expect(rejection(change(room, updateObject('1:6', 'root', { title: 'x' })))).toBeUndefined();
});

test('[SC82] in a Storage that was deleted, what changes nothing is no reason to refuse', () => {
  const room = bound();
  say(room, { type: 'storage.delete' });
  const { version } = room;
  const patch = (...operations: PatchOperation[]) => say(room, { type: 'storage.patch', operations });
  expect(patch()).toContainEqual({ type: 'reply', value: null, when: 'durable' });
  expect(rejection(change(room, deleteKey('1:5', '1:1', 'count')))).toBeUndefined();
  expect(room.version).toBe(version);
  expect(() => patch({ op: 'add', path: '/count', value: 1 })).toThrow('"title" of Storage is missing');
  const root = { serviceType: 'LiveObject', data: {} };
  expect(() => say(room, { type: 'storage.initialize', root, typeKey: 'serviceType' })).toThrow('"title" of Storage is missing');
});

test('[SC84] a patch whose object or array became live where the schema wants a plain one says so, and what to use', () => {
  const room = aRoom();
  attach(room, 'type Storage { o?: { x: string }, a?: string[], l?: LiveList<string>, t?: string }');
  const refusal = (path: string, value: Json) => {
    try {
      say(room, { type: 'storage.patch', operations: [{ op: 'add', path, value }] });
    } catch (error) {
      return (error as Error).message;
    }
    return 'taken';
  };
  const hint =
    'a JSON Patch makes a LiveObject of an object and a LiveList of an array: plain ones are set with mutateStorage of the SDK';
  expect(refusal('/o', { x: 'y' })).toContain(`must be { x: string }, and is a LiveObject; ${hint}`);
  expect(refusal('/a', ['y'])).toContain(`and is a LiveList; ${hint}`);
  expect(refusal('/t', 3)).not.toContain(hint);
  expect(refusal('/l', ['y'])).toBe('taken');
});
