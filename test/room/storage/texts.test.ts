import { expect, test } from 'vitest';
import { type Pieces, textIn } from '../../../src/base/pieces.ts';
import { CRDT } from '../../../src/protocol/storage-ops.ts';
import type { RoomState } from '../../../src/room/shapes.ts';
import { letTextsGo, piecesOf, TextWriter } from '../../../src/room/storage/texts.ts';
import { insertNode } from '../../../src/room/storage/tree.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { compactNodes, nodesIn, serializedNodes } from '../../support/storage-documents.ts';
import { updateObject } from './ops.ts';

function roomOf(nodes: number): RoomState {
  const room = aRoom('ann', 'bo');
  const { storage } = room;
  for (let node = 1; node < nodes; node += 1)
    insertNode(storage, { id: `1:${node}`, parent: storage.root, key: `key ${node}` }, { type: CRDT.REGISTER, data: node });
  return room;
}

function fetched(room: RoomState, name: string): Pieces {
  const [effect] = say(room, { type: 'storage.fetch', from: id(name) });
  if (effect?.type !== 'send' || effect.message.type !== 'storage.state') throw new Error('was told no state');
  return effect.message.frame;
}

const messagesOf = (frame: Pieces): { type: number; nodes?: unknown[] }[] => JSON.parse(textIn(frame));
const nodesOf = (frame: Pieces) => messagesOf(frame).flatMap(({ nodes = [] }) => nodes);
const change = (room: RoomState, title: string) =>
  say(room, { type: 'storage.change', from: id('bo'), ops: [updateObject(`2:${title}`, 'root', { title })] });
const linesOf = (room: RoomState) => textIn(piecesOf(room.storage, { format: 'lines' }));

test('[DO7] who fetches a large Storage shares its text, until it changes', () => {
  const room = roomOf(4_001);
  const first = fetched(room, 'ann');
  expect(messagesOf(first).map(({ type, nodes }) => [type, nodes?.length])).toEqual([
    [210, 2_000],
    [210, 2_000],
    [210, 1],
    [211, undefined],
  ]);
  expect(nodesOf(first)).toEqual(compactNodes(room.storage));
  expect(fetched(room, 'bo')).toBe(first);
  change(room, 'x');
  const next = fetched(room, 'ann');
  expect(nodesOf(next)[0]).toEqual(['root', { title: 'x' }]);
  expect(nodesOf(first)[0]).toEqual(['root', {}]);
});

test('[DO7] a change that is refused costs the text, and one elsewhere in the room does not', () => {
  const room = roomOf(2_500);
  const first = fetched(room, 'ann');
  room.version += 1;
  expect(fetched(room, 'bo')).toBe(first);
  const operations = [
    { op: 'add', path: '/new', value: 1 },
    { op: 'test', path: '/new', value: 2 },
  ] as const;
  expect(() => say(room, { type: 'storage.patch', operations })).toThrow();
  const next = fetched(room, 'bo');
  expect(next).toEqual(first);
  expect(next).not.toBe(first);
  say(room, { type: 'storage.delete' });
  expect(nodesOf(fetched(room, 'bo'))).toEqual([['root', {}]]);
});

test('[DO8] a large one that has changed shares in each form all that reads as before', () => {
  const room = roomOf(5_000);
  const forms = [{ format: 'json', typeKey: '' }, { format: 'plain-lson', typeKey: 'a' }, { format: 'lines' }] as const;
  const written = (): Pieces[] => [...forms.map((form) => piecesOf(room.storage, form)), fetched(room, 'ann')];
  const before = written();
  change(room, 'x');
  for (const [at, after] of written().entries()) {
    expect(after.length).toBeGreaterThan(1);
    expect(after.slice(1)).toEqual(before[at]!.slice(1));
    for (const [piece, bytes] of after.slice(1).entries()) expect(bytes).toBe(before[at]![piece + 1]);
    expect(after[0]).not.toEqual(before[at]![0]);
  }
});

test.each([1, 3_000])('[ST18] all %i nodes stand in full in lines, and in an array', (nodes) => {
  const room = roomOf(nodes);
  const array = textIn(piecesOf(room.storage, { format: 'array' }));
  expect(JSON.parse(array)).toEqual(serializedNodes(room.storage));
  expect(`[${linesOf(room).trimEnd().replaceAll('\n', ',')}]`).toBe(array);
});

test('[DO8] two that are written in turns, with what earlier ones left, do not mix', () => {
  const room = roomOf(5_000);
  const forms = [{ format: 'json', typeKey: '' }, { format: 'lines' }] as const;
  for (const form of forms) piecesOf(room.storage, form);
  change(room, 'x');
  const writers = forms.map((form) => new TextWriter(room.storage, form));
  const areDone = [false, false];
  while (areDone.includes(false)) for (const [at, writer] of writers.entries()) areDone[at] ||= writer.write(100);
  for (const [at, writer] of writers.entries()) {
    const text = textIn(writer.keep());
    expect(text).toBe(textIn(piecesOf({ ...room.storage, texts: null }, forms[at]!)));
  }
});

test('[DO7] who asks for all nodes under a key shares them with the next', () => {
  const room = roomOf(1_000);
  const lines = ['a', 'b'].map((key) => {
    const effects = say(room, { type: 'storage.nodes', request: { id: key, digest: key } });
    const answer = effects.find((effect) => effect.type === 'reply')!;
    return (answer.value as { lines: Pieces }).lines;
  });
  expect(lines[1]).toBe(lines[0]);
});

test('[DO7] what nobody asks for any more is let go', () => {
  const room = roomOf(2_500);
  const first = fetched(room, 'ann');
  for (let second = 0; second < 30; second += 1) letTextsGo(room.storage);
  expect(fetched(room, 'ann')).toBe(first);
  for (let second = 0; second < 31; second += 1) letTextsGo(room.storage);
  expect(room.storage.texts).toBeNull();
  expect(nodesOf(fetched(room, 'ann'))).toEqual(nodesOf(first));
});

test('[DO7] a form that nobody asks for is let go, whatever is asked for in another', () => {
  const room = roomOf(2_500);
  piecesOf(room.storage, { format: 'lines' });
  for (let second = 0; second < 31; second += 1) {
    fetched(room, 'ann');
    letTextsGo(room.storage);
  }
  expect([...room.storage.texts!.written.keys()]).toEqual(['frame']);
});

test('[DO7] the text of a small one is not kept', () => {
  const room = roomOf(999);
  expect(nodesOf(fetched(room, 'ann'))).toEqual(compactNodes(room.storage));
  expect(room.storage.texts).toBeNull();
});

test('[DO7] each form is kept beside the others, and all go with the next change', () => {
  const room = roomOf(1_000);
  const forms = [{ format: 'json', typeKey: '' }, { format: 'plain-lson', typeKey: 'a' }, { format: 'lines' }] as const;
  const written = forms.map((form) => piecesOf(room.storage, form));
  const compact = fetched(room, 'ann');
  expect(forms.map((form, at) => piecesOf(room.storage, form) === written[at])).toEqual([true, true, true]);
  expect(nodesIn(linesOf(room))).toEqual(serializedNodes(room.storage));
  change(room, 'y');
  expect(forms.map((form, at) => piecesOf(room.storage, form) === written[at])).toEqual([false, false, false]);
  expect(fetched(room, 'bo')).not.toBe(compact);
  expect(nodesIn(linesOf(room))[0]).toEqual(['root', { type: 0, data: { title: 'y' } }]);
});
