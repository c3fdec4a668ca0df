/** Inboxes, settings and groups as both SDKs use them: a back end with the secret key, and people with tokens of their own. */
import { kInternal } from '@liveblocks/core';
import { describe, expect, test } from 'vitest';
import { contractOf } from '../support/e2e/contract.ts';
import { aHook, aReceiver, eventsOf, ofRoom } from '../support/e2e/receiver.ts';
import { enter, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { accessTokenFor, idTokenFor, type Person } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer({
  BATCHED_NOTIFICATION_KINDS: '$batched,$other_batched',
  WEBHOOK_TARGETS: 'all',
  NOTIFICATION_DELAY_SECONDS: '1',
});
const { backend } = server;
const { aRoom } = contractOf(server);

/** Somebody whom no other test knows. */
const aUser = (name: string) => freshRoomId(name).replace('e2e:', '');
const body = (...children: object[]) => ({ version: 1, content: [{ type: 'paragraph', children }] }) as any;
const says = (text: string) => body({ text });
const mentions = (...ids: string[]) => body(...ids.map((id) => ({ type: 'mention', kind: 'user', id })));
const mentionsGroup = (id: string, userIds?: string[]) =>
  body({ type: 'mention', kind: 'group', id, ...(userIds && { userIds }) });

const write = (roomId: string, userId: string, text: any, more: object = {}) =>
  backend.createThread({ roomId, data: { comment: { userId, body: text }, ...more } as any });
const reply = (thread: { roomId: string; id: string }, userId: string, text: any = says('reply')) =>
  backend.createComment({ roomId: thread.roomId, threadId: thread.id, data: { userId, body: text } });
const inboxOf = async (userId: string, more: object = {}) =>
  (await backend.getInboxNotifications({ userId, ...more })).data as any[];
const notifiedOf = (userId: string, count: number) =>
  until(`${userId} has ${count} notifications`, async () => {
    const inbox = await inboxOf(userId);
    return inbox.length === count && inbox;
  });
const unreadOf = async (userId: string) => (await inboxOf(userId, { query: { unread: true } })).map(({ threadId }) => threadId);
/** Events are taken in their order, one by each worker: when one that was written later has been told, and another after it, so have all before. */
async function allIsTold(roomId: string): Promise<void> {
  for (const witness of [aUser('witness'), aUser('witness')]) {
    await write(roomId, 'somebody', mentions(witness));
    await notifiedOf(witness, 1);
  }
}
const httpOf = ({ client }: Visitor) => (client as any)[kInternal].httpClient;
const as = (person: Person) => ({ userId: person.userId, token: () => accessTokenFor(server, person) });

describe('a back end', () => {
  test('[E2E-N1] lists, gets and deletes what a user was notified of', async () => {
    const roomId = await aRoom();
    const [ann, bob] = [aUser('ann'), aUser('bob')];
    const opening = await write(roomId, ann, mentions(bob));
    await notifiedOf(bob, 1); // two workers may tell of two threads in either order
    const threads = [opening, await write(roomId, ann, mentions(bob, ann)), await write(roomId, ann, says('hi'))];
    const inbox = await notifiedOf(bob, 2);
    const date = expect.any(Date);
    const facts = { kind: 'thread', roomId, readAt: null, notifiedAt: date, organizationId: 'default' };
    expect(inbox).toEqual(
      [threads[1], threads[0]].map((thread) => ({ ...facts, id: expect.stringMatching(/^in_[\w-]{21}$/), threadId: thread!.id })),
    );
    expect(await inboxOf(ann)).toEqual([]);
    const [second, first] = inbox;
    const one = { userId: bob, inboxNotificationId: first.id };
    expect(await backend.getInboxNotification(one)).toEqual(first);
    await expect(backend.getInboxNotification({ ...one, userId: ann })).rejects.toMatchObject({ status: 404 });
    await expect(backend.getInboxNotification({ ...one, inboxNotificationId: 'in_none' })).rejects.toMatchObject({ status: 404 });
    const pages: string[] = [];
    for await (const { id } of backend.iterInboxNotifications({ userId: bob }, { pageSize: 10 })) pages.push(id);
    expect(pages).toEqual([second.id, first.id]);
    const page = await backend.getInboxNotifications({ userId: bob, limit: 1 });
    const next = await backend.getInboxNotifications({ userId: bob, limit: 1, startingAfter: page.nextCursor! });
    expect([page.data, next.data, next.nextCursor]).toEqual([[second], [first], null]);
    await backend.deleteInboxNotification(one);
    await expect(backend.deleteInboxNotification(one)).rejects.toMatchObject({ status: 404 });
    expect((await inboxOf(bob)).map(({ id }) => id)).toEqual([second.id]);
    await backend.deleteAllInboxNotifications({ userId: bob });
    expect(await inboxOf(bob)).toEqual([]);
  });

  test('[E2E-N2] a thread has one notification for each user, which moves up and becomes unread', async () => {
    const roomId = await aRoom();
    const [ann, bob, carol] = [aUser('ann'), aUser('bob'), aUser('carol')];
    const first = await write(roomId, ann, mentions(bob));
    const second = await write(roomId, ann, mentions(bob));
    const [, of] = await notifiedOf(bob, 2);
    const visitor = await enter(server, { roomId, ...as({ userId: bob }) });
    await visitor.client.markInboxNotificationAsRead(of.id);
    expect(await unreadOf(bob)).toEqual([second.id]);
    await reply(first, carol);
    await until('it moves up', async () => (await unreadOf(bob)).length === 2);
    const moved = await inboxOf(bob);
    expect(moved.map(({ id, threadId }) => [id, threadId])).toEqual([
      [of.id, first.id],
      [expect.any(String), second.id],
    ]);
    expect(moved[0].notifiedAt.getTime()).toBeGreaterThan(of.notifiedAt.getTime());
    expect((await notifiedOf(ann, 1))[0].threadId).toBe(first.id);
    expect(await inboxOf(carol)).toEqual([]);
  });

  test('[E2E-N3] subscriptions to threads and settings for the room decide, the later call first', async () => {
    const roomId = await aRoom();
    const names = ['follows', 'unfollows', 'all', 'none', 'noneThenFollows', 'followsThenNone', 'nobody'] as const;
    const users = Object.fromEntries(names.map((name) => [name, aUser(name)])) as Record<(typeof names)[number], string>;
    const { follows, unfollows, all, none, noneThenFollows, followsThenNone } = users;
    const set = (userId: string, threads: 'all' | 'none') =>
      backend.updateRoomSubscriptionSettings({ roomId, userId, data: { threads } });
    await set(all, 'all');
    await set(none, 'none');
    const thread = await write(roomId, 'author', says('hi'));
    const subscribe = (userId: string) => backend.subscribeToThread({ roomId, threadId: thread.id, data: { userId } });
    await reply(thread, unfollows);
    await reply(thread, none);
    await subscribe(follows);
    await backend.unsubscribeFromThread({ roomId, threadId: thread.id, data: { userId: unfollows } });
    await set(noneThenFollows, 'none');
    await subscribe(noneThenFollows);
    await subscribe(followsThenNone);
    await set(followsThenNone, 'none');
    await allIsTold(roomId);
    for (const userId of Object.values(users)) await backend.deleteAllInboxNotifications({ userId });
    await reply(thread, 'author');
    await allIsTold(roomId);
    const heard = [];
    for (const [name, userId] of Object.entries(users))
      if ((await inboxOf(userId)).some(({ threadId }) => threadId === thread.id)) heard.push(name);
    expect(heard.sort()).toEqual(['all', 'follows', 'noneThenFollows']);
    await reply(thread, 'author', mentions(none, unfollows));
    await allIsTold(roomId);
    expect([(await inboxOf(none)).length, (await inboxOf(unfollows)).length]).toEqual([0, 1]);
  });

  test('[E2E-N4] groups are mentioned: those who are in them, and those whom the client took to be', async () => {
    const roomId = await aRoom();
    const [ann, bob, carol, dan] = [aUser('ann'), aUser('bob'), aUser('carol'), aUser('dan')];
    const groupId = freshRoomId('team');
    await backend.createGroup({ groupId, memberIds: [ann, bob] });
    const thread = await write(roomId, ann, mentionsGroup(groupId, [carol]));
    expect([(await notifiedOf(bob, 1))[0].threadId, (await notifiedOf(carol, 1))[0].threadId]).toEqual([thread.id, thread.id]);
    await backend.addGroupMembers({ groupId, memberIds: [dan] });
    await allIsTold(roomId);
    expect([await inboxOf(ann), await inboxOf(dan)]).toEqual([[], []]);
    await backend.deleteAllInboxNotifications({ userId: bob });
    const [comment] = thread.comments;
    const edit = (text: any) =>
      backend.editComment({ roomId, threadId: thread.id, commentId: comment!.id, data: { body: text } });
    await edit(body({ type: 'mention', kind: 'group', id: groupId }, { type: 'mention', kind: 'user', id: dan }));
    await notifiedOf(dan, 1);
    await allIsTold(roomId);
    expect(await inboxOf(bob)).toEqual([]); // the group was mentioned before
  });

  test('[E2E-N5] a deleted thread leaves no inbox', async () => {
    const roomId = await aRoom();
    const [ann, bob] = [aUser('ann'), aUser('bob')];
    const thread = await write(roomId, ann, mentions(bob));
    await notifiedOf(bob, 1);
    await backend.deleteThread({ roomId, threadId: thread.id });
    expect(await inboxOf(bob)).toEqual([]);
  });

  test('[E2E-N6] triggers notifications of kinds of its own, in a room or none, in an organisation, one by one or in batches', async () => {
    const roomId = await aRoom();
    const acme = await aRoom({ organizationId: 'acme' });
    const [bob, eve] = [aUser('bob'), aUser('eve')];
    const ring = (kind: `$${string}`, subjectId: string, n: number, more: object = {}) =>
      backend.triggerInboxNotification({
        userId: bob,
        kind,
        subjectId,
        activityData: { n, text: 't', flag: true },
        ...more,
      } as any);
    await ring('$single', 's', 1, { roomId });
    await ring('$single', 's', 2);
    for (const n of [3, 4]) await ring('$batched', 's', n, { roomId: acme });
    await ring('$batched', 'else', 5, { organizationId: 'acme' });
    const inbox = await inboxOf(bob);
    expect(
      inbox.map(({ kind, subjectId, roomId: of, activities }) => [
        kind,
        subjectId,
        of,
        activities.map(({ data }: any) => data.n),
      ]),
    ).toEqual([
      ['$batched', 'else', null, [5]],
      ['$batched', 's', acme, [3, 4]],
      ['$single', 's', null, [2]],
      ['$single', 's', roomId, [1]],
    ]);
    expect(inbox[3]).toEqual({
      kind: '$single',
      id: expect.stringMatching(/^in_/),
      roomId,
      subjectId: 's',
      notifiedAt: expect.any(Date),
      readAt: null,
      activities: [{ id: expect.stringMatching(/^act_/), createdAt: expect.any(Date), data: { n: 1, text: 't', flag: true } }],
    });
    expect((await inboxOf(bob, { organizationId: 'acme' })).map(({ subjectId }) => subjectId)).toEqual(['else', 's']);
    expect(await inboxOf(bob, { tenantId: 'default' })).toHaveLength(2);
    await expect(ring('$single', 's', 6, { roomId, organizationId: 'acme' })).rejects.toMatchObject({ status: 404 });
    await expect(ring('$single', 's', 7, { roomId: freshRoomId('none') })).rejects.toMatchObject({ status: 404 });
    await expect(ring('no' as any, 's', 8)).rejects.toMatchObject({ status: 422 });
    await backend.deleteAllInboxNotifications({ userId: bob, organizationId: 'acme' });
    expect(await inboxOf(bob)).toHaveLength(2);
    expect(await inboxOf(eve)).toEqual([]);
  });

  test('[E2E-N7] reads and changes what users want to hear of, in rooms and by channels', async () => {
    const [roomId, other] = [await aRoom(), await aRoom({ organizationId: 'acme' })];
    const userId = aUser('bob');
    const place = { roomId, userId };
    const defaults = { threads: 'replies_and_mentions', textMentions: 'mine' };
    expect(await backend.getRoomSubscriptionSettings(place)).toEqual(defaults);
    expect(await backend.updateRoomSubscriptionSettings({ ...place, data: { threads: 'all' } })).toEqual({
      ...defaults,
      threads: 'all',
    });
    expect(await backend.getRoomSubscriptionSettings(place)).toEqual({ ...defaults, threads: 'all' });
    await backend.updateRoomSubscriptionSettings({ roomId: other, userId, data: { textMentions: 'none' } });
    const { data } = await backend.getUserRoomSubscriptionSettings({ userId });
    expect(data).toEqual([
      { roomId, ...defaults, threads: 'all' },
      { roomId: other, ...defaults, textMentions: 'none' },
    ]);
    const page = await backend.getUserRoomSubscriptionSettings({ userId, limit: 1 });
    const next = await backend.getUserRoomSubscriptionSettings({ userId, limit: 1, startingAfter: page.nextCursor! });
    expect([page.data, next.data, next.nextCursor]).toEqual([[data[0]], [data[1]], null]);
    expect((await backend.getUserRoomSubscriptionSettings({ userId, organizationId: 'acme' })).data).toEqual([data[1]]);
    await backend.deleteRoomSubscriptionSettings(place);
    expect(await backend.getRoomSubscriptionSettings(place)).toEqual(defaults);
    await expect(backend.getRoomSubscriptionSettings({ ...place, roomId: freshRoomId('none') })).rejects.toMatchObject({
      status: 404,
    });

    const settings = await backend.getNotificationSettings({ userId });
    expect([settings.email, settings.slack]).toEqual([
      { thread: true, textMention: true },
      { thread: false, textMention: false },
    ]);
    const changed = await backend.updateNotificationSettings({
      userId,
      data: { email: { thread: false }, teams: { $ring: true } as any },
    });
    expect([changed.email, changed.teams]).toEqual([
      { thread: false, textMention: true },
      { thread: false, textMention: false, $ring: true },
    ]);
    await backend.deleteNotificationSettings({ userId });
    expect((await backend.getNotificationSettings({ userId })).email).toEqual({ thread: true, textMention: true });
  });

  test('[E2E-N8] keeps groups, their members, and the groups of a user', async () => {
    const [ann, bob] = [aUser('ann'), aUser('bob')];
    const [one, two] = [freshRoomId('one'), freshRoomId('two')];
    const made = await backend.createGroup({ groupId: one, memberIds: [ann], organizationId: 'acme', scopes: { mention: true } });
    const date = expect.any(Date);
    expect(made).toEqual({
      ...{ type: 'group', id: one, organizationId: 'acme', createdAt: date, updatedAt: date, scopes: { mention: true } },
      members: [{ id: ann, addedAt: date }],
    });
    expect(await backend.getGroup({ groupId: one })).toEqual(made);
    await expect(backend.createGroup({ groupId: one })).rejects.toMatchObject({ status: 409 });
    await backend.createGroup({ groupId: two });
    const idsIn = (group: { members: { id: string }[] }) => group.members.map(({ id }) => id).sort();
    expect(idsIn(await backend.addGroupMembers({ groupId: two, memberIds: [bob, ann] }))).toEqual([ann, bob].sort());
    expect(idsIn(await backend.removeGroupMembers({ groupId: two, memberIds: [bob] }))).toEqual([ann]);
    const groups = async (options: object) => (await backend.getUserGroups({ userId: ann, ...options })).data.map(({ id }) => id);
    expect(await groups({})).toEqual([two, one]);
    const page = await backend.getUserGroups({ userId: ann, limit: 1 });
    expect(await groups({ limit: 1, startingAfter: page.nextCursor })).toEqual([one]);
    expect((await backend.getGroups({ limit: 2 })).data.map(({ id }) => id)).toEqual([two, one]);
    await backend.deleteGroup({ groupId: two });
    await expect(backend.getGroup({ groupId: two })).rejects.toMatchObject({ status: 404 });
    expect(await groups({})).toEqual([one]);
  });
});

describe('a browser', () => {
  test('[E2E-N9] shows the inbox with its threads and groups, counts what is unread, reads and deletes', async () => {
    const roomId = await aRoom();
    const [ann, bob] = [aUser('ann'), aUser('bob')];
    const { client } = await enter(server, { roomId, ...as({ userId: bob }) });
    const threads = [];
    for (const text of [mentions(bob), mentions(bob), mentions(bob)]) threads.push(await write(roomId, ann, text));
    await notifiedOf(bob, 3);
    await backend.triggerInboxNotification({ userId: bob, kind: '$ring' as never, subjectId: 's', activityData: {} as never });
    const first = await client.getInboxNotifications();
    expect(first.inboxNotifications.map(({ kind }) => kind)).toEqual(['$ring', 'thread', 'thread', 'thread']);
    expect(first.threads.map(({ id }) => id).sort()).toEqual(threads.map(({ id }) => id).sort());
    expect(first.subscriptions.map(({ subjectId }) => subjectId).sort()).toEqual(threads.map(({ id }) => id).sort());
    expect(first.nextCursor).toBeNull();
    expect(await client.getUnreadInboxNotificationsCount()).toBe(4);
    expect(await client.getUnreadInboxNotificationsCount({ query: { kind: 'thread', roomId } } as any)).toBe(3);
    expect((await client.getInboxNotifications({ query: { kind: '$ring' } } as any)).inboxNotifications).toHaveLength(1);

    const [, latest, second] = first.inboxNotifications;
    await client.markInboxNotificationAsRead(latest!.id);
    expect(await client.getUnreadInboxNotificationsCount()).toBe(3);
    await client.markAllInboxNotificationsAsRead();
    expect(await client.getUnreadInboxNotificationsCount()).toBe(0);
    await client.deleteInboxNotification(second!.id);
    await expect(client.deleteInboxNotification(second!.id)).rejects.toThrow(/404/);
    const since = await client.getInboxNotificationsSince({ since: first.requestedAt });
    expect(since.inboxNotifications.updated.every(({ readAt }) => readAt !== null)).toBe(true);
    expect(since.inboxNotifications.updated).toHaveLength(3);
    expect(since.inboxNotifications.deleted.map(({ id }) => id)).toEqual([second!.id]);
    await backend.deleteThread({ roomId, threadId: threads[2]!.id });
    const after = await client.getInboxNotificationsSince({ since: since.requestedAt });
    expect(after.threads.deleted.map(({ id }) => id)).toEqual([threads[2]!.id]);
    expect(after.inboxNotifications.deleted.map(({ id }) => id)).toContain(latest!.id);
    await client.deleteAllInboxNotifications();
    expect((await client.getInboxNotifications()).inboxNotifications).toEqual([]);
  });

  test('[E2E-N19] hears with the changes of its threads all that has changed in its inbox, for it goes on from there', async () => {
    const [roomId, silent] = [await aRoom(), await aRoom()];
    const [ann, bob] = [aUser('ann'), aUser('bob')];
    const visitor = await enter(server, { roomId, ...as({ userId: bob }) });
    const since = new Date();
    await write(roomId, ann, mentions(bob));
    const gone = await write(roomId, ann, mentions(bob));
    await backend.updateRoomSubscriptionSettings({ roomId: silent, userId: bob, data: { threads: 'all' } });
    await write(silent, ann, says('to all'));
    await backend.triggerInboxNotification({ userId: bob, kind: '$ring' as never, subjectId: 's', activityData: {} as never });
    await notifiedOf(bob, 4);
    await backend.deleteThread({ roomId, threadId: gone.id });
    await backend.updateRoomSubscriptionSettings({ roomId: silent, userId: bob, data: { threads: 'none' } });
    const inbox = await visitor.client.getInboxNotificationsSince({ since });
    const ofThreads = await httpOf(visitor).getUserThreadsSince_experimental({ since });
    const idsOf = (some: { id: string }[]) => some.map(({ id }) => id).sort();
    expect(inbox.inboxNotifications.updated).toHaveLength(3);
    expect(idsOf(ofThreads.inboxNotifications.updated)).toEqual(idsOf(inbox.inboxNotifications.updated));
    expect(idsOf(ofThreads.inboxNotifications.deleted)).toEqual(idsOf(inbox.inboxNotifications.deleted));
    expect(idsOf(ofThreads.threads.updated)).toEqual(idsOf(inbox.threads.updated));
    expect(ofThreads.permissionHints).toEqual({ [roomId]: ['room:write'], [silent]: ['room:write'] });
  });

  test('[E2E-N10] is shown of private threads what its token lets it read, and no more', async () => {
    const roomId = await aRoom();
    const [ann, bob] = [aUser('ann'), aUser('bob')];
    const outside = { '*': ['*:write', 'comments:private:none'] };
    const hidden = await write(roomId, ann, mentions(bob), { visibility: 'private' });
    const open = await write(roomId, ann, mentions(bob));
    await notifiedOf(bob, 2);
    const outsider = await enter(server, { roomId, ...as({ userId: bob, permissions: outside }) });
    const insider = await enter(server, { roomId, ...as({ userId: bob }) });
    const threadsOf = async ({ client }: Visitor) => {
      const { inboxNotifications, threads, subscriptions, requestedAt } = await client.getInboxNotifications();
      const ids = inboxNotifications.map((one: any) => one.threadId);
      expect([threads.map(({ id }) => id), subscriptions.map(({ subjectId }) => subjectId).sort()]).toEqual([
        ids,
        [...ids].sort(),
      ]);
      expect(await client.getUnreadInboxNotificationsCount()).toBe(ids.length);
      const since = await client.getInboxNotificationsSince({ since: requestedAt });
      expect(since.inboxNotifications.updated.map((one: any) => one.threadId).sort()).toEqual([...ids].sort());
      expect(since.threads.updated.map(({ id }) => id).sort()).toEqual([...ids].sort());
      return ids;
    };
    expect([await threadsOf(outsider), await threadsOf(insider)]).toEqual([[open.id], [open.id, hidden.id]]);
    await backend.deleteThread({ roomId, threadId: hidden.id });
    const deleted = async ({ client }: Visitor) =>
      (await client.getInboxNotificationsSince({ since: new Date(Date.now() - 60_000) })).threads.deleted.map(({ id }) => id);
    expect([await deleted(outsider), await deleted(insider)]).toEqual([[], [hidden.id]]);
  });

  test('[E2E-N11] nobody is notified of what the lists of the room withhold; an ID token shows what they give', async () => {
    const [ann, bob, rea] = [aUser('ann'), aUser('bob'), aUser('rea')];
    const groupsAccesses = { team: ['*:write', 'comments:private:write'] };
    const usersAccesses = { [rea]: ['*:write', 'comments:private:read'] };
    const roomId = await aRoom({ defaultAccesses: ['*:write', 'comments:private:none'], groupsAccesses, usersAccesses });
    const hidden = await write(roomId, ann, mentions(bob, rea), { visibility: 'private' });
    await notifiedOf(rea, 1);
    await allIsTold(roomId);
    expect((await inboxOf(bob)).map(({ threadId }) => threadId)).toEqual([hidden.id]); // a group might let him
    const shown = async (groupIds: string[]) => {
      const token = () => idTokenFor(server, { userId: bob, groupIds });
      const { client } = await enter(server, { roomId, userId: bob, token });
      return (await client.getInboxNotifications()).inboxNotifications.length;
    };
    expect([await shown([]), await shown(['team'])]).toEqual([0, 1]);
    const shut = await aRoom({ defaultAccesses: ['*:write', 'comments:private:none'] });
    await write(shut, ann, mentions(bob), { visibility: 'private' });
    await allIsTold(shut);
    expect(await inboxOf(bob)).toHaveLength(1);
  });

  test('[E2E-N12] of two people with one id in two organisations each has an inbox', async () => {
    const userId = aUser('bob');
    const rooms = { acme: await aRoom({ organizationId: 'acme' }), default: await aRoom() };
    const thread = await write(rooms.acme, 'ann', mentions(userId));
    await write(rooms.default, 'ann', mentions(userId));
    await notifiedOf(userId, 2);
    const acme = await enter(server, { roomId: rooms.acme, ...as({ userId, organizationId: 'acme' }) });
    const other = await enter(server, { roomId: rooms.default, ...as({ userId }) });
    expect((await acme.client.getInboxNotifications()).inboxNotifications.map((one: any) => one.threadId)).toEqual([thread.id]);
    await acme.client.markAllInboxNotificationsAsRead();
    expect([await acme.client.getUnreadInboxNotificationsCount(), await other.client.getUnreadInboxNotificationsCount()]).toEqual(
      [0, 1],
    );
    await acme.client.deleteAllInboxNotifications();
    expect(await inboxOf(userId)).toHaveLength(1);
  });

  test('[E2E-N13] changes what its user wants to hear of, in a room and by channels', async () => {
    const roomId = await aRoom();
    const visitor = await enter(server, { roomId, ...as({ userId: aUser('bob'), permissions: { '*': ['*:read'] } }) });
    expect(await visitor.room.getSubscriptionSettings()).toEqual({ threads: 'replies_and_mentions', textMentions: 'mine' });
    const changed = await visitor.room.updateSubscriptionSettings({ threads: 'none', textMentions: 'none' });
    expect([changed, await visitor.room.getSubscriptionSettings()]).toEqual([changed, { threads: 'none', textMentions: 'none' }]);
    expect((await visitor.client.getNotificationSettings()).email).toEqual({ thread: true, textMention: true });
    const settings = await visitor.client.updateNotificationSettings({ email: { textMention: false } });
    expect([settings.email, settings.webPush]).toEqual([
      { thread: true, textMention: false },
      { thread: false, textMention: false },
    ]);
    await expect(visitor.client.updateNotificationSettings({ fax: { thread: true } } as any)).rejects.toThrow(/422/);
  });

  test('[E2E-N14] mentions somebody in a text, once however often it says so, and takes it back', async () => {
    const roomId = await aRoom();
    const [ann, bob, carol] = [aUser('ann'), aUser('bob'), aUser('carol')];
    const groupId = freshRoomId('team');
    await backend.createGroup({ groupId, memberIds: [ann, carol] });
    const visitor = await enter(server, { roomId, ...as({ userId: ann }) });
    const api = (visitor.room as any)[kInternal];
    for (let n = 0; n < 2; n += 1) await api.createTextMention('m1', { kind: 'user', id: bob });
    await api.createTextMention('m2', { kind: 'group', id: groupId, userIds: [bob] });
    await api.createTextMention('m3', { kind: 'user', id: ann });
    const inbox = await notifiedOf(bob, 2);
    expect(inbox[1]).toEqual({
      ...{ kind: 'textMention', id: expect.any(String), roomId, notifiedAt: expect.any(Date), readAt: null },
      ...{ mentionId: 'm1', createdBy: ann, mention: { kind: 'user', id: bob } },
    });
    expect(inbox[0].mention).toEqual({ kind: 'group', id: groupId, userIds: [bob] });
    expect([(await inboxOf(carol)).length, (await inboxOf(ann)).length]).toEqual([1, 0]);
    const reader = await enter(server, { roomId, ...as({ userId: bob }) });
    const { groups } = await httpOf(reader)
      .getInboxNotifications()
      .then(async () => ({
        groups: [await httpOf(reader).getGroup(groupId)],
      }));
    expect(groups[0].members.map(({ id }: any) => id).sort()).toEqual([ann, carol].sort());
    await api.deleteTextMention('m1');
    expect((await inboxOf(bob)).map(({ mentionId }) => mentionId)).toEqual(['m2']);
    await backend.updateRoomSubscriptionSettings({ roomId, userId: bob, data: { textMentions: 'none' } });
    await api.createTextMention('m4', { kind: 'user', id: bob });
    expect(await inboxOf(bob)).toHaveLength(1);
    const blind = await enter(server, { roomId, ...as({ userId: bob, permissions: { '*': ['*:read', 'storage:none'] } }) });
    expect((await blind.client.getInboxNotifications()).inboxNotifications).toEqual([]);
    await api.reportTextEditor('tiptap', 'root');
    expect(await httpOf(visitor).getUrlMetadata('http://127.0.0.1:1/')).toEqual({});
  });

  test('[E2E-N15] finds groups of its organisation alone', async () => {
    const roomId = await aRoom();
    const [mine, theirs] = [freshRoomId('mine'), freshRoomId('theirs')];
    await backend.createGroup({ groupId: mine, memberIds: ['x'] });
    await backend.createGroup({ groupId: theirs, organizationId: 'acme' });
    const visitor = await enter(server, { roomId, ...as({ userId: aUser('bob') }) });
    const found = await Promise.all([mine, theirs, 'no such group'].map((id) => httpOf(visitor).getGroup(id)));
    expect(found.map((group) => group?.id)).toEqual([mine, undefined, undefined]);
    expect(found[0].createdAt).toBeInstanceOf(Date);
  });

  test('[E2E-N16] in a room the SDK marks as read what it shows', async () => {
    const roomId = await aRoom();
    const bob = aUser('bob');
    await write(roomId, 'ann', mentions(bob));
    const [{ id }] = await notifiedOf(bob, 1);
    const visitor = await enter(server, { roomId, ...as({ userId: bob, permissions: { '*': ['*:read'] } }) });
    await visitor.room.markInboxNotificationAsRead(id);
    expect(await unreadOf(bob)).toEqual([]);
  });
});

test('[E2E-N17] webhooks hear of a private thread only for those whose token let them read such here', async () => {
  const receiver = await aReceiver();
  const hook = await aHook(server, receiver.url, ['notification']);
  const roomId = await aRoom();
  const [insider, outsider, unseen] = [aUser('insider'), aUser('outsider'), aUser('unseen')];
  const visitors = [
    await enter(server, { roomId, ...as({ userId: insider }) }),
    await enter(server, { roomId, ...as({ userId: outsider, permissions: { '*': ['*:write', 'comments:private:none'] } }) }),
  ];
  for (const visitor of visitors) await visitor.room.getThreads();
  const hidden = await write(roomId, 'ann', mentions(insider, outsider, unseen), { visibility: 'private' });
  const open = await write(roomId, 'ann', mentions(insider, outsider, unseen));
  await eventsOf(receiver, hook, { roomId, count: 4 });
  await backend.updateNotificationSettings({ userId: insider, data: { email: { $last: true } as any } });
  await backend.triggerInboxNotification({
    userId: insider,
    roomId,
    kind: '$last' as never,
    subjectId: 's',
    activityData: {} as never,
  });
  await eventsOf(receiver, hook, { roomId, count: 5 });
  const heard = ofRoom(receiver, hook, roomId).map(({ data }: any) => [data.userId, data.threadId]);
  expect(heard.sort()).toEqual(
    [
      [insider, hidden.id],
      [insider, open.id],
      [outsider, open.id],
      [unseen, open.id],
      [insider, undefined],
    ].sort(),
  );
});
