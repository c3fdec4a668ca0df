/** Who did not come back is asked of many rooms, a few at a time. The database is one that answers when told. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asRoomId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { VisitNotes } from '../../../src/features/webhooks/visits/visit-notes.ts';
import type { Query, Sql } from '../../../src/kernel/persistence/sql.ts';
import type { WatchedRoom } from '../../../src/room/room-watch.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';

const ROOMS = 100;
const DUE_MS = 21_000;

interface Look {
  readonly stream: unknown;
  answer(): void;
  fail(): void;
}

let clock: ManualClock;
let worker: VisitNotes;
let rooms: WatchedRoom[];
/** Not answered yet. */
let open: Look[];
/** Numbers of the rooms that were asked about, in order. */
let asked: unknown[];
beforeEach(() => {
  clock = manualClock();
  open = [];
  asked = [];
  const query = ({ values: [stream] }: Query) =>
    new Promise((resolve, reject) => {
      asked.push(stream);
      open.push({ stream, answer: () => resolve([]), fail: () => reject(new Error('away')) });
    });
  worker = new VisitNotes({ db: { query } as unknown as Sql, clock, log: silentLog, projectId: 'p', nudge: () => undefined });
  worker.wanted('on');
  rooms = Array.from({ length: ROOMS }, (_, n) => ({
    id: asRoomId(`room${n}`),
    stream: n,
    watchVisits: () => undefined,
    visits: () => [],
  }));
  for (const room of rooms) worker.opened(room);
});
afterEach(() => worker.close());

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Answers until nothing more is asked; returns the most that was open at once. */
async function answerAll(): Promise<number> {
  let most = 0;
  while (open.length > 0) {
    most = Math.max(most, open.length);
    open.shift()!.answer();
    await turn();
  }
  return most;
}

test('[CB46] of all rooms that are due together eight at a time are looked at, each once, in order', async () => {
  clock.advance(DUE_MS);
  expect(open).toHaveLength(8);
  clock.advance(5_000);
  expect(open).toHaveLength(8);
  expect(await answerAll()).toBe(8);
  expect(asked).toEqual(rooms.map(({ stream }) => stream));
  clock.advance(DUE_MS);
  expect(open).toEqual([]);
});

test('[CB46] a look that fails holds up no other, and comes again later', async () => {
  clock.advance(DUE_MS);
  open.shift()!.fail();
  await turn();
  await answerAll();
  expect(asked).toHaveLength(ROOMS);
  clock.advance(DUE_MS);
  expect(open.map(({ stream }) => stream)).toEqual([0]);
});

test('[CB46] a room that was closed meanwhile is not looked at, and none is once the worker closes', async () => {
  clock.advance(DUE_MS);
  worker.closed(rooms[8]!);
  open.shift()!.answer();
  await turn();
  expect(asked.at(-1)).toBe(9);
  const before = asked.length;
  await worker.close();
  await answerAll();
  expect(asked).toHaveLength(before);
});
