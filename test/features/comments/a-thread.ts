/** Threads in a real database, made and changed as routes do it. */

import { asRoomId, type RoomId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { addComment, createThread, type NewComment } from '../../../src/features/comments/comments/queries.ts';
import { findThreadsByPk } from '../../../src/features/comments/documents/queries.ts';
import { type Change, changeThread } from '../../../src/features/comments/threads/queries.ts';
import { BACK_END } from '../../../src/features/comments/threads/rules.ts';
import { findOrCreateRoom } from '../../../src/features/rooms/queries.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../../src/kernel/persistence/sql-outbox.ts';
import type { CommentBody, CommentMetadata, ThreadDocument, Visibility } from '../../../src/protocol/comments.ts';
import { manualClock } from '../../support/manual-clock.ts';

export const NOW_MS = Date.parse('2031-02-03T04:05:06.007Z');

export const says = (text: string, ...userIds: string[]): CommentBody => ({
  version: 1,
  content: [{ type: 'paragraph', children: [{ text }, ...userIds.map((id) => ({ type: 'mention' as const, id }))] }],
});

export interface Threads {
  readonly roomId: RoomId;
  readonly roomPk: number;
  create(id: string, more?: Partial<NewComment> & { visibility?: Visibility; threadMetadata?: CommentMetadata }): Promise<number>;
  add(threadId: string, id: string, more?: Partial<NewComment>): Promise<unknown>;
  change<Result>(threadId: string, work: (change: Change) => Promise<Result>): Promise<Result>;
  read(pk: number): Promise<ThreadDocument>;
  /** Types of the events written since the last call, those of the `live` consumer. */
  told(): Promise<string[]>;
}

let rooms = 0;

export async function threadsIn(db: Sql): Promise<Threads> {
  const roomId = asRoomId(`room-${++rooms}`);
  const nowIso = new Date(NOW_MS).toISOString();
  const blank = { metadata: {}, defaultAccesses: [], usersAccesses: {}, groupsAccesses: {}, organizationId: 'default' };
  const { room } = await findOrCreateRoom(db, { id: roomId, nowIso, ...blank });
  const deps = { db, outbox: new SqlOutbox({ db, clock: manualClock(), log: silentLog }), nowMs: () => NOW_MS };
  const comment = (id: string, more: Partial<NewComment>): NewComment => ({
    id,
    userId: 'mia',
    body: says(id),
    metadata: {},
    attachmentIds: [],
    atMs: NOW_MS,
    ...more,
  });
  const change: Threads['change'] = (threadId, work) =>
    changeThread(deps, { roomId, threadId, viewer: BACK_END, afterCommit: () => undefined }, work);
  return {
    roomId,
    roomPk: room.pk,
    create: (id, { visibility = 'public', threadMetadata = {}, ...more } = {}) =>
      createThread(deps, { roomId, id, visibility, metadata: threadMetadata, comment: comment(`${id}-1`, more) }),
    add: (threadId, id, more = {}) => change(threadId, (locked) => addComment(locked, comment(id, more))),
    change,
    read: async (pk) => (await findThreadsByPk(db, [pk]))[0]!,
    async told() {
      const rows = await db.query(sql<{ type: string; id: number }>`
        with taken as (delete from outbox where type in ('live', 'inbox', 'webhooks') and (payload ->> 'roomPk')::bigint = ${room.pk} returning *)
        select payload ->> 'type' as type, id from taken where type = 'live' order by id`);
      return rows.map(({ type }) => type);
    },
  };
}
