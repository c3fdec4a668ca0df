/** Changes of threads and comments against a real Postgres: what they leave, what they tell, and who comes first. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  addReaction,
  deleteComment,
  editComment,
  removeReaction,
  setCommentMetadata,
} from '../../../src/features/comments/comments/queries.ts';
import { BODY_LIMITS } from '../../../src/features/comments/comments/rules.ts';
import { deleteThread, setResolved, setThreadMetadata } from '../../../src/features/comments/threads/queries.ts';
import { BACK_END, THREAD_LIMITS } from '../../../src/features/comments/threads/rules.ts';
import { deleteRoom } from '../../../src/features/rooms/queries.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { usePostgres } from '../../support/postgres.ts';
import { untilBlocked } from '../../support/streams.ts';
import { NOW_MS, says, type Threads, threadsIn } from './a-thread.ts';

const db: Sql = await usePostgres().open();
let threads: Threads;
beforeEach(async () => {
  threads = await threadsIn(db);
});

const atMs = NOW_MS;
const edit = (commentId: string, text: string, ...mentions: string[]) =>
  threads.change('th', (change) =>
    editComment(change, {
      commentId,
      viewer: BACK_END,
      body: says(text, ...mentions),
      metadata: {},
      attachmentIds: undefined,
      atMs,
    }),
  );
const remove = (commentId: string) =>
  threads.change('th', (change) => deleteComment(change, { commentId, viewer: BACK_END, atMs }));
const participants = async () =>
  (
    await db.query(sql<{ userId: string }>`
      select user_id as "userId" from thread_subscriptions s join threads t on t.pk = s.thread_pk
       where t.room_pk = ${threads.roomPk} and takes_part order by user_id`)
  ).map(({ userId }) => userId);
const sizes = async () =>
  (
    await db.query(sql<{ count: number; bytes: number }>`
      select comment_count as count, content_bytes as bytes from threads where room_pk = ${threads.roomPk}`)
  )[0];

/** Drafts of `mia`, by id; each takes some 300 bytes in an answer. */
async function drafts(...letters: string[]): Promise<string[]> {
  const ids = letters.map((letter) => `at_${letter.repeat(21)}`);
  await db.query(sql`
    insert into attachments (room_pk, id, user_id, name, size, mime_type, blob_key)
    select ${threads.roomPk}, id, 'mia', repeat('n', 170), 1, 'text/plain', id from unnest(${ids}::text[]) as id`);
  return ids;
}

describe('threads', () => {
  test('[CM20] a thread has its first comment, and times of its own making: given ones, or now', async () => {
    const pk = await threads.create('th', {
      atMs: NOW_MS - 5_000,
      threadMetadata: { a: 1 },
      metadata: { b: true },
      visibility: 'private',
    });
    const at = '2031-02-03T04:05:01.007Z';
    expect(await threads.read(pk)).toEqual({
      type: 'thread',
      id: 'th',
      roomId: threads.roomId,
      createdAt: at,
      updatedAt: at,
      metadata: { a: 1 },
      resolved: false,
      visibility: 'private',
      comments: [
        {
          ...{ type: 'comment', id: 'th-1', threadId: 'th', roomId: threads.roomId, userId: 'mia', createdAt: at },
          ...{ body: says('th-1'), metadata: { b: true }, reactions: [], attachments: [] },
        },
      ],
    });
    expect(await threads.told()).toEqual(['thread.created', 'comment.created']);
  });

  test('[CM21] the same thread again by the same user stays as it is; by another, or after its deletion, it is refused', async () => {
    const pk = await threads.create('th');
    await threads.add('th', 'second');
    await threads.told();
    expect(await threads.create('th', { body: says('other') })).toBe(pk);
    expect((await threads.read(pk)).comments.map(({ id }) => id)).toEqual(['th-1', 'second']);
    expect(await threads.told()).toEqual([]);
    await expect(threads.create('th', { userId: 'tom' })).rejects.toMatchObject({ code: 'RESOURCE_ALREADY_EXISTS' });
    await threads.change('th', deleteThread);
    await expect(threads.create('th')).rejects.toMatchObject({ code: 'RESOURCE_ALREADY_EXISTS' });
  });

  test('[CM21] nor is one of another visibility the same: who may make public threads need not be one who may read private ones', async () => {
    await threads.create('th', { visibility: 'private' });
    await expect(threads.create('th', { visibility: 'public' })).rejects.toMatchObject({ code: 'RESOURCE_ALREADY_EXISTS' });
  });

  test('[CM21] one that is deleted while it is made again stays deleted', async () => {
    await threads.create('th');
    let again: Promise<unknown> = Promise.resolve();
    await threads.change('th', async (change) => {
      await deleteThread(change);
      again = expect(threads.create('th')).rejects.toMatchObject({ code: 'RESOURCE_ALREADY_EXISTS' });
      await untilBlocked(db); // it waits for the end of this
    });
    await again;
    expect(await db.query(sql`select 1 from threads where room_pk = ${threads.roomPk}`)).toEqual([]);
  });

  test('[CM22] updatedAt rises with every change, whatever time is given with it', async () => {
    const pk = await threads.create('th');
    let before = (await threads.read(pk)).updatedAt;
    const past = NOW_MS - 1_000_000;
    const steps: Record<string, () => Promise<unknown>> = {
      comment: () => threads.add('th', 'c', { atMs: past }),
      edit: () => edit('c', 'better'),
      metadata: () => threads.change('th', (change) => setThreadMetadata(change, { changes: { a: 1 }, by: 'mia', atMs: past })),
      commentMetadata: () =>
        threads.change('th', (change) =>
          setCommentMetadata(change, { commentId: 'c', changes: { a: 1 }, by: 'mia', atMs: past }),
        ),
      resolve: () => threads.change('th', (change) => setResolved(change, { resolved: true, by: 'mia', atMs: past })),
      unresolve: () => threads.change('th', (change) => setResolved(change, { resolved: false, by: 'mia', atMs: past })),
      react: () =>
        threads.change('th', (change) => addReaction(change, { commentId: 'c', emoji: 'x', userId: 'mia', atMs: past })),
      unreact: () =>
        threads.change('th', (change) => removeReaction(change, { commentId: 'c', emoji: 'x', userId: 'mia', atMs: past })),
      delete: () => remove('c'),
    };
    for (const [name, step] of Object.entries(steps)) {
      await step();
      const after = (await threads.read(pk)).updatedAt;
      expect(after > before, name).toBe(true);
      before = after;
    }
    const future = NOW_MS + 3_600_000;
    await threads.add('th', 'd', { atMs: future });
    expect((await threads.read(pk)).updatedAt).toBe(new Date(future).toISOString());
    expect(await threads.told()).toEqual([
      ...[
        'thread.created',
        'comment.created',
        'comment.created',
        'comment.edited',
        'thread.metadata-updated',
        'comment.metadata-updated',
      ],
      ...[
        'thread.resolved',
        'thread.unresolved',
        'comment.reaction-added',
        'comment.reaction-removed',
        'comment.deleted',
        'comment.created',
      ],
    ]);
  });

  test('[CM23] what is resolved already stays as it was, and nobody is told (row 104)', async () => {
    const pk = await threads.create('th');
    const resolve = () => threads.change('th', (change) => setResolved(change, { resolved: true, by: 'mia', atMs }));
    await resolve();
    const before = await threads.read(pk);
    await threads.told();
    await resolve();
    expect(await threads.read(pk)).toEqual(before);
    expect(await threads.told()).toEqual([]);
  });

  test('[CM24] a change that fails leaves nothing, in the outbox neither', async () => {
    const pk = await threads.create('th');
    const before = await threads.read(pk);
    await threads.told();
    const failing = threads.change('th', async (change) => {
      await setThreadMetadata(change, { changes: { a: 1 }, by: 'mia', atMs });
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(await threads.read(pk)).toEqual(before);
    expect(await threads.told()).toEqual([]);
  });
});

describe('comments', () => {
  test('[CM25] stand oldest first, by the times they were given', async () => {
    const pk = await threads.create('th');
    await threads.add('th', 'later', { atMs: NOW_MS + 10 });
    await threads.add('th', 'earlier', { atMs: NOW_MS - 10 });
    await threads.add('th', 'same', { atMs: NOW_MS + 10 });
    expect((await threads.read(pk)).comments.map(({ id }) => id)).toEqual(['earlier', 'th-1', 'later', 'same']);
  });

  test('[CM26] the same comment again by the same user stays as it is; by another it is refused', async () => {
    const pk = await threads.create('th');
    const first = await threads.add('th', 'c');
    await threads.told();
    expect(await threads.add('th', 'c', { body: says('other') })).toEqual(first);
    expect((await threads.read(pk)).comments).toHaveLength(2);
    expect(await threads.told()).toEqual([]);
    await expect(threads.add('th', 'c', { userId: 'tom' })).rejects.toMatchObject({ code: 'RESOURCE_ALREADY_EXISTS' });
  });

  test('[CM27] of a deleted comment its place is left, without body, metadata, reactions and attachments (row 108)', async () => {
    const pk = await threads.create('th', { metadata: { a: 1 } });
    await threads.add('th', 'c', { metadata: { secret: 'x' } });
    const only = await sizes();
    await threads.change('th', (change) => addReaction(change, { commentId: 'c', emoji: 'x', userId: 'mia', atMs }));
    await remove('c');
    const { comments } = await threads.read(pk);
    expect(comments[1]).toEqual({
      ...{
        type: 'comment',
        id: 'c',
        threadId: 'th',
        roomId: threads.roomId,
        userId: 'mia',
        metadata: {},
        reactions: [],
        attachments: [],
      },
      ...{ createdAt: new Date(NOW_MS).toISOString(), deletedAt: new Date(NOW_MS).toISOString() },
    });
    const changes = { commentId: 'c', emoji: 'x', userId: 'mia', atMs };
    for (const again of [
      () => remove('c'),
      () => edit('c', 'x'),
      () => threads.change('th', (change) => addReaction(change, changes)),
      () => threads.change('th', (change) => removeReaction(change, changes)),
      () => threads.change('th', (change) => setCommentMetadata(change, { ...changes, changes: {}, by: 'mia' })),
    ])
      await expect(again()).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND', message: 'The comment "c" does not exist.' });
    expect(
      await db.query(sql`select content from comments where thread_pk = ${pk} and content <> '' and deleted_at is not null`),
    ).toEqual([]);
    expect((await sizes())!.bytes).toBeLessThan(only!.bytes);
  });

  test('[CM28] with its last comment a thread goes, for good, and those who ask hear that it was deleted (row 109)', async () => {
    const pk = await threads.create('th');
    await threads.add('th', 'c', { userId: 'tom' });
    await remove('th-1');
    expect(await threads.read(pk)).toMatchObject({ comments: [{ id: 'th-1' }, { id: 'c' }] });
    await threads.told();
    await remove('c');
    expect(await threads.read(pk)).toBeUndefined();
    expect(await threads.told()).toEqual(['comment.deleted', 'thread.deleted']);
    const left = await db.query(
      sql`select id, visibility, user_ids as users from deleted_threads where room_pk = ${threads.roomPk}`,
    );
    expect(left).toEqual([{ id: 'th', visibility: 'public', users: expect.arrayContaining(['mia', 'tom']) }]);
    expect(await db.query(sql`select 1 from comments c where c.thread_pk = ${pk}`)).toEqual([]);
  });

  test('[CM29] authors and users who are mentioned take part, also by an edit; groups do not, and what was said stays', async () => {
    await threads.create('th', { userId: 'mia', body: says('hi', 'tom') });
    const group = { type: 'mention' as const, kind: 'group' as const, id: 'crew', userIds: ['zoe'] };
    await threads.add('th', 'c', { userId: 'eve', body: { version: 1, content: [{ type: 'paragraph', children: [group] }] } });
    expect(await participants()).toEqual(['eve', 'mia', 'tom']);
    await db.query(sql`
      insert into thread_subscriptions (thread_pk, user_id, is_subscribed, said_at) select pk, 'max', false, now() from threads where room_pk = ${threads.roomPk}`);
    await edit('c', 'x', 'max');
    expect(await participants()).toEqual(['eve', 'max', 'mia', 'tom']);
    expect(await db.query(sql`select is_subscribed as said from thread_subscriptions where user_id = 'max'`)).toEqual([
      { said: false },
    ]);
  });

  test('[CM30] an edit tells who was mentioned before it', async () => {
    await threads.create('th', { body: says('hi', 'tom') });
    await edit('th-1', 'hi', 'eve');
    const [event] = await db.query(sql<{ payload: object }>`
      select payload from outbox where type = 'inbox' and payload ->> 'type' = 'comment.edited' and (payload ->> 'roomPk')::bigint = ${threads.roomPk}`);
    expect(event?.payload).toEqual({
      ...{
        type: 'comment.edited',
        roomId: threads.roomId,
        roomPk: threads.roomPk,
        threadId: 'th',
        visibility: 'public',
        commentId: 'th-1',
      },
      ...{ at: new Date(NOW_MS).toISOString(), mentionedBefore: ['tom'], groupsMentionedBefore: [] },
    });
  });

  test('[CM31] a thread that is full takes no more comments, nor a longer one', async () => {
    await threads.create('th');
    const set = (count: number, bytes: number) =>
      db.query(sql`update threads set comment_count = ${count}, content_bytes = ${bytes} where room_pk = ${threads.roomPk}`);
    await set(THREAD_LIMITS.commentsMax - 1, 0);
    await threads.add('th', 'last');
    await expect(threads.add('th', 'more')).rejects.toMatchObject({ code: 'UNPROCESSABLE_ENTITY', message: /10000 comments/ });
    await set(2, THREAD_LIMITS.contentBytesMax);
    const full = { message: /at most 16777216 bytes/ };
    await expect(edit('last', 'longer than it was')).rejects.toMatchObject(full);
    const setMetadata = (value: string | null) =>
      threads.change('th', (change) =>
        setCommentMetadata(change, { commentId: 'last', changes: { key: value }, by: 'mia', atMs }),
      );
    await expect(setMetadata('value')).rejects.toMatchObject(full);
    const react = { commentId: 'last', emoji: 'x', userId: 'mia', atMs };
    await expect(threads.change('th', (change) => addReaction(change, react))).rejects.toMatchObject(full);
    await setMetadata(null);
    await edit('last', 'x');
  });

  test('[CM32] what comments take is counted as they come, change and go', async () => {
    await threads.create('th');
    const first = (await sizes())!;
    await threads.add('th', 'c');
    await edit('c', 'much longer than it was before');
    await threads.change('th', (change) => addReaction(change, { commentId: 'c', emoji: 'x', userId: 'mia', atMs }));
    expect((await sizes())!.bytes).toBeGreaterThan(2 * first.bytes);
    await threads.change('th', (change) => removeReaction(change, { commentId: 'c', emoji: 'x', userId: 'mia', atMs }));
    await edit('c', 'c');
    expect(await sizes()).toEqual({ count: 2, bytes: 2 * first.bytes - 3 }); // 'c' is shorter than 'th-1'
  });
});

describe('reactions', () => {
  test('[CM33] one of each emoji and user; a second is told apart, an absent one is not removed (rows 106 and 107)', async () => {
    const pk = await threads.create('th');
    const reacting = (emoji: string, userId: string) => ({ commentId: 'th-1', emoji, userId, atMs });
    const add = (emoji: string, userId: string) => threads.change('th', (change) => addReaction(change, reacting(emoji, userId)));
    expect((await add('x', 'mia')).isNew).toBe(true);
    expect((await add('y', 'mia')).isNew).toBe(true);
    expect((await add('x', 'tom')).isNew).toBe(true);
    await threads.told();
    expect(await add('x', 'mia')).toEqual({
      isNew: false,
      reaction: { emoji: 'x', userId: 'mia', createdAt: new Date(NOW_MS).toISOString() },
    });
    expect(await threads.change('th', (change) => removeReaction(change, reacting('z', 'mia')))).toBe(false);
    expect(await threads.told()).toEqual([]);
    expect(await threads.change('th', (change) => removeReaction(change, reacting('x', 'mia')))).toBe(true);
    expect((await threads.read(pk)).comments[0]!.reactions.map(({ emoji, userId }) => [emoji, userId])).toEqual([
      ['x', 'tom'],
      ['y', 'mia'],
    ]);
  });

  test('[CM34] a comment has so many reactions, and no more', async () => {
    const pk = await threads.create('th');
    await db.query(sql`
      insert into comment_reactions (comment_pk, emoji, user_id, created_at)
      select c.pk, 'x', 'user-' || n, now() from comments c, generate_series(2, ${BODY_LIMITS.reactionsMax}) n where c.thread_pk = ${pk}`);
    const add = (userId: string) =>
      threads.change('th', (change) => addReaction(change, { commentId: 'th-1', emoji: 'x', userId, atMs }));
    expect((await add('mia')).isNew).toBe(true);
    await expect(add('tom')).rejects.toMatchObject({ code: 'UNPROCESSABLE_ENTITY', message: /1000 reactions/ });
    expect((await add('mia')).isNew).toBe(false);
  });
});

describe('at once', () => {
  test('[CM35] changes of one thread come one after the other, and none is lost', async () => {
    const pk = await threads.create('th');
    await Promise.all(Array.from({ length: 20 }, (_, n) => threads.add('th', `c${n}`, { userId: `u${n % 5}` })));
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        threads.change('th', (change) => setThreadMetadata(change, { changes: { [`k${n}`]: n }, by: 'mia', atMs })),
      ),
    );
    const thread = await threads.read(pk);
    expect(thread.comments).toHaveLength(21);
    expect(Object.keys(thread.metadata)).toHaveLength(20);
    expect((await sizes())!.count).toBe(21);
    expect(await threads.told()).toHaveLength(42);
  });

  test('[CM36] the same thread made many times at once is made once', async () => {
    const pks = await Promise.all(Array.from({ length: 8 }, () => threads.create('th')));
    expect(new Set(pks).size).toBe(1);
    expect(await threads.told()).toEqual(['thread.created', 'comment.created']);
  });

  test('[CM37] a room is deleted while its threads are made, changed and deleted: nobody waits for the other for ever', async () => {
    for (let round = 0; round < 10; round += 1) {
      const one = await threadsIn(db);
      await one.create('th');
      await one.create('other');
      const outcomes = await Promise.allSettled([
        one.add('th', 'c'),
        one.create('new'),
        one.change('th', deleteThread),
        deleteRoom(db, one.roomId),
        one.change('other', (change) => deleteComment(change, { commentId: 'other-1', viewer: BACK_END, atMs })),
      ]);
      const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code ?? outcome.reason] : []));
      expect(codes.filter((code) => code !== 'ROOM_NOT_FOUND' && code !== 'RESOURCE_NOT_FOUND')).toEqual([]);
      expect(await db.query(sql`select pk from rooms where id = ${one.roomId}`)).toEqual([]);
      expect(await db.query(sql`select pk from threads where room_pk = ${one.roomPk}`)).toEqual([]);
    }
  });
});

test('[AT10] what a thread takes counts its attachments while they are shown, and is bounded with them', async () => {
  const [a, b, c] = (await drafts('a', 'b', 'c')) as [string, string, string];
  await threads.create('th');
  const empty = (await sizes())!.bytes;
  await threads.add('th', 'cm');
  const bare = (await sizes())!.bytes;
  const show = (...ids: string[]) =>
    threads.change('th', (change) =>
      editComment(change, { commentId: 'cm', viewer: BACK_END, body: says('cm'), metadata: {}, attachmentIds: ids, atMs }),
    );
  const grown = async () => (await sizes())!.bytes - bare;
  await show(a, b);
  expect(await grown()).toBe(600);
  await show(b, c);
  expect(await grown()).toBe(600);
  await show(c);
  expect(await grown()).toBe(300);
  await remove('cm');
  expect((await sizes())!.bytes).toBeLessThan(bare);
  expect((await sizes())!.bytes).toBeGreaterThan(empty);
  const [d] = (await drafts('d')) as [string];
  await threads.add('th', 'more', { attachmentIds: [d] });
  await db.query(
    sql`update threads set content_bytes = ${THREAD_LIMITS.contentBytesMax - 500} where room_pk = ${threads.roomPk}`,
  );
  const [e] = (await drafts('e')) as [string];
  await expect(threads.add('th', 'last', { attachmentIds: [e] })).rejects.toThrow('may take at most');
  expect(await threads.add('th', 'last')).toMatchObject({ id: 'last' });
});
