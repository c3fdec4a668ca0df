/** A room whose messages are expensive, beside one whose are not. */
import { expect, test } from 'vitest';
import { CODE, type Message, OP } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';

const server = await aServer();

/** Each edit of so many runs of text takes milliseconds. */
const RUNS = 15_000;
const EDITS = 400;
/** In the turns that the edits take. In one turn, nobody else would be answered before the last of them, but for who asked before. */
const ANSWERS_MIN = 3;

test('[CB58] while one frame of expensive edits is worked off in one room, people in another are answered in between', async () => {
  const roomId = freshRoomId('slow');
  const [al, reader] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'reader' })];
  const bo = await enterRaw(server, { roomId: freshRoomId('calm'), userId: 'bo' });
  await Promise.all([reader.fetchStorage(), bo.fetchStorage()]);
  const text = al.nodeId(0);
  const data = Array.from({ length: RUNS }, (_, run) => ['a', { bold: run % 2 }]);
  al.sendOps({ type: OP.createText, id: text, parentId: 'root', parentKey: 'text', data, version: 0 });
  await reader.takeOps(1);

  al.send(
    ...Array.from({ length: EDITS }, (_, edit): Message => {
      const ops = [{ type: 'insert', index: RUNS / 2, text: 'b', attributes: { edit } }];
      return {
        type: CODE.storageOps,
        ops: [{ type: OP.updateText, opId: al.nodeId(edit + 10), id: text, baseVersion: edit, ops }],
      };
    }),
  );
  let isDone = false;
  const edits = reader.takeOps(EDITS).finally(() => {
    isDone = true;
  });
  let answers = 0;
  while (!isDone) {
    await bo.fetchStorage();
    if (!isDone) answers += 1;
  }
  expect((await edits).map(({ version }) => version)).toEqual(Array.from({ length: EDITS }, (_, edit) => edit + 1));
  expect(answers).toBeGreaterThanOrEqual(ANSWERS_MIN);
});
