/** What the console asks for, from a real server; on a cluster the same, of all workers. */
import { expect, test } from 'vitest';
import { ask } from '../support/e2e/rest.ts';
import { enter } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const at = (roomId: string, rest: string): string => `/v2/console/rooms/${encodeURIComponent(roomId)}/${rest}`;

test('[CS1] every worker says how it is doing', async () => {
  const workers = process.env.E2E_CLUSTER === undefined ? 1 : 3;
  const data = await until('the workers have heard of each other', async () => {
    const { data: known } = (await ask(server, '/v2/console/workers')).json;
    return known.length === workers && known;
  });
  for (const { report } of data) expect(report).toMatchObject({ isReady: true, name: expect.any(String) });
  await enter(server, { roomId: freshRoomId('console') });
  await until('the room and the socket are counted', async () => {
    const { data: now } = (await ask(server, '/v2/console/workers')).json;
    const sum = (name: string): number => now.reduce((total: number, { report }: any) => total + report[name], 0);
    return sum('rooms') >= 1 && sum('connections') >= 1 && sum('requestsTotal') >= 3;
  });
});

test('[CS2] [CS3] connections are listed and closed; their clients come back', async () => {
  const roomId = freshRoomId('console');
  const ann = await enter(server, { roomId, userId: 'ann', userInfo: { name: 'Ann' }, initialPresence: { x: 1 } });
  const bob = await enter(server, { roomId, userId: 'bob' });
  await until('presence has come', async () => {
    const { json } = await ask(server, at(roomId, 'connections'));
    expect(json).toMatchObject({ isAwake: true, total: 2, nextAfter: null });
    expect(json.data[0]).toMatchObject({
      kind: 'sdk',
      userId: 'ann',
      info: { name: 'Ann' },
      permissions: ['room:write'],
      presence: { x: 1 },
    });
    return true;
  });
  const before = [ann.actor(), bob.actor()];
  const answer = await ask(server, at(roomId, 'disconnect'), { json: { connectionId: ann.actor() } });
  expect(answer.json).toEqual({ disconnected: 1 });
  await until('she is back under another number', () => ann.room.getStatus() === 'connected' && ann.actor() !== before[0]);
  expect(bob.actor()).toBe(before[1]);
  expect((await ask(server, at(roomId, 'disconnect'), { json: {} })).json).toEqual({ disconnected: 2 });
  await until(
    'both are back',
    () => [ann, bob].every(({ room }) => room.getStatus() === 'connected') && bob.actor() !== before[1],
  );
});
