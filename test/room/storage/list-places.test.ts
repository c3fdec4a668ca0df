import { describe, expect, test } from 'vitest';
import type { Op } from '../../../src/protocol/storage-ops.ts';
import { replayOps } from '../../../src/room/storage/apply.ts';
import { POSITION_LENGTH_MAX } from '../../../src/room/storage/list-places.ts';
import { SURPLUS_CHARACTERS_MAX } from '../../../src/room/storage/surplus.ts';
import { emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { aRoom, id, say } from '../../support/a-room.ts';
import { toJson } from '../../support/storage-documents.ts';
import { createList, createRegister, createText, deleteNode, moveItem, send, storageOf, updateText } from './ops.ts';

const LONGEST = '~'.repeat(POSITION_LENGTH_MAX);
const TOO_LONG = `A position in a list may not be longer than ${POSITION_LENGTH_MAX} characters`;
const TOO_MUCH = `One message may not make us add more than ${SURPLUS_CHARACTERS_MAX} characters of list positions and repeated texts`;

const list = createList('1:0', '1:0', 'root', 'list');
const item = (n: string, parentKey: string, intent: { intent?: 'set' | 'push'; deletedId?: string } = {}) =>
  createRegister(n, n, '1:0', parentKey, n, intent);
const itemsIn = (storage: Storage) => toJson(storage).list;
const keysOf = (ops: readonly Op[]) => ops.map((op) => (op as { parentKey: string }).parentKey);
const many = (count: number, make: (n: string) => Op) => Array.from({ length: count }, (_, n) => make(`2:${n}`));
/** What counts of positions that all were asked for as one of so many characters: 64 more are free. */
const counted = (keys: readonly string[], asked: number) =>
  keys.reduce((sum, { length }) => sum + Math.max(0, length - asked - 64), 0);

describe('the length of a position', () => {
  test('[CB12] has a bound; whoever asks for a longer one learns why, nothing changes, and a snapshot follows', () => {
    const storage = storageOf(list, item('1:1', '!'));
    expect(send(storage, item('2:0', LONGEST)).rejected).toEqual([]);
    const refused = { journal: [], forwards: [], needsRepair: true };
    for (const op of [
      item('2:1', ` ${LONGEST}`),
      item('2:1', ` ${LONGEST}`, { intent: 'set', deletedId: '1:1' }),
      item('2:1', '!', { intent: 'push' }),
      item('2:1', LONGEST),
      moveItem('2:1', '1:1', `~${LONGEST}`),
      moveItem('2:1', '1:1', LONGEST),
    ])
      expect(send(storage, op)).toMatchObject({ ...refused, rejected: [{ opIds: ['2:1'], reason: TOO_LONG }] });
    expect(itemsIn(storage)).toEqual(['1:1', '2:0']);
  });

  test('[CB12] is measured when the position is one: spaces at its end and what lies under maps do not count', () => {
    const storage = storageOf(list, createRegister('1:1', '1:1', 'root', LONGEST.repeat(2), 1));
    expect(send(storage, item('2:0', `a${' '.repeat(POSITION_LENGTH_MAX)}`)).rejected).toEqual([]);
    expect(itemsIn(storage)).toEqual(['2:0']);
  });

  test('[CB12] may be more in what was stored before: its items are read, replaced, moved and deleted as ever', () => {
    const storage = emptyStorage();
    const long = LONGEST.repeat(2);
    replayOps(storage, [list, item('1:1', '!'), item('1:2', long), item('1:3', '!', { intent: 'push' })]);
    expect(itemsIn(storage)).toEqual(['1:1', '1:2', '1:3']);
    const { rejected } = send(
      storage,
      moveItem('2:0', '1:2', long),
      item('2:1', long, { intent: 'set', deletedId: '1:2' }),
      moveItem('2:2', '1:3', '"'),
      item('2:3', '!'),
    );
    expect(rejected).toEqual([]);
    expect(itemsIn(storage)).toEqual(['1:1', '2:3', '1:3', '2:1']);
    expect(send(storage, item('2:4', '!', { intent: 'push' })).rejected).toEqual([{ opIds: ['2:4'], reason: TOO_LONG }]);
    expect(send(storage, deleteNode('2:5', '2:1'), item('2:6', '!', { intent: 'push' })).rejected).toEqual([]);
  });
});

describe('the positions that one message makes', () => {
  test('[CB13] count where a set goes to an item at a long one', () => {
    const storage = storageOf(list, item('1:1', '!'), item('1:2', '!!'));
    send(storage, moveItem('1:9', '1:2', '~'.repeat(9_000)));
    let replaced = '1:2';
    const sets = many(31, (n) => {
      const op = item(n, '!', { intent: 'set', deletedId: replaced });
      replaced = n;
      return op;
    });
    const { journal, rejected } = send(storage, ...sets);
    expect(counted(keysOf(journal).slice(1), 1)).toBeLessThanOrEqual(SURPLUS_CHARACTERS_MAX);
    expect(counted(keysOf(journal), 1)).toBeGreaterThan(SURPLUS_CHARACTERS_MAX);
    expect(rejected).toEqual([{ opIds: ['2:30'], reason: TOO_MUCH }]);
    expect(itemsIn(storage)).toEqual(['1:1', '2:29']);
  });

  test.each<[string, string, (n: string) => Op]>([
    ['pushes behind a long one', '~'.repeat(9_000), (n) => item(n, '!', { intent: 'push' })],
    ['inserts at a taken one', '!', (n) => item(n, '!')],
    ['inserts before a long one', `!${' '.repeat(9_000)}!`, (n) => item(n, '!')],
  ])('[CB13] have a bound together, beyond what it brings: %s', (_, place, op) => {
    const storage = storageOf(list, ...(place === '!' ? [] : [item('1:1', '!')]), item('1:2', place));
    const { journal, rejected } = send(storage, ...many(4_000, op));
    const keys = keysOf(journal);
    expect(counted(keys.slice(0, -1), 1)).toBeLessThanOrEqual(SURPLUS_CHARACTERS_MAX);
    expect(counted(keys, 1)).toBeGreaterThan(SURPLUS_CHARACTERS_MAX);
    expect(rejected).toEqual([
      {
        opIds: many(4_000, op)
          .slice(journal.length)
          .map((one) => one.opId),
        reason: TOO_MUCH,
      },
    ]);
    // What the next one may make is its own; a free place costs nothing.
    expect(send(storage, { ...op('3:0'), opId: '3:0' }).rejected).toEqual([]);
    expect(send(storage, ...many(4_000, op).slice(-10)).rejected).toEqual([]);
  });

  test('[CB13] count by what they are longer than those asked for: long ones that meet cost nothing', () => {
    const long = (n: string) => `${'!'.repeat(9_000)}${n.replace(':', '')}!`;
    const storage = storageOf(list, ...many(200, (n) => ({ ...item(n, long(n)), opId: n.replace('2:', '1:') }) as Op));
    const { journal, rejected } = send(storage, ...many(200, (n) => item(n.replace('2:', '3:'), long(n))));
    expect(rejected).toEqual([]);
    expect(journal).toHaveLength(200);
  });

  test('[CB13] 64 characters more than asked for are free: everything may be pushed at one position', () => {
    const storage = storageOf(list);
    const { journal, rejected } = send(storage, ...many(100_000, (n) => item(n, '!', { intent: 'push' })));
    expect(rejected).toEqual([]);
    expect(keysOf(journal).reduce((sum, key) => sum + key.length - 1, 0)).toBeGreaterThan(SURPLUS_CHARACTERS_MAX);
  });

  test('[CB13] are refused of a back end with the whole of its message', () => {
    const room = aRoom('ann');
    room.numbers.next = 10;
    say(room, { type: 'storage.change', from: id('ann'), ops: [list, item('1:1', '~'.repeat(9_000))] });
    const ops = many(100, (n) => item(n.replace('2:', '9:'), '!', { intent: 'push' })).map((op, n) => ({
      ...op,
      opId: `9:${n}`,
    }));
    expect(() => say(room, { type: 'storage.send', ops })).toThrow(TOO_MUCH);
    expect(itemsIn(room.storage)).toEqual(['1:1']);
  });
});

describe('a text that is created again', () => {
  test('[CB15] is told as it is now until one message has had enough told of it, then its creation is refused', () => {
    const half = 'x'.repeat(SURPLUS_CHARACTERS_MAX / 2 + 65);
    const storage = storageOf(createText('1:0', '1:0', 'root', 'text', [['']]), createRegister('1:1', '1:1', 'root', 'k', 1));
    send(storage, updateText('1:2', '1:0', 0, [{ type: 'insert', index: 0, text: half }]));
    const again = many(4, (n) => createText(n, '1:0', 'root', 'text', []));
    const known = createRegister('2:9', '1:1', 'root', 'k', 1);
    const { replies, rejected, needsRepair } = send(storage, ...again, known);
    // The refused ones come back as they are, so that nothing stays locked; what the text is now says the snapshot.
    const told = again.map((op, at) => (at < 2 ? { ...op, data: [[half]], version: 1 } : op));
    expect([replies, needsRepair]).toEqual([[...told, known], true]);
    expect(rejected).toEqual([{ opIds: ['2:2', '2:3'], reason: TOO_MUCH }]);
  });
});
