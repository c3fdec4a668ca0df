/**
 * A Postgres that fails over to a standby which lags: against what Atrium asks for, yet common. What an owner has in memory is written down there again, and no
 * gap is left in its journal. Runs the built server.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PostgresProcess } from '../chaos/postgres-process.ts';
import { quietPorts } from '../support/e2e/free-port.ts';
import { aServerProcess, type ServerProcess } from '../support/e2e/process.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir } from '../support/postgres.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const SECRET_KEY = 'sk_test_failover_of_the_database';
const TIMEOUT_MS = 120_000;

/** A primary and a standby that follows it, each behind a network of its own. */
async function pairOfPostgres() {
  const folder = await aDataDir('atrium-failover-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const primary = await PostgresProcess.start(join(folder, 'primary'));
  onTestFinished(() => primary.stopAtOnce());
  await primary.ask('postgres', 'create database atrium');
  await primary.stopAtOnce();
  const [clients, replication] = await Promise.all([startTcpProxy(), startTcpProxy()]);
  onTestFinished(() => Promise.all([clients.close(), replication.close()]).then(() => undefined));
  const standby = await primary.standby(join(folder, 'standby'), { following: replication.port });
  for (const network of [clients, replication]) network.aim({ host: '127.0.0.1', port: primary.port });
  await primary.start();
  await standby.start();
  onTestFinished(() => standby.stopAtOnce());
  return { primary, standby, clients, replication };
}

/** A back end that sets fields of one room's Storage and reads them. */
function backEndOf(port: number) {
  const call = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/v2/rooms${path}`, {
      method,
      headers: { authorization: `Bearer ${SECRET_KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    async create(): Promise<void> {
      expect((await call('POST', '', { id: 'room', defaultAccesses: ['*:write'] })).status).toBe(200);
      expect((await call('POST', '/room/storage', { liveblocksType: 'LiveObject', data: {} })).status).toBe(200);
    },
    async set(name: string): Promise<boolean> {
      const patch = [{ op: 'add', path: `/${name}`, value: true }];
      return (await call('PATCH', '/room/storage/json-patch', patch)).status === 200;
    },
    async read(): Promise<unknown> {
      const answer = await call('GET', '/room/storage?format=json');
      return { status: answer.status, ...((await answer.json()) as object) };
    },
  };
}

test('[TL1] what a standby had not been sent when it took over is written there from memory, and later changes with it', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { primary, standby, clients, replication } = await pairOfPostgres();
  const port = await quietPorts(1);
  const start = async (): Promise<ServerProcess> => {
    const DATABASE_URL = primary.url('atrium', clients.port);
    const DATA_DIR = await aDataDir('atrium-failover-blobs-');
    onTestFinished(() => rm(DATA_DIR, { recursive: true })); // after the end of its server, which is told of later and therefore first
    const server = aServerProcess({ PORT: String(port), DATABASE_URL, SECRET_KEY, DATA_DIR });
    await server.ready(port);
    return server;
  };
  const first = await start();
  const room = backEndOf(port);
  await room.create();
  expect(await room.set('before')).toBe(true);
  const newest = async (at: PostgresProcess, table: 'journal' | 'snapshots'): Promise<number> =>
    (await at.ask<{ newest: number }>('atrium', `select coalesce(max(version), 0)::int as newest from ${table}`))[0]!.newest;
  await until('the standby has it', async () => (await newest(standby, 'journal')) === (await newest(primary, 'journal')));

  replication.refuse();
  replication.cut();
  expect(await room.set('lost')).toBe(true);
  const lost = await newest(primary, 'journal');
  await primary.stopAtOnce();
  expect(await newest(standby, 'journal')).toBeLessThan(lost);
  await standby.promote();
  clients.aim({ host: '127.0.0.1', port: standby.port });
  await until('it writes again', () => room.set('after'), { timeoutMs: 60_000 });
  await until('it has been saved whole', async () => (await newest(standby, 'snapshots')) > lost, { timeoutMs: 30_000 });

  await first.stop('SIGKILL');
  await start();
  const all = { status: 200, before: true, lost: true, after: true };
  await until('another worker has the room', async () => ((await room.read()) as typeof all).status === 200, {
    timeoutMs: 60_000,
  });
  expect(await room.read()).toEqual(all);
});
