import { beforeEach, describe, expect, test } from 'vitest';
import { asRoomId } from '../../../src/base/ids.ts';
import { storageRoutes } from '../../../src/features/storage/routes.ts';
import { aDoor, type Call, callerOf, type RecordingDoor, refused } from '../call.ts';

const text = '{"serviceType":"LiveObject","data":{"b":"é","a":1}}'; // key order and spelling as the room made them
const nodes = [
  ['root', { type: 0, data: {} }],
  ['1:0', { type: 1, parentId: 'root', parentKey: 'l' }],
];
/** Every change carries a request, by which the room knows it when it comes again. */
const request = { id: expect.any(String), digest: expect.any(String) };
const op = { type: 3, id: 'root', data: { a: 1 }, opId: '77:0' };
/** The files of every room. */
const UPLOADED = `fl_${'u'.repeat(21)}`;
const UNKNOWN = `fl_${'n'.repeat(21)}`;
const looked: (readonly string[])[] = [];
const findMissingFiles = async (_: string, fileIds: readonly string[]): Promise<string[]> => {
  looked.push(fileIds);
  return fileIds.filter((fileId) => fileId !== UPLOADED);
};
let door: RecordingDoor;
let call: Call;

beforeEach(() => {
  looked.length = 0;
  door = aDoor(['here'], {
    'storage.read': [Buffer.from(text)],
    'storage.initialize': text,
    'storage.nodes': { actor: 77, lines: nodes.map((node) => Buffer.from(`${JSON.stringify(node)}\n`)) },
    'storage.send': { ops: [op] },
  });
  call = callerOf(storageRoutes({ rooms: door, typeKey: 'liveblocksType', findMissingFiles }));
});
const url = '/v2/rooms/here/storage';
const patch = (json: unknown) => call(`PATCH ${url}/json-patch`, { json });
const initialize = (json: unknown) => call(`POST ${url}`, { json });
const send = (json: unknown) => call('POST /v2/rooms/here/send-message', { json });

describe('GET /rooms/{roomId}/storage', () => {
  test.each([
    ['', 'plain-lson'],
    ['?format=plain-lson', 'plain-lson'],
    ['?format=json', 'json'],
  ])('[RS7] %s asks for %s; the text leaves as it is', async (query, format) => {
    const answer = await call(`GET ${url}${query}`);
    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(door.asked).toEqual([['here', { type: 'storage.read', format, typeKey: 'liveblocksType' }]]);
  });

  test('[RS8] row 57: an unknown format is refused', async () => {
    expect(refused(await call(`GET ${url}?format=xml`))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'format' must be 'plain-lson' or 'json'.",
    );
  });
});

describe('POST /rooms/{roomId}/storage', () => {
  test.each(['serviceType', 'liveblocksType'])(
    '[RS9] hands on a document whose kind is named %s, and answers it',
    async (typeKey) => {
      const root = { [typeKey]: 'LiveObject', data: { a: 1 } };
      expect(await initialize(root)).toMatchObject({ status: 200, text });
      expect(door.asked).toEqual([['here', { type: 'storage.initialize', root, typeKey: 'liveblocksType', request }]]);
    },
  );

  test.each([
    ['a root list', { serviceType: 'LiveList', data: {} }, "Value at key 'serviceType' must be 'LiveObject'"],
    ['no data', { serviceType: 'LiveObject' }, "Missing key 'data'."],
    ['no kind', { data: {} }, "Missing key 'serviceType'."],
    ['data that is a list', { serviceType: 'LiveObject', data: [] }, "Value at key 'data' must be an object."],
    ['an array', [], 'The body must be an object.'],
    [
      'row 59: an unknown kind, deep inside',
      { serviceType: 'LiveObject', data: { a: { serviceType: 'LiveList', data: [{ serviceType: 'x', data: 1 }] } } },
      "Value at key '/data/a/data/0/serviceType' must be one of",
    ],
    [
      'row 61: a value above the limit',
      { serviceType: 'LiveObject', data: { a: 'x'.repeat(2_097_152) } },
      "Value at key '/data/a' is longer than 2097152 characters.",
    ],
  ])('[RS10] row 58: %s is refused before the room is asked', async (_, body, message) => {
    expect(refused(await initialize(body))).toContain(`422 UNPROCESSABLE_ENTITY ${message}`);
    expect(door.asked).toEqual([]);
  });

  test('[RS11] a document may be 60 nodes deep and larger than other bodies', async () => {
    let data: object = {};
    for (let depth = 0; depth < 60; depth += 1) data = { inner: { serviceType: 'LiveObject', data } };
    expect((await initialize({ serviceType: 'LiveObject', data })).status).toBe(200);
    const list = { serviceType: 'LiveList', data: Array(2).fill('x'.repeat(2_000_000)) };
    expect((await initialize({ serviceType: 'LiveObject', data: { list } })).status).toBe(200);
    expect(refused(await initialize({ serviceType: 'LiveObject', data: { a: 'x'.repeat(10_485_760) } }))).toContain(
      '413 PAYLOAD_TOO_LARGE',
    );
  });
});

describe('DELETE and PATCH', () => {
  test('[RS12] DELETE /rooms/{roomId}/storage answers 200 without a body', async () => {
    expect(await call(`DELETE ${url}`)).toMatchObject({ status: 200, text: '' });
    expect(door.asked).toEqual([['here', { type: 'storage.delete', request }]]);
  });

  test('[RS13] PATCH …/json-patch hands on the operations and answers 200 without a body; row 66: null is a value', async () => {
    const operations = [
      { op: 'add', path: '/a', value: null },
      { op: 'move', from: '/a', path: '/b' },
      { op: 'test', path: '/b', value: null },
    ];
    expect(await patch(operations)).toMatchObject({ status: 200, text: '' });
    expect(door.asked).toEqual([['here', { type: 'storage.patch', operations, request }]]);
    expect((await patch([])).status).toBe(200);
  });

  test.each([
    ['row 62: an object', { op: 'remove', path: '/a' }, 'must be an array'],
    ['row 63: a path without slash', [{ op: 'remove', path: 'score' }], 'slash'],
    ['row 63: the whole document', [{ op: 'remove', path: '' }], 'slash'],
    ['row 63: a bad escape', [{ op: 'remove', path: '/a~2' }], '~'],
    ['row 64: an unknown op', [{ op: 'merge', path: '/a' }], "must be 'add', 'remove', 'replace', 'move', 'copy' or 'test'"],
    ['row 65: add without value', [{ op: 'add', path: '/a' }], "Missing key '0.value'"],
    ['row 65: move without from', [{ op: 'move', path: '/a' }], "Missing key '0.from'"],
    ['an unknown member', [{ op: 'remove', path: '/a', why: 'x' }], "'0.why' is not known here"],
  ])('[RS14] %s is refused before the room is asked', async (_, body, message) => {
    expect(refused(await patch(body))).toContain('422 UNPROCESSABLE_ENTITY');
    expect(refused(await patch(body))).toContain(message);
    expect(door.asked).toEqual([]);
  });

  test('[RS15] 1,000 operations are taken, not one more', async () => {
    const operations = (count: number) => Array.from({ length: count }, () => ({ op: 'remove', path: '/a' }));
    expect((await patch(operations(1_000))).status).toBe(200);
    expect(refused(await patch(operations(1_001)))).toContain('422 UNPROCESSABLE_ENTITY The body must have at most 1000 items.');
  });
});

describe('mutateStorage of the SDK', () => {
  test('[RS16] check 39: request-storage-mutation answers lines of exactly application/x-ndjson, the actor first', async () => {
    const answer = await call('POST /v2/rooms/here/request-storage-mutation', { json: {} });
    expect(answer.headers['content-type']).toBe('application/x-ndjson');
    expect(
      answer.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([{ actor: 77 }, ...nodes]);
  });

  test('[RS17] send-message hands on the ops of all messages at once and answers what the room says to them', async () => {
    const second = { ...op, opId: '77:1' };
    const answer = await send({
      messages: [
        { type: 201, ops: [op] },
        { type: 201, ops: [second] },
      ],
    });
    expect(answer).toMatchObject({ status: 200, json: { messages: [{ type: 201, ops: [op] }] } });
    expect(door.asked).toEqual([['here', { type: 'storage.send', ops: [op, second], request }]]);
  });

  test.each([
    ['no messages', {}, "Missing key 'messages'."],
    ['another message', { messages: [{ type: 100, ops: [] }] }, "Value at key 'messages.0.type' must be 201."],
    ['a malformed op', { messages: [{ type: 201, ops: [{ type: 3, id: 'x', data: {}, opId: '77:0' }] }] }, 'op 0/id'],
    ['an op without opId', { messages: [{ type: 201, ops: [{ type: 5, id: '1:1' }] }] }, 'op 0/opId is missing'],
  ])('[RS18] %s is refused before the room is asked', async (_, body, message) => {
    const answer = refused(await send(body));
    expect(answer).toContain('422 UNPROCESSABLE_ENTITY');
    expect(answer).toContain(message);
    expect(door.asked).toEqual([]);
  });
});

test('[RS19] row 78: a missing room is 404 for every one of them', async () => {
  const none = '/v2/rooms/none';
  for (const answer of [
    await call(`GET ${none}/storage`),
    await call(`POST ${none}/storage`, { json: { serviceType: 'LiveObject', data: {} } }),
    await call(`DELETE ${none}/storage`),
    await call(`PATCH ${none}/storage/json-patch`, { json: [] }),
    await call(`POST ${none}/request-storage-mutation`, { json: {} }),
    await call(`POST ${none}/send-message`, { json: { messages: [] } }),
  ]) {
    expect(refused(answer)).toBe('404 ROOM_NOT_FOUND The room "none" does not exist.');
  }
});

describe('files that a change names', () => {
  const node = (kind: string, data: unknown) => ({ serviceType: kind, data });
  const file = (id: string) => node('LiveFile', { id, name: 'a', size: 1, mimeType: 'x' });
  const create = (id: string) => ({ type: 11, id: '9:0', opId: '9:1', parentId: 'root', parentKey: 'f', data: file(id).data });

  test('[RS20] are asked for in one question; with those that are there, the room is asked', async () => {
    expect((await initialize(node('LiveObject', { a: file(UPLOADED), b: node('LiveList', [file(UPLOADED)]) }))).status).toBe(200);
    expect((await patch([{ op: 'add', path: '/f', value: { deep: [file(UPLOADED)] } }])).status).toBe(200);
    expect((await send({ messages: [{ type: 201, ops: [create(UPLOADED)] }] })).status).toBe(200);
    expect(looked).toEqual([[UPLOADED, UPLOADED], [UPLOADED], [UPLOADED]]);
    expect(door.asked).toHaveLength(3);
  });

  test('[RS20] with one that is not, the place is named, and the room is not asked', async () => {
    const answers = [
      await initialize(node('LiveObject', { 'a/b': node('LiveList', [file(UPLOADED), file(UNKNOWN)]) })),
      await send({ messages: [{ type: 201, ops: [create(UPLOADED), create(UNKNOWN)] }] }),
    ];
    expect(answers.map(refused)).toEqual([
      "422 UNPROCESSABLE_ENTITY Value at key '/data/a~1b/data/1/data/id' names a file that was not uploaded to this room.",
      "422 UNPROCESSABLE_ENTITY Value at key 'messages/1/data/id' names a file that was not uploaded to this room.",
    ]);
    expect(door.asked).toEqual([]);
  });

  test('[JP11] the room is told which operation of a patch names one that is not: it may fail at one before', async () => {
    const operations = [
      { op: 'test', path: '/n', value: 1 },
      { op: 'replace', path: '/f', value: { deep: [file(UPLOADED), file(UNKNOWN)] } },
      { op: 'replace', path: '/g', value: file(UNKNOWN) },
    ];
    await patch(operations);
    expect(door.asked).toEqual([
      ['here', { type: 'storage.patch', operations, missing: { index: 1, fileId: UNKNOWN }, request }],
    ]);
  });

  test('[RS20] what is no id of a file is not asked for: whoever reads it refuses it', async () => {
    await patch([{ op: 'add', path: '/f', value: file('fl_\u0000') }]);
    await patch([{ op: 'add', path: '/f', value: 1 }]);
    expect(looked).toEqual([]);
    expect(door.asked).toHaveLength(2);
  });
});

test('[OV9] a large body for a room that takes no changes now is refused before anybody looks into it; a small one is looked at first', async () => {
  const large = `{${'x'.repeat(20_000)}`;
  const changes = [`PATCH ${url}/json-patch`, `POST ${url}`, 'POST /v2/rooms/here/send-message'];
  for (const change of changes) expect(refused(await call(change, { body: large }))).toMatch(/^422 UNPROCESSABLE_ENTITY/);
  door.full.add(asRoomId('here'));
  for (const change of changes) {
    const answer = await call(change, { body: large });
    expect([answer.status, answer.json.error, answer.headers['retry-after']]).toEqual([429, 'ROOM_OVERLOADED', '1']);
    expect(refused(await call(change, { body: '{x' }))).toMatch(/^422 UNPROCESSABLE_ENTITY/);
  }
  expect(door.asked).toEqual([]);
});
