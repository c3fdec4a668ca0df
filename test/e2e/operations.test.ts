/**
 * The contract proves itself: every operation in /openapi.json is asked whether all that stands there is true. Whatever route is added is
 * walked too; it needs an example in `test/support/operations`, and fails here without one.
 */
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import type { Schema } from '../../src/kernel/transport/openapi.ts';
import { contractOf } from '../support/e2e/contract.ts';
import { ask } from '../support/e2e/rest.ts';
import { aServer, freshRoomId, isCluster } from '../support/e2e/server.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import type { Example, World } from '../support/operations/example.ts';
import { EXAMPLES } from '../support/operations/examples.ts';
import {
  announce,
  bodyOf,
  expectRefused,
  needOf,
  operationsOf,
  replyOf,
  type Sent,
  send,
  successesOf,
  type Walked,
} from '../support/operations/operation.ts';
import { fitsExactly, probesOf } from '../support/operations/probes.ts';

/** Small, so that its edge is cheap to reach. */
const server = await aServer({ BODY_BYTES_MAX: '65536', MAX_FILE_BYTES: '65536' });
const world: World = { ...contractOf(server), server };
const all = await operationsOf(server);

const has = (name: string) => EXAMPLES[name] !== undefined;
const known = all.filter(({ name }) => has(name));
const exampleOf = (walked: Walked): Promise<Example> => EXAMPLES[walked.name]!.make(world);
/** Most faults are found before anything is changed: one example serves for all of an operation. */
const kept = new Map<string, Promise<Example>>();
const keptExampleOf = (walked: Walked): Promise<Example> => {
  const example = kept.get(walked.name) ?? exampleOf(walked);
  kept.set(walked.name, example);
  return example;
};
const ask1 = async (walked: Walked, change: Sent | ((example: Example) => Sent) = {}) => {
  const example = await keptExampleOf(walked);
  return send(server, walked, { ...example, ...(typeof change === 'function' ? change(example) : change) });
};
const bodyless = ({ params, query, bearer }: Example): Sent => ({
  params,
  query,
  ...(bearer !== undefined && { bearer }),
  json: undefined,
  bytes: undefined,
});
/** It was done, or stands in the way of itself: the value at hand is taken. */
const expectTaken = (answer: { status: number; text: string }, what: string) =>
  expect([200, 204, 409], `${what}: ${answer.text}`).toContain(answer.status);

const inRooms = known.filter(({ path }) => path.includes('{roomId}'));
const withBody = known.filter((walked) => bodyOf(walked) !== null);
const withSchema = withBody.filter((walked) => bodyOf(walked)!.schema !== undefined);
const withBound = withBody.filter((walked) => bodyOf(walked)!.bytesMax !== undefined);
const withBytes = withBody.filter((walked) => bodyOf(walked)!.types.includes('application/octet-stream'));
const withQuery = known.filter(({ operation }) => operation.parameters?.some((parameter) => parameter.in === 'query'));
/** For what is refused before a room is asked: one worker does that as three do, once is enough. */
const onOneWorker = <Some>(operations: readonly Some[]): readonly Some[] => (isCluster ? [] : operations);
const UNPROCESSABLE = '422 UNPROCESSABLE_ENTITY';

test('[OP1] every operation has an example, and every example an operation', () => {
  expect(all.map(({ name }) => name).filter((name) => !has(name))).toEqual([]);
  expect(Object.keys(EXAMPLES).filter((name) => !all.some((walked) => walked.name === name))).toEqual([]);
  expect(all.length).toBeGreaterThan(40);
});

test('[OP1] an example names every key of its body and every parameter, so that each is tried', async () => {
  for (const walked of known) {
    const { query = {}, json } = await keptExampleOf(walked);
    const names = (walked.operation.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name);
    const properties = Object.keys((bodyOf(walked)?.schema?.properties ?? {}) as object);
    const left = EXAMPLES[walked.name]!.leavesOut ?? [];
    const missing = [...names.filter((name) => !(name in query)), ...properties.filter((name) => !(name in (json as object)))];
    expect(
      missing.filter((name) => !left.includes(name)),
      walked.name,
    ).toEqual([]);
  }
});

test('[OP12] nothing is open to everybody but what is meant to be', () => {
  expect(all.filter((walked) => needOf(walked) === 'none').map(({ name }) => name)).toEqual([
    'POST /v2/rooms/{roomId}/public/authorize',
    'GET /health',
    'GET /openapi.json',
    'GET /docs',
  ]);
});

describe.each(known)('$name', (walked) => {
  test('[OP2] what is asked for is answered with a status, a content type and a body as documented', async () => {
    const answer = await send(server, walked, await exampleOf(walked));
    expect(successesOf(walked), answer.text).toContain(String(answer.status));
    expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]{10,}$/);
    const reply = replyOf(walked, String(answer.status));
    if (reply === null) expect([answer.text, answer.headers.get('content-type')]).toEqual(['', null]);
    else
      expect(answer.headers.get('content-type')).toMatch(
        new RegExp(`^${reply.type.replaceAll(/[+.]/g, '\\$&')}(; charset=utf-8)?$`),
      );
    if (reply?.schema !== undefined) expect(fitsExactly(reply.schema, answer.json)).toEqual([]);
  });

  test('[OP3] nobody gets in without the key it names, or with another one', async () => {
    const token = await accessTokenFor(server, { userId: 'u' });
    const as = (bearer: string | null) => ask1(walked, { bearer });
    const need = needOf(walked);
    if (need === 'none') {
      const { status } = await send(server, walked, { ...(await exampleOf(walked)), bearer: null });
      expect(successesOf(walked)).toContain(String(status));
    } else if (typeof need === 'object') {
      expectRefused(walked, await as(null), '401 MISSING_TOKEN');
      expectRefused(walked, await as('x.y.z'), '401 INVALID_TOKEN');
      expectRefused(walked, await as('sk_unknown'), '403 INVALID_SECRET_KEY');
      expectRefused(walked, await as('pk_unknown'), '403 INVALID_PUBLIC_KEY');
      const roomId = (await keptExampleOf(walked)).params?.roomId;
      const stranger = await accessTokenFor(server, { userId: 'u', permissions: { 'elsewhere:*': ['*:write'] } });
      if (roomId !== undefined) expectRefused(walked, await as(stranger), '403 UNAUTHORIZED_ROOM_ACCESS');
    } else {
      expectRefused(walked, await as(null), '401 MISSING_SECRET_KEY');
      expectRefused(walked, await as(''), '401 MISSING_SECRET_KEY');
      expectRefused(walked, await as(server.publicKey), '401 WRONG_KEY_USED');
      expectRefused(walked, await as('sk_unknown'), '403 INVALID_SECRET_KEY');
      expectRefused(walked, await as(`${server.secretKey}x`), '403 INVALID_SECRET_KEY');
      expectRefused(walked, await as(token), need === 'secretKey' ? '403 INVALID_SECRET_KEY' : '401 INVALID_TOKEN');
    }
    if (need === 'backEndToken') {
      const jwt = (await ask(server, '/api/authorize')).json.token;
      const { status } = await send(server, walked, { ...(await exampleOf(walked)), bearer: jwt });
      expect(successesOf(walked)).toContain(String(status));
    }
  });

  test('[OP4] another method on its path is 405 and names those there are', async () => {
    const method = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find((other) => !walked.allowed.includes(other))!;
    const answer = await ask1(walked, (example) => ({ ...bodyless(example), method }));
    const allowed = answer.headers.get('allow')?.split(', ') ?? [];
    expect([answer.status, answer.json.error]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(allowed).toEqual(expect.arrayContaining([...walked.allowed]));
  });
});

describe.each(inRooms)('$name', (walked) => {
  test('[OP5] a room that is not there is 404, an id that no room can have is 422', async () => {
    const inRoom = (roomId: string) => ask1(walked, ({ params }) => ({ params: { ...params, roomId } }));
    const missing = freshRoomId('missing');
    const { withoutRoom } = EXAMPLES[walked.name]!;
    const answer = await inRoom(missing);
    if (withoutRoom === undefined) expectRefused(walked, answer, `404 ROOM_NOT_FOUND The room "${missing}" does not exist.`);
    else expect(answer.status).toBe(withoutRoom);
    for (const impossible of ['r'.repeat(129), 'a*', 'a\u0007', '__proto__'])
      expectRefused(walked, await inRoom(impossible), `${UNPROCESSABLE} Value at key 'roomId'`);
  });
});

describe.each(known)('$name', (walked) => {
  test('[OP13] a text that the database cannot hold is taken or refused, wherever it stands', async () => {
    const { params = {}, query = {}, json } = await keptExampleOf(walked);
    const sents: Sent[] = [
      ...Object.entries(params).map(([name, value]) => ({ params: { ...params, [name]: `${value}\0` } })),
      ...Object.entries(query).map(([name, value]) => ({ query: { ...query, [name]: `${value}\0` } })),
      ...textsIn(json).flatMap((path) => ['\0', '\ud83d'].map((end) => ({ json: endedAt(json, path, end) }))),
    ];
    for (const sent of sents) {
      const { status, text } = await ask1(walked, sent);
      expect(status, `${walked.name} with ${JSON.stringify(sent)}: ${text}`).toBeLessThan(500);
    }
  });
});

describe.each(onOneWorker(withSchema))('$name', (walked) => {
  const { schema, required, types } = bodyOf(walked)!;

  test('[OP11] what is tried is on the side of each limit that it is said to be on', async () => {
    const { json } = await keptExampleOf(walked);
    const check = Compile(schema as never);
    for (const { name, value, fault } of probesOf(schema!, json))
      if (!name.includes('x-json-length-max')) expect(check.Check(value), `${walked.name}, ${name}`).toBe(fault === null);
  });

  test('[OP6] each key of the body has its type, each required one must be there, and no other may', async () => {
    const { json } = await keptExampleOf(walked);
    for (const { name, value, fault } of probesOf(schema!, json)) {
      if (fault === null) continue;
      const said = expectRefused(walked, await ask1(walked, { json: value }), '422');
      expect(said, `${name}: the refusal names the place`).toMatch(placeIn(fault));
    }
  });

  test('[OP8] a body that is absent, no JSON or of another content type is refused', async () => {
    const bare = (text: string, sent: Sent = {}) => ask1(walked, (example) => ({ ...bodyless(example), text, ...sent }));
    if (required) expectRefused(walked, await bare(''), UNPROCESSABLE);
    else expectTaken(await bare(''), walked.name);
    expectRefused(walked, await bare('{"a":1,}'), `${UNPROCESSABLE} The body is invalid JSON at offset 7.`);
    expectRefused(walked, await bare('{"__proto__":1}'), `${UNPROCESSABLE} Value at key '__proto__' may not have this name.`);
    for (const contentType of ['application/xml', 'multipart/form-data', 'application/octet-stream'])
      expectRefused(walked, await bare('{}', { contentType }), '415 UNSUPPORTED_MEDIA_TYPE');
    expectRefused(walked, await bare('{}', { headers: { 'content-encoding': 'gzip' } }), '415 UNSUPPORTED_MEDIA_TYPE');
    const form = await bare('no-such-key=1', { contentType: 'application/x-www-form-urlencoded' });
    const said = types.includes('application/x-www-form-urlencoded') ? UNPROCESSABLE : '415 UNSUPPORTED_MEDIA_TYPE';
    expectRefused(walked, form, said);
  });
});

describe.each(withSchema)('$name', (walked) => {
  const { schema } = bodyOf(walked)!;

  test('[OP7] each limit of the body is taken at its edge', async () => {
    const { json } = await keptExampleOf(walked);
    const { refersTo = [] } = EXAMPLES[walked.name]!;
    const edges = probesOf(schema!, json).filter(({ fault, place }) => fault === null && !refersTo.includes(place));
    for (const { name } of edges) {
      const example = await exampleOf(walked);
      const probe = probesOf(schema!, example.json).find((other) => other.name === name)!;
      expectTaken(await send(server, walked, { ...example, json: probe.value }), `${walked.name}, ${name}`);
    }
  });
});

describe.each(withBound)('$name', (walked) => {
  const { bytesMax = 0 } = bodyOf(walked)!;

  test('[OP9] a body of its bound is read, one that announces a byte more is 413', async () => {
    const example = await exampleOf(walked);
    expect(await announce(server, walked, { ...example, bytesMax: bytesMax + 1 })).toBe(413);
    const { bytes, json } = example;
    if (bytes === undefined) {
      const text = JSON.stringify(json).padEnd(bytesMax);
      expectTaken(await send(server, walked, { ...bodyless(example), text }), walked.name);
    } else {
      const padded = Buffer.concat([bytes, new Uint8Array(bytesMax - bytes.byteLength)]);
      expect([200, 204, 422]).toContain((await send(server, walked, { ...example, bytes: padded })).status);
    }
  });
});

describe.each(onOneWorker(withBytes))('$name', (walked) => {
  test('[OP9] bytes are taken as bytes only', async () => {
    for (const contentType of ['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
      expectRefused(walked, await ask1(walked, { contentType }), '415 UNSUPPORTED_MEDIA_TYPE');
  });
});

describe.each(onOneWorker(withQuery))('$name', (walked) => {
  const parameters = (walked.operation.parameters ?? []).filter((parameter) => parameter.in === 'query');

  test('[OP10] each parameter is taken at its edges and refused beyond, given twice, or of another type', async () => {
    for (const { name, schema } of parameters) {
      const example = (await keptExampleOf(walked)).query?.[name] ?? 'x';
      const with1 = (value: string) => ask1(walked, ({ query }) => ({ query: { ...query, [name]: value } }));
      for (const value of wrongTexts(schema))
        expectRefused(walked, await with1(value), `${UNPROCESSABLE} Value at key '${name}'`);
      for (const value of edgeTexts(schema)) expectTaken(await with1(value), `${walked.name}?${name}=${value}`);
      const twice = `${name}=${encodeURIComponent(example)}&${name}=${encodeURIComponent(example)}`;
      expectRefused(
        walked,
        await ask1(walked, { search: twice }),
        `${UNPROCESSABLE} Value at key '${name}' is given more than once.`,
      );
    }
    expectRefused(
      walked,
      await ask1(walked, { search: 'x=%' }),
      `${UNPROCESSABLE} Value at key 'query' is not valid percent-encoding.`,
    );
  });
});

/** Where texts stand in a value. */
function textsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => textsIn(part, [...path, key]));
}

/** The value with more at the end of one of its texts. */
function endedAt(value: unknown, path: readonly string[], end: string): unknown {
  const copy = structuredClone({ value });
  const places = ['value', ...path];
  const above = places.slice(0, -1).reduce((at, key) => at[key] as Record<string, unknown>, copy as Record<string, unknown>);
  const last = places.at(-1)!;
  above[last] = `${above[last]}${end}`;
  return copy.value;
}

/** A place as messages name it, an item also by its list, and a key of chance not by its name. */
function placeIn(fault: string): RegExp {
  if (fault === '') return /The body|Missing key|Value at key/;
  const path = fault.split('.');
  const parents = path.map((_, depth) => path.slice(0, depth + 1).join('.')).slice(-3);
  return new RegExp(parents.map((place) => `'/?${place.replaceAll(/[.*+?^$()[\]\\|]/g, '[./]')}`).join('|'));
}

function choicesOf(schema: Schema): unknown[] | null {
  const { anyOf } = schema as { anyOf?: { const?: unknown }[] };
  return anyOf === undefined ? null : anyOf.map((one) => one.const);
}

function wrongTexts(schema: Schema): string[] {
  const { type, minimum, maximum, maxLength } = schema as Record<string, number> & { type?: string };
  return [
    ...(type === 'integer' ? ['abc', '1.5', ''] : []),
    ...(type === 'boolean' ? ['yes', '1'] : []),
    ...(choicesOf(schema) === null ? [] : ['no-such-choice', '']),
    ...(minimum === undefined ? [] : [String(minimum - 1)]),
    ...(maximum === undefined ? [] : [String(maximum + 1)]),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
  ];
}

function edgeTexts(schema: Schema): string[] {
  const { type, minimum, maximum, maxLength } = schema as Record<string, number> & { type?: string };
  return [
    ...(type === 'boolean' ? ['', 'true', 'false'] : []),
    ...(choicesOf(schema) ?? []).map(String),
    ...[minimum, maximum].filter((limit) => limit !== undefined).map(String),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength)]),
  ];
}
