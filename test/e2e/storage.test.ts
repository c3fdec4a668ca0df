/** Storage as applications use it: real clients, the back end's SDK and REST on one tree (conformance checks 20 to 28 and 39). */
import { LiveFile, LiveList, LiveMap, LiveObject } from '@liveblocks/client';
import { kInternal } from '@liveblocks/core';
import { describe, expect, test } from 'vitest';
import type { FileData } from '../../src/protocol/storage-ops.ts';
import { uploadAs } from '../support/e2e/files.ts';
import { CODE, OP, opsIn } from '../support/e2e/messages.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { enter, listen, rootOf, saved, storageOf, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { backend } = server;

const read = (roomId: string): Promise<unknown> => backend.getStorageDocument(roomId, 'json');
const patch = (roomId: string, operations: object[]) =>
  ask(server, roomPath(roomId, '/storage/json-patch'), { method: 'PATCH', json: operations });

async function twoVisitors(
  subject: string,
  initialStorage: () => Record<string, any> = () => ({}),
  files: readonly FileData[] = [],
): Promise<{ roomId: string; al: Visitor; bo: Visitor }> {
  const roomId = freshRoomId(subject);
  if (files.length > 0) await backend.createRoom(roomId, { defaultAccesses: [] });
  for (const file of files) await uploadAs(server, roomId, file);
  const al = await enter(server, { roomId, userId: 'al', initialStorage });
  await rootOf(al);
  await saved(al);
  const bo = await enter(server, { roomId, userId: 'bo' });
  await rootOf(bo);
  return { roomId, al, bo };
}

/** All replicas, and what REST reads, have become `expected`, and nobody waits for an ack. */
async function allRead(roomId: string, visitors: readonly Visitor[], expected: unknown): Promise<void> {
  await until(`all read ${JSON.stringify(expected)}`, async () => {
    for (const visitor of visitors) expect(await storageOf(visitor)).toEqual(expected);
    expect(visitors.map(({ room }) => room.getStorageStatus())).toEqual(visitors.map(() => 'synchronized'));
    return true;
  });
  expect(await read(roomId)).toEqual(expected);
}

describe('data structures', () => {
  test('[E2E-S1] every structure, nested, is seen by the other client and read over REST in both formats', async () => {
    const file = { id: `fl_${'a'.repeat(21)}`, name: 'a.txt', size: 1, mimeType: 'text/plain' };
    const filled = () => ({
      plain: { deep: [1, { two: 3 }], nothing: null },
      object: new LiveObject({ list: new LiveList<any>([1, 'two', new LiveList<any>([3])]) }),
      map: new LiveMap<string, any>([
        ['k', new LiveObject({ a: 1 })],
        ['€', 'v'],
      ]),
      file: new LiveFile(file),
    });
    const { roomId, al, bo } = await twoVisitors('kinds', filled, [file]);
    await allRead(roomId, [al, bo], {
      plain: { deep: [1, { two: 3 }], nothing: null },
      object: { list: [1, 'two', [3]] },
      map: { k: { a: 1 }, '€': 'v' },
      file,
    });
    const node = (liveblocksType: string, data: unknown) => ({ liveblocksType, data });
    expect(await backend.getStorageDocument(roomId, 'plain-lson')).toEqual(
      node('LiveObject', {
        plain: { deep: [1, { two: 3 }], nothing: null },
        object: node('LiveObject', { list: node('LiveList', [1, 'two', node('LiveList', [3])]) }),
        map: node('LiveMap', { k: node('LiveObject', { a: 1 }), '€': 'v' }),
        file: node('LiveFile', file),
      }),
    );
  });

  test('[E2E-S1] what is done to objects, maps and lists is the same everywhere', async () => {
    const { roomId, al, bo } = await twoVisitors('edits', () => ({
      object: new LiveObject<any>({ a: 1, b: 2 }),
      map: new LiveMap(),
      list: new LiveList<any>([]),
    }));
    const [one, two] = [await rootOf(al), await rootOf(bo)];
    one.get('object').update({ a: 10, c: 3 });
    two.get('object').delete('b');
    one.get('map').set('x', 1);
    two.get('map').set('y', new LiveList([1]));
    await until('both keys are there', () => one.get('map').size === 2 && two.get('map').size === 2);
    two.get('map').delete('x');
    const list = one.get('list') as LiveList<any>;
    for (const item of ['a', 'b', 'c', 'd']) list.push(item);
    list.insert('start', 0);
    list.move(0, 4);
    list.set(0, 'A');
    list.delete(1);
    await allRead(roomId, [al, bo], { object: { a: 10, c: 3 }, map: { y: [1] }, list: ['A', 'c', 'd', 'start'] });
    (two.get('list') as LiveList<any>).clear();
    await allRead(roomId, [al, bo], { object: { a: 10, c: 3 }, map: { y: [1] }, list: [] });
  });

  test('[E2E-S2] missing keys of the initial storage are added, those that are there are kept', async () => {
    const roomId = freshRoomId('initial');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    await backend.initializeStorageDocument(roomId, { liveblocksType: 'LiveObject', data: { kept: 'old' } });
    const al = await enter(server, { roomId, initialStorage: () => ({ kept: 'new', added: new LiveList<any>([1]) }) });
    await rootOf(al);
    await allRead(roomId, [al], { kept: 'old', added: [1] });
  });
});

describe('size', () => {
  test('[E2E-S7] a Storage larger than what may wait for a slow reader still loads, and takes large changes', async () => {
    const roomId = freshRoomId('large');
    const data = Array.from({ length: 6 }, (_, index) => String(index).repeat(1_000_000));
    await backend.createRoom(roomId, { defaultAccesses: [] });
    await backend.initializeStorageDocument(roomId, {
      liveblocksType: 'LiveObject',
      data: { list: { liveblocksType: 'LiveList', data } },
    });
    const al = await enter(server, { roomId });
    const list = (await rootOf(al)).get('list') as LiveList<string>;
    expect([...list]).toEqual(data);
    for (const letter of ['a', 'b', 'c']) list.push(letter.repeat(1_000_000));
    await saved(al);
    const bo = await enter(server, { roomId });
    expect(((await storageOf(bo)) as any).list.map((item: string) => item[0]).join('')).toBe('012345abc');
    expect([...al.network.closeCodes, ...bo.network.closeCodes]).toEqual([]);
  });

  test('[E2E-S7] tens of thousands of entries arrive whole, though they come in one frame', async () => {
    const roomId = freshRoomId('long');
    const entries = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, index]));
    const al = await enter(server, { roomId });
    (await rootOf(al)).set('map', new LiveMap(Object.entries(entries)));
    await saved(al);
    expect(await backend.getStorageDocument(roomId, 'json')).toEqual({ map: entries });
    expect(al.network.closeCodes).toEqual([]);
  });
});

describe('several at once', () => {
  test('[E2E check 20] clients that push at the same moment end with one order, which REST reads too', async () => {
    const { roomId, al, bo } = await twoVisitors('push', () => ({ list: new LiveList([]) }));
    const lists = [(await rootOf(al)).get('list'), (await rootOf(bo)).get('list')] as LiveList<string>[];
    for (const number of [1, 2, 3, 4, 5]) for (const [index, list] of lists.entries()) list.push(`${index}-${number}`);
    await until('all ten are everywhere', () => lists.every(({ length }) => length === 10));
    await Promise.all([saved(al), saved(bo)]);
    const { list } = (await read(roomId)) as { list: string[] };
    await allRead(roomId, [al, bo], { list });
    for (const index of [0, 1])
      expect(list.filter((item) => item.startsWith(`${index}-`))).toEqual([1, 2, 3, 4, 5].map((n) => `${index}-${n}`));
  });

  test('[E2E check 21] an item replaced by one client is reported as a replacement to the other', async () => {
    const { roomId, al, bo } = await twoVisitors('replace', () => ({ list: new LiveList(['a', 'b']) }));
    const list = (await rootOf(bo)).get('list') as LiveList<string>;
    const updates: any[] = [];
    bo.room.subscribe(list as any, (batch: any) => updates.push(...batch.flatMap((update: any) => update.updates)), {
      isDeep: true,
    } as any);
    ((await rootOf(al)).get('list') as LiveList<string>).set(1, 'B');
    await allRead(roomId, [al, bo], { list: ['a', 'B'] });
    expect(updates.map(({ type, index, item }) => ({ type, index, item }))).toEqual([{ type: 'set', index: 1, item: 'B' }]);
  });

  test('[E2E check 24] both set one key of an object and of a map: all end with the same value', async () => {
    const { roomId, al, bo } = await twoVisitors('same-key', () => ({ map: new LiveMap() }));
    for (const [visitor, value] of [
      [al, 'al'],
      [bo, 'bo'],
    ] as const) {
      const root = await rootOf(visitor);
      root.set('key', value);
      root.get('map').set('key', value);
    }
    await Promise.all([saved(al), saved(bo)]);
    const result = (await read(roomId)) as any;
    expect(['al', 'bo']).toContain(result.key);
    await allRead(roomId, [al, bo], result);
  });
});

describe('undo and redo', () => {
  test('[E2E-S3] what a client undoes is undone for all, with the structures that were there', async () => {
    const { roomId, al, bo } = await twoVisitors('undo', () => ({
      list: new LiveList<any>([new LiveObject({ n: 1 })]),
      title: 'old',
    }));
    const root = await rootOf(al);
    al.room.batch(() => {
      root.set('title', 'new');
      root.get('list').delete(0);
      root.set('map', new LiveMap([['k', 1]]));
    });
    await allRead(roomId, [al, bo], { list: [], title: 'new', map: { k: 1 } });
    al.room.history.undo();
    await allRead(roomId, [al, bo], { list: [{ n: 1 }], title: 'old' });
    al.room.history.redo();
    await allRead(roomId, [al, bo], { list: [], title: 'new', map: { k: 1 } });
    al.room.history.undo();
    await allRead(roomId, [al, bo], { list: [{ n: 1 }], title: 'old' });
    (await rootOf(bo)).get('list').get(0).set('n', 2);
    await allRead(roomId, [al, bo], { list: [{ n: 2 }], title: 'old' });
  });

  test('[E2E-S3] a client undoes its own edits only', async () => {
    const { roomId, al, bo } = await twoVisitors('own-undo', () => ({ list: new LiveList<string>([]) }));
    (await rootOf(al)).get('list').push('al');
    await allRead(roomId, [al, bo], { list: ['al'] });
    (await rootOf(bo)).get('list').push('bo');
    await allRead(roomId, [al, bo], { list: ['al', 'bo'] });
    al.room.history.undo();
    await allRead(roomId, [al, bo], { list: ['bo'] });
  });
});

describe('losing the connection', () => {
  test('[E2E check 28] edits made offline are sent after the snapshot, under their first op ids, and end synchronized', async () => {
    const { roomId, al, bo } = await twoVisitors('offline', () => ({ list: new LiveList<string>(['a']), map: new LiveMap() }));
    const root = await rootOf(al);
    al.network.cut();
    await until('al has noticed', () => al.room.getStatus() === 'reconnecting');
    const firstActor = Number.parseInt(opsIn(al.network.sent).at(-1)?.opId ?? '', 10);
    root.get('list').push('offline');
    root.get('map').set('k', new LiveObject({ v: 1 }));
    root.set('title', 'offline');
    expect(al.room.getStorageStatus()).toBe('synchronizing');
    (await rootOf(bo)).get('list').push('online');
    await saved(bo);
    const sentBefore = al.network.sent.length;
    al.network.mend();
    await allRead(roomId, [al, bo], { list: ['a', 'online', 'offline'], map: { k: { v: 1 } }, title: 'offline' });
    const resent = opsIn(al.network.sent.slice(sentBefore));
    expect(resent.map(({ type }) => type)).toEqual([OP.createRegister, OP.createObject, OP.updateObject]);
    expect(resent.map(({ opId }) => Number.parseInt(opId, 10))).toEqual(resent.map(() => firstActor));
    expect(al.actor()).not.toBe(firstActor);
  });

  test('[E2E check 27] an op whose ack was lost is applied again when resent, and both read the same', async () => {
    const { roomId, al, bo } = await twoVisitors('lost-ack', () => ({ key: 'start' }));
    al.network.deafen();
    (await rootOf(al)).set('key', 'al');
    await until('it has reached the server', async () => ((await read(roomId)) as any).key === 'al');
    (await rootOf(bo)).set('key', 'bo');
    await saved(bo);
    expect(al.room.getStorageStatus()).toBe('synchronizing');
    al.network.mend();
    await allRead(roomId, [al, bo], { key: 'al' });
  });

  test('[E2E check 26] a list push whose ack was lost is there once after the client has come back', async () => {
    const { roomId, al, bo } = await twoVisitors('lost-push', () => ({ list: new LiveList<string>([]) }));
    al.network.deafen();
    (await rootOf(al)).get('list').push('once');
    await until('it has reached the server', async () => ((await read(roomId)) as any).list.length === 1);
    al.network.mend();
    await allRead(roomId, [al, bo], { list: ['once'] });
  });

  test.skipIf(isExternal)('[E2E-S4] after a restart of the server Storage is there, and clients that stayed go on', async () => {
    const { roomId, al, bo } = await twoVisitors('restart', () => ({
      list: new LiveList<string>(['before']),
      map: new LiveMap([['k', new LiveObject({ a: 1 })]]),
    }));
    await server.restart();
    (await rootOf(al)).get('list').push('after');
    (await rootOf(bo)).get('map').get('k').set('a', 2);
    await allRead(roomId, [al, bo], { list: ['before', 'after'], map: { k: { a: 2 } } });
  });
});

describe('the back end', () => {
  test('[E2E-S5] JSON Patch is seen live by clients, structures and all, and is applied whole or not at all', async () => {
    const { roomId, al, bo } = await twoVisitors('patch', () => ({
      list: new LiveList<any>(['a']),
      object: new LiveObject({ x: 1 }),
    }));
    const events = listen<any>(al.room.events.storageBatch);
    expect(
      (
        await patch(roomId, [
          { op: 'test', path: '/object/x', value: 1 },
          { op: 'add', path: '/list/-', value: { nested: [1] } },
          { op: 'add', path: '/list/0', value: 'first' },
          { op: 'replace', path: '/object/x', value: 2 },
          { op: 'copy', from: '/object', path: '/copied' },
          { op: 'move', from: '/list/1', path: '/moved' },
          { op: 'remove', path: '/list/0' },
        ])
      ).status,
    ).toBe(200);
    const expected = { list: [{ nested: [1] }], object: { x: 2 }, copied: { x: 2 }, moved: 'a' };
    await allRead(roomId, [al, bo], expected);
    expect(events.length).toBeGreaterThan(0);
    expect((await rootOf(al)).get('list').get(0)).toBeInstanceOf(LiveObject);

    const refused = await patch(roomId, [
      { op: 'remove', path: '/copied' },
      { op: 'test', path: '/object/x', value: 1 },
    ]);
    expect(refused).toMatchObject({ status: 422, json: { error: 'INVALID_STORAGE_MUTATION_REQUEST' } });
    (await rootOf(bo)).set('fence', 1);
    await allRead(roomId, [al, bo], { ...expected, fence: 1 });
  });

  test('[E2E-S6] initialising and deleting Storage makes clients come back to what is there now', async () => {
    const roomId = freshRoomId('initialise');
    const al = await enter(server, { roomId });
    await rootOf(al);
    const document = {
      liveblocksType: 'LiveObject' as const,
      data: { list: { liveblocksType: 'LiveList' as const, data: [1] } },
    };
    expect(await backend.initializeStorageDocument(roomId, document)).toEqual(document);
    await until('al was asked to come back', () => al.network.closeCodes.length === 1);
    expect(al.network.closeCodes).toEqual([4100]);
    await allRead(roomId, [al], { list: [1] });
    await expect(backend.initializeStorageDocument(roomId, document)).rejects.toMatchObject({ status: 409 });

    await backend.deleteStorageDocument(roomId);
    await until('al was asked again', () => al.network.closeCodes.length === 2);
    await allRead(roomId, [al], {});
    expect(al.errors).toEqual([]);
    await backend.initializeStorageDocument(roomId, document);
    await allRead(roomId, [al], { list: [1] });
  });

  test('[E2E check 39] mutateStorage of the back end reaches connected clients as changes of others', async () => {
    const { roomId, al, bo } = await twoVisitors('mutate', () => ({ list: new LiveList<any>(['a']), count: 1 }));
    await backend.mutateStorage(roomId, ({ root }: any) => {
      root.set('count', root.get('count') + 1);
      root.get('list').push(new LiveObject({ by: 'server' }));
      root.set('map', new LiveMap([['k', 'v']]));
    });
    await allRead(roomId, [al, bo], { list: ['a', { by: 'server' }], count: 2, map: { k: 'v' } });
    const created = opsIn(al.network.received).find(({ type, parentKey }) => type === OP.createMap && parentKey === 'map');
    expect(created).not.toHaveProperty('opId');
    expect([al.actor(), bo.actor()]).not.toContain(Number.parseInt(created!.id, 10));
    expect(al.network.received.some(({ type }) => type === CODE.rejected)).toBe(false);
  });

  test('[E2E check 39] request-storage-mutation answers NDJSON: a fresh actor, then every node', async () => {
    const { roomId } = await twoVisitors('ndjson', () => ({ a: 1, list: new LiveList(['x']) }));
    const once = async () => {
      const answer = await ask(server, roomPath(roomId, '/request-storage-mutation'), { json: {} });
      expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({
        status: 200,
        type: 'application/x-ndjson',
      });
      return answer.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    };
    const [first, ...nodes] = await once();
    expect(first).toEqual({ actor: expect.any(Number) });
    expect(nodes).toHaveLength(3);
    expect(nodes).toContainEqual(['root', { type: 0, data: { a: 1 } }]);
    const [list] = nodes.filter(([, { type }]) => type === 1);
    expect(list).toEqual([expect.any(String), { type: 1, parentId: 'root', parentKey: 'list' }]);
    expect(nodes).toContainEqual([expect.any(String), { type: 3, parentId: list[0], parentKey: expect.any(String), data: 'x' }]);
    expect((await once())[0].actor).not.toBe(first.actor);
  });

  test('[E2E-S8] the SDK reads all nodes as a list, without entering the room', async () => {
    const { roomId, al } = await twoVisitors('nodes', () => ({ a: 1, list: new LiveList(['x']) }));
    const { httpClient } = (al.client as any)[kInternal];
    const [root, list, item, ...more] = await httpClient.streamStorage({ roomId });
    expect(root).toEqual(['root', { type: 0, data: { a: 1 } }]);
    expect(list).toEqual([expect.any(String), { type: 1, parentId: 'root', parentKey: 'list' }]);
    expect(item).toEqual([expect.any(String), { type: 3, parentId: list[0], parentKey: expect.any(String), data: 'x' }]);
    expect(more).toEqual([]);
  });
});
