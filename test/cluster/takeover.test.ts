import { describe, expect, test } from 'vitest';
import { aClusterOfProcesses } from '../support/cluster-processes.ts';
import { ask } from '../support/e2e/rest.ts';
import { enter, listen, rootOf, saved, storageOf, type Visitor } from '../support/e2e/sdk-client.ts';
import { freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { plainEditor, sdkEditor, synchronized, textOf } from '../support/e2e/yjs-clients.ts';

const cluster = await aClusterOfProcesses({ workers: 3 });

/** Longest until another worker has the room of one that died without anybody saying so: the lease of 4 s, its grace, a load. */
const TAKEOVER_MS_MAX = 15_000;

/** A room, the seat of its owner, and the two others. */
async function aRoom(subject: string) {
  const roomId = freshRoomId(subject);
  (await enter(cluster.server(0), { roomId })).leave();
  const owner = await cluster.ownerOf(roomId);
  const [here, there] = [0, 1, 2].filter((seat) => seat !== owner) as [number, number];
  return { roomId, owner, here, there };
}

async function seesPresence(viewer: Visitor, x: number): Promise<void> {
  await until(`the cursor at ${x} is seen`, () => viewer.room.getOthers().some(({ presence }) => presence.x === x), {
    timeoutMs: TAKEOVER_MS_MAX,
  });
}

describe('the owner of a room dies', () => {
  test('[TO1] sockets on other workers stay open, and what their clients did meanwhile is there, once', async () => {
    const { roomId, owner, here, there } = await aRoom('killed');
    const ann = await sdkEditor(cluster.server(here), { roomId, userId: 'ann', initialPresence: { x: 0 } });
    const bob = await sdkEditor(cluster.server(there), { roomId, userId: 'bob', initialPresence: { x: 0 } });
    const cal = await plainEditor(cluster.server(here), { roomId, userId: 'cal' });
    const [annsRoot, bobsRoot] = [await rootOf(ann), await rootOf(bob)];
    annsRoot.set('before', 1);
    ann.doc.getText('text').insert(0, 'before ');
    await saved(ann);
    await until('cal reads it', () => textOf(cal) === 'before ');
    const statuses = [listen(ann.room.events.status), listen(bob.room.events.status)];

    await cluster.end(owner, 'SIGKILL');
    annsRoot.set('meanwhile', 'ann');
    bobsRoot.set('of bob', 'too');
    ann.room.updatePresence({ x: 1 });
    bob.room.updatePresence({ x: 2 });
    cal.doc.getText('text').insert(7, 'meanwhile');

    await seesPresence(ann, 2);
    await seesPresence(bob, 1);
    await until(
      'both are saved',
      () => ann.room.getStorageStatus() === 'synchronized' && bob.room.getStorageStatus() === 'synchronized',
      {
        timeoutMs: TAKEOVER_MS_MAX,
      },
    );
    const expected = { before: 1, meanwhile: 'ann', 'of bob': 'too' };
    await until('all see the same', async () => {
      expect(await storageOf(ann)).toEqual(expected);
      expect(await storageOf(bob)).toEqual(expected);
      expect(textOf(ann)).toBe('before meanwhile');
      expect(textOf(bob)).toBe('before meanwhile');
      return true;
    });
    await synchronized(ann);
    expect(statuses.flat()).toEqual([]);
    expect(
      ann.room
        .getOthers()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['bob', 'cal']);
    const read = await ask(cluster.server(there), `/v2/rooms/${encodeURIComponent(roomId)}/storage?format=json`);
    expect(read.json).toEqual(expected);
    expect(await cluster.ownerOf(roomId)).not.toBe(owner);
    await cluster.start(owner);
  }, 60_000);

  test('[TO2] a worker that was frozen for longer than its lease finds itself without rooms, and its clients with the others', async () => {
    const { roomId, owner, here } = await aRoom('frozen');
    const ann = await enter(cluster.server(here), { roomId, userId: 'ann' });
    const zoe = await enter(cluster.server(owner), { roomId, userId: 'zoe' });
    const [annsRoot, zoesRoot] = [await rootOf(ann), await rootOf(zoe)];
    zoesRoot.set('before', 1);
    await saved(zoe);

    cluster.signal(owner, 'SIGSTOP');
    annsRoot.set('meanwhile', 'ann');
    await until('ann is saved', () => ann.room.getStorageStatus() === 'synchronized', { timeoutMs: TAKEOVER_MS_MAX });
    zoesRoot.set('into the ice', 'zoe');
    cluster.signal(owner, 'SIGCONT');

    const expected = { before: 1, meanwhile: 'ann', 'into the ice': 'zoe' };
    await until(
      'all see the same',
      async () => {
        expect(await storageOf(ann)).toEqual(expected);
        expect(await storageOf(zoe)).toEqual(expected);
        return true;
      },
      { timeoutMs: TAKEOVER_MS_MAX },
    );
    expect(await cluster.ownerOf(roomId)).not.toBe(owner);
  }, 60_000);
});

describe('a worker drains', () => {
  test('[TO3] rooms go on elsewhere with all that was acknowledged: no write fails, and clients of other workers notice nothing', async () => {
    const { roomId, owner, here } = await aRoom('drained');
    const ann = await enter(cluster.server(here), { roomId, userId: 'ann' });
    const annsRoot = await rootOf(ann);
    const statuses = listen(ann.room.events.status);
    let isOver = false;
    const written: string[] = [];
    const writing = (async () => {
      for (let count = 0; !isOver; count += 1) {
        const key = `k${count}`;
        const path = `/v2/rooms/${encodeURIComponent(roomId)}/storage/json-patch`;
        const json = [{ op: 'add', path: `/${key}`, value: count }];
        const { status, text } = await ask(cluster.server(here), path, { method: 'PATCH', json });
        if (status !== 200) throw new Error(`${key}: ${status} ${text}`);
        written.push(key);
        annsRoot.set(`ann ${count}`, count);
        await saved(ann);
      }
    })();
    await until('some is written', () => written.length > 20);
    expect(await cluster.end(owner, 'SIGTERM')).toEqual({ code: 0, signal: null });
    const afterDrain = written.length;
    await until('more is written', () => written.length > afterDrain + 20);
    isOver = true;
    await writing;
    expect(statuses).toEqual([]);
    const seen = Object.keys((await storageOf(ann)) as object);
    for (const key of written) expect(seen).toContain(key);
    expect(await cluster.ownerOf(roomId)).not.toBe(owner);
    await cluster.start(owner);
  }, 60_000);

  test('[TO4] the clients connected to it reconnect once, and are there', async () => {
    const { roomId, owner, here } = await aRoom('left');
    const zoe = await enter(cluster.server(owner), { roomId, userId: 'zoe', baseUrl: cluster.server(owner).url });
    const ann = await enter(cluster.server(here), { roomId, userId: 'ann' });
    const statuses = listen(zoe.room.events.status);
    await until('they see each other', () => ann.room.getOthers().length === 1);
    await cluster.end(owner, 'SIGTERM');
    await cluster.start(owner);
    await until('zoe is back', () => zoe.room.getStatus() === 'connected' && ann.room.getOthers().length === 1, {
      timeoutMs: 20_000,
    });
    expect(statuses.filter((status) => status === 'reconnecting')).toHaveLength(1);
  }, 60_000);

  test('[TO8] a rolling restart of all workers under load is invisible to acknowledged writes', async () => {
    const { roomId } = await aRoom('rolling');
    const clients = await Promise.all([0, 1, 2].map((seat) => enter(cluster.server(seat), { roomId, userId: `user-${seat}` })));
    const path = `/v2/rooms/${encodeURIComponent(roomId)}/storage/json-patch`;
    const written: string[] = [];
    const writing = { isOver: false };
    const write = async (name: string): Promise<void> => {
      for (let count = 0; !writing.isOver; count += 1) {
        const key = `${name}-${count}`;
        await retried(key, (seat) =>
          ask(cluster.server(seat), path, { method: 'PATCH', key, json: [{ op: 'add', path: `/${key}`, value: 1 }] }),
        );
        written.push(key);
      }
    };
    const writers = ['a', 'b'].map(write);
    for (const seat of [0, 1, 2]) {
      expect(await cluster.end(seat, 'SIGTERM')).toEqual({ code: 0, signal: null });
      await cluster.start(seat);
    }
    writing.isOver = true;
    await Promise.all(writers);
    expect(written.length).toBeGreaterThan(20);
    const expected = Object.fromEntries(written.map((key) => [key, 1]));
    const read = await ask(cluster.server(0), `/v2/rooms/${encodeURIComponent(roomId)}/storage?format=json`);
    expect(read.json).toEqual(expected);
    for (const client of clients)
      await until(
        'every client has come back and reads it all',
        async () => {
          expect(await storageOf(client)).toEqual(expected);
          return true;
        },
        { timeoutMs: 20_000 },
      );
  }, 120_000);
});

/** As a back end behind a load balancer does: another worker is asked when one cannot be reached or says that it is to be asked again. */
async function retried(what: string, send: (seat: number) => Promise<{ status: number; text: string }>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = await send(attempt % 3).catch(() => null); // nobody listens there at the moment
    if (answer?.status === 200) return;
    if (answer !== null && answer.status !== 503) throw new Error(`${what}: ${answer.status} ${answer.text}`);
  }
  throw new Error(`${what} was not taken`);
}
