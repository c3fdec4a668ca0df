import { expect, test } from 'vitest';
import { silentLog } from '../../src/base/observe.ts';
import { DocumentsAhead } from '../../src/room/documents-ahead.ts';
import { SnapshotKeeper } from '../../src/room/snapshot-keeper.ts';
import { aRoom } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';

const DAY_MS = 86_400_000;

test('[SN17] a room whose snapshots are large is saved after more changes, more bytes and more time', async () => {
  for (const [snapshotBytes, times] of [
    [0, 1],
    [256 * 1024, 2],
    [512 * 1024, 3],
    [1_792 * 1024, 8],
    [50 * 1024 * 1024, 8],
  ] as const) {
    const clock = manualClock();
    const room = aRoom();
    const saved: number[] = [];
    const keeper = new SnapshotKeeper(
      {
        ...{ clock, log: silentLog, documents: new DocumentsAhead(clock) },
        snapshots: {
          load: async () => null,
          async save({ version }) {
            saved.push(version);
            return 'stale';
          },
        },
        policy: { snapshotAfterChanges: 100, snapshotAfterBytes: 1_000, snapshotEveryMs: 1_000 } as never,
      },
      {
        room,
        ground: { stream: 1, epoch: 1, snapshotVersion: 0, snapshotBytes },
        place: null,
        whenDurable: ({ release }) => release(),
      },
    );
    const change = (bytes: number): void => {
      room.version += 1;
      keeper.appended(bytes);
    };
    for (let count = 1; count < 100 * times; count += 1) change(0);
    expect(saved).toEqual([]);
    change(0);
    expect(saved).toEqual([100 * times]);
    room.version = 0;
    await new Promise(setImmediate);
    change(1_000 * times - 1);
    expect(saved).toHaveLength(1);
    change(1);
    expect(saved).toHaveLength(2);
    await new Promise(setImmediate);
    clock.advance(1_000 * times - 1);
    keeper.tick(clock.monotonicMs());
    expect(saved).toHaveLength(2);
    clock.advance(1);
    keeper.tick(clock.monotonicMs());
    expect(saved).toHaveLength(3);
  }
});

/** A room that changes once a second, and a store that fails until it is told otherwise. Resolves with the seconds at which it was asked. */
async function attempts(seconds: number, isAway: (second: number) => boolean, clock = manualClock()): Promise<number[]> {
  const room = aRoom();
  const asked: number[] = [];
  let second = 0;
  const keeper = new SnapshotKeeper(
    {
      clock,
      log: silentLog,
      documents: new DocumentsAhead(clock),
      snapshots: {
        load: async () => null,
        save: async () => {
          asked.push(second);
          if (isAway(second)) throw new Error('the store is away');
          return 'saved';
        },
      },
      policy: { snapshotAfterChanges: 1, snapshotAfterBytes: 1, snapshotEveryMs: 1_000 } as never,
    },
    {
      room,
      ground: { stream: 1, epoch: 1, snapshotVersion: 0, snapshotBytes: 0 },
      place: null,
      whenDurable: ({ release }) => release(),
    },
  );
  for (; second < seconds; second++) {
    room.version += 1;
    keeper.appended(10);
    await new Promise(setImmediate);
    clock.advance(1_000);
  }
  return asked;
}

test('[SN14] while no snapshot can be saved it is tried less and less often, at least once a minute', async () => {
  expect(await attempts(300, () => true)).toEqual([0, 5, 15, 35, 75, 135, 195, 255]);
});

test('[SN14] and as before once one is saved', async () => {
  expect(await attempts(30, (second) => second < 15 || second === 17)).toEqual([
    0, 5, 15, 16, 17, 22, 23, 24, 25, 26, 27, 28, 29,
  ]);
});

test.each([-DAY_MS, DAY_MS])(
  '[SN22] a wall clock that is set by %i ms stops none that is due by the time, and hastens none',
  async (ms) => {
    const clock = manualClock();
    clock.stepWall(ms);
    const { saved, room, tick } = aKeeper(clock);
    for (let version = 1; version <= 3; version += 1) {
      room.version = version;
      clock.stepWall(ms);
      clock.advance(59_999);
      await tick();
      expect(saved).toHaveLength(version - 1);
      clock.advance(1);
      await tick();
      expect(saved).toHaveLength(version);
      saved.at(-1)!.done();
      await new Promise(setImmediate);
    }
  },
);

test.each([-DAY_MS, DAY_MS])('[SN22] nor one that is due by the journal, also after one that failed: %i ms', async (ms) => {
  const clock = manualClock();
  const isAway = (second: number): boolean => {
    if (second < 15) clock.after(500, () => clock.stepWall(ms)); // it has failed by then
    return second < 15;
  };
  expect(await attempts(18, isAway, clock)).toEqual([0, 5, 15, 16, 17]);
});

test('[SN20] a save that was overtaken by a claim of its own owner has saved nothing: the doubt goes on', async () => {
  const clock = manualClock();
  const room = aRoom();
  const saved: { readonly epoch: number; done(outcome: 'saved' | 'stale'): void }[] = [];
  const shell = {
    room,
    ground: { stream: 1, epoch: 1, snapshotVersion: 7, snapshotBytes: 0 },
    isClaiming: false,
    get place() {
      return this.isClaiming ? null : { stream: 1, epoch: this.ground.epoch, version: room.version };
    },
    whenDurable: ({ release }: { release(): void }) => release(),
  };
  const keeper = new SnapshotKeeper(
    {
      ...{ clock, log: silentLog, documents: new DocumentsAhead(clock) },
      snapshots: {
        load: async () => null,
        save: ({ epoch }) => new Promise((done) => saved.push({ epoch, done })),
      },
      policy: { snapshotAfterChanges: 100, snapshotAfterBytes: 1_000, snapshotEveryMs: 60_000 } as never,
    },
    shell,
  );
  const tick = async (): Promise<void> => {
    await new Promise(setImmediate);
    keeper.tick(clock.monotonicMs());
  };
  room.version = 7;
  keeper.doubt();
  await tick();
  shell.isClaiming = true; // it is committed, and its answer on the way
  saved[0]!.done('stale');
  await tick();
  shell.isClaiming = false;
  expect(saved).toHaveLength(2);
  shell.ground = { ...shell.ground, epoch: 2 };
  saved[1]!.done('stale');
  await tick();
  expect(saved.map(({ epoch }) => epoch)).toEqual([1, 1, 2]);
  saved[2]!.done('stale'); // somebody else has a newer one
  await tick();
  expect(saved).toHaveLength(3);
});

/** A room whose snapshots are saved when the test says so. */
function aKeeper(clock = manualClock()) {
  const room = aRoom();
  const saved: { readonly version: number; done(): void }[] = [];
  const keeper = new SnapshotKeeper(
    {
      ...{ clock, log: silentLog, documents: new DocumentsAhead(clock) },
      snapshots: {
        load: async () => null,
        save: ({ version }) => new Promise((resolve) => saved.push({ version, done: () => resolve('saved') })),
      },
      policy: { snapshotAfterChanges: 100, snapshotAfterBytes: 1_000, snapshotEveryMs: 60_000 } as never,
    },
    {
      room,
      ground: { stream: 1, epoch: 1, snapshotVersion: 0, snapshotBytes: 0 },
      place: null,
      whenDurable: ({ release }) => release(),
    },
  );
  const tick = async (): Promise<void> => {
    await new Promise(setImmediate);
    keeper.tick(clock.monotonicMs());
  };
  return { clock, keeper, saved, room, tick };
}

test('[SN20] what has come into doubt is saved anew, whatever was saved, also what was under way then', async () => {
  const { keeper, saved, room, tick } = aKeeper();
  keeper.doubt();
  await tick();
  expect(saved).toEqual([]); // nothing was ever written
  room.version = 7;
  await tick();
  expect(saved).toEqual([]); // not yet
  keeper.doubt();
  await tick();
  expect(saved).toMatchObject([{ version: 7 }]);
  keeper.doubt();
  saved[0]!.done();
  await tick();
  expect(saved).toMatchObject([{ version: 7 }, { version: 7 }]);
  saved[1]!.done();
  await tick();
  expect(saved).toHaveLength(2);
  keeper.doubt();
  const last = keeper.saveLast({ mayWait: true });
  expect(saved).toHaveLength(3);
  saved[2]!.done();
  await last;
});

test('[SN21] the last one is waited for five seconds, and goes on after that', async () => {
  const { clock, keeper, saved, room } = aKeeper();
  room.version = 7;
  let isOver = false;
  const last = keeper.saveLast({ mayWait: false }).then(() => {
    isOver = true;
  });
  clock.advance(4_999);
  await new Promise(setImmediate);
  expect([saved.length, isOver]).toEqual([1, false]);
  clock.advance(1);
  await last;
  saved[0]!.done();
  await new Promise(setImmediate);
  await keeper.saveLast({ mayWait: false });
  expect(saved).toHaveLength(1); // it was saved meanwhile
});
