/**
 * What does a schema cost an op, and does the cost grow with the document? Expected: one or two microseconds for a message of one op, in a
 * document of a hundred nodes as of a hundred thousand, because only the places that changed are looked at. Looking at all of it, as an
 * attachment does once, costs some two microseconds a node; a schema of a hundred types some milliseconds, once for all rooms that use it.
 */
import { bench, describe } from 'vitest';
import { asRoomId, asSessionId } from '../../src/base/ids.ts';
import { FULL_ACCESS } from '../../src/protocol/permissions.ts';
import { OP, type Op } from '../../src/protocol/storage-ops.ts';
import { decide, emptyRoom } from '../../src/room/room.ts';
import { checkSchema } from '../../src/room/schema/check.ts';
import { compileSchema } from '../../src/room/schema/compile.ts';
import { matchStorage } from '../../src/room/schema/match.ts';
import { parseSchema } from '../../src/room/schema/parse.ts';
import type { RoomState } from '../../src/room/shapes.ts';
import { applyOps } from '../../src/room/storage/apply.ts';
import { CONTEXT } from './full-room.ts';

const TEXT = `
  type Storage { shapes: LiveMap<string, LiveObject<Shape>>, order: LiveList<string> }
  type Shape { x: number, y: number, kind: "box" | "line" | "text", label?: string, style?: Style, points?: LiveList<LiveObject<Point>> }
  type Style { fill: string, dash?: number[] }
  type Point { x: number, y: number }`;

const from = asSessionId('someone');

/** A board of this many shapes, with one person in it. */
function board(shapes: number, schema: 'with' | 'without'): RoomState {
  const room = emptyRoom(asRoomId('room'), { from: 1, to: 10 });
  const newcomer = { id: from, kind: 'sdk', userId: null, info: null, permissions: FULL_ACCESS } as const;
  decide(room, { type: 'session.join', newcomer }, CONTEXT);
  const ops: Op[] = [
    { type: OP.CREATE_MAP, opId: '1:m', id: '1:m', parentId: 'root', parentKey: 'shapes' },
    { type: OP.CREATE_LIST, opId: '1:l', id: '1:l', parentId: 'root', parentKey: 'order' },
  ];
  for (let at = 0; at < shapes; at += 1) {
    const data = { x: at, y: 0, kind: 'box', style: { fill: '#fff' } };
    ops.push({ type: OP.CREATE_OBJECT, opId: `1:${at}`, id: `1:${at}`, parentId: '1:m', parentKey: `shape ${at}`, data });
  }
  applyOps(room.storage, ops, { actor: 1 });
  if (schema === 'with') decide(room, { type: 'schema.attach', schema: { id: 's@1', body: TEXT } }, CONTEXT);
  return room;
}

/** Messages of one op each, all different. */
function sender(room: RoomState, shapes: number, opOf: (at: number) => Op): () => void {
  let sent = 0;
  return () => {
    sent += 1;
    decide(room, { type: 'storage.change', from, ops: [opOf(sent % shapes)] }, CONTEXT);
  };
}

describe.each([100, 100_000])('a shape is moved on a board of %i', (shapes) => {
  const move = (at: number): Op => ({ type: OP.UPDATE_OBJECT, opId: '1:x', id: `1:${at}`, data: { x: at, y: at } });
  bench('without a schema', sender(board(shapes, 'without'), shapes, move));
  bench('with a schema', sender(board(shapes, 'with'), shapes, move));
});

describe.each([100, 100_000])('a shape is replaced on a board of %i', (shapes) => {
  let made = 0;
  const replace = (at: number): Op => {
    made += 1;
    const data = { x: 1, y: 1, kind: 'line', style: { fill: '#000', dash: [1, 2] } };
    return { type: OP.CREATE_OBJECT, opId: '1:y', id: `2:${made}`, parentId: '1:m', parentKey: `shape ${at}`, data };
  };
  bench('without a schema', sender(board(shapes, 'without'), shapes, replace));
  bench('with a schema', sender(board(shapes, 'with'), shapes, replace));
});

describe('once', () => {
  const schema = compileSchema(TEXT);
  const { storage } = board(100_000, 'without');
  bench('the whole of 100,000 shapes is matched', () => {
    matchStorage(schema, storage);
  });

  const types = Array.from(
    { length: 50 },
    (_, at) => `type T${at} { a: string, b?: LiveList<T${(at + 1) % 50}X>, c: "x" | "y" | null }`,
  );
  const plain = Array.from({ length: 50 }, (_, at) => `type T${at}X { a: number, b?: string[] }`);
  const text = ['type Storage { t: LiveObject<T0> }', ...types, ...plain].join('\n');
  bench('a schema of a hundred types is parsed and checked', () => {
    checkSchema(parseSchema(text));
  });
});
