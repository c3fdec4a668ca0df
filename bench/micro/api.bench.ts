/**
 * What does the REST machinery itself cost a request, before any room or database is asked?
 * Expected: below 10 µs for a GET (match, key, params, reply) and below 20 µs for a POST with a small body; a refused body costs more,
 * because the reason is looked for only then, but stays below 100 µs. Sockets are not in it.
 */
import Type from 'typebox';
import { bench, describe } from 'vitest';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { makeApi } from '../../src/kernel/transport/api.ts';
import { makeAuthenticate } from '../../src/kernel/transport/principal.ts';
import { bindRoute, routeFor } from '../../src/kernel/transport/route.ts';
import type { HttpRequest } from '../../src/kernel/transport/server.ts';

const Accesses = Type.Array(Type.Enum(['*:read', '*:write', 'room:write']));
const Room = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 128 }),
    defaultAccesses: Accesses,
    metadata: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String({ maxLength: 256 }), Type.Array(Type.String())]))),
    usersAccesses: Type.Optional(Type.Record(Type.String(), Accesses)),
  },
  { additionalProperties: false },
);
const RoomParams = Type.Object({ roomId: Type.String() });
const facts = { needs: 'secret', tag: 'Rooms', summary: 'A room' } as const;
const route = routeFor<null>();

const others = Array.from({ length: 60 }, (_, number) =>
  bindRoute(
    route({ ...facts, method: 'GET', path: `/v2/rooms/:roomId/part-${number}/:id`, reply: Type.Unknown(), handle: () => null }),
    null,
  ),
);
const api = makeApi({
  clock: systemClock,
  routes: [
    bindRoute(
      route({
        ...facts,
        method: 'GET',
        path: '/v2/rooms/:roomId',
        params: RoomParams,
        reply: Type.Unknown(),
        handle: ({ params }) => params,
      }),
      null,
    ),
    bindRoute(
      route({
        ...facts,
        method: 'POST',
        path: '/v2/rooms/:roomId',
        params: RoomParams,
        body: Room,
        reply: Room,
        handle: ({ body }) => body,
      }),
      null,
    ),
    ...others,
  ],
  info: { title: 'Bench', version: '1', description: '' },
  authenticate: makeAuthenticate({ secretKeys: ['sk_bench'], publicKey: 'pk_bench', verifyToken: async () => ({}) }),
  jsonLimits: { bytesMax: 10_000_000, depthMax: 32, keysMax: 10_000 },
  origins: '*',
  log: silentLog,
  random: systemRandom,
});

function aRequest(method: string, path: string, body: unknown = ''): HttpRequest {
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    method,
    path,
    query: '',
    aborted: new AbortController().signal,
    headers: { authorization: 'Bearer sk_bench', 'content-type': 'application/json' },
    body: async () => bytes,
    async *stream() {
      yield bytes;
    },
  };
}

const good = {
  id: 'my room',
  defaultAccesses: ['*:read'],
  metadata: { color: 'red', tags: ['a', 'b'] },
  usersAccesses: { alice: ['*:write'] },
};
const get = aRequest('GET', '/v2/rooms/my%20room');
const post = aRequest('POST', '/v2/rooms/my%20room', good);
const refused = aRequest('POST', '/v2/rooms/my%20room', { ...good, metadata: { color: 5 } });

describe('one request through the api', () => {
  bench('GET', async () => {
    await api(get);
  });
  bench('POST, valid body', async () => {
    await api(post);
  });
  bench('POST, refused body', async () => {
    await api(refused);
  });
});
