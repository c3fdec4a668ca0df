/** The contract's threads, comments, reactions and subscriptions, row by row, over HTTP. @see contract.test.ts */
import { describe, expect, test } from 'vitest';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import type { Answer } from '../support/e2e/rest.ts';
import { aServer } from '../support/e2e/server.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);

const TIME = '2026-01-02T03:04:05.678Z';
const says = (text: string, ...mentions: string[]) => ({
  version: 1,
  content: [{ type: 'paragraph', children: [{ text }, ...mentions.map((id) => ({ type: 'mention', kind: 'user', id }))] }],
});
const by = (userId: string, text = 'hi', more: object = {}) => ({ userId, body: says(text), ...more });
const threadsOf = (roomId: string) => `${at(roomId)}/threads`;
const post = (path: string, json: unknown) => call(`POST ${path}`, { json });

interface Place {
  readonly roomId: string;
  readonly threadId: string;
  readonly commentId: string;
  /** Paths of the thread and of its first comment. */
  readonly thread: string;
  readonly comment: string;
}
async function aThread(more: object = {}, roomId?: string): Promise<Place> {
  const room = roomId ?? (await aRoom());
  const answer = await post(threadsOf(room), { comment: by('mia'), ...more });
  if (answer.status !== 200) throw new Error(`no thread: ${answer.status} ${answer.text}`);
  const { id: threadId, comments } = answer.json;
  const thread = `${threadsOf(room)}/${threadId}`;
  return { roomId: room, threadId, commentId: comments[0].id, thread, comment: `${thread}/comments/${comments[0].id}` };
}
const noThread = (id: string) => `404 RESOURCE_NOT_FOUND The thread "${id}" does not exist.`;
const noComment = (id: string) => `404 RESOURCE_NOT_FOUND The comment "${id}" does not exist.`;
const ids = ({ json }: Answer): string[] => json.data.map(({ id }: { id: string }) => id);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('threads', () => {
  test('[contract: POST /rooms/{roomId}/threads] 200 with the exact keys of a thread and its first comment', async () => {
    const roomId = await aRoom();
    const { status, json } = await post(threadsOf(roomId), { comment: by('mia') });
    const id = expect.stringMatching(/^th_[\w-]{21}$/);
    expect([status, json]).toEqual([
      200,
      {
        ...{ type: 'thread', id, roomId, createdAt: time, updatedAt: time, metadata: {}, resolved: false, visibility: 'public' },
        comments: [
          {
            ...{
              type: 'comment',
              id: expect.stringMatching(/^cm_[\w-]{21}$/),
              threadId: json.id,
              roomId,
              userId: 'mia',
              createdAt: time,
            },
            ...{ body: says('hi'), metadata: {}, reactions: [], attachments: [] },
          },
        ],
      },
    ]);
    expect(json.updatedAt).toBe(json.createdAt);
  });

  test('[contract: POST /rooms/{roomId}/threads] all that may be given is taken: metadata, visibility, a time in any zone', async () => {
    const comment = { ...by('mia', 'x'), createdAt: '2020-01-02T03:04:05+01:00', metadata: { a: true, b: 'c', n: 1.5 } };
    const metadata = { text: 'x'.repeat(4_000), [`k${'k'.repeat(39)}`]: -1, done: false };
    const { json } = await post(threadsOf(await aRoom()), { comment, metadata, visibility: 'private' });
    expect(json).toMatchObject({
      metadata,
      visibility: 'private',
      createdAt: '2020-01-02T02:04:05.000Z',
      updatedAt: '2020-01-02T02:04:05.000Z',
    });
    expect(json.comments[0]).toMatchObject({ metadata: comment.metadata, createdAt: '2020-01-02T02:04:05.000Z' });
    const empty = { comment: { userId: 'mia', body: { version: 1, content: [] } }, metadata: {} };
    expect((await post(threadsOf(await aRoom()), empty)).json.comments[0].body).toEqual({ version: 1, content: [] });
  });

  test.each<[name: string, body: object, message: string]>([
    ['no comment (row 98)', {}, "Missing key 'comment'"],
    ['no body (row 98)', { comment: { userId: 'mia' } }, "Missing key 'comment.body'"],
    ['no user (row 98)', { comment: { body: says('x') } }, "Missing key 'comment.userId'"],
    ['a user without a name', { comment: by('') }, "'comment.userId' must have 1 to 128 characters"],
    ['a user of 129 characters', { comment: by('u'.repeat(129)) }, "'comment.userId' must have 1 to 128 characters"],
    ['version 2 (row 99)', { comment: { userId: 'mia', body: { version: 2, content: [] } } }, "'comment.body.version' must be 1"],
    [
      'content that is no array (row 99)',
      { comment: { userId: 'mia', body: { version: 1, content: {} } } },
      "'comment.body.content' must be an array",
    ],
    [
      'another block',
      { comment: { userId: 'mia', body: { version: 1, content: [{ type: 'code', children: [] }] } } },
      "'comment.body.content.0.type'",
    ],
    [
      'an unknown inline',
      { comment: { userId: 'mia', body: { version: 1, content: [{ type: 'paragraph', children: [{ type: 'image' }] }] } } },
      "'comment.body.content.0.children.0",
    ],
    [
      '11 attachments (row 100)',
      { comment: by('mia', 'x', { attachmentIds: Array(11).fill('at_x') }) },
      "'comment.attachmentIds' must have at most 10 items",
    ],
    [
      'an attachment that is not there (row 101)',
      { comment: by('mia', 'x', { attachmentIds: [`at_${'a'.repeat(21)}`] }) },
      "'attachmentIds",
    ],
    [
      'a string of 4001 (row 102)',
      { comment: by('mia'), metadata: { a: 'x'.repeat(4_001) } },
      "'metadata.a' must have at most 4000 characters",
    ],
    ['null in metadata (row 102)', { comment: by('mia'), metadata: { a: null } }, "'metadata.a' must be"],
    ['an array in metadata (row 102)', { comment: by('mia'), metadata: { a: [] } }, "'metadata.a' must be"],
    ['a key of 41', { comment: by('mia'), metadata: { ['k'.repeat(41)]: 1 } }, '1 to 40 characters'],
    [
      '51 entries',
      { comment: by('mia'), metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])) },
      'at most 50 entries',
    ],
    [
      'metadata of the comment',
      { comment: by('mia', 'x', { metadata: { a: '\0' } }) },
      "'comment.metadata.a' may not hold U+0000",
    ],
    [
      'a time that is none (row 103)',
      { comment: by('mia', 'x', { createdAt: 'yesterday' }) },
      "'comment.createdAt' must be a date-time",
    ],
    [
      'a day that no calendar has (row 103)',
      { comment: by('mia', 'x', { createdAt: '2026-02-30T00:00:00Z' }) },
      "'comment.createdAt' must be a date-time",
    ],
    ['visibility secret (row 103)', { comment: by('mia'), visibility: 'secret' }, "'visibility' must be 'public' or 'private'"],
    ['a key too many', { comment: by('mia'), id: 'th_x' }, "'id' is not known here"],
    ['a key too many in the comment', { comment: by('mia', 'x', { id: 'cm_x' }) }, "'comment.id' is not known here"],
  ])('[contract: POST /rooms/{roomId}/threads] 422: %s', async (_, json, message) => {
    const roomId = await aRoom();
    expectMalformed(await post(threadsOf(roomId), json), message);
    expect(ids(await call(`GET ${threadsOf(roomId)}`))).toEqual([]);
  });

  test('[contract: GET /rooms/{roomId}/threads] 200 with all threads, newest first, and only those a query lets through', async () => {
    const roomId = await aRoom();
    const made = [];
    for (const metadata of [{ status: 'open' }, { status: 'open', p: 3 }, { status: 'done' }])
      made.push((await aThread({ metadata }, roomId)).threadId);
    const [first, second, third] = made as [string, string, string];
    const { threadId: hidden } = await aThread({ visibility: 'private' }, roomId);
    await post(`${threadsOf(roomId)}/${third}/mark-as-resolved`, { userId: 'mia' });
    const listed = (query: string) => call(`GET ${threadsOf(roomId)}?query=${encodeURIComponent(query)}`);
    const all = await call(`GET ${threadsOf(roomId)}`);
    expect([all.status, Object.keys(all.json), ids(all)]).toEqual([200, ['data'], [hidden, third, second, first]]);
    expect(ids(await listed('metadata["status"]:"open" AND metadata["p"]:3'))).toEqual([second]);
    expect(ids(await listed("metadata['status']^'op' resolved:false"))).toEqual([second, first]);
    expect(ids(await listed('resolved:true'))).toEqual([third]);
    expect(ids(await listed('metadata["resolved"]:true'))).toEqual([third]);
    expect(ids(await listed('visibility:"private"'))).toEqual([hidden]);
    expect(ids(await listed(''))).toHaveLength(4);
    expectMalformed(await listed('metadata["status"]'), "'query' fails at column 19"); // row 110
    expectMalformed(await listed('status:"open"'), "'query' fails at column 1");
    expectMalformed(await listed('subscribed:true'), "'query' fails at column 1");
    expect(ids(await call(`GET ${threadsOf(await aRoom())}`))).toEqual([]);
  });

  test('[contract: GET /rooms/{roomId}/threads/{threadId}] 200 as it was made; 404 in another room (row 105), and for what is no id', async () => {
    const { thread, threadId } = await aThread({ metadata: { a: 1 } });
    expect((await call(`GET ${thread}`)).json).toMatchObject({ id: threadId, metadata: { a: 1 } });
    expect(refusal(await call(`GET ${threadsOf(await aRoom())}/${threadId}`))).toBe(noThread(threadId));
    expect(refusal(await call(`GET ${threadsOf(await aRoom())}/x`))).toBe(noThread('x'));
    expect(refusal(await call(`GET ${threadsOf('missing-room')}/${threadId}`))).toContain('404 ROOM_NOT_FOUND');
  });

  test('[contract: DELETE /rooms/{roomId}/threads/{threadId}] 204, and then it is gone with its comments', async () => {
    const { thread, threadId, comment } = await aThread();
    expect(await call(`DELETE ${thread}`)).toEqual(nothing(204));
    for (const path of [`GET ${thread}`, `DELETE ${thread}`, `GET ${comment}`])
      expect(refusal(await call(path))).toBe(noThread(threadId));
  });

  test('[contract: GET /rooms/{roomId}/threads/{threadId}/participants] 200 with authors and mentioned users, each once', async () => {
    const { thread } = await aThread({ comment: { userId: 'mia', body: says('x', 'tom', 'eve') } });
    await post(`${thread}/comments`, by('tom'));
    const { id } = (await post(`${thread}/comments`, by('zoe'))).json;
    expect((await call(`GET ${thread}/participants`)).json).toEqual({ participantIds: ['mia', 'tom', 'eve', 'zoe'] });
    await call(`DELETE ${thread}/comments/${id}`);
    expect((await call(`GET ${thread}/participants`)).json).toEqual({ participantIds: ['mia', 'tom', 'eve'] });
  });

  test('[contract: POST /rooms/{roomId}/threads/{threadId}/metadata] 200 with all metadata; null removes; given times move updatedAt', async () => {
    const { thread } = await aThread({ metadata: { a: 1, b: 'x' } });
    const change = (json: object) => post(`${thread}/metadata`, { userId: 'mia', ...json });
    expect((await change({ metadata: { a: null, c: true } })).json).toEqual({ b: 'x', c: true });
    expect((await change({ metadata: {} })).json).toEqual({ b: 'x', c: true });
    expect((await change({ metadata: { d: 2 }, updatedAt: '2100-01-02T03:04:05Z' })).json).toEqual({ b: 'x', c: true, d: 2 });
    expect((await call(`GET ${thread}`)).json).toMatchObject({
      metadata: { b: 'x', c: true, d: 2 },
      updatedAt: '2100-01-02T03:04:05.000Z',
    });
    expect((await change({ metadata: { d: 3 }, createdAt: TIME })).status).toBe(200);
    expect((await change({ metadata: {}, createdAt: TIME, updatedAt: '2100-02-03T04:05:06Z' })).status).toBe(200);
    expect((await call(`GET ${thread}`)).json).toMatchObject({ updatedAt: '2100-02-03T04:05:06.000Z' });
    expectMalformed(await change({ metadata: { a: [] } }), "'metadata.a' must be");
    expectMalformed(await change({ metadata: {}, updatedAt: 'x' }), "'updatedAt' must be a date-time");
    expectMalformed(await change({}), "Missing key 'metadata'");
    expectMalformed(await post(`${thread}/metadata`, { metadata: {} }), "Missing key 'userId'");
    expectMalformed(
      await change({ metadata: Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, n])) }),
      'at most 50 entries; it would have 53',
    );
  });

  test.each([
    ['mark-as-resolved', true],
    ['mark-as-unresolved', false],
  ])(
    '[contract: POST /rooms/{roomId}/threads/{threadId}/mark-as-resolved] [contract: POST /rooms/{roomId}/threads/{threadId}/mark-as-unresolved] 200 with the thread; again it is unchanged (row 104): %s',
    async (action, resolved) => {
      const { thread, threadId } = await aThread();
      if (!resolved) await post(`${thread}/mark-as-resolved`, { userId: 'mia' });
      const before = (await call(`GET ${thread}`)).json;
      const first = (await post(`${thread}/${action}`, { userId: 'tom' })).json;
      expect(first).toEqual({ ...before, resolved, updatedAt: time });
      expect(first.updatedAt > before.updatedAt).toBe(true);
      expect((await post(`${thread}/${action}`, { userId: 'eve' })).json).toEqual(first);
      expectMalformed(await post(`${thread}/${action}`, {}), "Missing key 'userId'");
      expectMalformed(await post(`${thread}/${action}`, { userId: 'u', more: 1 }), "'more' is not known here");
      expect(refusal(await post(`${threadsOf(await aRoom())}/${threadId}/${action}`, { userId: 'u' }))).toBe(noThread(threadId));
    },
  );
});

describe('subscriptions', () => {
  test('[contract: POST /rooms/{roomId}/threads/{threadId}/subscribe] 200 with the subscription, the same one again', async () => {
    const { thread, threadId } = await aThread();
    const { json } = await post(`${thread}/subscribe`, { userId: 'tom' });
    expect(json).toEqual({ kind: 'thread', subjectId: threadId, createdAt: time });
    expect((await post(`${thread}/subscribe`, { userId: 'tom' })).json).toEqual(json);
    expectMalformed(await post(`${thread}/subscribe`, {}), "Missing key 'userId'");
    expect(refusal(await post(`${threadsOf(await aRoom())}/th_x/subscribe`, { userId: 'tom' }))).toBe(noThread('th_x'));
  });

  test('[contract: POST /rooms/{roomId}/threads/{threadId}/unsubscribe] 200 without a body, whether they were or not', async () => {
    const { thread } = await aThread();
    for (const userId of ['mia', 'tom', 'mia']) expect(await post(`${thread}/unsubscribe`, { userId })).toEqual(nothing(200));
    expect((await call(`GET ${thread}/subscriptions`)).json).toEqual({ data: [] });
    expectMalformed(await post(`${thread}/unsubscribe`, { userId: 1 }), "'userId' must be a string");
  });

  test('[contract: GET /rooms/{roomId}/threads/{threadId}/subscriptions] 200 with all who are subscribed', async () => {
    const { thread, threadId } = await aThread({ comment: { userId: 'mia', body: says('x', 'eve') } });
    await post(`${thread}/subscribe`, { userId: 'tom' });
    const { json } = await call(`GET ${thread}/subscriptions`);
    expect(json.data).toHaveLength(3);
    for (const userId of ['mia', 'eve', 'tom'])
      expect(json.data).toContainEqual({ kind: 'thread', subjectId: threadId, createdAt: time, userId });
  });
});

describe('comments', () => {
  test('[contract: POST /rooms/{roomId}/threads/{threadId}/comments] 200 with the comment, which stands at the end', async () => {
    const { thread, threadId, roomId } = await aThread();
    const { json } = await post(`${thread}/comments`, {
      ...by('tom', 'second'),
      createdAt: '2100-01-02T03:04:05Z',
      metadata: { a: 1 },
    });
    expect(json).toEqual({
      ...{
        type: 'comment',
        id: expect.stringMatching(/^cm_[\w-]{21}$/),
        threadId,
        roomId,
        userId: 'tom',
        createdAt: '2100-01-02T03:04:05.000Z',
      },
      ...{ body: says('second'), metadata: { a: 1 }, reactions: [], attachments: [] },
    });
    expect((await call(`GET ${thread}`)).json.comments.at(-1)).toEqual(json);
    expectMalformed(await post(`${thread}/comments`, { userId: 'tom' }), "Missing key 'body'");
    expectMalformed(await post(`${thread}/comments`, { ...by('tom'), metadata: { a: null } }), "'metadata.a' must be");
    expectMalformed(
      await post(`${thread}/comments`, { ...by('tom'), attachmentIds: Array(11).fill('x') }),
      "'attachmentIds' must have at most 10 items",
    );
    expectMalformed(await post(`${thread}/comments`, { ...by('tom'), attachmentIds: ['at_x'] }), "'attachmentIds"); // row 101
    expectMalformed(await post(`${thread}/comments`, by('tom', 'x'.repeat(65_536))), "'body' may have at most 65536 characters");
    expect((await call(`GET ${thread}`)).json.comments).toHaveLength(2);
  });

  test('[contract: GET /rooms/{roomId}/threads/{threadId}/comments/{commentId}] 200; 404 names what is missing', async () => {
    const { thread, comment, commentId, threadId } = await aThread();
    expect((await call(`GET ${comment}`)).json).toMatchObject({ id: commentId, threadId, body: says('hi') });
    expect(refusal(await call(`GET ${thread}/comments/cm_x`))).toBe(noComment('cm_x'));
    const other = await aThread();
    expect(refusal(await call(`GET ${other.thread}/comments/${commentId}`))).toBe(noComment(commentId));
    expect(refusal(await call(`GET ${threadsOf(await aRoom())}/th_x/comments/${commentId}`))).toBe(noThread('th_x'));
  });

  test('[contract: POST /rooms/{roomId}/threads/{threadId}/comments/{commentId}] 200 with the edited comment; metadata is a change', async () => {
    const { comment } = await aThread({ comment: { ...by('mia'), metadata: { a: 1, b: 2 } } });
    const before = (await call(`GET ${comment}`)).json;
    const edited = (await post(comment, { body: says('better'), editedAt: TIME, metadata: { a: null, c: 3 } })).json;
    expect(edited).toEqual({ ...before, body: says('better'), editedAt: TIME, metadata: { b: 2, c: 3 } });
    expect((await post(comment, { body: says('again') })).json).toEqual({ ...edited, body: says('again'), editedAt: time });
    expectMalformed(await post(comment, {}), "Missing key 'body'");
    expectMalformed(await post(comment, { body: says('x'), userId: 'tom' }), "'userId' is not known here");
    expectMalformed(await post(comment, { body: { version: 2, content: [] } }), "'body.version' must be 1");
    expectMalformed(await post(comment, { body: says('x'), editedAt: '1' }), "'editedAt' must be a date-time");
    expect((await post(comment, { body: says('x'), attachmentIds: [] })).status).toBe(200);
  });

  test('[contract: DELETE /rooms/{roomId}/threads/{threadId}/comments/{commentId}] 204; its place is left, with the last one the thread goes (rows 108 and 109)', async () => {
    const { thread, threadId, comment, commentId } = await aThread();
    const second = (await post(`${thread}/comments`, by('tom'))).json.id;
    expect(await call(`DELETE ${comment}`)).toEqual(nothing(204));
    const left = (await call(`GET ${comment}`)).json;
    expect(left).toMatchObject({ id: commentId, deletedAt: time, metadata: {}, reactions: [], attachments: [] });
    expect(left).not.toHaveProperty('body');
    expect(refusal(await call(`DELETE ${comment}`))).toBe(noComment(commentId));
    expect(refusal(await post(comment, { body: says('x') }))).toBe(noComment(commentId));
    expect(refusal(await post(`${comment}/add-reaction`, { userId: 'u', emoji: 'x' }))).toBe(noComment(commentId));
    expect(refusal(await post(`${comment}/metadata`, { userId: 'u', metadata: {} }))).toBe(noComment(commentId));
    expect(await call(`DELETE ${thread}/comments/${second}`)).toEqual(nothing(204));
    expect(refusal(await call(`GET ${thread}`))).toBe(noThread(threadId));
  });

  test('[contract: POST /rooms/{roomId}/threads/{threadId}/comments/{commentId}/metadata] 200 with all metadata; null removes', async () => {
    const { comment } = await aThread({ comment: { ...by('mia'), metadata: { a: 1, b: 2 } } });
    const change = (json: object) => post(`${comment}/metadata`, { userId: 'tom', ...json });
    expect((await change({ metadata: { a: null, c: 'x' }, updatedAt: TIME })).json).toEqual({ b: 2, c: 'x' });
    expect((await call(`GET ${comment}`)).json.metadata).toEqual({ b: 2, c: 'x' });
    expectMalformed(await change({ metadata: { a: {} } }), "'metadata.a' must be");
    expectMalformed(await change({ metadata: {}, updatedAt: 'x' }), "'updatedAt' must be a date-time");
    expectMalformed(await change({ metadata: {}, createdAt: TIME }), "'createdAt' is not known here");
  });
});

describe('reactions', () => {
  test('[contract: POST /rooms/{roomId}/threads/{threadId}/comments/{commentId}/add-reaction] 200; the same again is 409 (row 106)', async () => {
    const { comment } = await aThread();
    const add = (json: object) => post(`${comment}/add-reaction`, json);
    const first = (await add({ userId: 'mia', emoji: '👍', createdAt: TIME })).json;
    expect(first).toEqual({ emoji: '👍', createdAt: TIME, userId: 'mia' });
    expect(refusal(await add({ userId: 'mia', emoji: '👍' }))).toBe(
      '409 RESOURCE_ALREADY_EXISTS The reaction "👍" exists already.',
    );
    const other = (await add({ userId: 'tom', emoji: '👍' })).json;
    expect((await call(`GET ${comment}`)).json.reactions).toEqual([first, other]);
    expectMalformed(await add({ userId: 'mia' }), "Missing key 'emoji'");
    expectMalformed(await add({ userId: 'mia', emoji: '' }), "'emoji' must have 1 to 64 characters");
    expectMalformed(await add({ userId: 'mia', emoji: 'x', createdAt: 'x' }), "'createdAt' must be a date-time");
  });

  test('[contract: POST /rooms/{roomId}/threads/{threadId}/comments/{commentId}/remove-reaction] 204; an absent one is 404 (row 107)', async () => {
    const { comment } = await aThread();
    await post(`${comment}/add-reaction`, { userId: 'mia', emoji: '👍' });
    const remove = (json: object) => post(`${comment}/remove-reaction`, json);
    expect(refusal(await remove({ userId: 'tom', emoji: '👍' }))).toBe(
      '404 RESOURCE_NOT_FOUND The comment reaction "👍" does not exist.',
    );
    expect(await remove({ userId: 'mia', emoji: '👍', removedAt: TIME })).toEqual(nothing(204));
    expect((await call(`GET ${comment}`)).json.reactions).toEqual([]);
    expect(refusal(await remove({ userId: 'mia', emoji: '👍' }))).toContain('404 RESOURCE_NOT_FOUND');
    expectMalformed(await remove({ userId: 'mia', emoji: 'x', removedAt: 'x' }), "'removedAt' must be a date-time");
  });
});

test('[E2E-CM3] what a back end asks twice under one Idempotency-Key happens once', async () => {
  const roomId = await aRoom();
  const create = () => call(`POST ${threadsOf(roomId)}`, { json: { comment: by('mia') }, key: 'k1' });
  const [first, again] = [await create(), await create()];
  expect(again.json).toEqual(first.json);
  expect(ids(await call(`GET ${threadsOf(roomId)}`))).toEqual([first.json.id]);
});
