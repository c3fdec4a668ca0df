import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Utf8 } from '../../src/kernel/transport/frame.ts';
import type { OutFrame } from '../../src/kernel/transport/send-budget.ts';
import { encodeForSdk, encodeForYjs, isReadBy, type ServerMessage } from '../../src/protocol/server-messages.ts';
import { type AwarenessState, awarenessFrame, encodeAwareness } from '../../src/protocol/yjs-frames.ts';
import { Fanout, weightOf } from '../../src/room/fanout.ts';
import { sdkFrames, yjsFrames } from '../../src/room/frames.ts';
import type { Hearer, Recipient } from '../../src/room/recipient.ts';
import type { RoomState } from '../../src/room/shapes.ts';
import { aRoom, id, join, newcomer, say } from '../support/a-room.ts';
import { frameText } from '../support/frame-text.ts';
import { manualClock } from '../support/manual-clock.ts';

function fanoutOf(room: RoomState, { deliveryMs = 0, lastOf = (_: readonly Recipient[]): Hearer | null => null } = {}) {
  const clock = manualClock();
  const delivered: { to: readonly string[]; frames: readonly OutFrame[] }[] = [];
  const fanout = new Fanout(
    {
      clock,
      sessions: {
        has: (session) => session !== 'remote',
        deliver(to, frames) {
          clock.advance(deliveryMs);
          delivered.push({ to: to.map(({ id }) => id), frames });
          return lastOf(to);
        },
      },
    },
    { room, guarded: (task) => task() },
  );
  /** What each session got since the last call, as texts. */
  const turn = (): Record<string, string[]> => {
    clock.turn();
    const got: Record<string, string[]> = {};
    for (const { to, frames } of delivered.splice(0))
      for (const session of to) got[session] = [...(got[session] ?? []), ...frames.map(({ data }) => frameText(data))];
    return got;
  };
  return { fanout, turn, delivered, clock };
}

const event = (value: number) => ({ type: 'event', actor: 9, event: value }) as const;
const E = (value: number): string => `{"type":103,"actor":9,"event":${value}}`;

test('[FO1] all of one turn goes out as one frame, the same object to all who hear the same', () => {
  const room = aRoom('ann', 'bob', 'cat');
  const { fanout, clock, delivered } = fanoutOf(room);
  fanout.send({ allBut: id('ann') }, event(1), 9);
  fanout.send({ allBut: null }, event(2), 9);
  expect(delivered).toEqual([]);
  clock.turn();
  expect(delivered).toEqual([
    { to: ['ann'], frames: [{ data: `[${E(2)}]`, droppable: false }] },
    { to: ['bob', 'cat'], frames: [{ data: `[${E(1)},${E(2)}]`, droppable: false }] },
  ]);
});

test('[FO13] who is there by REST alone has no socket, and is told nothing', () => {
  const { fanout, turn } = fanoutOf(aRoom('ann', newcomer('ida', { kind: 'rest' })));
  fanout.send({ allBut: null }, event(1), 9);
  expect(turn()).toEqual({ ann: [`[${E(1)}]`] });
  fanout.send({ only: id('ida') }, event(1), 9);
  expect(turn()).toEqual({});
  for (const _ of [1, 2]) fanout.send({ allBut: null }, event(2), 9);
  expect(turn()).toEqual({ ann: [`[${E(2)},${E(2)}]`] });
});

test('[FO2] a message is for those who were there when it was decided', () => {
  const room = aRoom('ann');
  const { fanout, turn } = fanoutOf(room);
  const { decision } = room;
  join(room, newcomer('late'));
  fanout.send({ allBut: null }, event(1), decision + 1); // decided before the one that follows, told after
  join(room, newcomer('later'));
  fanout.send({ allBut: null }, event(2), room.decision + 1);
  expect(turn()).toEqual({ ann: [`[${E(1)},${E(2)}]`], late: [`[${E(2)}]`], later: [`[${E(2)}]`] });
});

test('[FO3] ops reach a session only if decided after its FETCH_STORAGE (protocol 4.4)', () => {
  const room = aRoom('ann', 'bob');
  const { fanout, turn } = fanoutOf(room);
  say(room, { type: 'storage.fetch', from: id('bob') });
  const ops = { type: 'storage.ops', ops: [] } as const;
  fanout.send({ storageBut: id('ann') }, ops, room.decision);
  expect(turn()).toEqual({});
  fanout.send({ storageBut: id('ann') }, ops, room.decision + 1);
  expect(turn()).toEqual({ bob: ['[{"type":201,"ops":[]}]'] });
});

test('[FO4] ROOM_STATE and rejections stand alone, in order; Storage ends its frame, which says so', () => {
  const room = aRoom('ann');
  const { fanout, turn, clock, delivered } = fanoutOf(room);
  const only = { only: id('ann') };
  fanout.send(only, event(1), 9);
  fanout.send(only, { type: 'storage.rejected', opIds: ['1:1'], reason: 'no' }, 9);
  fanout.send(only, event(2), 9);
  expect(turn()).toEqual({ ann: [`[${E(1)}]`, '{"type":299,"opIds":["1:1"],"reason":"no"}', `[${E(2)}]`] });
  delivered.length = 0;
  const acknowledged = (opId: string): void => fanout.send(only, { type: 'storage.ops', ops: [{ type: 5, id: 'ACK', opId }] }, 9);
  fanout.send(only, { type: 'storage.rejected', opIds: ['1:0'], reason: 'no' }, 9);
  acknowledged('1:1');
  fanout.send(only, { type: 'storage.state', frame: NO_NODES }, 9);
  acknowledged('1:2');
  fanout.send(only, { type: 'storage.rejected', opIds: ['1:2', '1:3'], reason: 'no' }, 9); // the first was answered before
  clock.turn();
  const frames = delivered.flatMap((one) => one.frames).map(({ answers, refuses, restarts }) => ({ answers, refuses, restarts }));
  expect(frames).toEqual([
    { refuses: ['1:0'] },
    { answers: ['1:1'] },
    { restarts: true },
    { answers: ['1:2'] },
    { refuses: ['1:3'] },
  ]);
});

/** As a frame of Storage, as far as it matters here. */
const NO_NODES = [Buffer.from('[]')];

const PATCH = { type: 'presence', actor: 1, data: {}, targetActor: null } as const;

test('[FO20] frames of all kinds have the same keys in the same order', () => {
  const frames = [
    ...sdkFrames(
      [
        { type: 'storage.state', frame: NO_NODES } as const,
        { type: 'storage.rejected', opIds: ['1:3'], reason: '' } as const,
        { type: 'event', actor: 1, event: null } as const,
        PATCH,
      ].map((message) => ({ to: { only: id('ann') }, message, text: null, bytes: null })),
    ),
    ...yjsFrames([
      {
        to: { allBut: null },
        message: { type: 'awareness', states: [], update: null, tellsOf: 'state' },
        text: null,
        bytes: null,
      },
    ]),
  ];
  expect(frames.length).toBeGreaterThan(3);
  expect(new Set(frames.map((frame) => Object.keys(frame).join())).size).toBe(1);
});

test('[FO5] only a frame of nothing but what people do at the moment may be dropped', () => {
  const room = aRoom('ann');
  const { fanout, clock, delivered } = fanoutOf(room);
  const leave = (): void => {
    clock.turn();
    clock.advance(5);
  };
  fanout.send({ allBut: null }, PATCH, 9);
  fanout.send({ allBut: null }, { ...PATCH, targetActor: -1 }, 9); // all of one who came back
  leave();
  fanout.send({ allBut: null }, PATCH, 9);
  fanout.send({ only: id('ann') }, { ...PATCH, targetActor: 1 }, 9); // for a newcomer, who is told once
  leave();
  fanout.send({ allBut: null }, PATCH, 9);
  fanout.send({ allBut: null }, { type: 'event', actor: 1, event: null }, 9);
  leave();
  expect(delivered.map(({ frames }) => frames.map(({ droppable }) => droppable))).toEqual([[true], [false], [false]]);
});

test('[FO5] states of Yjs clients may be dropped, but not where one of them is gone', () => {
  const tellsOf = (...each: ('state' | 'departure')[]) =>
    yjsFrames(
      each.map((tellsOf) => {
        const message = { type: 'awareness', states: [], update: null, tellsOf } as const;
        return { to: { allBut: null }, message, text: null, bytes: null };
      }),
    ).map(({ droppable }) => droppable);
  expect([tellsOf('state', 'state'), tellsOf('state', 'departure'), tellsOf('departure', 'state')]).toEqual([
    [true],
    [false],
    [false],
  ]);
});

test('[FO6] Yjs clients get one frame a message, and nothing of what only the SDK understands', () => {
  const room = aRoom(newcomer('ann', { kind: 'yjs' }));
  const { fanout, clock, delivered } = fanoutOf(room);
  fanout.send({ allBut: null }, event(1), 9);
  fanout.send({ ydocBut: null, guid: '' }, { type: 'ydoc.update', guid: '', update: new Uint8Array([1, 2]) }, 9);
  fanout.send({ ydocBut: null, guid: 'sub' }, { type: 'ydoc.update', guid: 'sub', update: new Uint8Array([3]) }, 9);
  clock.turn();
  expect(delivered).toEqual([{ to: ['ann'], frames: [{ data: Buffer.from([0, 2, 2, 1, 2]), droppable: false }] }]);
});

test('[FO7] much at once leaves in parts within the turn: one string for all of it may be longer than any string can be', () => {
  const room = aRoom('ann');
  const { fanout, delivered, clock } = fanoutOf(room);
  for (let round = 0; round < 4; round += 1) fanout.send({ only: id('ann') }, event(round), 9, 8_000_000);
  expect(delivered.map(({ frames }) => frames.length)).toEqual([1]); // three of them are more than may wait
  clock.turn();
  expect(delivered).toHaveLength(2);
});

test('[FO7] ops whose text is not at hand, as what is told again of refused ones, weigh what they hold', () => {
  const data = { a: 'x'.repeat(1_000_000) };
  const fix = { type: 3, id: 'root', data } as const;
  expect(weightOf({ type: 'storage.ops', ops: [fix, { ...fix, opId: '1:2' }] })).toBeGreaterThan(2_000_000);
});

test('[FO8] what goes to the sender of ops says which of them it answers; others are told no ids', () => {
  const room = aRoom('ann', 'bob');
  const { fanout, clock, delivered } = fanoutOf(room);
  say(room, { type: 'storage.fetch', from: id('bob') });
  const op = { type: 5, id: '1:1' } as const;
  fanout.send({ only: id('ann') }, { type: 'storage.ops', ops: [{ ...op, opId: '1:2' }, { ...op, opId: '1:3' }, op] }, 9);
  fanout.send({ only: id('ann') }, { type: 'storage.ops', ops: [{ ...op, opId: '1:4' }] }, 9);
  fanout.send({ storageBut: id('ann') }, { type: 'storage.ops', ops: [op] }, room.decision + 1);
  clock.turn();
  const answers = delivered.map(({ to, frames }) => [to, frames.map((frame) => frame.answers)]);
  expect(answers).toEqual([
    [['ann'], [['1:2', '1:3', '1:4']]],
    [['bob'], [undefined]],
  ]);
});

const cursor = (x: number) => ({ type: 'presence', actor: 9, data: { x }, targetActor: null }) as const;
const C = (x: number): string => `{"type":100,"actor":9,"data":{"x":${x}}}`;

test('[FO9] the first cursor leaves with its turn, those of the next 5 ms together; whatever else is said takes them along', () => {
  const { fanout, turn, clock } = fanoutOf(aRoom('ann'));
  const say = (message: ServerMessage): void => fanout.send({ allBut: null }, message, 9);
  say(cursor(1));
  expect(turn()).toEqual({ ann: [`[${C(1)}]`] });
  say(cursor(2));
  expect(turn()).toEqual({});
  clock.advance(4);
  say({ ...cursor(3), targetActor: -1 });
  expect(turn()).toEqual({});
  clock.advance(1);
  expect(turn()).toEqual({ ann: [`[${C(2)},{"type":100,"actor":9,"data":{"x":3},"targetActor":-1}]`] });
  say(cursor(4));
  say(event(5));
  expect(turn()).toEqual({ ann: [`[${C(4)},${E(5)}]`] });
  say({ ...cursor(6), targetActor: 7 }); // for one newcomer, who waits for it
  expect(turn().ann).toHaveLength(1);
  clock.advance(5);
  say(cursor(7));
  expect(turn()).toEqual({ ann: [`[${C(7)}]`] });
});

test.each([
  [25, 5],
  [30, 6],
  [240, 48],
  [1_000, 50],
])('[FO9] where %i people hear them, those of the next %i ms leave together', (hearers, pauseMs) => {
  const room = aRoom('ann');
  Object.assign(room.headcount, { sdk: 10, yjs: hearers - 10, rest: 500 });
  const { fanout, turn, clock } = fanoutOf(room);
  const say = (x: number): void => fanout.send({ allBut: null }, cursor(x), 9);
  say(1);
  expect(turn()).toEqual({ ann: [`[${C(1)}]`] });
  say(2);
  clock.advance(pauseMs - 1);
  say(3);
  expect(turn()).toEqual({});
  clock.advance(1);
  expect(turn()).toEqual({ ann: [`[${C(2)},${C(3)}]`] });
});

test('[FO9] nor do more than a thousand wait', () => {
  const { fanout, turn } = fanoutOf(aRoom('ann'));
  fanout.send({ allBut: null }, cursor(0), 9);
  turn();
  for (let x = 1; x < 1_000; x += 1) fanout.send({ allBut: null }, cursor(x), 9);
  expect(turn()).toEqual({});
  fanout.send({ allBut: null }, cursor(1_000), 9);
  expect(JSON.parse(turn().ann![0]!)).toHaveLength(1_000);
});

test('[FO9] nor does more than 256 KiB', () => {
  const { fanout, turn } = fanoutOf(aRoom('ann'));
  const say = (message: ServerMessage): void => fanout.send({ allBut: null }, message, 9, weightOf(message));
  const large = (x: number) => ({ ...cursor(x), data: { x, note: 'x'.repeat(64 * 1024) } });
  say(large(0));
  turn();
  for (let x = 1; x < 4; x += 1) say(large(x));
  expect(turn()).toEqual({});
  say(large(4));
  expect(JSON.parse(turn().ann![0]!)).toHaveLength(4);
});

test('[FO10] the cursors of several Yjs clients are one frame', () => {
  const { fanout, clock, delivered } = fanoutOf(aRoom(newcomer('ann', { kind: 'yjs' }), newcomer('bob', { kind: 'yjs' })));
  const state = (clientId: number) => ({ clientId, clock: 1, state: { x: clientId } });
  const awareness = (...clientIds: number[]) =>
    ({ type: 'awareness', tellsOf: 'state', states: clientIds.map(state), update: null }) as const;
  fanout.send({ allBut: null }, awareness(300), 9);
  fanout.send({ allBut: null }, awareness(1, 2), 9);
  clock.turn();
  expect(delivered).toEqual([{ to: ['ann', 'bob'], frames: [{ data: encodeForYjs(awareness(300, 1, 2)), droppable: true }] }]);
});

test('[CB61] of what a turn tells of one Yjs client, the others hear the newest, encoded once; of different ones all, in order', () => {
  const { fanout, clock, delivered } = fanoutOf(aRoom(newcomer('ann', { kind: 'yjs' }), newcomer('bob', { kind: 'yjs' })));
  let reads = 0;
  const cursor = {
    get at() {
      reads += 1;
      return 1;
    },
  };
  const tell = (...states: AwarenessState[]) =>
    fanout.send({ allBut: null }, { type: 'awareness', states, update: null, tellsOf: 'departure' }, 9);
  for (let n = 1; n <= 100; n += 1) {
    tell({ clientId: 7, clock: 2 * n, state: cursor }, { clientId: 8, clock: n, state: cursor });
    tell({ clientId: 7, clock: 2 * n + 1, state: null });
  }
  fanout.send(
    { only: id('bob') },
    { type: 'awareness', states: [{ clientId: 9, clock: 1, state: {} }], update: null, tellsOf: 'state' },
    9,
  );
  tell({ clientId: 7, clock: 5, state: {} }); // an older clock takes nothing away
  clock.turn();
  const news: AwarenessState[] = [
    { clientId: 7, clock: 200, state: { at: 1 } },
    { clientId: 8, clock: 100, state: { at: 1 } },
    { clientId: 7, clock: 201, state: null },
  ];
  const old = { clientId: 7, clock: 5, state: {} };
  const heard = (...states: AwarenessState[]) => [{ data: awarenessFrame(encodeAwareness(states)), droppable: false }];
  expect(delivered).toEqual([
    { to: ['bob'], frames: heard(...news, { clientId: 9, clock: 1, state: {} }, old) },
    { to: ['ann'], frames: heard(...news, old) },
  ]);
  expect(reads).toBe(2);
});

test('[FO21] a long update is a frame of bytes for SDK clients, which says what its text would, made once for the same bytes', () => {
  const update = new Uint8Array(randomBytes(100_000));
  const documents = [
    { type: 'ydoc.update', guid: '', update },
    { type: 'ydoc.update', guid: 'gü', update },
    { type: 'ydoc.state', guid: 'gü', update, vector: Uint8Array.of(1, 2), hash: 'h1' },
    { type: 'ydoc.state', guid: 'gü', update, vector: Uint8Array.of(3), hash: 'h2' },
  ] as const;
  const framesOf = (...messages: ServerMessage[]) =>
    sdkFrames(messages.map((message) => ({ to: { only: id('ann') }, message, text: null, bytes: null }))).map(({ data }) => data);
  for (const message of documents) {
    const frames = framesOf(event(1), message, event(2));
    expect(frames.map(frameText)).toEqual([`[${E(1)}]`, `[${encodeForSdk(message)}]`, `[${E(2)}]`]);
    expect(framesOf(message)[0]).toEqual(frames[1]);
    expect((framesOf({ ...message })[0] as Utf8).utf8[0]).toBe((frames[1] as Utf8).utf8[0]);
  }
  const short = { type: 'ydoc.update', guid: '', update: update.subarray(0, 1_000) } as const;
  expect(framesOf(short, event(1))).toEqual([`[${encodeForSdk(short)},${E(1)}]`]);
});

test('[FO11] what nobody in a room can read is not encoded for them, and a kind is said to read what there is an encoding for', () => {
  const bytes = new Uint8Array(2);
  const all: Exclude<ServerMessage, { type: 'storage.state' }>[] = [
    event(1),
    cursor(1),
    { type: 'user.left', actor: 1 },
    { type: 'storage.ops', ops: [] },
    { type: 'thread.deleted', threadId: 'th' },
    { type: 'ydoc.state', guid: '', update: bytes, vector: bytes, hash: '' },
    { type: 'ydoc.update', guid: '', update: bytes },
    { type: 'ydoc.hash', guid: '', hash: '' },
    { type: 'ydoc.question', guid: '', vector: bytes },
    { type: 'ydoc.denied', guid: '', reason: '' },
    { type: 'awareness', states: [], update: bytes, tellsOf: 'state' },
  ];
  expect(all.filter((message) => isReadBy('sdk', message))).toEqual(all.filter((message) => encodeForSdk(message) !== null));
  expect(all.filter((message) => isReadBy('yjs', message))).toEqual(all.filter((message) => encodeForYjs(message) !== null));
});

test('[FO11] what no kind of client that is here reads is not kept for the end of the turn; the kinds are counted as people come and go', () => {
  const room = aRoom(newcomer('yan', { kind: 'yjs' }), newcomer('ida', { kind: 'rest' }));
  const { fanout, turn } = fanoutOf(room);
  fanout.send({ allBut: null }, event(1), 9);
  join(room, newcomer('ann'));
  expect(turn()).toEqual({}); // nor is she told, though it would have left after she came
  fanout.send({ allBut: null }, event(2), 9);
  expect(turn()).toEqual({ ann: [`[${E(2)}]`] });
  expect(room.headcount).toEqual({ sdk: 1, yjs: 1, rest: 1 });
  join(room, newcomer('ann')); // once more, after an answer that was lost
  for (const name of ['yan', 'yan', 'nobody']) say(room, { type: 'session.leave', sessionId: id(name) });
  expect(room.headcount).toEqual({ sdk: 1, yjs: 0, rest: 1 });
});

test('[YD42] the hash of a document goes to those who take it in that encoding, and follow', () => {
  const room = aRoom('ann', 'bob', 'cat', newcomer('yan', { kind: 'yjs' }));
  const vector = Uint8Array.of(0);
  say(room, { type: 'ydoc.fetch', from: id('ann'), guid: '', vector, encoding: 'V2' });
  say(room, { type: 'ydoc.fetch', from: id('bob'), guid: '', vector });
  const { fanout, turn } = fanoutOf(room);
  for (const ydocHashedIn of ['V1', 'V2'] as const)
    fanout.send({ ydocHashedIn, guid: '' }, { type: 'ydoc.hash', guid: '', hash: ydocHashedIn }, 99);
  const got = turn();
  expect(Object.keys(got)).toEqual(['ann', 'bob']);
  expect([got.ann, got.bob].map((frames) => JSON.parse(frames![0]!)[0].remoteSnapshotHash)).toEqual(['V2', 'V1']);
});

test('[FO12] typing that comes alone leaves at once and takes along what waits; in company, and right after something left, with its turn', () => {
  const room = aRoom('ann', 'bob');
  for (const name of ['ann', 'bob']) say(room, { type: 'ydoc.fetch', from: id(name), guid: '', vector: Uint8Array.of(0) });
  const { fanout, clock, delivered } = fanoutOf(room);
  const type = () =>
    fanout.send({ ydocBut: id('ann'), guid: '' }, { type: 'ydoc.update', guid: '', update: Uint8Array.of(0, 0) }, 99);
  const left = () => delivered.splice(0).map(({ to, frames }) => [to.join(), JSON.parse(String(frames[0]!.data)).length ?? 1]);
  fanout.send({ only: id('bob') }, event(1), 99);
  type();
  expect(left()).toEqual([['bob', 2]]);
  type();
  type();
  expect(left()).toEqual([]); // something left a moment ago
  clock.turn();
  expect(left()).toEqual([['bob', 2]]);
  clock.advance(1);
  type(); // the last time there was company
  expect(left()).toEqual([]);
  clock.turn();
  expect(left()).toEqual([['bob', 1]]);
  clock.advance(1);
  type();
  expect(left()).toEqual([['bob', 1]]);
  clock.turn();
  expect(left()).toEqual([]);
});

test('[FO12] what comes in one turn with typing that went to many is not alone, however long that took: the rest leaves together', () => {
  const room = aRoom(newcomer('ann', { kind: 'yjs' }), newcomer('bob', { kind: 'yjs' }));
  for (const name of ['ann', 'bob']) say(room, { type: 'ydoc.fetch', from: id(name), guid: '', vector: Uint8Array.of(0) });
  const { fanout, turn, delivered } = fanoutOf(room, { deliveryMs: 5 });
  const type = () =>
    fanout.send({ ydocBut: id('ann'), guid: '' }, { type: 'ydoc.update', guid: '', update: Uint8Array.of(0, 0) }, 99);
  for (let times = 0; times < 4; times += 1) type();
  expect(delivered.splice(0)).toHaveLength(1);
  expect(turn().bob).toHaveLength(3);
});

test('[FO12] a document that was asked for leaves at once, and the next of the same moment with its turn', () => {
  const bytes = Uint8Array.of(0, 0);
  const documents = [
    { type: 'ydoc.state', guid: '', update: bytes, vector: bytes, hash: '' },
    { type: 'storage.state', frame: NO_NODES },
  ] as const;
  for (const document of documents) {
    const { fanout, turn, delivered } = fanoutOf(aRoom('ann', 'bob'));
    for (const name of ['ann', 'bob']) fanout.send({ only: id(name) }, document, 9);
    expect(delivered.splice(0).map(({ to }) => to)).toEqual([['ann']]);
    expect(Object.keys(turn())).toEqual(['bob']);
  }
});

test('[FO19] while what was said last is on its way to many, what comes next gathers, and leaves together', () => {
  const hearer = { owed: 1, carries: () => true, send: () => undefined };
  const room = aRoom('ann', 'bob', newcomer('yan', { kind: 'yjs' }));
  for (const name of ['ann', 'yan']) say(room, { type: 'ydoc.fetch', from: id(name), guid: '', vector: Uint8Array.of(0) });
  const { fanout, turn, delivered, clock } = fanoutOf(room, {
    lastOf: (to) => (to.some(({ id }) => id === 'ann') ? hearer : null),
  });
  const type = () =>
    fanout.send({ ydocBut: id('bob'), guid: '' }, { type: 'ydoc.update', guid: '', update: Uint8Array.of(0, 0) }, 99);
  type();
  expect(delivered.splice(0).map(({ to }) => to)).toEqual([['ann'], ['yan']]); // the second has heard, the first not all
  clock.advance(5);
  type();
  fanout.send({ allBut: id('ann') }, event(1), 99);
  fanout.send({ only: id('bob') }, { type: 'storage.state', frame: NO_NODES }, 99);
  clock.soon(() => {
    expect(delivered).toEqual([]);
    clock.soon(() => {
      expect(delivered).toEqual([]);
      hearer.owed = 0;
    });
  });
  expect(Object.keys(turn()).sort()).toEqual(['ann', 'bob', 'yan']);
});

test('[FO19] no more than a thousand messages gather, and what must leave at once does', () => {
  const hearer = { owed: 1, carries: () => true, send: () => undefined };
  const { fanout, turn, delivered, clock } = fanoutOf(aRoom('ann'), { lastOf: () => hearer });
  const tell = (times: number): void => {
    for (let told = 0; told < times; told += 1) fanout.send({ allBut: null }, event(told), 99);
  };
  tell(1);
  turn();
  tell(1_000);
  clock.soon(() => expect(delivered).toHaveLength(1));
  turn();
  tell(1);
  fanout.flush();
  expect(delivered).toHaveLength(1);
  hearer.owed = 0;
  turn();
});

test('[FO14] what a newcomer alone is to hear leaves with its join; what waits for others keeps its order, and leaves with its turn', () => {
  const room = aRoom('ann');
  const { fanout, turn, delivered } = fanoutOf(room);
  const { decision } = room;
  fanout.send({ allBut: null }, event(1), decision + 1); // decided before the join, as in FO2
  join(room, newcomer('bob'));
  fanout.send({ only: id('bob') }, event(2), room.decision);
  fanout.send({ allBut: id('bob') }, event(3), room.decision);
  fanout.send({ only: id('bob') }, { type: 'awareness', states: [], update: null, tellsOf: 'state' }, room.decision); // not for an SDK client
  fanout.greet(id('bob'));
  fanout.greet(id('nobody'));
  expect(delivered.splice(0)).toEqual([{ to: ['bob'], frames: [{ data: `[${E(2)}]`, droppable: false }] }]);
  fanout.send({ allBut: null }, event(4), room.decision + 1);
  expect(turn()).toEqual({ ann: [`[${E(1)},${E(3)},${E(4)}]`], bob: [`[${E(4)}]`] });
  expect(turn()).toEqual({});
});

test('[FO14] what it was is no longer among what waits: cursors wait for each other behind a large document', () => {
  const room = aRoom('ann');
  const { fanout, turn, delivered } = fanoutOf(room);
  fanout.send({ allBut: null }, cursor(1), 9);
  turn();
  join(room, newcomer('bob'));
  fanout.send({ only: id('bob') }, event(2), room.decision, 300 * 1024);
  fanout.greet(id('bob'));
  expect(delivered.splice(0)).toHaveLength(1);
  turn(); // for which it was meant
  fanout.send({ allBut: null }, cursor(3), room.decision + 1);
  expect(turn()).toEqual({});
});

test('[FO14] where the socket is on another worker it leaves with its turn, behind the answer to the join', () => {
  const room = aRoom('ann');
  const { fanout, turn, delivered } = fanoutOf(room);
  join(room, newcomer('remote'));
  fanout.send({ only: id('remote') }, event(1), room.decision);
  fanout.greet(id('remote'));
  expect(delivered).toEqual([]);
  expect(turn()).toEqual({ remote: [`[${E(1)}]`] });
});
