/** The built server with WORKERS=2, over real Redis, Postgres and S3: what becomes of rooms when its processes end, one way or another. */
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Liveblocks } from '@liveblocks/node';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { quietPorts } from '../support/e2e/free-port.ts';
import { build } from '../support/e2e/process.ts';
import { freshRoomId, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';
import { aRedisPrefix, useRedis } from '../support/redis.ts';
import { useS3 } from '../support/s3.ts';
import { services } from '../support/services.ts';
import { Supervised } from '../support/supervised.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });
const KEYS = { SECRET_KEY: 'sk_for_the_workers_test_only', PUBLIC_KEY: 'pk_for_the_workers_test_only' };
const postgres = usePostgres();
const redis = useRedis();
const s3 = await useS3();
let databaseUrl: string;
let db: Sql;
let redisUrl: string;

interface Cluster {
  readonly supervised: Supervised;
  readonly url: string;
  readonly backend: Liveblocks;
  readonly adminPorts: readonly number[];
}

/** Two workers that serve. */
async function aCluster(settings: Readonly<Record<string, string>> = {}): Promise<Cluster> {
  const folder = await aDataDir('atrium-workers-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const port = await quietPorts(3); // one to serve on, two for the admins
  const admin = port + 1;
  const supervised = new Supervised(['dist/main.js'], {
    ...KEYS,
    ...s3.settings(s3.newBucket()),
    WORKERS: '2',
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: String(admin),
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: aRedisPrefix(),
    LOG_LEVEL: 'debug',
    ...settings,
  });
  const adminPorts = [admin, admin + 1];
  for (const at of adminPorts)
    await supervised.explained(until('the worker is ready', async () => (await readiness(at)) === 200, { timeoutMs: 45_000 }));
  const url = `http://127.0.0.1:${port}`;
  return { supervised, url, adminPorts, backend: new Liveblocks({ secret: KEYS.SECRET_KEY, baseUrl: url }) };
}

async function readiness(port: number): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
}

/** The process that owns the room. */
async function ownerOf(roomId: string, { supervised }: Cluster): Promise<number> {
  const [row] = await db.query(
    sql<{ owner: string }>`select o.owner from actor_owner o join rooms r on r.pk = o.stream where r.id = ${roomId}`,
  );
  const taken = supervised.lines.find(({ incarnation, msg }) => msg === 'lease taken' && incarnation === row!.owner);
  return supervised.pids(Number(taken!.worker)).at(-1)!;
}

/** Writes the number into the room's Storage; true once it is acknowledged, false when it was refused for now. */
async function write({ url }: Cluster, { roomId, number }: { roomId: string; number: number }): Promise<boolean> {
  const response = await fetch(`${url}/v2/rooms/${roomId}/storage/json-patch`, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${KEYS.SECRET_KEY}`,
      'content-type': 'application/json',
      connection: 'close', // a new connection each time: either worker may get it
    },
    body: JSON.stringify([{ op: 'add', path: `/n${number}`, value: number }]),
  }).catch(() => null); // the worker died with the connection, or closed its port
  if (response !== null && response.status !== 200 && response.status !== 503)
    throw new Error(`${response.status}: ${await response.text()}`);
  return response?.status === 200;
}

/** Everything that was acknowledged, and nothing twice: each number has a key of its own. */
async function contentOf(roomId: string, { backend }: Cluster): Promise<number[]> {
  const storage = (await backend.getStorageDocument(roomId, 'json')) as Record<string, number>;
  return Object.values(storage).toSorted((a, b) => a - b);
}

async function aRoom({ backend }: Cluster): Promise<string> {
  const roomId = freshRoomId('workers');
  await backend.createRoom(roomId, { defaultAccesses: ['*:write'] });
  await backend.initializeStorageDocument(roomId, { liveblocksType: 'LiveObject', data: {} });
  return roomId;
}

describe.skipIf(isExternal || !services.has('redis') || !s3.isThere)('two workers', () => {
  beforeAll(async () => {
    await build();
    databaseUrl = await postgres.database();
    db = await postgres.open({ url: databaseUrl });
    redisUrl = await redis.url();
  });

  test('[E2E-W1] kill -9 of the worker that owns a room: the room goes on at the other before the lease has run out, with every acknowledged write, and the dead one is replaced', async () => {
    const cluster = await aCluster();
    const { supervised, adminPorts } = cluster;
    const roomId = await aRoom(cluster);
    for (let number = 1; number <= 10; number += 1) expect(await write(cluster, { roomId, number })).toBe(true);
    const owner = await ownerOf(roomId, cluster);
    supervised.signalWorker(owner, 'SIGKILL');
    const killedMs = performance.now();
    await until('the room takes writes', () => write(cluster, { roomId, number: 11 }), { timeoutMs: 10_000 });
    expect(performance.now() - killedMs).toBeLessThan(3_500); // a lease that must run out lasts 4 s, and 250 ms more
    expect(await contentOf(roomId, cluster)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await ownerOf(roomId, cluster)).not.toBe(owner);
    for (const port of adminPorts) {
      await until('both are ready', async () => (await readiness(port)) === 200, { timeoutMs: 30_000 });
    }
    expect(supervised.running).toHaveLength(2);
    expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  test('[E2E-W2] SIGHUP: both workers are replaced, the port is never refused, and every acknowledged write is there', async () => {
    const cluster = await aCluster();
    const { supervised, url } = cluster;
    const roomId = await aRoom(cluster);
    const before = supervised.running;
    const acknowledged: number[] = [];
    const state = { isOver: false, refused: 0 };
    const writing = (async () => {
      for (let number = 1; !state.isOver; number += 1) if (await write(cluster, { roomId, number })) acknowledged.push(number);
    })();
    const asking = (async () => {
      while (!state.isOver) {
        await fetch(`${url}/health`, { headers: { connection: 'close' } }).catch((error: unknown) => {
          if ((error as { cause?: { code?: string } }).cause?.code === 'ECONNREFUSED') state.refused += 1;
        });
      }
    })();
    supervised.signal('SIGHUP');
    await supervised.line('both are replaced', ({ msg }) => msg === 'rolling restart done');
    state.isOver = true;
    await Promise.all([writing, asking]);
    expect(state.refused).toBe(0);
    expect(supervised.running.filter((pid) => before.includes(pid))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(await contentOf(roomId, cluster)).toEqual(expect.arrayContaining(acknowledged));
    expect(await supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  test('[E2E-W3] SIGTERM with open sockets: all are sent away, all processes end in order, and what was acknowledged is there at the next start', async () => {
    const cluster = await aCluster();
    const roomId = await aRoom(cluster);
    expect(await write(cluster, { roomId, number: 1 })).toBe(true);
    const sockets = Array.from(
      { length: 8 },
      () => new WebSocket(`${cluster.url.replace('http', 'ws')}/v8?roomId=${roomId}&pubkey=${KEYS.PUBLIC_KEY}`),
    );
    const closed = sockets.map((socket) => new Promise<number>((resolve) => socket.once('close', resolve)));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('message', resolve))));
    expect(await cluster.supervised.stop('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(cluster.supervised.running).toEqual([]);
    expect(new Set(await Promise.all(closed))).toEqual(new Set([1012]));
    const next = await aCluster();
    expect(await contentOf(roomId, next)).toEqual([1]);
    await next.supervised.stop('SIGTERM');
  });

  test('[E2E-W4] kill -9 of the supervisor: both workers drain and are gone', async () => {
    const cluster = await aCluster();
    const { supervised } = cluster;
    const roomId = await aRoom(cluster);
    expect(await write(cluster, { roomId, number: 1 })).toBe(true);
    await supervised.stop('SIGKILL');
    await until('both workers are gone', () => supervised.running.length === 0, { timeoutMs: 5_000 });
    const [row] = await db.query(
      sql<{ owned: number }>`
        select count(*)::int as owned from actor_owner o
          join rooms r on r.pk = o.stream join worker_lease w on w.incarnation = o.owner
         where r.id = ${roomId} and w.fenced_at is null`,
    );
    expect(row).toEqual({ owned: 0 });
  });

  test.skipIf(!services.isOurs('redis'))('[E2E-W5] without Redis the workers stay ready, and rooms go on', async () => {
    const cluster = await aCluster();
    const roomId = await aRoom(cluster);
    const node = await redis.node();
    await node.stop();
    onTestFinished(() => node.start());
    for (let number = 1; number <= 20; number += 1) {
      expect(await write(cluster, { roomId, number })).toBe(true);
      for (const port of cluster.adminPorts) expect(await readiness(port)).toBe(200);
    }
    await cluster.supervised.stop('SIGTERM');
  });

  test('[QN5] a room that ends whoever loads it ends three workers, and then ever fewer, and all others are served', async () => {
    const preload = new URL('../support/e2e/deadly-journal.mjs', import.meta.url).href;
    const cluster = await aCluster({ NODE_OPTIONS: `--import=${preload}` });
    const { supervised, backend } = cluster;
    const [deadly, calm] = [await aRoom(cluster), await aRoom(cluster)];
    await backend.mutateStorage(deadly, ({ root }) => root.set('word', 'deadly'));
    expect(await write(cluster, { roomId: calm, number: 1 })).toBe(true);
    supervised.signalWorker(await ownerOf(deadly, cluster), 'SIGKILL');

    const read = (): Promise<unknown> => backend.getStorageDocument(deadly, 'json').catch((error: unknown) => String(error));
    const isLeftAlone = async (): Promise<boolean> => String(await read()).includes('it is left alone until');
    await until('it is left alone', isLeftAlone, { timeoutMs: 60_000 });
    const untilMs = performance.now() + 20_000; // tried again after five seconds, and then after twenty more
    while (performance.now() < untilMs) {
      expect(await read()).toEqual(expect.any(String));
      await sleep(100);
    }
    const ended = supervised.pids().length - 3; // two at first, and one in the place of that which was killed
    expect(ended).toBeLessThanOrEqual(4);

    await until('the other room takes writes', () => write(cluster, { roomId: calm, number: 2 }), { timeoutMs: 10_000 });
    expect(await contentOf(calm, cluster)).toEqual([1, 2]);
    expect(await backend.getRoom(deadly)).toMatchObject({ id: deadly }); // what does not need it awake is there
    await backend.deleteRoom(deadly);
    await supervised.stop('SIGTERM');
  });
});
