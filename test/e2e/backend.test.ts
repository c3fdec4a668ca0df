/** The back end's SDK, method by method: what no other file of this folder asks of it, and a list of what nobody asks yet. */
import { readdirSync, readFileSync } from 'node:fs';
import { Liveblocks } from '@liveblocks/node';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';

const server = await aServer();
const { backend } = server;

/** Methods of what is not served yet. A line goes when a test calls it. */
const NOT_SERVED = [
  // feeds are a beta of the vendor's, outside the contract
  ...['getFeeds', 'createFeed', 'getFeed', 'updateFeed', 'deleteFeed'],
  ...['getFeedMessages', 'createFeedMessage', 'updateFeedMessage', 'deleteFeedMessage'],
  // copilots are no part of what Atrium is
  ...['getAiCopilots', 'createAiCopilot', 'getAiCopilot', 'updateAiCopilot', 'deleteAiCopilot', 'createWebKnowledgeSource'],
  ...['createFileKnowledgeSource', 'deleteFileKnowledgeSource', 'deleteWebKnowledgeSource', 'getKnowledgeSources'],
  ...['getKnowledgeSource', 'getFileKnowledgeSourceMarkdown', 'getWebKnowledgeSourceLinks'],
];

test('[BE1] every method of the SDK is called by a test against a server, or is known not to be served', () => {
  const files = ['test/e2e', 'test/support/e2e'].flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}`));
  const text = files.map((path) => readFileSync(path, 'utf8')).join('\n');
  const methods = Object.getOwnPropertyNames(Liveblocks.prototype).filter((name) => name !== 'constructor');
  const uncalled = methods.filter((name) => !new RegExp(String.raw`\.${name}\(`).test(text));
  expect(uncalled.filter((name) => !NOT_SERVED.includes(name))).toEqual([]);
  expect(NOT_SERVED.filter((name) => !methods.includes(name))).toEqual([]);
});

describe('massMutateStorage', () => {
  test('[BE2] edits every room that matches, hands over what the room is, and no other', async () => {
    const tag = freshRoomId('mass');
    const rooms = Array.from({ length: 23 }, (_, n) => `${tag}:${n}`);
    for (const roomId of rooms) await backend.createRoom(roomId, { defaultAccesses: [], metadata: { batch: tag } });
    const other = `${tag}:other`;
    await backend.createRoom(other, { defaultAccesses: [] });
    const query = { metadata: { batch: tag } };
    const visited: string[] = [];
    await backend.massMutateStorage(
      { query },
      ({ room, root }: any) => {
        visited.push(room.id);
        expect(room.metadata).toEqual({ batch: tag });
        root.set('title', room.id);
      },
      { concurrency: 5 },
    );
    expect(visited.sort()).toEqual([...rooms].sort());
    for (const roomId of rooms) expect(await backend.getStorageDocument(roomId, 'json')).toEqual({ title: roomId });
    expect(await backend.getStorageDocument(other, 'json')).toEqual({});
  });

  test('[BE2] what a room refuses is refused whole: a LiveObject that would grow too large', async () => {
    const tag = freshRoomId('refused');
    await backend.createRoom(tag, { defaultAccesses: [] });
    const tooLong = 'x'.repeat(2_000_000);
    await backend.massMutateStorage({ query: { roomId: { startsWith: tag } } }, ({ root }: any) => {
      root.set('a', tooLong);
      root.set('b', tooLong);
    });
    expect(await backend.getStorageDocument(tag, 'json')).toEqual({}); // the SDK drops the refusal of its last message
    const ops = ['a', 'b'].map((key, n) => ({ type: 3, opId: `9:${n}`, id: 'root', data: { [key]: tooLong } }));
    const answer = await ask(server, roomPath(tag, '/send-message'), { json: { messages: [{ type: 201, ops }] } });
    expect([answer.status, answer.json.error, answer.json.message]).toEqual([
      422,
      'INVALID_STORAGE_MUTATION_REQUEST',
      'A LiveObject may not hold more than 2097152 characters of plain values. Nothing was changed.',
    ]);
  });
});

describe('options of methods', () => {
  test('[BE3] the older tenantId of sessions, identities, rooms and lists is an organisation', async () => {
    const roomId = freshRoomId('tenant');
    await backend.createRoom(roomId, { defaultAccesses: ['*:write'], tenantId: 'acme' });
    expect((await backend.getRoom(roomId)).organizationId).toBe('acme');
    const upserted = { update: {}, create: { defaultAccesses: [], tenantId: 'acme' } } as const;
    expect((await backend.upsertRoom(freshRoomId('upserted'), upserted as never)).organizationId).toBe('acme');
    const { data } = await backend.getRooms({ tenantId: 'acme', query: `roomId^"${roomId}"` });
    expect(data.map(({ id }) => id)).toEqual([roomId]);
    const found: string[] = [];
    for await (const { id } of backend.iterRooms({ tenantId: 'acme', query: { roomId: { startsWith: roomId } } })) found.push(id);
    expect(found).toEqual([roomId]);
    const session = backend.prepareSession('u', { tenantId: 'acme' });
    session.allow(roomId, session.READ_ACCESS);
    for (const { status, body } of [
      await session.authorize(),
      await backend.identifyUser({ userId: 'u', groupIds: [], tenantId: 'acme' }),
    ]) {
      expect(status).toBe(200);
      await enterRaw(server, { roomId, token: JSON.parse(body).token });
    }
  });

  test('[BE3] identifyUser takes an id alone, and userInfo', async () => {
    const roomId = freshRoomId('identity');
    await backend.createRoom(roomId, { defaultAccesses: ['*:read'] });
    const { body } = await backend.identifyUser('u', { userInfo: { name: 'U' } });
    await enterRaw(server, { roomId, token: JSON.parse(body).token });
    expect((await backend.getActiveUsers(roomId)).data).toEqual([
      { type: 'user', id: 'u', connectionId: expect.any(Number), info: { name: 'U' } },
    ]);
  });

  test('[BE3] Yjs documents by key, type and format, and subdocuments by guid', async () => {
    const roomId = freshRoomId('yjs');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const [doc, sub] = [new Y.Doc(), new Y.Doc()];
    doc.getText('text').insert(0, 'bold', { bold: true });
    sub.getMap('m').set('k', 1);
    await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(doc));
    await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(sub), { guid: 'sub-1' });
    const bold = [{ insert: 'bold', attributes: { bold: true } }];
    expect(await backend.getYjsDocument(roomId)).toEqual({ text: 'bold' });
    expect(await backend.getYjsDocument(roomId, { format: true })).toEqual({ text: bold });
    expect(await backend.getYjsDocument(roomId, { key: 'text', type: 'ytext', format: true })).toEqual(bold);
    const copy = new Y.Doc();
    Y.applyUpdate(copy, new Uint8Array(await backend.getYjsDocumentAsBinaryUpdate(roomId, { guid: 'sub-1' })));
    expect(copy.getMap('m').toJSON()).toEqual({ k: 1 });
  });

  test('[BE3] both formats of a Storage document', async () => {
    const roomId = freshRoomId('formats');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const document = { liveblocksType: 'LiveObject', data: { list: { liveblocksType: 'LiveList', data: [1] } } } as const;
    expect(await backend.initializeStorageDocument(roomId, document as never)).toEqual(document);
    expect(await backend.getStorageDocument(roomId)).toEqual(document);
    expect(await backend.getStorageDocument(roomId, 'plain-lson')).toEqual(document);
    expect(await backend.getStorageDocument(roomId, 'json')).toEqual({ list: [1] });
  });

  test('[BE4] a refusal reaches the application with status, message and suggestion', async () => {
    await expect(backend.createRoom('a*', { defaultAccesses: [] })).rejects.toMatchObject({
      status: 422,
      message: "Value at key 'id' may not hold an asterisk.",
      details: expect.stringContaining('Suggestion: '),
    });
  });
});
