import { expect, test } from 'vitest';
import { asSessionId } from '../../src/base/ids.ts';
import { commandsOf } from '../../src/room/frame-commands.ts';

const from = asSessionId('w-1');
const edit = { type: 10, id: '1:0', opId: '1:1', baseVersion: 3, ops: [{ type: 'insert', index: 0, text: 'a' }] };
const set = { type: 3, id: 'root', opId: '1:2', data: { a: 1 } };
const opIdsIn = (...messages: object[]): unknown[] =>
  commandsOf(JSON.stringify(messages), { kind: 'sdk', from }).map((command) =>
    command.type === 'storage.change' ? command.ops.map(({ opId }) => opId) : command.type,
  );

test('[FR7] edits of texts behind a fetch, in its frame, are left to be sent again; what else comes is heard', () => {
  const ops = { type: 201, ops: [edit, set] };
  expect(opIdsIn({ type: 200 }, ops)).toEqual(['storage.fetch', ['1:2']]);
  expect(opIdsIn(ops, { type: 200 })).toEqual([['1:1', '1:2'], 'storage.fetch']);
  expect(opIdsIn(ops)).toEqual([['1:1', '1:2']]);
});
