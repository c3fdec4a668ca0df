/** People in a room whose owner is another worker, while Postgres is away and somebody's write is refused: two real workers, on virtual time. */
import { expect, test } from 'vitest';
import { asRoomId } from '../../src/base/ids.ts';
import type { SocketHandler } from '../../src/kernel/transport/server.ts';
import type { ActiveUser, Command } from '../../src/room/shapes.ts';
import { frameText } from '../support/frame-text.ts';
import { NONE } from './mutants.ts';
import { furnish } from './rooms.ts';
import { Cluster, type Life, Machine } from './workers.ts';
import { World } from './world.ts';

const ROOM = 'red';
const UPDATE_PRESENCE = 100;
const PATCH: Command = { type: 'storage.patch', operations: [{ op: 'add', path: '/list/-', value: 1 }] };
/** Leases have lapsed by then. */
const LAPSED_MS = 5_000;
const POLICY = {
  ...{ connectionsMax: 100, presenceBytesMax: 10_000, ydocsMax: 10, pendingBytesMax: 1_000_000, autoVersionMs: 0 },
  ...{ snapshotAfterChanges: 1_000, snapshotAfterBytes: 1_000_000, snapshotEveryMs: 60_000, idleMs: 60_000 },
};

/** Two workers, of which the second has the room. */
async function aPair() {
  const world = new World({ seed: 1 });
  const cluster = new Cluster(world, {
    policy: POLICY,
    mutant: NONE,
    hasSupervisors: false,
    onTrouble: (what) => expect.fail(what),
  });
  furnish(cluster.postgres.tables, ROOM);
  const [near, owner] = ['a', 'b'].map((name) => new Machine(cluster, name)) as [Machine, Machine];
  owner.start();
  await world.run(100);
  const ask = ({ life }: Machine, command: Command): Promise<unknown> => life!.worker!.door.ask(asRoomId(ROOM), command);
  /** What becomes of it while time passes. */
  const hearing = async (asked: Promise<unknown>, forMs: number): Promise<unknown> => {
    let heard: unknown = null;
    asked.then(
      (value) => (heard = value),
      ({ code }) => (heard = code),
    );
    await world.run(forMs);
    return heard;
  };
  await hearing(ask(owner, { type: 'room.touch' }), 100);
  near.start();
  await world.run(2_500); // they have heard of each other
  const enter = async (machine: Machine) => {
    const person = aPerson(machine.life!);
    await world.run(50);
    return person;
  };
  const users = async (): Promise<number> => ((await hearing(ask(owner, { type: 'users.list' }), 500)) as ActiveUser[]).length;
  return { world, postgres: cluster.postgres, near, owner, ask, hearing, enter, users };
}

/** A client over a socket, and where it has heard others be. */
function aPerson({ worker }: Life) {
  const places: unknown[] = [];
  const handler: SocketHandler = worker!.gateway.accept(
    { path: '/v8', query: `roomId=${ROOM}&pubkey=pk`, headers: {} },
    {
      send(frame) {
        for (const { type, data } of [JSON.parse(frameText(frame))].flat()) if (type === UPDATE_PRESENCE) places.push(data);
        return true;
      },
      cork: (writes) => writes(),
      ping: () => undefined,
      close: (code) => expect.fail(`closed with ${code}`),
      bufferedBytes: () => 0,
    },
  );
  return {
    places,
    goTo: (x: number): void => handler.message(JSON.stringify([{ type: UPDATE_PRESENCE, data: { x } }])),
    leave: (): void => handler.closed(1001, ''),
  };
}

test('[RO16] without Postgres people go on seeing each other over two workers, also when a write was refused', async () => {
  const { world, postgres, near, owner, ask, hearing, enter } = await aPair();
  const [ann, zoe] = [await enter(near), await enter(owner)];
  postgres.stop();
  await world.run(LAPSED_MS);
  expect(await hearing(ask(near, PATCH), 12_000)).toBe('DATABASE_UNAVAILABLE');
  for (const [speaker, hearer] of [
    [ann, zoe],
    [zoe, ann],
  ] as const) {
    hearer.places.splice(0);
    speaker.goTo(7);
    await world.run(50);
    expect(hearer.places).toEqual([{ x: 7 }]);
  }
});

test.each(['stop', 'freeze'] as const)(
  '[RJ22] who closes a tab after that, when Postgres did %s, is in the room no more',
  async (what) => {
    const { world, postgres, near, ask, hearing, enter, users } = await aPair();
    const ann = await enter(near);
    expect(await users()).toBe(1);
    postgres[what]();
    await world.run(LAPSED_MS);
    await hearing(ask(near, PATCH), 500);
    ann.leave();
    await world.run(20_000);
    postgres[what === 'stop' ? 'start' : 'thaw']();
    await world.run(10_000);
    expect(await users()).toBe(0);
  },
);
