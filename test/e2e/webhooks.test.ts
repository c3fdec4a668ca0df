/** Webhooks as customers receive them: over HTTP, verified by the SDK. */
import { WebhookHandler } from '@liveblocks/node';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { at, contractOf } from '../support/e2e/contract.ts';
import { aHook, aReceiver, eventsOf, ofRoom, refused, TAKEN } from '../support/e2e/receiver.ts';
import { ask } from '../support/e2e/rest.ts';
import { enter, rootOf, saved } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer({ WEBHOOK_TARGETS: 'all', NOTIFICATION_DELAY_SECONDS: '1', PROJECT_ID: 'proj_1' });
const { backend } = server;
const { call, aRoom } = contractOf(server);
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const body = { version: 1, content: [{ type: 'paragraph', children: [{ text: 'hi' }] }] } as never;

describe('what is told', () => {
  test('[WH1] of rooms: made by a back end, by whoever enters first, and deleted', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['roomCreated', 'roomDeleted']);
    const roomId = await aRoom();
    await call(`POST ${at(roomId)}/upsert`, { json: { update: {} } });
    expect((await call('POST /rooms?idempotent', { json: { id: roomId, defaultAccesses: [] } })).status).toBe(200);
    await call(`DELETE ${at(roomId)}`);
    await call(`DELETE ${at(roomId)}`);
    const upserted = freshRoomId('upserted');
    await call(`POST ${at(upserted)}/upsert`, { json: { update: { defaultAccesses: [] } } });
    const entered = freshRoomId('entered');
    await enter(server, { roomId: entered, userId: 'ann' });
    expect(await eventsOf(receiver, hook, { roomId, count: 2 })).toEqual([
      { type: 'roomCreated', data: { projectId: 'proj_1', roomId, createdAt: ISO } },
      { type: 'roomDeleted', data: { projectId: 'proj_1', roomId, deletedAt: ISO } },
    ]);
    for (const id of [upserted, entered])
      expect((await eventsOf(receiver, hook, { roomId: id, count: 1 })).map(({ type }) => type)).toEqual(['roomCreated']);
  });

  test('[WH2] of threads and comments, each once, with what each says', async () => {
    const receiver = await aReceiver();
    const events = [
      'threadCreated',
      'threadDeleted',
      'threadMetadataUpdated',
      'threadMarkedAsResolved',
      'threadMarkedAsUnresolved',
    ];
    const ofComments = ['commentCreated', 'commentEdited', 'commentDeleted', 'commentMetadataUpdated'];
    const reactions = ['commentReactionAdded', 'commentReactionRemoved'];
    const hook = await aHook(server, receiver.url, [...events, ...ofComments, ...reactions]);
    const roomId = await aRoom();
    const { id: threadId, comments } = await backend.createThread({ roomId, data: { comment: { userId: 'ann', body } } });
    const commentId = comments[0]!.id;
    const of = { roomId, threadId };
    await backend.editThreadMetadata({ ...of, data: { metadata: { k: 'v' }, userId: 'ann' } });
    await backend.markThreadAsResolved({ ...of, data: { userId: 'bob' } });
    await backend.markThreadAsUnresolved({ ...of, data: { userId: 'bob' } });
    await backend.editComment({ ...of, commentId, data: { body } });
    await backend.editCommentMetadata({ ...of, commentId, data: { metadata: { k: 1 }, userId: 'ann' } });
    await backend.addCommentReaction({ ...of, commentId, data: { userId: 'bob', emoji: '👍' } });
    await backend.removeCommentReaction({ ...of, commentId, data: { userId: 'bob', emoji: '👍' } });
    await backend.deleteComment({ ...of, commentId });
    const told = await eventsOf(receiver, hook, { roomId, count: 11 });
    const data = { projectId: 'proj_1', ...of };
    const expected = [
      { type: 'threadCreated', data: { ...data, createdAt: ISO, createdBy: 'ann' } },
      { type: 'commentCreated', data: { ...data, commentId, createdAt: ISO, createdBy: 'ann' } },
      { type: 'threadMetadataUpdated', data: { ...data, updatedAt: ISO, updatedBy: 'ann' } },
      { type: 'threadMarkedAsResolved', data: { ...data, updatedAt: ISO, updatedBy: 'bob' } },
      { type: 'threadMarkedAsUnresolved', data: { ...data, updatedAt: ISO, updatedBy: 'bob' } },
      { type: 'commentEdited', data: { ...data, commentId, editedAt: ISO } },
      { type: 'commentMetadataUpdated', data: { ...data, commentId, updatedAt: ISO, updatedBy: 'ann' } },
      { type: 'commentReactionAdded', data: { ...data, commentId, emoji: '👍', addedAt: ISO, addedBy: 'bob' } },
      { type: 'commentReactionRemoved', data: { ...data, commentId, emoji: '👍', removedAt: ISO, removedBy: 'bob' } },
      { type: 'commentDeleted', data: { ...data, commentId, deletedAt: ISO } },
      { type: 'threadDeleted', data: { ...data, deletedAt: ISO } },
    ];
    const byType = (events: readonly { type: string }[]) => [...events].sort((a, b) => a.type.localeCompare(b.type));
    expect(byType(told)).toEqual(byType(expected));
  });

  test('[WH3] of changes of Storage and Yjs documents: at once, then once in a window, with the time of the last', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['storageUpdated', 'ydocUpdated'], {
      storageUpdatedThrottleSeconds: 2,
      yDocUpdatedThrottleSeconds: 2,
    });
    const roomId = await aRoom();
    const ann = await enter(server, { roomId, userId: 'ann' });
    const root = await rootOf(ann);
    const told = (type: string) => ofRoom(receiver, hook, roomId).filter((event) => event.type === type);
    root.set('n', 0);
    await until('the first change is told at once', () => told('storageUpdated').length === 1, { timeoutMs: 1_500 });
    for (let n = 1; n <= 20; n += 1) {
      root.set('n', n);
      await saved(ann);
    }
    const lastMs = Date.now();
    const doc = new Y.Doc();
    doc.getText('t').insert(0, 'x');
    await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(doc)); // over REST, too
    await until('the others are told together', () => told('storageUpdated').length === 2);
    const [first, second] = told('storageUpdated').map(({ data }) => Date.parse((data as { updatedAt: string }).updatedAt));
    expect(second! - first!).toBeGreaterThan(0);
    expect(Math.abs(lastMs - second!)).toBeLessThan(1_000);
    await until('the document, too', () => told('ydocUpdated').length === 1);
    const arrivals = receiver.received.filter(({ body: text }) => text.includes('storageUpdated')).map(({ atMs }) => atMs);
    expect(arrivals[1]! - arrivals[0]!).toBeGreaterThan(1_800);
    await new Promise((resolve) => setTimeout(resolve, 2_500)); // a window in which nothing happens, and nothing is told
    expect([told('storageUpdated').length, told('ydocUpdated').length]).toEqual([2, 1]);
  });

  test('[WH4] of those who come and go, with how many are there then', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['userEntered', 'userLeft']);
    const roomId = await aRoom();
    const ann = await enter(server, { roomId, userId: 'ann', userInfo: { name: 'Ann' } });
    const annsActor = ann.actor();
    const bob = await enter(server, { roomId, userId: 'bob' });
    const bobsActor = bob.actor();
    await eventsOf(receiver, hook, { roomId, count: 2 });
    ann.leave();
    await eventsOf(receiver, hook, { roomId, count: 3 });
    bob.leave();
    const told = await eventsOf(receiver, hook, { roomId, count: 4 });
    const data = { projectId: 'proj_1', roomId };
    const anns = { ...data, connectionId: annsActor, userId: 'ann', userInfo: { name: 'Ann' } };
    const bobs = { ...data, connectionId: bobsActor, userId: 'bob', userInfo: null };
    expect(told).toEqual(
      expect.arrayContaining([
        { type: 'userEntered', data: { ...anns, enteredAt: ISO, numActiveUsers: 1 } },
        { type: 'userEntered', data: { ...bobs, enteredAt: ISO, numActiveUsers: 2 } },
        { type: 'userLeft', data: { ...anns, leftAt: ISO, numActiveUsers: 1 } },
        { type: 'userLeft', data: { ...bobs, leftAt: ISO, numActiveUsers: 0 } },
      ]),
    );
    expect(told).toHaveLength(4);
  });

  test('[WH4] who was there before the webhook is counted, and told of when leaving', async () => {
    const roomId = await aRoom();
    const ann = await enter(server, { roomId, userId: 'ann' });
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['userEntered', 'userLeft']);
    await enter(server, { roomId, userId: 'bob' });
    const [bobCame] = await eventsOf(receiver, hook, { roomId, count: 1 });
    expect(bobCame).toMatchObject({ type: 'userEntered', data: { userId: 'bob', numActiveUsers: 2 } });
    ann.leave();
    const [, annLeft] = await eventsOf(receiver, hook, { roomId, count: 2 });
    expect(annLeft).toMatchObject({ type: 'userLeft', data: { userId: 'ann', numActiveUsers: 1 } });
  });

  test('[WH5] of notifications that are unread some time later, by the channels that their user wants', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['notification']);
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    await backend.updateNotificationSettings({ userId: 'cat', data: { email: { thread: false } } });
    const mentions = ['bob', 'cat'].map((id) => ({ type: 'mention', kind: 'user', id }));
    const mentioning = { version: 1, content: [{ type: 'paragraph', children: mentions }] } as never;
    const { id: threadId } = await backend.createThread({ roomId, data: { comment: { userId: 'ann', body: mentioning } } });
    const [told] = await eventsOf(receiver, hook, { roomId, count: 1 });
    const { data: inbox } = await backend.getInboxNotifications({ userId: 'bob' });
    expect(told).toEqual({
      type: 'notification',
      data: {
        ...{ projectId: 'proj_1', roomId, channel: 'email', kind: 'thread', userId: 'bob', threadId },
        inboxNotificationId: inbox[0]!.id,
        createdAt: ISO,
        triggeredAt: ISO,
      },
    });
    expect(ofRoom(receiver, hook, roomId)).toHaveLength(1); // cat does not want e-mail
  });
});

describe('how it is sent', () => {
  const settled = () => new Promise((resolve) => setTimeout(resolve, 100));

  test('[WH6] what is refused comes again, under the same id and with another time; all that is not 2xx is refused', async () => {
    const receiver = await aReceiver((_, response) => void response.writeHead(302, { location: '/elsewhere' }).end());
    const hook = await aHook(server, receiver.url, ['roomCreated']);
    const roomId = await aRoom();
    await until('it was tried', () => receiver.received.length > 0);
    receiver.answer = TAKEN;
    await until('it came again', () => receiver.received.length === 2, { timeoutMs: 12_000 });
    const [first, second] = receiver.received;
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(Number(second!.headers['webhook-timestamp'])).toBeGreaterThan(Number(first!.headers['webhook-timestamp']));
    expect(second!.body).toBe(first!.body);
    expect(ofRoom(receiver, hook, roomId)).toHaveLength(2);
  }, 20_000);

  test('[WH7] with the headers that were added, and both secrets for a day after a new one was made', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['roomCreated'], { additionalHeaders: { 'X-Mine': 'yes' } });
    const rolled = await ask(server, `${hook.path}/secret/roll`, { method: 'POST' });
    expect(rolled.json).toEqual({ secret: { value: expect.stringMatching(/^whsec_/) }, message: expect.any(String) });
    await aRoom();
    await until('it came', () => receiver.received.length === 1);
    const { headers, body: rawBody } = receiver.received[0]!;
    expect([headers['x-mine'], headers['content-type']]).toEqual(['yes', 'application/json']);
    for (const secret of [hook.secret, rolled.json.secret.value])
      expect(new WebhookHandler(secret).verifyRequest({ headers, rawBody }).type).toBe('roomCreated');
    const other = `whsec_${Buffer.from('another').toString('base64')}`;
    expect(() => new WebhookHandler(other).verifyRequest({ headers, rawBody })).toThrow();
  });

  test('[WH8] at the rate that the webhook takes', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['roomCreated'], { rateLimit: 5 });
    const beganMs = performance.now();
    await Promise.all(Array.from({ length: 12 }, () => aRoom()));
    await until('all came', () => receiver.received.length === 12);
    const times = receiver.received.map(({ atMs }) => atMs);
    expect(receiver.verified(hook.secret)).toHaveLength(12);
    // Five at first, then one every 200 ms at the earliest; a machine that is busy only makes them later.
    for (const [n, atMs] of times.entries()) expect(atMs - beganMs).toBeGreaterThan((n - 5) * 200 - 50);
  });

  test('[WH9] one that never answers, and one that answers with more than anybody wants, hold up nobody else', async () => {
    const [silent, endless, well] = [await aReceiver(() => undefined), await aReceiver(), await aReceiver()];
    endless.answer = (_, response) => {
      response.writeHead(200);
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(10_000), more);
      };
      more();
    };
    await aHook(server, silent.url, ['roomCreated']);
    await aHook(server, endless.url, ['roomCreated']);
    const hook = await aHook(server, well.url, ['roomCreated']);
    const rooms = await Promise.all(Array.from({ length: 30 }, () => aRoom()));
    await until('all came', () => well.received.length === 30, { timeoutMs: 5_000 });
    expect(well.verified(hook.secret).map(({ data }) => data.roomId)).toEqual(expect.arrayContaining(rooms));
    await until('the endless one was told all, too', () => endless.received.length === 30);
    expect(silent.received.length).toBeGreaterThan(0);
    expect(silent.received.length).toBeLessThanOrEqual(8 * 3); // its own slots on each worker
  });

  test('[WH10] a webhook that is disabled or deleted hears no more; what waited can be recovered', async () => {
    const receiver = await aReceiver(refused(500));
    const hook = await aHook(server, receiver.url, ['roomCreated']);
    const [enabled, since] = [await aReceiver(), new Date(Date.now() - 60_000).toISOString()];
    await aHook(server, enabled.url, ['roomCreated']);
    const missed = await aRoom();
    await until('it was tried', () => receiver.received.length === 1);
    await settled();
    expect((await ask(server, hook.path, { json: { disabled: true } })).json.disabled).toBe(true);
    receiver.answer = TAKEN;
    await aRoom(); // the other one alone is told
    await until('it was told', () => enabled.received.length === 2);
    expect((await ask(server, `${hook.path}/recover-failed-messages`, { json: { since } })).status).toBe(422);
    expect((await ask(server, hook.path, { json: { disabled: false } })).json.disabled).toBe(false);
    expect(receiver.received).toHaveLength(1);
    expect((await ask(server, `${hook.path}/recover-failed-messages`, { json: { since } })).status).toBe(200);
    await until('it came after all', () => receiver.received.length === 2);
    await settled();
    expect(ofRoom(receiver, hook, missed)).toHaveLength(2);
    expect((await ask(server, hook.path, { method: 'DELETE' })).status).toBe(200);
    await aRoom();
    await settled();
    expect(receiver.received).toHaveLength(2);
  });

  test('[WH11] a test message is sent at once, and once', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(server, receiver.url, ['threadCreated']);
    const test = () => ask(server, `${hook.path}/test`, { json: { subscribedEvent: 'threadCreated' } });
    const { json } = await test();
    expect(json).toEqual({ message: { id: expect.stringMatching(/^msg_/), deliveredAt: ISO } });
    expect(receiver.verified(hook.secret)).toMatchObject([{ type: 'threadCreated', data: { projectId: 'proj_1' } }]);
    expect(receiver.received[0]!.headers['webhook-id']).toBe(json.message.id);
    receiver.answer = refused(500);
    expect((await test()).json.message.deliveredAt).toBeNull();
    receiver.stop();
    expect((await test()).json.message.deliveredAt).toBeNull();
    expect((await ask(server, `${hook.path}/test`, { json: { subscribedEvent: 'roomCreated' } })).status).toBe(422);
  });
});
