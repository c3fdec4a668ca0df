/** What webhooks are told while rooms change their owner. */
import { expect, test } from 'vitest';
import { aClusterOfProcesses } from '../support/cluster-processes.ts';
import { aHook, aReceiver, ofRoom } from '../support/e2e/receiver.ts';
import { enter, rootOf, saved } from '../support/e2e/sdk-client.ts';
import { freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const cluster = await aClusterOfProcesses({ workers: 3, settings: { WEBHOOK_TARGETS: 'all' } });
const TAKEOVER_MS_MAX = 15_000;
/** Who is not back by then has left. */
const BACK_MS_MAX = 20_000;

test('[WO1] when the owner dies, those who stay did not leave, those who were on it did, and the numbers go on', async () => {
  const roomId = freshRoomId('visits');
  (await enter(cluster.server(0), { roomId })).leave();
  const owner = await cluster.ownerOf(roomId);
  const here = [0, 1, 2].find((seat) => seat !== owner)!;
  const receiver = await aReceiver();
  const hook = await aHook(cluster.server(here), receiver.url, ['userEntered', 'userLeft', 'storageUpdated'], {
    storageUpdatedThrottleSeconds: 5,
  });
  const ann = await enter(cluster.server(here), { roomId, userId: 'ann' });
  await enter(cluster.server(here), { roomId, userId: 'bob' });
  const zoe = await enter(cluster.server(owner), { roomId, userId: 'zoe', baseUrl: cluster.server(owner).url });
  const root = await rootOf(ann);
  root.set('n', 1);
  await saved(ann);
  await until('that is told', () => ofRoom(receiver, hook, roomId).filter(({ type }) => type === 'storageUpdated').length === 1);
  root.set('n', 2); // within the window: noted by the owner
  await saved(ann);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const lines = (): string[] =>
    ofRoom(receiver, hook, roomId).flatMap(({ type, data }: any) =>
      type === 'storageUpdated' ? [] : [`${type === 'userEntered' ? '+' : '-'}${data.userId} (${data.numActiveUsers})`],
    );
  await until('all three are told of', () => lines().length === 3);

  await cluster.end(owner, 'SIGKILL');
  zoe.leave(); // her socket is gone, and she does not come back
  const savedMs = Date.now();
  root.set('n', 3);
  await until('ann goes on', () => ann.room.getStorageStatus() === 'synchronized', { timeoutMs: TAKEOVER_MS_MAX });
  expect(await cluster.ownerOf(roomId)).not.toBe(owner);
  await until('zoe has left', () => lines().length === 4, { timeoutMs: BACK_MS_MAX + TAKEOVER_MS_MAX });
  ann.leave();
  await until('ann has left', () => lines().length === 5);
  expect([...lines()].sort()).toEqual(['+ann (1)', '+bob (2)', '+zoe (3)', '-zoe (2)', '-ann (1)'].sort());
  const changes = () => ofRoom(receiver, hook, roomId).filter(({ type }) => type === 'storageUpdated') as any[];
  await until('the last change is told', () => Date.parse(changes().at(-1).data.updatedAt) >= savedMs - 1_000, {
    timeoutMs: 15_000,
  });
  expect(changes().length).toBeLessThanOrEqual(3); // the first at once, what the dead owner noted, and perhaps the last in a window of its own
  await cluster.start(owner);
}, 120_000);
