/** Every room method of the back end's SDK, and what connected clients see of each. */
import type { RoomData } from '@liveblocks/node';
import { describe, expect, test } from 'vitest';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { enter, listen } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { backend } = server;

describe('createRoom, getRoom, getOrCreateRoom', () => {
  test('[E2E-R1] a room is read as it was created', async () => {
    const roomId = freshRoomId('create/ü b');
    const created = await backend.createRoom(roomId, {
      defaultAccesses: ['*:read', 'comments:write'] as never,
      usersAccesses: { al: ['*:write'] },
      groupsAccesses: { g1: ['*:read'] },
      metadata: { color: 'red', tags: ['a', 'b'] },
    });
    expect(created).toEqual({
      type: 'room',
      id: roomId,
      createdAt: expect.any(Date),
      organizationId: 'default',
      defaultAccesses: ['*:read', 'comments:write'],
      usersAccesses: { al: ['*:write'] },
      groupsAccesses: { g1: ['*:read'] },
      metadata: { color: 'red', tags: ['a', 'b'] },
    });
    expect(await backend.getRoom(roomId)).toEqual(created);
  });

  test('[E2E-R1] lastConnectionAt is there once somebody has entered', async () => {
    const roomId = freshRoomId('seen');
    const beforeMs = Date.now();
    await backend.createRoom(roomId, { defaultAccesses: [] });
    await enter(server, { roomId });
    const seen = await until('the entry is noted', async () => (await backend.getRoom(roomId)).lastConnectionAt);
    expect(seen.getTime()).toBeGreaterThanOrEqual(beforeMs);
  });

  test('[E2E-R2] a second create is a conflict, unless it is idempotent: then the first room comes back unchanged', async () => {
    const roomId = freshRoomId('twice');
    const first = await backend.createRoom(roomId, { defaultAccesses: ['*:write'], metadata: { a: '1' } });
    await expect(backend.createRoom(roomId, { defaultAccesses: [] })).rejects.toMatchObject({ status: 409 });
    expect(await backend.getOrCreateRoom(roomId, { defaultAccesses: [], metadata: { a: '2' } })).toEqual(first);
    const fresh = freshRoomId('or-create');
    expect((await backend.getOrCreateRoom(fresh, { defaultAccesses: [] })).id).toBe(fresh);
  });

  test('[E2E-R11] a room that does not exist is 404 for every method that needs one', async () => {
    const roomId = freshRoomId('missing');
    const update = new Uint8Array([0, 0]);
    for (const call of [
      () => backend.getRoom(roomId),
      () => backend.updateRoom(roomId, { metadata: {} }),
      () => backend.updateRoomId({ currentRoomId: roomId, newRoomId: freshRoomId('new') }),
      () => backend.prewarmRoom(roomId),
      () => backend.getActiveUsers(roomId),
      () => backend.broadcastEvent(roomId, { a: 1 } as never),
      () => backend.setPresence(roomId, { userId: 'al', data: {}, userInfo: {} }),
      () => backend.getStorageDocument(roomId),
      () => backend.initializeStorageDocument(roomId, { liveblocksType: 'LiveObject', data: {} }),
      () => backend.deleteStorageDocument(roomId),
      () => backend.mutateStorage(roomId, () => undefined),
      () => backend.getYjsDocument(roomId),
      () => backend.getYjsDocumentAsBinaryUpdate(roomId),
      () => backend.sendYjsBinaryUpdate(roomId, update),
    ]) {
      await expect(call(), call.toString()).rejects.toMatchObject({
        status: 404,
        message: expect.stringContaining('does not exist'),
      });
    }
  });
});

describe('updateRoom, upsertRoom', () => {
  test('[E2E-R3] null deletes, what is not named stays', async () => {
    const roomId = freshRoomId('update');
    await backend.createRoom(roomId, {
      defaultAccesses: ['*:write'],
      usersAccesses: { al: ['*:write'], bo: ['*:read'] },
      groupsAccesses: { g: ['*:read'] },
      metadata: { keep: 'k', drop: 'd' },
    });
    const updated = await backend.updateRoom(roomId, {
      usersAccesses: { al: null, cy: ['*:read'] },
      metadata: { drop: null, add: ['x'] },
    });
    expect(updated).toMatchObject({
      defaultAccesses: ['*:write'],
      usersAccesses: { bo: ['*:read'], cy: ['*:read'] },
      groupsAccesses: { g: ['*:read'] },
      metadata: { keep: 'k', add: ['x'] },
    });
    expect(Object.keys(updated.metadata)).not.toContain('drop');
    expect((await backend.updateRoom(roomId, { defaultAccesses: null })).defaultAccesses).toEqual([]);
  });

  test('[E2E-R3] upsert creates with both parts, then updates with the one', async () => {
    const roomId = freshRoomId('upsert');
    const request = (value: string) => ({
      update: { metadata: { value } },
      create: { defaultAccesses: ['*:write'] as ['*:write'] },
    });
    expect(await backend.upsertRoom(roomId, request('1'))).toMatchObject({
      defaultAccesses: ['*:write'],
      metadata: { value: '1' },
    });
    await backend.updateRoom(roomId, { defaultAccesses: [] });
    expect(await backend.upsertRoom(roomId, request('2'))).toMatchObject({ defaultAccesses: [], metadata: { value: '2' } });
  });
});

describe('getRooms, iterRooms', () => {
  test('[E2E-R4] rooms are listed newest first, in pages, and found by query', async () => {
    const prefix = freshRoomId('list');
    for (let number = 1; number <= 23; number += 1) {
      await backend.createRoom(`${prefix}:${number}`, { defaultAccesses: [], metadata: { rest: String(number % 10) } });
    }
    const query = { roomId: { startsWith: prefix } };
    const numbers = (rooms: readonly RoomData[]) => rooms.map(({ id }) => Number(id.slice(prefix.length + 1)));

    const page = await backend.getRooms({ query, limit: 3 });
    expect(numbers(page.data)).toEqual([23, 22, 21]);
    const next = await backend.getRooms({ query, limit: 20, startingAfter: page.nextCursor! });
    expect(numbers(next.data)).toEqual(countdown(20));
    expect(next.nextCursor).toBeNull();

    const some = await backend.getRooms({ query: { ...query, metadata: { rest: '3' } } });
    expect(numbers(some.data)).toEqual([23, 13, 3]);

    const all: RoomData[] = [];
    for await (const room of backend.iterRooms({ query }, { pageSize: 20 })) all.push(room);
    expect(numbers(all)).toEqual(countdown(23));
  });

  test('[E2E-R4] rooms are found by who may enter them, and by organisation', async () => {
    const prefix = freshRoomId('access-list');
    await backend.createRoom(`${prefix}:al`, { defaultAccesses: [], usersAccesses: { [prefix]: ['*:write'] } });
    await backend.createRoom(`${prefix}:group`, { defaultAccesses: [], groupsAccesses: { [`g-${prefix}`]: ['*:read'] } });
    await backend.createRoom(`${prefix}:org`, { defaultAccesses: [], organizationId: 'acme' });
    const ids = async (criteria: object) => {
      const { data } = await backend.getRooms({ query: { roomId: { startsWith: prefix } }, ...criteria });
      return data.map(({ id }) => id.slice(prefix.length + 1)).sort();
    };
    expect(await ids({ userId: prefix })).toEqual(['al']);
    expect(await ids({ groupIds: [`g-${prefix}`] })).toEqual(['group']);
    expect(await ids({ userId: prefix, groupIds: [`g-${prefix}`] })).toEqual(['al', 'group']);
    expect(await ids({ organizationId: 'acme' })).toEqual(['org']);
  });

  test('[E2E-R4] a query that does not parse is refused with the column where it breaks', async () => {
    const answer = await ask(server, `/v2/rooms?query=${encodeURIComponent('roomId^"a" AND metadata[')}`);
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ error: 'UNPROCESSABLE_ENTITY', message: expect.stringMatching(/column \d+/) });
  });
});

describe('deleteRoom, updateRoomId, prewarmRoom', () => {
  test('[E2E-R5] deleting a room sends its clients away for good and forgets all it held', async () => {
    const roomId = freshRoomId('delete');
    const visitor = await enter(server, { roomId, initialStorage: () => ({ a: 1 }) });
    await visitor.room.getStorage();
    await backend.deleteRoom(roomId);
    await until('the client has stopped', () => visitor.room.getStatus() === 'disconnected');
    expect(visitor.network.closeCodes).toEqual([4001]);
    await expect(backend.getRoom(roomId)).rejects.toMatchObject({ status: 404 });
    await backend.createRoom(roomId, { defaultAccesses: [] });
    expect(await backend.getStorageDocument(roomId, 'json')).toEqual({});
  });

  test('[E2E-R5] deleting what is not there is no error', async () => {
    await backend.deleteRoom(freshRoomId('never'));
  });

  test('[E2E-R6] a new room ID keeps everything, and tells connected clients with 4006', async () => {
    const [from, to] = [freshRoomId('from'), freshRoomId('to')];
    const visitor = await enter(server, { roomId: from });
    const { root } = await visitor.room.getStorage();
    root.set('title', 'kept');
    await until('it is saved', () => visitor.room.getStorageStatus() === 'synchronized');

    const renamed = await backend.updateRoomId({ currentRoomId: from, newRoomId: to });
    expect(renamed.id).toBe(to);
    await until('the client has stopped', () => visitor.room.getStatus() === 'disconnected');
    expect(visitor.errors).toEqual([{ message: to, code: 4006 }]);
    expect(await backend.getStorageDocument(to, 'json')).toEqual({ title: 'kept' });
    await expect(backend.getRoom(from)).rejects.toMatchObject({ status: 404 });
  });

  test('[E2E-R6] a room ID that is taken is a conflict, and both rooms stay', async () => {
    const [one, two] = [freshRoomId('one'), freshRoomId('two')];
    await backend.createRoom(one, { defaultAccesses: [] });
    await backend.createRoom(two, { defaultAccesses: [] });
    await expect(backend.updateRoomId({ currentRoomId: one, newRoomId: two })).rejects.toMatchObject({ status: 409 });
    expect([(await backend.getRoom(one)).id, (await backend.getRoom(two)).id]).toEqual([one, two]);
  });

  test('[E2E-R7] prewarming answers and changes nothing', async () => {
    const roomId = freshRoomId('prewarm');
    const before = await backend.createRoom(roomId, { defaultAccesses: [] });
    await backend.prewarmRoom(roomId);
    expect(await backend.getRoom(roomId)).toEqual(before);
  });

  test('[E2E-R8] a room moves to another organisation when the current one is named', async () => {
    const roomId = freshRoomId('move');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const move = (fromOrganizationId: string) =>
      ask(server, roomPath(roomId, '/update-organization-id'), { json: { fromOrganizationId, toOrganizationId: 'acme' } });
    expect((await move('wrong')).status).toBe(422);
    expect((await move('default')).json).toMatchObject({ id: roomId, organizationId: 'acme' });
  });
});

describe('getActiveUsers, broadcastEvent, setPresence', () => {
  test('[E2E-R9] every connection is an active user, and is none when it has left', async () => {
    const roomId = freshRoomId('active');
    const al = await enter(server, { roomId, userId: 'al', userInfo: { name: 'Al' } });
    const bo = await enter(server, { roomId, userId: 'bo' });
    const users = async () => (await backend.getActiveUsers(roomId)).data;
    expect(await users()).toEqual([
      { type: 'user', id: 'al', connectionId: al.actor(), info: { name: 'Al' } },
      { type: 'user', id: 'bo', connectionId: bo.actor(), info: {} },
    ]);
    bo.leave();
    await until('the one who left is gone', async () => (await users()).length === 1);
    expect((await ask(server, roomPath(roomId, '/active_users'))).json.data).toEqual(await users());
  });

  test('[E2E check 12] an event broadcast over REST reaches everybody, from connection -1 and no user', async () => {
    const roomId = freshRoomId('broadcast');
    const [al, bo] = [await enter(server, { roomId, userId: 'al' }), await enter(server, { roomId, userId: 'bo' })];
    const heard = [listen<any>(al.room.events.customEvent), listen<any>(bo.room.events.customEvent)];
    await backend.broadcastEvent(roomId, { type: 'ring', times: 2 } as never);
    expect((await ask(server, roomPath(roomId, '/broadcast_event'), { json: 'a string too' })).status).toBe(204);
    for (const events of heard) {
      await until('both events are here', () => events.length === 2);
      expect(events).toEqual([
        { connectionId: -1, user: null, event: { type: 'ring', times: 2 } },
        { connectionId: -1, user: null, event: 'a string too' },
      ]);
    }
  });

  test('[E2E-R10] a presence set over REST is seen by those who are here and who come, until its time is up', async () => {
    const roomId = freshRoomId('presence');
    const al = await enter(server, { roomId, userId: 'al' });
    await backend.setPresence(roomId, { userId: 'bot', data: { busy: true }, userInfo: { name: 'Bot' }, ttl: 2 });
    const bo = await enter(server, { roomId, userId: 'bo' });
    const bot = { id: 'bot', info: { name: 'Bot' }, presence: { busy: true } };
    for (const { room } of [al, bo]) {
      await until('the bot is seen', () => room.getOthers().some(({ id }) => id === 'bot'));
      expect(room.getOthers().find(({ id }) => id === 'bot')).toMatchObject(bot);
    }
    expect((await backend.getActiveUsers(roomId)).data.map(({ id }) => id)).toEqual(['al', 'bot', 'bo']);

    await backend.setPresence(roomId, { userId: 'bot', data: { busy: false }, userInfo: { name: 'Bot' }, ttl: 2 });
    await until('the new data has replaced the old', () => al.room.getOthers().some(({ presence }) => presence.busy === false));
    expect(al.room.getOthers().filter(({ id }) => id === 'bot')).toHaveLength(1);
    await until('the bot is gone', () => al.room.getOthers().every(({ id }) => id !== 'bot'));
  });
});

function countdown(from: number): number[] {
  return Array.from({ length: from }, (_, index) => from - index);
}
