/** Who gets in: tokens from the back end's SDK, the public key, and what is refused, as a client's application sees it. */
import { Liveblocks } from '@liveblocks/node';
import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { CODE, OP } from '../support/e2e/messages.ts';
import { dial, enterRaw } from '../support/e2e/raw-client.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { connected, enter, rootOf, visit } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { accessTokenFor, forgedToken, idTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';

const OTHER_SECRET_KEY = 'sk_taken_while_keys_are_changed';
const server = await aServer({ OTHER_SECRET_KEY });
const { backend } = server;

describe('access tokens', () => {
  test('[E2E-T1] a client with a token from authorize-user enters, and the room is made by its entry', async () => {
    const roomId = freshRoomId('access');
    const { room } = await enter(server, {
      roomId,
      userId: 'al',
      userInfo: { name: 'Al' },
      permissions: { 'e2e:*': ['*:write'] },
    });
    expect(room.getSelf()).toMatchObject({ id: 'al', info: { name: 'Al' }, canWrite: true, canComment: true });
    expect((await backend.getRoom(roomId)).id).toBe(roomId);
  });

  test('[E2E-T1] a token that may only read makes a client that cannot write', async () => {
    const roomId = freshRoomId('read');
    const visitor = await enter(server, { roomId, permissions: { [roomId]: ['*:read', 'comments:write'] } });
    expect(visitor.room.getSelf()).toMatchObject({ canWrite: false, canComment: true });
    const root = await rootOf(visitor);
    expect(() => root.set('a', 1)).toThrow();
  });

  test('[E2E check 3] a token for other rooms is refused with 4001 after the upgrade, and the client stops with an error event', async () => {
    const roomId = freshRoomId('forbidden');
    const visitor = visit(server, { roomId, permissions: { 'elsewhere:*': ['*:write'] } });
    await until('the client has stopped', () => visitor.room.getStatus() === 'disconnected');
    expect(visitor.network.closeCodes).toEqual([4001]);
    expect(visitor.errors).toEqual([{ message: expect.stringContaining('no access'), code: 4001 }]);
  });

  test('[E2E check 3] a token signed with another key is refused with 4001, and the client stops', async () => {
    const token = () => forgedToken(server, { expiresInSeconds: 60, signedWith: 'sk_someone_elses_secret_key' });
    const visitor = visit(server, { roomId: freshRoomId('foreign'), token });
    await until('the client has stopped', () => visitor.room.getStatus() === 'disconnected');
    expect(visitor.errors.map(({ code }) => code)).toEqual([4001]);
  });

  test.skipIf(isExternal)(
    '[TK46] with the other secret key a token enters until it expires, and a back end is let in',
    async () => {
      const token = () => forgedToken(server, { expiresInSeconds: 10, signedWith: OTHER_SECRET_KEY });
      await enter(server, { roomId: freshRoomId('other'), token });
      expect((await ask(server, '/v2/rooms', { bearer: OTHER_SECRET_KEY })).status).toBe(200);
      expect((await ask(server, '/v2/rooms', { bearer: `${OTHER_SECRET_KEY}x` })).status).toBe(403);
      const late = () => forgedToken(server, { expiresInSeconds: -1, signedWith: OTHER_SECRET_KEY });
      const client = await dial(server, { roomId: freshRoomId('late'), token: await late() });
      expect((await client.closed).code).toBe(4109);
    },
  );

  test.each([
    ['text that is no token', 'nonsense'],
    ['three parts of nothing', '..'],
    [
      'an unsigned token',
      `${base64({ alg: 'none', typ: 'JWT' })}.${base64({ k: 'acc', uid: 'x', perms: { '*': ['*:write'] } })}.`,
    ],
    ['a token of 12,000 characters', 'x'.repeat(12_000)],
    ['the empty text', ''],
  ])('[E2E check 3] %s closes with 4001 and a reason', async (_, token) => {
    const client = await dial(server, { roomId: freshRoomId('malformed'), token });
    expect(await client.closed).toEqual({ code: 4001, reason: expect.stringMatching(/\w/) });
  });

  test('[E2E check 3] a token of the right form, signed with the secret key itself, closes with 4001', async () => {
    const claims = { k: 'acc', uid: 'x', pid: 'atrium', perms: { '*': ['*:write'] } };
    const key = new TextEncoder().encode(server.secretKey);
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key);
    const client = await dial(server, { roomId: freshRoomId('own-key'), token });
    expect((await client.closed).code).toBe(4001);
  });

  test('[E2E-T2] two tokens for the same user and room are never the same text', async () => {
    const [one, two] = await Promise.all([accessTokenFor(server, { userId: 'al' }), accessTokenFor(server, { userId: 'al' })]);
    expect(one).not.toBe(two);
  });
});

describe('expiry', () => {
  test('[E2E check 4] a token past its time closes with 4109, and the client comes back with a new one', async () => {
    const tokens = [() => forgedToken(server, { expiresInSeconds: -1 }), () => accessTokenFor(server, { userId: 'al' })];
    const visitor = visit(server, { roomId: freshRoomId('expired'), token: () => tokens.shift()!() });
    await connected(visitor);
    expect(visitor.network.closeCodes).toEqual([4109]);
    expect(visitor.tokensAsked()).toBe(2);
    expect(visitor.errors).toEqual([]);
  });

  test('[E2E check 4] a token that runs out while connected closes with 4109 then, and not before', async () => {
    const tokens = [() => forgedToken(server, { expiresInSeconds: 2 }), () => accessTokenFor(server, { userId: 'al' })];
    const expiresAtMs = Math.floor(Date.now() / 1_000) * 1_000 + 2_000;
    const visitor = visit(server, { roomId: freshRoomId('expiring'), token: () => tokens.shift()!() });
    await connected(visitor);
    expect(visitor.network.closeCodes).toEqual([]);
    await until('the server closed', () => visitor.network.closeCodes.length > 0);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs);
    expect(visitor.network.closeCodes).toEqual([4109]);
    await until('the client is back', () => visitor.tokensAsked() === 2 && visitor.room.getStatus() === 'connected');
  });
});

describe('ID tokens', () => {
  test('[E2E-T3] what an ID token may do is read from the room, by default, group and user', async () => {
    const roomId = freshRoomId('id');
    await backend.createRoom(roomId, {
      defaultAccesses: ['*:read'],
      groupsAccesses: { editors: ['*:write'] },
      usersAccesses: { banned: ['*:read', 'storage:none'] as never },
    });
    const as = async (userId: string, groupIds: string[] = []) => {
      const client = await enterRaw(server, { roomId, token: await idTokenFor(server, { userId, groupIds }) });
      return (JSON.parse(client.texts[0]!) as { scopes: string[] }).scopes;
    };
    expect(await as('anyone')).toEqual(['*:read']);
    expect(await as('ed', ['editors'])).toEqual(['*:write']);
    expect(await as('banned', ['editors'])).toEqual(['*:read', 'storage:none']);
  });

  test('[E2E-T3] an ID token opens no room without access for it, and none that does not exist', async () => {
    const roomId = freshRoomId('private');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const token = await idTokenFor(server, { userId: 'al' });
    for (const id of [roomId, freshRoomId('missing')]) {
      expect((await (await dial(server, { roomId: id, token })).closed).code).toBe(4001);
    }
  });

  test('[E2E-T3] the accesses are read anew at each entry', async () => {
    const roomId = freshRoomId('changing');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const token = await idTokenFor(server, { userId: 'al' });
    await backend.updateRoom(roomId, { usersAccesses: { al: ['*:write'] } });
    const { room } = await enter(server, { roomId, token: async () => token });
    expect(room.getSelf()).toMatchObject({ id: 'al' });
    await backend.updateRoom(roomId, { usersAccesses: { al: null } });
    expect((await (await dial(server, { roomId, token })).closed).code).toBe(4001);
  });
});

describe('changed accesses', () => {
  test('[E2E-T7] who loses access to a room is sent away at once; who keeps it stays', async () => {
    const roomId = freshRoomId('revoked');
    await backend.createRoom(roomId, { defaultAccesses: [], usersAccesses: { al: ['*:write'], bo: ['*:write'] } });
    const [al, bo] = await Promise.all(
      ['al', 'bo'].map((userId) => enter(server, { roomId, token: () => idTokenFor(server, { userId }) })),
    );
    await backend.updateRoom(roomId, { usersAccesses: { al: null } });
    await until('al has been stopped', () => al!.room.getStatus() === 'disconnected');
    expect(al!.network.closeCodes).toEqual([4001]);
    await until('bo sees it gone', () => bo!.room.getOthers().length === 0);
    expect(bo!.network.closeCodes).toEqual([]);
  });

  test('[E2E-T7] who may only read from now on, can write nothing more on the connection that is open', async () => {
    const roomId = freshRoomId('demoted');
    await backend.createRoom(roomId, { defaultAccesses: ['*:write'] });
    const client = await enterRaw(server, { roomId, token: await idTokenFor(server, { userId: 'al' }) });
    await client.fetchStorage();
    client.sendOps({ type: OP.updateObject, id: 'root', data: { before: 1 } });
    await client.takeOps(1);
    await backend.updateRoom(roomId, { defaultAccesses: ['*:read'] });
    const isTold = () => {
      const since = client.inbox.findIndex(({ type, scopes }) => type === CODE.roomState && scopes[0] === '*:read');
      return since >= 0 && client.inbox.slice(since).some(({ type }) => type === CODE.storageEnd);
    };
    await until('it is told so, and has Storage again', isTold);
    client.sendOps({ type: OP.updateObject, id: 'root', data: { after: 1 } });
    await until('that is refused', () => client.inbox.some(({ type }) => type === CODE.rejected));
    const told = client.inbox.slice(client.inbox.findLastIndex(({ type }) => type === CODE.storageOps));
    expect(told).toMatchObject([
      { ops: [{ data: { after: 1 } }, { type: OP.deleteObjectKey, id: 'root', key: 'after' }] },
      { type: CODE.rejected },
    ]);
  });
});

describe('changed accesses and the SDK client', () => {
  const enterAs = (userId: string, roomId: string) => enter(server, { roomId, token: () => idTokenFor(server, { userId }) });

  test('[E2E-T8] an editor who may only read from now on knows it and follows; made an editor again, it writes', async () => {
    const roomId = freshRoomId('demoted');
    await backend.createRoom(roomId, { defaultAccesses: ['*:read'], usersAccesses: { al: ['*:write'], bo: ['*:write'] } });
    const [al, bo] = await Promise.all([enterAs('al', roomId), enterAs('bo', roomId)]);
    const [ofAl, ofBo] = await Promise.all([rootOf(al), rootOf(bo)]);
    ofAl.set('title', 'first');
    await until('bo has it', () => ofBo.get('title') === 'first');
    await backend.updateRoom(roomId, { usersAccesses: { al: null } });
    await until('al knows', () => al.room.getSelf()?.canWrite === false);
    expect(() => ofAl.set('title', 'late')).toThrow();
    await until('bo knows', () => bo.room.getOthers()[0]?.canWrite === false);
    ofBo.set('title', 'second');
    await until('al still follows', () => ofAl.get('title') === 'second');
    await backend.updateRoom(roomId, { usersAccesses: { al: ['*:write'] } });
    await until('al knows', () => al.room.getSelf()?.canWrite === true);
    ofAl.set('title', 'third');
    await until('bo has it', () => ofBo.get('title') === 'third');
    expect([al.network.closeCodes, bo.network.closeCodes]).toEqual([[], []]);
  });

  test('[E2E-T8] who may not read Storage stays in the room, and has it as soon as it may', async () => {
    const roomId = freshRoomId('without');
    await backend.createRoom(roomId, { defaultAccesses: ['*:write'], usersAccesses: { al: ['*:write', 'storage:none'] } });
    await backend.initializeStorageDocument(roomId, { liveblocksType: 'LiveObject', data: { a: 1 } });
    const [al, bo] = await Promise.all([enterAs('al', roomId), enterAs('bo', roomId)]);
    const storage = rootOf(al);
    let hasCome = false;
    void storage.then(() => (hasCome = true));
    bo.room.updatePresence({ x: 1 });
    await until('al sees bo', () => al.room.getOthers()[0]?.presence.x === 1);
    expect([hasCome, al.network.closeCodes]).toEqual([false, []]);
    await backend.updateRoom(roomId, { usersAccesses: { al: null } });
    expect((await storage).get('a')).toBe(1);
  });
});

describe('organisations', () => {
  test('[E2E-T4] a token of another organisation finds no room, whatever it permits', async () => {
    const roomId = freshRoomId('org');
    await backend.createRoom(roomId, { defaultAccesses: ['*:write'], organizationId: 'acme' });
    for (const token of [
      await accessTokenFor(server, { userId: 'al', organizationId: 'other' }),
      await accessTokenFor(server, { userId: 'al' }),
      await idTokenFor(server, { userId: 'al', organizationId: 'other' }),
    ]) {
      const { code, reason } = await (await dial(server, { roomId, token })).closed;
      expect({ code, reason }).toEqual({ code: 4001, reason: expect.stringContaining('does not exist') });
    }
    await enterRaw(server, { roomId, userId: 'al', organizationId: 'acme' });
  });
});

describe('the public key', () => {
  test('[E2E-T5] it opens a room whose default access writes, for a user without a name', async () => {
    const roomId = freshRoomId('public');
    await backend.createRoom(roomId, { defaultAccesses: ['*:write'] });
    const { room } = await enter(server, { roomId, publicKey: server.publicKey });
    expect(room.getSelf()?.id).toBeUndefined();
    expect([room.getSelf()?.canWrite, room.getSelf()?.canComment]).toEqual([true, false]);
    const { data } = await backend.getActiveUsers(roomId);
    expect(data).toEqual([{ type: 'user', id: null, connectionId: room.getSelf()!.connectionId, info: {} }]);
  });

  test('[E2E-T5] it opens neither a private room nor, when it is not ours, a public one', async () => {
    const [open, closed] = [freshRoomId('open'), freshRoomId('closed')];
    await backend.createRoom(open, { defaultAccesses: ['*:write'] });
    await backend.createRoom(closed, { defaultAccesses: [] });
    expect((await (await dial(server, { roomId: closed, publicKey: server.publicKey })).closed).code).toBe(4001);
    expect((await (await dial(server, { roomId: open, publicKey: 'pk_not_the_right_one' })).closed).code).toBe(4001);
  });
});

describe('the secret key', () => {
  test.each([
    ['no key', null, 401, 'MISSING_SECRET_KEY'],
    ['the public key', server.publicKey, 401, 'WRONG_KEY_USED'],
    ['another secret key', 'sk_not_the_right_one', 403, 'INVALID_SECRET_KEY'],
  ])('[E2E-T6] %s is answered by its own code', async (_, bearer, status, error) => {
    for (const path of ['/v2/authorize-user', roomPath('any', '/upsert')]) {
      const answer = await ask(server, path, { json: {}, bearer });
      expect({ status: answer.status, error: answer.json.error, docs: answer.json.docs }).toEqual({ status, error, docs: '' });
    }
  });

  test('[E2E-T6] the SDK of the back end passes the refusal on', async () => {
    const stranger = new Liveblocks({ secret: 'sk_not_the_right_one', baseUrl: server.url });
    expect((await stranger.prepareSession('al').allow('*', ['*:write']).authorize()).status).toBe(403);
    await expect(stranger.getRooms()).rejects.toMatchObject({ status: 403 });
  });
});

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
