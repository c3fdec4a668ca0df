import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { Background, twentieth } from '../../src/base/background.ts';
import { asIncarnation, asRoomId, asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { OnePerTurn } from '../../src/base/one-per-turn.ts';
import { type Pieces, textIn } from '../../src/base/pieces.ts';
import type { Claim, Refusal } from '../../src/kernel/cluster/ownership.ts';
import { Quarantine } from '../../src/kernel/cluster/quarantine.ts';
import type { Journal, JournalEntry } from '../../src/kernel/persistence/journal.ts';
import type { Snapshot } from '../../src/kernel/persistence/snapshots.ts';
import type { Sql } from '../../src/kernel/persistence/sql.ts';
import { Beat } from '../../src/room/beat.ts';
import { DocumentsAhead } from '../../src/room/documents-ahead.ts';
import { encodeRecord, type JournalRecord } from '../../src/room/journal-record.ts';
import { loadRoom, tryOut } from '../../src/room/load-room.ts';
import { WAITING_BYTES_MAX } from '../../src/room/policy.ts';
import { emptyRoom } from '../../src/room/room.ts';
import type { Command, RoomSchema } from '../../src/room/shapes.ts';
import { encodeSnapshot, replayRecord } from '../../src/room/snapshot.ts';
import { WaitingBytes } from '../../src/room/waiting-bytes.ts';
import { LIMITS, newcomer } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';

const ROOM = asRoomId('room');

const commit: Journal['append'] = (entry, appender) => appender.appended(entry, 'committed');

function stored(over: {
  claim?: Claim | Refusal;
  snapshot?: Snapshot | null;
  entries?: JournalEntry[];
  stream?: number | null;
  schema?: RoomSchema | null;
}) {
  const {
    claim = { stream: 5, epoch: 2, numbersFrom: 1_001, crashes: 0 },
    snapshot = null,
    entries = [],
    stream = 5,
    schema = null,
  } = over;
  return {
    clock: manualClock(),
    beat: new Beat(manualClock()),
    background: new Background(manualClock(), twentieth),
    documents: new DocumentsAhead(manualClock()),
    waiting: new WaitingBytes(WAITING_BYTES_MAX),
    journal: { append: commit, readAfter: async () => entries },
    snapshots: { load: async () => snapshot, save: async () => 'saved' as const },
    ownership: { incarnation: asIncarnation('w'), claim: async () => claim, release: async () => undefined },
    sessions: { has: () => true, deliver: () => null, closeSessions: () => undefined, loseSessions: () => undefined },
    mayAnswer: () => true,
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
    findStream: async () => stream,
    findSchema: async () => schema,
    replays: new OnePerTurn({ clock: manualClock(), waitingMax: 1 }),
    quarantine: new Quarantine({ db: {} as Sql, clock: manualClock(), log: silentLog }), // no claim here is suspect
    keepVersion: async () => 'kept' as const,
  };
}

const a = (value: number): JournalRecord => ({
  kind: 'storage.ops',
  ops: [{ type: 3, id: 'root', opId: `1:${value}`, data: { a: value } }],
});
const entry = (version: number, records: readonly JournalRecord[]): JournalEntry => ({
  stream: 5,
  epoch: 1,
  version,
  count: records.length,
  payload: Buffer.concat(records.map(encodeRecord)),
});
/** The room after these records, as it was saved then. */
function snapshotAfter(...records: JournalRecord[]): Snapshot {
  const room = emptyRoom(ROOM, { from: 1, to: 1_001 });
  for (const record of records) replayRecord(room, record);
  return { version: room.version, bytes: encodeSnapshot(room) };
}

test('[SN-R4] a snapshot that fell inside an entry of the journal is led on from where it was taken', async () => {
  const actor = await loadRoom(
    stored({ snapshot: snapshotAfter(a(1), a(2)), entries: [entry(4, [a(1), a(2), a(3), a(4)]), entry(5, [a(5)])] }),
    ROOM,
    () => undefined,
  );
  expect(textIn((await actor.act({ type: 'storage.read', format: 'json', typeKey: 'serviceType' })) as Pieces)).toBe('{"a":5}');
});

test('[SN-R5] a journal that counts otherwise than its records is not guessed at', async () => {
  const broken = { ...entry(2, [a(1)]), count: 2 };
  await expect(loadRoom(stored({ entries: [broken] }), ROOM, () => undefined)).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
});

test('[SN-R6] numbers that only the journal had reserved stay reserved when a snapshot takes its place', async () => {
  const room = emptyRoom(ROOM, { from: 1, to: 1_001 });
  room.numbers.next = 1_001;
  replayRecord(room, { kind: 'numbers', upTo: 2_001 }); // what took the first of them wrote
  room.numbers.next = 1_002;
  const snapshot = { version: room.version, bytes: encodeSnapshot(room) };
  // 1,002 to 1,500 go out without another record; then the worker dies, and the next claim reserves 1,001 to 2,000
  const actor = await loadRoom(stored({ snapshot }), ROOM, () => undefined);
  expect(await actor.act({ type: 'session.join', newcomer: newcomer('ann') })).toEqual({ actor: 2_001 });
});

test('[ST38] no number is given out with which the id of a stored node begins', async () => {
  const planted: JournalRecord = {
    kind: 'storage.ops',
    ops: [{ type: 2, opId: '1:0', id: '1200:0', parentId: 'root', parentKey: 'list' }],
  };
  const actor = await loadRoom(stored({ entries: [entry(1, [planted])] }), ROOM, () => undefined);
  expect(await actor.act({ type: 'session.join', newcomer: newcomer('ann') })).toEqual({ actor: 1_201 });
});

/** Each look at the clock takes a millisecond. */
function aSlowWorker() {
  let nowMs = 0;
  const turns = { count: 0, waiting: 0, waitingAtMost: 0 };
  const clock = {
    ...manualClock(),
    monotonicMs: () => ++nowMs,
    soon: (task: () => void) => {
      turns.count += 1;
      turns.waiting += 1;
      turns.waitingAtMost = Math.max(turns.waitingAtMost, turns.waiting);
      setImmediate(() => {
        turns.waiting -= 1;
        task();
      });
    },
  };
  return { turns, of: { clock, replays: new OnePerTurn({ clock, waitingMax: 2 }) } };
}
const LONG = Array.from({ length: 100 }, (_, index) => entry(index + 1, [a(index + 1)]));

test('[SN-R8] long journals are read some milliseconds in a turn, one of all that load', async () => {
  const { turns, of } = aSlowWorker();
  const load = () => loadRoom({ ...stored({ entries: LONG }), ...of }, ROOM, () => undefined);
  const actors = await Promise.all([load(), load()]);
  expect(turns.count).toBeGreaterThanOrEqual(50);
  expect(turns.waitingAtMost).toBe(1);
  for (const actor of actors)
    expect(textIn((await actor.act({ type: 'storage.read', format: 'json', typeKey: 'serviceType' })) as Pieces)).toBe(
      '{"a":100}',
    );
});

test('[SN-R8] no more of one is read once the lease has gone', async () => {
  const { turns, of } = aSlowWorker();
  const mayAnswer = () => turns.count < 3;
  const load = loadRoom({ ...stored({ entries: LONG }), ...of, mayAnswer }, ROOM, () => undefined);
  await expect(load).rejects.toMatchObject({ code: 'ROOM_MOVED' });
  expect(turns.count).toBe(3);
});

test('[SN-R7] no such room, a room that is gone, and a room of another worker are told apart', async () => {
  const load = (over: Parameters<typeof stored>[0]) => loadRoom(stored(over), ROOM, () => undefined);
  await expect(load({ stream: null })).rejects.toMatchObject({ code: 'ROOM_NOT_FOUND' });
  await expect(load({ claim: { refused: 'gone' } })).rejects.toMatchObject({ code: 'ROOM_NOT_FOUND' });
  await expect(load({ claim: { refused: 'owned', by: asIncarnation('x'), at: asWorkerAddress('x:1') } })).rejects.toMatchObject({
    code: 'ROOM_MOVED',
  });
  await expect(load({ claim: { refused: 'quarantined', until: '2026-11-27T21:00:00.000Z' } })).rejects.toMatchObject({
    code: 'ROOM_QUARANTINED',
    message: expect.stringContaining('until 2026-11-27T21:00:00.000Z'),
  });
});

test('[QN2] what is tried out of a suspect makes each of its documents; that one throws is no matter', () => {
  const room = emptyRoom(ROOM, { from: 1, to: 1_001 });
  const source = new Y.Doc();
  source.getText('t').insert(0, 'x');
  replayRecord(room, { kind: 'ydoc.update', guid: '', update: Y.encodeStateAsUpdate(source) });
  const doc = room.ydocs.get('')!;
  expect(doc.live).toBeNull();
  tryOut(room);
  expect(doc.live?.ydoc.getText('t').toString()).toBe('x');
  room.ydocs.set('broken', null as unknown as typeof doc);
  expect(() => tryOut(room)).not.toThrow();
});

const SCHEMA = { id: 's@1', body: 'type Storage { a?: number }', at: { stream: 5, epoch: 1, decision: 4 } };
const patchA = (value: unknown) => ({ type: 'storage.patch', operations: [{ op: 'add', path: '/a', value }] }) as Command;

test('[SC39] a room that wakes has the schema that the database says, read after the claim', async () => {
  const order: string[] = [];
  const deps = stored({ schema: SCHEMA, entries: [entry(1, [a(1)])] });
  const { claim } = deps.ownership;
  deps.ownership.claim = async () => {
    order.push('claim');
    return claim();
  };
  deps.findSchema = async () => {
    order.push('schema');
    return SCHEMA;
  };
  const actor = await loadRoom(deps, ROOM, () => undefined);
  expect(order).toEqual(['claim', 'schema']);
  expect(() => actor.act(patchA('x'))).toThrow(expect.objectContaining({ code: 'INVALID_STORAGE_MUTATION_REQUEST' }));
  await actor.act(patchA(2));
  expect(await actor.act({ type: 'schema.attach', schema: SCHEMA })).toMatchObject({ stream: 5, epoch: 2 });
});

test('[SC39] and is not opened when this build does not understand it', async () => {
  const broken = { ...SCHEMA, body: 'type Storage { a: future }' };
  await expect(loadRoom(stored({ schema: broken }), ROOM, () => undefined)).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
});
