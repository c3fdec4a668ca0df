/** Edits of texts that were typed before a reconnect, and come after it: based on the text as it was read then, with the places of before. */
import { expect, test } from 'vitest';
import { OP, type Op, type TextOperation } from '../../../src/protocol/storage-ops.ts';
import { emptyRoom } from '../../../src/room/room.ts';
import type { RoomState } from '../../../src/room/shapes.ts';
import { encodeSnapshot, restoreSnapshot } from '../../../src/room/snapshot.ts';
import { aRoom, id, join, newcomer, say } from '../../support/a-room.ts';
import { toJson } from '../../support/storage-documents.ts';

const insert = (index: number, text: string): TextOperation => ({ type: 'insert', index, text });
const textIn = ({ storage }: RoomState, key = 'text'): string =>
  (toJson(storage)[key] as [string][]).map(([run]) => run).join('');

function change(room: RoomState, from: string, ...ops: Op[]): void {
  say(room, { type: 'storage.change', from: id(from), ops });
}

function edit(room: RoomState, from: string, opId: string, baseVersion: number, ...ops: TextOperation[]): void {
  change(room, from, { type: OP.UPDATE_TEXT, id: '1:0', opId, baseVersion, ops });
}

function enter(room: RoomState, name: string): void {
  join(room, newcomer(name));
  say(room, { type: 'storage.fetch', from: id(name) });
}

/** A text that says abc, with ann as actor 1 and bob as actor 2. */
function withPeople(): RoomState {
  const room = aRoom();
  for (const name of ['ann', 'bob']) enter(room, name);
  change(room, 'ann', {
    type: OP.CREATE_TEXT,
    opId: '1:0',
    id: '1:0',
    parentId: 'root',
    parentKey: 'text',
    data: [['abc']],
    version: 0,
  });
  return room;
}

function leave(room: RoomState, name: string): void {
  say(room, { type: 'session.leave', sessionId: id(name) });
}

test('[LT12] what was typed before a reconnect is moved over what others wrote since its session ended', () => {
  const room = withPeople();
  edit(room, 'bob', '2:0', 0, insert(0, '<'));
  leave(room, 'ann');
  edit(room, 'bob', '2:1', 1, insert(1, '>>'));
  enter(room, 'ann again');
  edit(room, 'bob', '2:2', 2, insert(0, '^'));
  edit(room, 'ann again', '1:1', 2, insert(4, 'd'), insert(5, 'e'));
  expect(textIn(room)).toBe('^<>>abcde');
});

test('[LT12] and over all that came since the load, when its session ended before', () => {
  const former = withPeople();
  edit(former, 'bob', '2:0', 0, insert(0, '<'));
  const room = emptyRoom(former.id, { from: 1_001, to: 2_001 });
  restoreSnapshot(room, { version: former.version, bytes: encodeSnapshot(former) });
  enter(room, 'bob again');
  edit(room, 'bob again', '2:1', 1, insert(1, '>>'));
  enter(room, 'ann again');
  edit(room, 'ann again', '1:1', 2, insert(4, 'd'));
  expect(textIn(room)).toBe('<>>abcd');
});

test('[LT12] but not over what was told to a session that came after the load', () => {
  const former = withPeople();
  const room = emptyRoom(former.id, { from: 1_001, to: 2_001 });
  restoreSnapshot(room, { version: former.version, bytes: encodeSnapshot(former) });
  for (const name of ['bob again', 'ann again']) enter(room, name);
  edit(room, 'bob again', '1001:0', 0, insert(0, '<'));
  leave(room, 'ann again');
  enter(room, 'ann for the third time');
  edit(room, 'ann for the third time', '1002:0', 1, insert(4, 'd'));
  expect(textIn(room)).toBe('<abcd');
});

test('[LT12] what was typed in this session, or in one that is still here, is taken by its word', () => {
  const room = withPeople();
  enter(room, 'ann again');
  edit(room, 'bob', '2:0', 0, insert(0, '>>'));
  edit(room, 'ann again', '3:0', 1, insert(5, 'd'));
  edit(room, 'ann again', '1:1', 2, insert(6, 'e'));
  expect(textIn(room)).toBe('>>abcde');
});

test('[LT12] edits of another text move nothing', () => {
  const room = withPeople();
  change(room, 'bob', {
    type: OP.CREATE_TEXT,
    opId: '2:0',
    id: '2:0',
    parentId: 'root',
    parentKey: 'other',
    data: [],
    version: 0,
  });
  leave(room, 'ann');
  for (const [at, letter] of ['x', 'y'].entries())
    change(room, 'bob', { type: OP.UPDATE_TEXT, id: '2:0', opId: `2:${at + 1}`, baseVersion: at, ops: [insert(0, letter)] });
  enter(room, 'ann again');
  edit(room, 'ann again', '1:1', 0, insert(3, 'd'));
  expect([textIn(room), textIn(room, 'other')]).toEqual(['abcd', 'yx']);
});

test('[LT12] of sessions the last thousand to end are known, an older one is taken by its word', () => {
  for (const [others, expected] of [
    [999, '>>abcd'],
    [1_000, '>>adbc'],
  ] as const) {
    const room = withPeople();
    leave(room, 'ann');
    edit(room, 'bob', '2:0', 0, insert(0, '>>'));
    for (let count = 0; count < others; count += 1) {
      join(room, newcomer('somebody'));
      leave(room, 'somebody');
    }
    enter(room, 'ann again');
    edit(room, 'ann again', '1:1', 1, insert(3, 'd'));
    expect(textIn(room)).toBe(expected);
  }
});
