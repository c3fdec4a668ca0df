/** Hostile requests against a live server of each adapter: it answers with a refusal or ends the connection, and lives. */
import Type from 'typebox';
import { expect, test, vi } from 'vitest';
import { makeNodeServer } from '../../src/adapters/node-server.ts';
import { loadUws } from '../../src/adapters/uws-server.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { makeApi } from '../../src/kernel/transport/api.ts';
import { makeAuthenticate } from '../../src/kernel/transport/principal.ts';
import { bindRoute, routeFor } from '../../src/kernel/transport/route.ts';
import { ask, rawExchange, startServer } from '../support/server-peer.ts';

const REQUESTS = 2_000;
const AT_ONCE = 16;

const createRoom = bindRoute(
  routeFor<null>()({
    method: 'POST',
    path: '/v2/rooms/:roomId',
    needs: 'secret',
    tag: 'Rooms',
    summary: 'Create a room',
    reply: Type.Unknown(),
    params: Type.Object({ roomId: Type.String({ maxLength: 8 }) }),
    query: Type.Object({ limit: Type.Integer({ default: 1, minimum: 1, maximum: 9 }) }),
    body: Type.Object({ id: Type.Literal('the only id'), tags: Type.Array(Type.Literal('t')) }, { additionalProperties: false }),
    handle: () => 'made',
  }),
  null,
);

/** Small and fast, from a seed; Math.random could not be replayed. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const GOOD_BODY = '{"id":"the only id","tags":["t","t"]}';
const BAD_PATHS = [
  '/v2/rooms/%',
  '/v2/rooms/%ff',
  '/v2/rooms/a/../b',
  '/v2//rooms/a',
  '/v2/rooms/123456789',
  '/v2/rooms/a%00b%00c%00d%00e',
  '/__proto__',
  '//',
  '/v2/rooms/a#b',
];
const BAD_QUERIES = [
  'limit=0',
  'limit=1&limit=2',
  'limit=%',
  'limit=1e1',
  'limit=__proto__',
  `limit=${'9'.repeat(400)}`,
  'limit=-1',
];
const BAD_BODIES = [
  '',
  '{',
  '[',
  '"',
  '{"id"',
  'null',
  '[]',
  '{"__proto__":{}}',
  '{"id":"the only id"}',
  `${'['.repeat(900)}`,
  '{"id":1e999,"tags":[]}',
  '\u0000',
  '{"id":"the only id","tags":{"length":1}}',
  '{"id":"the only id","tags":["t"],"constructor":{"prototype":{"a":1}}}',
  '{"id":"\\ud800","tags":[]}',
  '{"toString":1}',
  GOOD_BODY.replaceAll('"', "'"),
  `${GOOD_BODY}${GOOD_BODY}`,
];
const BAD_HEADERS = [
  'Content-Type: application/x-www-form-urlencoded',
  'Content-Encoding: gzip',
  'Authorization: Bearer sk_2',
  'Transfer-Encoding: chunked',
  'Content-Length: 99999999999999999999',
  'Content-Length: 0x10',
  'Transfer-Encoding: gzip, chunked',
  'X-A: b\u0000c',
  `X-Long: ${'x'.repeat(20_000)}`,
];

/** One thing about it is wrong, or, at times, everything is noise. */
function hostileRequest(below: (bound: number) => number): Uint8Array {
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
  const form = below(5);
  const path = form === 0 ? pick(BAD_PATHS) : '/v2/rooms/a';
  const query = form === 1 ? pick(BAD_QUERIES) : 'limit=1';
  const body = form === 2 ? pick(BAD_BODIES) : GOOD_BODY;
  const header = form === 3 ? pick(BAD_HEADERS) : 'X-A: b';
  const key =
    form === 4 ? pick(['', 'Basic x', 'Bearer', 'Bearer pk_1', 'Bearer a.b.c', `Bearer ${'\u00e9'.repeat(50)}`]) : 'Bearer sk_1';
  const text = `POST ${path}?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nContent-Type: application/json\r\n${header}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const bytes = Buffer.from(text, 'latin1');
  if (form !== 4) return bytes;
  for (let flips = below(30); flips > 0; flips -= 1) bytes[below(bytes.length)] = below(256);
  return below(4) === 0 ? bytes.subarray(0, below(bytes.length)) : bytes;
}

test.each([
  ['uWebSockets.js', loadUws],
  ['node:http and ws', async () => makeNodeServer],
])(
  `[TR31] ${REQUESTS} hostile requests get refusals and nothing else, and the next honest one is served: %s`,
  async (_, load) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`seed ${seed} (set SEED to replay)`);
    const below = seeded(seed);
    const log = { ...silentLog, error: vi.fn() };
    const http = makeApi({
      clock: systemClock,
      routes: [createRoom],
      info: { title: 'Test', version: '1', description: '' },
      authenticate: makeAuthenticate({ secretKeys: ['sk_1'], publicKey: 'pk_1', verifyToken: async () => ({}) }),
      jsonLimits: { bytesMax: 1_000, depthMax: 32, keysMax: 100 },
      origins: '*',
      log,
      random: systemRandom,
    });
    const server = await startServer(await load(), { http });
    const statuses = new Map<string, number>();
    const hammer = async (): Promise<void> => {
      for (let sent = 0; sent < REQUESTS / AT_ONCE; sent += 1) {
        const answers = await rawExchange(server.port, hostileRequest(below));
        for (const [, status] of answers.matchAll(/HTTP\/1\.1 (\d{3}) /g))
          statuses.set(status!, (statuses.get(status!) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, hammer));

    const honest = await ask(server.port, {
      method: 'POST',
      path: '/v2/rooms/a',
      headers: { authorization: 'Bearer sk_1' },
      body: GOOD_BODY,
    });
    expect([honest.status, honest.body.toString()]).toEqual([200, '"made"']);
    expect([...statuses.keys()].filter((status) => !/^4\d\d$|^505$/.test(status))).toEqual([]); // 505: what uWS says of a line that is no HTTP
    expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(REQUESTS / 2);
    expect([server.bugs, log.error.mock.calls]).toEqual([[], []]);
    await server.close();
  },
);
