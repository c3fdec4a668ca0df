/** The contract's table Version history, row by row, over HTTP; and the routes of the SDK beside them. @see contract.test.ts */
import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { OP } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { type Answer, ask } from '../support/e2e/rest.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { accessTokenFor, idTokenFor } from '../support/e2e/tokens.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);

const node = (liveblocksType: string, data: unknown) => ({ liveblocksType, data });
const typed = (text: string): Uint8Array => {
  const doc = new Y.Doc();
  doc.getText('text').insert(0, text);
  return Y.encodeStateAsUpdate(doc);
};
const put = (roomId: string, text: string, query = '') =>
  call(`PUT ${at(roomId)}/ydoc${query}`, { body: typed(text), contentType: 'application/octet-stream' });
const versions = (roomId: string, query = '') => call(`GET ${at(roomId)}/versions${query}`);
async function aVersion(roomId: string): Promise<string> {
  const { status, text, json } = await call(`POST ${at(roomId)}/versions`);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return json.data.id;
}
async function bytesOf(
  path: string,
  bearer = server.secretKey,
): Promise<{ status: number; type: string | null; bytes: Uint8Array }> {
  const response = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, type: response.headers.get('content-type'), bytes };
}
const textIn = (update: Uint8Array): string => {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, update);
  return doc.getText('text').toString();
};
const idsIn = ({ json }: Answer): string[] => json.data.map(({ id }: { id: string }) => id);

test('[contract: POST /rooms/{roomId}/versions] 200 with the id alone; a body is not read', async () => {
  const roomId = await aRoom();
  for (const body of [undefined, '{}', '{"a":1}', 'no json']) {
    const { status, json } = await call(`POST ${at(roomId)}/versions`, body === undefined ? {} : { body });
    expect([status, json]).toEqual([200, { data: { id: expect.stringMatching(/^vh_[\w-]{21}$/) } }]);
  }
  expect(idsIn(await versions(roomId))).toHaveLength(4);
});

test('[contract: POST /rooms/{roomId}/versions] it covers Storage and Yjs documents of one moment', async () => {
  const roomId = await aRoom();
  await call(`POST ${at(roomId)}/storage`, { json: node('LiveObject', { title: 'first', list: node('LiveList', [1, 2]) }) });
  await put(roomId, 'first');
  await put(roomId, 'inner', '?guid=sub');
  const id = await aVersion(roomId);
  await call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'remove', path: '/list' }] });
  await put(roomId, ' and more');
  const path = `/v2/rooms/${encodeURIComponent(roomId)}/versions/${id}`;
  expect(textIn((await bytesOf(`${path}/yjs`)).bytes)).toBe('first');
  expect(textIn((await bytesOf(`${path}/yjs?guid=sub`)).bytes)).toBe('inner');
  const { text } = await call(`GET /c${at(roomId)}/versions/${id}/storage`);
  const nodes = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(nodes).toMatchObject([
    ['root', { type: 0, data: { title: 'first' } }],
    [expect.any(String), { type: 1, parentId: 'root', parentKey: 'list' }],
    [expect.any(String), { type: 3, data: 1 }],
    [expect.any(String), { type: 3, data: 2 }],
  ]);
});

test('[contract: GET /rooms/{roomId}/versions] 200, newest first, with the exact keys of a version and its authors', async () => {
  const roomId = await aRoom();
  expect((await versions(roomId)).json).toEqual({ nextCursor: null, data: [] });
  const sinceMs = Date.now() - 1_000;
  const mia = await enterRaw(server, { roomId, userId: 'mia' });
  mia.sendOps({ type: OP.updateObject, id: 'root', data: { a: 1 } });
  await mia.takeOps(1); // acknowledged
  const first = await aVersion(roomId);
  await put(roomId, 'by a back end');
  const second = await aVersion(roomId);
  const { json } = await versions(roomId);
  const createdAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(json).toEqual({
    nextCursor: null,
    data: [
      { id: second, createdAt, authors: [] },
      { id: first, createdAt, authors: [{ id: 'mia' }] },
    ],
  });
  const [newer, older] = json.data.map((version: { createdAt: string }) => Date.parse(version.createdAt));
  expect([older > sinceMs, newer >= older]).toEqual([true, true]);
});

test('[contract: GET /rooms/{roomId}/versions] limit 1 to 100, default 20; pages lose and repeat nothing (rows 13 to 17)', async () => {
  const roomId = await aRoom();
  const made: string[] = [];
  for (let n = 0; n < 21; n += 1) made.unshift(await aVersion(roomId));
  const first = await versions(roomId);
  expect(idsIn(first)).toEqual(made.slice(0, 20));
  expect(first.json.nextCursor).toEqual(expect.any(String));
  const second = await versions(roomId, `?cursor=${first.json.nextCursor}`);
  expect([idsIn(second), second.json.nextCursor]).toEqual([made.slice(20), null]);
  const whole = await versions(roomId, '?limit=100');
  expect([idsIn(whole), whole.json.nextCursor]).toEqual([made, null]);
  const exact = await versions(roomId, '?limit=21');
  expect(exact.json.nextCursor).toBeNull();
  const walked: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await versions(roomId, `?limit=8${cursor}`);
    walked.push(...idsIn(page));
    if (page.json.nextCursor === null) break;
    cursor = `&cursor=${encodeURIComponent(page.json.nextCursor)}`;
  }
  expect(walked).toEqual(made);
  for (const limit of ['0', '101', '-1', 'abc', '1.5', '']) expectMalformed(await versions(roomId, `?limit=${limit}`), "'limit'");
  for (const cursor of ['x', '', 'eyJhIjoxfQ', `${first.json.nextCursor}x!`.slice(3)])
    expectMalformed(await versions(roomId, `?cursor=${cursor}`), "'cursor' is not a cursor of this list");
});

test("[VH22] a cursor of another room's list is none", async () => {
  const rooms = [await aRoom(), await aRoom()];
  for (const roomId of rooms) for (let n = 0; n < 2; n += 1) await aVersion(roomId);
  const { nextCursor } = (await versions(rooms[0]!, '?limit=1')).json;
  expect((await versions(rooms[0]!, `?cursor=${nextCursor}`)).status).toBe(200);
  expectMalformed(await versions(rooms[1]!, `?cursor=${nextCursor}`), "'cursor' is not a cursor of this list");
});

test('[contract: GET /rooms/{roomId}/versions/{versionId}/yjs] 200 in bytes; an update that says nothing where there is no document', async () => {
  const roomId = await aRoom();
  const empty = await aVersion(roomId);
  await put(roomId, 'text');
  const id = await aVersion(roomId);
  const path = `/v2/rooms/${encodeURIComponent(roomId)}/versions`;
  expect(await bytesOf(`${path}/${id}/yjs`)).toMatchObject({ status: 200, type: 'application/octet-stream' });
  expect(textIn((await bytesOf(`${path}/${id}/yjs`)).bytes)).toBe('text');
  for (const nothing of [`${empty}/yjs`, `${id}/yjs?guid=none`])
    expect([...(await bytesOf(`${path}/${nothing}`)).bytes]).toEqual([0, 0]);
});

test('[contract: DELETE /rooms/{roomId}/versions/{versionId}] 204, for good; the others stay (row 97)', async () => {
  const roomId = await aRoom();
  const [first, second] = [await aVersion(roomId), await aVersion(roomId)];
  expect(await call(`DELETE ${at(roomId)}/versions/${second}`)).toEqual(nothing(204));
  expect(idsIn(await versions(roomId))).toEqual([first]);
  for (const again of [`DELETE ${at(roomId)}/versions/${second}`, `GET ${at(roomId)}/versions/${second}/yjs`])
    expect(refusal(await call(again))).toBe(`404 RESOURCE_NOT_FOUND The version "${second}" does not exist.`);
});

test.each([
  ['GET', '/yjs', 'contract: GET /rooms/{roomId}/versions/{versionId}/yjs'],
  ['DELETE', '', 'contract: DELETE /rooms/{roomId}/versions/{versionId}'],
])('[E2E-V1] %s …%s of a version that is unknown, of another room, or no id is 404 (row 96)', async (method, rest) => {
  const [roomId, other] = [await aRoom(), await aRoom()];
  const id = await aVersion(other);
  for (const prefix of ['', '/c'])
    for (const unknown of ['vh_unknown', id, 'x', 'vh_%00', '%F0%9F%98%80'])
      expect(refusal(await call(`${method} ${prefix}${at(roomId)}/versions/${unknown}${rest}`))).toMatch(
        /^404 RESOURCE_NOT_FOUND The version ".+" does not exist\.$/su,
      );
  expect(idsIn(await versions(other))).toEqual([id]);
});

test('[E2E-V2] versions go with their room: a new room of its id has none, a renamed one keeps them', async () => {
  const roomId = await aRoom();
  const id = await aVersion(roomId);
  const newRoomId = freshRoomId('renamed');
  await call(`POST ${at(roomId)}/update-room-id`, { json: { newRoomId } });
  expect(idsIn(await versions(newRoomId))).toEqual([id]);
  expect(refusal(await versions(roomId))).toContain('404 ROOM_NOT_FOUND');
  await call(`DELETE ${at(newRoomId)}`);
  await call('POST /rooms', { json: { id: newRoomId, defaultAccesses: [] } });
  expect((await versions(newRoomId)).json.data).toEqual([]);
  expect(refusal(await call(`GET ${at(newRoomId)}/versions/${id}/yjs`))).toContain('404 RESOURCE_NOT_FOUND');
});

test('[E2E-V3] a room that is not there has no versions, and gets none', async () => {
  const missing = freshRoomId('missing');
  for (const line of [`GET ${at(missing)}/versions`, `POST ${at(missing)}/versions`, `DELETE ${at(missing)}/versions/vh_x`])
    expect(refusal(await call(line))).toBe(`404 ROOM_NOT_FOUND The room "${missing}" does not exist.`);
});

test('[E2E-V14] a room that a user may make by entering has no versions yet, and none is made of it; to others it is not there', async () => {
  const missing = freshRoomId('not-made');
  const at = `/c/rooms/${missing}/versions`;
  const mia = await accessTokenFor(server, { userId: 'mia', permissions: { '*': ['*:write'] } });
  const nothing = { versions: [], meta: { requestedAt: expect.any(String) } };
  const lists = [`GET ${at}`, `GET ${at}/delta?since=2026-01-02T03:04:05.678Z`];
  for (const line of lists) expect((await call(line, { bearer: mia })).json).toEqual(nothing);
  expect(refusal(await call(`POST ${at}`, { bearer: mia }))).toContain('404 ROOM_NOT_FOUND');
  for (const bearer of [await idTokenFor(server, { userId: 'mia' }), server.publicKey, server.secretKey])
    for (const line of lists) expect(refusal(await call(line, { bearer }))).toContain('404 ROOM_NOT_FOUND');
});

const SDK_ROUTES = [
  ['GET', '', 'read'],
  ['GET', '/delta?since=2026-01-02T03:04:05.678Z', 'read'],
  ['GET', '/{id}/storage', 'read'],
  ['GET', '/{id}/yjs', 'read'],
  ['POST', '', 'write'],
  ['DELETE', '/{id}', 'write'],
] as const;

test.each(SDK_ROUTES)(
  '[E2E-V4] %s …/versions%s needs the right to %s Storage, whatever gives it',
  async (method, rest, needed) => {
    const roomId = await aRoom({
      defaultAccesses: ['*:write'],
      usersAccesses: { rea: ['*:read'], not: ['*:write', 'storage:none'] },
    });
    const send = async (bearer: string | null) => {
      const id = await aVersion(roomId);
      return call(`${method} /c${at(roomId)}/versions${rest.replace('{id}', id)}`, { bearer });
    };
    const token = (scopes: string[]) => accessTokenFor(server, { userId: 'u', permissions: { [roomId]: scopes } });
    const good = [
      await token(['*:write']),
      await token(['*:read', 'storage:write']),
      await idTokenFor(server, { userId: 'u' }),
      server.publicKey,
      server.secretKey,
    ];
    const readers = [
      await token(['*:read']),
      await token(['*:write', 'storage:read']),
      await idTokenFor(server, { userId: 'rea' }),
    ];
    const bad = [await token(['*:write', 'storage:none']), await idTokenFor(server, { userId: 'not' })];
    (needed === 'read' ? good : bad).push(...readers);
    for (const bearer of good) expect([200, 204]).toContain((await send(bearer)).status);
    for (const bearer of bad)
      expect(refusal(await send(bearer))).toBe(
        `403 UNAUTHORIZED_ROOM_ACCESS The user lacks the permission storage:${needed} on this room.`,
      );
    expect(refusal(await send(null))).toContain('401 MISSING_TOKEN');
  },
);

test('[E2E-V15] SDKs before 3.21 make versions, and read their Yjs document, at addresses of their own', async () => {
  const roomId = await aRoom();
  const bearer = await accessTokenFor(server, { userId: 'mia', permissions: { [roomId]: ['*:write'] } });
  expect((await call(`POST /c${at(roomId)}/version`, { bearer })).status).toBe(200);
  const { json } = await call(`GET /c${at(roomId)}/versions`, { bearer });
  const id = json.versions[0].id;
  const [older, newer] = await Promise.all(
    [`y-version/${id}`, `versions/${id}/yjs`].map((path) => call(`GET /c${at(roomId)}/${path}`, { bearer })),
  );
  expect([older!.status, older!.text]).toEqual([200, newer!.text]);
});

test('[E2E-V4] to the public key a private room is closed', async () => {
  const roomId = await aRoom();
  const answer = await call(`GET /c${at(roomId)}/versions`, { bearer: server.publicKey });
  expect(refusal(answer)).toContain('403 UNAUTHORIZED_ROOM_ACCESS');
});

test('[E2E-V5] what the SDK lists: all, and since a time what was made since', async () => {
  const roomId = await aRoom();
  const list = async (rest = '') => (await ask(server, `/v2/c/rooms/${encodeURIComponent(roomId)}/versions${rest}`)).json;
  const first = await aVersion(roomId);
  const before = await list();
  expect(before).toEqual({
    versions: [{ id: first, createdAt: expect.any(String), authors: [] }],
    meta: { requestedAt: expect.stringMatching(/Z$/) },
  });
  const second = await aVersion(roomId);
  const since = await list(`/delta?since=${before.meta.requestedAt}`);
  expect(since.versions[0].id).toBe(second);
  const later = new Date(Date.now() + 120_000).toISOString();
  expect((await list(`/delta?since=${later}`)).versions).toEqual([]);
  const answer = await call(`GET /c${at(roomId)}/versions/delta?since=yesterday`);
  expectMalformed(answer, "Value at key 'since' must be a time such as 2026-01-02T03:04:05.678Z.");
  expectMalformed(await call(`GET /c${at(roomId)}/versions/delta`), "Missing key 'since'.");
});

test('[E2E-V6] a version of a large room is read back whole', async () => {
  const roomId = await aRoom();
  const filler = 'x\u20ac'.repeat(300_000);
  await call(`POST ${at(roomId)}/storage`, { json: node('LiveObject', { filler }) });
  await put(roomId, filler);
  const id = await aVersion(roomId);
  await call(`DELETE ${at(roomId)}/storage`);
  const { text, headers } = await call(`GET /c${at(roomId)}/versions/${id}/storage`);
  expect(headers.get('content-type')).toBe('application/x-ndjson');
  expect(JSON.parse(text.trimEnd())).toEqual(['root', { type: 0, data: { filler } }]);
  const { bytes } = await bytesOf(`/v2/c/rooms/${encodeURIComponent(roomId)}/versions/${id}/yjs`);
  expect(textIn(bytes)).toBe(filler);
});
