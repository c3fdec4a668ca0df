/** The rows of attachments, back end and clients, over HTTP; what they share with files is tried there. @see contract-files.test.ts */
import { describe, expect, test } from 'vitest';
import { bytesOf, MIB } from '../support/blob-bodies.ts';
import { anAttachmentId, attachmentAt } from '../support/e2e/attachments.ts';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { enter } from '../support/e2e/sdk-client.ts';
import { aServer } from '../support/e2e/server.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';

const server = await aServer({ MAX_FILE_BYTES: String(6 * MIB) });
const { call, aRoom } = contractOf(server);
const roomId = await aRoom();
const contentType = 'application/octet-stream';

interface Upload {
  readonly id: string;
  readonly userId?: string;
  readonly name?: string;
  readonly body?: string | Uint8Array;
  readonly room?: string;
  readonly fileSize?: number;
}

const upload = ({ id, userId = 'ann', name = 'a.txt', body = 'hello', room = roomId, fileSize }: Upload) =>
  call(
    `PUT ${attachmentAt(room, id, `/upload/${encodeURIComponent(name)}`)}?userId=${userId}${fileSize === undefined ? '' : `&fileSize=${fileSize}`}`,
    { body, contentType },
  );
const begin = async (id: string, rest = '') => (await call(`POST ${attachmentAt(roomId, id, `/multipart/a.txt${rest}`)}`)).json;
const putPart = (id: string, uploadId: string, number: number, body: string | Uint8Array, room = roomId) =>
  call(`PUT ${attachmentAt(room, id, `/multipart/${uploadId}/${number}`)}`, { body, contentType });
const complete = (id: string, uploadId: string, parts: unknown[], { userId = 'ann', room = roomId } = {}) =>
  call(`POST ${attachmentAt(room, id, `/multipart/${uploadId}/complete`)}?userId=${userId}`, { json: { parts } });
const read = (id: string) => call(`GET ${attachmentAt(roomId, id)}`);
const shape = (id: string, size = 5) => ({ type: 'attachment', id, name: 'a.txt', size, mimeType: 'text/plain' });

describe('a back end', () => {
  test('[contract: GET /rooms/{roomId}/attachments/{attachmentId}] 200 with what it is and an address for an hour; 404', async () => {
    const id = anAttachmentId();
    await upload({ id });
    const answer = await read(id);
    const { url, expiresAt } = answer.json;
    expect(answer.json).toEqual({ ...shape(id), url, expiresAt });
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(3_500_000);
    const download = await fetch(url);
    expect([download.status, download.headers.get('content-type'), await download.text()]).toEqual([200, 'text/plain', 'hello']);
    expect(refusal(await read(anAttachmentId()))).toMatch(/^404 RESOURCE_NOT_FOUND The attachment "at_/);
    expect(refusal(await read('x%00'))).toMatch(/^404 RESOURCE_NOT_FOUND /);
    expect(refusal(await call(`GET ${attachmentAt('no-such-room', id)}`))).toMatch(/^404 ROOM_NOT_FOUND /);
  });

  test('[contract: PUT /rooms/{roomId}/attachments/{attachmentId}/upload/{name}] 200, the same again; 409 when name, size or user differ', async () => {
    const id = anAttachmentId();
    for (const _ of [1, 2]) expect((await upload({ id })).json).toEqual(shape(id));
    for (const other of [{ name: 'b.txt' }, { body: 'hell' }, { userId: 'bob' }])
      expect(refusal(await upload({ id, ...other }))).toBe(`409 RESOURCE_ALREADY_EXISTS The attachment "${id}" exists already.`);
    const elsewhere = await aRoom();
    expect((await upload({ id, room: elsewhere, userId: 'bob' })).status).toBe(200); // known in its room alone
  });

  test('[contract: PUT /rooms/{roomId}/attachments/{attachmentId}/upload/{name}] 413 and 422', async () => {
    const id = anAttachmentId();
    expectMalformed(await call(`PUT ${attachmentAt(roomId, id, '/upload/a')}`, { body: 'x', contentType }), "'userId'");
    expectMalformed(await upload({ id, userId: '' }), "'userId' must have 1 to 128 characters");
    expectMalformed(await upload({ id: 'fl_aaaaaaaaaaaaaaaaaaaaa' }), "'attachmentId'");
    expectMalformed(await upload({ id, fileSize: 4 }), "'fileSize'");
    for (const name of ['', 'x'.repeat(1_025)]) expectMalformed(await upload({ id, name }), "'name'");
    expect(refusal(await upload({ id, body: new Uint8Array(6 * MIB + 1) }))).toMatch(/^413 PAYLOAD_TOO_LARGE /);
    expect((await read(id)).status).toBe(404);
  });

  test('[contract: POST /rooms/{roomId}/attachments/{attachmentId}/multipart/{name}] 200 with both ids; 409 for one that is there, 413', async () => {
    const id = anAttachmentId();
    expect(await begin(id)).toEqual({ attachmentId: id, uploadId: expect.stringMatching(/./) });
    await upload({ id });
    const base = attachmentAt(roomId, id, '/multipart/a.txt');
    expect(refusal(await call(`POST ${base}`))).toMatch(/^409 RESOURCE_ALREADY_EXISTS /);
    expect(refusal(await call(`POST ${base}?fileSize=${6 * MIB + 1}`))).toMatch(/^413 PAYLOAD_TOO_LARGE /);
  });

  test('[contract: PUT /rooms/{roomId}/attachments/{attachmentId}/multipart/{uploadId}/{partNumber}] 200 with number and etag; 409 for an upload of another room (row 89); 404', async () => {
    const id = anAttachmentId();
    const { uploadId } = await begin(id);
    const { status, json } = await putPart(id, uploadId, 1, 'hello');
    expect([status, json]).toEqual([200, { partNumber: 1, etag: expect.stringMatching(/./) }]);
    const elsewhere = await aRoom();
    expect(refusal(await putPart(id, uploadId, 1, 'x', elsewhere))).toBe(
      `409 RESOURCE_ALREADY_EXISTS The upload "${uploadId}" belongs to another room.`,
    );
    expect(refusal(await complete(id, uploadId, [json], { room: elsewhere }))).toMatch(/^409 RESOURCE_ALREADY_EXISTS /);
    expect(refusal(await call(`DELETE ${attachmentAt(elsewhere, id, `/multipart/${uploadId}`)}`))).toMatch(/^409 RESOURCE_/);
    expect(refusal(await putPart(id, 'never', 1, 'x'))).toMatch(/^404 RESOURCE_NOT_FOUND The upload /);
    expectMalformed(await putPart(id, uploadId, 0, 'x'), "'partNumber'");
  });

  test('[contract: POST /rooms/{roomId}/attachments/{attachmentId}/multipart/{uploadId}/complete] 200, again; 409 for another user, 404, 422', async () => {
    const id = anAttachmentId();
    const { uploadId } = await begin(id);
    const whole = bytesOf(5 * MIB + 10);
    const parts = [];
    for (const [index, slice] of [whole.subarray(0, 5 * MIB), whole.subarray(5 * MIB)].entries())
      parts.push((await putPart(id, uploadId, index + 1, slice)).json);
    expectMalformed(
      await call(`POST ${attachmentAt(roomId, id, `/multipart/${uploadId}/complete`)}`, { json: { parts } }),
      "'userId'",
    );
    expectMalformed(await complete(id, uploadId, parts.slice(1)), "'parts'");
    for (const _ of [1, 2]) expect((await complete(id, uploadId, parts)).json).toEqual(shape(id, whole.length));
    expect(refusal(await complete(id, uploadId, parts, { userId: 'bob' }))).toMatch(/^404 RESOURCE_NOT_FOUND The upload /);
    const { url } = (await read(id)).json;
    expect(Buffer.compare(new Uint8Array(await (await fetch(url)).arrayBuffer()), whole)).toBe(0);
  });

  test('[contract: DELETE /rooms/{roomId}/attachments/{attachmentId}/multipart/{uploadId}] 204 without a body, and the id is free', async () => {
    const id = anAttachmentId();
    const { uploadId } = await begin(id);
    const path = attachmentAt(roomId, id, `/multipart/${uploadId}`);
    expect(await call(`DELETE ${path}`)).toEqual(nothing(204));
    expect((await call(`DELETE ${path}`)).status).toBe(404);
    expect((await upload({ id })).status).toBe(200);
  });
});

describe('a client', () => {
  const as = (userId: string, ...scopes: string[]) =>
    accessTokenFor(server, { userId, permissions: { '*': scopes.length === 0 ? ['*:write'] : scopes } });
  const urlsOf = async (ids: string[], bearer: string) =>
    call(`POST /c${at(roomId)}/attachments/presigned-urls`, { json: { attachmentIds: ids }, bearer });

  test('[AT6] uploads as its user, whole and in parts; nobody else goes on with its upload', async () => {
    const [ann, bob, id, large] = [await as('ann'), await as('bob'), anAttachmentId(), anAttachmentId()];
    const put = (bearer: string) =>
      call(`PUT /c${attachmentAt(roomId, id, '/upload/a.txt')}?fileSize=5`, { body: 'hello', contentType, bearer });
    expect((await put(ann)).json).toEqual(shape(id));
    expect((await put(bob)).status).toBe(409);
    const { uploadId } = (await call(`POST /c${attachmentAt(roomId, large, '/multipart/a.txt')}`, { bearer: ann })).json;
    const parts = `/multipart/${uploadId}`;
    const part = (bearer: string) =>
      call(`PUT /c${attachmentAt(roomId, large, `${parts}/1`)}`, { body: 'hello', contentType, bearer });
    const { json } = await part(ann);
    expect((await part(bob)).status).toBe(404);
    const end = (bearer: string) =>
      call(`POST /c${attachmentAt(roomId, large, `${parts}/complete`)}`, { json: { parts: [json] }, bearer });
    expect((await end(bob)).status).toBe(404);
    expect((await call(`DELETE /c${attachmentAt(roomId, large, parts)}`, { bearer: bob })).status).toBe(404);
    expect((await end(ann)).json).toEqual(shape(large));
  });

  test('[AT6] uploading needs comments:write and a user, addresses comments:read', async () => {
    const id = anAttachmentId();
    const put = (bearer: string) =>
      call(`PUT /c${attachmentAt(roomId, id, '/upload/a.txt')}`, { body: 'hello', contentType, bearer });
    expect((await put(await as('ann', '*:read'))).status).toBe(403);
    expect((await put(await as('ann', '*:write', 'comments:read'))).status).toBe(403);
    expect((await put(server.secretKey)).status).toBe(403);
    expect((await put(await as('ann', '*:read', 'comments:write'))).status).toBe(200);
    expect((await urlsOf([id], await as('ann', '*:write', 'comments:none'))).status).toBe(403);
  });

  test('[AT7] gets addresses of what it may read, null for all else, in order', async () => {
    const [mine, bobs] = [anAttachmentId(), anAttachmentId()];
    await upload({ id: mine });
    await upload({ id: bobs, userId: 'bob' });
    const { json } = await urlsOf([bobs, 'x', mine, anAttachmentId(), mine], await as('ann'));
    expect(json.urls).toEqual([null, null, expect.stringMatching(/^http/), null, expect.stringMatching(/^http/)]);
    expect(Date.parse(json.expiresAt) - Date.now()).toBeGreaterThan(3_500_000);
    expect(await (await fetch(json.urls[2])).text()).toBe('hello');
    expectMalformed(await urlsOf(Array(51).fill(mine), await as('ann')), "'attachmentIds'");
  });
});

test('[AT8] the SDK uploads attachments, small and large, from a back end', async () => {
  for (const size of [10, 5 * MIB + 1]) {
    const body = bytesOf(size);
    const file = new File([body as never], 'a.png');
    const data = await server.backend.uploadAttachment({ roomId, userId: 'ann', file });
    expect(data).toEqual({ type: 'attachment', id: expect.stringMatching(/^at_/), name: 'a.png', size, mimeType: 'image/png' });
    const { url } = await server.backend.getAttachment({ roomId, attachmentId: data.id });
    expect(Buffer.compare(new Uint8Array(await (await fetch(url)).arrayBuffer()), body)).toBe(0);
  }
});

test('[AT8] the SDK uploads attachments, small and large, from a browser, and asks for their addresses', async () => {
  const { room } = await enter(server, { roomId, userId: 'ann' });
  const api = room as any; // these are not part of what it is typed as
  for (const size of [10, 5 * MIB + 1]) {
    const body = bytesOf(size);
    const uploaded = await api.uploadAttachment(api.prepareAttachment(new File([body as never], 'a b.png')));
    expect(uploaded).toMatchObject({ type: 'attachment', name: 'a b.png', size, mimeType: 'image/png' });
    const url = await api.getAttachmentUrl(uploaded.id);
    expect(Buffer.compare(new Uint8Array(await (await fetch(url)).arrayBuffer()), body)).toBe(0);
  }
});

test('[AT9] a comment shows them, to whoever may read it, until it is deleted', async () => {
  const { backend } = server;
  const [mine, bobs] = [anAttachmentId(), anAttachmentId()];
  await upload({ id: mine });
  await upload({ id: bobs, userId: 'bob' });
  const body = { version: 1, content: [{ type: 'paragraph', children: [{ text: 'look' }] }] } as never;
  const create = (attachmentIds: string[]) =>
    backend.createThread({ roomId, data: { comment: { userId: 'ann', body, attachmentIds } } });
  await expect(create([mine, bobs])).rejects.toMatchObject({ status: 422 });
  const { id: threadId, comments } = await create([mine]);
  expect(comments[0]!.attachments).toEqual([shape(mine)]);
  expect((await backend.getThread({ roomId, threadId })).comments[0]!.attachments).toEqual([shape(mine)]);
  const urlsFor = async (userId: string) => {
    const bearer = await accessTokenFor(server, { userId });
    return (await call(`POST /c${at(roomId)}/attachments/presigned-urls`, { json: { attachmentIds: [mine] }, bearer })).json.urls;
  };
  expect(await urlsFor('bob')).toEqual([expect.stringMatching(/^http/)]);
  await expect(create([mine])).rejects.toMatchObject({ status: 422 }); // it is shown already
  const commentId = (await backend.createComment({ roomId, threadId, data: { userId: 'ann', body } })).id;
  await backend.deleteComment({ roomId, threadId, commentId: comments[0]!.id });
  expect([await urlsFor('ann'), (await read(mine)).status]).toEqual([[null], 404]);
  expect((await backend.getComment({ roomId, threadId, commentId })).attachments).toEqual([]);
});
