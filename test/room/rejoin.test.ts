import { describe, expect, test } from 'vitest';
import { AppError, type ErrorCode } from '../../src/base/errors.ts';
import { asRoomId, asSessionId, asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { Slices } from '../../src/base/slices.ts';
import type { OutFrame } from '../../src/kernel/transport/send-budget.ts';
import { FULL_ACCESS } from '../../src/protocol/permissions.ts';
import { Gateway } from '../../src/room/gateway.ts';
import { Intake } from '../../src/room/intake.ts';
import { recipientOf } from '../../src/room/recipient.ts';
import { pauseBeforeRejoinMs } from '../../src/room/rejoin.ts';
import type { Command } from '../../src/room/shapes.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const first = asSessionId('w-1');
const second = asSessionId('w-2');
const there = asWorkerAddress('b:1');

/** A client in a room; whether the room is to be found, and where, is up to the test. */
async function aClient({ at = null }: { at?: WorkerAddress | null } = {}) {
  const clock = manualClock();
  const room = { isKnown: true, at };
  const told: Command[] = [];
  /** The same, with where its session is said to have joined. */
  const ways: [what: string, session: string | null, joinedAt: WorkerAddress | null][] = [];
  const joins: { session: string; permissions: unknown; answer(value?: unknown): void; refuse(code: ErrorCode): void }[] = [];
  const closes: number[] = [];
  const sent: unknown[] = [];
  const pings: string[] = [];
  const gateway = new Gateway({
    clock,
    workerName: 'w',
    intake: new Intake({ clock, log: silentLog }),
    slices: new Slices(clock),
    log: silentLog,
    connectionsMax: 10,
    sheds: () => false,
    findMissingFiles: async () => [],
    feeds: { take: () => undefined },
    chance: () => 1,
    limits: {
      messages: { perSecond: 1_000, burst: 1_000 },
      sendBytesSoftMax: 1_000,
      sendBytesHardMax: 2_000,
      idleMs: 60_000,
    },
    elsewhere: { deliver: () => null, closeSessions: () => undefined, loseSessions: () => undefined },
    rooms: {
      ask: (_, command) =>
        new Promise((answer, reject) => {
          if (command.type !== 'session.join') throw new Error('only joins are asked');
          const { id, permissions } = command.newcomer;
          joins.push({ session: id, permissions, answer, refuse: (code) => reject(new AppError(code)) });
        }),
      tell(_, command, joinedAt) {
        const session = command.type === 'session.leave' ? command.sessionId : 'from' in command ? command.from : null;
        ways.push([command.type, session, joinedAt]);
        return room.isKnown && told.push(command) > 0;
      },
      locationOf: () => room.at,
      lineTo: () => null,
    },
    admit: async () => ({
      roomId: asRoomId('room'),
      userId: 'ann',
      info: null,
      permissions: FULL_ACCESS,
      expiresAtMs: Number.POSITIVE_INFINITY,
    }),
  });
  const handler = gateway.accept(
    { path: '/v8', query: 'roomId=room&tok=t', headers: {} },
    {
      send: (frame) => sent.push(frame) > 0,
      cork: (writes) => writes(),
      ping: (data) => void pings.push(data),
      close: (code) => void closes.push(code),
      bufferedBytes: () => 0,
    },
  );
  const say = (...messages: unknown[]): void => handler.message(JSON.stringify(messages));
  await settled();
  joins[0]!.answer();
  await settled();
  say({ type: 100, data: { x: 1 }, targetActor: -1 }, { type: 200 });
  const types = (): string[] => told.splice(0).map((command) => command.type);
  types();
  ways.splice(0);
  return { clock, room, told, ways, types, joins, closes, sent, pings, gateway, handler, say };
}

describe('a session whose room is lost', () => {
  test('[RJ3] joins anew over the same socket, under another id, and is what it was', async () => {
    const { gateway, joins, told, types, closes, sent } = await aClient();
    const former = recipientOf(first);
    gateway.deliver([former], [{ data: 'before', droppable: false }]);
    expect(sent.splice(0)).toEqual(['before']);
    gateway.loseSessions([first]);
    await settled();
    expect(joins[1]).toMatchObject({ session: 'w-2' });
    joins[1]!.answer();
    await settled();
    expect(told.filter((command) => 'from' in command)).toMatchObject([{ from: 'w-2' }, { from: 'w-2' }]);
    expect(types()).toEqual(['session.leave', 'presence.patch', 'storage.fetch']);
    gateway.deliver([former, recipientOf(first)], [{ data: 'old', droppable: false }]);
    gateway.deliver([recipientOf(asSessionId('w-2'))], [{ data: 'new', droppable: false }]);
    expect(sent).toEqual(['new']);
    expect(closes).toEqual([]);
  });

  test('[RJ4] what its client says meanwhile is remembered as far as a room must hear it: presence, subscriptions, events', async () => {
    const { gateway, joins, told, say } = await aClient();
    gateway.loseSessions([first]);
    await settled();
    told.splice(0);
    say({ type: 100, data: { x: 2 } }, { type: 201, ops: [] });
    say({ type: 103, event: 'hi' });
    expect(told).toEqual([]);
    joins[1]!.answer();
    await settled();
    expect(told.map((command) => ('data' in command ? [command.type, command.data] : [command.type]))).toEqual([
      ['presence.patch', { x: 2 }],
      ['storage.fetch'],
      ['event.broadcast'],
    ]);
  });

  test('[RJ4] of a frame with an event the room hears the event alone, once it is told the newest of the rest', async () => {
    const { gateway, joins, told, say } = await aClient();
    gateway.loseSessions([first]);
    await settled();
    told.splice(0);
    say({ type: 100, data: { x: 2 } }, { type: 103, event: 'hi' }, { type: 201, ops: [] });
    say({ type: 100, data: { x: 3 } });
    joins[1]!.answer();
    await settled();
    expect(told).toMatchObject([
      { type: 'presence.patch', data: { x: 3 } },
      { type: 'storage.fetch' },
      { type: 'event.broadcast', from: 'w-2', event: 'hi' },
    ]);
  });

  test('[RJ23] a presence that grows while no room is there to refuse it ends with its client at a size that no room takes; what replaces itself does not', async () => {
    const { gateway, joins, told, say, closes } = await aClient();
    gateway.loseSessions([first]);
    await settled();
    told.splice(0);
    const long = 'x'.repeat(60_000);
    for (let count = 0; count < 100; count += 1) say({ type: 100, data: { key: `${count}${long}` } });
    expect(closes).toEqual([]);
    for (let count = 0; count < 16; count += 1) say({ type: 100, data: { [`key ${count}`]: long } });
    expect(closes).toEqual([]);
    say({ type: 100, data: { 'one more': long } });
    expect([closes, gateway.size]).toEqual([[4000], 0]);
    joins[1]!.answer();
    await settled();
    expect(told.map(({ type }) => type)).toEqual(['session.leave', 'session.leave']);
  });

  test('[RJ5] tries again while the room is between owners or the database is away, and closes on any other refusal', async () => {
    const { gateway, joins, clock, closes } = await aClient();
    gateway.loseSessions([first]);
    await settled();
    for (const code of ['ROOM_MOVED', 'DATABASE_UNAVAILABLE', 'WORKER_UNREACHABLE', 'OUTCOME_UNKNOWN'] as const) {
      joins.at(-1)!.refuse(code);
      await settled();
      const tries = joins.length;
      clock.advance(2_000);
      await settled();
      expect(joins.length).toBe(tries + 1);
    }
    joins.at(-1)!.refuse('ROOM_NOT_FOUND');
    await settled();
    expect(closes).toEqual([4001]);
  });

  test('[RJ6] a join that is lost before its answer is seen is made once more', async () => {
    const { gateway, joins, types } = await aClient();
    gateway.loseSessions([first]);
    await settled();
    gateway.loseSessions([asSessionId('w-2')]);
    joins[1]!.answer();
    await settled();
    expect(joins).toHaveLength(3);
    joins[2]!.answer();
    await settled();
    expect(types().filter((type) => type === 'storage.fetch')).toHaveLength(1);
  });

  test.each(Array.from({ length: 12 }, (_, depth) => depth))(
    '[RJ18] lost %i microtasks after the answer to its join, it joins once more',
    async (depth) => {
      const { gateway, joins, types } = await aClient();
      gateway.loseSessions([first]);
      await settled();
      types();
      joins[1]!.answer();
      for (let step = 0; step < depth; step += 1) await null;
      gateway.loseSessions([second]);
      await settled();
      expect(joins.map(({ session }) => session)).toEqual(['w-1', 'w-2', 'w-3']);
      joins[2]!.answer();
      await settled();
      expect(types().slice(-3)).toEqual(['session.leave', 'presence.patch', 'storage.fetch']);
    },
  );

  test('[RJ7] a frame that finds no owner is taken as the loss it is', async () => {
    const { room, joins, say } = await aClient();
    room.isKnown = false;
    say({ type: 103, event: 1 });
    await settled();
    expect(joins).toHaveLength(2);
  });

  test('[RJ8] when a worker is down, the sessions whose rooms are there join anew, and no others', async () => {
    const { clock, gateway, joins, room } = await aClient();
    gateway.workerDown(there);
    await settled();
    expect(joins).toHaveLength(1);
    room.at = there;
    gateway.loseSessions([first]);
    await settled();
    joins[1]!.answer();
    await settled();
    gateway.workerDown(there);
    await settled();
    expect(joins).toHaveLength(2); // over half a second: what they are all sent would come over one link
    clock.advance(500);
    await settled();
    expect(joins).toHaveLength(3);
    gateway.workerDown(there); // it was asked once more, and found to be down
    joins[2]!.answer();
    await settled();
    expect(joins).toHaveLength(3);
  });

  test('[RJ22] what a session says, and that it leaves, is told where it joined', async () => {
    const { say, handler, room, ways } = await aClient({ at: there });
    room.at = asWorkerAddress('c:1'); // as somebody else has found out since
    say({ type: 103, event: 1 });
    handler.closed(1001, '');
    expect(ways).toEqual([
      ['event.broadcast', first, there],
      ['session.leave', first, there],
    ]);
  });

  test('[RJ22] one that joins anew leaves there first; what it says then is told where it joined next', async () => {
    const { gateway, joins, say, room, ways } = await aClient({ at: there });
    gateway.loseSessions([first]);
    await settled();
    expect(ways.splice(0)).toEqual([['session.leave', first, there]]);
    room.at = asWorkerAddress('c:1');
    joins[1]!.answer();
    await settled();
    ways.splice(0);
    say({ type: 103, event: 1 });
    expect(ways).toEqual([['event.broadcast', second, 'c:1']]);
  });

  test('[RJ22] so does one that is lost before its answer is seen', async () => {
    const { gateway, joins, ways } = await aClient({ at: there });
    gateway.loseSessions([first]);
    await settled();
    ways.splice(0);
    joins[1]!.answer();
    gateway.loseSessions([second]);
    await settled();
    expect(joins).toHaveLength(3);
    expect(ways).toEqual([['session.leave', second, there]]);
  });

  test('[RJ22] nothing is told there once that worker is down', async () => {
    const { gateway, joins, handler, ways, clock } = await aClient({ at: there });
    gateway.workerDown(there);
    clock.advance(500);
    await settled();
    expect(joins).toHaveLength(2);
    handler.closed(1001, '');
    expect(ways.every(([, , joinedAt]) => joinedAt === null)).toBe(true);
  });

  const op = (number: number) => ({ type: 5, id: '1:1', opId: `1:${number}` });

  test('[RJ11] ops of a client some of whose ops may be lost are held back until it sends those again', async () => {
    const { gateway, joins, told, say, closes } = await aClient();
    const opsTold = () =>
      told.splice(0).flatMap((command) => (command.type === 'storage.change' ? command.ops.map(({ opId }) => opId) : []));
    say({ type: 201, ops: [op(0), op(1)] });
    gateway.deliver([recipientOf(first)], [{ data: 'one of two', droppable: false, answers: ['1:0'] }]);
    opsTold();
    gateway.loseSessions([first]);
    await settled();
    say({ type: 201, ops: [op(2)] }); // while nobody has the room
    joins[1]!.answer();
    await settled();
    say({ type: 201, ops: [op(3)] }, { type: 103, event: 'hi' }); // before it has read the new snapshot
    expect(told.map(({ type }) => type)).toContain('event.broadcast');
    expect(opsTold()).toEqual([]);
    say({ type: 201, ops: [op(1), op(2), op(3)] });
    say({ type: 201, ops: [op(4)] });
    expect(opsTold()).toEqual(['1:1', '1:2', '1:3', '1:4']);
    expect(closes).toEqual([]);
  });

  test('[RJ12] a client whose ops were all answered, or that has none, sends nothing again: it has to be there, no more', async () => {
    const { gateway, joins, told, say, pings, handler } = await aClient();
    say({ type: 201, ops: [op(0), op(1)] });
    gateway.deliver([recipientOf(first)], [{ data: 'both', droppable: false, answers: ['1:0', '1:1'] }]);
    gateway.loseSessions([first]);
    await settled();
    joins[1]!.answer();
    await settled();
    told.splice(0);
    gateway.deliver([recipientOf(second)], [{ data: 'storage', droppable: false, restarts: true }]);
    say({ type: 201, ops: [op(2)] });
    expect(told).toEqual([]);
    handler.ponged(pings.at(-1)!);
    say({ type: 201, ops: [op(2), op(3)] });
    expect(told).toMatchObject([{ from: second, ops: [{ opId: '1:2' }, { opId: '1:3' }] }]);
  });

  test('[RJ13] a client that does not send them again within 10 s has to come back over a new connection', async () => {
    const { gateway, joins, say, closes, clock } = await aClient();
    say({ type: 201, ops: [op(0)] });
    gateway.loseSessions([first]);
    await settled();
    joins[1]!.answer();
    await settled();
    clock.advance(9_999);
    expect(closes).toEqual([]);
    clock.advance(1);
    expect(closes).toEqual([1012]);
  });

  test('[OV17] what waits to be heard when the room is lost is not heard by the next session, before its client sends it again', async () => {
    const { gateway, joins, say, clock, told, handler, closes } = await aClient();
    clock.turn();
    say({ type: 103, event: 1 });
    clock.advance(200);
    say({ type: 103, event: 2 });
    clock.advance(200);
    say({ type: 201, ops: [op(0)] }); // in a turn that is a long one by now
    say({ type: 103, event: 3 });
    handler.message('ping');
    told.splice(0);
    gateway.loseSessions([first]);
    await settled();
    joins[1]!.answer();
    await settled();
    clock.turn();
    const heard = (): unknown[] =>
      told.splice(0).filter(({ type }) => !['session.leave', 'presence.patch', 'storage.fetch'].includes(type));
    expect(heard()).toMatchObject([{ type: 'event.broadcast', event: 3 }]);
    say({ type: 201, ops: [op(1)] });
    expect(heard()).toEqual([]);
    say({ type: 201, ops: [op(0), op(1)] });
    expect(heard()).toMatchObject([{ type: 'storage.change', ops: [{ opId: '1:0' }, { opId: '1:1' }] }]);
    expect(closes).toEqual([]);
  });

  test('[RJ13] what it sends again in time may wait to be heard: it need not come back', async () => {
    const { gateway, joins, say, closes, clock, types } = await aClient();
    say({ type: 201, ops: [op(0)] });
    gateway.loseSessions([first]);
    await settled();
    joins[1]!.answer();
    await settled();
    types();
    clock.turn();
    clock.advance(9_500);
    say({ type: 103, event: 1 });
    clock.advance(200);
    say({ type: 201, ops: [op(0)] }); // in a turn that is a long one by now
    clock.advance(1_000);
    expect(types()).toEqual(['event.broadcast']);
    clock.turn();
    expect(types()).toEqual(['storage.change']);
    clock.advance(30_000);
    expect(closes).toEqual([]);
  });

  test('[LT18] an answer that is held when the room is lost is forgotten: its client sends the edit again, and pings are answered', async () => {
    const { gateway, joins, say, told, sent, handler, clock } = await aClient();
    const send = (...frames: Omit<OutFrame, 'droppable'>[]): void => {
      const reader = recipientOf(gateway.has(first) ? first : second);
      gateway.deliver(
        [reader],
        frames.map((frame) => ({ ...frame, droppable: false })),
      );
    };
    const edit = { type: 10, id: '1:0', opId: '1:0', baseVersion: 0, ops: [{ type: 'insert', index: 0, text: 'a' }] };
    say({ type: 201, ops: [edit] });
    send({ data: 'storage', restarts: true }, { data: 'answer', answers: ['1:0'] }, { data: 'behind it' });
    handler.message('ping');
    expect(sent.splice(0)).toEqual(['storage', 'pong']);
    gateway.loseSessions([first]);
    await settled();
    joins[1]!.answer();
    await settled();
    clock.advance(5_000);
    expect(sent).toEqual([]);
    told.splice(0);
    say({ type: 201, ops: [op(1)] }); // it was sent before the new Storage was read
    say({ type: 201, ops: [edit, op(1)] });
    clock.turn();
    expect(told).toMatchObject([{ ops: [{ opId: '1:0' }, { opId: '1:1' }] }]);
    send({ data: 'answer', answers: ['1:0', '1:1'] });
    expect(sent).toEqual(['answer']);
  });

  test.each([
    ['leaves', 1000, ['0:9']],
    ['is lost, which comes back with all of it,', 1006, []],
  ] as const)('[RJ20] of a client that %s what waits behind older ops is heard accordingly', async (_, code, heard) => {
    const { clock, gateway, told, handler } = await aClient();
    handler.message('[{"type":200}]');
    clock.turn();
    gateway.deliver([recipientOf(first)], [{ data: 'storage', restarts: true, droppable: false }]);
    handler.ponged('ahead of 1');
    handler.message(JSON.stringify([{ type: 201, ops: [{ type: 6, opId: '0:9', id: 'root', key: 'a' }] }]));
    clock.turn();
    told.splice(0);
    handler.closed(code, '');
    clock.turn();
    expect(told.flatMap((command) => (command.type === 'storage.change' ? command.ops.map(({ opId }) => opId) : []))).toEqual(
      heard,
    );
    expect(told.at(-1)).toMatchObject({ type: 'session.leave' });
  });

  test('[RJ9] a client that goes meanwhile leaves no session behind', async () => {
    const { gateway, joins, told, handler } = await aClient();
    gateway.loseSessions([first]);
    await settled();
    told.splice(0);
    handler.closed(1006, '');
    joins[1]!.answer();
    await settled();
    expect(told).toContainEqual({ type: 'session.leave', sessionId: 'w-2' });
    expect(told.every(({ type }) => type === 'session.leave')).toBe(true);
    expect(gateway.size).toBe(0);
  });
});

test('[RJ10] pauses between attempts grow to 2 s and are spread over their whole length', () => {
  expect(pauseBeforeRejoinMs(0, 1)).toBe(25);
  expect(pauseBeforeRejoinMs(3, 0.5)).toBe(100);
  expect(pauseBeforeRejoinMs(50, 1)).toBe(2_000);
  expect(pauseBeforeRejoinMs(50, 0)).toBe(0);
});
