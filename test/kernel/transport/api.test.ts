import Type from 'typebox';
import { expect, test, vi } from 'vitest';
import { systemClock, systemRandom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { type ApiOptions, makeApi } from '../../../src/kernel/transport/api.ts';
import { LARGE_ONES_MAX } from '../../../src/kernel/transport/body.ts';
import { makeAuthenticate } from '../../../src/kernel/transport/principal.ts';
import { bindRoute, bytes, empty, json, routeFor, stream, withHeaders } from '../../../src/kernel/transport/route.ts';
import { call } from '../../support/api-request.ts';

const route = routeFor<{ greeting: string }>();
const deps = { greeting: 'hello' };
const facts = { needs: 'none', tag: 'Things', summary: 'Do a thing' } as const;
const RoomParams = Type.Object({ roomId: Type.String() });

const routes = [
  bindRoute(
    route({
      ...facts,
      method: 'GET',
      path: '/v2/rooms/:roomId',
      aliases: ['/v1/room/:roomId'],
      needs: 'secret',
      params: RoomParams,
      reply: Type.Unknown(),
      handle: ({ params, principal }, { greeting }) => ({ ...params, principal: principal.kind, greeting }),
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'GET',
      path: '/v2/rooms',
      query: Type.Object({ limit: Type.Integer({ default: 20, minimum: 1, maximum: 100 }) }),
      reply: Type.Unknown(),
      handle: ({ query }) => query,
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'POST',
      path: '/v2/rooms',
      needs: 'secret',
      reply: Type.Unknown(),
      body: Type.Object({ id: Type.String(), tags: Type.Optional(Type.Array(Type.String())) }, { additionalProperties: false }),
      handle: ({ body }) => withHeaders({ made: body.id }, { 'x-lb-warn': 'take care' }),
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'DELETE',
      path: '/v2/rooms/:roomId',
      params: RoomParams,
      reply: empty(204),
      handle: async () => undefined,
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'PUT',
      path: '/v2/rooms/:roomId/ydoc',
      params: RoomParams,
      body: bytes({ bytesMax: 10 }),
      reply: bytes('application/octet-stream'),
      handle: ({ body }) => body,
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'PUT',
      path: '/v2/files/:partNumber',
      params: Type.Object({ partNumber: Type.Integer({ minimum: 1 }) }),
      body: stream({ bytesMax: 20 }),
      reply: bytes('text/plain'),
      handle: ({ body }) => body,
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'PUT',
      path: '/v2/counted',
      body: stream({ bytesMax: 20 }),
      reply: Type.Number(),
      async handle({ body }) {
        let came = 0;
        for await (const piece of body) came += piece.byteLength;
        return came;
      },
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'POST',
      path: '/v2/events',
      body: json(Type.Unknown(), { bytesMax: 20 }),
      reply: Type.Unknown(),
      handle: ({ body }) => ({ body }),
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'POST',
      path: '/v2/fail/:code',
      params: Type.Object({ code: Type.String() }),
      reply: empty(200),
      handle({ params }) {
        if (params.code === 'bug') throw new TypeError('planted');
        throw new AppError(params.code as 'ROOM_OVERLOADED', { roomId: 'r', reason: 'planted' });
      },
    }),
    deps,
  ),
  bindRoute(
    route({
      ...facts,
      method: 'GET',
      path: '/v2/c/rooms/:roomId',
      needs: 'room:read',
      params: RoomParams,
      reply: empty(204),
      handle: () => undefined,
    }),
    deps,
  ),
];

const defaults: ApiOptions = {
  clock: systemClock,
  routes,
  info: { title: 'Test', version: '1', description: '' },
  authenticate: makeAuthenticate({ secretKeys: ['sk_1'], publicKey: 'pk_1', verifyToken: async (token) => ({ token }) }),
  jsonLimits: { bytesMax: 1_000, depthMax: 4, keysMax: 10 },
  origins: '*',
  log: silentLog,
  random: systemRandom,
};
const api = makeApi(defaults);
const secret = { authorization: 'Bearer sk_1' };

test.each([
  ['room', 'room'],
  ['room%2F1', 'room/1'],
  ['room%252F1', 'room%2F1'],
  ['my%20room', 'my room'],
  ['a+b', 'a+b'],
  ['%F0%9F%99%82%C3%A9', '🙂é'],
  ['%E2%82%AC%3F%23%25', '€?#%'],
  ['..', '..'],
  ['', ''],
  [encodeURIComponent('🙂'.repeat(128)), '🙂'.repeat(128)],
])('[RT14] the segment %s is decoded once, and stays one segment', async (segment, roomId) => {
  const { status, value } = await call(api, `GET /v2/rooms/${segment}`, { headers: secret });
  expect([status, value]).toEqual([200, { roomId, principal: 'secret', greeting: 'hello' }]);
});

test('[RT14] a segment of any length reaches its route, which knows its limits', async () => {
  const { value } = await call(api, `GET /v2/rooms/${'x'.repeat(15_000)}`, { headers: secret });
  expect(value.roomId).toHaveLength(15_000);
});

test.each(['%', '%2', '%zz', '%ff', '%C0%AF', '%ED%A0%80'])('[RT13] the path %s is no percent-encoding: 422', async (segment) => {
  const { status, value } = await call(api, `GET /v2/rooms/${segment}`, { headers: secret });
  expect([status, value.error]).toEqual([422, 'UNPROCESSABLE_ENTITY']);
});

test('[RT15] an older path leads to the same route', async () => {
  expect((await call(api, 'GET /v1/room/a', { headers: secret })).value).toMatchObject({ roomId: 'a' });
});

test('[RT16] an unknown path is a 404 in the Error form, also without a key', async () => {
  const { status, value, headers } = await call(api, 'GET /v2/nothing');
  expect([status, Object.keys(value)]).toEqual([404, ['error', 'message', 'suggestion', 'docs']]);
  expect([value.error, value.docs, headers['content-type']]).toEqual(['NOT_FOUND', '', 'application/json; charset=utf-8']);
});

test.each([
  ['PATCH /v2/rooms/a', 'GET, DELETE'],
  ['PUT /v2/rooms', 'GET, POST'],
  ['HEAD /v2/events', 'POST'],
  ['TRACE /v2/events', 'POST'],
] as const)('[RT17] %s: a known path and a wrong method is a 405 that names the right ones: %s', async (line, allow) => {
  const { status, value, headers } = await call(api, line);
  expect([status, value.error, headers.allow]).toEqual([405, 'METHOD_NOT_ALLOWED', allow]);
});

test('[RT17] HEAD is answered by the route for GET', async () => {
  expect((await call(api, 'HEAD /v2/rooms')).status).toBe(200);
});

test('[RT18] who is asking is checked before what is asked: route, method, key, query, body', async () => {
  const broken = { body: '{"id":' };
  expect((await call(api, 'POST /v2/nothing', broken)).status).toBe(404);
  expect((await call(api, 'PUT /v2/rooms', broken)).status).toBe(405);
  expect((await call(api, 'POST /v2/rooms', broken)).status).toBe(401);
  expect((await call(api, 'POST /v2/rooms', { ...broken, headers: { authorization: 'Bearer sk_2' } })).status).toBe(403);
  expect((await call(api, 'POST /v2/rooms', { ...broken, headers: secret })).value.message).toContain('invalid JSON');
  expect((await call(api, 'POST /v2/rooms', { body: {}, headers: secret })).value.message).toBe("Missing key 'id'.");
});

test('[RT19] a right of users: the secret key has it, others only if authorize says so, nobody without authorize', async () => {
  const asUser = { headers: { authorization: 'Bearer a.jwt' } };
  expect((await call(api, 'GET /v2/c/rooms/r', { headers: secret })).status).toBe(204);
  expect((await call(api, 'GET /v2/c/rooms/r', asUser)).value.error).toBe('UNAUTHORIZED_ROOM_ACCESS');
  const authorize = vi.fn();
  const open = makeApi({ ...defaults, authorize });
  expect((await call(open, 'GET /v2/c/rooms/r%2F1', asUser)).status).toBe(204);
  expect(authorize).toHaveBeenCalledWith({ kind: 'user', token: { token: 'a.jwt' } }, 'room:read', { roomId: 'r/1' });
  authorize.mockRejectedValue(new AppError('UNAUTHORIZED_ROOM_ACCESS', { need: 'room:read' }));
  expect((await call(open, 'GET /v2/c/rooms/r', asUser)).status).toBe(403);
});

test.each([
  ['limit=0', "Value at key 'limit' must be at least 1."],
  ['limit=101', "Value at key 'limit' must be at most 100."],
  ['limit=abc', "Value at key 'limit' must be an integer."],
  ['limit=1.5', "Value at key 'limit' must be an integer."],
  ['limit=', "Value at key 'limit' must be an integer."],
])('[RT11] ?%s is a 422: %s', async (query, message) => {
  const { status, value } = await call(api, `GET /v2/rooms?${query}`);
  expect([status, value.message]).toEqual([422, message]);
});

test.each([
  ['', 20],
  ['limit=1', 1],
  ['limit=100', 100],
])('[RT11] ?%s gives limit %i', async (query, limit) => {
  expect((await call(api, `GET /v2/rooms?${query}`)).value).toEqual({ limit });
});

test('[RT32] a route of back ends refuses parameters that it does not know, by name; others leave them out', async () => {
  const { status, value } = await call(api, 'GET /v2/rooms/r?guid=x', { headers: { authorization: 'Bearer sk_1' } });
  expect([status, value.message]).toEqual([422, "Value at key 'guid' is not known here."]);
  expect((await call(api, 'GET /v2/rooms?guid=x')).value).toEqual({ limit: 20 });
});

test('[RT11] path parameters are checked too', async () => {
  expect((await call(api, 'PUT /v2/files/0')).value.message).toBe("Value at key 'partNumber' must be at least 1.");
  expect((await call(api, 'PUT /v2/files/x')).value.message).toBe("Value at key 'partNumber' must be an integer.");
});

test.each([
  ['application/json', 200],
  ['application/json; charset=utf-8', 200],
  ['Application/JSON', 200],
  ['application/merge-patch+json', 200],
  ['text/plain;charset=UTF-8', 200],
  ['', 200],
  ['application/octet-stream', 415],
  ['application/x-www-form-urlencoded', 415],
  ['text/html', 415],
])('[RT20] JSON under the content type "%s" gives %i', async (contentType, status) => {
  const reply = await call(api, 'POST /v2/events', { headers: { 'content-type': contentType }, body: '{"a":1}' });
  expect([reply.status, reply.value.error ?? null]).toEqual([status, status === 200 ? null : 'UNSUPPORTED_MEDIA_TYPE']);
});

test.each([
  ['application/octet-stream', 200],
  ['', 200],
  ['application/json', 415],
  ['text/plain', 415],
])('[RT20] bytes under the content type "%s" give %i', async (contentType, status) => {
  expect((await call(api, 'PUT /v2/rooms/r/ydoc', { headers: { 'content-type': contentType }, body: 'x' })).status).toBe(status);
});

test('[RT20] a packed body is refused, not stored as it is', async () => {
  const reply = await call(api, 'PUT /v2/rooms/r/ydoc', { headers: { 'content-encoding': 'gzip' }, body: 'x' });
  expect(reply.status).toBe(415);
});

test.each([
  ['POST /v2/rooms', undefined, "Missing key 'id'."],
  ['POST /v2/events', undefined, 'The body is missing.'],
  ['POST /v2/rooms', [], 'The body must be an object.'],
  ['POST /v2/rooms', null, 'The body must be an object.'],
  ['POST /v2/rooms', '"text"', 'The body must be an object.'],
  ['POST /v2/rooms', { id: 'a', room: 1 }, "Value at key 'room' is not known here."],
  ['POST /v2/rooms', { id: 'a', tags: ['b', 1] }, "Value at key 'tags.1' must be a string."],
  ['POST /v2/events', [[[[[]]]]], 'The body is nested deeper than 4 levels (offset 4).'],
  ['POST /v2/events', '[1,]', 'The body is invalid JSON at offset 3.'],
] as const)('[RT21] %s with %j is a 422: %s', async (line, body, message) => {
  const { status, value } = await call(api, line, { body, headers: { ...secret, 'content-type': 'application/json' } });
  expect([status, value.error, value.message]).toEqual([422, 'UNPROCESSABLE_ENTITY', message]);
});

test('[RT22] a body of exactly its bound passes, one byte more is a 413; bounds of a route go before those of the server', async () => {
  const text = (length: number) => JSON.stringify('x'.repeat(length - 2));
  expect((await call(api, 'POST /v2/events', { body: text(20) })).status).toBe(200);
  expect((await call(api, 'POST /v2/events', { body: text(21) })).status).toBe(413);
  expect((await call(api, 'PUT /v2/rooms/r/ydoc', { body: new Uint8Array(10) })).status).toBe(200);
  expect((await call(api, 'PUT /v2/rooms/r/ydoc', { body: new Uint8Array(11) })).status).toBe(413);
  const room = (length: number) => JSON.stringify({ id: 'x'.repeat(length - 9) });
  expect((await call(api, 'POST /v2/rooms', { headers: secret, body: room(1_000) })).status).toBe(200);
  expect((await call(api, 'POST /v2/rooms', { headers: secret, body: room(1_001) })).status).toBe(413);
  expect((await call(api, 'PUT /v2/counted', { body: new Uint8Array(20) })).value).toBe(20);
  expect((await call(api, 'PUT /v2/counted', { body: new Uint8Array(21) })).status).toBe(413);
  const announced = { headers: { 'content-length': '21' }, body: new Uint8Array() };
  expect((await call(api, 'PUT /v2/counted', announced)).status).toBe(413);
});

test('[RT23] replies: JSON with its type, nothing where nothing is promised, bytes, streams, headers of a route', async () => {
  const made = await call(api, 'POST /v2/rooms', { headers: secret, body: { id: 'a' } });
  expect([made.status, made.value, made.headers['x-lb-warn'], made.headers['content-type']]).toEqual([
    200,
    { made: 'a' },
    'take care',
    'application/json; charset=utf-8',
  ]);
  const gone = await call(api, 'DELETE /v2/rooms/a');
  expect([gone.status, gone.text, gone.headers['content-type']]).toEqual([204, '', undefined]);
  const doc = await call(api, 'PUT /v2/rooms/a/ydoc', { body: 'abc' });
  expect([doc.text, doc.headers['content-type']]).toEqual(['abc', 'application/octet-stream']);
  expect((await call(api, 'PUT /v2/files/1', { body: 'abc' })).text).toBe('abc');
});

test('[OV5] while reads are refused, they are before anything else; writes, and routes that ask for no key, go on', async () => {
  const strained = makeApi({ ...defaults, shedsReads: () => true });
  const read = await call(strained, 'GET /v2/rooms/room');
  expect([read.status, read.value.error, read.headers['retry-after']]).toEqual([503, 'WORKER_OVERLOADED', '1']);
  expect((await call(strained, 'HEAD /v2/rooms/room', { headers: secret })).status).toBe(503);
  expect((await call(strained, 'POST /v2/rooms', { headers: secret, body: { id: 'a' } })).status).toBe(200);
  expect((await call(strained, 'GET /openapi.json')).status).toBe(200);
});

test('[OV7] of large bodies one is looked at in each turn of the event loop; what is small does not wait for them', async () => {
  const turns: (() => void)[] = [];
  const clock = { soon: (task: () => void) => void turns.push(task) };
  const busy = makeApi({ ...defaults, clock, jsonLimits: { ...defaults.jsonLimits, bytesMax: 100_000 } });
  const answered: string[] = [];
  const post = (name: string, characters: number): Promise<unknown> =>
    call(busy, 'POST /v2/rooms', { headers: secret, body: { id: name.padEnd(characters, '.') } }).then(() => answered.push(name));
  const all = ['a', 'b', 'c'].map((name) => post(name, 20_000));
  await post('small', 10_000);
  expect(answered).toEqual(['small']);
  for (const each of all) {
    turns.shift()!();
    await each;
    expect(turns.length).toBeLessThanOrEqual(1);
  }
  expect(answered).toEqual(['small', 'a', 'b', 'c']);
  expect(turns).toEqual([]);
});

test('[OV8] of large bodies so many wait for their turn, the next is refused with Retry-After and nothing was done', async () => {
  const turns: (() => void)[] = [];
  const clock = { soon: (task: () => void) => void turns.push(task) };
  const busy = makeApi({ ...defaults, clock, jsonLimits: { ...defaults.jsonLimits, bytesMax: 100_000 } });
  const post = () => call(busy, 'POST /v2/rooms', { headers: secret, body: { id: 'x'.repeat(20_000) } });
  const waiting = Array.from({ length: LARGE_ONES_MAX }, post);
  const refused = await post();
  expect([refused.status, refused.value.error, refused.headers['retry-after']]).toEqual([503, 'WORKER_OVERLOADED', '1']);
  for (const each of waiting) {
    turns.shift()!();
    expect((await each).status).toBe(200);
  }
});

test('[RT24] a refusal has its status and the Error form; only what a retry may help says when', async () => {
  const overloaded = await call(api, 'POST /v2/fail/ROOM_OVERLOADED');
  expect([overloaded.status, overloaded.value.error, overloaded.headers['retry-after']]).toEqual([429, 'ROOM_OVERLOADED', '1']);
  expect((await call(api, 'POST /v2/fail/DATABASE_UNAVAILABLE')).headers['retry-after']).toBe('1');
  expect((await call(api, 'POST /v2/fail/ROOM_NOT_FOUND')).headers['retry-after']).toBeUndefined();
  expect((await call(api, 'POST /v2/fail/TOKEN_EXPIRED')).headers['retry-after']).toBeUndefined();
});

test('[RT25] a bug is a 500 that tells nothing but an id, and the log has that id, the error, and no query', async () => {
  const log = { ...silentLog, error: vi.fn() };
  const { status, value, headers } = await call(makeApi({ ...defaults, log }), 'POST /v2/fail/bug?token=secret');
  const errorId = headers['x-request-id'];
  expect([status, value.error, value.message]).toEqual([
    500,
    'INTERNAL_SERVER_ERROR',
    `Something went wrong on our side (${errorId}).`,
  ]);
  expect(log.error).toHaveBeenCalledWith(
    { errorId, method: 'POST', path: '/v2/fail/bug', err: new TypeError('planted') },
    'request failed',
  );
});

test.each([
  ['POST /v2/rooms', { headers: secret }],
  ['PUT /v2/counted', {}],
] as const)('[RT25] a client that left in the middle of its body is not a bug of ours: %s', async (line, request) => {
  const [log, onRefused] = [{ ...silentLog, error: vi.fn() }, vi.fn()];
  await call(makeApi({ ...defaults, log, onRefused }), line, { ...request, body: { id: 'a' }, aborted: AbortSignal.abort() });
  expect([log.error.mock.calls, onRefused.mock.calls]).toEqual([[], []]);
});

test('[RT25] a bug is one also when the client has left', async () => {
  const [log, onRefused] = [{ ...silentLog, error: vi.fn() }, vi.fn()];
  await call(makeApi({ ...defaults, log, onRefused }), 'POST /v2/fail/bug', { aborted: AbortSignal.abort() });
  expect(log.error).toHaveBeenCalledWith(expect.objectContaining({ err: new TypeError('planted') }), 'request failed');
  expect(onRefused.mock.calls).toEqual([['INTERNAL_SERVER_ERROR']]);
});

test('[RT33] why the database could not serve a request is in the log, and not in the answer', async () => {
  const log = { ...silentLog, warn: vi.fn() };
  const { status, text, headers } = await call(makeApi({ ...defaults, log }), 'POST /v2/fail/DATABASE_UNAVAILABLE');
  expect(status).toBe(503);
  expect(text).not.toContain('planted');
  const err = expect.objectContaining({ code: 'DATABASE_UNAVAILABLE', facts: expect.objectContaining({ reason: 'planted' }) });
  const line = { errorId: headers['x-request-id'], method: 'POST', path: '/v2/fail/DATABASE_UNAVAILABLE', err };
  expect(log.warn.mock.calls).toEqual([[line, 'request found no database']]);
  await call(makeApi({ ...defaults, log }), 'POST /v2/fail/ROOM_MOVED');
  expect(log.warn).toHaveBeenCalledTimes(1);
});

test('[RT26] every answer has an id of its own, errors too', async () => {
  const ids = new Set<string | undefined>();
  for (const line of ['GET /v2/rooms', 'GET /v2/rooms', 'GET /v2/nothing', 'OPTIONS /v2/rooms', 'POST /v2/fail/bug'] as const) {
    ids.add((await call(api, line)).headers['x-request-id']);
  }
  expect(ids.has(undefined)).toBe(false);
  expect(ids.size).toBe(5);
});

test('[RT27] browsers of all origins may call, and read our headers; never with cookies', async () => {
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'PATCH' };
  const preflight = await call(api, 'OPTIONS /v2/rooms/a', { headers });
  expect([preflight.status, preflight.text]).toEqual([204, '']);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers': 'Authorization, Content-Type, X-LB-Client, Idempotency-Key',
  });
  expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
  for (const line of ['GET /v2/rooms', 'GET /v2/nothing'] as const) {
    const reply = await call(api, line, { headers });
    expect(reply.headers['access-control-allow-origin']).toBe('*');
    expect(reply.headers['access-control-expose-headers']).toContain('X-LB-Warn');
  }
});

test('[RT27] with a list of origins only those may, and caches are told that it differs', async () => {
  const listed = makeApi({ ...defaults, origins: ['https://app.example'] });
  const from = async (origin: string) => (await call(listed, 'GET /v2/rooms', { headers: { origin } })).headers;
  expect(await from('https://app.example')).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    vary: 'origin',
  });
  const other = await from('https://app.example.evil');
  expect([other['access-control-allow-origin'], other.vary]).toEqual([undefined, 'origin']);
});

test('[RT28] two routes for one request do not start', () => {
  expect(() => makeApi({ ...defaults, routes: [...routes, routes[0]!] })).toThrow('already declared');
});

test('[RT29] /openapi.json describes the very routes, open to all', async () => {
  const { value, headers } = await call(api, 'GET /openapi.json');
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect([value.openapi, value.info.title, Object.keys(value.paths)]).toEqual([
    '3.1.0',
    'Test',
    [
      '/v2/rooms/{roomId}',
      '/v1/room/{roomId}',
      '/v2/rooms',
      '/v2/rooms/{roomId}/ydoc',
      '/v2/files/{partNumber}',
      '/v2/counted',
      '/v2/events',
      '/v2/fail/{code}',
      '/v2/c/rooms/{roomId}',
      '/openapi.json',
      '/docs',
    ],
  ]);
  expect(value.paths['/v2/rooms'].get.parameters).toEqual([
    { name: 'limit', in: 'query', required: false, schema: { type: 'integer', default: 20, minimum: 1, maximum: 100 } },
  ]);
  expect(value.paths['/v2/rooms'].post.requestBody.content['application/json'].schema.required).toEqual(['id']);
  expect(Object.keys(value.paths['/v2/rooms'].post.responses)).toEqual(['200', '401', '403', '413', '415', '422', 'default']);
  expect(value.paths['/v1/room/{roomId}'].get.deprecated).toBe(true);
  expect(value.paths['/v2/rooms/{roomId}'].delete.responses['204']).toBeDefined();
  expect([value.paths['/v2/rooms'].get.security, value.paths['/v2/rooms'].post.security]).toEqual([[], [{ secretKey: [] }]]);
});

test('[OD8] /docs is the same as a page, open to all, that may load and run nothing', async () => {
  const { status, text, headers } = await call(api, 'GET /docs');
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  const { value } = await call(api, 'GET /openapi.json');
  for (const methods of Object.values<Record<string, { operationId: string }>>(value.paths))
    for (const { operationId } of Object.values(methods)) expect(text).toContain(`id="${operationId}"`);
});
