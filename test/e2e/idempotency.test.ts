/** Requests that are sent again, as a back end does that lost the answer: plain fetch with an Idempotency-Key, also across a restart. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { at, contractOf, nothing, refusal } from '../support/e2e/contract.ts';
import { CODE, OP } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import type { Answer, Ask } from '../support/e2e/rest.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';

const server = await aServer({ STORAGE_TYPE_KEY: 'liveblocksType' });
const { call, aRoom } = contractOf(server);

const aKey = (): string => randomBytes(12).toString('base64url');
const node = (liveblocksType: string, data: unknown) => ({ liveblocksType, data });
const DOCUMENT = node('LiveObject', { list: node('LiveList', []), title: 'Plan' });
const push = (value: string): Ask => ({ json: [{ op: 'add', path: '/list/-', value }] });

const storage = async (roomId: string) => (await call(`GET ${at(roomId)}/storage?format=json`)).json;
async function aRoomWithList(): Promise<string> {
  const roomId = await aRoom();
  expect((await call(`POST ${at(roomId)}/storage`, { json: DOCUMENT })).status).toBe(200);
  return roomId;
}
const same = (again: Answer, first: Answer): void =>
  expect({ status: again.status, text: again.text }).toEqual({ status: first.status, text: first.text });

/** A request, what somebody else does after it, and what must stay as that left it however often the request comes again. */
interface Repeatable {
  readonly name: string;
  readonly room: () => Promise<string>;
  readonly request: (roomId: string) => readonly [line: string, ask: Ask];
  readonly between: (roomId: string) => Promise<unknown>;
  readonly seen: (roomId: string) => Promise<unknown>;
}

const inRoom =
  (method: string, path: string, ask: Ask = {}) =>
  (roomId: string) =>
    [`${method} ${at(roomId)}${path}`, ask] as const;
const title = (value: string) => (roomId: string) =>
  call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'replace', path: '/title', value }] });
const setTitle = {
  messages: [{ type: 201, ops: [{ type: OP.updateObject, id: 'root', opId: '999:1', data: { title: 'Sent' } }] }],
};
const doc = new Y.Doc();
doc.getText('text').insert(0, 'abc');
const metadata = (value: string) => (roomId: string) => call(`POST ${at(roomId)}`, { json: { metadata: { value } } });
const room = async (roomId: string) => (await call(`GET ${at(roomId)}`)).text;
const schemaOf = async (roomId: string) => (await call(`GET ${at(roomId)}/schema`)).text;

const versions = async (roomId: string) => (await call(`GET ${at(roomId)}/versions`)).json.data;
const deleteNewest = async (roomId: string) => call(`DELETE ${at(roomId)}/versions/${(await versions(roomId))[0].id}`);

async function aSchema(body = 'type Storage { list?: LiveList<string>, title?: string }'): Promise<string> {
  const name = freshRoomId('schema').replaceAll(':', '-').toLowerCase();
  return (await call('POST /schemas', { json: { name, body } })).json.id;
}
const [schema, otherSchema] = [await aSchema(), await aSchema()];
const attach = (id: string) => (roomId: string) => call(`POST ${at(roomId)}/schema`, { json: { schema: id } });

const REPEATABLE: readonly Repeatable[] = [
  {
    name: 'PATCH …/storage/json-patch',
    room: aRoomWithList,
    request: inRoom('PATCH', '/storage/json-patch', push('once')),
    between: title('Later'),
    seen: storage,
  },
  {
    name: 'POST …/storage',
    room: aRoom,
    request: inRoom('POST', '/storage', { json: DOCUMENT }),
    between: title('Later'),
    seen: storage,
  },
  {
    name: 'DELETE …/storage',
    room: aRoomWithList,
    request: inRoom('DELETE', '/storage'),
    between: (roomId) => call(`POST ${at(roomId)}/storage`, { json: DOCUMENT }),
    seen: storage,
  },
  {
    name: 'POST …/send-message',
    room: aRoomWithList,
    request: inRoom('POST', '/send-message', { json: setTitle }),
    between: title('Later'),
    seen: storage,
  },
  {
    name: 'PUT …/ydoc',
    room: aRoom,
    request: inRoom('PUT', '/ydoc', { body: Y.encodeStateAsUpdate(doc), contentType: 'application/octet-stream' }),
    between: async () => undefined,
    seen: async (roomId) => (await call(`GET ${at(roomId)}/ydoc`)).json,
  },
  {
    name: 'POST /rooms/{roomId}',
    room: aRoom,
    request: inRoom('POST', '', { json: { metadata: { value: 'first' } } }),
    between: metadata('later'),
    seen: room,
  },
  {
    name: 'POST …/upsert',
    room: aRoom,
    request: inRoom('POST', '/upsert', { json: { update: { metadata: { value: 'first' } }, create: { defaultAccesses: [] } } }),
    between: metadata('later'),
    seen: room,
  },
  {
    name: 'DELETE /rooms/{roomId}',
    room: aRoom,
    request: inRoom('DELETE', ''),
    between: (id) => call('POST /rooms', { json: { id, defaultAccesses: ['*:write'] } }),
    seen: room,
  },
  {
    name: 'POST …/update-organization-id',
    room: aRoom,
    request: inRoom('POST', '/update-organization-id', { json: { fromOrganizationId: 'default', toOrganizationId: 'acme' } }),
    between: (roomId) =>
      call(`POST ${at(roomId)}/update-organization-id`, { json: { fromOrganizationId: 'acme', toOrganizationId: 'default' } }),
    seen: room,
  },
  {
    name: 'POST …/versions',
    room: aRoomWithList,
    request: inRoom('POST', '/versions'),
    between: (roomId) => call(`POST ${at(roomId)}/versions`),
    seen: versions,
  },
  {
    name: 'POST …/versions, of a version that is deleted then',
    room: aRoomWithList,
    request: inRoom('POST', '/versions'),
    between: deleteNewest,
    seen: versions,
  },
  {
    name: 'POST …/schema',
    room: aRoomWithList,
    request: inRoom('POST', '/schema', { json: { schema } }),
    between: attach(otherSchema),
    seen: schemaOf,
  },
  {
    name: 'DELETE …/schema',
    room: async () => {
      const roomId = await aRoomWithList();
      await attach(schema)(roomId);
      return roomId;
    },
    request: inRoom('DELETE', '/schema'),
    between: attach(otherSchema),
    seen: schemaOf,
  },
];

describe.each(REPEATABLE)('$name', ({ room: makeRoom, request, between, seen }) => {
  test('[E2E-ID1] sent again it has its first answer and no second effect, whatever happened since', async () => {
    const roomId = await makeRoom();
    const [line, ask] = request(roomId);
    const key = aKey();
    const first = await call(line, { ...ask, key });
    expect(first.status).toBeLessThan(300);
    await between(roomId);
    const before = await seen(roomId);
    for (let count = 0; count < 3; count += 1) same(await call(line, { ...ask, key }), first);
    expect(await seen(roomId)).toEqual(before);
  });

  test('[E2E-ID2] ten at the same time have one effect; each is told of it, or to ask again', async () => {
    const roomId = await makeRoom();
    const [line, ask] = request(roomId);
    const key = aKey();
    const answers = await Promise.all(Array.from({ length: 10 }, () => call(line, { ...ask, key })));
    const done = answers.filter(({ status }) => status < 300);
    expect(done.length).toBeGreaterThan(0);
    for (const answer of answers) {
      if (answer.status < 300) same(answer, done[0]!);
      else
        expect([refusal(answer), answer.headers.get('retry-after')]).toEqual([
          expect.stringMatching(/^409 IDEMPOTENCY_KEY_IN_USE /),
          '1',
        ]);
    }
    same(await call(line, { ...ask, key }), done[0]!);
    if (line.includes('json-patch')) expect((await storage(roomId)).list).toEqual(['once']);
  });
});

test.skipIf(isExternal)('[E2E-ID3] a restart of the server forgets none of these requests', async () => {
  const sent = [];
  for (const { room: makeRoom, request, between, seen } of REPEATABLE) {
    const roomId = await makeRoom();
    const [line, ask] = request(roomId);
    const keyed = { ...ask, key: aKey() };
    const first = await call(line, keyed);
    expect(first.status).toBeLessThan(300);
    await between(roomId);
    sent.push({ line, keyed, first, look: () => seen(roomId), before: await seen(roomId) });
  }
  await server.restart();
  for (const { line, keyed, first, look, before } of sent) {
    same(await call(line, keyed), first);
    expect(await look()).toEqual(before);
  }
});

describe('creating', () => {
  test('[E2E-ID1] a room made twice under one key is the same room, though one made again is a conflict', async () => {
    const json = { id: freshRoomId('once'), defaultAccesses: [] };
    const key = aKey();
    const first = await call('POST /rooms', { json, key });
    same(await call('POST /rooms', { json, key }), first);
    expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(refusal(await call('POST /rooms', { json }))).toContain('409 ROOM_ALREADY_EXISTS');
    expect(refusal(await call('POST /rooms', { json, key: aKey() }))).toContain('409 ROOM_ALREADY_EXISTS');
  });

  test('[E2E-ID1] a room renamed twice under one key', async () => {
    const roomId = await aRoom();
    const json = { newRoomId: freshRoomId('renamed') };
    const key = aKey();
    const first = await call(`POST ${at(roomId)}/update-room-id`, { json, key });
    same(await call(`POST ${at(roomId)}/update-room-id`, { json, key }), first);
    expect(first.json.id).toBe(json.newRoomId);
    expect(refusal(await call(`POST ${at(roomId)}/update-room-id`, { json }))).toContain('404 ROOM_NOT_FOUND');
  });

  test('[E2E-ID1] a schema, a version of it, and its deletion', async () => {
    const name = freshRoomId('schema').replaceAll(':', '-').toLowerCase();
    const twice = async (line: string, ask: Ask): Promise<Answer> => {
      const key = aKey();
      const first = await call(line, { ...ask, key });
      expect(first.status).toBe(200);
      same(await call(line, { ...ask, key }), first);
      return first;
    };
    const body = 'type Storage { a?: string }';
    expect((await twice('POST /schemas', { json: { name, body } })).json.id).toBe(`${name}@1`);
    expect((await twice(`PUT /schemas/${name}@1`, { json: { body } })).json.id).toBe(`${name}@2`);
    expect(refusal(await call(`GET /schemas/${name}@3`))).toContain('404');
    await twice(`DELETE /schemas/${name}@2`, {});
  });
});

describe('the key', () => {
  test('[E2E-ID4] with another body, path or route is refused with 422, over room and database alike', async () => {
    const roomId = await aRoomWithList();
    const key = aKey();
    expect((await call(`PATCH ${at(roomId)}/storage/json-patch`, { ...push('a'), key })).status).toBe(200);
    expect((await call(`POST ${at(roomId)}`, { json: { metadata: { a: 'b' } }, key: `${key}2` })).status).toBe(200);
    for (const [line, ask, used] of [
      [`PATCH ${at(roomId)}/storage/json-patch`, push('b'), key],
      [`DELETE ${at(roomId)}/storage`, {}, key],
      [`POST ${at(roomId)}`, { json: { metadata: { a: 'c' } } }, `${key}2`],
      [`POST ${at(await aRoom())}`, { json: { metadata: { a: 'b' } } }, `${key}2`],
      [`DELETE ${at(roomId)}`, {}, `${key}2`],
    ] as const)
      expect(refusal(await call(line, { ...ask, key: used }))).toMatch(/^422 IDEMPOTENCY_KEY_REUSED /);
    expect((await storage(roomId)).list).toEqual(['a']);
  });

  test('[E2E-ID5] of a request that was refused may be used again: nothing had happened', async () => {
    const id = freshRoomId('late');
    const key = aKey();
    const patch = () => call(`PATCH ${at(id)}/storage/json-patch`, { json: [{ op: 'add', path: '/a', value: 1 }], key });
    const update = () => call(`POST ${at(id)}`, { json: { metadata: { a: 'b' } }, key });
    for (const attempt of [patch, update]) expect(refusal(await attempt())).toContain('404 ROOM_NOT_FOUND');
    await call('POST /rooms', { json: { id, defaultAccesses: [] } });
    for (const attempt of [patch, update]) expect((await attempt()).status).toBe(200);
    expect(await storage(id)).toEqual({ a: 1 });
  });

  test('[E2E-ID4] belongs to one room: in another the same key and body is another request', async () => {
    const key = aKey();
    const rooms = [await aRoomWithList(), await aRoomWithList()];
    for (const roomId of rooms)
      expect((await call(`PATCH ${at(roomId)}/storage/json-patch`, { ...push('a'), key })).status).toBe(200);
    for (const roomId of rooms) expect((await storage(roomId)).list).toEqual(['a']);
  });

  test('[E2E-ID6] of more than 255 characters is refused, and nothing happens', async () => {
    const roomId = await aRoomWithList();
    const line = `PATCH ${at(roomId)}/storage/json-patch`;
    expect(refusal(await call(line, { ...push('a'), key: 'x'.repeat(256) }))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'Idempotency-Key'",
    );
    expect((await call(line, { ...push('b'), key: 'x'.repeat(255) })).status).toBe(200);
    expect((await storage(roomId)).list).toEqual(['b']);
  });

  test('[E2E-ID1] without one, a request that is sent again is another request', async () => {
    const roomId = await aRoomWithList();
    for (const _ of [1, 2]) await call(`PATCH ${at(roomId)}/storage/json-patch`, push('a'));
    expect((await storage(roomId)).list).toEqual(['a', 'a']);
  });
});

describe('what passes', () => {
  test('[E2E-ID7] an event is heard once, a presence seen once', async () => {
    const roomId = await aRoom();
    const al = await enterRaw(server, { roomId, userId: 'al' });
    const key = aKey();
    for (const _ of [1, 2, 3])
      expect(await call(`POST ${at(roomId)}/broadcast-event`, { json: { n: 1 }, key })).toEqual(nothing(204));
    expect(await call(`POST ${at(roomId)}/broadcast-event`, { json: { n: 2 } })).toEqual(nothing(204));
    expect([await al.take(CODE.event), await al.take(CODE.event)]).toMatchObject([{ event: { n: 1 } }, { event: { n: 2 } }]);

    const presence = { json: { userId: 'bot', data: { x: 1 }, userInfo: {} }, key: aKey() };
    for (const _ of [1, 2]) expect(await call(`POST ${at(roomId)}/presence`, presence)).toEqual(nothing(204));
    await call(`POST ${at(roomId)}/presence`, { json: { userId: 'bot', data: { x: 2 }, userInfo: {} } });
    expect([await al.take(CODE.presence), await al.take(CODE.presence)]).toMatchObject([{ data: { x: 1 } }, { data: { x: 2 } }]);
  });

  test('[E2E-ID7] the number to edit under is the same when it is asked for again, and the nodes are those of now', async () => {
    const roomId = await aRoomWithList();
    const ask = async (key: string) => {
      const { text } = await call(`POST ${at(roomId)}/request-storage-mutation`, { key });
      const [{ actor }, ...nodes] = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      return { actor, count: nodes.length };
    };
    const key = aKey();
    const first = await ask(key);
    await call(`PATCH ${at(roomId)}/storage/json-patch`, push('a'));
    expect(await ask(key)).toEqual({ actor: first.actor, count: first.count + 1 });
    expect((await ask(aKey())).actor).not.toBe(first.actor);
  });
});

test('[E2E-ID8] every operation that changes something names the header, but for those that issue tokens, read, or say what they make', async () => {
  const { paths } = (await call('GET /../openapi.json')).json;
  const without = Object.entries<any>(paths).flatMap(([path, operations]) =>
    Object.entries<any>(operations)
      .filter(
        ([method, { parameters = [] }]) => method !== 'get' && !parameters.some(({ name }: any) => name === 'Idempotency-Key'),
      )
      .map(([method]) => `${method} ${path}`),
  );
  // An upload names its file, a part its number, a completion its upload: the same again is the same. Who was sent away is away.
  const needsNone =
    /\/(authorize|authorize-user|identify-user|upload\/\{name\}|\{partNumber\}|complete|presigned-urls|find|text-metadata|disconnect)$/;
  expect(without.filter((operation) => !needsNone.test(operation))).toEqual([]);
});
