/** The contract's table Storage, the JSON Patch rules and the states of Room Storage, row by row, over HTTP. @see contract.test.ts */
import { describe, expect, test } from 'vitest';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { uploadAs } from '../support/e2e/files.ts';
import { enterRaw, type RawClient } from '../support/e2e/raw-client.ts';
import { aServer, isExternal } from '../support/e2e/server.ts';

/** An external server has the spelling that the SDKs expect. */
const KIND = isExternal ? 'liveblocksType' : 'serviceType';
const server = await aServer({ STORAGE_TYPE_KEY: KIND });
const { call, aRoom: anEmptyRoom } = contractOf(server);

const node = (kind: string, data: unknown) => ({ [KIND]: kind, data });
const initialize = (roomId: string, json: unknown) => call(`POST ${at(roomId)}/storage`, { json });
const patch = (roomId: string, json: unknown) => call(`PATCH ${at(roomId)}/storage/json-patch`, { json });
const stored = async (roomId: string, format = 'plain-lson') => (await call(`GET ${at(roomId)}/storage?format=${format}`)).json;
const FILE = { id: `fl_${'A'.repeat(21)}`, name: 'a.bin', size: 9, mimeType: 'application/octet-stream' };

/** It has the file, to which its Storage may refer. */
async function aRoom(): Promise<string> {
  const roomId = await anEmptyRoom();
  await uploadAs(server, roomId, FILE);
  return roomId;
}

/** One of every kind, and plain JSON. */
const FURNISHED = node('LiveObject', {
  n: 1,
  nothing: null,
  plain: { a: [1] },
  object: node('LiveObject', { k: 'v' }),
  map: node('LiveMap', { k: 1 }),
  list: node('LiveList', ['a', 'b', node('LiveObject', { c: 3 })]),
  text: node('LiveText', [['Hi ', { bold: true }], ['all']]),
  file: node('LiveFile', FILE),
});
const FURNISHED_JSON = {
  n: 1,
  nothing: null,
  plain: { a: [1] },
  object: { k: 'v' },
  map: { k: 1 },
  list: ['a', 'b', { c: 3 }],
  text: [['Hi ', { bold: true }], ['all']],
  file: FILE,
};

async function aFurnishedRoom(): Promise<string> {
  const roomId = await aRoom();
  await initialize(roomId, FURNISHED);
  return roomId;
}

/** For patches that are refused: it stays as it is. */
const unchanging = await aFurnishedRoom();

describe('reading and filling Storage', () => {
  test('[contract: GET /rooms/{roomId}/storage] a Storage never filled is an empty object in both formats', async () => {
    const roomId = await aRoom();
    const answer = await call(`GET ${at(roomId)}/storage`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(answer.json).toEqual(node('LiveObject', {}));
    expect(await stored(roomId, 'json')).toEqual({});
  });

  test('[contract: GET /rooms/{roomId}/storage] plain-lson, also when not said, names every kind; json simplifies it', async () => {
    const roomId = await aFurnishedRoom();
    expect((await call(`GET ${at(roomId)}/storage`)).json).toEqual(FURNISHED);
    expect(await stored(roomId, 'plain-lson')).toEqual(FURNISHED);
    expect(await stored(roomId, 'json')).toEqual(FURNISHED_JSON);
  });

  test.each(['xml', '', 'JSON'])('[contract: GET /rooms/{roomId}/storage] row 57: the format "%s" is refused', async (format) => {
    expect(refusal(await call(`GET ${at(await aRoom())}/storage?format=${format}`))).toBe(
      "422 UNPROCESSABLE_ENTITY Value at key 'format' must be 'plain-lson' or 'json'.",
    );
  });

  test.each(['serviceType', 'liveblocksType'])(
    '[contract: POST /rooms/{roomId}/storage] [contract: Room Storage none, initialize] answers what is there then; the kind may be in %s',
    async (key) => {
      const roomId = await aRoom();
      const document = JSON.parse(JSON.stringify(FURNISHED).replaceAll(`"${KIND}"`, `"${key}"`));
      expect(await initialize(roomId, document)).toMatchObject({ status: 200, json: FURNISHED });
      expect(await stored(roomId)).toEqual(FURNISHED);
    },
  );

  test('[contract: POST /rooms/{roomId}/storage] [contract: Room Storage has data, initialize] row 60: is 409 and changes nothing', async () => {
    const roomId = await aFurnishedRoom();
    const al = await enterRaw(server, { roomId, userId: 'al' });
    expect(refusal(await initialize(roomId, node('LiveObject', { other: 1 })))).toBe(
      `409 CANNOT_UPDATE_EXISTING_STORAGE The room "${roomId}" has Storage already.`,
    );
    expect(await stored(roomId)).toEqual(FURNISHED);
    await al.roundTrip();
  });

  test('[contract: POST /rooms/{roomId}/storage] a root without keys leaves it empty: it may be filled after that', async () => {
    const roomId = await aRoom();
    expect(await initialize(roomId, node('LiveObject', {}))).toMatchObject({ status: 200, json: node('LiveObject', {}) });
    expect((await initialize(roomId, FURNISHED)).status).toBe(200);
  });

  test.each<[name: string, body: unknown, message: string]>([
    ['row 58: a root list', node('LiveList', []), "'data' must be an object."],
    ['row 58: a root map', node('LiveMap', {}), `'${KIND}' must be 'LiveObject'`],
    ['row 58: no data', { [KIND]: 'LiveObject' }, "Missing key 'data'."],
    ['row 58: no kind', { data: {} }, "Missing key 'serviceType'."],
    ['row 58: data that is a list', node('LiveObject', []), "'data' must be an object."],
    [
      'row 59: an unknown kind',
      node('LiveObject', { a: node('LiveSet', []) }),
      `Value at key '/data/a/${KIND}' must be one of LiveObject`,
    ],
    [
      'row 59: an unknown kind deep in a list',
      node('LiveObject', { a: node('LiveList', [1, node('x', 1)]) }),
      `'/data/a/data/1/${KIND}'`,
    ],
    ['a node without data', node('LiveObject', { a: { [KIND]: 'LiveMap' } }), "Missing key '/data/a/data'."],
    ['a key too many in a node', node('LiveObject', { a: { ...node('LiveMap', {}), id: 'x' } }), "'/data/a/id' is not expected"],
    ['a list whose data is none', node('LiveObject', { a: node('LiveList', {}) }), "'/data/a/data' must be an array."],
    ['a map whose data is none', node('LiveObject', { a: node('LiveMap', []) }), "'/data/a/data' must be an object."],
    [
      'a text that is a number',
      node('LiveObject', { a: node('LiveText', 7) }),
      "'/data/a/data' must be a string or an array of segments",
    ],
    ['a null attribute', node('LiveObject', { a: node('LiveText', [['x', { b: null }]]) }), "'/data/a/data' must be a string or"],
    [
      'a file without a name',
      node('LiveObject', { a: node('LiveFile', { ...FILE, name: undefined }) }),
      "Missing key '/data/a/data/name'.",
    ],
    [
      'a file of another id',
      node('LiveObject', { a: node('LiveFile', { ...FILE, id: 'fl_x' }) }),
      "'/data/a/data/id' must be fl_ and 21 letters",
    ],
    [
      'a node inside plain JSON',
      node('LiveObject', { a: { b: node('LiveMap', {}) } }),
      "'/data/a/b' is a node inside plain JSON",
    ],
    ['row 61: a value above 2 Mi characters', node('LiveObject', { a: 'x'.repeat(2_097_153) }), "Value at key '/data"],
  ])('[contract: POST /rooms/{roomId}/storage] %s is refused, and nothing is there', async (_, body, message) => {
    const roomId = await aRoom();
    expectMalformed(await initialize(roomId, body), message);
    expect(await stored(roomId, 'json')).toEqual({});
  });

  test('[contract: DELETE /rooms/{roomId}/storage] [contract: Room Storage has data, delete] is 200 without a body, and 200 again', async () => {
    const roomId = await aFurnishedRoom();
    expect(await call(`DELETE ${at(roomId)}/storage`)).toEqual(nothing(200));
    expect(await stored(roomId)).toEqual(node('LiveObject', {}));
    expect(await call(`DELETE ${at(roomId)}/storage`)).toEqual(nothing(200));
    expect((await initialize(roomId, FURNISHED)).status).toBe(200);
  });

  test('[contract: Room Storage none, initialize] [contract: Room Storage has data, delete] initialising and deleting disconnect all who are connected, so that they come back; nothing else does', async () => {
    const roomId = await aRoom();
    const enterTwo = () => Promise.all(['al', 'bo'].map((userId) => enterRaw(server, { roomId, userId })));
    const codes = (clients: readonly RawClient[]) => Promise.all(clients.map(async ({ closed }) => (await closed).code));
    const first = await enterTwo();
    expect(refusal(await initialize(roomId, node('LiveList', [])))).toContain('422');
    expect(await call(`DELETE ${at(roomId)}/storage`)).toEqual(nothing(200)); // nothing was there
    for (const client of first) await client.roundTrip();
    await initialize(roomId, FURNISHED);
    expect(await codes(first)).toEqual([4100, 4100]);
    const second = await enterTwo();
    await patch(roomId, [{ op: 'remove', path: '/n' }]);
    for (const client of second) await client.roundTrip();
    await call(`DELETE ${at(roomId)}/storage`);
    expect(await codes(second)).toEqual([4100, 4100]);
  });
});

describe('PATCH /rooms/{roomId}/storage/json-patch', () => {
  test('[contract: PATCH /rooms/{roomId}/storage/json-patch] [contract: JSON Patch rule 1] six operations, in order, each on what the last left', async () => {
    const roomId = await aFurnishedRoom();
    const answer = await patch(roomId, [
      { op: 'add', path: '/a', value: 1 },
      { op: 'test', path: '/a', value: 1 },
      { op: 'replace', path: '/a', value: [2] },
      { op: 'test', path: '/a', value: [2] },
      { op: 'copy', from: '/a', path: '/object/b' },
      { op: 'move', from: '/list/0', path: '/list/2' },
      { op: 'remove', path: '/a' },
      { op: 'remove', path: '/plain' },
    ]);
    expect(answer).toEqual(nothing(200));
    const { plain: _, ...rest } = FURNISHED_JSON;
    expect(await stored(roomId, 'json')).toEqual({ ...rest, object: { k: 'v', b: [2] }, list: ['b', { c: 3 }, 'a'] });
  });

  test('[contract: JSON Patch rule 1] an empty patch changes nothing and is 200', async () => {
    const roomId = await aFurnishedRoom();
    expect(await patch(roomId, [])).toEqual(nothing(200));
    expect(await stored(roomId)).toEqual(FURNISHED);
  });

  test('[contract: JSON Patch rule 2] parents are objects, lists and maps; /- appends; ~1 is a slash and ~0 a tilde; null is a value (row 66)', async () => {
    const roomId = await aFurnishedRoom();
    const operations = [
      { op: 'add', path: '/list/2/deep', value: null },
      { op: 'add', path: '/list/-', value: 'last' },
      { op: 'add', path: '/list/0', value: 'first' },
      { op: 'add', path: '/map/a~1b~0c', value: 2 },
      { op: 'add', path: '/', value: 'no name' },
    ];
    expect(await patch(roomId, operations)).toEqual(nothing(200));
    expect(await stored(roomId, 'json')).toMatchObject({
      '': 'no name',
      list: ['first', 'a', 'b', { c: 3, deep: null }, 'last'],
      map: { k: 1, 'a/b~c': 2 },
    });
  });

  test('[contract: JSON Patch rule 3] nested plain objects and arrays become LiveObjects and LiveLists', async () => {
    const roomId = await aRoom();
    await patch(roomId, [
      { op: 'add', path: '/added', value: { inner: [1, { x: 'y' }], s: 'v' } },
      { op: 'add', path: '/replaced', value: 0 },
      { op: 'replace', path: '/replaced', value: [[2]] },
    ]);
    const inner = node('LiveList', [1, node('LiveObject', { x: 'y' })]);
    expect(await stored(roomId)).toEqual(
      node('LiveObject', {
        added: node('LiveObject', { inner, s: 'v' }),
        replaced: node('LiveList', [node('LiveList', [2])]),
      }),
    );
  });

  test('[contract: JSON Patch rule 4] a LiveFile, and every other kind, is added as a node', async () => {
    const roomId = await aRoom();
    const file = node('LiveFile', FILE);
    const value = { file, map: node('LiveMap', { k: node('LiveText', 'x') }), list: node('LiveList', [file]) };
    expect(await patch(roomId, [{ op: 'add', path: '/all', value }])).toEqual(nothing(200));
    const text = node('LiveText', [['x']]);
    expect((await stored(roomId)).data.all).toEqual(node('LiveObject', { ...value, map: node('LiveMap', { k: text }) }));
  });

  test('[contract: JSON Patch rule 5] a LiveText is replaced by a string or by segments, and removed, as a whole', async () => {
    const roomId = await aFurnishedRoom();
    const replaced = async (value: unknown) => {
      expect(await patch(roomId, [{ op: 'replace', path: '/text', value }])).toEqual(nothing(200));
      return (await stored(roomId)).data.text;
    };
    expect(await replaced('new')).toEqual(node('LiveText', [['new']]));
    expect(await replaced([['a'], ['b'], ['c', { i: 1 }]])).toEqual(node('LiveText', [['ab'], ['c', { i: 1 }]]));
    expect(await replaced('')).toEqual(node('LiveText', []));
    expect(await patch(roomId, [{ op: 'remove', path: '/text' }])).toEqual(nothing(200));
    expect(await stored(roomId, 'json')).not.toHaveProperty('text');
  });

  test('[contract: JSON Patch rule 6] 1,000 operations on a document of 5,000 nodes are one change; 1,001 are refused', async () => {
    const roomId = await aRoom();
    const items = Array.from({ length: 5_000 }, (_, n) => n);
    await initialize(roomId, node('LiveObject', { list: node('LiveList', items) }));
    const pushes = (count: number) => Array.from({ length: count }, () => ({ op: 'add', path: '/list/-', value: 'x' }));
    expect(await patch(roomId, pushes(1_000))).toEqual(nothing(200));
    expect(refusal(await patch(roomId, pushes(1_001)))).toBe('422 UNPROCESSABLE_ENTITY The body must have at most 1000 items.');
    expect((await stored(roomId, 'json')).list).toEqual([...items, ...Array(1_000).fill('x')]);
  });

  const text = 'a LiveText is replaced by a string or an array of segments';
  test.each<[row: number, operation: { op: string; path: string; [key: string]: unknown }, reason: string, pointer?: string]>([
    [67, { op: 'remove', path: '/none' }, 'there is no key "none"'],
    [67, { op: 'replace', path: '/map/none', value: 1 }, 'there is no key "none"'],
    [67, { op: 'add', path: '/none/a', value: 1 }, 'there is no key "none"'],
    [67, { op: 'copy', from: '/none', path: '/a' }, 'there is no key "none"', '/none'],
    [68, { op: 'remove', path: '/list/3' }, 'the index 3 is out of bounds of a list of 3'],
    [68, { op: 'replace', path: '/list/3', value: 1 }, 'the index 3 is out of bounds of a list of 3'],
    [68, { op: 'add', path: '/list/4', value: 1 }, 'the index 4 is out of bounds of a list of 3'],
    [68, { op: 'move', from: '/list/0', path: '/list/3' }, 'the index 3 is out of bounds of a list of 2'],
    [69, { op: 'add', path: '/list/01', value: 1 }, '"01" is not a list index'],
    [69, { op: 'add', path: '/list/-1', value: 1 }, '"-1" is not a list index'],
    [69, { op: 'remove', path: '/list/1.0' }, '"1.0" is not a list index'],
    [69, { op: 'test', path: '/list/x', value: 1 }, '"x" is not a list index'],
    [70, { op: 'remove', path: '/list/-' }, 'refers to no element'],
    [70, { op: 'replace', path: '/list/-', value: 1 }, 'refers to no element'],
    [70, { op: 'test', path: '/list/-', value: 1 }, 'refers to no element'],
    [70, { op: 'move', from: '/list/-', path: '/list/0' }, 'refers to no element', '/list/-'],
    [71, { op: 'add', path: '/plain/b', value: 1 }, '/plain is plain JSON, which cannot be entered'],
    [71, { op: 'test', path: '/plain/a', value: [1] }, '/plain is plain JSON, which cannot be entered'],
    [71, { op: 'add', path: '/n/b', value: 1 }, '/n is plain JSON, which cannot be entered'],
    [71, { op: 'remove', path: '/list/0/b' }, '/list/0 is plain JSON, which cannot be entered'],
    [72, { op: 'add', path: '/text/0', value: 1 }, '/text is a leaf'],
    [72, { op: 'replace', path: '/file/name', value: 'x' }, '/file is a leaf'],
    [73, { op: 'replace', path: '/text', value: 3 }, text],
    [73, { op: 'replace', path: '/text', value: { a: 1 } }, text],
    [73, { op: 'replace', path: '/text', value: null }, text],
    [74, { op: 'test', path: '/n', value: '1' }, 'the value there is another one'],
    [74, { op: 'test', path: '/n', value: 2 }, 'the value there is another one'],
    [74, { op: 'test', path: '/nothing', value: false }, 'the value there is another one'],
    [74, { op: 'test', path: '/list', value: ['b', 'a', { c: 3 }] }, 'the value there is another one'],
    [75, { op: 'test', path: '/none', value: null }, 'there is no key "none"'],
    [76, { op: 'move', from: '/object', path: '/object/k' }, '/object would be moved into itself'],
    [76, { op: 'move', from: '/list', path: '/list/2/x' }, '/list would be moved into itself'],
  ])(
    '[contract: JSON Patch rule 1] row %i: %j fails as operation 1, and the patch as a whole',
    async (_, operation, reason, pointer) => {
      const said = refusal(await patch(unchanging, [{ op: 'remove', path: '/object/k' }, operation]));
      const { op, path } = operation;
      expect(said).toContain(`422 INVALID_STORAGE_MUTATION_REQUEST Operation 1 (${op} at "${pointer ?? path}") failed: `);
      expect(said).toContain(reason);
      expect(await stored(unchanging)).toEqual(FURNISHED);
    },
  );

  test('[contract: JSON Patch rule 1] row 77: when the third operation fails, clients see nothing either', async () => {
    const roomId = await aFurnishedRoom();
    const al = await enterRaw(server, { roomId, userId: 'al' });
    await al.fetchStorage();
    const operations = [
      { op: 'add', path: '/a', value: 1 },
      { op: 'remove', path: '/list/0' },
      { op: 'test', path: '/a', value: 2 },
      { op: 'remove', path: '/map' },
    ];
    expect(refusal(await patch(roomId, operations))).toBe(
      '422 INVALID_STORAGE_MUTATION_REQUEST Operation 2 (test at "/a") failed: the value there is another one. Nothing was changed.',
    );
    await al.roundTrip();
    expect(al.inbox).toEqual([]);
    expect(await stored(roomId)).toEqual(FURNISHED);
  });

  test.each<[name: string, body: unknown, message: string]>([
    ['row 62: an object', { op: 'remove', path: '/n' }, 'The body must be an array.'],
    ['row 62: null', null, 'The body must be an array.'],
    ['row 62: an operation that is none', [7], "Value at key '0' must be an object."],
    ['row 63: a path without slash', [{ op: 'remove', path: 'n' }], 'it must start with a slash'],
    ['row 63: the whole document', [{ op: 'replace', path: '', value: {} }], 'it must start with a slash'],
    ['row 63: a bad escape', [{ op: 'remove', path: '/a~2' }], '~ must be followed by 0 or 1'],
    ['row 63: a from without slash', [{ op: 'move', from: 'n', path: '/a' }], 'it must start with a slash'],
    ['row 63: a path that is a number', [{ op: 'remove', path: 7 }], "'0.path' must be a string."],
    [
      'row 64: an unknown op',
      [{ op: 'merge', path: '/n' }],
      "'0.op' must be 'add', 'remove', 'replace', 'move', 'copy' or 'test'.",
    ],
    ['row 65: add without value', [{ op: 'add', path: '/a' }], "Missing key '0.value'."],
    ['row 65: test without value', [{ op: 'test', path: '/n' }], "Missing key '0.value'."],
    ['row 65: move without from', [{ op: 'move', path: '/a' }], "Missing key '0.from'."],
    ['row 65: no path', [{ op: 'remove' }], "Missing key '0.path'."],
    ['row 10: a key too many', [{ op: 'remove', path: '/n', value: 1 }], "'0.value' is not known here."],
    ['row 59: an unknown kind', [{ op: 'add', path: '/a', value: node('LiveSet', []) }], `'/0/value/${KIND}' must be one of`],
    [
      'row 61: a value too long',
      [{ op: 'add', path: '/a', value: ['x'.repeat(2_097_153)] }],
      "'/0/value/0' is longer than 2097152",
    ],
    [
      'a pointer to a prototype',
      [{ op: 'add', path: '/__proto__', value: 1 }],
      'names the key "__proto__", which is not allowed',
    ],
  ])('[contract: PATCH /rooms/{roomId}/storage/json-patch] %s is refused as malformed', async (_, body, message) => {
    expectMalformed(await patch(unchanging, body), message);
    expect(await stored(unchanging)).toEqual(FURNISHED);
  });
});

describe('limits of Storage', () => {
  test('[contract: POST /rooms/{roomId}/storage] row 61: a text and the plain values of an object have 2 Mi characters each, not one more', async () => {
    const roomId = await aRoom();
    const x = (length: number) => 'x'.repeat(length);
    const plain = 2_097_152 - 10; // quotes, braces and commas count
    expect(refusal(await initialize(roomId, node('LiveObject', { a: x(plain + 1) })))).toContain(
      "'/data/a' is longer than 2097152",
    );
    const tooLong = node('LiveObject', { text: node('LiveText', x(2_097_153)) });
    expect(refusal(await initialize(roomId, tooLong))).toContain("'/data/text/data' is longer than 2097152");
    const longest = node('LiveObject', { a: x(plain), text: node('LiveText', [[x(2_097_152)]]) });
    expect(await initialize(roomId, longest)).toMatchObject({ status: 200, json: longest });
  });

  test('[contract: PATCH /rooms/{roomId}/storage/json-patch] a body of 10 MiB is read, one byte more is 413', async () => {
    const roomId = await aRoom();
    const padded = (bytes: number) => {
      const body = JSON.stringify([{ op: 'add', path: '/b', value: 1 }]);
      return call(`PATCH ${at(roomId)}/storage/json-patch`, { body: body + ' '.repeat(bytes - body.length) });
    };
    expect(refusal(await padded(10_485_761))).toBe('413 PAYLOAD_TOO_LARGE The body is larger than 10485760 bytes.');
    expect(await stored(roomId, 'json')).toEqual({});
    expect(await padded(10_485_760)).toEqual(nothing(200));
    expect(await stored(roomId, 'json')).toEqual({ b: 1 });
  });
});
