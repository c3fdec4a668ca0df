/** Storage on the wire: the exact answers that the SDK's data structures are built on (conformance checks 14 to 26 and 32). */
import { describe, expect, test } from 'vitest';
import { uploadAs } from '../support/e2e/files.ts';
import { asMessages, CODE, type Message, OP, opsIn } from '../support/e2e/messages.ts';
import { enterRaw, type RawClient } from '../support/e2e/raw-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';

const server = await aServer();
const { backend } = server;

/** Two clients that follow Storage; the first one's node 0 is a list at `list`. */
async function twoWithList(subject: string): Promise<{ roomId: string; al: RawClient; bo: RawClient; list: string }> {
  const { roomId, al, bo } = await two(subject);
  const list = al.nodeId(0);
  al.sendOps({ type: OP.createList, id: list, parentId: 'root', parentKey: 'list' });
  await Promise.all([al.takeOps(1), bo.takeOps(1)]);
  return { roomId, al, bo, list };
}

async function two(subject: string): Promise<{ roomId: string; al: RawClient; bo: RawClient }> {
  const roomId = freshRoomId(subject);
  const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
  await Promise.all([al.fetchStorage(), bo.fetchStorage()]);
  return { roomId, al, bo };
}

const register = (client: RawClient, number: number, fields: Omit<Message, 'type'>): Message => ({
  type: OP.createRegister,
  id: client.nodeId(number),
  ...fields,
});

/** Sends the ops as `from` and returns the answer to it and what the other one hears, one op each for every one sent. */
async function exchange(
  from: RawClient,
  other: RawClient,
  ...ops: Message[]
): Promise<{ sent: Message[]; acks: Message[]; forwards: Message[] }> {
  const sent = from.sendOps(...ops);
  return { sent, acks: await from.takeOps(ops.length), forwards: await other.takeOps(ops.length) };
}

const items = async (roomId: string): Promise<unknown> => ((await backend.getStorageDocument(roomId, 'json')) as any).list;
const withoutOpId = ({ opId: _, ...op }: Message): object => op;

describe('the snapshot', () => {
  test('[E2E check 14] an empty room answers with its root, then one end', async () => {
    const client = await enterRaw(server, { roomId: freshRoomId('empty'), userId: 'al' });
    client.send({ type: CODE.fetchStorage });
    await client.take(CODE.storageEnd);
    expect(client.texts.flatMap((text) => asMessages(text)).slice(1)).toEqual([
      { type: CODE.storageChunk, nodes: [['root', {}]] },
      { type: CODE.storageEnd },
    ]);
  });

  test('[E2E check 15] 10,000 nodes come whole and in their order, as compact tuples', async () => {
    const roomId = freshRoomId('many');
    const numbers = Array.from({ length: 10_000 }, (_, index) => index);
    await backend.createRoom(roomId, { defaultAccesses: [] });
    await backend.initializeStorageDocument(roomId, {
      liveblocksType: 'LiveObject',
      data: { title: 'x', list: { liveblocksType: 'LiveList', data: numbers } },
    });
    const client = await enterRaw(server, { roomId, userId: 'al' });
    const nodes = await client.fetchStorage();
    expect(nodes).toHaveLength(10_002);
    expect(nodes.filter(([id]) => id === 'root')).toEqual([['root', { title: 'x' }]]);
    const [list] = nodes.filter(([, kind]) => kind === 1);
    expect(list).toEqual([expect.any(String), 1, 'root', 'list']);
    const registers = nodes.filter(([, kind, parentId]) => kind === 3 && parentId === list![0]) as [
      string,
      3,
      string,
      string,
      number,
    ][];
    expect(new Set(registers.map(([id]) => id)).size).toBe(10_000);
    expect(new Set(registers.map(([, , , key]) => key)).size).toBe(10_000);
    expect(registers.sort(([, , , a], [, , , b]) => (a < b ? -1 : 1)).map(([, , , , data]) => data)).toEqual(numbers);
  });

  test('[E2E check 15] every kind of node has its tuple', async () => {
    const { roomId, al, bo } = await two('kinds');
    const file = { id: `fl_${'x'.repeat(21)}`, name: 'a.png', size: 3, mimeType: 'image/png' };
    await uploadAs(server, roomId, file);
    const id = (number: number) => al.nodeId(number);
    al.sendOps(
      { type: OP.updateObject, id: 'root', data: { a: 1, nothing: null } },
      { type: OP.createObject, id: id(0), parentId: 'root', parentKey: 'object', data: { deep: { plain: [1] } } },
      { type: OP.createList, id: id(1), parentId: id(0), parentKey: 'list' },
      { type: OP.createMap, id: id(2), parentId: id(1), parentKey: '!', intent: 'push' },
      { type: OP.createRegister, id: id(3), parentId: id(2), parentKey: 'any key €', data: null },
      { type: OP.createText, id: id(4), parentId: 'root', parentKey: 'text', data: [['he'], ['llo', { b: true }]], version: 0 },
      { type: OP.createFile, id: id(5), parentId: 'root', parentKey: 'file', data: file },
    );
    await al.takeOps(7);
    const nodes = await bo.fetchStorage();
    expect(nodes).toHaveLength(7);
    expect(nodes).toEqual(
      expect.arrayContaining([
        ['root', { a: 1, nothing: null }],
        [id(0), 0, 'root', 'object', { deep: { plain: [1] } }],
        [id(1), 1, id(0), 'list'],
        [id(2), 2, id(1), '!'],
        [id(3), 3, id(2), 'any key €', null],
        [id(4), 4, 'root', 'text', [['he'], ['llo', { b: true }]], 0],
        [id(5), 5, 'root', 'file', file],
      ]),
    );
  });

  test('[E2E check 16] who has not asked for Storage hears of no change; who has, hears every later one in order', async () => {
    const roomId = freshRoomId('gate');
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    await al.fetchStorage();
    al.sendOps({ type: OP.updateObject, id: 'root', data: { before: 1 } });
    await al.takeOps(1);
    expect(await bo.fetchStorage()).toEqual([['root', { before: 1 }]]);
    for (const number of [1, 2, 3]) al.sendOps({ type: OP.updateObject, id: 'root', data: { after: number } });
    const heard = await bo.takeOps(3);
    expect(heard.map(({ data }) => data)).toEqual([{ after: 1 }, { after: 2 }, { after: 3 }]);
    const all = bo.texts.flatMap((text) => asMessages(text));
    expect(opsIn(all)).toHaveLength(3);
  });
});

describe('acks and forwards', () => {
  test('[E2E check 17] the sender gets its op back with its id, the others without', async () => {
    const { al, bo } = await two('ack');
    const { sent, acks, forwards } = await exchange(al, bo, { type: OP.updateObject, id: 'root', data: { a: { b: [1, null] } } });
    expect(acks).toEqual(sent);
    expect(forwards).toEqual(sent.map(withoutOpId));
  });

  test.each([
    ['UPDATE_OBJECT', { type: OP.updateObject, id: '999:1', data: { a: 1 } }],
    ['DELETE_OBJECT_KEY', { type: OP.deleteObjectKey, id: '999:1', key: 'a' }],
    ['DELETE_CRDT', { type: OP.deleteCrdt, id: '999:1' }],
    ['SET_PARENT_KEY', { type: OP.setParentKey, id: '999:1', parentKey: '!' }],
    ['CREATE under a missing parent', { type: OP.createList, id: '1:900', parentId: '999:1', parentKey: 'a' }],
    ['deleting the root', { type: OP.deleteCrdt, id: 'root' }],
    ['an unknown op code', { type: 99, id: 'root' }],
  ])('[E2E check 18] %s without a target is acknowledged as ignored, to the sender alone', async (_, op) => {
    const { al, bo } = await two('missing');
    const [sent] = al.sendOps(op);
    const { acks, forwards } = await exchange(al, bo, { type: OP.updateObject, id: 'root', data: { fence: 1 } });
    expect(acks).toEqual([{ type: OP.deleteCrdt, id: 'ACK', opId: sent!.opId }]);
    expect(forwards.map(({ data }) => data)).toEqual([{ fence: 1 }]);
  });

  test('[E2E check 26] the same CREATE sent twice makes one node; the second is acknowledged and not forwarded', async () => {
    const { roomId, al, bo, list } = await twoWithList('duplicate');
    const create = { ...register(al, 1, { parentId: list, parentKey: '!', data: 'once' }), opId: `${al.actor}:77` };
    const { forwards } = await exchange(al, bo, create);
    expect(forwards).toEqual([withoutOpId(create)]);
    al.sendOps(create);
    expect((await al.takeOps(1))[0]).toMatchObject({ opId: create.opId });
    expect(
      (await exchange(al, bo, { type: OP.updateObject, id: 'root', data: { fence: 1 } })).forwards.map(({ data }) => data),
    ).toEqual([{ fence: 1 }]);
    expect(await items(roomId)).toEqual(['once']);
  });

  test('[E2E check 32] as many ops as a frame holds are rejected as a few are, and nobody else feels it', async () => {
    const roomId = freshRoomId('many-rejected');
    const writer = await enterRaw(server, { roomId, userId: 'al' });
    const reader = await enterRaw(server, { roomId, userId: 'bo', permissions: { '*': ['*:read'] } });
    const opIds = Array.from({ length: 200_000 }, (_, number) => `${reader.actor}:${number}`);
    reader.send({ type: CODE.storageOps, ops: opIds.map((opId) => ({ type: OP.deleteCrdt, id: '0:1', opId })) });
    expect((await reader.take(CODE.rejected)).opIds).toEqual(opIds);
    await writer.roundTrip();
    expect(writer.inbox.filter(({ type }) => type === CODE.userLeft)).toEqual([]);
  });

  test('[E2E check 32] a read-only connection changes nothing and gets 299, naming its ops, in a frame of its own', async () => {
    const roomId = freshRoomId('read-only');
    const al = await enterRaw(server, { roomId, userId: 'al' });
    const reader = await enterRaw(server, { roomId, userId: 'bo', permissions: { '*': ['*:read'] } });
    await Promise.all([al.fetchStorage(), reader.fetchStorage()]);
    const sent = reader.sendOps(
      { type: OP.updateObject, id: 'root', data: { a: 1 } },
      { type: OP.deleteObjectKey, id: 'root', key: 'b' },
    );
    const rejected = await reader.take(CODE.rejected);
    expect(rejected).toEqual({ type: CODE.rejected, opIds: sent.map(({ opId }) => opId), reason: expect.stringMatching(/\w/) });
    expect(reader.texts.map((text) => JSON.parse(text))).toContainEqual(rejected);
    const [first, , fix] = await reader.takeOps(3);
    expect([first, fix]).toMatchObject([sent[0]!, { type: OP.deleteObjectKey, id: 'root', key: 'a' }]); // it takes back what it did
    al.sendOps({ type: OP.updateObject, id: 'root', data: { fence: 1 } });
    expect((await reader.takeOps(1))[0]).toMatchObject({ data: { fence: 1 } });
    expect(await backend.getStorageDocument(roomId, 'json')).toEqual({ fence: 1 });
  });
});

describe('lists', () => {
  test('[E2E check 19] the second of two inserts at one place is stored, echoed and forwarded right after the first', async () => {
    const { roomId, al, bo, list } = await twoWithList('insert');
    await exchange(al, bo, register(al, 1, { parentId: list, parentKey: '"', data: 'last' }));
    await exchange(al, bo, register(al, 2, { parentId: list, parentKey: '!', data: 'first' }));
    const { acks, forwards } = await exchange(bo, al, register(bo, 1, { parentId: list, parentKey: '!', data: 'second' }));
    expect(acks[0]).toMatchObject({ parentKey: '!O', opId: expect.any(String) });
    expect(forwards[0]).toMatchObject({ parentKey: '!O' });
    expect(await items(roomId)).toEqual(['first', 'second', 'last']);
  });

  test('[E2E check 20] concurrent pushes end in the order in which they were processed, and the echo says where', async () => {
    const { roomId, al, bo, list } = await twoWithList('push');
    const push = (client: RawClient, data: string) =>
      register(client, 1, { parentId: list, parentKey: '!', intent: 'push', data });
    await exchange(al, bo, push(al, 'one'));
    const { acks, forwards } = await exchange(bo, al, push(bo, 'two'));
    expect(acks[0]).toMatchObject({ parentKey: '!!' });
    expect(forwards[0]).toMatchObject({ parentKey: '!!' });
    expect(await items(roomId)).toEqual(['one', 'two']);
  });

  test('[E2E check 21] a set deletes the item it names, subtree and all, and takes its place', async () => {
    const { al, bo, list } = await twoWithList('set');
    const [old, inner] = [al.nodeId(1), al.nodeId(2)];
    await exchange(
      al,
      bo,
      { type: OP.createMap, id: old, parentId: list, parentKey: '!', intent: 'push' },
      { type: OP.createRegister, id: inner, parentId: old, parentKey: 'k', data: 1 },
    );
    const { forwards } = await exchange(
      bo,
      al,
      register(bo, 1, { parentId: list, parentKey: '!', intent: 'set', deletedId: old, data: 'new' }),
    );
    expect(forwards[0]).toMatchObject({ parentKey: '!', intent: 'set', deletedId: old });
    const nodes = await bo.fetchStorage();
    expect(nodes.map(([id]) => id).sort()).toEqual(['root', list, bo.nodeId(1)].sort());
  });

  test('[E2E check 22] whatever else holds the place of a set is deleted, and everybody is told without an op id', async () => {
    const { roomId, al, bo, list } = await twoWithList('displace');
    await exchange(al, bo, register(al, 1, { parentId: list, parentKey: '!', data: 'occupant' }));
    await exchange(al, bo, register(al, 2, { parentId: list, parentKey: '!!', data: 'named' }));
    bo.sendOps(register(bo, 1, { parentId: list, parentKey: '!', intent: 'set', deletedId: al.nodeId(2), data: 'new' }));
    const fix = { type: OP.deleteCrdt, id: al.nodeId(1) };
    for (const client of [al, bo]) expect(await client.takeOps(2)).toContainEqual(fix);
    expect(await items(roomId)).toEqual(['new']);
  });

  test('[E2E check 23] an item moved onto another is placed right after it, and both are told the final key', async () => {
    const { roomId, al, bo, list } = await twoWithList('move');
    for (const [number, key] of ['!', '"', '#'].entries())
      await exchange(al, bo, register(al, number + 1, { parentId: list, parentKey: key, data: key }));
    const { acks, forwards } = await exchange(bo, al, { type: OP.setParentKey, id: al.nodeId(3), parentKey: '!' });
    expect(acks[0]).toMatchObject({ type: OP.setParentKey, parentKey: '!O', opId: expect.any(String) });
    expect(forwards[0]).toEqual({ type: OP.setParentKey, id: al.nodeId(3), parentKey: '!O' });
    expect(await items(roomId)).toEqual(['!', '#', '"']);
  });
});

describe('maps and objects', () => {
  test('[E2E check 24] the later of two sets of a map key wins, and one child is left', async () => {
    const { al, bo } = await two('map');
    const map = al.nodeId(0);
    await exchange(al, bo, { type: OP.createMap, id: map, parentId: 'root', parentKey: 'map' });
    await exchange(al, bo, register(al, 1, { parentId: map, parentKey: 'k', data: 'al' }));
    await exchange(bo, al, register(bo, 1, { parentId: map, parentKey: 'k', data: 'bo' }));
    const children = (await al.fetchStorage()).filter(([, , parentId]) => parentId === map);
    expect(children).toEqual([[bo.nodeId(1), 3, map, 'k', 'bo']]);
  });

  test('[E2E check 25] a plain value set over a live child removes the child and all below it', async () => {
    const { al, bo, list } = await twoWithList('overwrite');
    await exchange(al, bo, register(al, 1, { parentId: list, parentKey: '!', data: 1 }));
    await exchange(bo, al, { type: OP.updateObject, id: 'root', data: { list: 'plain' } });
    expect(await al.fetchStorage()).toEqual([['root', { list: 'plain' }]]);
  });

  test('[E2E check 25] a live child set over a plain value, and DELETE_OBJECT_KEY over either, leave nothing behind', async () => {
    const { al, bo } = await two('replace');
    await exchange(al, bo, { type: OP.updateObject, id: 'root', data: { k: 1, gone: 2 } });
    await exchange(al, bo, { type: OP.createMap, id: al.nodeId(0), parentId: 'root', parentKey: 'k' });
    await exchange(bo, al, { type: OP.deleteObjectKey, id: 'root', key: 'gone' });
    expect(await al.fetchStorage()).toEqual([
      ['root', {}],
      [al.nodeId(0), 2, 'root', 'k'],
    ]);
    await exchange(bo, al, { type: OP.deleteObjectKey, id: 'root', key: 'k' });
    expect(await al.fetchStorage()).toEqual([['root', {}]]);
  });
});
