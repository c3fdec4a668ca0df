/** Version history as the SDKs use it: made, listed, read and restored in a browser, and by a back end; and versions that nobody asks for. */
import { isDeepStrictEqual } from 'node:util';
import { LiveList, LiveMap, LiveText } from '@liveblocks/client';
import { kInternal, type PrivateRoomApi, type StorageNode } from '@liveblocks/core';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { contractOf } from '../support/e2e/contract.ts';
import { enter, rootOf, saved, storageOf, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { plainEditor, sdkEditor, synchronized, textOf } from '../support/e2e/yjs-clients.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);

/** What the hooks of the SDK call. */
const apiOf = ({ room }: Visitor): PrivateRoomApi => (room as any)[kInternal];
const READER = { '*': ['*:read'] };
const authorsOf = async (visitor: Visitor) =>
  (await apiOf(visitor).listHistoryVersions()).versions.map(({ authors }) => authors.map(({ id }) => id));
async function newest(visitor: Visitor): Promise<string> {
  const { versions } = await apiOf(visitor).listHistoryVersions();
  return versions[0]!.id;
}
async function nodesOf(visitor: Visitor, id: string): Promise<StorageNode[]> {
  const text = await (await apiOf(visitor).fetchStorageHistoryVersion(id)).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('[E2E-V7] a client makes a version, lists it, looks at its Storage, restores it, and deletes it', async () => {
  const roomId = freshRoomId('versions');
  const initialStorage = () => ({
    title: 'first',
    list: new LiveList(['a', 'b']),
    map: new LiveMap([['k', 1]]),
    text: new LiveText([['bold', { b: true }], [' plain']]),
  });
  const ann = await enter(server, { roomId, userId: 'ann', initialStorage });
  const bob = await enter(server, { roomId, userId: 'bob' });
  const root = await rootOf(ann);
  await saved(ann);
  const atFirst = await storageOf(ann);
  await apiOf(ann).createVersionHistorySnapshot();
  const { versions, requestedAt } = await apiOf(bob).listHistoryVersions();
  expect(versions).toEqual([{ id: expect.stringMatching(/^vh_/), createdAt: expect.any(Date), authors: [{ id: 'ann' }] }]);
  expect(Math.abs(requestedAt.getTime() - versions[0]!.createdAt.getTime())).toBeLessThan(60_000);

  root.set('title', 'second');
  root.get('list').delete(0);
  root.get('map').delete('k');
  root.get('text').insert(0, 'more ');
  const atLast = await storageOf(ann);
  await until('bob sees all of it', async () => isDeepStrictEqual(await storageOf(bob), atLast));
  const nodes = await nodesOf(bob, versions[0]!.id);
  expect(apiOf(bob).liveObjectFromNodeStream(nodes).toJSON()).toEqual(atFirst);

  apiOf(bob).reconcileStorageWithNodes(nodes);
  await until('ann sees what was', async () => isDeepStrictEqual(await storageOf(ann), atFirst));
  expect(await storageOf(bob)).toEqual(atFirst);
  bob.room.history.undo();
  await until('ann sees what bob undid', async () => isDeepStrictEqual(await storageOf(ann), atLast));

  await apiOf(bob).createVersionHistorySnapshot();
  expect(await authorsOf(ann)).toEqual([['ann', 'bob'], ['ann']]);
  const { versions: since } = await apiOf(ann).listHistoryVersionsSince({ since: requestedAt });
  expect(since[0]?.id).toBe(await newest(ann));
  await apiOf(bob).deleteHistoryVersion(versions[0]!.id);
  expect(await authorsOf(ann)).toEqual([['ann', 'bob']]);
  expect((await apiOf(ann).fetchStorageHistoryVersion(versions[0]!.id)).status).toBe(404);
  await expect(apiOf(ann).deleteHistoryVersion(versions[0]!.id)).rejects.toThrow(/does not exist.*404/s);
});

test('[E2E-V8] a Yjs document of a version is read in a browser as it was; authors are those who typed, over either client', async () => {
  const roomId = freshRoomId('versions');
  const ann = await sdkEditor(server, { roomId, userId: 'ann' });
  const bob = await plainEditor(server, { roomId, userId: 'bob' });
  ann.doc.getText('text').insert(0, 'one');
  await until('bob has it', () => textOf(bob) === 'one');
  bob.doc.getText('text').insert(3, ' two');
  await until('ann has it', () => textOf(ann) === 'one two');
  await synchronized(ann);
  await apiOf(ann).createVersionHistorySnapshot();
  ann.doc.getText('text').delete(0, 7);
  await until('bob has it', () => textOf(bob) === ''); // the client calls itself synchronized until it has looked at what was typed last
  await apiOf(ann).createVersionHistorySnapshot();
  expect(await authorsOf(ann)).toEqual([['ann'], ['ann', 'bob']]);
  const { versions } = await apiOf(ann).listHistoryVersions();
  const response = await apiOf(ann).fetchYjsHistoryVersion(versions[1]!.id);
  const doc = new Y.Doc();
  Y.applyUpdate(doc, new Uint8Array(await response.arrayBuffer()));
  expect(textOf({ doc })).toBe('one two');
});

test('[E2E-V9] who may only read lists and reads, and makes and deletes nothing', async () => {
  const roomId = freshRoomId('versions');
  const ann = await enter(server, { roomId, userId: 'ann' });
  (await rootOf(ann)).set('a', 1);
  await saved(ann);
  await apiOf(ann).createVersionHistorySnapshot();
  const rea = await enter(server, { roomId, userId: 'rea', permissions: READER });
  const id = await newest(rea);
  expect(await nodesOf(rea, id)).toEqual([['root', { type: 0, data: { a: 1 } }]]);
  await expect(apiOf(rea).deleteHistoryVersion(id)).rejects.toThrow('403');
  await apiOf(rea)
    .createVersionHistorySnapshot()
    .catch(() => undefined); // the SDK looks at no status here
  expect(await authorsOf(ann)).toEqual([['ann']]);
});

test('[E2E-V10] a back end makes, pages through, reads and deletes versions with the SDK', async () => {
  const roomId = await aRoom();
  const doc = new Y.Doc();
  doc.getText('text').insert(0, 'from the back end');
  await server.backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(doc));
  const made: string[] = [];
  for (let n = 0; n < 3; n += 1) made.unshift((await server.backend.createVersionHistorySnapshot(roomId)).data.id);
  const first = await server.backend.getVersionHistory(roomId, { limit: 2 });
  const second = await server.backend.getVersionHistory(roomId, { limit: 2, cursor: first.nextCursor! });
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(made);
  expect([second.nextCursor, first.data[0]!.createdAt]).toEqual([null, expect.any(Date)]);
  const update = new Uint8Array(await server.backend.getYjsVersion({ roomId, versionId: made[0]! }));
  const read = new Y.Doc();
  Y.applyUpdate(read, update);
  expect(textOf({ doc: read })).toBe('from the back end');
  await server.backend.deleteVersion({ roomId, versionId: made[0]! });
  await expect(server.backend.deleteVersion({ roomId, versionId: made[0]! })).rejects.toMatchObject({ status: 404 });
});

test.skipIf(isExternal)('[E2E-V11] versions, and who is to be named by the next one, outlive a restart', async () => {
  const roomId = freshRoomId('versions');
  const names = ['ann', 'bob'];
  const edit = async (userId: string): Promise<void> => {
    const visitor = await enter(server, { roomId, userId });
    (await rootOf(visitor)).set(userId, 1);
    await saved(visitor);
    visitor.leave();
  };
  await edit('early');
  const { id } = (await server.backend.createVersionHistorySnapshot(roomId)).data;
  await Promise.all(names.map(edit));
  await server.restart();
  await edit('cyd');
  await server.backend.createVersionHistorySnapshot(roomId);
  const { data } = await server.backend.getVersionHistory(roomId);
  expect(data.map(({ authors }) => authors.map((author) => author.id).sort())).toEqual([['ann', 'bob', 'cyd'], ['early']]);
  expect(data[1]!.id).toBe(id);
  const { text } = await call(`GET /c/rooms/${encodeURIComponent(roomId)}/versions/${id}/storage`);
  expect(JSON.parse(text)).toEqual(['root', { type: 0, data: { early: 1 } }]);
});

describe.skipIf(isExternal)('with AUTO_VERSION_SECONDS', async () => {
  if (isExternal) return;
  const automatic = await aServer({ AUTO_VERSION_SECONDS: '1' });

  test('[E2E-V12] versions of a room that changes come by themselves, with their authors, and none when it does not', async () => {
    const roomId = freshRoomId('versions');
    const ann = await enter(automatic, { roomId, userId: 'ann' });
    const root = await rootOf(ann);
    root.set('a', 1);
    await until('there is a version', async () => (await authorsOf(ann)).length === 1);
    root.set('a', 2);
    await until('there is another', async () => (await authorsOf(ann)).length === 2);
    const id = await newest(ann);
    expect(await nodesOf(ann, id)).toEqual([['root', { type: 0, data: { a: 2 } }]]);
    expect(await authorsOf(ann)).toEqual([['ann'], ['ann']]);
    const still = await enter(automatic, { roomId: freshRoomId('versions'), userId: 'ann' });
    root.set('a', 3);
    await until('there is a third', async () => (await authorsOf(ann)).length === 3);
    expect(await authorsOf(still)).toEqual([]);
  });
});
