import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { Background, twentieth } from '../../src/base/background.ts';
import { AppError } from '../../src/base/errors.ts';
import { asIncarnation, asRoomId, asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { type Pieces, textIn } from '../../src/base/pieces.ts';
import { sha256Base64 } from '../../src/base/sha256.ts';
import type { Loss } from '../../src/kernel/actor/actor.ts';
import type { Claim, Refusal } from '../../src/kernel/cluster/ownership.ts';
import type { AppendOutcome, JournalEntry } from '../../src/kernel/persistence/journal.ts';
import type { SnapshotSave } from '../../src/kernel/persistence/snapshots.ts';
import { CRDT } from '../../src/protocol/storage-ops.ts';
import { Beat } from '../../src/room/beat.ts';
import { DocumentsAhead } from '../../src/room/documents-ahead.ts';
import { decodeRecords } from '../../src/room/journal-record.ts';
import type { RoomPolicy } from '../../src/room/policy.ts';
import { WAITING_BYTES_MAX } from '../../src/room/policy.ts';
import { emptyRoom } from '../../src/room/room.ts';
import { RoomActor } from '../../src/room/room-actor.ts';
import type { RoomWatcher } from '../../src/room/room-watch.ts';
import type { Command } from '../../src/room/shapes.ts';
import { replayRecord, restoreSnapshot } from '../../src/room/snapshot.ts';
import { insertNode } from '../../src/room/storage/tree.ts';
import { WaitingBytes } from '../../src/room/waiting-bytes.ts';
import { id, LIMITS, newcomer, READER } from '../support/a-room.ts';
import { type ManualClock, manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A live room whose journal answers when told. */
function anActor(
  policy: Partial<RoomPolicy> = {},
  {
    watcher,
    waiting = new WaitingBytes(WAITING_BYTES_MAX),
    clock = manualClock(),
  }: { watcher?: RoomWatcher; waiting?: WaitingBytes; clock?: ManualClock } = {},
) {
  const background = new Background(clock, twentieth);
  const appends: { entry: JournalEntry; answer: (outcome: AppendOutcome) => void; fail: (error: Error) => void }[] = [];
  const saves: SnapshotSave[] = [];
  const releases: unknown[] = [];
  const sent: string[] = [];
  const closed: { to: readonly string[]; code: string }[] = [];
  const claims: (Claim | Refusal)[] = [];
  const losses: Loss[] = [];
  const lease = { holds: true, released: Promise.resolve() };
  const room = emptyRoom(asRoomId('room'), { from: 1, to: 1_001 });
  const actor = new RoomActor(
    {
      clock,
      beat: new Beat(clock),
      background,
      documents: new DocumentsAhead(clock),
      waiting,
      journal: {
        append: (entry, appender) => {
          const answer = (outcome: AppendOutcome): void => appender.appended(entry, outcome);
          appends.push({ entry, answer, fail: (error) => appender.notAppended(entry, error) });
        },
        readAfter: async () => [],
      },
      snapshots: {
        load: async () => null,
        save: async (snapshot) => {
          saves.push(snapshot);
          return 'saved';
        },
      },
      ownership: {
        incarnation: asIncarnation('w'),
        claim: async () => claims.shift() ?? { refused: 'gone' },
        release: async (release) => {
          releases.push(release);
          await lease.released;
        },
      },
      sessions: {
        has: () => true,
        deliver(to, frames) {
          sent.push(...to.flatMap(({ id }) => frames.map(({ data }) => `${id} ${data}`)));
          return null;
        },
        closeSessions: (to, refusal) => void (to.length > 0 && closed.push({ to, code: refusal.code })),
        loseSessions: (to) => void (to.length > 0 && closed.push({ to, code: 'joins anew' })),
      },
      keepVersion: async () => 'kept',
      ...(watcher && { watcher }),
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
        ...policy,
      },
    },
    { room, ground: { stream: 5, epoch: 3, snapshotVersion: 0, snapshotBytes: 0 }, onLost: (loss) => losses.push(loss) },
  );
  return {
    actor,
    clock,
    background,
    appends,
    saves,
    releases,
    sent,
    closed,
    claims,
    room,
    lease,
    losses,
    lost: () => losses.length,
  };
}

/** ann and bob, both with Storage; nothing of that waits for the journal. */
function withPeople(world: ReturnType<typeof anActor>) {
  for (const name of ['ann', 'bob']) {
    world.actor.tell({ type: 'session.join', newcomer: newcomer(name) });
    world.actor.tell({ type: 'storage.fetch', from: id(name) });
  }
  world.clock.turn();
  world.sent.splice(0);
  return world;
}

const set = (from: string, op: number, value: number): Command => ({
  type: 'storage.change',
  from: id(from),
  ops: [{ type: 3, id: 'root', opId: `${from === 'ann' ? 1 : 2}:${op}`, data: { a: value } }],
});

test('[GA1] neither the ack nor what others are told of an op leaves before its commit', async () => {
  const { actor, clock, appends, sent } = withPeople(anActor());
  actor.tell(set('ann', 1, 1));
  clock.turn();
  expect(sent).toEqual([]);
  expect(appends).toHaveLength(1);
  expect(appends[0]!.entry).toMatchObject({ stream: 5, epoch: 3, version: 1, count: 1 });
  appends[0]!.answer('committed');
  await settled();
  clock.turn();
  expect(sent).toEqual([
    'ann [{"type":201,"ops":[{"opId":"1:1","type":3,"id":"root","data":{"a":1}}]}]',
    'bob [{"type":201,"ops":[{"type":3,"id":"root","data":{"a":1}}]}]',
  ]);
});

test('[SE14] a newcomer whose number had to be written down first is told who is there when it hears, not who was there when it came', async () => {
  const { actor, clock, appends, room, sent } = withPeople(anActor());
  room.numbers.next = room.numbers.reservedTo;
  for (const name of ['cat', 'dan']) actor.tell({ type: 'session.join', newcomer: newcomer(name) });
  actor.tell({ type: 'session.leave', sessionId: id('bob') });
  clock.turn();
  sent.splice(0);
  appends[0]!.answer('committed');
  await settled();
  clock.turn();
  const states = sent.map((text) => [text.slice(0, 3), Object.keys(JSON.parse(text.slice(4)).users)]);
  expect(states).toEqual([
    ['cat', ['1', '1002']],
    ['dan', ['1', '1001']],
  ]);
});

test('[GA2] one append is under way at a time; what gathers meanwhile is the next entry, and the gate opens in order', async () => {
  const { actor, clock, appends, sent } = withPeople(anActor());
  actor.tell(set('ann', 1, 1));
  actor.tell(set('ann', 2, 2));
  actor.tell(set('ann', 3, 3));
  expect(appends.map(({ entry }) => [entry.version, entry.count])).toEqual([[1, 1]]);
  appends[0]!.answer('committed');
  await settled();
  clock.turn();
  expect(appends.map(({ entry }) => [entry.version, entry.count])).toEqual([
    [1, 1],
    [3, 2],
  ]);
  expect(sent).toHaveLength(2);
  appends[1]!.answer('committed');
  await settled();
  clock.turn();
  expect(sent).toHaveLength(4);
});

test('[GA22] who writes again as soon as it is answered shares entries with the others who do; the next one waits for them a moment', async () => {
  const { actor, clock, appends } = withPeople(anActor());
  const counts = (): number[] => appends.map(({ entry }) => entry.count);
  actor.tell(set('ann', 1, 1));
  actor.tell(set('bob', 1, 1));
  appends[0]!.answer('committed'); // ann's alone: bob's came too late for it
  await settled();
  expect(counts()).toEqual([1]);
  actor.tell(set('ann', 2, 2));
  expect(counts()).toEqual([1, 2]);
  appends[1]!.answer('committed');
  await settled();
  actor.tell(set('bob', 2, 2));
  expect(counts()).toEqual([1, 2]);
  clock.advance(2); // ann has stopped
  expect(counts()).toEqual([1, 2, 1]);
});

test('[GA3] presence, joins and Yjs updates do not wait; Yjs state vectors and REST answers do', async () => {
  const { actor, clock, appends, sent } = withPeople(anActor());
  actor.tell({ type: 'ydoc.fetch', from: id('bob'), guid: '', vector: new Uint8Array([0]) });
  clock.turn();
  sent.splice(0);
  actor.tell(set('ann', 1, 1));
  actor.tell({ type: 'presence.patch', from: id('ann'), data: { x: 1 }, targetActor: null });
  const update = new Uint8Array([1, 1, 5, 0, 4, 1, 1, 116, 1, 97, 0]); // client 5 types "a" into the text "t"
  actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update });
  actor.tell({ type: 'ydoc.fetch', from: id('ann'), guid: '', vector: new Uint8Array([0]) });
  let read: unknown = null;
  void actor
    .act({ type: 'storage.read', format: 'json', typeKey: 'serviceType' })
    .then((json) => (read = textIn(json as Pieces)));
  clock.turn();
  await settled();
  expect(sent.map((line) => line.slice(0, 16))).toEqual(['bob [{"type":100']);
  expect(sent[0]).toContain('"type":300');
  expect(read).toBeNull();
  appends[0]!.answer('committed');
  await settled();
  clock.advance(2); // a commit that has answered one may wait so long for it
  appends[1]!.answer('committed');
  await settled();
  clock.turn();
  expect(read).toBe('{"a":1}');
  expect(sent.filter((line) => line.startsWith('ann') && line.includes('"isSync":true'))).toHaveLength(1);
});

test('[GA4] a fenced append drops the room: nobody is told, REST callers may retry, clients come back', async () => {
  const world = withPeople(anActor());
  const { actor, clock, appends, sent, closed } = world;
  actor.tell(set('ann', 1, 1));
  const answer = actor.act({ type: 'storage.read', format: 'json', typeKey: 'serviceType' });
  appends[0]!.answer('fenced');
  await expect(answer).rejects.toMatchObject({ code: 'ROOM_MOVED', retry: true });
  clock.turn();
  expect(sent).toEqual([]);
  expect(closed).toEqual([{ to: ['ann', 'bob'], code: 'joins anew' }]);
  expect(world.losses).toEqual(['taken']);
  expect(() => actor.act({ type: 'room.touch' })).toThrow(expect.objectContaining({ code: 'ROOM_MOVED' }));
});

test('[GA5] an append that fails does the same: state that cannot be written down is not state', async () => {
  const { actor, appends, closed, losses } = withPeople(anActor());
  actor.tell(set('ann', 1, 1));
  appends[0]!.fail(new Error('disk on fire'));
  await settled();
  expect(closed).toHaveLength(1);
  expect(losses).toEqual(['failed']);
});

test('[GA6] writes are refused while too much waits for the journal, and again taken afterwards', async () => {
  const { actor, appends } = withPeople(anActor({ pendingBytesMax: 10 }));
  const write = (): Promise<unknown> => actor.act({ type: 'storage.patch', operations: [{ op: 'add', path: '/a', value: 1 }] });
  expect(actor.isFull).toBe(false);
  const first = write();
  expect(write).toThrow(expect.objectContaining({ code: 'ROOM_OVERLOADED' }));
  expect(actor.isFull).toBe(true);
  appends[0]!.answer('committed');
  await first;
  expect(actor.isFull).toBe(false);
  void write();
  expect(appends).toHaveLength(2);
});

test('[GA24] while all rooms together wait with too much, changes are refused in each, and nothing that was decided is lost', async () => {
  const waiting = new WaitingBytes(10);
  const [busy, calm] = [withPeople(anActor({}, { waiting })), withPeople(anActor({}, { waiting }))];
  busy.actor.tell(set('ann', 1, 1));
  expect([calm.actor.isFull, waiting.bytes > 10]).toEqual([true, true]);
  calm.actor.tell(set('ann', 1, 1));
  calm.actor.tell({ type: 'presence.patch', from: id('bob'), data: { x: 1 }, targetActor: null });
  expect([calm.closed, calm.lost(), calm.room.version]).toEqual([[{ to: ['ann'], code: 'ROOM_OVERLOADED' }], 0, 0]);
  busy.appends[0]!.answer('committed');
  expect([waiting.bytes, calm.actor.isFull]).toEqual([0, false]);
  calm.actor.tell(set('bob', 1, 1));
  calm.actor.tell(set('bob', 2, 2));
  calm.actor.drop();
  expect(waiting.bytes).toBe(calm.appends[0]!.entry.payload.length); // that one is under way
  calm.appends[0]!.answer('committed');
  expect(waiting.bytes).toBe(0);
});

test('[GA7] a refused message closes the socket of its sender and nobody else', () => {
  const { actor, closed } = withPeople(anActor());
  actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update: new Uint8Array([255, 255, 255, 255]) });
  expect(closed).toEqual([{ to: ['ann'], code: 'YJS_UPDATE_INVALID' }]);
});

test('[CB57] what found no room among the commands that wait costs its sender the socket, and what no session sent is not refused', () => {
  const { actor, closed, room } = withPeople(anActor());
  const overloaded = new AppError('ROOM_OVERLOADED');
  const nobodys: Command[] = [
    { type: 'session.leave', sessionId: id('bob') },
    { type: 'event.broadcast', from: null, event: 1 },
  ];
  expect([set('ann', 1, 1), ...nobodys].map((command) => actor.refuse(command, overloaded))).toEqual([true, false, false]);
  expect(actor.refuse(set('bob', 1, 1), new AppError('ROOM_MOVED'))).toBe(true);
  expect(closed).toEqual([
    { to: ['ann'], code: 'ROOM_OVERLOADED' },
    { to: ['bob'], code: 'joins anew' },
  ]);
  expect(room.version).toBe(0);
});

test('[SN-R1] a snapshot is taken at the moment, and saved only once that moment is durable', async () => {
  const { actor, clock, appends, saves } = withPeople(anActor({ snapshotAfterChanges: 1 }));
  actor.tell(set('ann', 1, 1));
  actor.tell(set('ann', 2, 2));
  appends[0]!.answer('committed');
  await settled();
  expect(saves).toEqual([]); // version 2 is decided, not yet durable
  clock.advance(2);
  appends[1]!.answer('committed');
  await settled();
  expect(saves).toMatchObject([{ stream: 5, epoch: 3, version: 2 }]);
  actor.tell(set('ann', 3, 3));
  appends[2]!.answer('committed');
  await settled();
  expect(saves.map(({ version }) => version)).toEqual([2, 3]);
});

test('[SN-R2] snapshot and journal make the same room again', async () => {
  const { actor, clock, appends, saves, room } = withPeople(anActor({ snapshotAfterChanges: 1 }));
  actor.tell(set('ann', 1, 1));
  appends[0]!.answer('committed');
  await settled();
  actor.tell(set('ann', 2, 2));
  actor.tell({ type: 'ydoc.change', from: null, guid: 'sub', update: new Uint8Array([1, 1, 5, 0, 4, 1, 1, 116, 1, 97, 0]) });
  appends[1]!.answer('committed');
  await settled();
  clock.advance(2);
  const again = emptyRoom(room.id, { from: 1_001, to: 2_001 });
  restoreSnapshot(again, saves[0]!);
  for (const { entry } of appends.slice(1)) for (const record of decodeRecords(entry.payload)) replayRecord(again, record);
  expect(again.version).toBe(room.version);
  expect(again.storage.root.data).toEqual({ a: 2 });
  expect([...again.ydocs.keys()]).toEqual(['sub']);
});

test('[SN-R3] stopping writes down what is decided, then gives the room up with the numbers it did not use', async () => {
  const { actor, appends, saves, releases, closed } = withPeople(anActor());
  actor.tell(set('ann', 1, 1));
  const stopped = actor.stop();
  expect(closed).toEqual([]); // nobody is sent on before all is written down and given up
  appends[0]!.answer('committed');
  await stopped;
  expect(closed).toEqual([{ to: ['ann', 'bob'], code: 'joins anew' }]);
  expect(saves).toMatchObject([{ version: 1 }]);
  expect(releases).toMatchObject([{ epoch: 3, numbersNext: 3, mayWait: false }]);
});

test('[SN-R3] a room in which nobody is may be given up together with others', async () => {
  const { actor, releases } = anActor();
  await actor.stop();
  expect(releases).toMatchObject([{ mayWait: true }]);
});

test.each([
  ['its timer says so', ({ actor }: ReturnType<typeof anActor>) => actor.suspend()],
  ['the journal answers after a freeze', ({ appends }: ReturnType<typeof anActor>) => appends[0]!.answer('committed')],
])(
  '[GA28] a room whose lease lapses while it stops is lost, whether %s: its people join anew, and it claims nothing',
  async (_, lapse) => {
    const world = withPeople(anActor());
    const { actor, closed, claims, lease, lost, releases, saves } = world;
    actor.tell(set('ann', 1, 1));
    const stopped = actor.stop();
    await settled();
    lease.holds = false;
    lapse(world);
    await stopped;
    expect(closed).toEqual([{ to: ['ann', 'bob'], code: 'joins anew' }]);
    expect([lost(), saves, releases]).toEqual([1, [], []]);
    lease.holds = true;
    claims.push({ stream: 5, epoch: 4, numbersFrom: 2_001, crashes: 0 });
    await actor.resume();
    expect(claims).toHaveLength(1);
  },
);

test('[GA29] a room that was claimed anew says so to whoever writes down what it decides', async () => {
  const { actor, claims } = anActor();
  actor.suspend();
  claims.push({ stream: 5, epoch: 4, numbersFrom: 2_001, crashes: 0 });
  await actor.resume();
  const schema = { id: { name: 's', version: 1 }, body: 'type Storage {\n}' } as never;
  expect(await actor.act({ type: 'schema.attach', schema })).toMatchObject({ stream: 5, epoch: 4 });
});

test('[GA29] a room without a lease can be closed: what it enforces and could not be written down goes with it', async () => {
  const { actor, lost } = anActor();
  actor.suspend();
  actor.tell({ type: 'room.close', code: 'ROOM_MOVED', facts: {} });
  expect(lost()).toBe(1);
});

test('[GA30] a room falls asleep though it hears of people who are gone and were never in it', async () => {
  const { actor, clock } = anActor();
  actor.tell({ type: 'session.join', newcomer: newcomer('ann') });
  clock.advance(70_000);
  actor.tell({ type: 'sessions.gone', sessionIds: new Set([id('ann'), id('zoe')]) });
  expect(actor.followers).toBe(0);
  clock.advance(59_000);
  expect(actor.isIdle(clock.monotonicMs())).toBe(false); // she has just left
  for (const type of ['session.leave', 'sessions.gone', 'sessions.depart'] as const)
    actor.tell({ type, sessionId: id('zoe'), sessionIds: new Set([id('zoe')]), workerName: 'w-1' } as Command);
  clock.advance(1_000);
  expect(actor.isIdle(clock.monotonicMs())).toBe(true);
});

test.each([-86_400_000, 86_400_000])(
  '[GA31] however the wall clock is set (%i ms), a quiet room may sleep in time, not before',
  (ms) => {
    const clock = manualClock();
    clock.stepWall(ms);
    const { actor } = anActor({}, { clock });
    const sleepsInTime = (): void => {
      clock.stepWall(ms);
      clock.advance(59_999);
      expect(actor.isIdle(clock.monotonicMs())).toBe(false);
      clock.advance(1);
      expect(actor.isIdle(clock.monotonicMs())).toBe(true);
    };
    sleepsInTime(); // it was just loaded
    void actor.act({ type: 'room.touch' });
    sleepsInTime();
    actor.tell({ type: 'session.join', newcomer: newcomer('ann') });
    clock.advance(60_000);
    actor.tell({ type: 'session.leave', sessionId: id('ann') });
    sleepsInTime();
  },
);

test('[YH1] the hash that SDK clients take for "saved" comes once for a burst, and only when durable', async () => {
  const { actor, clock, appends, sent } = withPeople(anActor());
  actor.tell({ type: 'ydoc.fetch', from: id('ann'), guid: '', vector: new Uint8Array([0]) });
  clock.turn();
  sent.splice(0);
  const doc = new Y.Doc();
  doc.on('update', (update: Uint8Array) => actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update }));
  for (const letter of 'burst') doc.getText('t').insert(doc.getText('t').length, letter);
  clock.advance(100);
  clock.turn();
  expect(sent).toEqual([]);
  appends[0]!.answer('committed');
  await settled();
  clock.turn();
  expect(sent).toHaveLength(1);
  expect(sent[0]).toContain(`"remoteSnapshotHash":"${sha256Base64(Y.encodeSnapshot(Y.snapshot(doc)))}"`);
  expect(sent[0]).toMatch(
    /^ann \[\{"type":300,"update":"AAA=","isSync":false,"stateVector":null,"v2":false,"remoteSnapshotHash":".+"\}\]$/,
  );
});

test('[YH5] what was typed last before the lease lapsed is told as saved once there is a lease again, though nobody says anything more', async () => {
  const { actor, appends, claims, clock, lease, sent } = withPeople(anActor());
  actor.tell({ type: 'ydoc.fetch', from: id('ann'), guid: '', vector: new Uint8Array([0]) });
  const doc = new Y.Doc();
  doc.on('update', (update: Uint8Array) => actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update }));
  doc.getText('t').insert(0, 'last');
  clock.advance(99);
  clock.turn();
  lease.holds = false;
  actor.suspend();
  clock.advance(10);
  clock.turn();
  appends[0]!.answer('committed');
  await settled();
  sent.splice(0);
  lease.holds = true;
  claims.push({ stream: 5, epoch: 4, numbersFrom: 2_001, crashes: 0 });
  expect(await actor.resume()).toBe('resumed');
  clock.advance(100);
  clock.turn();
  expect(sent).toEqual([expect.stringContaining(`"remoteSnapshotHash":"${sha256Base64(Y.encodeSnapshot(Y.snapshot(doc)))}"`)]);
});

test('[GA20] what nobody waits for is appended with the next beat, 100 ms later; as soon as somebody waits, at once', async () => {
  const { actor, clock, appends } = withPeople(anActor());
  const doc = new Y.Doc();
  doc.on('update', (update: Uint8Array) => actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update }));
  const type = (letter: string): void => doc.getText('t').insert(0, letter);
  for (const letter of 'abc') type(letter);
  clock.advance(99);
  expect(appends).toEqual([]);
  clock.advance(1);
  expect(appends.map(({ entry }) => [entry.version, entry.count])).toEqual([[3, 3]]);
  appends[0]!.answer('committed');
  await settled();
  type('d');
  actor.tell({ type: 'ydoc.fetch', from: id('bob'), guid: '', vector: new Uint8Array([0]) });
  expect(appends.map(({ entry }) => [entry.version, entry.count]).slice(1)).toEqual([[4, 1]]);
});

test('[GA20] what is much is appended at once, and a room that stops writes what it has', async () => {
  const { actor, appends } = withPeople(anActor());
  const doc = new Y.Doc();
  doc.on('update', (update: Uint8Array) => actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update }));
  doc.getText('t').insert(0, 'x'.repeat(65_536));
  await settled();
  expect(appends).toHaveLength(1);
  appends[0]!.answer('committed');
  await settled();
  doc.getText('t').insert(0, 'y');
  void actor.stop();
  await settled();
  expect(appends).toHaveLength(2);
});

test('[DO9] what is left of a long update when its room stops is refused as moved, and nobody waits for it', async () => {
  const { actor, appends, clock, lease, releases } = withPeople(anActor());
  let release: () => void = () => undefined;
  lease.released = new Promise((resolve) => {
    release = resolve;
  });
  const doc = new Y.Doc();
  doc.getText('t').applyDelta(Array.from({ length: 5_000 }, (_, index) => ({ insert: { image: index } })));
  const asked = actor.act({ type: 'ydoc.change', from: null, guid: '', update: Y.encodeStateAsUpdate(doc) });
  const heard = asked.then(
    () => 'done',
    (error: AppError) => error.code,
  );
  clock.advance(10);
  await settled();
  const stopped = actor.stop();
  for (let turn = 0; turn < 100; turn += 1) {
    if (releases.length === 0) for (const append of appends.splice(0)) append.answer('committed'); // what is decided later is not written
    clock.advance(10);
    await settled();
  }
  release();
  await stopped;
  expect(await heard).toBe('ROOM_MOVED');
});

test('[GA21] what somebody typed who leaves is appended at once', async () => {
  const { actor, appends } = withPeople(anActor());
  const doc = new Y.Doc();
  doc.on('update', (update: Uint8Array) => actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update }));
  doc.getText('t').insert(0, 'last words');
  expect(appends).toEqual([]);
  actor.tell({ type: 'session.leave', sessionId: id('ann') });
  expect(appends.map(({ entry }) => [entry.version, entry.count])).toEqual([[1, 1]]);
});

test('[GA8] a room that was deleted or renamed is forgotten at once: its successor of the same name starts from the database', async () => {
  const { actor, closed, losses } = withPeople(anActor());
  expect(await actor.act({ type: 'room.close', code: 'ROOM_NOT_FOUND', facts: { roomId: 'room' } })).toBeNull();
  expect(closed[0]).toEqual({ to: ['ann', 'bob'], code: 'ROOM_NOT_FOUND' });
  expect(losses).toEqual(['taken']);
});

test('[GA9] a refused decision leaves no gap in the journal, also when it would have taken the first number of a new block', async () => {
  const { actor, appends, room } = withPeople(anActor());
  room.numbers.next = room.numbers.reservedTo;
  const failing: Command = { type: 'storage.patch', operations: [{ op: 'remove', path: '/nothing' }] };
  expect(() => actor.act(failing)).toThrow(expect.objectContaining({ code: 'INVALID_STORAGE_MUTATION_REQUEST' }));
  const root = { liveblocksType: 'LiveObject', data: { a: { liveblocksType: 'LiveNothing', data: {} } } };
  expect(() => actor.act({ type: 'storage.initialize', root, typeKey: 'liveblocksType' })).toThrow(
    expect.objectContaining({ code: 'UNPROCESSABLE_ENTITY' }),
  );
  expect(room.version).toBe(0);
  void actor.act({ type: 'storage.patch', operations: [{ op: 'add', path: '/a', value: 1 }] });
  expect(appends.map(({ entry }) => [entry.version, entry.count])).toEqual([[2, 2]]); // the numbers, and the op
});

test('[GA10] a decision that breaks off half done drops the room: what the journal does not know is not state', () => {
  const { actor, closed, losses, room } = withPeople(anActor());
  const poison = { ...(set('ann', 1, 1) as object), ops: [{ type: 3, id: 'root', opId: '1:1', data: { a: 1 } }, null] };
  actor.tell(poison as unknown as Command);
  expect(room.version).toBe(0);
  expect(losses).toEqual(['failed']);
  expect(closed[0]).toEqual({ to: ['ann', 'bob'], code: 'joins anew' });
});

test('[GA11] without a lease nothing that waits is told; who waits for an answer hears that it is not known', async () => {
  const { actor, appends, clock, lease, lost, sent } = withPeople(anActor());
  actor.tell(set('ann', 1, 1));
  const read = actor.act({ type: 'storage.read', format: 'json', typeKey: 'serviceType' });
  lease.holds = false; // the process was frozen; its timers have not run yet
  appends[0]!.answer('committed');
  await expect(read).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  clock.turn();
  expect(sent).toEqual([]);
  expect(lost()).toBe(0);
});

test('[GA12] nor is anything decided but what is never written down: people go on seeing each other', () => {
  const { actor, lease, lost, closed, clock, sent } = withPeople(anActor());
  lease.holds = false;
  expect(() => actor.act({ type: 'users.list' })).toThrow(expect.objectContaining({ code: 'DATABASE_UNAVAILABLE' }));
  actor.tell({ type: 'presence.patch', from: id('bob'), data: { x: 1 }, targetActor: null });
  clock.turn();
  expect(sent).toEqual(['ann [{"type":100,"actor":2,"data":{"x":1}}]']);
  actor.tell(set('ann', 1, 1));
  expect(closed).toEqual([{ to: ['ann'], code: 'joins anew' }]);
  expect(lost()).toBe(0);
});

test('[GA17] with a new lease the room goes on from memory when nobody else has claimed it: what waited is told', async () => {
  const { actor, appends, clock, lease, lost, sent, claims } = withPeople(anActor());
  actor.tell(set('ann', 1, 1));
  lease.holds = false;
  actor.suspend();
  expect(await actor.resume()).toBe('not yet'); // without a lease
  lease.holds = true;
  expect(await actor.resume()).toBe('not yet'); // what is on its way to the journal comes first
  claims.push({ stream: 5, epoch: 4, numbersFrom: 2_001, crashes: 0 });
  appends[0]!.answer('committed');
  await settled();
  await settled();
  clock.turn();
  expect(sent).toHaveLength(2);
  expect(lost()).toBe(0);
  actor.tell(set('ann', 2, 2));
  expect(appends[1]!.entry).toMatchObject({ epoch: 4, version: 2 });
});

test.each([
  ['claimed in between', { stream: 5, epoch: 5, numbersFrom: 2_001, crashes: 0 }],
  ['owned by another', { refused: 'owned', by: asIncarnation('x'), at: asWorkerAddress('x:1') }],
  ['gone', { refused: 'gone' }],
] as const)('[GA18] a room that was %s is lost instead, and told to nobody', async (_, claim) => {
  const { actor, lost, sent, claims, closed } = withPeople(anActor());
  actor.suspend();
  claims.push(claim);
  expect(await actor.resume()).toBe('resumed');
  expect(lost()).toBe(1);
  expect(sent).toEqual([]);
  expect(closed).toEqual([{ to: ['ann', 'bob'], code: 'joins anew' }]);
});

test('[GA19] a room that was deleted, renamed or moved in the database is forgotten by who claimed it before, and by nobody else', () => {
  const { actor, lost, closed } = withPeople(anActor());
  actor.recall({ stream: 6, epoch: 9 });
  actor.recall({ stream: 5, epoch: 3 });
  expect(lost()).toBe(0);
  actor.recall({ stream: 5, epoch: 4 });
  expect(lost()).toBe(1);
  expect(closed).toEqual([{ to: ['ann', 'bob'], code: 'joins anew' }]);
});

test('[GA13] while too much waits for the journal, changes are refused; presence, rights and leaving are not', () => {
  const { actor, closed, room } = withPeople(anActor({ pendingBytesMax: 10 }));
  actor.tell(set('ann', 1, 1));
  actor.tell({ type: 'presence.patch', from: id('bob'), data: { x: 1 }, targetActor: null });
  actor.tell({ type: 'session.permit', sessionId: id('bob'), permissions: READER });
  expect(room.sessions.get(id('bob'))).toMatchObject({ presence: { x: 1 }, permissions: READER });
  expect(closed).toEqual([]);
  actor.tell(set('ann', 2, 2));
  expect(closed).toEqual([{ to: ['ann'], code: 'ROOM_OVERLOADED' }]);
});

test('[GA14] a state that cannot be encoded costs a snapshot, not the process; the next is tried later, not at every change', async () => {
  const { actor, appends, saves, room, clock } = withPeople(anActor({ snapshotAfterChanges: 1, snapshotEveryMs: 10_000 }));
  room.ydocs.set('poison', null as never);
  actor.tell(set('ann', 1, 1));
  appends[0]!.answer('committed');
  await settled();
  room.ydocs.delete('poison');
  actor.tell(set('ann', 2, 2));
  appends[1]!.answer('committed');
  await settled();
  expect(saves).toEqual([]);
  clock.advance(10_000);
  actor.tick(clock.monotonicMs());
  await settled();
  expect(saves).toMatchObject([{ version: 2 }]);
});

test('[GA15] a message that cannot be encoded costs its room the memory of it, not the process its life', () => {
  const { actor, clock, losses } = withPeople(anActor());
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  actor.tell({ type: 'event.broadcast', from: null, event: circular as never });
  clock.turn();
  expect(losses).toEqual(['failed']);
});

test('[GA15] who waits behind it for the same commit hears that it is not known, and the room is brought down', async () => {
  const { actor, appends, lost } = withPeople(anActor());
  actor.tell(set('ann', 1, 1));
  actor.whenDurable({
    release() {
      throw new RangeError('Invalid string length');
    },
  });
  const read = actor.act({ type: 'storage.read', format: 'json', typeKey: 'serviceType' });
  const stopped = actor.stop();
  appends[0]!.answer('committed');
  await expect(read).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  await stopped;
  expect(lost()).toBe(1);
});

test('[GA10] a record that cannot be encoded drops the room: nothing after it is written', async () => {
  const { actor, appends, losses } = withPeople(anActor());
  const doc = new Y.Doc();
  doc.getText('t').insert(0, 'a');
  actor.tell({ type: 'ydoc.change', from: null, guid: 1n as never, update: Y.encodeStateAsUpdate(doc) }); // none such gets past the socket
  actor.tell(set('ann', 2, 1));
  await settled();
  expect(losses).toEqual(['failed']);
  expect(appends).toEqual([]);
});

test('[GA10] a room that is lost makes way first, refuses all who wait, and sends its people away, whatever breaks meanwhile', async () => {
  const { actor, lost, closed } = withPeople(anActor({}, { watcher: aBrokenWatcher() }));
  actor.tell(set('ann', 1, 1));
  const read = actor.act({ type: 'storage.read', format: 'json', typeKey: 'serviceType' });
  actor.recall({ stream: 5, epoch: 4 });
  await expect(read).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect([lost(), closed]).toEqual([1, [{ to: ['ann', 'bob'], code: 'joins anew' }]]);
});

test('[GA10] and so does one that stops', async () => {
  const { actor, closed } = withPeople(anActor({}, { watcher: aBrokenWatcher() }));
  await actor.stop();
  expect(closed).toEqual([{ to: ['ann', 'bob'], code: 'joins anew' }]);
});

/** One that throws when it is told that a room sleeps. */
function aBrokenWatcher(): RoomWatcher {
  const nothing = (): void => undefined;
  const closed = (): never => {
    throw new Error('broken');
  };
  return { wantsChanges: false, opened: nothing, closed, changed: nothing, entered: nothing, left: nothing };
}

test('[GA16] a reader who asks for more than may wait at the gate is refused, and only that one', async () => {
  const { actor, closed, appends } = withPeople(anActor({ pendingBytesMax: 10_000_000 }));
  const bytes = new Uint8Array(1_048_576).fill(97);
  const doc = new Y.Doc();
  doc.getText('t').insert(0, Buffer.from(bytes).toString());
  actor.tell({ type: 'ydoc.change', from: null, guid: '', update: Y.encodeStateAsUpdate(doc) });
  await settled();
  for (let round = 0; round < 200; round += 1)
    actor.tell({ type: 'ydoc.fetch', from: id('ann'), guid: '', vector: new Uint8Array([0]) });
  expect([...new Set(closed.map(({ to, code }) => `${to} ${code}`))]).toEqual(['ann ROOM_OVERLOADED']);
  appends[0]!.answer('committed');
  await settled();
  actor.tell({ type: 'ydoc.fetch', from: id('bob'), guid: '', vector: new Uint8Array([0]) });
  expect(closed.some(({ to }) => to.includes('bob'))).toBe(false);
});

test('[YH2] what peers are told of an update at once says nothing of what is saved', async () => {
  const { actor, clock, sent } = withPeople(anActor());
  for (const name of ['ann', 'bob']) actor.tell({ type: 'ydoc.fetch', from: id(name), guid: '', vector: new Uint8Array([0]) });
  const doc = new Y.Doc();
  doc.on('update', (update: Uint8Array) => actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update }));
  doc.getText('t').insert(0, 'a');
  clock.advance(100); // its hash is known now, but its append has not come back
  clock.turn();
  sent.splice(0);
  doc.getText('t').insert(1, 'b');
  clock.turn();
  expect(sent).toHaveLength(1);
  expect(sent[0]).toContain('"remoteSnapshotHash":""');
});

test('[YH3] an update too far ahead costs its client nothing: it is asked for what the server lacks, once that is durable', async () => {
  const { actor, clock, appends, sent, closed } = withPeople(anActor({ pendingBytesMax: 10_000_000 }));
  const doc = new Y.Doc();
  const updates: Uint8Array[] = [];
  doc.on('update', (update: Uint8Array) => updates.push(update));
  for (let index = 0; index < 20; index += 1) doc.getMap('m').set(`key ${index}`, 'x'.repeat(6_000));
  for (const update of updates.slice(1)) actor.tell({ type: 'ydoc.change', from: id('ann'), guid: '', update });
  clock.turn();
  expect(closed).toEqual([]);
  expect(sent).toEqual([]);
  appends[0]!.answer('committed');
  await settled();
  clock.turn();
  expect(sent[0]).toMatch(/^ann \[\{"type":300,"update":"AAA=","isSync":true,"stateVector":"AA=="/);
});

/** A changed room whose time to be saved has come while another one of the worker is saved. */
async function dueInTurn(policy: Partial<RoomPolicy> = {}) {
  const world = withPeople(anActor({ snapshotEveryMs: 10_000, ...policy }));
  const { actor, clock, background, appends } = world;
  actor.tell(set('ann', 1, 1));
  appends[0]!.answer('committed');
  clock.advance(10_000);
  background.next(() => undefined);
  actor.tick(clock.monotonicMs());
  await settled();
  expect(world.saves).toEqual([]);
  return world;
}

test('[DO2] a room that is to be saved waits for its turn', async () => {
  const { clock, saves } = await dueInTurn();
  clock.advance(1);
  await settled();
  expect(saves.map(({ version }) => version)).toEqual([1]);
});

test('[DO2] one that is lost meanwhile is not saved', async () => {
  const { actor, clock, saves } = await dueInTurn();
  actor.drop();
  clock.advance(1);
  await settled();
  expect(saves).toEqual([]);
});

test('[DO2] nor one without a lease, until it has one again', async () => {
  const { actor, clock, saves, claims } = await dueInTurn();
  actor.suspend();
  clock.advance(1);
  await settled();
  expect(saves).toEqual([]);
  claims.push({ stream: 5, epoch: 4, numbersFrom: 2_001, crashes: 0 });
  await actor.resume();
  actor.tick(clock.monotonicMs());
  clock.advance(1);
  await settled();
  expect(saves.map(({ epoch }) => epoch)).toEqual([4]);
});

test('[DO2] one that stops is saved at once, and not again', async () => {
  const { actor, clock, saves } = await dueInTurn();
  const stopped = actor.stop();
  clock.advance(1);
  await stopped;
  clock.advance(1);
  await settled();
  expect(saves).toHaveLength(1);
});

test('[DO2] one with much in its journal does not wait', async () => {
  const { actor, clock, saves, appends } = await dueInTurn({ snapshotAfterChanges: 2 });
  actor.tell(set('ann', 2, 2));
  appends[1]!.answer('committed');
  await settled();
  expect(saves.map(({ version }) => version)).toEqual([2]);
  clock.advance(1);
  await settled();
  expect(saves).toHaveLength(1);
});

test('[DO6] a read that waits for its document is of the moment of its answer, and not answered by an owner that stops meanwhile', async () => {
  const { actor, clock, room, appends, lease } = withPeople(anActor());
  const { storage } = room;
  for (let node = 0; node < 1_000; node += 1)
    insertNode(storage, { id: `9:${node}`, parent: storage.root, key: `key ${node}` }, { type: CRDT.REGISTER, data: node });
  const read: Command = { type: 'storage.read', format: 'json', typeKey: 'liveblocksType' };
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) {
      await settled();
      clock.turn();
      clock.advance(1);
    }
  };
  const answer = actor.act(read);
  actor.tell(set('ann', 1, 7));
  clock.turn();
  await turns();
  appends[0]!.answer('committed');
  expect(JSON.parse(textIn((await answer) as Pieces))).toMatchObject({ a: 7, 'key 999': 999 });

  room.storage.texts = null;
  let release = (): void => undefined;
  lease.released = new Promise((resolve) => {
    release = resolve;
  });
  const tooLate = expect(actor.act(read)).rejects.toMatchObject({ code: 'ROOM_MOVED' });
  const stopping = actor.stop();
  await turns(); // somebody else may have it by now
  await tooLate;
  release();
  await stopping;
});

test('[FO14] what a newcomer alone is to hear leaves with its join', async () => {
  const { actor, clock, sent } = withPeople(anActor());
  const joined = actor.act({ type: 'session.join', newcomer: newcomer('cat') });
  expect(sent.splice(0)).toEqual([expect.stringMatching(/^cat \{"type":104,/)]);
  await joined;
  clock.turn();
  expect(sent).toEqual([expect.stringMatching(/^ann \[\{"type":101,/), expect.stringMatching(/^bob \[\{"type":101,/)]);
});
