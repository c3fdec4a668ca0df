import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { asRoomId, asRoomPk, type RoomId, type RoomPk } from '../../../src/base/ids.ts';
import {
  attach,
  deleteOldDrafts,
  findAttachment,
  findReadable,
  makeAttachment,
} from '../../../src/features/comments/attachments/queries.ts';
import { noteBlob } from '../../../src/kernel/persistence/loose-blobs.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import type { Visibility } from '../../../src/protocol/comments.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream } from '../../support/streams.ts';

const postgres = usePostgres();
let db: PostgresSql;
let roomId: RoomId;
let roomPk: RoomPk;
let made = 0;
beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(async () => {
  await db.query(sql`truncate loose_blobs`);
  ({ roomId, roomPk } = await aRoom());
});

async function aRoom(): Promise<{ roomId: RoomId; roomPk: RoomPk }> {
  const stream = await aStream(db);
  const [room] = await db.query(sql<{ id: string }>`select id from rooms where pk = ${stream}`);
  return { roomId: asRoomId(room!.id), roomPk: asRoomPk(stream) };
}

const anId = (letter: string): string => `at_${letter.repeat(21)}`;

/** A draft of `ann`, by id. */
async function aDraft(letter: string, { userId = 'ann', to = roomPk } = {}): Promise<string> {
  const blobKey = `v1/attachments/${++made}`;
  await noteBlob(db, blobKey);
  const blob = { id: anId(letter), name: `${letter}.txt`, size: 1, mimeType: 'text/plain', blobKey };
  expect(await makeAttachment(db, { roomPk: to, userId, blob, from: null })).toEqual({ ...blob, userId });
  return blob.id;
}

async function aComment(visibility: Visibility = 'public'): Promise<number> {
  const id = `${++made}`;
  const [thread] = await db.query(sql<{ pk: number }>`
    insert into threads (room_pk, id, created_by, created_at, updated_at, visibility)
    values (${roomPk}, ${`th_${id}`}, 'ann', now(), now(), ${visibility}) returning pk`);
  const [comment] = await db.query(sql<{ pk: number }>`
    insert into comments (thread_pk, id, user_id, created_at, body, content, has_mentions)
    values (${thread!.pk}, ${`cm_${id}`}, 'ann', now(), '{"version": 1, "content": []}'::jsonb, '', false) returning pk`);
  return comment!.pk;
}

const show = (commentPk: number, ...ids: string[]) =>
  db.transaction((tx) => attach(tx, { roomPk, commentPk, userId: 'ann', ids }));
const shownBy = async (commentPk: number): Promise<string[]> =>
  (await db.query(sql<{ id: string }>`select id from attachments where comment_pk = ${commentPk} order by place`)).map(
    ({ id }) => id,
  );
const refusalOf = (outcome: Promise<unknown>) =>
  outcome.then(
    () => 'none',
    (error) => `${error.status} ${error.message}`,
  );
const looseBlobs = async (): Promise<number> => (await db.query(sql`select 1 from loose_blobs where due_at <= now()`)).length;

describe('showing attachments', () => {
  test('[AT1] a comment shows what is named, in this order, each once', async () => {
    const [a, b, comment] = [await aDraft('a'), await aDraft('b'), await aComment()];
    await show(comment, b, a, b);
    expect(await shownBy(comment)).toEqual([b, a]);
  });

  test('[AT1] the list takes the place of the one before: what it leaves out is gone with its blob', async () => {
    const [a, b, c, comment] = [await aDraft('a'), await aDraft('b'), await aDraft('c'), await aComment()];
    await show(comment, a, b);
    await show(comment, c, b);
    expect(await shownBy(comment)).toEqual([c, b]);
    expect((await findAttachment(db, { roomId, attachmentId: a })).attachment).toBeNull();
    expect(await looseBlobs()).toBe(1);
    await show(comment);
    expect(await shownBy(comment)).toEqual([]);
    expect(await looseBlobs()).toBe(3);
  });

  test('[AT2] one that is unknown, of another user, of another room or shown elsewhere is 422, and nothing has changed', async () => {
    const [mine, comment, other] = [await aDraft('a'), await aComment(), await aComment()];
    const [bobs, shown] = [await aDraft('b', { userId: 'bob' }), await aDraft('c')];
    const away = await aDraft('d', { to: (await aRoom()).roomPk });
    await show(other, shown);
    for (const id of [bobs, shown, away, anId('x'), 'no id', ''])
      expect(await refusalOf(show(comment, mine, id))).toMatch(/^422 Value at key 'attachmentIds' names /);
    expect([await shownBy(comment), await shownBy(other)]).toEqual([[], [shown]]);
    await show(comment, mine);
  });

  test('[AT2] of two comments that want the same draft at once, one shows it', async () => {
    for (const letter of 'abcdef') {
      const [draft, one, two] = [await aDraft(letter), await aComment(), await aComment()];
      const outcomes = await Promise.all([refusalOf(show(one, draft)), refusalOf(show(two, draft))]);
      expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(1);
      expect([...(await shownBy(one)), ...(await shownBy(two))]).toEqual([draft]);
    }
  });

  test('[AT3] what a comment shows goes with it, and the blob with the next sweep', async () => {
    const [draft, comment] = [await aDraft('a'), await aComment()];
    await show(comment, draft);
    await db.query(sql`delete from comments where pk = ${comment}`);
    expect([(await findAttachment(db, { roomId, attachmentId: draft })).attachment, await looseBlobs()]).toEqual([null, 1]);
  });
});

describe('reading', () => {
  const readable = async (userId: string | null, ...visibilities: Visibility[]): Promise<string[]> => {
    const attachmentIds = [...'abcd'].map(anId);
    return [...(await findReadable(db, { roomId, attachmentIds, userId, visibilities })).keys()].sort();
  };

  test('[AT4] an attachment is for those who may read its thread, a draft for who uploaded it', async () => {
    const [open, hidden, anns, bobs] = [
      await aDraft('a'),
      await aDraft('b'),
      await aDraft('c'),
      await aDraft('d', { userId: 'bob' }),
    ];
    await show(await aComment('public'), open);
    await show(await aComment('private'), hidden);
    expect(await readable('ann', 'public', 'private')).toEqual([open, hidden, anns]);
    expect(await readable('bob', 'public')).toEqual([open, bobs]);
    expect(await readable('bob', 'private')).toEqual([hidden, bobs]);
    expect(await readable(null, 'public')).toEqual([open]);
    expect(await readable(null)).toEqual([]);
    expect(
      (await findReadable(db, { roomId: (await aRoom()).roomId, attachmentIds: [open], userId: null, visibilities: ['public'] }))
        .size,
    ).toBe(0);
  });
});

describe('drafts', () => {
  const age = (hours: number) =>
    db.query(sql`update attachments set created_at = now() - ${hours} * interval '1 hour' where room_pk = ${roomPk}`);

  test('[AT5] a draft that no comment has shown within a day goes, and its blob; younger and shown ones stay', async () => {
    const [old, shown] = [await aDraft('a'), await aDraft('b')];
    await show(await aComment(), shown);
    await age(24.1);
    const young = await aDraft('c');
    expect([await deleteOldDrafts(db, 10), await deleteOldDrafts(db, 10)]).toEqual([1, 0]);
    const there = async (attachmentId: string) => (await findAttachment(db, { roomId, attachmentId })).attachment !== null;
    expect([await there(old), await there(shown), await there(young), await looseBlobs()]).toEqual([false, true, true, 1]);
  });

  test('[AT5] a sweep passes by a draft that a comment is about to show', async () => {
    const [draft, comment] = [await aDraft('a'), await aComment()];
    await age(25);
    await db.transaction(async (tx) => {
      await attach(tx, { roomPk, commentPk: comment, userId: 'ann', ids: [draft] });
      expect(await deleteOldDrafts(db, 10)).toBe(0);
    });
    expect([await deleteOldDrafts(db, 10), await shownBy(comment)]).toEqual([0, [draft]]);
  });

  test('[AT5] some are deleted at a time', async () => {
    for (const letter of 'abc') await aDraft(letter);
    await age(30);
    expect([await deleteOldDrafts(db, 2), await deleteOldDrafts(db, 2), await deleteOldDrafts(db, 2)]).toEqual([2, 1, 0]);
  });
});
