import Type from 'typebox';
import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/base/clock.ts';
import { AppError, type ErrorCode } from '../../../src/base/errors.ts';
import type { RequestKey } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlAnswers } from '../../../src/kernel/persistence/sql-answers.ts';
import { makeApi } from '../../../src/kernel/transport/api.ts';
import { requestKeyOf } from '../../../src/kernel/transport/idempotency.ts';
import { openApiOf } from '../../../src/kernel/transport/openapi.ts';
import { makeAuthenticate } from '../../../src/kernel/transport/principal.ts';
import {
  type BoundRoute,
  bindRoute,
  bytes,
  empty,
  type Once,
  routeFor,
  withHeaders,
} from '../../../src/kernel/transport/route.ts';
import { type CallReply, call } from '../../support/api-request.ts';
import { usePostgres } from '../../support/postgres.ts';

const db = await usePostgres().open();

interface Deps {
  readonly db: Sql;
}
/** What the handlers were given, and what they noticed. */
let seen: { request: RequestKey | undefined }[] = [];
/** Rooms that were told of, and whether they were there then. */
const told: { roomId: string; isThere: boolean }[] = [];
let failure: unknown = null;
beforeEach(() => {
  seen = [];
  failure = null;
});

const route = routeFor<Deps>();
const facts = { tag: 'Things', summary: 'Do a thing', params: Type.Object({ roomId: Type.String() }) } as const;

/** Notes the request, fails if told to. */
const noting = (method: 'POST' | 'GET', path: `/${string}`, once: Once | null, needs: 'secret' | 'storage:write' = 'secret') =>
  bindRoute(
    route({
      ...facts,
      method,
      path,
      needs,
      ...(once !== null && { once }),
      query: Type.Object({ guid: Type.Optional(Type.String()) }),
      reply: empty(204),
      handle({ once: { request } }) {
        seen.push({ request });
        if (failure !== null) throw failure;
      },
    }),
    { db },
  );

/** Makes a room, then fails if told to; when it has committed, notes whether the room is there. */
const making = (once: Once) =>
  bindRoute(
    route({
      ...facts,
      method: 'POST',
      path: `/made/${once}/:roomId`,
      aliases: [`/old/${once}/:roomId`],
      needs: 'secret',
      once,
      body: Type.Unknown(),
      reply: Type.Unknown(),
      async handle({ params, body, afterCommit }, deps) {
        await deps.db.query(sql`insert into rooms (id) values (${params.roomId})`);
        if (failure !== null) throw failure;
        const [{ count }] = (await deps.db.query(sql<{ count: number }>`select count(*)::int as count from rooms`)) as [
          { count: number },
        ];
        const { roomId } = params;
        afterCommit(() => void isThere(roomId).then((is) => told.push({ roomId, isThere: is })));
        return withHeaders({ body, count }, { 'x-lb-warn': 'careful' });
      },
    }),
    { db },
  );

const routes = [
  noting('POST', '/room/:roomId', 'room'),
  noting('POST', '/other/:roomId', 'room'),
  noting('POST', '/passing/:roomId', 'room-if-keyed'),
  noting('POST', '/user/:roomId', 'room', 'storage:write'),
  noting('GET', '/read/:roomId', null),
  noting('POST', '/sql/:roomId', 'transaction'),
  making('transaction'),
  making('reservation'),
  bindRoute(
    route({
      ...facts,
      method: 'PUT',
      path: '/bytes/:roomId',
      aliases: ['/older/:roomId'],
      needs: 'secret',
      once: 'room',
      body: bytes({ bytesMax: 100 }),
      reply: empty(204),
      handle({ once: { request } }) {
        seen.push({ request });
      },
    }),
    { db },
  ),
];
const INFO = { title: 'Test', version: '0', description: '' };
const api = makeApi({
  clock: systemClock,
  routes,
  info: INFO,
  authenticate: makeAuthenticate({
    secretKeys: ['sk_test'],
    publicKey: 'pk_test',
    verifyToken: async (token) => ({ uid: token }),
  }),
  authorize: () => undefined,
  answers: new SqlAnswers({ db, log: silentLog }),
  jsonLimits: { bytesMax: 1_000, depthMax: 32, keysMax: 1_000 },
  origins: '*',
  log: silentLog,
  random: systemRandom,
});

async function isThere(roomId: string): Promise<boolean> {
  return (await db.query(sql`select 1 from rooms where id = ${roomId}`)).length === 1;
}

interface Sent {
  readonly key?: string;
  readonly body?: unknown;
  readonly bearer?: string;
}
const ask = (line: `${string} /${string}`, { key, body, bearer = 'sk_test' }: Sent = {}): Promise<CallReply> =>
  call(api, line, { headers: { authorization: `Bearer ${bearer}`, ...(key !== undefined && { 'idempotency-key': key }) }, body });
/** The request as the handler was given it. */
const requestOf = async (line: `${string} /${string}`, sent: Sent = {}): Promise<RequestKey | undefined> => {
  seen = [];
  expect((await ask(line, sent)).status).toBe(204);
  return seen[0]!.request;
};

describe('the key', () => {
  test.each(['k', 'x'.repeat(255), 'a key with spaces, and ~'])('[ID18] has 1 to 255 printable ASCII characters', async (key) => {
    expect((await ask('POST /room/r', { key })).status).toBe(204);
  });

  test.each(['', 'x'.repeat(256), 'clé', 'a\tb', 'a\x7f'])(
    '[ID18] is refused otherwise, before anything happens',
    async (key) => {
      for (const path of ['/room/r', '/passing/r', '/sql/r'] as const) {
        const { status, value } = await ask(`POST ${path}`, { key });
        expect([status, value.error]).toEqual([422, 'UNPROCESSABLE_ENTITY']);
        expect(value.message).toContain("'Idempotency-Key'");
      }
      expect(seen).toEqual([]);
    },
  );

  test('[ID18] means nothing where nothing is changed', async () => {
    expect((await ask('GET /read/r', { key: '' })).status).toBe(204);
    expect(await requestOf('GET /read/r', { key: 'k' })).toBeUndefined();
  });

  test('[ID19] makes a request the same one for the same caller alone', async () => {
    const one = await requestOf('POST /user/r', { key: 'k', bearer: 'ann' });
    expect(await requestOf('POST /user/r', { key: 'k', bearer: 'ann' })).toEqual(one);
    const others = [
      await requestOf('POST /user/r', { key: 'k', bearer: 'bob' }),
      await requestOf('POST /user/r', { key: 'k' }),
      await requestOf('POST /user/r', { key: 'k', bearer: 'pk_test' }),
      await requestOf('POST /user/r', { key: 'K', bearer: 'ann' }),
    ];
    expect(new Set([one, ...others].map((request) => request!.id)).size).toBe(5);
    expect(new Set([one, ...others].map((request) => request!.digest)).size).toBe(1);
  });

  test('[ID19] and its digest tells apart route, parameters, query and body, but not the paths of one route', async () => {
    const body = Buffer.from('abc');
    const one = await requestOf('PUT /bytes/r', { key: 'k', body });
    expect(await requestOf('PUT /older/r', { key: 'k', body })).toEqual(one);
    expect(await requestOf('PUT /bytes/%72', { key: 'k', body })).toEqual(one);
    const others = [
      await requestOf('PUT /bytes/s', { key: 'k', body }),
      await requestOf('PUT /bytes/r', { key: 'k', body: Buffer.from('abd') }),
      await requestOf('POST /room/r', { key: 'k' }),
      await requestOf('POST /other/r', { key: 'k' }),
      await requestOf('POST /room/r?guid=g', { key: 'k' }),
    ];
    expect(new Set([one, ...others].map((request) => request!.digest)).size).toBe(6);
    expect(new Set([one, ...others].map((request) => request!.id)).size).toBe(1);
  });

  test.each([
    ['{"a":"ü"}', '_LNI6trRgZfaHntd'],
    ['a'.repeat(20_000), 'w2pdHzCoh_v7hLqs'],
    ['', 'smrmnj_aSacwgM88'],
  ])('[ID19] as other versions of this code know it: rooms keep it', (body, digest) => {
    const route = { method: 'PATCH', path: '/v2/rooms/:roomId/storage/json-patch' } as unknown as BoundRoute;
    const asked = {
      principal: { kind: 'secret' },
      route,
      params: { roomId: 'räume' },
      query: 'a=1',
      body: Buffer.from(body),
    } as const;
    expect(requestKeyOf('key-1', asked)).toEqual({ id: 'hhPGNFmpQJqjznrs-atp2m', digest });
  });

  test('[ID20] is made where a room remembers what lasts, and not for what passes or is in the database', async () => {
    const made = await requestOf('POST /room/r');
    expect(made).toEqual({ id: expect.stringMatching(/^[\w-]{22}$/), digest: expect.stringMatching(/^[\w-]{16}$/) });
    expect((await requestOf('POST /room/r'))!.id).not.toBe(made!.id);
    expect(await requestOf('POST /passing/r')).toBeUndefined();
    expect(await requestOf('POST /passing/r', { key: 'k' })).toBeDefined();
    expect(await requestOf('POST /sql/r')).toBeUndefined();
  });
});

describe('an outcome that nobody knows', () => {
  const IN_DOUBT: readonly ErrorCode[] = ['OUTCOME_UNKNOWN', 'DATABASE_UNAVAILABLE'];

  test.each(IN_DOUBT)(
    '[ID21] %s: 503 with Retry-After, the word, and the key under which a repetition is the same request',
    async (code) => {
      failure = new AppError(code);
      const { status, headers, value } = await ask('POST /room/r');
      expect([status, headers['retry-after'], value.outcome]).toEqual([503, '1', 'unknown']);
      expect(value).toMatchObject({ error: code, docs: '' });
      await ask('POST /room/r', { key: value.idempotencyKey });
      expect(seen[1]!.request).toEqual(seen[0]!.request);
      expect((await ask('POST /room/r', { key: 'mine' })).value.idempotencyKey).toBe('mine');
      expect((await ask('POST /sql/r', { key: 'mine' })).value).toMatchObject({ outcome: 'unknown', idempotencyKey: 'mine' });
    },
  );

  test('[ID21] no key is named where it would help nobody', async () => {
    failure = new AppError('DATABASE_UNAVAILABLE');
    for (const path of ['/sql/r', '/passing/r'] as const) {
      const { value } = await ask(`POST ${path}`);
      expect(value.outcome).toBe('unknown');
      expect(value).not.toHaveProperty('idempotencyKey');
    }
  });

  test('[ID21] a bug in the middle of a change leaves it unknown, too', async () => {
    failure = new TypeError('planted');
    const { status, value } = await ask('POST /room/r');
    expect([status, value.outcome, typeof value.idempotencyKey]).toEqual([500, 'unknown', 'string']);
  });

  test('[ID21] reads, and refusals without effect, say nothing of outcomes', async () => {
    failure = new AppError('DATABASE_UNAVAILABLE');
    expect((await ask('GET /read/r')).value).not.toHaveProperty('outcome');
    for (const code of ['ROOM_NOT_FOUND', 'ROOM_OVERLOADED', 'ROOM_MOVED', 'IDEMPOTENCY_KEY_REUSED'] as const) {
      failure = new AppError(code);
      expect((await ask('POST /room/r', { key: 'k' })).value).not.toHaveProperty('outcome');
    }
  });

  test.each([
    ['ROOM_OVERLOADED', 429],
    ['ROOM_MOVED', 503],
    ['IDEMPOTENCY_KEY_IN_USE', 409],
  ] as const)('[ID21] whoever may try again is told when: %s', async (code, expected) => {
    failure = new AppError(code);
    const { status, headers } = await ask('POST /room/r');
    expect([status, headers['retry-after']]).toEqual([expected, '1']);
  });

  test('[ID21] a conflict that will not go away says no time', async () => {
    failure = new AppError('ROOM_ALREADY_EXISTS');
    const { status, headers } = await ask('POST /room/r');
    expect([status, headers['retry-after']]).toEqual([409, undefined]);
  });
});

describe.each(['transaction', 'reservation'] as const)('a route that writes to the database, by %s', (once) => {
  const path = (roomId: string) => `POST /made/${once}/${once}-${roomId}` as const;
  const idOf = (roomId: string) => `${once}-${roomId}`;

  test('[ID22] answers a repetition as it did the first time, with status, headers and body, and does nothing', async () => {
    const first = await ask(path('a'), { key: `a ${once}`, body: { n: 1 } });
    expect([first.status, first.headers['x-lb-warn'], first.value.body]).toEqual([200, 'careful', { n: 1 }]);
    await db.query(sql`delete from rooms where id = ${idOf('a')}`);
    const again = await ask(path('a'), { key: `a ${once}`, body: { n: 1 } });
    expect({ ...again, headers: { ...again.headers, 'x-request-id': '' } }).toEqual({
      ...first,
      headers: { ...first.headers, 'x-request-id': '' },
    });
    expect(await isThere(idOf('a'))).toBe(false);
  });

  test('[ID22] refuses the key for another request', async () => {
    await ask(path('b'), { key: `b ${once}`, body: 1 });
    for (const [line, body] of [[path('b'), 2] as const, [path('c'), 1] as const]) {
      expect((await ask(line, { key: `b ${once}`, body })).value.error).toBe('IDEMPOTENCY_KEY_REUSED');
    }
    expect(await isThere(idOf('c'))).toBe(false);
  });

  test('[ID22] judges a request that was refused anew', async () => {
    failure = new AppError('SCHEMA_FROZEN', { id: 's' });
    expect((await ask(path('d'), { key: `d ${once}`, body: 1 })).status).toBe(403);
    if (once === 'transaction') expect(await isThere(idOf('d'))).toBe(false);
    await db.query(sql`delete from rooms where id = ${idOf('d')}`);
    failure = null;
    expect((await ask(path('d'), { key: `d ${once}`, body: 1 })).status).toBe(200);
  });

  test('[ID23] tells others after the commit, once; and nobody of what was refused', async () => {
    failure = new AppError('SCHEMA_FROZEN', { id: 's' });
    await ask(path('e'), { key: `e ${once}`, body: 1 });
    await db.query(sql`delete from rooms where id = ${idOf('e')}`);
    failure = null;
    for (const _ of [1, 2]) await ask(path('e'), { key: `e ${once}`, body: 1 });
    const ours = () => told.filter(({ roomId }) => roomId === idOf('e') || roomId === idOf('f'));
    await expect.poll(ours).toHaveLength(1); // each looks for its room by itself, so the second could overtake it
    await ask(path('f'), { body: 1 });
    await expect.poll(ours).toEqual([
      { roomId: idOf('e'), isThere: true },
      { roomId: idOf('f'), isThere: true },
    ]);
  });

  test('[ID22] of two at the same time one does it, and both are told, or the second to wait', async () => {
    const twins = await Promise.all([1, 2].map(() => ask(path('g'), { key: `g ${once}`, body: 1 })));
    const [first, second] = twins.sort((left, right) => left.status - right.status) as [CallReply, CallReply];
    expect(first.status).toBe(200);
    if (second.status === 200) expect(second.text).toBe(first.text);
    else expect([second.value.error, second.headers['retry-after']]).toEqual(['IDEMPOTENCY_KEY_IN_USE', '1']);
    expect((await ask(path('g'), { key: `g ${once}`, body: 1 })).text).toBe(first.text);
  });
});

test('[ID24] the OpenAPI document names the header on every route that takes it, and on no other', () => {
  const named: string[] = [];
  for (const [path, operations] of Object.entries(openApiOf(routes, INFO).paths)) {
    for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
      const header = parameters.find((parameter) => parameter.in === 'header');
      if (header === undefined) continue;
      expect(header).toMatchObject({ name: 'Idempotency-Key', required: false, schema: { minLength: 1, maxLength: 255 } });
      expect(responses['422']!.description).toContain('IDEMPOTENCY_KEY_REUSED');
      expect(responses['409'] !== undefined).toBe(
        path.startsWith('/sql') || path.startsWith('/made') || path.startsWith('/old/'),
      );
      named.push(`${method} ${path}`);
    }
  }
  expect(named).toHaveLength(11);
  expect(named).not.toContain('get /read/{roomId}');
});
