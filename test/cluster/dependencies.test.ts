import { expect, test } from 'vitest';
import { aClusterOfProcesses } from '../support/cluster-processes.ts';
import { type Answer, ask } from '../support/e2e/rest.ts';
import { enter, listen, rootOf, storageOf, type Visitor, visit } from '../support/e2e/sdk-client.ts';
import { freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const cluster = await aClusterOfProcesses({ workers: 3 });
const SEATS = [0, 1, 2];
/** A lease and its grace, a look around, a load; the machine may be busy with other tests. */
const LONG = { timeoutMs: 50_000 };

async function aRoom(subject: string) {
  const roomId = freshRoomId(subject);
  (await enter(cluster.server(0), { roomId })).leave();
  const owner = await cluster.ownerOf(roomId);
  const [here, there] = SEATS.filter((seat) => seat !== owner) as [number, number];
  return { roomId, owner, here, there };
}

function patch(seat: number, roomId: string, key: string): Promise<Answer> {
  const json = [{ op: 'add', path: `/${key}`, value: key }];
  return ask(cluster.server(seat), `/v2/rooms/${encodeURIComponent(roomId)}/storage/json-patch`, { method: 'PATCH', json });
}

async function isSaved({ room }: Visitor): Promise<void> {
  await until('all is saved', () => room.getStorageStatus() === 'synchronized', LONG);
}

test('[TO5] while Redis is gone, and when it is back empty, no write fails, rooms stay where they are, and others are found', async () => {
  const { roomId, owner, here } = await aRoom('no-redis');
  const ann = await enter(cluster.server(here), { roomId, userId: 'ann' });
  const root = await rootOf(ann);
  await cluster.redis.stop();
  for (let count = 0; count < 20; count += 1) {
    root.set(`a${count}`, count);
    await isSaved(ann);
    expect((await patch(SEATS[count % 3]!, roomId, `b${count}`)).status).toBe(200);
  }
  const young = await aRoom('born-without-redis');
  for (const seat of SEATS) expect((await patch(seat, young.roomId, `c${seat}`)).status).toBe(200);
  await cluster.redis.start();
  expect((await patch(here, roomId, 'last')).status).toBe(200);
  expect(await cluster.ownerOf(roomId)).toBe(owner);
  await until('ann sees it all', async () => Object.keys((await storageOf(ann)) as object).length === 41);
}, 120_000);

test('[TO6] without Postgres sockets stay, people see each other, over workers, too, and writes are refused with Retry-After; when it is back all that was done is there', async () => {
  const { roomId, owner, here } = await aRoom('no-postgres');
  const zoe = await enter(cluster.server(owner), { roomId, userId: 'zoe', initialPresence: { x: 0 } });
  const yan = await enter(cluster.server(owner), { roomId, userId: 'yan', initialPresence: { x: 0 } });
  const ann = await enter(cluster.server(here), { roomId, userId: 'ann', initialPresence: { x: 0 } });
  const bob = await enter(cluster.server(here), { roomId, userId: 'bob', initialPresence: { x: 0 } });
  const statuses = [zoe, yan, ann].map(({ room }) => listen(room.events.status));
  const annsNumber = ann.actor();
  const roots = { zoe: await rootOf(zoe), ann: await rootOf(ann) };
  expect((await patch(here, roomId, 'before')).status).toBe(200);

  for (const seat of SEATS) {
    cluster.database(seat).refuse();
    cluster.database(seat).cut();
  }
  const refused = await until(
    'writes are refused',
    async () => {
      const answer = await patch(owner, roomId, 'refused');
      return answer.status === 503 ? answer : null;
    },
    LONG,
  );
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await patch(here, roomId, 'refused there, too')).status).toBe(503);
  zoe.room.updatePresence({ x: 7 });
  for (const { room } of [yan, ann]) await until('zoe is seen to move', () => isSeenAt(room, 7), LONG);
  ann.room.updatePresence({ x: 8 });
  for (const { room } of [yan, zoe]) await until('ann is seen to move', () => isSeenAt(room, 8), LONG);
  bob.leave();
  for (const { room } of [yan, ann])
    await until('bob is seen to go', () => !room.getOthers().some(({ id }) => id === 'bob'), LONG);
  expect(ann.actor()).toBe(annsNumber);
  roots.ann.set('meanwhile', 'ann');
  roots.zoe.set('of zoe', 'too');

  for (const seat of SEATS) cluster.database(seat).heal();
  await isSaved(ann);
  await isSaved(zoe);
  await until('a write is taken', async () => (await patch(there(owner), roomId, 'after')).status === 200, LONG);
  const expected = { before: 'before', meanwhile: 'ann', 'of zoe': 'too', after: 'after' };
  await until(
    'all see the same',
    async () => {
      for (const visitor of [ann, zoe, yan]) expect(await seenBy(visitor)).toMatchObject(expected);
      return true;
    },
    LONG,
  );
  const active = await ask(cluster.server(here), `/v2/rooms/${encodeURIComponent(roomId)}/active_users`);
  expect(active.json.data.map(({ id }: { id: string }) => id).sort()).toEqual(['ann', 'yan', 'zoe']);
  expect(statuses.flat()).toEqual([]);
}, 90_000);

test('[TO7] the rooms of a worker that alone has lost Postgres move to others, and its clients follow over the sockets they have', async () => {
  const { roomId, owner, here } = await aRoom('cut-off');
  const zoe = await enter(cluster.server(owner), { roomId, userId: 'zoe' });
  const ann = await enter(cluster.server(here), { roomId, userId: 'ann' });
  const statuses = [zoe, ann].map(({ room }) => listen(room.events.status));
  const roots = { zoe: await rootOf(zoe), ann: await rootOf(ann) };
  roots.zoe.set('before', 1);
  await isSaved(zoe);
  cluster.database(owner).refuse();
  cluster.database(owner).cut();
  roots.ann.set('meanwhile', 'ann');
  roots.zoe.set('of zoe', 'too');
  await isSaved(ann);
  await isSaved(zoe);
  expect(await cluster.ownerOf(roomId)).not.toBe(owner);
  const expected = { before: 1, meanwhile: 'ann', 'of zoe': 'too' };
  await until(
    'both see the same',
    async () => {
      for (const visitor of [ann, zoe]) expect(await seenBy(visitor)).toEqual(expected);
      return true;
    },
    LONG,
  );
  expect(statuses.flat()).toEqual([]);
  cluster.database(owner).heal();
}, 90_000);

test('[TO9] who comes while Postgres is away is let in soon after it is back: it is closed with a code that has no long pause behind it', async () => {
  const roomId = freshRoomId('came-too-early'); // which no worker knows: one that does may let her in
  const made = await ask(cluster.server(1), '/v2/rooms', { method: 'POST', json: { id: roomId, defaultAccesses: ['*:write'] } });
  expect(made.status).toBe(200);
  for (const seat of SEATS) {
    cluster.database(seat).refuse();
    cluster.database(seat).cut();
  }
  const zoe = visit(cluster.server(0), { roomId, userId: 'zoe' });
  await until('zoe was turned away three times', () => zoe.network.closeCodes.length >= 3, LONG);
  expect(new Set(zoe.network.closeCodes)).toEqual(new Set([1012]));
  for (const seat of SEATS) cluster.database(seat).heal();
  await until('zoe is in', () => zoe.room.getStatus() === 'connected', LONG);
}, 120_000);

const isSeenAt = (room: Visitor['room'], x: number): boolean => room.getOthers().some(({ presence }) => presence.x === x);

const there = (owner: number): number => SEATS.findLast((seat) => seat !== owner)!;

const seenBy = (visitor: Visitor): Promise<unknown> => storageOf(visitor);
