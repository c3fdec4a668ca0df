import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asRoomId, asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { Announcements } from '../../src/room/announcements.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ROOM = asRoomId('room');
const [B, C] = [asWorkerAddress('b:1'), asWorkerAddress('c:1')];

/** Workers of which some do not answer; what each of them, and this one, has heard. */
function aCluster({ others = [B, C], deaf = [] as WorkerAddress[], othersLastMs = 0 } = {}) {
  const state = { others: others as WorkerAddress[] | null, deaf: new Set(deaf) };
  const heard: string[] = [];
  const clock = manualClock();
  const asked: WorkerAddress[] = [];
  const hearing = (name: string) => ({
    changed: (roomId: string) => void heard.push(`${name} ${roomId}`),
    anyMayHaveChanged: () => void heard.push(`${name} all`),
  });
  const changesOf = (name: string): Announcements =>
    new Announcements({
      clock,
      log: silentLog,
      kind: 'changed',
      here: hearing(name),
      othersLastMs,
      findOthers: async () => {
        if (state.others === null) throw new AppError('DATABASE_UNAVAILABLE');
        return state.others;
      },
      bus: {
        address: asWorkerAddress('a:1'),
        ask: async (to, message) => {
          asked.push(to);
          if (state.deaf.has(to)) throw new AppError('OUTCOME_UNKNOWN');
          const there = changesOf(to);
          expect(there.isFor(message)).toBe(true);
          return there.handle(message);
        },
      },
    });
  return { changes: changesOf('here'), heard, asked, clock, state };
}

test('[AX1] a change of accesses is told here and to every other worker', async () => {
  const { changes, heard } = aCluster();
  await changes.announce(ROOM);
  expect(heard).toEqual(['here room', 'b:1 room', 'c:1 room']);
});

test('[AX1] one that does not answer is told again, and nobody else is, until it answers', async () => {
  const { changes, heard, clock, state } = aCluster({ deaf: [C] });
  let isDone = false;
  const announced = changes.announce(ROOM).then(() => {
    isDone = true;
  });
  for (let time = 0; time < 3; time += 1) {
    await settled();
    clock.advance(300);
  }
  expect([isDone, heard]).toEqual([false, ['here room', 'b:1 room']]);
  state.deaf.clear();
  await settled();
  clock.advance(300);
  await announced;
  expect(heard).toEqual(['here room', 'b:1 room', 'c:1 room']);
});

test('[AX1] one whose lease is over is waited for no longer; who comes meanwhile is told; without a database it goes on when that is back', async () => {
  const { changes, heard, clock, state } = aCluster({ others: [C], deaf: [C] });
  const announced = changes.announce(ROOM);
  await settled();
  state.others = null;
  clock.advance(300);
  await settled();
  state.others = [B];
  clock.advance(300);
  await announced;
  expect(heard).toEqual(['here room', 'b:1 room']);
});

test('[AX15] the others may be known from before, until one of them does not answer', async () => {
  const { changes, heard, clock, state } = aCluster({ others: [B], othersLastMs: 1_000 });
  await changes.announce(ROOM);
  state.others = [C];
  clock.advance(999);
  await changes.announce(ROOM);
  state.deaf.add(B);
  const announced = changes.announce(ROOM);
  await settled();
  clock.advance(250); // asked anew: B is gone, C has come
  await announced;
  expect(heard.filter((line) => line.endsWith('1 room'))).toEqual(['b:1 room', 'b:1 room', 'c:1 room']);
});

test('[AX1] it is not tried for ever', async () => {
  const { changes, clock } = aCluster({ deaf: [C] });
  const announced = changes.announce(ROOM);
  for (let passedMs = 0; passedMs < 61_000; passedMs += 250) {
    await settled();
    clock.advance(250);
  }
  await announced;
});

test('[AX3] changes that one worker does not answer for are told to it together, and beyond a thousand as one', async () => {
  for (const [count, told] of [
    [1_000, Array.from({ length: 1_000 }, (_, n) => `c:1 room-${n}`)],
    [1_001, ['c:1 all']],
  ] as const) {
    const { changes, heard, asked, clock, state } = aCluster({ others: [C], deaf: [C] });
    const announced = Promise.all(Array.from({ length: count }, (_, n) => changes.announce(asRoomId(`room-${n}`))));
    await settled();
    expect(asked).toHaveLength(2); // the first alone, then all others
    clock.advance(300);
    await settled();
    expect(asked).toHaveLength(3);
    state.deaf.clear();
    clock.advance(300);
    await announced;
    expect(heard.filter((line) => line.startsWith('c:1'))).toEqual(told);
  }
});
