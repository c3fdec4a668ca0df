/** A whole server that cannot keep up: what it refuses, and what goes on. */
import { rm } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@liveblocks/client';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { startApp } from '../../src/app.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
const KEYS = { SECRET_KEY: 'sk_for_the_overload_test', PUBLIC_KEY: 'pk_for_the_overload_test' };

/** Keeps the event loop busy for so long, again and again, until the returned function is called. */
function strain(busyMs: number, everyMs: number): () => void {
  const timer = setInterval(() => {
    const endMs = performance.now() + busyMs;
    while (performance.now() < endMs);
  }, everyMs);
  return () => clearInterval(timer);
}

test('[OV4] a server that comes late wakes no rooms; those that are awake go on, and when it has time again it wakes others', async () => {
  const folder = await aDataDir('atrium-overload-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const settings = { ...KEYS, HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, SHED_LAG_MS: '40' };
  const app = await startApp(readSettings({ ...settings, DATABASE_URL: await postgres.database() }), {
    log: silentLog,
    onFatal: (reason) => {
      throw new Error(reason);
    },
  });
  onTestFinished(() => app.stop());
  const call = (path: string, body?: unknown): Promise<Response> =>
    fetch(`${app.url}/v2/rooms${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${KEYS.SECRET_KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const asleep = Array.from({ length: 40 }, (_, index) => `asleep-${index}`);
  for (const id of ['awake', ...asleep]) expect((await call('', { id, defaultAccesses: ['room:write'] })).status).toBe(200);
  const client = createClient({ baseUrl: app.url, publicApiKey: KEYS.PUBLIC_KEY, polyfills: { WebSocket } });
  const { room, leave } = client.enterRoom('awake', { initialStorage: {} });
  onTestFinished(leave);
  const { root } = await room.getStorage();

  const relax = strain(80, 200);
  onTestFinished(relax);
  const wakeNext = (): Promise<Response> => call(`/${asleep.pop()}/storage`);
  let refused = await wakeNext();
  while (refused.status === 200 && asleep.length > 0) {
    await sleep(500);
    refused = await wakeNext();
  }
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ error: 'WORKER_OVERLOADED' });
  root.set('word', 'kept');
  await until('the word is kept', () => room.getStorageStatus() === 'synchronized');
  expect(await (await call('/awake/storage?format=json')).json()).toEqual({ word: 'kept' });

  relax();
  await until('sleeping rooms are woken again', async () => (await call('/asleep-0/storage')).status === 200);
}, 60_000);
