/** kill -9 between a change and the message that tells of it. Runs the built server. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebhookHandler } from '@liveblocks/node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { build } from '../support/e2e/process.ts';
import { WEBHOOKS } from '../support/e2e/receiver.ts';
import { isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { KilledServer } from './server-process.ts';

const SECRET_KEY = 'sk_kill_test_000000000000';
const ROUNDS = 5;
/** What a dead worker had claimed is free again by then. */
const LATE_MS_MAX = 60_000;

let server: KilledServer;
beforeAll(async () => {
  if (isExternal) return;
  await build();
  server = await KilledServer.prepare({ SECRET_KEY, PUBLIC_KEY: 'pk_kill_test_000000000000', WEBHOOK_TARGETS: 'all' });
  await server.start();
}, 120_000);
afterAll(() => server?.dispose());

const send = async (method: string, path: string, json?: unknown) => {
  const headers = { authorization: `Bearer ${SECRET_KEY}`, 'content-type': 'application/json' };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...body });
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.text();
};
const post = async (path: string, json: object) => JSON.parse(await send('POST', path, json));

/** A webhook, and by room the ids of the messages that told of it. */
async function aListener(event: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const told = new Map<string, Set<string>>();
  let verify = (_headers: object, _body: string): { data: { roomId: string | null } } => ({ data: { roomId: null } });
  const receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      const roomId = verify(request.headers, body).data.roomId!;
      told.set(roomId, (told.get(roomId) ?? new Set()).add(String(request.headers['webhook-id'])));
      setTimeout(() => response.writeHead(200).end(), 20); // the kill may fall between
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const hook = await post(WEBHOOKS, { url, subscribedEvents: [event] });
  const handler = new WebhookHandler(hook.secret.value);
  verify = (headers, rawBody) => handler.verifyRequest({ headers: headers as never, rawBody }) as never;
  return told;
}

const TIMEOUT_MS = 240_000;

describe.skipIf(isExternal)('a server that is killed', () => {
  test('[WKL1] tells the webhook of every change that was acknowledged, under one id', { timeout: TIMEOUT_MS }, async () => {
    const told = await aListener('roomCreated');
    const acknowledged: string[] = [];
    let left = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const batch = Array.from({ length: 20 }, (_, n) => `kill ${round} ${n}`);
      const made = batch.map((id) =>
        post('/v2/rooms', { id, defaultAccesses: [] }).then(
          () => acknowledged.push(id),
          () => undefined, // in doubt
        ),
      );
      await Promise.any(made.slice(round % 2)); // the first is written alone, the others together
      await server.kill(round % 2 === 0 ? 'server' : 'everything');
      await Promise.all(made);
      left += acknowledged.filter((id) => !told.has(id)).length;
      await server.start();
    }
    expect(acknowledged.length).toBeGreaterThan(ROUNDS);
    expect(left).toBeGreaterThan(0); // some kill fell between
    await until('all are told', () => acknowledged.every((id) => told.has(id)), { timeoutMs: LATE_MS_MAX });
    expect([...told.values()].filter((ids) => ids.size > 1)).toEqual([]);
  });

  test('[WKL2] tells of Storage that changed just before, once the room wakes', { timeout: TIMEOUT_MS }, async () => {
    const told = await aListener('storageUpdated');
    const rooms = ['storage 1', 'storage 2', 'storage 3'];
    for (const id of rooms) {
      await post('/v2/rooms', { id, defaultAccesses: [] });
      await send('PATCH', `/v2/rooms/${encodeURIComponent(id)}/storage/json-patch`, [{ op: 'add', path: '/n', value: 1 }]);
      await server.kill('server');
      expect(told.has(id)).toBe(false); // the kill fell between
      await server.start();
    }
    for (const id of rooms) await send('GET', `/v2/rooms/${encodeURIComponent(id)}/storage`);
    await until('all are told', () => rooms.every((id) => told.has(id)), { timeoutMs: LATE_MS_MAX });
  });
});
