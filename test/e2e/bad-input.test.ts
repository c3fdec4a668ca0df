/** Hostile and broken input: each gets its named error or close code, the neighbour in the room notices nothing, the process lives. */
import { randomBytes } from 'node:crypto';
import * as encoding from 'lib0/encoding';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Awareness, encodeAwarenessUpdate } from 'y-protocols/awareness';
import * as Y from 'yjs';
import { CODE } from '../support/e2e/messages.ts';
import { type Closing, dial, enterRaw } from '../support/e2e/raw-client.ts';
import { type Ask, ask, roomPath } from '../support/e2e/rest.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { deletedContent, YJS_BOMBS } from '../support/e2e/yjs-bombs.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;
/** Small, so that the edge is cheap to reach; an external server has its default. */
const FRAME_BYTES_MAX = isExternal ? 10 * MIB : 256 * KIB;
const BODY_BYTES_MAX = isExternal ? 10 * MIB : 1 * MIB;
/** More than a connection may send at once: four times what it may send a second. */
const FLOOD_FRAMES = isExternal ? 20_000 : 1_000;
const server = await aServer({
  FRAME_BYTES_MAX: String(FRAME_BYTES_MAX),
  BODY_BYTES_MAX: String(BODY_BYTES_MAX),
  MESSAGES_PER_SECOND_MAX: '100',
});
const { backend } = server;

const roomId = freshRoomId('bad-input');
let token: string;
/** Stays in the room through the whole file; whatever the others send, its connection must not feel it. */
let bystander: WebSocket;
let bystanderWasClosed = false;

beforeAll(async () => {
  token = await accessTokenFor(server, { userId: 'al' });
  bystander = new WebSocket(`${server.socketUrl}/v8?${new URLSearchParams({ roomId, tok: token, version: '3.24.2' })}`);
  bystander.on('close', () => {
    bystanderWasClosed = true;
  });
  await new Promise((resolve) => bystander.once('message', resolve));
});

afterAll(() => bystander.terminate());

/** The neighbour still hears what is said in the room: over a fresh connection, so that the whole way works. */
async function bystanderIsFine(): Promise<void> {
  const event = randomBytes(6).toString('hex');
  const heard = new Promise<void>((resolve) => {
    bystander.on('message', function listen(data) {
      if (!String(data).includes(event)) return;
      bystander.off('message', listen);
      resolve();
    });
  });
  const client = await enterRaw(server, { roomId, token });
  client.send({ type: CODE.event, event });
  await heard;
  expect(bystanderWasClosed).toBe(false);
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const message = (type: number, fields: string): string => `[{"type":${type},${fields}}]`;
const op = (fields: string): string => message(CODE.storageOps, `"ops":[{"opId":"1:1",${fields}}]`);

describe('the SDK socket', () => {
  test.each([
    ['text that is no JSON', 'not json'],
    ['JSON cut short', '[{"type":100,"data":{'],
    ['nothing', ''],
    ['a number', '42'],
    ['null', 'null'],
    ['an array of numbers', '[1]'],
    ['a message without a type', '[{}]'],
    ['a type that is text', '[{"type":"100","data":{}}]'],
    ['arrays nested 10,000 deep', nested(10_000)],
    ['an event nested 100 deep', message(CODE.event, `"event":${nested(100)}`)],
    ['an op nested 1,000 deep', op(`"type":3,"id":"root","data":{"a":${nested(1_000)}}`)],
    ['a presence without data', '[{"type":100}]'],
    ['a presence that is a list', message(CODE.presence, '"data":[1]')],
    ['a presence with the key __proto__', message(CODE.presence, '"data":{"__proto__":{"a":1}}')],
    ['a presence for half an actor', message(CODE.presence, '"data":{},"targetActor":1.5')],
    ['ops that are no list', message(CODE.storageOps, '"ops":{}')],
    ['an op that is no object', message(CODE.storageOps, '"ops":[7]')],
    ['an op without an id of its node', op('"type":3,"data":{"a":1}')],
    [
      'a text that is no list of segments',
      op('"type":9,"id":"1:1","parentId":"root","parentKey":"t","version":0,"data":{"a":1}'),
    ],
    ['a state vector that is not base64', message(CODE.ydoc, '"vector":"*not base64*"')],
    ['a state vector of chance bytes', message(CODE.ydoc, '"vector":"//////////8="')],
    ['a Yjs update that is not base64', message(CODE.ydocUpdate, '"update":"*"')],
    ['a Yjs update in V1 that is said to be in V2', message(CODE.ydocUpdate, '"update":"AAA=","v2":true')],
    ['a guid of 1,000 characters', message(CODE.ydoc, `"vector":"AA==","guid":"${'g'.repeat(1_000)}"`)],
  ])('[E2E-B1] %s closes with 4000 and a reason', async (_, frame) => {
    const client = await enterRaw(server, { roomId, token });
    client.sendFrame(frame);
    expect(await client.closed).toEqual({ code: 4000, reason: expect.stringMatching(/\w/) });
    await bystanderIsFine();
  });

  test('[E2E-B2] unknown codes, unknown fields and binary frames are passed over', async () => {
    const client = await enterRaw(server, { roomId, token });
    client.sendFrame('[{"type":12345,"x":1},{"type":103,"event":1,"later":true}]');
    client.sendFrame(randomBytes(100));
    client.sendFrame('{"type":103,"event":"a bare object"}');
    await client.roundTrip();
  });

  test('[E2E-B3] a presence over its limit closes with 4000 and the limit, one at the limit passes', async () => {
    const limit = 64 * KIB;
    const presence = (bytes: number) => `{"type":100,"data":{"a":"${'x'.repeat(bytes - '{"a":""}'.length)}"}}`;
    const client = await enterRaw(server, { roomId, token });
    client.sendFrame(presence(limit));
    await client.roundTrip();
    client.sendFrame(presence(limit + 1));
    expect(await client.closed).toEqual({ code: 4000, reason: 'The presence is larger than 65536 bytes.' });
    await bystanderIsFine();
  });

  test('[E2E-B3] a frame over its limit closes with 4000 and the limit, one at the limit passes', async () => {
    const padded = (bytes: number) => `{"type":9999,"a":"${'x'.repeat(bytes - '{"type":9999,"a":""}'.length)}"}`;
    const client = await enterRaw(server, { roomId, token });
    client.sendFrame(padded(FRAME_BYTES_MAX));
    await client.roundTrip();
    client.sendFrame(padded(FRAME_BYTES_MAX + 1));
    expect(await client.closed).toEqual({ code: 4000, reason: `The frame is larger than ${FRAME_BYTES_MAX} bytes.` });
    await bystanderIsFine();
  });

  test('[E2E-B4] a flood of frames closes with 1008', async () => {
    const client = await enterRaw(server, { roomId, token });
    for (let count = 0; count < FLOOD_FRAMES; count += 1) client.sendFrame('{"type":9999}');
    expect(await client.closed).toMatchObject({ code: 1008 });
    await bystanderIsFine();
  });

  test('[E2E-B10] who stops reading is sent away with 1013 or cut off; who reads gets everything', async () => {
    const [sender, reader, sleeper] = [
      await enterRaw(server, { roomId, token }),
      await enterRaw(server, { roomId, token }),
      await enterRaw(server, { roomId, token }),
    ];
    sleeper.stopReading();
    const events = 150;
    for (let number = 0; number < events; number += 1) {
      sender.send({ type: CODE.event, event: { number, load: 'x'.repeat(100 * KIB) } });
      expect((await reader.take(CODE.event)).event.number).toBe(number);
    }
    const left = await reader.take(CODE.userLeft);
    expect(left.actor).toBe(sleeper.actor);
    sleeper.readAgain();
    expect([1013, 1006]).toContain((await sleeper.closed).code);
    await bystanderIsFine();
  });

  test('[E2E-B5] a frame is taken whole or not at all', async () => {
    const before = await backend.getStorageDocument(roomId, 'json');
    const client = await enterRaw(server, { roomId, token });
    client.sendFrame('[{"type":201,"ops":[{"opId":"1:1","type":3,"id":"root","data":{"half":1}}]},{"type":100}]');
    expect(await client.closed).toMatchObject({ code: 4000 });
    expect(await backend.getStorageDocument(roomId, 'json')).toEqual(before);
  });

  test.each([
    ['no room', ''],
    ['a room ID of 129 characters', 'r'.repeat(129)],
    ['a room ID with an asterisk', 'a*'],
    ['a room ID with a control character', 'a\u0000b'],
  ])('[E2E-B6] %s is refused without coming back', async (_, badRoomId) => {
    const { code } = await (await dial(server, { roomId: badRoomId, token })).closed;
    expect(code).toBeGreaterThanOrEqual(4000);
    expect(code).toBeLessThan(4100);
  });
});

/** A y-websocket connection by hand; its frames are bytes. */
async function enterYjs(): Promise<{ send(frame: Uint8Array | string): void; closed: Promise<Closing> }> {
  const socket = new WebSocket(`${server.socketUrl}/yjs/${encodeURIComponent(roomId)}?token=${token}`);
  const closed = new Promise<Closing>((resolve) =>
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  );
  await new Promise((resolve) => socket.once('message', resolve));
  return { send: (frame) => socket.send(frame), closed };
}

const frameOf = (head: readonly number[], body: Uint8Array): Uint8Array => {
  const encoder = encoding.createEncoder();
  for (const part of head) encoding.writeVarUint(encoder, part);
  encoding.writeVarUint8Array(encoder, body);
  return encoding.toUint8Array(encoder);
};

function awarenessOf(count: number): Uint8Array {
  const awareness = new Awareness(new Y.Doc());
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  for (const id of ids) {
    awareness.states.set(id, {});
    awareness.meta.set(id, { clock: 1, lastUpdated: 0 });
  }
  const update = encodeAwarenessUpdate(awareness, ids);
  awareness.destroy();
  return update;
}

describe('the y-websocket socket', () => {
  test.each([
    ['a text frame', 'hello'],
    ['an empty frame', new Uint8Array()],
    ['an unknown message type', new Uint8Array([77])],
    ['an unknown sync step', new Uint8Array([0, 9, 0])],
    ['a length beyond the frame', new Uint8Array([0, 2, 255, 255, 3])],
    ['a number that never ends', new Uint8Array(20).fill(255)],
    ['a state vector of chance bytes', frameOf([0, 0], new Uint8Array([255, 255, 255, 255, 15]))],
    ['awareness that is no JSON', frameOf([1], new Uint8Array([1, 1, 1, 3, 120, 120, 120]))],
    ['awareness of 10,001 clients', frameOf([1], awarenessOf(10_001))],
  ])('[E2E-B7] %s closes with 4400 and a reason', async (_, frame) => {
    const client = await enterYjs();
    client.send(frame);
    expect(await client.closed).toEqual({ code: 4400, reason: expect.stringMatching(/\w/) });
    await bystanderIsFine();
  });
});

describe('Yjs bombs', () => {
  test.each(YJS_BOMBS)('[E2E-B8] %s is refused by both sockets and by REST, and the document stays', async (_, update) => {
    const before = await backend.getYjsDocument(roomId);
    const sdk = await enterRaw(server, { roomId, token });
    sdk.send({ type: CODE.ydocUpdate, update: Buffer.from(update).toString('base64'), v2: false });
    expect(await sdk.closed).toMatchObject({ code: 4000 });
    const plain = await enterYjs();
    plain.send(frameOf([0, 2], update));
    expect(await plain.closed).toMatchObject({ code: 4400 });
    const put = await ask(server, roomPath(roomId, '/ydoc'), {
      method: 'PUT',
      body: update,
      contentType: 'application/octet-stream',
    });
    expect(put).toMatchObject({ status: 422, json: { error: 'YJS_UPDATE_INVALID' } });
    expect(await backend.getYjsDocument(roomId)).toEqual(before);
    await bystanderIsFine();
  });

  test('[E2E-B8] over a socket one update brings deleted content of 1,000,000 clocks at most', async () => {
    const update = deletedContent({ client: 7, clock: 0, length: 1_000_001 });
    const sdk = await enterRaw(server, { roomId, token });
    sdk.send({ type: CODE.ydocUpdate, update: Buffer.from(update).toString('base64'), v2: false });
    expect(await sdk.closed).toMatchObject({ code: 4000 });
    const plain = await enterYjs();
    plain.send(frameOf([0, 2], update));
    expect(await plain.closed).toMatchObject({ code: 4400 });
  });

  test('[E2E-B8] nobody may use up the clocks of a client that is writing: its next edit still counts', async () => {
    const victim = new Y.Doc();
    const edit = (): Uint8Array => {
      const before = Y.encodeStateVector(victim);
      victim.getText('victim').insert(0, 'x');
      return Y.encodeStateAsUpdate(victim, before);
    };
    const change = (update: Uint8Array) => ({ type: CODE.ydocUpdate, update: Buffer.from(update).toString('base64'), v2: false });
    const [writer, attacker] = [await enterRaw(server, { roomId, token }), await enterRaw(server, { roomId, token })];
    writer.send(change(edit()));
    await writer.roundTrip();
    attacker.send(change(deletedContent({ client: victim.clientID, clock: 1, length: 100_000 })));
    expect(await attacker.closed).toMatchObject({ code: 1012 });
    writer.send(change(edit()));
    await until(
      'both edits are stored',
      async () => ((await backend.getYjsDocument(roomId, { key: 'victim', type: 'ytext' })) as unknown) === 'xx',
    );
  });

  test('[E2E-B8] 400 KB of nested values in one update is refused and stalls nobody', async () => {
    const encoder = encoding.createEncoder();
    for (const number of [1, 1, 7, 0]) encoding.writeVarUint(encoder, number);
    encoding.writeUint8(encoder, 8); // ContentAny, parent by name
    encoding.writeVarUint(encoder, 1);
    encoding.writeVarString(encoder, 'array');
    encoding.writeVarUint(encoder, 1);
    for (let depth = 0; depth < 200_000; depth += 1) encoding.writeUint8Array(encoder, new Uint8Array([117, 1])); // an array of one
    encoding.writeUint8(encoder, 126); // null
    encoding.writeVarUint(encoder, 0);
    const body = encoding.toUint8Array(encoder);
    const put = await ask(server, roomPath(roomId, '/ydoc'), { method: 'PUT', body, contentType: 'application/octet-stream' });
    expect(put).toMatchObject({ status: 422, json: { error: 'YJS_UPDATE_INVALID' } });
    await bystanderIsFine();
  });
});

describe('REST', () => {
  const bad: [name: string, path: string, request: Ask, status: number][] = [
    ['a body that is no JSON', '/v2/rooms', { body: '{"id":' }, 422],
    ['a body nested 10,000 deep', '/v2/rooms', { body: nested(10_000) }, 422],
    ['a body that is a list', '/v2/rooms', { json: [] }, 422],
    ['a missing key', '/v2/rooms', { json: { id: 'x' } }, 422],
    ['an unknown key', '/v2/rooms', { json: { id: 'x', defaultAccesses: [], colour: 'red' } }, 422],
    ['the key __proto__', '/v2/rooms', { body: '{"id":"x","defaultAccesses":[],"metadata":{"__proto__":"a"}}' }, 422],
    ['a permission that does not exist', '/v2/rooms', { json: { id: 'x', defaultAccesses: ['room:fly'] } }, 422],
    ['a room ID with an asterisk', '/v2/rooms', { json: { id: 'a*', defaultAccesses: [] } }, 422],
    [
      'metadata of 51 entries',
      '/v2/rooms',
      {
        json: {
          id: 'x',
          defaultAccesses: [],
          metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'v'])),
        },
      },
      422,
    ],
    ['a limit of 0', '/v2/rooms?limit=0', {}, 422],
    ['a limit of 101', '/v2/rooms?limit=101', {}, 422],
    ['a limit that is no number', '/v2/rooms?limit=ten', {}, 422],
    ['a cursor of our own making', '/v2/rooms?startingAfter=nonsense', {}, 422],
    ['a path that is no percent-encoding', '/v2/rooms/%E0%A4%A', {}, 422],
    ['a time to live of 1 s', roomPath(roomId, '/presence'), { json: { userId: 'x', data: {}, userInfo: {}, ttl: 1 } }, 422],
    [
      'a time to live of 3,600 s',
      roomPath(roomId, '/presence'),
      { json: { userId: 'x', data: {}, userInfo: {}, ttl: 3_600 } },
      422,
    ],
    [
      'eleven patterns in one token',
      '/v2/authorize-user',
      { json: { userId: 'x', permissions: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`r${n}`, ['*:read']])) } },
      422,
    ],
    [
      'an asterisk in the middle of a pattern',
      '/v2/authorize-user',
      { json: { userId: 'x', permissions: { 'a*b': ['*:read'] } } },
      422,
    ],
    ['a route that does not exist', '/v2/nowhere', {}, 404],
    ['a method that the route has not', '/v2/rooms', { method: 'DELETE' }, 405],
    ['a patch that is no list', roomPath(roomId, '/storage/json-patch'), { method: 'PATCH', json: {} }, 422],
    [
      'a pointer without a slash',
      roomPath(roomId, '/storage/json-patch'),
      { method: 'PATCH', json: [{ op: 'add', path: 'a', value: 1 }] },
      422,
    ],
    [
      'a pointer to __proto__',
      roomPath(roomId, '/storage/json-patch'),
      { method: 'PATCH', json: [{ op: 'add', path: '/__proto__', value: 1 }] },
      422,
    ],
    [
      'an operation that does not exist',
      roomPath(roomId, '/storage/json-patch'),
      { method: 'PATCH', json: [{ op: 'merge', path: '/a', value: 1 }] },
      422,
    ],
    [
      'a value with the key __proto__',
      roomPath(roomId, '/storage/json-patch'),
      { method: 'PATCH', body: '[{"op":"add","path":"/a","value":{"__proto__":1}}]' },
      422,
    ],
    [
      'a Storage document whose root is a list',
      roomPath(roomId, '/storage'),
      { json: { liveblocksType: 'LiveList', data: [] } },
      422,
    ],
    [
      'a node of an unknown kind',
      roomPath(roomId, '/storage'),
      { json: { liveblocksType: 'LiveObject', data: { a: { liveblocksType: 'LiveSet', data: [] } } } },
      422,
    ],
    ['a format that does not exist', roomPath(roomId, '/storage?format=xml'), {}, 422],
    ['a Yjs type that does not exist', roomPath(roomId, '/ydoc?key=a&type=ytree'), {}, 422],
  ];

  test.each(bad)('[E2E-B9] %s is answered by name', async (_, path, request, status) => {
    const answer = await ask(server, path, request);
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({
      error: expect.stringMatching(/^[A-Z_]+$/),
      message: expect.stringMatching(/\w{3}/),
      suggestion: expect.any(String),
      docs: '',
    });
  });

  test('[E2E-B9] a body over its limit is 413', async () => {
    const answer = await ask(server, '/v2/rooms', { body: `"${'x'.repeat(BODY_BYTES_MAX)}"` });
    expect(answer).toMatchObject({ status: 413, json: { error: 'PAYLOAD_TOO_LARGE' } });
  });

  test('[E2E-B9] after all of this the server is healthy and the neighbour still connected', async () => {
    expect((await ask(server, '/health', { bearer: null })).status).toBe(200);
    await bystanderIsFine();
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});
