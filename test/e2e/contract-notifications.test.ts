/** Notifications, settings and groups, row by row, over HTTP; and the routes of the SDK beside them. @see contract.test.ts */
import { describe, expect, test } from 'vitest';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { type Ask, ask } from '../support/e2e/rest.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);

const aUser = (name = 'user') => freshRoomId(name).replace('e2e:', '');
const of = (userId: string, rest = '') => `/users/${encodeURIComponent(userId)}${rest}`;
const inbox = (userId: string, query = '') => call(`GET ${of(userId, '/inbox-notifications')}${query}`);
const TRIGGER = { kind: '$ring', subjectId: 's', activityData: { n: 1 } };
const trigger = (json: object) => call('POST /inbox-notifications/trigger', { json: { ...TRIGGER, ...json } });
async function aNotification(userId: string, json: object = {}): Promise<any> {
  expect(await trigger({ userId, ...json })).toEqual(nothing(200));
  return (await inbox(userId)).json.data[0];
}
const mentioning = (userId: string) => ({
  version: 1,
  content: [{ type: 'paragraph', children: [{ type: 'mention', kind: 'user', id: userId }] }],
});
async function aThread(roomId: string, userId: string): Promise<string> {
  const { json } = await call(`POST ${at(roomId)}/threads`, { json: { comment: { userId: 'ann', body: mentioning(userId) } } });
  await until('it is told', async () => (await inbox(userId)).json.data.some(({ threadId }: any) => threadId === json.id));
  return json.id;
}
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const IN_ID = expect.stringMatching(/^in_[\w-]{21}$/);
const as = async (userId: string, methodAndPath: string, more: Ask = {}) => {
  const [method = '', path = ''] = methodAndPath.split(' ');
  return ask(server, `/v2/c${path}`, { method, bearer: await accessTokenFor(server, { userId }), ...more });
};

describe('inbox notifications', () => {
  test('[contract: POST /inbox-notifications/trigger] 200 without a body; the kind begins with a dollar (row 111)', async () => {
    const userId = aUser();
    expect(await trigger({ userId, kind: `$${'a'.repeat(128)}` })).toEqual(nothing(200));
    for (const kind of ['ring', '$', '$ring1', `$${'a'.repeat(129)}`, '$a b'])
      expectMalformed(await trigger({ userId, kind }), "'kind'");
    for (const key of ['userId', 'kind', 'subjectId', 'activityData'])
      expectMalformed(await trigger({ userId, [key]: undefined }), `Missing key '${key}'`);
    expect(await trigger({ userId, unknown: 'is ignored' })).toEqual(nothing(200)); // an open body
  });

  test('[contract: POST /inbox-notifications/trigger] activity data are scalars within their limits (row 112)', async () => {
    const userId = aUser();
    const data = (activityData: unknown) => trigger({ userId, activityData });
    for (const wrong of [{ a: { b: 1 } }, { a: null }, { a: [1] }, [], 'text', null])
      expectMalformed(await data(wrong), "'activityData");
    const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
    expect(await data(entries(50))).toEqual(nothing(200));
    expectMalformed(await data(entries(51)), "'activityData' may have at most 50 entries");
    expect(await data({ ['k'.repeat(128)]: 'x'.repeat(4_000) })).toEqual(nothing(200));
    expectMalformed(await data({ ['k'.repeat(129)]: 1 }), '1 to 128 characters');
    expectMalformed(await data({ a: 'x'.repeat(4_001) }), "'activityData.a' must have at most 4000 characters");
    expect(await trigger({ userId, subjectId: 's'.repeat(256) })).toEqual(nothing(200));
    expectMalformed(await trigger({ userId, subjectId: 's'.repeat(257) }), "'subjectId' must have 1 to 256 characters");
    expectMalformed(await trigger({ userId: 'u'.repeat(129) }), "'userId' must have 1 to 128 characters");
  });

  test('[contract: POST /inbox-notifications/trigger] a room that is not there is 404 (row 113)', async () => {
    const [userId, roomId] = [aUser(), freshRoomId('none')];
    expect(refusal(await trigger({ userId, roomId }))).toBe(`404 ROOM_NOT_FOUND The room "${roomId}" does not exist.`);
    const elsewhere = await aRoom({ organizationId: 'acme' });
    expect(refusal(await trigger({ userId, roomId: elsewhere, organizationId: 'default' }))).toMatch(/^404 ROOM_NOT_FOUND/);
    expectMalformed(await trigger({ userId, roomId: 'a*' }), "'roomId'");
    expect((await inbox(userId)).json.data).toEqual([]);
  });

  test('[contract: POST /inbox-notifications/trigger] once under an Idempotency-Key', async () => {
    const userId = aUser();
    const json = { userId, ...TRIGGER };
    const key = freshRoomId('key');
    for (let n = 0; n < 2; n += 1) expect(await call('POST /inbox-notifications/trigger', { json, key })).toEqual(nothing(200));
    expect((await inbox(userId)).json.data).toHaveLength(1);
  });

  test('[contract: GET /users/{userId}/inbox-notifications/{inboxNotificationId}] 200 with the keys of its kind', async () => {
    const userId = aUser();
    const roomId = await aRoom();
    const threadId = await aThread(roomId, userId);
    const [ofThread] = (await inbox(userId)).json.data;
    expect(ofThread).toEqual({
      kind: 'thread',
      id: IN_ID,
      notifiedAt: ISO,
      readAt: null,
      roomId,
      threadId,
      organizationId: 'default',
    });
    const custom = await aNotification(userId);
    expect(custom).toEqual({
      ...{ kind: '$ring', id: IN_ID, notifiedAt: ISO, readAt: null, subjectId: 's', roomId: null },
      activities: [{ id: expect.stringMatching(/^act_/), createdAt: custom.notifiedAt, data: { n: 1 } }],
    });
    const get = (id: string, user = userId) => call(`GET ${of(user, `/inbox-notifications/${id}`)}`);
    expect([(await get(custom.id)).json, (await get(ofThread.id)).json]).toEqual([custom, ofThread]);
    expect(refusal(await get('in_none'))).toBe('404 RESOURCE_NOT_FOUND The inbox notification "in_none" does not exist.');
    expect(refusal(await get('%00'))).toMatch(/^404 RESOURCE_NOT_FOUND/);
    expect(refusal(await get(custom.id, aUser()))).toMatch(/^404 RESOURCE_NOT_FOUND/);
    expectMalformed(await get(custom.id, 'u'.repeat(129)), "'userId'");
  });

  test('[contract: GET /users/{userId}/inboxNotifications/{inboxNotificationId}] the older path and shape: the latest activity`s data besides', async () => {
    const userId = aUser();
    const roomId = await aRoom();
    const custom = await aNotification(userId, { roomId });
    const older = (id: string) => call(`GET ${of(userId, `/inboxNotifications/${id}`)}`);
    expect((await older(custom.id)).json).toEqual({ ...custom, activityData: { n: 1 } });
    const threadId = await aThread(roomId, userId);
    const [ofThread] = (await inbox(userId)).json.data;
    expect((await older(ofThread.id)).json).toEqual(ofThread);
    expect(ofThread.threadId).toBe(threadId);
    expect(refusal(await older('in_none'))).toMatch(/^404 RESOURCE_NOT_FOUND/);
  });

  test('[contract: GET /users/{userId}/inbox-notifications] 200 in pages, the latest first, filtered; both sides of its limits', async () => {
    const userId = aUser();
    const made = [await aNotification(userId), await aNotification(userId), await aNotification(userId)].reverse();
    expect((await inbox(userId)).json).toEqual({ nextCursor: null, data: made });
    const first = (await inbox(userId, '?limit=2')).json;
    expect([first.data, first.nextCursor]).toEqual([made.slice(0, 2), expect.any(String)]);
    const last = (await inbox(userId, `?limit=2&startingAfter=${first.nextCursor}`)).json;
    expect(last).toEqual({ nextCursor: null, data: made.slice(2) });
    for (const limit of ['1', '50']) expect((await inbox(userId, `?limit=${limit}`)).status).toBe(200);
    for (const limit of ['0', '51', 'abc', '1.5', '']) expectMalformed(await inbox(userId, `?limit=${limit}`), "'limit'");
    for (const cursor of ['x', '', Buffer.from('["groups",1,1]').toString('base64url')])
      expectMalformed(await inbox(userId, `?startingAfter=${cursor}`), "'startingAfter' is not a cursor of this list");
    for (const [user, more] of [
      [aUser(), ''],
      [userId, '&query=unread:true'],
      [userId, '&organizationId=acme'],
    ] as const)
      expectMalformed(
        await inbox(user, `?startingAfter=${first.nextCursor}${more}`),
        "'startingAfter' is not a cursor of this list",
      );
    await call(`POST /inbox-notifications/${made[0].id}/read`);
    const unread = async (query: string) =>
      (await inbox(userId, `?query=${encodeURIComponent(query)}`)).json.data.map(({ id }: any) => id);
    expect(await unread('unread:true')).toEqual([made[1].id, made[2].id]);
    expect(await unread('unread:false')).toEqual([made[0].id]);
    expect(await unread('')).toHaveLength(3);
    for (const query of ['unread:1', 'unread', 'kind:"$ring"', 'unread:true OR unread:false'])
      expectMalformed(await inbox(userId, `?query=${encodeURIComponent(query)}`), "'query'");
    expect((await inbox(userId, '?organizationId=default')).json.data).toHaveLength(3);
    expect((await inbox(userId, '?organizationId=acme')).json.data).toEqual([]);
    expectMalformed(await inbox(userId, '?organizationId='), "'organizationId'");
  });

  test('[contract: POST /inbox-notifications/{inboxNotificationId}/read] 200, again the same; unknown is 404 (row 115)', async () => {
    const userId = aUser();
    const { id } = await aNotification(userId);
    const read = () => call(`POST /inbox-notifications/${id}/read`);
    expect(await read()).toEqual(nothing(200));
    const { readAt } = (await inbox(userId)).json.data[0];
    expect(readAt).toEqual(ISO);
    expect(await read()).toEqual(nothing(200));
    expect((await inbox(userId)).json.data[0].readAt).toBe(readAt);
    for (const unknown of ['in_none', 'x', 'trigger'])
      expect(refusal(await call(`POST /inbox-notifications/${unknown}/read`))).toMatch(/^404 RESOURCE_NOT_FOUND/);
  });

  test('[contract: DELETE /users/{userId}/inbox-notifications/{inboxNotificationId}] 204, then 404', async () => {
    const userId = aUser();
    const [one, two] = [await aNotification(userId), await aNotification(userId)];
    const remove = (user = userId) => call(`DELETE ${of(user, `/inbox-notifications/${one.id}`)}`);
    expect(refusal(await remove(aUser()))).toMatch(/^404 RESOURCE_NOT_FOUND/);
    expect(await remove()).toEqual(nothing(204));
    expect(refusal(await remove())).toMatch(/^404 RESOURCE_NOT_FOUND/);
    expect((await inbox(userId)).json.data).toEqual([two]);
  });

  test('[contract: DELETE /users/{userId}/inbox-notifications] 204, of one organisation or of all', async () => {
    const userId = aUser();
    await aNotification(userId);
    await aNotification(userId, { organizationId: 'acme' });
    const remove = (query = '') => call(`DELETE ${of(userId, '/inbox-notifications')}${query}`);
    expect(await remove('?organizationId=acme')).toEqual(nothing(204));
    expect((await inbox(userId)).json.data).toHaveLength(1);
    for (let n = 0; n < 2; n += 1) expect(await remove()).toEqual(nothing(204));
    expect((await inbox(userId)).json.data).toEqual([]);
  });

  test('[contract: GET /rooms/{roomId}/threads/{threadId}/inbox-notifications] 200 with whose they are; 404', async () => {
    const userId = aUser();
    const roomId = await aRoom();
    const threadId = await aThread(roomId, userId);
    const [notification] = (await inbox(userId)).json.data;
    const get = (room: string, id: string) => call(`GET ${at(room)}/threads/${id}/inbox-notifications`);
    expect((await get(roomId, threadId)).json).toEqual({ data: [{ ...notification, userId }] });
    expect(refusal(await get(freshRoomId('none'), threadId))).toMatch(/^404 ROOM_NOT_FOUND/);
    for (const none of ['th_none', '%00', 'x'])
      expect(refusal(await get(roomId, none))).toMatch(/^404 RESOURCE_NOT_FOUND The thread/);
    expect(refusal(await get(await aRoom(), threadId))).toMatch(/^404 RESOURCE_NOT_FOUND/);
  });
});

describe('settings', () => {
  const DEFAULTS = { threads: 'replies_and_mentions', textMentions: 'mine' };

  test.each([
    ['[contract: GET /rooms/{roomId}/users/{userId}/subscription-settings] POST and DELETE too', 'subscription-settings'],
    [
      '[contract: GET /rooms/{roomId}/users/{userId}/notification-settings] POST and DELETE too, the older name',
      'notification-settings',
    ],
  ])('%s', async (_, name) => {
    const roomId = await aRoom();
    const path = (room = roomId) => `${at(room)}/users/bob/${name}`;
    const post = (json: unknown) => call(`POST ${path()}`, { json });
    expect((await call(`GET ${path()}`)).json).toEqual(DEFAULTS);
    for (const threads of ['all', 'none', 'replies_and_mentions'])
      expect((await post({ threads })).json).toEqual({ ...DEFAULTS, threads });
    expect((await post({ textMentions: 'none', threads: 'all' })).json).toEqual({ threads: 'all', textMentions: 'none' });
    expect((await post({ textMentions: 'mine' })).json).toEqual({ threads: 'all', textMentions: 'mine' });
    expect((await post({})).json).toEqual({ threads: 'all', textMentions: 'mine' });
    expectMalformed(await post({ threads: 'some' }), "'threads'"); // row 114
    expectMalformed(await post({ textMentions: 'all' }), "'textMentions'");
    expectMalformed(await post({ other: 1 }), "'other'");
    expectMalformed(await post({ threads: null }), "'threads'");
    expect(await call(`DELETE ${path()}`)).toEqual(nothing(204));
    expect(await call(`DELETE ${path()}`)).toEqual(nothing(204));
    expect((await call(`GET ${path()}`)).json).toEqual(DEFAULTS);
    const missing = freshRoomId('none');
    for (const method of ['GET', 'POST', 'DELETE'])
      expect(refusal(await call(`${method} ${path(missing)}`, method === 'POST' ? { json: {} } : {}))).toMatch(
        /^404 ROOM_NOT_FOUND/,
      );
    expectMalformed(await call(`GET ${at(roomId)}/users/${'u'.repeat(129)}/${name}`), "'userId'");
  });

  test('[contract: GET /users/{userId}/room-subscription-settings] 200 in pages; both sides of its limits', async () => {
    const userId = aUser();
    const list = (query = '') => call(`GET ${of(userId, '/room-subscription-settings')}${query}`);
    expect((await list()).json).toEqual({ nextCursor: null, data: [] });
    const rooms = [await aRoom(), await aRoom({ organizationId: 'acme' })];
    for (const roomId of rooms)
      await call(`POST ${at(roomId)}/users/${userId}/subscription-settings`, { json: { threads: 'none' } });
    const data = rooms.map((roomId) => ({ roomId, ...DEFAULTS, threads: 'none' }));
    expect((await list()).json).toEqual({ nextCursor: null, data });
    const { nextCursor } = (await list('?limit=1')).json;
    expect((await list(`?limit=1&startingAfter=${nextCursor}`)).json).toEqual({ nextCursor: null, data: [data[1]] });
    expect((await list('?organizationId=acme')).json.data).toEqual([data[1]]);
    for (const limit of ['0', '51']) expectMalformed(await list(`?limit=${limit}`), "'limit'");
    for (const limit of ['1', '50']) expect((await list(`?limit=${limit}`)).status).toBe(200);
    expectMalformed(await list('?startingAfter=x'), "'startingAfter'");
  });

  test('[contract: GET /users/{userId}/notification-settings] POST and DELETE too: all channels, any subset changes', async () => {
    const path = of(aUser(), '/notification-settings');
    const [on, off] = [
      { thread: true, textMention: true },
      { thread: false, textMention: false },
    ];
    const defaults = { email: on, slack: off, teams: off, webPush: off };
    const post = (json: unknown) => call(`POST ${path}`, { json });
    expect((await call(`GET ${path}`)).json).toEqual(defaults);
    const changed = await post({ email: { thread: false, $ring: true }, webPush: { textMention: true } });
    expect(changed.json).toEqual({
      ...defaults,
      email: { thread: false, textMention: true, $ring: true },
      webPush: { thread: false, textMention: true },
    });
    expect((await post({})).json).toEqual(changed.json);
    expectMalformed(await post({ fax: on }), "'fax'");
    expectMalformed(await post({ email: { ring: true } }), 'email');
    expectMalformed(await post({ email: { thread: 'yes' } }), "'email.thread'");
    expectMalformed(await post({ email: null }), "'email'");
    const kinds = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`$${'k'.repeat(n + 1)}`, true]));
    expect((await post({ slack: kinds(100) })).status).toBe(200);
    expectMalformed(await post({ slack: { $one_more: true } }), "'slack' may have at most 100");
    expect(await call(`DELETE ${path}`)).toEqual(nothing(204));
    expect((await call(`GET ${path}`)).json).toEqual(defaults);
  });
});

describe('groups', () => {
  const aGroup = async (json: object = {}) => (await call('POST /groups', { json: { id: freshRoomId('group'), ...json } })).json;

  test('[contract: POST /groups] 200 with the group; 409, 422', async () => {
    const id = freshRoomId('group');
    const group = await call('POST /groups', {
      json: { id, groupId: id, memberIds: ['b', 'a', 'a'], organizationId: 'acme', scopes: { mention: true } },
    });
    expect([group.status, group.json]).toEqual([
      200,
      {
        ...{ type: 'group', id, organizationId: 'acme', createdAt: ISO, updatedAt: ISO, scopes: { mention: true } },
        members: [
          { id: 'a', addedAt: ISO },
          { id: 'b', addedAt: ISO },
        ],
      },
    ]);
    expect(refusal(await call('POST /groups', { json: { id } }))).toBe(
      `409 RESOURCE_ALREADY_EXISTS The group "${id}" exists already.`,
    );
    const post = (json: object) => call('POST /groups', { json: { id: freshRoomId('group'), ...json } });
    expectMalformed(await call('POST /groups', { json: {} }), "Missing key 'id'");
    expectMalformed(await post({ id: 'g'.repeat(257) }), "'id' must have 1 to 256 characters");
    expect((await post({ id: freshRoomId('g').padEnd(256, 'g') })).status).toBe(200);
    expectMalformed(await post({ groupId: 'other' }), "'groupId'");
    expectMalformed(await post({ memberIds: ['a', ''] }), "'memberIds.1'");
    expectMalformed(await post({ scopes: { mention: false } }), "'scopes.mention'");
    expectMalformed(await post({ other: 1 }), "'other'");
    const members = (count: number) => Array.from({ length: count }, (_, n) => `u${n}`);
    expect((await post({ memberIds: members(1_000) })).json.members).toHaveLength(1_000);
    expectMalformed(await post({ memberIds: members(1_001) }), "'memberIds'");
  });

  test('[contract: GET /groups/{groupId}] 200; DELETE 204, then 404', async () => {
    const group = await aGroup();
    const path = `/groups/${encodeURIComponent(group.id)}`;
    expect((await call(`GET ${path}`)).json).toEqual(group);
    expect(await call(`DELETE ${path}`)).toEqual(nothing(204));
    for (const method of ['GET', 'DELETE'])
      expect(refusal(await call(`${method} ${path}`))).toBe(`404 RESOURCE_NOT_FOUND The group "${group.id}" does not exist.`);
    expectMalformed(await call(`GET /groups/${'g'.repeat(257)}`), "'groupId'");
  });

  test('[contract: POST /groups/{groupId}/add-members] and remove-members: 200 with the group as it is then; 404, 422', async () => {
    const group = await aGroup({ memberIds: ['a'] });
    const path = `/groups/${encodeURIComponent(group.id)}`;
    const post = async (what: string, memberIds: unknown) => call(`POST ${path}/${what}`, { json: { memberIds } });
    const idsIn = ({ json }: { json: any }) => json.members.map(({ id }: any) => id);
    expect(idsIn(await post('add-members', ['b', 'a']))).toEqual(['a', 'b']);
    expect(idsIn(await post('remove-members', ['a', 'x']))).toEqual(['b']);
    for (const what of ['add-members', 'remove-members']) {
      expectMalformed(await post(what, undefined), "Missing key 'memberIds'");
      expectMalformed(await post(what, ['']), "'memberIds.0'");
      expectMalformed(await post(what, 'b'), "'memberIds'");
      expect(refusal(await call(`POST /groups/none/${what}`, { json: { memberIds: ['a'] } }))).toMatch(/^404 RESOURCE_NOT_FOUND/);
    }
  });

  test('[contract: GET /groups] and GET /users/{userId}/groups: 200 in pages, newest first; both sides of their limits', async () => {
    const userId = aUser();
    const made = [await aGroup({ memberIds: [userId] }), await aGroup({ memberIds: [userId] })].reverse();
    for (const path of ['/groups', of(userId, '/groups')]) {
      const list = (query = '') => call(`GET ${path}${query}`);
      const first = (await list('?limit=1')).json;
      expect(first).toEqual({ nextCursor: expect.any(String), data: [made[0]] });
      expect((await list(`?limit=1&startingAfter=${first.nextCursor}`)).json.data).toEqual([made[1]]);
      for (const limit of ['0', '101']) expectMalformed(await list(`?limit=${limit}`), "'limit'");
      for (const limit of ['1', '100']) expect((await list(`?limit=${limit}`)).status).toBe(200);
      expectMalformed(await list('?startingAfter=x'), "'startingAfter'");
    }
    expect((await call(`GET ${of(userId, '/groups')}`)).json.nextCursor).toBeNull();
    expect((await call(`GET ${of(aUser(), '/groups')}`)).json).toEqual({ nextCursor: null, data: [] });
  });
});

describe('for the SDK', () => {
  test('[NR1] only a person has an inbox: the secret key and the public key are refused', async () => {
    for (const bearer of [server.secretKey, server.publicKey])
      for (const path of ['GET /inbox-notifications', 'GET /notification-settings', 'GET /urls/metadata?url=x'])
        expect(refusal(await as('u', path, { bearer }))).toMatch(/^403 UNAUTHORIZED_ROOM_ACCESS/);
  });

  test('[NR2] answers have every list that the SDK reads, also when they are empty', async () => {
    const userId = aUser();
    const none = { inboxNotifications: [], threads: [], subscriptions: [] };
    expect((await as(userId, 'GET /inbox-notifications?limit=50')).json).toEqual({
      ...none,
      groups: [],
      meta: { requestedAt: ISO, nextCursor: null },
    });
    const delta = `GET /inbox-notifications/delta?since=${new Date().toISOString()}`;
    const deleted = { deletedThreads: [], deletedInboxNotifications: [], deletedSubscriptions: [] };
    expect((await as(userId, delta)).json).toEqual({ ...none, ...deleted, meta: { requestedAt: ISO } });
    expect((await as(userId, 'GET /inbox-notifications/count')).json).toEqual({ count: 0 });
    expectMalformed(await as(userId, 'GET /inbox-notifications/delta?since=yesterday'), "'since'");
    expectMalformed(await as(userId, 'GET /inbox-notifications/delta'), "Missing key 'since'");
    expectMalformed(await as(userId, 'GET /inbox-notifications?cursor=x'), "'cursor'");
    expectMalformed(await as(userId, 'GET /inbox-notifications/count?query=nothing:1'), "'query'");
  });

  test('[NR3] pages go on where they ended', async () => {
    const userId = aUser();
    const ids = [(await aNotification(userId)).id, (await aNotification(userId)).id].reverse();
    const page = async (query: string) => (await as(userId, `GET /inbox-notifications?limit=1${query}`)).json;
    const first = await page('');
    const last = await page(`&cursor=${first.meta.nextCursor}`);
    expect([first, last].map(({ inboxNotifications }) => inboxNotifications[0].id)).toEqual(ids);
    expect(last.meta.nextCursor).toBeNull();
  });

  test('[NR4] ids of others are passed by, and nobody deletes what is not theirs', async () => {
    const [bob, eve] = [aUser(), aUser()];
    const { id } = await aNotification(bob);
    expect((await as(eve, 'POST /inbox-notifications/read', { json: { inboxNotificationIds: [id, 'x', '\0'] } })).json).toEqual(
      {},
    );
    expect(refusal(await as(eve, `DELETE /inbox-notifications/${id}`))).toMatch(/^404 RESOURCE_NOT_FOUND/);
    expect((await as(bob, 'GET /inbox-notifications/count')).json).toEqual({ count: 1 });
    expectMalformed(
      await as(bob, 'POST /inbox-notifications/read', { json: { inboxNotificationIds: 'some' } }),
      "'inboxNotificationIds'",
    );
    expect((await as(bob, 'POST /inbox-notifications/read', { json: { inboxNotificationIds: 'all' } })).json).toEqual({});
    expect((await as(bob, 'GET /inbox-notifications/count')).json).toEqual({ count: 0 });
  });

  test('[NR5] with the public key there is nothing to read in a room, and that is no error', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    const read = (bearer: string) =>
      as('u', `POST ${at(roomId)}/inbox-notifications/read`, { bearer, json: { inboxNotificationIds: ['in_1'] } });
    expect((await read(server.publicKey)).json).toEqual({});
    expect(refusal(await as('u', `GET ${at(roomId)}/subscription-settings`, { bearer: server.publicKey }))).toMatch(/^403/);
  });

  test('[NR6] settings of a room that nobody has entered yet are the defaults; they cannot be changed', async () => {
    const path = `${at(freshRoomId('new'))}/subscription-settings`;
    expect((await as('u', `GET ${path}`)).json).toEqual({ threads: 'replies_and_mentions', textMentions: 'mine' });
    expect(refusal(await as('u', `POST ${path}`, { json: { threads: 'all' } }))).toMatch(/^404 ROOM_NOT_FOUND/);
  });

  test('[NR7] a text mention needs the right to write the text, one user or group, and a room', async () => {
    const roomId = await aRoom();
    const [path, json] = [`${at(roomId)}/text-mentions`, { mentionId: 'm', userId: aUser() }];
    const bearer = await accessTokenFor(server, { userId: 'u', permissions: { '*': ['*:write', 'storage:read'] } });
    for (const call1 of [as('u', `POST ${path}`, { json, bearer }), as('u', `DELETE ${path}/m`, { bearer })])
      expect(refusal(await call1)).toMatch(/^403 UNAUTHORIZED_ROOM_ACCESS/);
    expect((await as('u', `POST ${path}`, { json })).json).toEqual({});
    expectMalformed(await as('u', `POST ${path}`, { json: { ...json, groupId: 'g' } }), "'groupId' cannot stand beside userId");
    expectMalformed(await as('u', `POST ${path}`, { json: { mentionId: 'm' } }), "Missing key 'userId'");
    expectMalformed(await as('u', `POST ${path}`, { json: { ...json, mentionId: 'm'.repeat(257) } }), "'mentionId'");
    expect(refusal(await as('u', `POST ${path}`, { json, bearer: server.secretKey }))).toMatch(/^403/);
    expect((await inbox(json.userId)).json.data).toHaveLength(1);
    expect((await as('u', `DELETE ${path}/m`)).json).toEqual({});
    expect((await inbox(json.userId)).json.data).toEqual([]);
  });

  test('[NR8] at most 50 groups are asked for at once', async () => {
    const find = (count: number) =>
      as('u', 'POST /groups/find', { json: { groupIds: Array.from({ length: count }, (_, n) => `g${n}`) } });
    expect((await find(50)).json).toEqual({ groups: [] });
    expectMalformed(await find(51), "'groupIds'");
  });
});
