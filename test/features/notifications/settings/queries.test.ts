import { beforeEach, expect, test } from 'vitest';
import { asRoomId } from '../../../../src/base/ids.ts';
import {
  changeChannels,
  changeRoomSettings,
  deleteChannels,
  deleteRoomSettings,
  findChannels,
  findChannelsFor,
  findRoomSettings,
  listRoomSettings,
} from '../../../../src/features/notifications/settings/queries.ts';
import { channelsByDefault } from '../../../../src/features/notifications/settings/rules.ts';
import { type Sql, sql } from '../../../../src/kernel/persistence/sql.ts';
import { until } from '../../../support/e2e/until.ts';
import { usePostgres } from '../../../support/postgres.ts';
import { makeRoom } from '../a-thread.ts';

const postgres = usePostgres();
const url = await postgres.database();
const db: Sql = await postgres.open({ url });
const other: Sql = await postgres.open({ url });
let made = 0;
let userId: string;
beforeEach(() => {
  userId = `user ${++made}`;
});
const aPlace = async (fields: { organizationId?: string } = {}) => {
  const room = await makeRoom(db, fields);
  return { roomId: asRoomId(room.id), userId, pk: room.pk };
};
const changedAt = async (roomPk: number) => {
  const [row] = await db.query(sql<{ changed: string }>`
    select changed_at::text as changed from room_subscription_settings where room_pk = ${roomPk} and user_id = ${userId}`);
  return row!.changed;
};

test('[NS5] what is set for a room stays until it is set otherwise, or deleted', async () => {
  const place = await aPlace();
  expect(await findRoomSettings(db, place)).toEqual({ threads: null, textMentions: null });
  expect(await changeRoomSettings(db, place, { threads: 'all' })).toEqual({ threads: 'all', textMentions: null });
  expect(await changeRoomSettings(db, place, { textMentions: 'none' })).toEqual({ threads: 'all', textMentions: 'none' });
  expect(await changeRoomSettings(db, place, {})).toEqual({ threads: 'all', textMentions: 'none' });
  expect(await findRoomSettings(db, place)).toEqual({ threads: 'all', textMentions: 'none' });
  expect(await findRoomSettings(db, { ...place, userId: 'else' })).toEqual({ threads: null, textMentions: null });
  expect([await deleteRoomSettings(db, place), await deleteRoomSettings(db, place)]).toEqual([true, true]);
  expect(await findRoomSettings(db, place)).toEqual({ threads: null, textMentions: null });
});

test('[NS6] only a call about threads is later than one about a single thread', async () => {
  const place = await aPlace();
  await changeRoomSettings(db, place, { threads: 'all' });
  const first = await changedAt(place.pk);
  await changeRoomSettings(db, place, { textMentions: 'none' });
  expect(await changedAt(place.pk)).toBe(first);
  await changeRoomSettings(db, place, { threads: 'all' });
  expect((await changedAt(place.pk)) > first).toBe(true);
});

test('[NS7] in a room that is not there nothing is set', async () => {
  const nowhere = { roomId: asRoomId('nowhere'), userId };
  expect(await changeRoomSettings(db, nowhere, {})).toBeNull();
  expect(await findRoomSettings(db, nowhere)).toBeNull();
  expect(await changeRoomSettings(db, nowhere, { threads: 'all' })).toBeNull();
  expect(await deleteRoomSettings(db, nowhere)).toBe(false);
});

test('[NS11] in a room that is being deleted nothing is set', async () => {
  const place = await aPlace();
  const setting: Promise<unknown>[] = [];
  await db.transaction(async (tx) => {
    await tx.query(sql`delete from rooms where pk = ${place.pk}`);
    setting.push(changeRoomSettings(other, place, { threads: 'all' }));
    await until('it waits', async () => (await tx.query(sql`select from pg_locks where not granted`)).length > 0);
  });
  expect(await Promise.all(setting)).toEqual([null]);
});

test('[NS12] who names nothing has set nothing', async () => {
  const place = await aPlace();
  expect(await changeRoomSettings(db, place, {})).toEqual({ threads: null, textMentions: null });
  expect(await db.query(sql`select from room_subscription_settings where room_pk = ${place.pk}`)).toEqual([]);
});

test('[NS8] rooms for which a user set something are listed page by page, of one organisation or all', async () => {
  const places = [await aPlace(), await aPlace({ organizationId: 'acme' }), await aPlace()];
  for (const place of places) await changeRoomSettings(db, place, { threads: 'none' });
  await aPlace();
  const list = async (afterPk: number, limit: number, organizationId: string | null = null) =>
    (await listRoomSettings(db, { userId, organizationId, afterPk, limit })).map(({ roomId }) => roomId);
  const ids = places.map(({ roomId }) => roomId);
  expect([await list(0, 10), await list(0, 2), await list(places[1]!.pk, 2)]).toEqual([ids, ids.slice(0, 2), ids.slice(2)]);
  expect([await list(0, 10, 'acme'), await list(0, 10, 'none')]).toEqual([[ids[1]], []]);
  await deleteRoomSettings(db, places[2]!);
  expect(await list(0, 10)).toEqual(ids.slice(0, 2));
  const [first] = await listRoomSettings(db, { userId, organizationId: null, afterPk: 0, limit: 1 });
  expect(first).toEqual({ roomPk: places[0]!.pk, roomId: ids[0], threads: 'none', textMentions: null });
});

test('[NS9] channels keep what was said, also of two calls at once, until it is deleted', async () => {
  expect(await findChannels(db, userId)).toEqual({});
  const byDefault = channelsByDefault({ channels: 'email,slack', kinds: '$k1' });
  const kinds = Array.from({ length: 10 }, (_, n) => `$k${n}`);
  await Promise.all(kinds.map((kind) => changeChannels(db, { userId, change: { email: { [kind]: false } } })));
  expect(Object.keys((await findChannels(db, userId)).email!).sort()).toEqual(kinds.sort());
  expect(await findChannelsFor(db, { userId, kind: '$k1', byDefault })).toEqual(['slack']);
  await deleteChannels(db, userId);
  await deleteChannels(db, userId);
  expect(await findChannels(db, userId)).toEqual({});
});
