/** Requests that are repeated while the journal is slow, fails, or another worker takes the room over. The journal is a list; it commits, or not, when told. */
import { expect, test } from 'vitest';
import { Background, twentieth } from '../../src/base/background.ts';
import { asIncarnation, asRoomId, type RequestKey } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { OnePerTurn } from '../../src/base/one-per-turn.ts';
import { type Pieces, textIn } from '../../src/base/pieces.ts';
import { Quarantine } from '../../src/kernel/cluster/quarantine.ts';
import type { AppendOutcome, JournalEntry } from '../../src/kernel/persistence/journal.ts';
import type { Sql } from '../../src/kernel/persistence/sql.ts';
import { Beat } from '../../src/room/beat.ts';
import { DocumentsAhead } from '../../src/room/documents-ahead.ts';
import { type LoadRoomDeps, loadRoom } from '../../src/room/load-room.ts';
import { WAITING_BYTES_MAX } from '../../src/room/policy.ts';
import type { RoomActor } from '../../src/room/room-actor.ts';
import type { Command } from '../../src/room/shapes.ts';
import { WaitingBytes } from '../../src/room/waiting-bytes.ts';
import { LIMITS } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Append {
  readonly entry: JournalEntry;
  /** What the database says to the worker. */
  readonly answer: (outcome: AppendOutcome) => void;
  readonly fail: () => void;
}

/** What outlives a worker: the entries that were committed, and the count of claims. */
function aDatabase() {
  const entries: JournalEntry[] = [];
  const appends: Append[] = [];
  const lease = { holds: true };
  let epoch = 0;
  const deps: LoadRoomDeps = {
    clock: manualClock(),
    beat: new Beat(manualClock()),
    background: new Background(manualClock(), twentieth),
    documents: new DocumentsAhead(manualClock()),
    waiting: new WaitingBytes(WAITING_BYTES_MAX),
    journal: {
      append: (entry, appender) => {
        const answer = (outcome: AppendOutcome): void => appender.appended(entry, outcome);
        appends.push({ entry, answer, fail: () => appender.notAppended(entry, new Error('the connection broke')) });
      },
      readAfter: async (_, version) => entries.filter((entry) => entry.version > version),
    },
    snapshots: { load: async () => null, save: async () => 'saved' },
    replays: new OnePerTurn({ clock: manualClock(), waitingMax: 1 }),
    quarantine: new Quarantine({ db: {} as Sql, clock: manualClock(), log: silentLog }), // no claim here is suspect
    ownership: {
      incarnation: asIncarnation('w'),
      claim: async () => ({ stream: 5, epoch: ++epoch, numbersFrom: epoch * 1_000, crashes: 0 }),
      release: async () => undefined,
    },
    sessions: { has: () => true, deliver: () => null, closeSessions: () => undefined, loseSessions: () => undefined },
    mayAnswer: () => lease.holds,
    log: silentLog,
    policy: {
      ...LIMITS,
      pendingBytesMax: 1_000_000,
      snapshotAfterChanges: 1_000,
      snapshotAfterBytes: 1_000_000,
      snapshotEveryMs: 60_000,
      autoVersionMs: 0,
      idleMs: 60_000,
    },
    findStream: async () => 5,
    findSchema: async () => null,
    keepVersion: async () => 'kept',
  };
  const owner = (): Promise<RoomActor> => loadRoom(deps, asRoomId('room'), () => undefined);
  const commit = (append: Append): void => {
    entries.push(append.entry);
    append.answer('committed');
  };
  return { owner, appends, entries, commit, lease };
}

const request: RequestKey = { id: 'one', digest: 'a digest' };
const PUSH: Command = { type: 'storage.patch', operations: [{ op: 'add', path: '/list/-', value: 'x' }], request };
const INITIALIZE: Command = {
  type: 'storage.initialize',
  root: { serviceType: 'LiveObject', data: { list: { serviceType: 'LiveList', data: [] } } },
  typeKey: 'serviceType',
};
const READ: Command = { type: 'storage.read', format: 'json', typeKey: 'serviceType' };

async function withList() {
  const database = aDatabase();
  const owner = await database.owner();
  const done = owner.act(INITIALIZE);
  database.commit(database.appends[0]!);
  await done;
  return { ...database, first: owner };
}

test('[ID10] a repetition waits for the journal behind the first attempt, and both get the answer when that commits', async () => {
  const { first, appends, commit } = await withList();
  const told: string[] = [];
  const ask = (name: string): void => void first.act(PUSH).then(() => told.push(name));
  ask('first');
  ask('again');
  await settled();
  expect(told).toEqual([]);
  expect(appends).toHaveLength(2);
  commit(appends[1]!);
  await settled();
  expect(told).toEqual(['first', 'again']);
  expect(appends).toHaveLength(2);
  expect(textIn((await first.act(READ)) as Pieces)).toBe('{"list":["x"]}');
});

test('[ID5] change and request are one entry of the journal', async () => {
  const { first, appends } = await withList();
  void first.act(PUSH).catch(() => undefined);
  expect(appends[1]!.entry).toMatchObject({ count: 2 });
});

test.each(['committed', 'not committed'])(
  '[ID11] when nobody knows whether the change was written the outcome is unknown; the next owner does it once (it was %s)',
  async (what) => {
    const { first, appends, entries, commit, owner } = await withList();
    const lost = first.act(PUSH);
    if (what === 'committed') entries.push(appends[1]!.entry);
    appends[1]!.fail();
    await expect(lost).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', status: 503, retry: true });
    const next = await owner();
    const again = next.act(PUSH);
    if (appends[2] !== undefined) commit(appends[2]);
    expect(await again).toBeNull();
    expect(appends).toHaveLength(what === 'committed' ? 2 : 3);
    expect(textIn((await next.act(READ)) as Pieces)).toBe('{"list":["x"]}');
  },
);

test('[ID11] the same for a repetition that waits', async () => {
  const { first, appends } = await withList();
  const both = [first.act(PUSH), first.act(PUSH)];
  appends[1]!.answer('fenced');
  for (const attempt of both) await expect(attempt).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
});

test('[ID11] what was not decided, or changes nothing, is refused as having had no effect', async () => {
  const { first, appends } = await withList();
  void first.act(PUSH).catch(() => undefined);
  const read = first.act(READ);
  appends[1]!.answer('fenced');
  await expect(read).rejects.toMatchObject({ code: 'ROOM_MOVED' });
  expect(() => first.act(PUSH)).toThrow(expect.objectContaining({ code: 'ROOM_MOVED' }));
});

test('[ID5] without a lease, what passes goes on, but no request is taken: it could not be written down', async () => {
  const { first, lease } = await withList();
  lease.holds = false;
  const event: Command = { type: 'event.broadcast', from: null, event: 'hello' };
  expect(await first.act(event)).toBeNull();
  expect(() => first.act({ ...event, request })).toThrow(expect.objectContaining({ code: 'DATABASE_UNAVAILABLE' }));
});
