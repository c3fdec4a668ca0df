/**
 * Curve: rooms on one worker, without sockets.
 * Expected: creating, waking and changing a room cost the same among 20,000 as among 100, because no step looks at all rooms; and a room that is
 * awake takes at most 15 KB.
 */
import type { Case, Outcome, Trial } from '../case.ts';
import { GROWTH } from '../config.ts';
import { settledKb } from '../memory.ts';
import { percentile } from '../metrics.ts';
import { atriumWith } from '../servers/atrium.ts';
import { restHeaders, restUrl } from '../servers/server.ts';
import { eachOf } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { measure, outcomeOf, settled } from './window.ts';

/** Requests under way at a time. */
const AT_ONCE = 16;
const DOCUMENT = { serviceType: 'LiveObject', data: { turn: 0 } };
const turnTo = (value: number): unknown => [{ op: 'replace', path: '/turn', value }];
const nameOf = (rooms: number): string => `${rooms.toLocaleString('en')} rooms`;
const [FEWEST, MOST] = [nameOf(GROWTH.rooms[0]), nameOf(GROWTH.rooms.at(-1)!)];

export const growthRooms: Case = {
  name: 'growth-rooms',
  question: 'What do rooms cost when there are many: to create, to wake, to keep, to change?',
  unit: 'ops',
  grows: 'rooms',
  subjects: [atriumWith({ IDLE_ROOM_SECONDS: '3600' })],
  peers: [],
  variants: GROWTH.rooms.map((rooms) => ({ name: nameOf(rooms), at: rooms, load: (trial) => manyRooms(trial, rooms) })),
  metrics: ['kbPerRoom', 'createMs', 'wakeMs', 'cpuPerMillion', 'p50Ms', 'p99Ms', 'completeness', 'othersBusy'],
  targets: [
    { variant: MOST, metric: 'kbPerRoom', against: null, limit: { atMost: 15 } },
    { variant: MOST, metric: 'createMs', against: { variant: FEWEST }, limit: { atMost: 1.5 } },
    { variant: MOST, metric: 'wakeMs', against: { variant: FEWEST }, limit: { atMost: 1.5 } },
    { variant: MOST, metric: 'cpuPerMillion', against: { variant: FEWEST }, limit: { atMost: 1.5 } },
  ],
};

async function manyRooms(trial: Trial, rooms: number): Promise<Outcome> {
  const call = callsTo(trial);
  await heat(trial);
  const createMs = await forEachOf(rooms, (room) =>
    call('POST', '/v2/rooms', { id: `room-${room}`, defaultAccesses: ['*:write'] }),
  );
  const beforeKb = await settledKb(trial);
  const wakeMs = await forEachOf(rooms, (room) => call('POST', `/v2/rooms/room-${room}/storage`, DOCUMENT));
  const kbPerRoom = ((await settledKb(trial)) - beforeKb) / rooms;
  const outcome = await patched(trial, rooms);
  return { ...outcome, values: { ...outcome.values, kbPerRoom, createMs: medianOf(createMs), wakeMs: medianOf(wakeMs) } };
}

/** The same with rooms that do not count, until V8 has compiled what each request runs: else the fewest rooms would pay for that. */
async function heat(trial: Trial): Promise<void> {
  const call = callsTo(trial);
  const { rooms, patches } = GROWTH.roomsHeat;
  await eachOf(rooms, AT_ONCE, (room) => call('POST', '/v2/rooms', { id: `heat-${room}`, defaultAccesses: ['*:write'] }));
  await eachOf(rooms, AT_ONCE, (room) => call('POST', `/v2/rooms/heat-${room}/storage`, DOCUMENT));
  await eachOf(patches, AT_ONCE, (number) =>
    call('PATCH', `/v2/rooms/heat-${number % rooms}/storage/json-patch`, turnTo(number)),
  );
}

/** An open loop over all rooms in turn. */
async function patched(trial: Trial, rooms: number): Promise<Outcome> {
  const call = callsTo(trial);
  const book = { sent: 0, delivered: 0, expected: 0, isOpen: false, ms: [] as number[], failures: [] as string[] };
  const patch = async (room: number): Promise<void> => {
    const counts = book.isOpen;
    if (counts) book.expected += 1;
    try {
      const ms = await call('PATCH', `/v2/rooms/room-${room}/storage/json-patch`, turnTo(book.sent++));
      if (!counts) return;
      book.delivered += 1;
      book.ms.push(ms);
    } catch (error) {
      book.failures.push(String(error));
    }
  };
  let turn = 0;
  const stop = startPace({ senders: 1, perSecond: GROWTH.roomsPerSecond, send: () => void patch(strideIn(rooms, turn++)) });
  const window = await measure(trial, {
    open() {
      book.isOpen = true;
    },
    close() {
      book.isOpen = false;
    },
  });
  stop();
  await settled(book);
  return outcomeOf({
    window,
    count: book.delivered,
    latenciesMs: book.ms,
    completeness: book.delivered / book.expected,
    problems: book.failures.slice(0, 3),
  });
}

/** Far from the last one, so that no cache of the machine makes few rooms look like all. */
function strideIn(rooms: number, turn: number): number {
  return (turn * 7_919) % rooms;
}

/** How long each took. */
async function forEachOf(count: number, act: (index: number) => Promise<number>): Promise<number[]> {
  const took: number[] = [];
  await eachOf(count, AT_ONCE, async (index) => took.push(await act(index)));
  return took;
}

/** Requests that resolve with how long they took. */
function callsTo({ address }: Trial): (method: string, path: string, body: unknown) => Promise<number> {
  return async (method, path, body) => {
    const startedAtMs = performance.now();
    const response = await fetch(restUrl(address, path), { method, headers: restHeaders(), body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 200)}`);
    return performance.now() - startedAtMs;
  };
}

function medianOf(values: readonly number[]): number {
  return percentile(Float64Array.from(values).sort(), 0.5);
}
