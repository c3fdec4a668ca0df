/** Versions of the history while the journal is slow, the store fails, the lease lapses or the room sleeps. Journal and store answer when told. */
import { expect, test } from 'vitest';
import { Background, twentieth } from '../../src/base/background.ts';
import { AppError } from '../../src/base/errors.ts';
import { asIncarnation, asRoomId, type RequestKey } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { OnePerTurn } from '../../src/base/one-per-turn.ts';
import { Quarantine } from '../../src/kernel/cluster/quarantine.ts';
import type { AppendOutcome, JournalEntry } from '../../src/kernel/persistence/journal.ts';
import type { Snapshot } from '../../src/kernel/persistence/snapshots.ts';
import type { Sql } from '../../src/kernel/persistence/sql.ts';
import { Beat } from '../../src/room/beat.ts';
import { DocumentsAhead } from '../../src/room/documents-ahead.ts';
import { versionIdOf } from '../../src/room/history.ts';
import { decodeVersion } from '../../src/room/history-body.ts';
import type { KeptVersion } from '../../src/room/history-keeper.ts';
import { decodeRecords, type JournalRecord } from '../../src/room/journal-record.ts';
import { type LoadRoomDeps, loadRoom } from '../../src/room/load-room.ts';
import type { RoomPolicy } from '../../src/room/policy.ts';
import { WAITING_BYTES_MAX } from '../../src/room/policy.ts';
import type { RoomActor } from '../../src/room/room-actor.ts';
import type { Command } from '../../src/room/shapes.ts';
import { WaitingBytes } from '../../src/room/waiting-bytes.ts';
import { id, LIMITS, newcomer } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const AUTO_MS = 30_000;

interface Storing {
  readonly version: KeptVersion;
  readonly end: (outcome: 'kept' | 'found' | 'fenced') => void;
  readonly fail: (error: Error) => void;
}

/** What outlives an owner; `commits: 'at once'` unless a test wants to hold the journal back. */
function aWorld(policy: Partial<RoomPolicy> = {}, clock = manualClock()) {
  const background = new Background(clock, twentieth);
  const entries: JournalEntry[] = [];
  const held: { entry: JournalEntry; answer: (outcome: AppendOutcome) => void }[] = [];
  const stores: Storing[] = [];
  const lease = { holds: true };
  const journal = { isHeld: false };
  const saved: { snapshot: Snapshot | null } = { snapshot: null };
  let epoch = 0;
  let lost = 0;
  const deps: LoadRoomDeps = {
    clock,
    beat: new Beat(clock),
    background,
    documents: new DocumentsAhead(clock),
    waiting: new WaitingBytes(WAITING_BYTES_MAX),
    journal: {
      append: (entry, appender) => {
        const answer = (outcome: AppendOutcome): void => {
          if (outcome === 'committed') entries.push(entry);
          appender.appended(entry, outcome);
        };
        if (journal.isHeld) held.push({ entry, answer });
        else answer('committed');
      },
      readAfter: async (_, version) => entries.filter((entry) => entry.version > version),
    },
    snapshots: {
      load: async () => saved.snapshot,
      save: async ({ version, bytes }) => {
        saved.snapshot = { version, bytes };
        return 'saved';
      },
    },
    replays: new OnePerTurn({ clock: manualClock(), waitingMax: 1 }),
    quarantine: new Quarantine({ db: {} as Sql, clock: manualClock(), log: silentLog }), // no claim here is suspect
    ownership: {
      incarnation: asIncarnation('w'),
      claim: async () => {
        epoch += 1;
        return { stream: 5, epoch, numbersFrom: epoch * 1_000, crashes: 0 };
      },
      release: async () => undefined,
    },
    sessions: { has: () => true, deliver: () => null, closeSessions: () => undefined, loseSessions: () => undefined },
    keepVersion: (version) => new Promise((end, fail) => stores.push({ version, end, fail })),
    mayAnswer: () => lease.holds,
    log: silentLog,
    policy: {
      ...LIMITS,
      pendingBytesMax: 1_000_000,
      snapshotAfterChanges: 1_000,
      snapshotAfterBytes: 1_000_000,
      snapshotEveryMs: 3_600_000,
      autoVersionMs: 0,
      idleMs: 60_000,
      ...policy,
    },
    findStream: async () => 5,
    findSchema: async () => null,
  };
  const wake = async (): Promise<RoomActor> => {
    const actor = await loadRoom(deps, asRoomId('room'), () => (lost += 1));
    for (const name of ['ann', 'bob']) actor.tell({ type: 'session.join', newcomer: newcomer(name) });
    return actor;
  };
  /** So many seconds pass, with a tick each. */
  const pass = async (actor: RoomActor, seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      actor.tick(clock.monotonicMs());
      await settled();
    }
  };
  const records = (): JournalRecord[] => entries.flatMap(({ payload }) => decodeRecords(payload));
  return { clock, background, wake, pass, stores, held, journal, entries, records, lease, saved, lost: () => lost };
}

let ops = 0;
const set = (from: string): Command => {
  ops += 1;
  return { type: 'storage.change', from: id(from), ops: [{ type: 3, id: 'root', opId: `1:${ops}`, data: { a: ops } }] };
};
const request: RequestKey = { id: 'one', digest: 'a digest' };
const KEEP: Command = { type: 'history.keep', request };
const ID = versionIdOf(request, manualClock().nowMs());
const kinds = (records: readonly JournalRecord[]): string[] => records.map(({ kind }) => kind);
/** What it comes to, once it does. */
function outcome(asked: Promise<unknown>): { value?: unknown; error?: unknown } {
  const found: { value?: unknown; error?: unknown } = {};
  asked.then(
    (value) => (found.value = value),
    (error) => (found.error = error.code),
  );
  return found;
}

test('[VH12] a version is kept only when all that is in it is in the journal, and told of only when it is kept', async () => {
  const { wake, journal, held, stores, clock } = aWorld();
  const actor = await wake();
  journal.isHeld = true;
  actor.tell(set('ann'));
  const told = outcome(actor.act(KEEP));
  await settled();
  expect(stores).toEqual([]);
  held[0]!.answer('committed');
  await settled();
  expect(stores.map(({ version }) => version)).toEqual([
    { stream: 5, epoch: 1, id: ID, atMs: clock.nowMs(), authors: ['ann'], body: expect.any(Uint8Array) },
  ]);
  expect(told).toEqual({});
  stores[0]!.end('kept');
  await settled();
  expect(told).toEqual({ value: { id: ID } });
});

test('[VH12] what was decided later is not in it, though it is in the journal before it is kept', async () => {
  const { wake, stores } = aWorld();
  const actor = await wake();
  await actor.act({ type: 'storage.patch', operations: [{ op: 'add', path: '/a', value: 'before' }] });
  void actor.act(KEEP);
  await actor.act({ type: 'storage.patch', operations: [{ op: 'add', path: '/a', value: 'after' }] });
  await settled();
  const { storage } = decodeVersion(stores[0]!.version.body);
  expect(Buffer.from(storage).toString()).toBe('["root",{"type":0,"data":{"a":"before"}}]\n');
});

test('[VH13] all who ask with one key while it is on its way are answered when it is kept, which happens once', async () => {
  const { wake, stores, records } = aWorld();
  const actor = await wake();
  actor.tell(set('ann'));
  const told = [outcome(actor.act(KEEP)), outcome(actor.act(KEEP))];
  await settled();
  expect(stores).toHaveLength(1);
  stores[0]!.end('kept');
  await settled();
  expect(told).toEqual([{ value: { id: ID } }, { value: { id: ID } }]);
  expect(await actor.act(KEEP)).toEqual({ id: ID });
  expect(stores).toHaveLength(1);
  expect(kinds(records())).toEqual(['storage.ops', 'history.kept', 'request']);
});

test.each(['BLOBS_UNAVAILABLE', 'DATABASE_UNAVAILABLE'] as const)(
  '[VH14] when it cannot be kept whoever asked is told why (%s), and the next one names its authors',
  async (code) => {
    const { wake, stores, records } = aWorld();
    const actor = await wake();
    actor.tell(set('ann'));
    const told = outcome(actor.act(KEEP));
    await settled();
    stores[0]!.fail(new AppError(code));
    await settled();
    expect(told).toEqual({ error: code });
    actor.tell(set('bob'));
    void actor.act(KEEP);
    await settled();
    expect(stores[1]!.version).toMatchObject({ id: ID, authors: ['ann', 'bob'] });
    expect(kinds(records())).not.toContain('history.kept');
  },
);

test('[VH14] an error that is no refusal is told as one of ours', async () => {
  const { wake, stores } = aWorld();
  const actor = await wake();
  const told = outcome(actor.act(KEEP));
  await settled();
  stores[0]!.fail(new Error('a bug'));
  await settled();
  expect(told).toEqual({ error: 'INTERNAL_SERVER_ERROR' });
});

test('[VH15] an owner that was taken over keeps nothing and forgets the room; the request may be sent again', async () => {
  const { wake, stores, lost } = aWorld();
  const actor = await wake();
  const told = outcome(actor.act(KEEP));
  await settled();
  stores[0]!.end('fenced');
  await settled();
  expect([told, lost()]).toEqual([{ error: 'ROOM_MOVED' }, 1]);
  const next = await wake();
  const again = outcome(next.act(KEEP));
  await settled();
  stores[1]!.end('kept');
  await settled();
  expect(again).toEqual({ value: { id: ID } });
});

test('[VH15] one that was claimed anew by its own owner meanwhile is kept under the new claim, and its room stays', async () => {
  const { wake, stores, lost } = aWorld();
  const actor = await wake();
  const told = outcome(actor.act(KEEP));
  await settled();
  actor.suspend();
  await actor.resume();
  stores[0]!.end('fenced');
  await settled();
  expect(stores.map(({ version }) => version.epoch)).toEqual([1, 2]);
  stores[1]!.end('kept');
  await settled();
  expect([told, lost()]).toEqual([{ value: { id: ID } }, 0]);
});

test('[VH15] when the journal refuses what is in it, it is not kept', async () => {
  const { wake, journal, held, stores } = aWorld();
  const actor = await wake();
  journal.isHeld = true;
  actor.tell(set('ann'));
  const told = outcome(actor.act(KEEP));
  held[0]!.answer('fenced');
  await settled();
  expect([told, stores]).toEqual([{ error: 'ROOM_MOVED' }, []]);
});

test('[VH35] [VH18] what changed after a version whose answer was lost is in the next one made by itself, in time', async () => {
  const { wake, pass, stores } = aWorld({ autoVersionMs: AUTO_MS });
  const actor = await wake();
  actor.tell(set('ann'));
  void outcome(actor.act(KEEP));
  await settled();
  stores[0]!.fail(new AppError('DATABASE_UNAVAILABLE')); // it is there
  await pass(actor, 5);
  actor.tell(set('bob'));
  const again = outcome(actor.act(KEEP));
  await settled();
  stores[1]!.end('found');
  await settled();
  expect([again, await actor.act(KEEP)]).toEqual([{ value: { id: ID } }, { id: ID }]);
  expect(stores).toHaveLength(2);
  await pass(actor, 27);
  expect(stores[2]?.version.authors).toEqual(['ann', 'bob']);
});

test('[VH16] a room whose lease lapses while a version is kept hears of it when it has one again', async () => {
  const { wake, stores, records, pass } = aWorld();
  const actor = await wake();
  actor.tell(set('ann'));
  const told = outcome(actor.act(KEEP));
  await settled();
  actor.suspend();
  stores[0]!.end('kept');
  await settled();
  expect(told).toEqual({ value: { id: ID } });
  expect(kinds(records())).toEqual(['storage.ops']);
  await actor.resume();
  await pass(actor, 2); // the second for the beat
  expect(kinds(records())).toEqual(['storage.ops', 'history.kept', 'request']);
});

test('[VH17] a room does not sleep while a version is on its way; when it must stop it waits for that, and saves who was named', async () => {
  const { wake, stores, clock, saved } = aWorld({ idleMs: 0 });
  const actor = await wake();
  actor.tell(set('ann'));
  for (const name of ['ann', 'bob']) actor.tell({ type: 'session.leave', sessionId: id(name) });
  await settled();
  expect(actor.isIdle(clock.monotonicMs())).toBe(true);
  const told = outcome(actor.act(KEEP));
  await settled();
  expect(actor.isIdle(clock.monotonicMs())).toBe(false);
  const stopped = outcome(actor.stop().then(() => 'stopped'));
  await settled();
  expect([stopped, saved.snapshot]).toEqual([{}, null]);
  stores[0]!.end('kept');
  await settled();
  await settled();
  expect([told, stopped]).toEqual([{ value: { id: ID } }, { value: 'stopped' }]);
  const next = await wake();
  expect(await next.act(KEEP)).toEqual({ id: ID });
  next.tell(set('bob'));
  void next.act({ type: 'history.keep' });
  await settled();
  expect(stores[1]!.version.authors).toEqual(['bob']);
});

/** Lets every version be kept at once; returns when that was, in seconds since now. */
function keepingAll({ clock, stores }: Pick<ReturnType<typeof aWorld>, 'clock' | 'stores'>): () => number[] {
  const startMs = clock.monotonicMs();
  const times: number[] = [];
  const push = stores.push.bind(stores);
  stores.push = (...storing) => {
    for (const { end } of storing) end('kept');
    times.push((clock.monotonicMs() - startMs) / 1_000);
    return push(...storing);
  };
  return () => times;
}

test('[VH18] unless the settings ask for them no version is made by itself', async () => {
  const world = aWorld();
  const times = keepingAll(world);
  const actor = await world.wake();
  actor.tell(set('ann'));
  await world.pass(actor, 600);
  expect(times()).toEqual([]);
});

test('[VH18] a room that goes on changing has a version every so many seconds from its first change, and not before', async () => {
  const world = aWorld({ autoVersionMs: AUTO_MS });
  const times = keepingAll(world);
  const actor = await world.wake();
  await world.pass(actor, 100);
  for (let second = 0; second < 100; second += 1) {
    actor.tell(set(second < 50 ? 'ann' : 'bob'));
    await world.pass(actor, 1);
  }
  expect(times()).toEqual([131, 161, 191]); // the tick after the first change sees it
  expect(world.stores.map(({ version }) => version.authors)).toEqual([['ann'], ['ann', 'bob'], ['bob']]);
});

test('[VH18] one that changes no more has none after the last', async () => {
  const world = aWorld({ autoVersionMs: AUTO_MS });
  const times = keepingAll(world);
  const actor = await world.wake();
  actor.tell(set('ann'));
  await world.pass(actor, 20);
  actor.tell(set('ann'));
  await world.pass(actor, 600);
  expect(times()).toEqual([31]);
  actor.tell(set('ann'));
  await world.pass(actor, 600);
  expect(times()).toEqual([31, 651]);
});

test('[VH18] a version that somebody makes starts the time anew', async () => {
  const world = aWorld({ autoVersionMs: AUTO_MS });
  const times = keepingAll(world);
  const actor = await world.wake();
  actor.tell(set('ann'));
  await world.pass(actor, 20);
  await actor.act(KEEP);
  actor.tell(set('ann'));
  await world.pass(actor, 60);
  expect(times()).toEqual([20, 50]);
});

test('[VH18] of two that somebody makes the later one starts it, also where the earlier one takes longer', async () => {
  const { wake, pass, stores } = aWorld({ autoVersionMs: AUTO_MS });
  const actor = await wake();
  for (const key of ['one', 'two']) {
    actor.tell(set('ann'));
    void actor.act({ type: 'history.keep', request: { id: key, digest: 'a digest' } });
    await pass(actor, 20);
  }
  actor.tell(set('ann'));
  for (const { end } of stores.toReversed()) {
    end('kept');
    await settled();
  }
  await pass(actor, 9);
  expect(stores).toHaveLength(2);
  await pass(actor, 22);
  expect(stores).toHaveLength(3);
});

test('[DO2] [VH18] a version that nobody asked for has its turn, and none once the room stops', async () => {
  for (const ending of ['goes on', 'stops'] as const) {
    const world = aWorld({ autoVersionMs: AUTO_MS });
    const times = keepingAll(world);
    const actor = await world.wake();
    actor.tell(set('ann'));
    actor.tick(world.clock.monotonicMs());
    world.clock.advance(AUTO_MS);
    world.background.next(() => undefined); // another room
    actor.tick(world.clock.monotonicMs());
    await settled();
    expect(times()).toEqual([]);
    const stopped = ending === 'stops' ? actor.stop() : null;
    world.clock.advance(1);
    await stopped;
    await settled();
    expect(times()).toHaveLength(ending === 'stops' ? 0 : 1);
  }
});

test('[VH19] what was in no version when a room fell asleep is in one when it wakes, before anything changes', async () => {
  const world = aWorld({ autoVersionMs: AUTO_MS });
  const times = keepingAll(world);
  const first = await world.wake();
  first.tell(set('ann'));
  await world.pass(first, 5);
  await first.stop();
  world.clock.advance(600_000);
  const second = await world.wake();
  second.tell(set('bob'));
  await settled();
  expect(times()).toEqual([605]);
  expect(world.stores[0]!.version.authors).toEqual(['ann']);
  await world.pass(second, 5);
  await second.stop();
  world.clock.advance(10_000);
  const third = await world.wake(); // too early: the last one is 15 s old
  await world.pass(third, 20);
  expect(times()).toEqual([605, 635]);
  expect(world.stores[1]!.version.authors).toEqual(['bob']);
  await third.stop();
  world.clock.advance(600_000);
  await world.pass(await world.wake(), 60);
  expect(times()).toHaveLength(2); // nothing has changed
});

test('[VH19] also on a worker that has just begun, whose own clock is young', async () => {
  const clock = manualClock(0);
  clock.stepWall(1_800_000_000_000);
  const world = aWorld({ autoVersionMs: AUTO_MS }, clock);
  const times = keepingAll(world);
  const first = await world.wake();
  first.tell(set('ann'));
  await first.stop();
  await world.wake();
  await settled();
  expect(times()).toEqual([0]);
});

test('[VH20] while none can be kept it is tried less and less often', async () => {
  const { wake, pass, stores, clock } = aWorld({ autoVersionMs: AUTO_MS });
  const startMs = clock.nowMs();
  const actor = await wake();
  actor.tell(set('ann'));
  let met = 0;
  for (let second = 0; second < 1_000; second += 1) {
    await pass(actor, 1);
    for (const { fail } of stores.slice(met)) fail(new AppError('BLOBS_UNAVAILABLE'));
    met = stores.length;
    await settled();
  }
  const times = stores.map(({ version }) => (version.atMs - startMs) / 1_000);
  expect(times).toEqual([31, 36, 46, 66, 106, 186, 346, 646, 946]);
  expect(new Set(stores.map(({ version }) => version.authors.join())).size).toBe(1);
});

const DAY_MS = 86_400_000;

test.each([-DAY_MS, DAY_MS])('[VH34] a wall clock that is set by %i ms stops no version, and hastens none', async (ms) => {
  const world = aWorld({ autoVersionMs: AUTO_MS });
  const times = keepingAll(world);
  const actor = await world.wake();
  for (let second = 0; second < 100; second += 1) {
    if (second % 40 === 20) world.clock.stepWall(ms);
    actor.tell(set('ann'));
    await world.pass(actor, 1);
  }
  expect(times()).toEqual([31, 61, 91]);
  const startMs = manualClock().nowMs();
  expect(world.stores.map(({ version }) => version.atMs - startMs)).toEqual([31_000 + ms, 61_000 + 2 * ms, 91_000 + 2 * ms]);
});

test.each([-DAY_MS, DAY_MS])('[VH34] nor one that is tried again: %i ms', async (ms) => {
  const { wake, pass, stores, clock } = aWorld({ autoVersionMs: AUTO_MS });
  const actor = await wake();
  actor.tell(set('ann'));
  await pass(actor, 31);
  for (const seconds of [5, 10]) {
    clock.stepWall(ms);
    stores.at(-1)!.fail(new AppError('BLOBS_UNAVAILABLE'));
    await settled();
    clock.stepWall(ms);
    const tried = stores.length;
    await pass(actor, seconds - 1);
    expect(stores).toHaveLength(tried);
    await pass(actor, 1);
    expect(stores).toHaveLength(tried + 1);
  }
});

test.each([
  ['for longer than that', 2 * DAY_MS, [31, 36 + (2 * DAY_MS) / 1_000]],
  ['for less, so that the last version seems to be of tomorrow', 0, [31, 66]],
])('[VH34] [VH19] the wall clock is set back by a day while a room sleeps, %s', async (_, asleepMs, expected) => {
  const world = aWorld({ autoVersionMs: AUTO_MS });
  const times = keepingAll(world);
  const first = await world.wake();
  first.tell(set('ann'));
  await world.pass(first, 31);
  first.tell(set('bob'));
  await world.pass(first, 5);
  await first.stop();
  world.clock.advance(asleepMs);
  world.clock.stepWall(-DAY_MS);
  const second = await world.wake();
  await settled();
  expect(times()).toHaveLength(asleepMs > 0 ? 2 : 1);
  await world.pass(second, 60);
  expect(times()).toEqual(expected);
});
