/** A schema on a room, as people with a real SDK and a back end with REST meet it (supplement 3.5). */
import { LiveList, LiveMap, LiveObject } from '@liveblocks/client';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { at, contractOf, nothing, refusal } from '../support/e2e/contract.ts';
import { enter, rootOf, saved, storageOf, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer({ STORAGE_TYPE_KEY: 'liveblocksType' });
const { call, aRoom } = contractOf(server);

const BODY = `
  type Storage { title: string, count?: number, people: LiveList<LiveObject<Person>>, tags?: LiveMap<string, LiveObject<Tag>> }
  type Person { name: string, age?: number, friends?: LiveList<string> }
  type Tag { color: "red" | "blue" }`;

const node = (kind: string, data: unknown) => ({ liveblocksType: kind, data });
const DOCUMENT = node('LiveObject', {
  title: 'Plan',
  people: node('LiveList', [node('LiveObject', { name: 'Ann' }), node('LiveObject', { name: 'Bo' })]),
  tags: node('LiveMap', { a: node('LiveObject', { color: 'red' }) }),
});

async function aSchema(body = BODY): Promise<string> {
  const name = freshRoomId('schema').replaceAll(':', '-').toLowerCase();
  const { status, json } = await call('POST /schemas', { json: { name, body } });
  expect(status).toBe(200);
  return json.id;
}

async function aRoomWithSchema(): Promise<{ roomId: string; id: string }> {
  const roomId = await aRoom({ defaultAccesses: ['*:write'] });
  expect((await call(`POST ${at(roomId)}/storage`, { json: DOCUMENT })).status).toBe(200);
  const id = await aSchema();
  expect(await call(`POST ${at(roomId)}/schema`, { json: { schema: id } })).toMatchObject({ status: 200, json: { schema: id } });
  return { roomId, id };
}

/** A room whose Storage was deleted under a schema that an empty one does not match. */
async function aRoomWithSchemaLater(): Promise<{ roomId: string }> {
  const { roomId } = await aRoomWithSchema();
  expect((await call(`DELETE ${at(roomId)}/storage`)).status).toBe(200);
  return { roomId };
}

const stored = async (roomId: string) => (await call(`GET ${at(roomId)}/storage?format=json`)).json;

/** Both clients and the server show the same. */
async function agree(roomId: string, ...visitors: Visitor[]): Promise<void> {
  for (const visitor of visitors) await saved(visitor);
  const truth = await stored(roomId);
  for (const visitor of visitors) {
    await until('the client shows what the server has', async () => {
      expect(await storageOf(visitor)).toEqual(truth);
      return true;
    });
  }
}

/** Clients of production builds log a rejection; others throw as well, out of a socket's handler, where nobody here could catch it. */
beforeEach(() => {
  vi.stubEnv('NODE_ENV', 'production');
  return () => vi.unstubAllEnvs();
});

const rejections = (visitor: Visitor) => visitor.network.received.filter(({ type }) => type === 299);

describe('edits of SDK clients', () => {
  const EDITS: [name: string, edit: (root: LiveObject<any>) => void][] = [
    ['a value of the wrong type', (root) => root.set('title', 3)],
    ['a value over what was there', (root) => root.update({ title: 'New', count: 'x' })],
    ['a field that must be there is deleted', (root) => root.delete('title')],
    ['a node that must be there is deleted', (root) => root.delete('people')],
    ['a field that is not known', (root) => root.set('other', 1)],
    ['a node that is not known', (root) => root.set('other', new LiveList(['x']))],
    ['an item of the wrong kind', (root) => root.get('people').push('Cy')],
    ['an item without what must be there', (root) => root.get('people').push(new LiveObject({}))],
    ['an item replaced', (root) => root.get('people').set(0, 'x')],
    [
      'an item that is wrong further in',
      (root) => root.get('people').insert(new LiveObject({ name: 'Cy', friends: new LiveList<any>([1]) }), 0),
    ],
    ['an entry replaced', (root) => root.get('tags').set('a', new LiveObject({ color: 'green' }))],
    ['an entry added', (root) => root.get('tags').set('b', new LiveMap())],
    ['a node replaced by a plain value', (root) => root.set('people', [])],
    ['a node below changed', (root) => root.get('tags').get('a').set('color', 'green')],
  ];

  test.each(EDITS)('[SC41] %s: the sender takes it back, nobody else sees it, and both go on', async (_, edit) => {
    const { roomId } = await aRoomWithSchema();
    const ann = await enter(server, { roomId, userId: 'ann' });
    const bo = await enter(server, { roomId, userId: 'bo' });
    const [mine, theirs] = [await rootOf(ann), await rootOf(bo)];
    const before = theirs.toJSON();
    edit(mine);
    await until('the rejection has come', () => rejections(ann).length > 0);
    expect(rejections(ann)).toEqual([
      {
        type: 299,
        opIds: expect.any(Array),
        reason: expect.stringMatching(/^The Storage would not match the schema .+: at "\/.+" the property ".+" of .+\.$/),
      },
    ]);
    await agree(roomId, ann, bo);
    expect(await stored(roomId)).toEqual(before);
    expect(rejections(bo)).toEqual([]);
    expect(ann.room.getStatus()).toBe('connected');
    // Nothing stays locked: what others change afterwards is seen, and so is what the sender changes.
    theirs.update({ title: 'theirs', count: 1 });
    theirs.get('tags').set('a', new LiveObject({ color: 'blue' }));
    theirs.get('people').get(0).set('name', 'Al');
    theirs.get('people').push(new LiveObject({ name: 'Di' }));
    await saved(bo);
    await agree(roomId, ann, bo);
    mine.update({ title: 'mine' });
    mine.get('people').delete(0);
    mine.get('tags').get('a').set('color', 'red');
    await agree(roomId, ann, bo);
    expect((await stored(roomId)).title).toBe('mine');
    expect(rejections(ann)).toHaveLength(1);
  });
});

test('[SC81] what was too large within a message that the schema refuses is taken back, too', async () => {
  const { roomId } = await aRoomWithSchema();
  const ann = await enter(server, { roomId, userId: 'ann' });
  const bo = await enter(server, { roomId, userId: 'bo' });
  const [mine, theirs] = [await rootOf(ann), await rootOf(bo)];
  const half = 'x'.repeat(1_100_000);
  mine.set('title', half);
  await agree(roomId, ann, bo);
  const before = await stored(roomId);
  ann.room.batch(() => {
    mine.update({ count: 1, other: half });
    mine.get('tags').get('a').set('color', 'green');
  });
  await until('the rejection has come', () => rejections(ann).length > 0);
  await agree(roomId, ann, bo);
  expect(await stored(roomId)).toEqual(before);
  theirs.update({ title: 'theirs', count: 2 });
  await agree(roomId, ann, bo);
  mine.update({ count: 3 });
  await agree(roomId, ann, bo);
  expect([rejections(ann).length, ann.room.getStatus()]).toEqual([1, 'connected']);
});

describe('Storage of a room with a schema', () => {
  test('[SC42] the first to enter an empty room fills it as the schema says, or not at all', async () => {
    const { roomId } = await aRoomWithSchemaLater();
    const wrong = await enter(server, { roomId, userId: 'ann', initialStorage: () => ({ title: 'x' }) });
    await rootOf(wrong);
    await until('the rejection has come', () => rejections(wrong).length > 0);
    await agree(roomId, wrong);
    expect(await stored(roomId)).toEqual({});
    wrong.leave();
    const right = await enter(server, {
      roomId,
      userId: 'bo',
      throttle: 500, // the client sends each key by itself; the schema wants both at once
      initialStorage: () => ({ title: 'x', people: new LiveList([]) }),
    });
    await rootOf(right);
    await agree(roomId, right);
    expect(await stored(roomId)).toEqual({ title: 'x', people: [] });
    expect(rejections(right)).toEqual([]);
  });

  test('[SC43] it is filled over REST as the schema says, or 422 with the place; nothing is written then', async () => {
    const { roomId } = await aRoomWithSchemaLater();
    const wrong = node('LiveObject', { title: 'x', people: node('LiveList', [node('LiveObject', {})]) });
    expect(refusal(await call(`POST ${at(roomId)}/storage`, { json: wrong }))).toMatch(
      /^422 UNPROCESSABLE_ENTITY The Storage would not match the schema .+@1: at "\/people\/0\/name" the property "name" of Person is missing\.$/,
    );
    expect(await stored(roomId)).toEqual({});
    expect((await call(`POST ${at(roomId)}/storage`, { json: DOCUMENT })).status).toBe(200);
  });

  test('[SC44] a JSON Patch is judged by where it ends, whole; clients see nothing of a refused one', async () => {
    const { roomId } = await aRoomWithSchema();
    const ann = await enter(server, { roomId, userId: 'ann' });
    await rootOf(ann);
    const patch = (json: unknown) => call(`PATCH ${at(roomId)}/storage/json-patch`, { json });
    const before = await stored(roomId);
    expect(
      refusal(
        await patch([
          { op: 'replace', path: '/title', value: 'New' },
          { op: 'add', path: '/people/0/age', value: 'x' },
        ]),
      ),
    ).toMatch(
      /^422 INVALID_STORAGE_MUTATION_REQUEST The Storage would not match .+: at "\/people\/0\/age" the property "age" of Person .+ is "x"\. Nothing was changed\.$/,
    );
    expect(await stored(roomId)).toEqual(before);
    const passing = [
      { op: 'remove', path: '/title' }, // wrong on the way, right in the end
      { op: 'add', path: '/people/-', value: { name: 'Cy' } },
      { op: 'add', path: '/title', value: 'New' },
    ];
    expect(await patch(passing)).toEqual(nothing(200));
    await agree(roomId, ann);
    expect(await stored(roomId)).toMatchObject({ title: 'New', people: [{}, {}, { name: 'Cy' }] });
  });

  test("[SC45] a back end's own mutation is refused whole", async () => {
    const { roomId } = await aRoomWithSchema();
    const mutate = (edit: (root: LiveObject<any>) => void) =>
      server.backend.mutateStorage(roomId, ({ root }) => edit(root as unknown as LiveObject<any>));
    await mutate((root) => root.update({ title: 'x', count: 'y' })); // the SDK does not look at what it is answered
    expect((await stored(roomId)).title).toBe('Plan');
    await mutate((root) => root.update({ title: 'x', count: 1 }));
    expect(await stored(roomId)).toMatchObject({ title: 'x', count: 1 });
  });
});

describe('attaching and detaching', () => {
  test('[SC46] [contract: POST /rooms/{roomId}/schema] row 125: a Storage that does not match is 409, with the first mismatch; nothing is attached', async () => {
    const roomId = await aRoom();
    await call(`POST ${at(roomId)}/storage`, { json: node('LiveObject', { title: 3, people: node('LiveList', []) }) });
    const id = await aSchema();
    expect(refusal(await call(`POST ${at(roomId)}/schema`, { json: { schema: id } }))).toBe(
      `409 SCHEMA_NOT_COMPATIBLE The Storage of the room does not match the schema "${id}": at "/title" the property "title" of Storage has the wrong type: it must be string, and is 3.`,
    );
    expect((await call(`GET ${at(roomId)}/schema`)).status).toBe(404);
    expect(
      (await call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'add', path: '/title', value: 4 }] })).status,
    ).toBe(200);
  });

  test('[SC46] a Storage never filled must match, too', async () => {
    const roomId = await aRoom();
    expect((await call(`POST ${at(roomId)}/schema`, { json: { schema: await aSchema() } })).status).toBe(409);
    expect(
      (await call(`POST ${at(roomId)}/schema`, { json: { schema: await aSchema('type Storage { a?: string }') } })).status,
    ).toBe(200);
  });

  test('[SC47] [contract: DELETE /rooms/{roomId}/schema] once detached anything goes, for those connected, too', async () => {
    const { roomId, id } = await aRoomWithSchema();
    const ann = await enter(server, { roomId, userId: 'ann' });
    const root = await rootOf(ann);
    expect(await call(`DELETE ${at(roomId)}/schema`)).toEqual(nothing(200));
    root.set('title', 3);
    await agree(roomId, ann);
    expect((await stored(roomId)).title).toBe(3);
    expect(rejections(ann)).toEqual([]);
    expect(await call(`DELETE /schemas/${id}`)).toEqual(nothing(200));
  });

  test('[SC48] another schema takes the place of the first, whose versions are free then', async () => {
    const { roomId, id } = await aRoomWithSchema();
    const open = await aSchema(BODY.replace('title: string', 'title: string | number'));
    expect((await call(`POST ${at(roomId)}/schema`, { json: { schema: open } })).status).toBe(200);
    expect(
      (await call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'add', path: '/title', value: 4 }] })).status,
    ).toBe(200);
    expect((await call(`POST ${at(roomId)}/schema`, { json: { schema: id } })).status).toBe(409);
    expect((await call(`GET ${at(roomId)}/schema`)).json.id).toBe(open);
    expect((await call(`DELETE /schemas/${id}`)).status).toBe(200);
    expect((await call(`DELETE /schemas/${open}`)).json.error).toBe('SCHEMA_FROZEN');
  });

  test('[SC49] deleting Storage keeps the schema for what comes next; a renamed room keeps it, a deleted one lets it go', async () => {
    const { roomId, id } = await aRoomWithSchema();
    const renamed = freshRoomId('renamed');
    expect((await call(`DELETE ${at(roomId)}/storage`)).status).toBe(200);
    expect((await call(`POST ${at(roomId)}/storage`, { json: node('LiveObject', { title: 1 }) })).status).toBe(422);
    expect((await call(`POST ${at(roomId)}/update-room-id`, { json: { newRoomId: renamed } })).status).toBe(200);
    expect((await call(`GET ${at(renamed)}/schema`)).json.id).toBe(id);
    expect((await call(`POST ${at(renamed)}/storage`, { json: node('LiveObject', { title: 1 }) })).status).toBe(422);
    expect((await call(`DELETE /schemas/${id}`)).status).toBe(403);
    expect((await call(`DELETE ${at(renamed)}`)).status).toBe(204);
    expect((await call(`DELETE /schemas/${id}`)).status).toBe(200);
  });

  test.skipIf(isExternal)('[SC50] a room that wakes again enforces the schema it has', async () => {
    const { roomId, id } = await aRoomWithSchema();
    await server.restart();
    expect(
      (await call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'add', path: '/title', value: 4 }] })).status,
    ).toBe(422);
    expect((await call(`GET ${at(roomId)}/schema`)).json).toMatchObject({ id, body: BODY });
    expect((await call(`DELETE ${at(roomId)}/schema`)).status).toBe(200);
    await server.restart();
    expect(
      (await call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'add', path: '/title', value: 4 }] })).status,
    ).toBe(200);
  });
});
