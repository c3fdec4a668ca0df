/** The contract's table Storage files and the states of a multipart upload, row by row, over HTTP. @see contract.test.ts */
import { request as httpRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import { bytesOf, MIB } from '../support/blob-bodies.ts';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { aFileId, fileAt } from '../support/e2e/files.ts';
import type { Answer } from '../support/e2e/rest.ts';
import { aServer, isExternal } from '../support/e2e/server.ts';

const FILE_BYTES_MAX = 12 * MIB;
const server = await aServer({ MAX_FILE_BYTES: String(FILE_BYTES_MAX) });
const { call, aRoom } = contractOf(server);
const HOUR_MS = 3_600_000;

const bytes = (body: Uint8Array) => ({ body, contentType: 'application/octet-stream' });
const encode = encodeURIComponent;

interface Upload {
  readonly id?: string;
  readonly name?: string;
  readonly body?: Uint8Array;
  readonly fileSize?: number | string;
}

const upload = (roomId: string, { id = aFileId(), name = 'a.txt', body = Buffer.from('hello'), fileSize }: Upload = {}) =>
  call(
    `PUT ${fileAt(roomId, id, `/upload/${encode(name)}`)}${fileSize === undefined ? '' : `?fileSize=${fileSize}`}`,
    bytes(body),
  );
const begin = (roomId: string, id: string, { name = 'a.txt', fileSize }: Upload = {}) =>
  call(`POST ${fileAt(roomId, id, `/multipart/${encode(name)}`)}${fileSize === undefined ? '' : `?fileSize=${fileSize}`}`);
const begun = async (roomId: string, id: string, options: Upload = {}): Promise<string> =>
  (await begin(roomId, id, options)).json.uploadId;
const putPart = (roomId: string, id: string, uploadId: string, number: number | string, body: Uint8Array) =>
  call(`PUT ${fileAt(roomId, id, `/multipart/${uploadId}/${number}`)}`, bytes(body));
const complete = (roomId: string, id: string, uploadId: string, parts: unknown) =>
  call(`POST ${fileAt(roomId, id, `/multipart/${uploadId}/complete`)}`, { json: { parts } });
const abort = (roomId: string, id: string, uploadId: string) => call(`DELETE ${fileAt(roomId, id, `/multipart/${uploadId}`)}`);
const read = (roomId: string, id: string) => call(`GET ${fileAt(roomId, id)}`);

/** What a download address leads to. */
async function download(answer: Answer): Promise<Uint8Array> {
  const response = await fetch(answer.json.url);
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
}

/** Three parts: 5 MiB, 5 MiB and the rest. */
async function inParts(roomId: string, id: string, whole: Uint8Array, options: Upload = {}) {
  const uploadId = await begun(roomId, id, options);
  const slices = [whole.subarray(0, 5 * MIB), whole.subarray(5 * MIB, 10 * MIB), whole.subarray(10 * MIB)];
  const parts = await Promise.all(slices.map(async (part, index) => (await putPart(roomId, id, uploadId, index + 1, part)).json));
  return { uploadId, parts };
}

const roomId = await aRoom();

describe('reading a file', () => {
  test('[contract: GET /rooms/{roomId}/storage/files/{fileId}] 200 with the metadata and an address that gives the bytes for an hour, as a download', async () => {
    const id = aFileId();
    await upload(roomId, { id, name: 'Übersicht “1”.csv', body: Buffer.from('a;b') });
    const before = Date.now();
    const answer = await read(roomId, id);
    expect(answer.status).toBe(200);
    const { url, expiresAt } = answer.json;
    expect(answer.json).toEqual({ id, name: 'Übersicht “1”.csv', size: 3, mimeType: 'text/csv', url, expiresAt });
    expect(new Date(expiresAt).toISOString()).toBe(expiresAt);
    expect(Date.parse(expiresAt)).toBeGreaterThanOrEqual(before + HOUR_MS);
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(Date.now() + HOUR_MS);
    const response = await fetch(url);
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([200, 'text/csv', 'a;b']);
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename=.*filename\*=UTF-8''%C3%9Cbersicht/);
  });

  test('[contract: GET /rooms/{roomId}/storage/files/{fileId}] the address gives ranges, and a changed one nothing', async () => {
    const id = aFileId();
    await upload(roomId, { id, body: Buffer.from('0123456789') });
    const { url } = (await read(roomId, id)).json;
    const range = await fetch(url, { headers: { range: 'bytes=2-4' } });
    expect([range.status, range.headers.get('content-range'), await range.text()]).toEqual([206, 'bytes 2-4/10', '234']);
    const otherSignature = url.replace(
      /(signature=)(.)/i,
      (_: string, key: string, first: string) => key + (first === '0' ? '1' : '0'),
    );
    for (const changed of [otherSignature, url.replace(/(expires=)\d/i, '$19')]) expect((await fetch(changed)).status).toBe(403);
  });

  test('[contract: GET /rooms/{roomId}/storage/files/{fileId}] an unknown file, one of another room, a missing room are 404 (row 80); what is no id is 422 (row 79)', async () => {
    const id = aFileId();
    await upload(roomId, { id });
    const other = await aRoom();
    expect(refusal(await read(other, id))).toBe(`404 RESOURCE_NOT_FOUND The file "${id}" does not exist.`);
    expect(refusal(await read(roomId, aFileId()))).toMatch(/^404 RESOURCE_NOT_FOUND The file/);
    expect(refusal(await read('no-such-room', id))).toMatch(/^404 ROOM_NOT_FOUND /);
    for (const wrong of ['fl_short', `${id}x`, `at_${id.slice(3)}`, `fl_${'%2F'.repeat(21)}`])
      expectMalformed(await read(roomId, wrong), "Value at key 'fileId' must match ^fl_[A-Za-z0-9_-]{21}$");
  });
});

describe('uploading in one request', () => {
  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] 200 with the metadata alone; the type is that of the extension, or of any bytes', async () => {
    for (const [name, mimeType] of [
      ['photo.JPEG', 'image/jpeg'],
      ['a.tar.gz', 'application/gzip'],
      ['Makefile', 'application/octet-stream'],
      ['x.constructor', 'application/octet-stream'],
    ] as const) {
      const id = aFileId();
      const answer = await upload(roomId, { id, name, fileSize: 5 });
      expect([answer.status, answer.json]).toEqual([200, { id, name, size: 5, mimeType }]);
    }
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] an empty file is one (row 86)', async () => {
    const id = aFileId();
    expect((await upload(roomId, { id, body: new Uint8Array() })).json).toMatchObject({ id, size: 0 });
    expect((await download(await read(roomId, id))).length).toBe(0);
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] the same id, name and size again is the file that is there, whatever the bytes (row 81)', async () => {
    const id = aFileId();
    const first = await upload(roomId, { id, body: Buffer.from('first') });
    for (const again of [{ body: Buffer.from('other') }, { body: Buffer.from('other'), fileSize: 5 }]) {
      const answer = await upload(roomId, { id, ...again });
      expect([answer.status, answer.json]).toEqual([200, first.json]);
    }
    expect(Buffer.from(await download(await read(roomId, id))).toString()).toBe('first');
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] another name or size under the id of a file is 409 and changes nothing (row 82)', async () => {
    const id = aFileId();
    await upload(roomId, { id, body: Buffer.from('first') });
    for (const other of [{ name: 'b.txt' }, { body: Buffer.from('longer') }, { name: 'b.txt', fileSize: 5 }])
      expect(refusal(await upload(roomId, { id, ...other }))).toBe(
        `409 RESOURCE_ALREADY_EXISTS The file "${id}" exists already.`,
      );
    expect(Buffer.from(await download(await read(roomId, id))).toString()).toBe('first');
    expect((await upload(await aRoom(), { id, name: 'b.txt' })).status).toBe(200); // ids are known in their room alone
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] of many at once under one id one is the file; the same are told of it, others refused', async () => {
    const id = aFileId();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        upload(roomId, { id, name: n % 2 === 0 ? 'even' : 'odd', body: Buffer.from(`body ${n}`) }),
      ),
    );
    const { name } = (await read(roomId, id)).json;
    expect(answers.map(({ status }) => status)).toEqual(
      answers.map((_, n) => ((n % 2 === 0 ? 'even' : 'odd') === name ? 200 : 409)),
    );
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] a fileSize that is none, or not what came, is 422, and nothing is there (row 83)', async () => {
    for (const fileSize of ['-1', 'abc', '1.5', ''])
      expectMalformed(await upload(roomId, { fileSize }), "Value at key 'fileSize'");
    const id = aFileId();
    for (const fileSize of [4, 6])
      expectMalformed(await upload(roomId, { id, fileSize }), `'fileSize' is ${fileSize}, and the body has 5`);
    expect((await read(roomId, id)).status).toBe(404);
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] a size over the limit is 413 before the body is read; one of the limit is not (row 84)', async () => {
    const announced = await upload(roomId, { fileSize: FILE_BYTES_MAX + 1, body: new Uint8Array() }).catch(() => null);
    expect(refusal(announced!)).toMatch(/^413 /);
    expect(await streamed(roomId, aFileId(), { fileSize: FILE_BYTES_MAX + 1, pieces: 0 })).toMatchObject({
      status: 413,
      isEnded: false,
    });
    const id = aFileId();
    expect((await upload(roomId, { id, body: bytesOf(FILE_BYTES_MAX) })).status).toBe(200);
  });

  test.skipIf(isExternal)(
    `[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] a body that grows over the limit is 413 while it still comes, and nothing of it is left (row 85)`,
    async () => {
      const id = aFileId();
      const outcome = await streamed(roomId, id, { pieces: FILE_BYTES_MAX / MIB + 1 });
      expect(outcome).toMatchObject({ status: 413, isEnded: false });
      expect(JSON.parse(outcome.text)).toMatchObject({ error: 'PAYLOAD_TOO_LARGE' });
      expect((await read(roomId, id)).status).toBe(404);
      expect((await upload(roomId, { id })).status).toBe(200);
    },
  );

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] a name is text: with slashes, dots and spaces, of 1,024 bytes, not of 1,025 (row 91)', async () => {
    for (const name of ['a/b\\c.txt', '…/..%2F', ' ', 'complete', 'é'.repeat(512), `x'"<>&?#.png`]) {
      const id = aFileId();
      expect((await upload(roomId, { id, name })).json).toMatchObject({ id, name });
      expect((await read(roomId, id)).json.name).toBe(name);
    }
    for (const name of ['x'.repeat(1_025), `${'é'.repeat(512)}x`])
      expectMalformed(await upload(roomId, { name }), "'name' must have at most 1024");
    expectMalformed(await upload(roomId, { name: 'a\u0000b' }), "'name' may not hold U+0000");
    const dots = await raw('PUT', `/v2${fileAt(roomId, aFileId(), '/upload/..')}`);
    expect([dots.status, JSON.parse(dots.text).name]).toEqual([200, '..']);
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/upload/{name}] a missing room is 404, an id of another form 422, JSON 415', async () => {
    expect(refusal(await upload('no-such-room'))).toMatch(/^404 ROOM_NOT_FOUND /);
    expectMalformed(await upload(roomId, { id: 'fl_1' }), "Value at key 'fileId' must match");
    const json = await call(`PUT ${fileAt(roomId, aFileId(), '/upload/a')}`, { json: {} });
    expect(refusal(json)).toMatch(/^415 UNSUPPORTED_MEDIA_TYPE /);
  });
});

describe('uploading in parts', () => {
  const WHOLE = bytesOf(11 * MIB);

  test('[contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{name}] [contract: PUT /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/{partNumber}] [contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] three parts become one file, byte for byte', async () => {
    const id = aFileId();
    const created = await begin(roomId, id, { name: 'film.mp4', fileSize: WHOLE.length });
    expect([created.status, created.json]).toEqual([200, { fileId: id, uploadId: expect.stringMatching(/^[\w-]{10,}$/) }]);
    const { uploadId } = created.json;
    const slices = [WHOLE.subarray(10 * MIB), WHOLE.subarray(5 * MIB, 10 * MIB), WHOLE.subarray(0, 5 * MIB)];
    const parts: unknown[] = [];
    for (const [index, part] of slices.entries()) {
      const answer = await putPart(roomId, id, uploadId, 3 - index, part);
      expect([answer.status, answer.json]).toEqual([200, { partNumber: 3 - index, etag: expect.stringMatching(/\S/) }]);
      parts.push(answer.json);
    }
    expect((await read(roomId, id)).status).toBe(404);
    const file = { id, name: 'film.mp4', size: WHOLE.length, mimeType: 'video/mp4' };
    const completed = await complete(roomId, id, uploadId, parts);
    expect([completed.status, completed.json]).toEqual([200, file]);
    expect(Buffer.compare(await download(await read(roomId, id)), WHOLE)).toBe(0);
  });

  test('[contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{name}] 409 where the file exists, 413 over the limit, 404 without the room, 422 by key', async () => {
    const id = aFileId();
    await upload(roomId, { id });
    expect(refusal(await begin(roomId, id))).toBe(`409 RESOURCE_ALREADY_EXISTS The file "${id}" exists already.`);
    const over = await begin(roomId, aFileId(), { fileSize: FILE_BYTES_MAX + 1 });
    expect(refusal(over)).toBe(`413 PAYLOAD_TOO_LARGE The file is larger than ${FILE_BYTES_MAX} bytes.`);
    expect((await begin(roomId, aFileId(), { fileSize: FILE_BYTES_MAX })).status).toBe(200);
    expect(refusal(await begin('no-such-room', id))).toMatch(/^404 ROOM_NOT_FOUND /);
    for (const fileSize of ['-1', 'abc']) expectMalformed(await begin(roomId, id, { fileSize }), "Value at key 'fileSize'");
    expectMalformed(await begin(roomId, 'fl_1'), "Value at key 'fileId' must match");
    expectMalformed(await begin(roomId, id, { name: 'x'.repeat(1_025) }), "Value at key 'name'");
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/{partNumber}] a part that comes again takes the place of the one before', async () => {
    const id = aFileId();
    const uploadId = await begun(roomId, id);
    const first = (await putPart(roomId, id, uploadId, 1, Buffer.from('first'))).json;
    const again = (await putPart(roomId, id, uploadId, 1, Buffer.from('again!'))).json;
    expectMalformed(await complete(roomId, id, uploadId, [first]), "'parts' has another etag for part 1");
    expect((await complete(roomId, id, uploadId, [again])).json).toMatchObject({ size: 6 });
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/{partNumber}] numbers are 1 to 10,000 (row 87)', async () => {
    const id = aFileId();
    const uploadId = await begun(roomId, id);
    for (const number of [0, -1, 'a', 10_001, '1.5']) {
      const answer = await putPart(roomId, id, uploadId, number, Buffer.from('x'));
      expectMalformed(answer, "Value at key 'partNumber'");
    }
    expect((await putPart(roomId, id, uploadId, 10_000, Buffer.from('x'))).json.partNumber).toBe(10_000);
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/{partNumber}] [contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] [contract: DELETE /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}] an upload that is unknown, or over, is 404 (row 88)', async () => {
    const id = aFileId();
    const over = await begun(roomId, id);
    const parts = [(await putPart(roomId, id, over, 1, Buffer.from('x'))).json];
    await complete(roomId, id, over, parts);
    const aborted = await begun(roomId, aFileId());
    for (const uploadId of [over, 'unknown', '%00', encode('…'.repeat(50)), aborted]) {
      const answers = [await putPart(roomId, id, uploadId, 1, Buffer.from('x')), await abort(roomId, id, uploadId)];
      for (const answer of answers) expect(refusal(answer)).toMatch(/^404 RESOURCE_NOT_FOUND The upload /);
      const other = [{ partNumber: 1, etag: 'x' }];
      expect(refusal(await complete(roomId, id, uploadId, other))).toMatch(/^404 RESOURCE_NOT_FOUND The upload /);
    }
  });

  test('[contract: PUT /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/{partNumber}] [contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] [contract: DELETE /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}] an upload of another room, or of another file, is 404 (row 89)', async () => {
    const id = aFileId();
    const uploadId = await begun(roomId, id);
    const parts = [(await putPart(roomId, id, uploadId, 1, Buffer.from('x'))).json];
    const elsewhere: [string, string][] = [
      [await aRoom(), id],
      [roomId, aFileId()],
    ];
    for (const [room, file] of elsewhere) {
      for (const answer of [
        await putPart(room, file, uploadId, 1, Buffer.from('y')),
        await complete(room, file, uploadId, parts),
        await abort(room, file, uploadId),
      ])
        expect(refusal(answer)).toBe(`404 RESOURCE_NOT_FOUND The upload "${uploadId}" does not exist.`);
    }
    expect(refusal(await abort('no-such-room', id, uploadId))).toMatch(/^404 ROOM_NOT_FOUND /);
    expect((await complete(roomId, id, uploadId, parts)).status).toBe(200);
  });

  test('[contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] parts that are not those uploaded are 422, and nothing is changed (row 90)', async () => {
    const id = aFileId();
    const { uploadId, parts } = await inParts(roomId, id, WHOLE);
    const [first, second, third] = parts;
    for (const [named, message] of [
      [[], "Value at key 'parts' must have at least 1"],
      [[first, second], "'parts' leaves out part 3"],
      [[...parts, { partNumber: 4, etag: 'x' }], "'parts' names part 4, which was not uploaded"],
      [[first, second, third, third], "'parts' names a part twice"],
      [[first, { ...second, etag: first.etag }, third], "'parts' has another etag for part 2"],
      [[{ ...first, size: 1 }, second, third], "'parts.0.size' is not known here"],
      [[{ partNumber: 0, etag: 'x' }], "'parts.0.partNumber' must be at least 1"],
      [[{ partNumber: 1 }], "Missing key 'parts.0.etag'"],
    ] as const)
      expectMalformed(await complete(roomId, id, uploadId, named), message);
    expect((await read(roomId, id)).status).toBe(404);
    expect((await complete(roomId, id, uploadId, [third, first, second])).json).toMatchObject({ size: WHOLE.length });
  });

  test('[contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] a part below 5 MiB that is not the last, or another size than announced, is 422', async () => {
    const id = aFileId();
    const small = await begun(roomId, id);
    const parts = [];
    for (const number of [1, 2]) parts.push((await putPart(roomId, id, small, number, Buffer.from('x'))).json);
    expectMalformed(await complete(roomId, id, small, parts), 'only the last may have less than 5242880');
    const announced = await begun(roomId, id, { fileSize: 3 });
    const part = (await putPart(roomId, id, announced, 1, Buffer.from('four'))).json;
    expectMalformed(await complete(roomId, id, announced, [part]), 'make 4 bytes, where 3 were announced');
  });

  test('[contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] parts that make a file over the limit are 413', async () => {
    const id = aFileId();
    const uploadId = await begun(roomId, id);
    const parts = [];
    for (const [index, size] of [6 * MIB, 6 * MIB, 1].entries())
      parts.push((await putPart(roomId, id, uploadId, index + 1, new Uint8Array(size))).json);
    expect(refusal(await complete(roomId, id, uploadId, parts))).toBe(
      `413 PAYLOAD_TOO_LARGE The file is larger than ${FILE_BYTES_MAX} bytes.`,
    );
    expect((await read(roomId, id)).status).toBe(404);
  });

  test('[contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] the same again, as when the answer was lost, is the file', async () => {
    const id = aFileId();
    const { uploadId, parts } = await inParts(roomId, id, WHOLE);
    const answers = await Promise.all([1, 2, 3].map(() => complete(roomId, id, uploadId, parts)));
    const again = await complete(roomId, id, uploadId, [...parts].reverse());
    for (const answer of [...answers, again]) expect([answer.status, answer.json]).toEqual([200, answers[0]!.json]);
    expect(Buffer.compare(await download(await read(roomId, id)), WHOLE)).toBe(0);
  });

  test('[contract: POST /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}/complete] of two uploads of one id the first to be complete is the file; the other is that file, or 409', async () => {
    const id = aFileId();
    const uploads = [];
    for (const [name, body] of [
      ['a', 'one'],
      ['a', 'two'],
      ['b', 'one'],
    ] as const) {
      const uploadId = await begun(roomId, id, { name });
      uploads.push({ uploadId, parts: [(await putPart(roomId, id, uploadId, 1, Buffer.from(body))).json] });
    }
    const completed = [];
    for (const { uploadId, parts } of uploads) completed.push(await complete(roomId, id, uploadId, parts));
    expect(completed.map(({ status }) => status)).toEqual([200, 200, 409]);
    expect(Buffer.from(await download(await read(roomId, id))).toString()).toBe('one');
  });

  test('[contract: DELETE /rooms/{roomId}/storage/files/{fileId}/multipart/{uploadId}] 204 without a body, and the id is free', async () => {
    const id = aFileId();
    const uploadId = await begun(roomId, id);
    await putPart(roomId, id, uploadId, 1, Buffer.from('x'));
    expect(await abort(roomId, id, uploadId)).toEqual(nothing(204));
    expect((await abort(roomId, id, uploadId)).status).toBe(404);
    expect((await upload(roomId, { id })).status).toBe(200);
  });
});

describe('Storage that refers to files', () => {
  const KIND = 'liveblocksType';
  const node = (kind: string, data: unknown) => ({ [KIND]: kind, data });
  const unknown = { id: aFileId(), name: 'a.txt', size: 5, mimeType: 'text/plain' };

  test('[contract: a LiveFile of an unknown file] is 422 with its place, by whatever way it comes, and changes nothing', async () => {
    const room = await aRoom();
    const file = (await upload(room)).json;
    const root = (data: unknown) => node('LiveObject', { a: node('LiveList', [node('LiveFile', data)]) });
    const initialized = await call(`POST ${at(room)}/storage`, { json: root(unknown) });
    expectMalformed(initialized, "Value at key '/data/a/data/0/data/id' names a file that was not uploaded to this room");
    expect((await call(`POST ${at(room)}/storage`, { json: root(file) })).status).toBe(200);
    const patched = await call(`PATCH ${at(room)}/storage/json-patch`, {
      json: [
        { op: 'add', path: '/n', value: 1 },
        { op: 'add', path: '/b', value: { deep: node('LiveFile', unknown) } },
      ],
    });
    expect(refusal(patched)).toBe(
      `422 INVALID_STORAGE_MUTATION_REQUEST Operation 1 (add at "/b") failed: no file "${unknown.id}" was uploaded to this room. Nothing was changed.`,
    );
    const op = { type: 11, opId: '9:0', id: '9:1', parentId: 'root', parentKey: 'f', data: unknown };
    const sent = await call(`POST ${at(room)}/send-message`, { json: { messages: [{ type: 201, ops: [op] }] } });
    expectMalformed(sent, "'messages/0/data/id' names a file that was not uploaded to this room");
    const other = await aRoom();
    expect((await call(`POST ${at(other)}/storage`, { json: root(file) })).status).toBe(422); // it is a file of the other room
    expect((await call(`GET ${at(room)}/storage?format=json`)).json).toEqual({ a: [file] });
  });

  test('[contract: a LiveFile of an unknown file] in a room that is missing is 404 for the room', async () => {
    const json = node('LiveObject', { a: node('LiveFile', unknown) });
    expect(refusal(await call(`POST ${at('no-such-room')}/storage`, { json }))).toMatch(/^404 ROOM_NOT_FOUND /);
  });
});

/** Sends pieces of a MiB, one after the other, for as long as there is no answer; the request is never ended by us. */
function streamed(
  room: string,
  id: string,
  { pieces, fileSize }: { pieces: number; fileSize?: number },
): Promise<{ status: number; text: string; isEnded: boolean }> {
  const path = `/v2${fileAt(room, id, '/upload/a.bin')}${fileSize === undefined ? '' : `?fileSize=${fileSize}`}`;
  return new Promise((resolve, reject) => {
    const pending = httpRequest(new URL(path, server.url), {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${server.secretKey}`,
        'content-type': 'application/octet-stream',
        'transfer-encoding': 'chunked',
      },
    });
    pending.once('error', reject);
    pending.once('response', (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.once('end', () => {
        pending.on('error', () => undefined); // it is cut off in the middle
        resolve({ status: response.statusCode!, text, isEnded: pending.writableEnded });
        pending.destroy();
      });
    });
    pending.flushHeaders();
    for (let piece = 0; piece < pieces; piece++) pending.write(new Uint8Array(MIB));
  });
}

/** With a path that no client of the web would send. */
function raw(method: string, path: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.secretKey}`, 'content-length': 0 };
    const pending = httpRequest({ hostname, port, method, path, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode!, text }));
    });
    pending.once('error', reject);
    pending.end();
  });
}
