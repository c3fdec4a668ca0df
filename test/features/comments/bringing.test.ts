/** Threads of another server: what of them is kept, who hears of them, and what is refused. */
import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/base/observe.ts';
import { bringingRoutes } from '../../../src/features/comments/bringing/routes.ts';
import { deleteThread, setResolved } from '../../../src/features/comments/threads/queries.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../../src/kernel/persistence/sql-outbox.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { usePostgres } from '../../support/postgres.ts';
import { type Answer, type Call, callerOf } from '../call.ts';
import { NOW_MS, says, type Threads, threadsIn } from './a-thread.ts';

const db: Sql = await usePostgres().open();
let threads: Threads;
let call: Call;
beforeEach(async () => {
  threads = await threadsIn(db);
  await db.query(sql`delete from outbox`);
  call = callerOf(
    bringingRoutes({ db, outbox: new SqlOutbox({ db, clock: manualClock(), log: silentLog }), nowMs: () => NOW_MS }),
  );
});

const THREAD = `th_${'t'.repeat(21)}`;
const [ONE, TWO] = [`cm_${'a'.repeat(21)}`, `cm_${'b'.repeat(21)}`];
const [EARLY, LATE] = ['2024-01-02T03:04:05.678Z', '2024-05-06T07:08:09.000Z'];
const first = { id: ONE, userId: 'mia', createdAt: EARLY, body: says('first', 'tom'), metadata: { a: 1 } };
const bring = (thread: object = {}, threadId = THREAD): Promise<Answer> =>
  call(`PUT /v2/rooms/${threads.roomId}/threads/${threadId}`, { json: { createdAt: EARLY, comments: [first], ...thread } });
const refusal = async (thread: object, threadId?: string): Promise<string> => {
  const { status, json } = await bring(thread, threadId);
  expect(status).toBe(422);
  return json.message;
};
const rows = () => db.query(sql<{ type: string; payload: { type: string } }>`select type, payload from outbox order by id`);

test('[CM68] a thread is kept as it was, and only those in the room are told', async () => {
  const reactions = [
    { emoji: '👍', userId: 'tom', createdAt: LATE },
    { emoji: '👍', userId: 'tom', createdAt: LATE }, // once is enough
  ];
  const comments = [
    { id: TWO, userId: 'eve', createdAt: LATE, deletedAt: LATE },
    { ...first, editedAt: LATE, reactions },
  ];
  const { json } = await bring({ updatedAt: LATE, metadata: { tag: 'x' }, resolved: true, visibility: 'private', comments });
  const ids = { roomId: threads.roomId, threadId: THREAD, type: 'comment', attachments: [] };
  expect(json).toEqual({
    type: 'thread',
    id: THREAD,
    roomId: threads.roomId,
    createdAt: EARLY,
    updatedAt: LATE,
    metadata: { tag: 'x' },
    resolved: true,
    visibility: 'private',
    comments: [
      { ...ids, ...first, editedAt: LATE, reactions: [reactions[0]] },
      { ...ids, ...comments[0], metadata: {}, reactions: [] },
    ],
  });
  expect((await rows()).map(({ type, payload }) => [type, payload.type])).toEqual([['live', 'thread.created']]);
  const takingPart = await db.query(sql<{ userId: string }>`
    select user_id as "userId" from thread_subscriptions s join threads t on t.pk = s.thread_pk where t.room_pk = ${threads.roomPk} order by 1`);
  expect(takingPart.map(({ userId }) => userId)).toEqual(['mia', 'tom']);
  const [counts] = await db.query(
    sql`select comment_count as n, content_bytes > 0 as weighs from threads where room_pk = ${threads.roomPk}`,
  );
  expect(counts).toEqual({ n: 2, weighs: true });
});

test('[CM68] what is here gives way to what was changed later, and else stays as it is; what was deleted here stays deleted', async () => {
  const made = (await bring()).json;
  expect((await bring({ resolved: true, metadata: { other: 1 } })).json).toEqual(made);
  const second = { id: TWO, userId: 'eve', createdAt: LATE, body: says('second') };
  const later = { updatedAt: LATE, resolved: true, comments: [first, second] };
  const replaced = (await bring(later)).json;
  expect(replaced).toMatchObject({ updatedAt: LATE, resolved: true, comments: [{ id: ONE }, { id: TWO }] });
  expect((await bring()).json).toEqual(replaced);
  await threads.change(THREAD, (change) => setResolved(change, { resolved: false, by: 'mia', atMs: NOW_MS }));
  expect((await bring({ ...later, metadata: { other: 1 } })).json).toMatchObject({ resolved: false, metadata: {} });
  await threads.change(THREAD, deleteThread);
  expect((await bring()).json.error).toBe('RESOURCE_ALREADY_EXISTS');
  expect((await db.query(sql`select from threads where room_pk = ${threads.roomPk}`)).length).toBe(0);
});

test('[CM68] what cannot be kept is refused whole, with the key', async () => {
  expect(await refusal({}, 'th_short')).toContain("'threadId' must be an id such as th_");
  expect(await refusal({ comments: [] })).toContain("'comments'");
  expect(await refusal({ comments: [first, { ...first, id: 'cm_1' }] })).toContain("'comments.1.id'");
  expect(await refusal({ comments: [first, first] })).toContain("'comments.1.id' is the id of another comment");
  expect(await refusal({ comments: [{ ...first, body: undefined }] })).toContain("'comments.0.body' must be there unless");
  expect(await refusal({ comments: [{ ...first, deletedAt: LATE }] })).toContain("'comments.0.body' must be there unless");
  expect(await refusal({ comments: [{ ...first, createdAt: 'soon' }] })).toContain("'comments.0.createdAt' must be a date-time");
  expect(await refusal({ comments: [{ ...first, body: says('\u0000') }] })).toContain("'comments.0.body' may not hold U+0000");
  expect(await refusal({ metadata: { ['k'.repeat(41)]: 1 } })).toContain('1 to 40 characters');
  const reaction = { emoji: '', userId: 'tom', createdAt: LATE };
  expect(await refusal({ comments: [{ ...first, reactions: [reaction] }] })).toContain("'comments.0.reactions.0.emoji'");
  expect((await bring({}, THREAD)).status).toBe(200);
});
