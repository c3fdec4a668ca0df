/** Threads and comments with the SDK of browsers and of back ends: what one does, the other sees without asking again. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Message } from '../support/e2e/messages.ts';
import { enterRaw, type RawClient } from '../support/e2e/raw-client.ts';
import { ask } from '../support/e2e/rest.ts';
import { enter } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { accessTokenFor, idTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { backend } = server;

const says = (text: string, ...mentions: string[]): any => ({
  version: 1,
  content: [{ type: 'paragraph', children: [{ text }, ...mentions.map((id) => ({ type: 'mention', kind: 'user', id }))] }],
});
const textOf = ({ body }: any): string =>
  body.content.map(({ children }: any) => children.map((one: any) => one.text).join('')).join('\n');
async function aRoom(fields: object = {}): Promise<string> {
  const roomId = freshRoomId('comments');
  await backend.createRoom(roomId, { defaultAccesses: [], ...fields } as any);
  return roomId;
}

test('[E2E-CM1] the SDK of a back end makes, reads, changes and deletes threads and comments', async () => {
  const roomId = await aRoom();
  const thread = await backend.createThread({
    roomId,
    data: { comment: { userId: 'mia', body: says('first', 'tom') }, metadata: { x: 1, tag: 'a', done: false } },
  });
  expect(thread).toMatchObject({
    type: 'thread',
    roomId,
    resolved: false,
    visibility: 'public',
    metadata: { x: 1, tag: 'a', done: false },
  });
  const { id: threadId } = thread;
  const [first] = thread.comments;
  const commentId = first!.id;
  expect(await backend.getThread({ roomId, threadId })).toEqual(thread);
  const second = await backend.createComment({
    roomId,
    threadId,
    data: { userId: 'tom', body: says('second'), metadata: { n: 1 } },
  });
  expect((await backend.getThread({ roomId, threadId })).comments.map(({ id }) => id)).toEqual([commentId, second.id]);
  expect(await backend.getComment({ roomId, threadId, commentId: second.id })).toEqual(second);
  const edited = await backend.editComment({ roomId, threadId, commentId, data: { body: says('better') } });
  expect([textOf(edited), edited.editedAt]).toEqual(['better', expect.any(Date)]);
  expect(
    await backend.editThreadMetadata({ roomId, threadId, data: { userId: 'mia', metadata: { x: null, tag: 'b' } } }),
  ).toEqual({
    tag: 'b',
    done: false,
  });
  expect(
    await backend.editCommentMetadata({
      roomId,
      threadId,
      commentId: second.id,
      data: { userId: 'mia', metadata: { n: null, m: 2 } },
    }),
  ).toEqual({ m: 2 });
  const reaction = await backend.addCommentReaction({ roomId, threadId, commentId, data: { userId: 'tom', emoji: '👍' } });
  expect(reaction).toEqual({ emoji: '👍', userId: 'tom', createdAt: expect.any(Date) });
  expect((await backend.getComment({ roomId, threadId, commentId })).reactions).toEqual([reaction]);
  await backend.removeCommentReaction({ roomId, threadId, commentId, data: { userId: 'tom', emoji: '👍' } });
  expect((await backend.getComment({ roomId, threadId, commentId })).reactions).toEqual([]);
  expect((await backend.markThreadAsResolved({ roomId, threadId, data: { userId: 'mia' } })).resolved).toBe(true);
  expect((await backend.markThreadAsUnresolved({ roomId, threadId, data: { userId: 'mia' } })).resolved).toBe(false);
  expect(await backend.getThreadParticipants({ roomId, threadId })).toEqual({ participantIds: ['mia', 'tom'] });
  const subscription = await backend.subscribeToThread({ roomId, threadId, data: { userId: 'eve' } });
  expect(subscription).toEqual({ kind: 'thread', subjectId: threadId, createdAt: expect.any(Date) });
  const subscribers = async () =>
    (await backend.getThreadSubscriptions({ roomId, threadId })).data.map(({ userId }) => userId).sort();
  expect(await subscribers()).toEqual(['eve', 'mia', 'tom']);
  await backend.unsubscribeFromThread({ roomId, threadId, data: { userId: 'tom' } });
  expect(await subscribers()).toEqual(['eve', 'mia']);
  await backend.deleteComment({ roomId, threadId, commentId: second.id });
  expect((await backend.getThread({ roomId, threadId })).comments.map(({ deletedAt }) => deletedAt)).toEqual([
    undefined,
    expect.any(Date),
  ]);
  const { data } = await backend.getThreads({ roomId, query: { metadata: { tag: 'b' }, resolved: false } });
  expect(data.map(({ id }) => id)).toEqual([threadId]);
  await backend.deleteThread({ roomId, threadId });
  await expect(backend.getThread({ roomId, threadId })).rejects.toMatchObject({ status: 404 });
  expect((await backend.getThreads({ roomId })).data).toEqual([]);
});

describe('two browsers', () => {
  test('[E2E-CM2] what one does with threads and comments reaches the other, which reads the thread then', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    const mia = await enter(server, { roomId, userId: 'mia' });
    const tom = await enter(server, { roomId, userId: 'tom' });
    const heard: any[] = [];
    (tom.room.events as any).comments.subscribe((event: any) => heard.push(event));
    const next = async (...types: number[]): Promise<any> => {
      await until(`${types} comes`, () => heard.length >= types.length);
      const events = heard.splice(0);
      expect(events.map(({ type }) => type)).toEqual(types);
      return events.at(-1);
    };
    const thread = await mia.room.createThread({ body: says('hello'), metadata: { x: 1 } } as any);
    const threadId = thread.id;
    expect(await next(400, 402)).toMatchObject({ threadId, commentId: thread.comments[0]!.id });
    const seen = async (): Promise<any> => (await tom.room.getThread(threadId)).thread;
    expect(await seen()).toEqual(thread);
    const comment = await tom.room.createComment({ threadId, body: says('hi') });
    const commentId = comment.id;
    await next(402);
    await tom.room.editComment({ threadId, commentId, body: says('hi!') } as any);
    expect(await next(403)).toMatchObject({ threadId, commentId });
    await mia.room.addReaction({ threadId, commentId, emoji: '🎉' });
    expect(await next(405)).toMatchObject({ threadId, commentId, emoji: '🎉' });
    expect((await seen()).comments[1].reactions).toEqual([{ emoji: '🎉', createdAt: expect.any(Date), users: [{ id: 'mia' }] }]);
    await mia.room.removeReaction({ threadId, commentId, emoji: '🎉' });
    await next(406);
    await mia.room.markThreadAsResolved(threadId);
    await next(408);
    expect((await seen()).resolved).toBe(true);
    await mia.room.markThreadAsUnresolved(threadId);
    await next(408);
    expect(await mia.room.editThreadMetadata({ threadId, metadata: { x: null, y: 'z' } } as any)).toEqual({ y: 'z' });
    await next(401);
    expect(await (mia.room as any).editCommentMetadata({ threadId, commentId, metadata: { a: true } })).toEqual({ a: true });
    expect(await next(409)).toMatchObject({ threadId, commentId });
    await tom.room.deleteComment({ threadId, commentId });
    await next(404);
    expect((await seen()).comments[1]).toMatchObject({
      id: commentId,
      deletedAt: expect.any(Date),
      reactions: [],
      attachments: [],
    });
    await mia.room.deleteThread(threadId);
    expect(await next(407)).toMatchObject({ threadId });
    expect(await seen()).toBeUndefined();
  });
});

const newId = (prefix: string): string => `${prefix}${randomBytes(16).toString('base64url').slice(0, 21)}`;
const inRoom = (roomId: string, rest: string): string => `/v2/c/rooms/${encodeURIComponent(roomId)}${rest}`;
const threadBody = (text = 'hi', more: object = {}) => ({
  id: newId('th_'),
  comment: { id: newId('cm_'), body: says(text) },
  ...more,
});
/** Asks as a user with these scopes everywhere. */
const as = async (userId: string, ...scopes: string[]) => {
  const permissions = { '*': scopes.length === 0 ? ['*:write'] : scopes };
  const bearer = await accessTokenFor(server, { userId, permissions });
  return (methodAndPath: string, json?: unknown) => {
    const [method, path] = methodAndPath.split(' ') as [string, string];
    return ask(server, path, { method, bearer, ...(json !== undefined && { json }) });
  };
};
const said = ({ status, text }: { status: number; text: string }) => `${status} ${status < 400 ? '' : JSON.parse(text).message}`;
const commentEvents = (client: RawClient): Message[] => client.inbox.filter(({ type }) => type >= 400 && type < 410);

describe('visibility', () => {
  test('[E2E-CM4] of a private thread nothing reaches who may not read it: no event, no list, no search, no change', async () => {
    const roomId = await aRoom();
    const insider = { userId: 'mia', permissions: { '*': ['*:write'] } };
    const outsider = { userId: 'tom', permissions: { '*': ['*:write', 'comments:private:none'] } };
    const [inside, outside] = [await enterRaw(server, { roomId, ...insider }), await enterRaw(server, { roomId, ...outsider })];
    const mia = await as('mia');
    const tom = await as('tom', '*:write', 'comments:private:none');
    const body = threadBody('secret', { visibility: 'private' });
    expect((await mia(`POST ${inRoom(roomId, '/threads')}`, body)).status).toBe(200);
    const open = threadBody('open secret');
    await mia(`POST ${inRoom(roomId, '/threads')}`, open);
    await until('the events of the second thread have come', () => commentEvents(outside).some(({ type }) => type === 402));
    await until('all events have come', () => commentEvents(inside).length === 4);
    expect(commentEvents(outside).map(({ threadId }) => threadId)).toEqual([open.id, open.id]);
    expect(new Set(commentEvents(inside).map(({ threadId }) => threadId))).toEqual(new Set([body.id, open.id]));
    const thread = inRoom(roomId, `/threads/${body.id}`);
    const comment = `${thread}/comments/${body.comment.id}`;
    const gone = `404 The thread "${body.id}" does not exist.`;
    for (const request of [
      () => tom(`GET ${inRoom(roomId, `/thread-with-notification/${body.id}`)}`),
      () => tom(`DELETE ${thread}`),
      () => tom(`POST ${thread}/metadata`, {}),
      () => tom(`POST ${thread}/mark-as-resolved`),
      () => tom(`POST ${thread}/subscribe`),
      () => tom(`POST ${thread}/unsubscribe`),
      () => tom(`POST ${thread}/comments`, { id: newId('cm_'), body: says('x') }),
      () => tom(`POST ${comment}`, { body: says('x') }),
      () => tom(`POST ${comment}/reactions`, { emoji: 'x' }),
      () => tom(`DELETE ${comment}`),
    ])
      expect(said(await request())).toBe(gone);
    const listed = async (asker: typeof tom, path: string) => (await asker(`GET ${inRoom(roomId, path)}`)).json.data;
    expect(await listed(tom, '/threads')).toMatchObject([{ id: open.id }]);
    expect(await listed(tom, "/threads?query=visibility:'private'")).toEqual([]);
    expect(await listed(tom, '/threads/delta?since=2020-01-01T00:00:00Z')).toMatchObject([{ id: open.id }]);
    expect(await listed(tom, '/threads/comments/search?text=secret')).toMatchObject([{ threadId: open.id }]);
    expect(await listed(mia, '/threads')).toHaveLength(2);
    expect(await listed(mia, '/threads/comments/search?text=secret')).toHaveLength(2);
    expect(said(await tom(`POST ${inRoom(roomId, '/threads')}`, threadBody('x', { visibility: 'private' })))).toBe(
      '403 The user lacks the permission comments:private:write on this room.',
    );
    await mia(`DELETE ${thread}`);
    const deleted = async (asker: typeof tom) =>
      (await asker(`GET ${inRoom(roomId, '/threads/delta?since=2020-01-01T00:00:00Z')}`)).json.deletedThreads;
    expect(await deleted(mia)).toEqual([{ type: 'deletedThread', id: body.id, roomId, deletedAt: expect.any(String) }]);
    expect(await deleted(tom)).toEqual([]);
  });

  test('[E2E-CM5] who may read and not write is refused with 403, and hears of everything', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:read'] });
    const reader = await enter(server, { roomId, userId: 'tom', token: () => idTokenFor(server, { userId: 'tom' }) });
    const { id: threadId } = await backend.createThread({ roomId, data: { comment: { userId: 'mia', body: says('x') } } });
    expect((await reader.room.getThread(threadId)).thread).toMatchObject({ id: threadId });
    await expect(reader.room.createThread({ body: says('x') } as any)).rejects.toMatchObject({ status: 403 });
    await expect(reader.room.createComment({ threadId, body: says('x') } as any)).rejects.toMatchObject({ status: 403 });
    await expect(reader.room.markThreadAsResolved(threadId)).rejects.toMatchObject({ status: 403 });
    await reader.room.subscribeToThread(threadId);
    await backend.updateRoom(roomId, { defaultAccesses: ['*:read', 'comments:write'] });
    expect(await reader.room.createComment({ threadId, body: says('x') } as any)).toMatchObject({ userId: 'tom' });
  });
});

describe('users', () => {
  test('[E2E-CM6] only its author edits and deletes a comment, and deletes a thread; all who may write do the rest', async () => {
    const roomId = await aRoom();
    const [mia, tom] = [await as('mia'), await as('tom')];
    const body = threadBody();
    await mia(`POST ${inRoom(roomId, '/threads')}`, body);
    const thread = inRoom(roomId, `/threads/${body.id}`);
    const comment = `${thread}/comments/${body.comment.id}`;
    for (const request of [
      () => tom(`POST ${comment}`, { body: says('x') }),
      () => tom(`DELETE ${comment}`),
      () => tom(`DELETE ${thread}`),
    ])
      expect(said(await request())).toBe('403 Only its author may do this.');
    expect((await tom(`POST ${comment}/metadata`, { a: 1 })).json).toEqual({ a: 1 });
    expect((await tom(`POST ${thread}/metadata`, { a: 1 })).json).toEqual({ a: 1 });
    expect((await tom(`POST ${thread}/mark-as-resolved`)).json).toEqual({});
    expect((await mia(`DELETE ${thread}`)).status).toBe(204);
  });

  test('[E2E-CM7] what a client sends again under the same ids happens once; under the ids of others it is refused', async () => {
    const roomId = await aRoom();
    const [mia, tom] = [await as('mia'), await as('tom')];
    const body = threadBody('first', { metadata: { a: 1 } });
    const create = (asker: typeof mia) => asker(`POST ${inRoom(roomId, '/threads')}`, body);
    const first = (await create(mia)).json;
    expect(first).toMatchObject({
      id: body.id,
      metadata: { a: 1 },
      comments: [{ id: body.comment.id, userId: 'mia', reactions: [] }],
    });
    expect((await create(mia)).json).toEqual(first);
    expect(said(await create(tom))).toBe(`409 The thread "${body.id}" exists already.`);
    const thread = inRoom(roomId, `/threads/${body.id}`);
    const comment = { id: newId('cm_'), body: says('second') };
    const added = (await mia(`POST ${thread}/comments`, comment)).json;
    expect((await mia(`POST ${thread}/comments`, comment)).json).toEqual(added);
    expect(said(await tom(`POST ${thread}/comments`, comment))).toBe(`409 The comment "${comment.id}" exists already.`);
    const reactions = `${thread}/comments/${comment.id}/reactions`;
    const reaction = (await mia(`POST ${reactions}`, { emoji: '❤️' })).json;
    expect((await mia(`POST ${reactions}`, { emoji: '❤️' })).json).toEqual(reaction);
    for (let n = 0; n < 2; n += 1) expect((await mia(`DELETE ${reactions}/${encodeURIComponent('❤️')}`)).status).toBe(204);
    const { thread: read } = (await mia(`GET ${inRoom(roomId, `/thread-with-notification/${body.id}`)}`)).json;
    expect(read.comments.map(({ id }: any) => id)).toEqual([body.comment.id, comment.id]);
    expect((await mia(`DELETE ${thread}`)).status).toBe(204);
    expect(said(await create(mia))).toBe(`409 The thread "${body.id}" exists already.`);
  });

  test('[E2E-CM8] with the public key threads are read and nothing is written', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    const { id: threadId } = await backend.createThread({ roomId, data: { comment: { userId: 'mia', body: says('x') } } });
    const anybody = (path: string, json?: unknown) =>
      ask(server, inRoom(roomId, path), { bearer: server.publicKey, ...(json !== undefined && { json }) });
    expect((await anybody('/threads')).json).toMatchObject({
      data: [{ id: threadId }],
      subscriptions: [],
      inboxNotifications: [],
    });
    const changes = (await anybody('/threads/delta?since=2020-01-01T00:00:00Z')).json;
    expect(changes).toMatchObject({
      data: [{ id: threadId }],
      subscriptions: [],
      deletedSubscriptions: [],
      deletedInboxNotifications: [],
    });
    expect(said(await anybody('/threads', threadBody()))).toBe('403 The user lacks the permission comments:write on this room.');
    const subscribing = await ask(server, inRoom(roomId, `/threads/${threadId}/subscribe`), {
      bearer: server.publicKey,
      json: {},
    });
    expect(said(subscribing)).toBe('403 This needs the token of a user.');
    expect(changes.meta.permissionHints).toEqual({ [roomId]: ['room:write', 'comments:read'] });
    expect((await ask(server, '/v2/c/threads', { bearer: server.publicKey })).status).toBe(403);
  });

  test('[E2E-CM9] threads come in pages of 50, with hints of what the user may do', async () => {
    const roomId = await aRoom();
    const mia = await as('mia');
    const made: string[] = [];
    for (let n = 0; n < 53; n += 1) {
      const body = threadBody(`t${n}`, { metadata: { n } });
      made.unshift(body.id);
      await mia(`POST ${inRoom(roomId, '/threads')}`, body);
    }
    const visitor = await enter(server, { roomId, userId: 'mia' });
    const first = await visitor.room.getThreads();
    expect(first.threads.map(({ id }) => id)).toEqual(made.slice(0, 50));
    expect([first.requestedAt, (first as any).permissionHints]).toEqual([expect.any(Date), { [roomId]: ['room:write'] }]);
    expect(first.subscriptions).toHaveLength(50);
    const second = await visitor.room.getThreads({ cursor: first.nextCursor! });
    expect([second.threads.map(({ id }) => id), second.nextCursor]).toEqual([made.slice(50), null]);
    const some = await visitor.room.getThreads({ query: { metadata: { n: { gt: 49, lte: 51 } } as any, resolved: false } });
    expect(some.threads.map(({ metadata }: any) => metadata.n)).toEqual([51, 50]);
    expect(said(await mia(`GET ${inRoom(roomId, '/threads?cursor=x')}`))).toContain(
      "422 Value at key 'cursor' is not a cursor of this list",
    );
  });

  test('[E2E-CM15] a room that a user may make by entering has no threads yet, and says what they may do there; to others it is not there', async () => {
    const roomId = freshRoomId('not-made');
    const mia = await as('mia');
    const { json } = await mia(`GET ${inRoom(roomId, '/threads')}`);
    const nothing = { data: [], inboxNotifications: [], subscriptions: [] };
    const hints = { requestedAt: expect.any(String), permissionHints: { [roomId]: ['room:write'] } };
    expect(json).toEqual({ ...nothing, meta: { ...hints, nextCursor: null } });
    const changes = (await mia(`GET ${inRoom(roomId, `/threads/delta?since=${json.meta.requestedAt}`)}`)).json;
    expect(changes).toEqual({
      ...nothing,
      deletedThreads: [],
      deletedInboxNotifications: [],
      deletedSubscriptions: [],
      meta: hints,
    });
    expect((await mia(`GET ${inRoom(roomId, '/threads/comments/search?text=x')}`)).json).toEqual({ data: [] });
    expect(said(await mia(`GET ${inRoom(roomId, '/thread-with-notification/th_x')}`))).toBe(
      '404 The thread "th_x" does not exist.',
    );
    const bearers = [await idTokenFor(server, { userId: 'mia' }), server.publicKey, server.secretKey];
    for (const bearer of bearers)
      expect(said(await ask(server, inRoom(roomId, '/threads'), { bearer }))).toBe(`404 The room "${roomId}" does not exist.`);
    expect((await mia(`POST ${inRoom(roomId, '/threads')}`, threadBody())).status).toBe(404);
  });

  test('[E2E-CM10] a client that asks since its last answer hears what is new, changed, deleted and unsubscribed', async () => {
    const roomId = await aRoom();
    const { room } = await enter(server, { roomId, userId: 'mia' });
    const kept = await room.createThread({ body: says('kept') } as any);
    const dropped = await room.createThread({ body: says('dropped') } as any);
    const { requestedAt } = await room.getThreads();
    await room.editThreadMetadata({ threadId: kept.id, metadata: { a: 1 } } as any);
    await room.deleteThread(dropped.id);
    await room.unsubscribeFromThread(kept.id);
    const changes: any = await room.getThreadsSince({ since: requestedAt });
    expect(changes.threads.updated).toMatchObject([{ id: kept.id, metadata: { a: 1 } }]);
    expect(changes.threads.deleted).toMatchObject([{ id: dropped.id, roomId }]);
    expect(changes.subscriptions.updated).toEqual([]);
    expect(changes.subscriptions.deleted).toMatchObject([{ kind: 'thread', subjectId: kept.id, deletedAt: expect.any(Date) }]);
    expect(changes.permissionHints).toEqual({ [roomId]: ['room:write'] });
    const { subjectId } = await room.subscribeToThread(kept.id);
    expect(subjectId).toBe(kept.id);
    expect((await room.getThread(kept.id)).subscription).toMatchObject({ subjectId: kept.id });
    const mia = await as('mia');
    expect(said(await mia(`GET ${inRoom(roomId, '/threads/delta?since=x')}`))).toContain(
      "422 Value at key 'since' must be a time",
    );
  });

  test('[E2E-CM11] a user reads the threads they take part in, in all rooms that they may enter', async () => {
    const userId = `user-${randomBytes(4).toString('hex')}`;
    const rooms = [await aRoom(), await aRoom(), await aRoom()];
    const threads: string[] = [];
    for (const [n, roomId] of rooms.entries())
      threads.push(
        (
          await backend.createThread({
            roomId,
            data: { comment: { userId: n === 1 ? 'tom' : 'mia', body: says('x', ...(n === 1 ? [] : [userId])) } },
          })
        ).id,
      );
    const [first, , third] = threads as [string, string, string];
    const everywhere = await as(userId);
    const page = (await everywhere('GET /v2/c/threads')).json;
    expect(page.threads.map(({ id }: any) => id)).toEqual([third, first]);
    expect(page.meta).toEqual({
      requestedAt: expect.any(String),
      nextCursor: null,
      permissionHints: { [rooms[0]!]: ['room:write'], [rooms[2]!]: ['room:write'] },
    });
    const paged = (await everywhere('GET /v2/c/threads?limit=1')).json;
    expect((await everywhere(`GET /v2/c/threads?limit=1&cursor=${paged.meta.nextCursor}`)).json.threads).toMatchObject([
      { id: first },
    ]);
    const bearer = await accessTokenFor(server, {
      userId,
      permissions: { [rooms[0]!]: ['*:write'], [rooms[2]!]: ['*:write', 'comments:none'] },
    });
    const some = await ask(server, '/v2/c/threads', { bearer });
    expect(some.json.threads.map(({ id }: any) => id)).toEqual([first]);
    await backend.deleteThread({ roomId: rooms[2]!, threadId: third });
    await backend.editThreadMetadata({ roomId: rooms[0]!, threadId: first, data: { userId: 'mia', metadata: { a: 1 } } });
    const changes = (await everywhere(`GET /v2/c/threads/delta?since=${page.meta.requestedAt}`)).json;
    expect(changes.threads).toMatchObject([{ id: first, metadata: { a: 1 } }]);
    expect(changes.deletedThreads).toMatchObject([{ id: third, roomId: rooms[2] }]);
  });

  test('[E2E-CM12] a search of the SDK finds comments by their words and by what their threads are', async () => {
    const roomId = await aRoom();
    const { room } = await enter(server, { roomId, userId: 'mia' });
    const thread = await room.createThread({ body: says('The quick brown fox'), metadata: { k: "it's" } } as any);
    await room.createThread({ body: says('A slow fox', 'tom') } as any);
    const mia = await as('mia');
    const search = async (text: string, query = '') =>
      (
        await mia(
          `GET ${inRoom(roomId, `/threads/comments/search?text=${encodeURIComponent(text)}&query=${encodeURIComponent(query)}`)}`,
        )
      ).json.data;
    expect(await search('QUICK fox')).toEqual([
      { threadId: thread.id, commentId: thread.comments[0]!.id, content: 'The quick brown fox' },
    ]);
    expect(await search('fox')).toHaveLength(2);
    expect(await search('fox', `threadMetadata['k']:"it's" threadResolved:false`)).toMatchObject([{ threadId: thread.id }]);
    expect(await search('fox', 'hasMentions:true hasAttachments:false')).toMatchObject([{ content: 'A slow fox@tom' }]);
  });

  test('[E2E-CM13] a comment shows the files that its author uploaded, and no others', async () => {
    const roomId = await aRoom();
    const [mia, tom] = [await enter(server, { roomId, userId: 'mia' }), await enter(server, { roomId, userId: 'tom' })];
    const attachment = (mia.room as any).prepareAttachment(new File(['hello'], 'a.txt', { type: 'text/plain' }));
    const uploaded = await (mia.room as any).uploadAttachment(attachment);
    const create = (room: any) => room.createThread({ body: says('see'), attachmentIds: [uploaded.id] });
    await expect(create(tom.room)).rejects.toMatchObject({ status: 422 });
    const thread = await create(mia.room);
    expect(thread.comments[0].attachments).toEqual([
      { type: 'attachment', id: uploaded.id, name: 'a.txt', size: 5, mimeType: 'text/plain' },
    ]);
    const seen = async () => (await tom.room.getThread(thread.id)).thread!.comments[0] as any;
    expect((await seen()).attachments).toEqual(thread.comments[0].attachments);
    await (mia.room as any).editComment({
      threadId: thread.id,
      commentId: thread.comments[0].id,
      body: says('x'),
      attachmentIds: [],
    });
    expect((await seen()).attachments).toEqual([]);
  });
});

test('[E2E-CM14] what a back end does reaches those in the room, with the codes of the protocol and ids alone', async () => {
  const roomId = await aRoom();
  const client = await enterRaw(server, { roomId, userId: 'tom' });
  const { id: threadId, comments } = await backend.createThread({
    roomId,
    data: { comment: { userId: 'mia', body: says('x') } },
  });
  const commentId = comments[0]!.id;
  const at = { roomId, threadId };
  await backend.editThreadMetadata({ ...at, data: { userId: 'mia', metadata: { a: 1 } } });
  await backend.editComment({ ...at, commentId, data: { body: says('y') } });
  await backend.addCommentReaction({ ...at, commentId, data: { userId: 'mia', emoji: '👍' } });
  await backend.removeCommentReaction({ ...at, commentId, data: { userId: 'mia', emoji: '👍' } });
  await backend.editCommentMetadata({ ...at, commentId, data: { userId: 'mia', metadata: { a: 1 } } });
  await backend.markThreadAsResolved({ ...at, data: { userId: 'mia' } });
  await backend.deleteComment({ ...at, commentId });
  await until('the thread is reported deleted', () => commentEvents(client).some(({ type }) => type === 407));
  await until('all have come', () => commentEvents(client).length === 10);
  const events = commentEvents(client).sort((left, right) => left.type - right.type);
  expect(events).toEqual([
    { type: 400, threadId },
    { type: 401, threadId },
    { type: 402, threadId, commentId },
    { type: 403, threadId, commentId },
    { type: 404, threadId, commentId },
    { type: 405, threadId, commentId, emoji: '👍' },
    { type: 406, threadId, commentId, emoji: '👍' },
    { type: 407, threadId },
    { type: 408, threadId },
    { type: 409, threadId, commentId },
  ]);
});
