/** What one worker acknowledges, another answers with: every request here comes over a connection of its own, so in a cluster they take turns. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { aServer, freshRoomId } from '../support/e2e/server.ts';

const server = await aServer();

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${server.secretKey}`, 'content-type': 'application/json' };
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    const sent = request(`${server.url}/v2/rooms${path}`, { method, headers, agent: false }, resolve).on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
  const answer = await text(response);
  return { status: response.statusCode!, json: answer === '' ? {} : JSON.parse(answer) };
}

test('[AX8] a change of a room that one worker has acknowledged is what every other answers with', async () => {
  const id = freshRoomId('remembered');
  const path = `/${encodeURIComponent(id)}`;
  await ask('POST', '', { id, defaultAccesses: [] });
  for (let n = 0; n < 20; n += 1) {
    expect((await ask('GET', path)).status).toBe(200); // now one remembers it
    const metadata = { n: String(n) };
    const change = n % 2 === 0 ? { metadata } : { metadata, defaultAccesses: ['*:read'] };
    expect(await ask('POST', path, change)).toMatchObject({ status: 200, json: { metadata } });
    expect((await ask('GET', path)).json.metadata).toEqual(metadata);
  }
  await ask('DELETE', path);
  expect((await ask('GET', path)).status).toBe(404);
  await ask('POST', '', { id, defaultAccesses: [], metadata: { again: 'yes' } });
  expect((await ask('GET', path)).json.metadata).toEqual({ again: 'yes' });
  await ask('POST', `${path}/update-room-id`, { newRoomId: `${id}:renamed` });
  expect([(await ask('GET', path)).status, (await ask('GET', `${path}${encodeURIComponent(':renamed')}`)).status]).toEqual([
    404, 200,
  ]);
});
