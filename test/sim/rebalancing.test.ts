/** Rooms with people go to a worker that comes, while those who are in them come back at once: three real workers, on virtual time. */
import { expect, test } from 'vitest';
import { NONE } from './mutants.ts';
import { furnish } from './rooms.ts';
import { Cluster, type Life, Machine } from './workers.ts';
import { World } from './world.ts';

const ROOMS = 420;
const POLICY = {
  ...{ connectionsMax: 100, presenceBytesMax: 10_000, ydocsMax: 10, pendingBytesMax: 1_000_000, autoVersionMs: 0 },
  ...{ snapshotAfterChanges: 1_000, snapshotAfterBytes: 1_000_000, snapshotEveryMs: 60_000, idleMs: 60_000 },
};

function enter({ worker }: Life, room: string): void {
  const wire = { send: () => true, cork: (writes: () => void) => writes(), ping: () => undefined, close: () => undefined };
  worker!.gateway.accept({ path: '/v8', query: `roomId=${room}&pubkey=pk`, headers: {} }, { ...wire, bufferedBytes: () => 0 });
}

test('[WK5] rooms that move to a worker that came stay there, whoever remembers where they were', {
  timeout: 60_000,
}, async () => {
  const world = new World({ seed: 1 });
  const options = { policy: POLICY, mutant: NONE, hasSupervisors: false, onTrouble: (what: string) => expect.fail(what) };
  const cluster = new Cluster(world, options);
  const rooms = Array.from({ length: ROOMS }, (_, n) => `room-${n}`);
  for (const room of rooms) furnish(cluster.postgres.tables, room);
  const [first, second, third] = ['a', 'b', 'c'].map((name) => new Machine(cluster, name)) as [Machine, Machine, Machine];
  first.start();
  second.start();
  await world.run(3_000);
  for (const room of rooms) {
    enter(second.life!, room); // half of the rooms are on the other one
    await world.run(20);
  }
  await world.run(3_000);
  const owners = () => [...cluster.postgres.tables.owners.values()].map((row) => ({ ...row }));
  const before = owners();
  third.start();
  await world.run(45_000);
  const moved = owners().flatMap(({ epoch, owner: to }, at) => {
    const { epoch: epochBefore, owner: from } = before[at]!;
    return epoch === epochBefore ? [] : [{ from, to }];
  });
  expect(moved.length).toBeGreaterThan(20);
  expect(moved.filter(({ from, to }) => from === to)).toEqual([]);
  expect(new Set(moved.map(({ from }) => from)).size).toBe(2);
});
