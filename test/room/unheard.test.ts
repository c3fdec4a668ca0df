import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { MemoryNetwork } from '../../src/adapters/memory-bus.ts';
import { MemoryDirectory } from '../../src/adapters/memory-directory.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { asRoomId, asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { Message } from '../../src/kernel/cluster/bus.ts';
import type { Query, Sql } from '../../src/kernel/persistence/sql.ts';
import { Worker } from '../../src/room/worker.ts';
import type { WorkerDeps } from '../../src/room/worker-deps.ts';
import { until } from '../support/e2e/until.ts';
import { memoryBlobs } from '../support/memory-blobs.ts';

const noWatcher = {
  ...{ wantsChanges: false, opened: () => undefined, closed: () => undefined },
  ...{ changed: () => undefined, entered: () => undefined, left: () => undefined },
};

/** A worker that owns nothing, and the bus of another, which has the room. */
async function twoWorkers({
  answer = null,
  look = async () => undefined,
}: {
  answer?: unknown;
  look?: () => Promise<void>;
} = {}) {
  const network = new MemoryNetwork({ clock: systemClock, log: silentLog });
  const db: Sql = {
    query: async <Row>(_: Query<Row>) => [{}] as Row[],
    change: async () => 1,
    transaction: (work) => work(db),
  };
  const unused = (): never => {
    throw new Error('nobody enters here');
  };
  const worker = await Worker.start({
    world: { clock: systemClock, random: systemRandom, log: silentLog },
    authority: db,
    lease: db,
    blobs: memoryBlobs(),
    cluster: {
      bus: network.join(asWorkerAddress('a:1')),
      directory: new MemoryDirectory({ clock: systemClock }),
      workerName: 'a',
    },
    rooms: {
      findStream: unused,
      findSchema: unused,
      keepVersion: unused,
      findOwner: async () => asWorkerAddress('b:1'),
      remembered: { forget: unused, forgetAll: unused },
    },
    limits: {} as WorkerDeps['limits'],
    watcher: { ...noWatcher, look },
    sockets: { admit: unused, findMissingFiles: unused, feeds: { take: unused } },
  });
  onTestFinished(() => worker.stop());
  const other = network.join(asWorkerAddress('b:1'));
  const heard: Message[] = [];
  other.serve((message) => {
    heard.push(message);
    return answer;
  });
  return { worker, other, heard };
}

test('[RJ14] a worker that a session speaks to in error says so, also to a worker of which no session ever joined here', async () => {
  const { other, heard } = await twoWorkers();
  const change = { type: 'storage.change', from: 'b-7', ops: [] };
  other.tell(asWorkerAddress('a:1'), { kind: 'actor.tell', payload: ['room', change] });
  await until('it is told so', () => heard.length > 0);
  expect(heard).toEqual([{ kind: 'session.lose', payload: [[7]] }]);
});

test('[SC80] who tells a room on another worker goes on when that has heard', async () => {
  let hear = (_: unknown): void => undefined;
  const { worker, heard } = await twoWorkers({ answer: new Promise((resolve) => (hear = resolve)) });
  let isOver = false;
  const detach = { type: 'schema.detach', upTo: { stream: 1, epoch: 1, decision: 1 } } as const;
  const told = worker.door.tellIfAwake(asRoomId('room'), detach).finally(() => {
    isOver = true;
  });
  await until('the other worker is asked', () => heard.length > 0);
  await setImmediate();
  expect([heard[0]!.payload, isOver]).toEqual([['room', detach], false]);
  hear({ reply: null });
  await told;
});

test('[WH12] a worker that has a lease again looks at what is watched', async () => {
  let looks = 0;
  const { worker } = await twoWorkers({
    look: async () => {
      looks += 1;
    },
  });
  expect(looks).toBe(0);
  await worker.resume();
  expect(looks).toBe(1);
});

test('[RO15] a command of a newer build is refused, and reaches no room', async () => {
  const { other } = await twoWorkers();
  for (const type of ['room.paint', 'constructor']) {
    const asked = other.ask(asWorkerAddress('a:1'), { kind: 'actor.ask', payload: ['room', { type }] }, { deadlineMs: 1_000 });
    await expect(asked).rejects.toMatchObject({ code: 'WORKER_OUTDATED' });
  }
});
