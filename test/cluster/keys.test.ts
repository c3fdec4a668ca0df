import { expect, test } from 'vitest';
import { aClusterOfProcesses } from '../support/cluster-processes.ts';
import { ask } from '../support/e2e/rest.ts';
import { enter, rootOf, saved, storageOf } from '../support/e2e/sdk-client.ts';
import { freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const FORMER = 'sk_the_key_until_now';
const NEXT = 'sk_the_key_from_now_on';
const cluster = await aClusterOfProcesses({ workers: 2, settings: { SECRET_KEY: FORMER } });

test('[TK46] the secret key is changed worker by worker, under people with tokens of the former one and a back end that goes on', async () => {
  const roomId = freshRoomId('keys');
  const [ann, bob] = [
    await enter(cluster.server(0), { roomId, userId: 'ann' }),
    await enter(cluster.server(1), { roomId, userId: 'bob' }),
  ];
  const root = await rootOf(ann);
  const expected: Record<string, number> = {};
  /** Ann writes, Bob reads it, and both workers, one of which is not the owner, read it for a back end with this key. */
  const allIsWell = async (bearer: string) => {
    const key = `n${Object.keys(expected).length}`;
    expected[key] = 1;
    root.set(key, 1);
    await saved(ann);
    await until('bob reads it', async () => ((await storageOf(bob)) as typeof expected)[key] === 1);
    for (const seat of [0, 1]) {
      const read = await ask(cluster.server(seat), `/v2/rooms/${encodeURIComponent(roomId)}/storage?format=json`, { bearer });
      expect([read.status, read.json]).toEqual([200, expected]);
    }
  };
  const restartAll = async (settings: Readonly<Record<string, string>>, keyOfBackEnd: string) => {
    for (const seat of [0, 1]) {
      await cluster.end(seat, 'SIGTERM');
      await cluster.start(seat, settings);
      await allIsWell(keyOfBackEnd);
    }
  };

  await allIsWell(FORMER);
  await restartAll({ OTHER_SECRET_KEY: NEXT }, FORMER);
  await restartAll({ SECRET_KEY: NEXT, OTHER_SECRET_KEY: FORMER }, FORMER);
  await allIsWell(NEXT);
  expect([ann.errors, ann.tokensAsked(), bob.errors, bob.tokensAsked()]).toEqual([[], 1, [], 1]);
  ann.leave();
  bob.leave();
  for (const seat of [0, 1]) {
    await cluster.end(seat, 'SIGTERM');
    await cluster.start(seat, { SECRET_KEY: NEXT });
    for (const there of [0, 1])
      expect((await ask(cluster.server(there), `/v2/rooms/${encodeURIComponent(roomId)}/storage`, { bearer: NEXT })).status).toBe(
        200,
      );
  }
  expect((await ask(cluster.server(0), '/v2/rooms', { bearer: FORMER })).status).toBe(403);
}, 180_000);
