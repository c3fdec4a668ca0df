import { expect, test } from 'vitest';
import * as Y from 'yjs';
import type { Rate } from '../../src/base/bounded.ts';
import { AppError } from '../../src/base/errors.ts';
import { asRoomId, asSessionId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { Slices } from '../../src/base/slices.ts';
import type { Sheddable } from '../../src/kernel/shedding.ts';
import type { Frame } from '../../src/kernel/transport/frame.ts';
import type { SocketHandler } from '../../src/kernel/transport/server.ts';
import { FULL_ACCESS, type Permissions } from '../../src/protocol/permissions.ts';
import { type AwarenessState, awarenessFrame, encodeAwareness } from '../../src/protocol/yjs-frames.ts';
import type { Admission, Visit } from '../../src/room/admission.ts';
import { Gateway } from '../../src/room/gateway.ts';
import { Intake } from '../../src/room/intake.ts';
import { recipientOf } from '../../src/room/recipient.ts';
import type { Command } from '../../src/room/shapes.ts';
import { READER } from '../support/a-room.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const MIB = 1024 * 1024;

interface Door {
  admit(over?: Partial<Admission>): void;
  refuse(error: AppError): void;
}

/** A gateway whose door and room answer when told. */
function aGateway(limits: { messages?: Rate } = {}) {
  const shed = new Set<Sheddable>();
  const clock = manualClock();
  const doors: Door[] = [];
  const visits: Visit[] = [];
  const told: Command[] = [];
  const elsewhere: string[] = [];
  const requests: string[] = [];
  const asked: { command: Command; answer: (value: unknown) => void }[] = [];
  const gateway = new Gateway({
    clock,
    workerName: 'w',
    log: silentLog,
    connectionsMax: 100,
    sheds: (kind) => shed.has(kind),
    intake: new Intake({ clock, log: silentLog }),
    slices: new Slices(clock),
    limits: {
      messages: { perSecond: 10, burst: 20 },
      sendBytesSoftMax: 1_000,
      sendBytesHardMax: 2_000,
      idleMs: 60_000,
      ...limits,
    },
    rooms: {
      ask: (_, command) => new Promise((answer) => asked.push({ command, answer })),
      tell: (_, command) => void told.push(command) === undefined,
      locationOf: () => null,
      lineTo: () => null,
    },
    elsewhere: {
      deliver: (recipients) => void elsewhere.push(...recipients.map(({ id }) => id)),
      closeSessions: () => undefined,
      loseSessions: () => undefined,
    },
    findMissingFiles: async () => [],
    feeds: {
      take: ({ requestId }) => void requests.push(requestId),
      goOn: () => void requests.push('goes on'),
      forget: () => void requests.push('is forgotten'),
    },
    chance: () => 0.5,
    admit: (_, visit) =>
      new Promise((resolve, reject) => {
        visits.push(visit);
        doors.push({
          admit: (over = {}) =>
            resolve({
              roomId: asRoomId('room'),
              userId: 'ann',
              info: null,
              permissions: FULL_ACCESS,
              expiresAtMs: Number.POSITIVE_INFINITY,
              ...over,
            }),
          refuse: reject,
        });
      }),
  });
  const open = (path = '/v8', query = 'roomId=room&tok=t') => {
    const sent: Frame[] = [];
    const closes: number[] = [];
    const wire = { bufferedBytes: 0, sendMs: 0, isBroken: false };
    const handler: SocketHandler = gateway.accept(
      { path, query, headers: {} },
      {
        send(frame) {
          if (wire.sendMs > 0) clock.advance(wire.sendMs);
          if (wire.isBroken) throw new Error('broken');
          return sent.push(frame) > 0 && closes.length === 0;
        },
        cork: (writes) => writes(),
        ping: () => undefined,
        close: (code) => void closes.push(code),
        bufferedBytes: () => wire.bufferedBytes,
      },
    );
    return { handler, sent, closes, wire };
  };
  const enter = async (...at: Parameters<typeof open>) => {
    const socket = open(...at);
    doors.at(-1)!.admit();
    await settled();
    asked.at(-1)!.answer({ actor: 1 });
    await settled();
    return socket;
  };
  return { gateway, clock, doors, visits, told, elsewhere, requests, asked, open, enter, shed };
}

const permits = (told: readonly Command[]): Permissions[] =>
  told.flatMap((command) => (command.type === 'session.permit' ? [command.permissions] : []));

test('[GW1] frames that come before the room is entered wait in order, bounded in number and in bytes', async () => {
  const { open, doors, asked, told } = aGateway({ messages: { perSecond: 10, burst: 2_000 } });
  const patient = open();
  patient.handler.message('[{"type":200}]');
  patient.handler.message('[{"type":103,"event":1}]');
  doors[0]!.admit();
  await settled();
  expect(told).toEqual([]);
  asked[0]!.answer({ actor: 1 });
  await settled();
  expect(told.map(({ type }) => type)).toEqual(['storage.fetch', 'event.broadcast']);

  const chatty = open();
  for (let frame = 0; frame < 1_000; frame += 1) chatty.handler.message('[]');
  expect(chatty.closes).toEqual([]);
  chatty.handler.message('[]');
  expect(chatty.closes).toEqual([1013]); // it may come back: who speaks y-websocket says all that is typed meanwhile

  const large = open();
  large.handler.message(new Uint8Array(10 * MIB));
  expect(large.closes).toEqual([]);
  large.handler.message(new Uint8Array(1));
  expect(large.closes).toEqual([1013]);
});

test('[FO18] a send that fails costs its socket, and nobody else anything', async () => {
  const { gateway, enter } = aGateway();
  const [ann, bob] = [await enter(), await enter()];
  ann.wire.isBroken = true;
  gateway.deliver(
    ['w-1', 'w-2'].map((name) => recipientOf(asSessionId(name))),
    [{ data: 'both', droppable: false }],
  );
  expect([ann.closes, bob.closes]).toEqual([[1011], []]);
  expect(bob.sent).toEqual(['both']);
});

test('[FO17] what many are owed is sent before one of them is closed, lost, or sent away; of others nothing is hurried', async () => {
  const { gateway, enter, clock } = aGateway();
  const sockets = [];
  for (let count = 0; count < 70; count += 1) sockets.push(await enter());
  const ids = sockets.map((_, index) => asSessionId(`w-${index + 1}`));
  for (const { wire } of sockets) wire.sendMs = 0.1;
  const { sent, closes } = sockets[69]!;
  const all = ids.map(recipientOf);
  const late = [{ data: 'late', droppable: false }];
  expect(gateway.deliver(all, late)).toBe(all[69]!.hearer);
  const seen: unknown[] = [];
  clock.soon(() => {
    gateway.closeSessions([ids[0]!, asSessionId('other-1')], new AppError('ROOM_NOT_FOUND')); // has heard, or is not here
    seen.push(...sent);
    gateway.closeSessions([ids[1]!, ids[69]!], new AppError('ROOM_NOT_FOUND'));
    seen.push(...sent, ...closes);
  });
  clock.turn();
  expect(seen).toEqual(['late', 4001]);

  const [lost, away] = [sockets[68]!, sockets[67]!];
  gateway.deliver(all, late);
  gateway.loseSessions([ids[68]!]);
  expect(lost.sent).toEqual(['late', 'late']);
  gateway.deliver(all, late);
  void gateway.drain({ spreadMs: 0 });
  expect(away.sent).toEqual(['late', 'late', 'late']);
  expect(away.closes).toHaveLength(1);
  clock.turn();
});

test('[FE24] requests about feeds count as messages, and of a frame that is too much none is asked', async () => {
  const { enter, requests } = aGateway();
  const client = await enter();
  const ask = (...ids: number[]) =>
    client.handler.message(JSON.stringify(ids.map((id) => ({ type: 510, requestId: String(id) }))));
  ask(...Array(19).keys());
  expect([requests.splice(0).length, client.closes]).toEqual([19, []]);
  ask(19, 20);
  expect([requests.splice(0), client.closes]).toEqual([['is forgotten', 'goes on'], [1008]]);
});

test('[FE21] [FE23] what waits of a client goes on once it has joined anew, or left, and is forgotten when it is sent away', async () => {
  const { gateway, enter, asked, requests } = aGateway();
  const [back, gone] = [await enter(), await enter()];
  gateway.loseSessions([asSessionId('w-1')]);
  back.handler.message('[{"type":510,"requestId":"1"}]');
  await settled();
  expect(requests.splice(0)).toEqual(['1']);
  asked.at(-1)!.answer({ actor: 1 });
  await settled();
  expect(requests.splice(0)).toEqual(['goes on']);
  back.handler.message('no JSON');
  expect(requests.splice(0)).toEqual(['is forgotten', 'goes on']);
  gone.handler.closed(1000, '');
  await settled();
  expect(requests).toEqual(['goes on']);
});

test('[GW2] the rate counts messages, however they are packed in frames, and pings too', async () => {
  const { enter } = aGateway();
  const packed = await enter();
  packed.handler.message(JSON.stringify(Array(20).fill({ type: 103, event: 1 })));
  expect(packed.closes).toEqual([]);
  packed.handler.message('[{"type":103,"event":1}]');
  expect(packed.closes).toEqual([1008]);

  const pinging = await enter();
  for (let ping = 0; ping < 20; ping += 1) pinging.handler.message('ping');
  expect(pinging.sent.filter((frame) => frame === 'pong')).toHaveLength(20);
  pinging.handler.message('ping');
  expect(pinging.closes).toEqual([1008]);
});

test('[YD41] a Yjs update that is far longer in V1 than it came counts as several messages', async () => {
  const { enter, told } = aGateway();
  const ydoc = new Y.Doc();
  ydoc.clientID = 2 ** 31;
  ydoc.getArray('list').push(Array.from({ length: 12_000 }, () => new Y.Map()));
  const update = Buffer.from(Y.encodeStateAsUpdateV2(ydoc)).toString('base64');
  const { handler, closes } = await enter();
  const frame = JSON.stringify({ type: 301, update, v2: true });
  handler.message(frame);
  expect([told.map(({ type }) => type), closes]).toEqual([['ydoc.change'], []]);
  handler.message(frame);
  expect(closes).toEqual([1008]);
});

test('[GW3] who pings and never reads is closed as a slow reader', async () => {
  const { enter } = aGateway();
  const socket = await enter();
  socket.wire.bufferedBytes = 2_001;
  socket.handler.message('ping');
  expect(socket.sent).toEqual([]);
  expect(socket.closes).toEqual([1013]);
});

test('[GW11] who missed cursors asks its room where all others are once it has caught up, in the language of its client', async () => {
  const { gateway, open, doors, asked, told, clock } = aGateway();
  for (const [path, type] of [
    ['/v8', 'presence.fetch'],
    ['/yjs/room', 'awareness.fetch'],
  ]) {
    const socket = open(path);
    doors.at(-1)!.admit();
    await settled();
    const { command, answer } = asked.at(-1)!;
    answer({ actor: 1 });
    await settled();
    const { id } = (command as Extract<Command, { type: 'session.join' }>).newcomer;
    told.length = 0;
    socket.wire.bufferedBytes = 1_001;
    gateway.deliver([recipientOf(id)], [{ data: 'cursor', droppable: true }]);
    socket.handler.drained();
    expect([socket.sent, told]).toEqual([[], []]);
    socket.wire.bufferedBytes = 0;
    socket.handler.drained();
    gateway.deliver([recipientOf(id)], [{ data: 'one more', droppable: true }]);
    socket.handler.drained();
    clock.advance(499);
    expect(told).toEqual([]);
    socket.wire.bufferedBytes = 501;
    clock.advance(1);
    expect(told).toEqual([]); // behind again
    socket.wire.bufferedBytes = 0;
    socket.handler.drained();
    clock.advance(500);
    expect(told).toEqual([{ type, from: id }]);
    socket.handler.drained();
    clock.advance(2_000);
    expect(told).toHaveLength(1);
  }
});

test('[AW15] what a Yjs client says again of others before it has said who it is does not reach the room, which may know them no more', async () => {
  const { enter, told, gateway } = aGateway();
  const { handler } = await enter('/yjs/room', 'token=t');
  const frameOf = (...states: [clientId: number, clock: number, state: AwarenessState['state']][]) =>
    awarenessFrame(encodeAwareness(states.map(([clientId, clock, state]) => ({ clientId, clock, state }))));
  const heard = frameOf([8, 5, { at: 5 }], [9, 2, null]);
  gateway.deliver([recipientOf(asSessionId('w-1'))], [{ data: heard, droppable: true }]);
  told.length = 0;
  handler.message(heard);
  handler.message(frameOf([8, 4, { at: 4 }]));
  expect(told).toEqual([]);
  handler.message(frameOf([7, 0, { at: 0 }]));
  handler.message(frameOf([8, 5, { at: 5 }], [7, 1, { at: 1 }]));
  expect(told.map(({ type }) => type)).toEqual(['awareness.change', 'awareness.change']);
});

test('[GW4] nothing of a frame reaches the room once the connection is closed in the middle of it', async () => {
  const { enter, told, gateway } = aGateway();
  const socket = await enter();
  const push = told.push.bind(told);
  told.push = (...commands) => {
    const size = push(...commands);
    if (commands[0]?.type === 'event.broadcast') gateway.closeSessions([asSessionId('w-1')], new AppError('KICKED'));
    return size;
  };
  socket.handler.message('[{"type":103,"event":1},{"type":103,"event":2}]');
  expect(told.map(({ type }) => type)).toEqual(['event.broadcast', 'session.leave']);
});

test('[GW5] accesses that change while a client is let in by the old ones are looked at again', async () => {
  const { open, doors, asked, gateway } = aGateway();
  open();
  gateway.reconsider(asRoomId('room')); // its admission may have read what was there before
  doors[0]!.admit();
  await settled();
  expect(asked).toEqual([]);
  doors[1]!.admit({ permissions: READER });
  await settled();
  expect(asked).toMatchObject([{ command: { type: 'session.join', newcomer: { permissions: READER } } }]);
});

test('[GW13] accesses that change while it joins are told to the room once it is in: who was told meanwhile may not be who took it in', async () => {
  const { open, doors, asked, told, gateway } = aGateway();
  open('/yjs/room', 'token=t');
  doors[0]!.admit();
  await settled();
  gateway.reconsider(asRoomId('room'));
  doors[1]!.admit({ permissions: READER });
  await settled();
  told.length = 0;
  asked[0]!.answer({ actor: 1 });
  await settled();
  expect(told).toEqual([{ type: 'session.permit', sessionId: 'w-1', permissions: READER }]);
});

test('[GW13] a room that refuses to hear of them costs the socket, which says nothing more', async () => {
  const { open, doors, asked, told, gateway } = aGateway();
  const { handler, closes } = open('/v8');
  doors[0]!.admit();
  await settled();
  handler.message('[{"type":103,"event":1}]');
  gateway.reconsider(asRoomId('room'));
  doors[1]!.admit({ permissions: READER });
  await settled();
  told.length = 0;
  const push = told.push.bind(told);
  told.push = (...commands) => {
    if (commands[0]?.type === 'session.permit') throw new AppError('ROOM_OVERLOADED');
    return push(...commands);
  };
  asked[0]!.answer({ actor: 1 });
  await settled();
  handler.message('[{"type":103,"event":2}]');
  expect([told.map(({ type }) => type), closes, gateway.size]).toEqual([['session.leave'], [1013], 0]);
});

test('[GW6] of two looks at the accesses, the later one counts, whichever answers first', async () => {
  const { enter, doors, told, gateway } = aGateway();
  await enter('/yjs/room', 'token=t');
  gateway.reconsider(asRoomId('room'));
  gateway.reconsider(asRoomId('room'));
  doors[2]!.admit({ permissions: READER });
  await settled();
  doors[1]!.admit({ permissions: FULL_ACCESS });
  await settled();
  expect(permits(told)).toEqual([READER]);
});

test('[GW12] an SDK client joins anew with other permissions over the same socket, and says again what it was; one with the same hears nothing', async () => {
  const { enter, doors, told, asked, gateway, clock } = aGateway();
  const socket = await enter();
  socket.handler.message('[{"type":200}]');
  const look = async (permissions: Permissions) => {
    gateway.reconsider(asRoomId('room'));
    doors.at(-1)!.admit({ permissions });
    await settled();
  };
  told.length = 0;
  await look({ ...FULL_ACCESS });
  clock.advance(2_000);
  expect([told, asked.length]).toEqual([[], 1]);
  await look(READER);
  clock.advance(999);
  expect(told.splice(0)).toEqual([{ type: 'session.permit', sessionId: 'w-1', permissions: READER }]); // the room goes by it already
  clock.advance(1);
  expect(told).toEqual([{ type: 'session.leave', sessionId: 'w-1' }]);
  expect(asked[1]!.command).toMatchObject({ type: 'session.join', newcomer: { id: 'w-2', permissions: READER } });
  asked[1]!.answer({ actor: 2 });
  await settled();
  expect(told.slice(1)).toEqual([{ type: 'storage.fetch', from: 'w-2' }]);
  expect(socket.closes).toEqual([]);
});

test('[GW12] permissions that change while an SDK client joins make it join once more', async () => {
  const { open, doors, asked, gateway, clock } = aGateway();
  open();
  doors[0]!.admit();
  await settled();
  gateway.reconsider(asRoomId('room'));
  doors[1]!.admit({ permissions: READER });
  await settled();
  clock.advance(1_000);
  asked[0]!.answer({ actor: 1 });
  await settled();
  expect(asked[1]!.command).toMatchObject({ type: 'session.join', newcomer: { permissions: READER } });
});

test('[GW14] who sends a longer frame than there may be is closed so that it stays away, in the language of its client', async () => {
  const { enter } = aGateway();
  const sockets = [await enter(), await enter('/yjs/room', 'token=t')];
  for (const { handler } of sockets) handler.tooLong(1_000);
  expect(sockets.map(({ closes }) => closes)).toEqual([[4000], [4400]]);
});

test('[GW15] what it said before is heard, before it leaves', async () => {
  const { clock, enter, told } = aGateway();
  const { handler, closes } = await enter();
  clock.turn();
  for (const event of [1, 2, 3]) {
    handler.message(JSON.stringify([{ type: 103, event }]));
    clock.advance(150); // the turn is as long as it may be: from the second on they wait
  }
  handler.tooLong(1_000);
  handler.closed(closes[0]!, '');
  clock.turn();
  expect(told.map((command) => ('event' in command ? command.event : command.type))).toEqual([1, 2, 3, 'session.leave']);
});

test('[AX2] everybody looks anew, some at a time, without a visit; who may not stay is sent away', async () => {
  const { enter, doors, told, visits, gateway } = aGateway();
  const sockets = [];
  for (let count = 0; count < 20; count += 1) sockets.push(await enter('/yjs/room', 'token=t'));
  const looked = gateway.reconsiderAll();
  await settled();
  expect(visits.slice(20)).toEqual(Array.from({ length: 16 }, () => 'going on'));
  doors[20]!.refuse(new AppError('UNAUTHORIZED_ROOM_ACCESS'));
  for (let at = 21; at < 40; at += 1) {
    await settled();
    doors[at]!.admit({ permissions: READER });
  }
  await looked;
  expect(sockets.flatMap(({ closes }) => closes)).toEqual([4401]);
  expect(permits(told)).toEqual(Array.from({ length: 19 }, () => READER));
});

test('[GW7] a client that goes while it waits leaves nothing behind', async () => {
  const { open, doors, asked, told, gateway } = aGateway();
  const early = open();
  early.handler.closed(1006, '');
  doors[0]!.admit();
  await settled();
  expect(asked).toEqual([]);
  const later = open();
  doors[1]!.admit();
  await settled();
  later.handler.closed(1006, '');
  expect(told).toEqual([{ type: 'session.leave', sessionId: 'w-2' }]); // the join is on its way: this follows it
  expect(gateway.size).toBe(0);
});

test('[GW8] 4109 comes within two seconds after the token has expired and not before, also when that is years away', async () => {
  const { open, doors, asked, clock } = aGateway();
  const expiring = async (afterMs: number) => {
    const socket = open();
    doors.at(-1)!.admit({ expiresAtMs: clock.nowMs() + afterMs });
    await settled();
    asked.at(-1)!.answer({ actor: 1 });
    await settled();
    return socket;
  };
  const soon = await expiring(5_000);
  const far = await expiring(50 * 365 * 86_400_000);
  clock.advance(4_999);
  expect(soon.closes).toEqual([]);
  clock.advance(2_000);
  expect(soon.closes).toEqual([4109]);
  expect(far.closes).toEqual([]);
});

test('[GW9] a socket beyond the bound of a worker, or that comes while it takes none, is closed with 1013', async () => {
  const { open, enter, shed, gateway } = aGateway();
  const first = await enter();
  shed.add('wake');
  expect(open().closes).toEqual([]);
  shed.add('socket');
  expect(open().closes).toEqual([1013]);
  shed.clear();
  while (gateway.size < 100) open();
  expect(open().closes).toEqual([1013]);
  expect(first.closes).toEqual([]);
});

test('[GW10] a frame reaches the socket that carries its session, and goes elsewhere once none does', async () => {
  const { gateway, elsewhere, enter } = aGateway();
  const [ann, bob] = [await enter(), await enter()];
  const recipients = [recipientOf(asSessionId('w-1')), recipientOf(asSessionId('w-2')), recipientOf(asSessionId('other-1'))];
  const deliver = (data: string) => gateway.deliver(recipients, [{ data, droppable: false }]);
  deliver('both');
  bob.handler.closed(1006, '');
  deliver('ann');
  expect([ann.sent, bob.sent]).toEqual([['both', 'ann'], ['both']]);
  expect(elsewhere).toEqual(['other-1', 'w-2', 'other-1']);
});

test('[OV14] a ping is answered when it comes, while what its client said before waits; the rate is that of coming', async () => {
  const { clock, enter, told } = aGateway();
  const [ann, bob] = [await enter(), await enter()];
  clock.turn();
  const say = '[{"type":103,"event":1}]';
  const packed = JSON.stringify(Array(10).fill({ type: 103, event: 1 }));
  ann.handler.message(say);
  clock.advance(150);
  ann.handler.message(say); // the turn is as long as it may be: from here on frames wait
  for (let second = 0; second < 4; second += 1) {
    clock.advance(1_100); // with the ping it is the rate, and in all much more than it may say at once
    ann.handler.message(packed);
    ann.handler.message('ping');
  }
  for (let count = 0; count < 30; count += 1) bob.handler.message(say); // more than it may say at once
  expect(told).toHaveLength(1);
  expect(ann.sent).toEqual(Array(4).fill('pong'));
  clock.turn();
  const heardOf = (id: string): number => told.filter((command) => 'from' in command && command.from === id).length;
  expect([ann.closes, heardOf('w-1')]).toEqual([[], 42]);
  expect([bob.closes, heardOf('w-2')]).toEqual([[1008], 20]);
});

test('[OV12] what a client said that is gone is heard, in its room, before it leaves; one that is not in its room leaves at once', async () => {
  const { clock, enter, open, told, gateway } = aGateway();
  const [ann, bob] = [await enter(), await enter()];
  clock.turn();
  const say = '[{"type":103,"event":1}]';
  for (let count = 0; count < 2; count += 1) {
    ann.handler.message(say);
    clock.advance(150);
  }
  const early = open();
  for (const { handler } of [ann, bob, early]) {
    handler.message(say);
    handler.closed(1001, '');
  }
  expect(told).toHaveLength(1);
  expect(gateway.size).toBe(2);
  gateway.loseSessions([asSessionId('w-2')]); // its client will not bring anything again
  expect(told.slice(1)).toEqual([{ type: 'session.leave', sessionId: 'w-2' }]);
  clock.turn();
  expect(told.slice(2).map(({ type }) => type)).toEqual(['event.broadcast', 'event.broadcast', 'session.leave']);
  expect(gateway.size).toBe(0);
});
