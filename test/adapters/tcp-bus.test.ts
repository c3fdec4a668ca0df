import { spawn } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { type Frame, FrameBatch, FrameReader, packFrame, unpackFrame } from '../../src/adapters/tcp-bus-frames.ts';
import { NO_LINK } from '../../src/adapters/tcp-bus-handshake.ts';
import { greet, type Met } from '../../src/adapters/tcp-bus-meeting.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import { asSessionId, asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import type { Bus, Message } from '../../src/kernel/cluster/bus.ts';
import { lengthOf } from '../../src/kernel/transport/frame.ts';
import { recipientOf } from '../../src/room/recipient.ts';
import { type LocalSessions, RemoteSessions } from '../../src/room/remote-sessions.ts';
import { compiled } from '../support/compiled.ts';
import { until } from '../support/e2e/until.ts';
import {
  aProxiedBus,
  aRawWorker,
  aTcpBus,
  busSecret,
  listeningTo,
  notedLog,
  portOf,
  type Stranger,
  standingClock,
} from '../support/tcp-workers.ts';

const DEADLINE = { deadlineMs: 5_000 };
const MIB = 1024 * 1024;
const message = (payload: unknown, kind = 'test'): Message => ({ kind, payload });
const never = (): Promise<never> => new Promise(() => undefined);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

type Options = Parameters<typeof aTcpBus>[0];
interface Worker {
  readonly bus: Bus;
  readonly address: WorkerAddress;
  /** What it was told or asked, and who it was told is down, in this order. */
  readonly heard: unknown[];
}

function watched(bus: Bus): Worker {
  closing.push(() => bus.close());
  const heard: unknown[] = [];
  bus.serve(({ payload }) => {
    heard.push(payload);
    return payload;
  });
  bus.onDown((address) => heard.push(`down ${address}`));
  return { bus, address: bus.address, heard };
}

const open = async (options: Options = {}): Promise<Worker> => watched(await aTcpBus(options));

async function openProxied(options: Options = {}) {
  const { bus, proxy, rejoin } = await aProxiedBus(options);
  closing.push(() => proxy.close());
  return { ...watched(bus), proxy, rejoin };
}

async function failsWith(asking: Promise<unknown>, code: string): Promise<void> {
  await expect(asking).rejects.toMatchObject({ code });
}

/** All that sockets have to say at the moment has been said. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Somebody at an address who takes connections, and says and hears nothing. */
async function aSilentListener() {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.resume(); // else it would not notice the end
    closing.push(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const place = server.address() as { port: number };
  return { address: asWorkerAddress(`127.0.0.1:${place.port}`), connections: () => connections, open: () => sockets.size };
}

function bytesOf(...frames: Frame[]): Buffer {
  const batch = new FrameBatch();
  for (const frame of frames) batch.add(packFrame(frame));
  return Buffer.concat(batch.take());
}

function framesOf(bytes: Uint8Array): Frame[] {
  const reader = new FrameReader({ frameBytesMax: 100 * MIB });
  reader.push(bytes);
  const frames: Frame[] = [];
  for (let body = reader.next(); body !== null; body = reader.next()) frames.push(unpackFrame(body as Uint8Array));
  return frames;
}

/** In the order of addresses one of these decides which connection is used; our workers have ports from 1024 to 60999. */
const DECIDES = asWorkerAddress('127.0.0.1:0');
const DECIDES_NOT = asWorkerAddress('127.0.0.1:9');

test('[BU16] an ask whose deadline passes before there is a link was not sent, and is not sent later', async () => {
  const [here, there] = [await open(), await openProxied()];
  there.proxy.blackHole();
  here.bus.tell(there.address, message('told'));
  await failsWith(here.bus.ask(there.address, message('asked'), { deadlineMs: 50 }), 'WORKER_UNREACHABLE');
  here.bus.tell(there.address, message('told too'));
  there.proxy.heal();
  await until('both are told', () => there.heard.length === 2);
  expect(await here.bus.ask(there.address, message('last'), DEADLINE)).toBe('last');
  expect([here.heard, there.heard]).toEqual([[], ['told', 'told too', 'last']]);
});

test('[BU16] a listener that says nothing is given up after 2 s, and not before', async () => {
  const clock = standingClock();
  const here = await open({ clock });
  const { address, connections, open: openConnections } = await aSilentListener();
  let outcome: unknown = 'waiting';
  here.bus.ask(address, message('asked'), { deadlineMs: 60_000 }).catch((error: unknown) => {
    outcome = error;
  });
  here.bus.tell(address, message('told'));
  await until('it is connected', () => connections() === 1);
  clock.advance(1_999);
  await settled();
  expect([outcome, here.heard]).toEqual(['waiting', []]);
  clock.advance(1);
  await until('it is named', () => here.heard.length > 0);
  expect(outcome).toMatchObject({ code: 'WORKER_UNREACHABLE' });
  expect(here.heard).toEqual([`down ${address}`]);
  await until('the connection is closed', () => openConnections() === 0);
});

test('[BU16] after a failed dial all fails at once for 150 ms, then the next message dials again', async () => {
  const clock = standingClock();
  const here = await open({ clock });
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const address = asWorkerAddress(`127.0.0.1:${(server.address() as { port: number }).port}`);
  await failsWith(here.bus.ask(address, message(0), DEADLINE), 'WORKER_UNREACHABLE');
  for (let n = 0; n < 20; n += 1) {
    here.bus.tell(address, message(n));
    await failsWith(here.bus.ask(address, message(n), DEADLINE), 'WORKER_UNREACHABLE');
  }
  clock.advance(149);
  await failsWith(here.bus.ask(address, message(0), DEADLINE), 'WORKER_UNREACHABLE');
  expect([connections, here.heard]).toEqual([1, []]);
  clock.advance(1);
  expect(here.heard).toEqual([`down ${address}`]);
  await failsWith(here.bus.ask(address, message(0), DEADLINE), 'WORKER_UNREACHABLE');
  expect(connections).toBe(2);
});

test('[BU16] more than may wait for a link gives it up: nothing of it is sent', async () => {
  const clock = standingClock();
  const [here, there] = [await open({ limits: { waitingMax: 3 }, clock }), await openProxied()];
  there.proxy.blackHole();
  for (const n of [1, 2]) here.bus.tell(there.address, message(n));
  const outcomes = [3, 4].map((n) => failsWith(here.bus.ask(there.address, message(n), DEADLINE), 'WORKER_UNREACHABLE'));
  expect(here.heard).toEqual([]);
  await Promise.all(outcomes);
  await until('it is named', () => here.heard.length === 1);
  there.proxy.heal();
  clock.advance(150);
  expect(await here.bus.ask(there.address, message('anew'), DEADLINE)).toBe('anew');
  expect(there.heard).toEqual(['anew']);
});

test('[BU16] bytes that wait for a link are bounded too', async () => {
  const here = await open({ limits: { linkBytesMax: MIB }, clock: standingClock() });
  const { address } = await aSilentListener();
  for (let n = 0; n < 4; n += 1) here.bus.tell(address, message(new Uint8Array(MIB / 3)));
  await until('it is named', () => here.heard.length === 1);
});

async function aChild() {
  const program = await compiled('test/support/tcp-bus-child.ts');
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  closing.push(() => {
    child.kill('SIGKILL');
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { child, lines };
}

test.each([
  ['killed', 'SIGKILL'],
  ['frozen', 'SIGSTOP'],
] as const)('[BU17] a process that is %s is down: open asks are OUTCOME_UNKNOWN', async (_, signal) => {
  const here = await open();
  const { child, lines } = await aChild();
  await until('it listens', () => lines.length === 1, { timeoutMs: 20_000 });
  const address = asWorkerAddress(lines[0]!);
  expect(await here.bus.ask(address, message(1, 'echo'), DEADLINE)).toBe(1);
  const outcome = failsWith(here.bus.ask(address, message(2, 'hang'), { deadlineMs: 20_000 }), 'OUTCOME_UNKNOWN');
  await until('it is asked', () => lines.length === 2);
  child.kill(signal);
  await outcome;
  await until('it is named', () => here.heard.length > 0);
  expect(here.heard).toEqual([`down ${address}`]);
  await failsWith(here.bus.ask(address, message(3, 'echo'), DEADLINE), 'WORKER_UNREACHABLE');
});

test('[BU17] a quiet link lives on by pings; one in which nothing comes for 3 s is down at both ends, and not before', async () => {
  const clock = standingClock();
  const [here, there] = [await open({ clock }), await openProxied({ clock })];
  expect(await here.bus.ask(there.address, message('asked'), DEADLINE)).toBe('asked');
  const tick = async (): Promise<void> => {
    clock.advance(500);
    await settled();
    await new Promise((resolve) => setTimeout(resolve, 2)); // what was written passes the proxy in the meantime
    await settled();
  };
  for (let halfSeconds = 0; halfSeconds < 40; halfSeconds += 1) await tick();
  expect([here.heard, there.heard]).toEqual([[], ['asked']]);

  there.proxy.blackHole();
  const outcome = failsWith(here.bus.ask(there.address, message('lost'), { deadlineMs: 60_000 }), 'OUTCOME_UNKNOWN');
  for (let halfSeconds = 0; halfSeconds < 5; halfSeconds += 1) await tick();
  expect([here.heard, there.heard]).toEqual([[], ['asked']]);
  for (let halfSeconds = 0; halfSeconds < 2; halfSeconds += 1) await tick();
  await outcome;
  await until('both have heard', () => here.heard.length === 1 && there.heard.length === 2);
  expect([here.heard, there.heard]).toEqual([[`down ${there.address}`], ['asked', `down ${here.address}`]]);
  there.proxy.heal();
  expect(await here.bus.ask(there.address, message('back'), DEADLINE)).toBe('back');
});

test.each(['toTarget', 'toClient'] as const)(
  '[BU17] a link that is dead in one direction is down at both ends: %s',
  async (direction) => {
    const [here, there] = [await open(), await openProxied()];
    expect(await here.bus.ask(there.address, message('asked'), DEADLINE)).toBe('asked');
    there.proxy.blackHole(direction);
    await until('both have heard', () => here.heard.length === 1 && there.heard.length === 2);
    expect([here.heard, there.heard]).toEqual([[`down ${there.address}`], ['asked', `down ${here.address}`]]);
  },
);

test('[BU17] a link that is cut is down at both ends, and the next message makes another', async () => {
  const [here, there] = [await open(), await openProxied()];
  for (let round = 1; round <= 5; round += 1) {
    expect(await here.bus.ask(there.address, message(round), DEADLINE)).toBe(round);
    there.bus.tell(here.address, message(round)); // by the same connection: it dials nobody
    await until('it is told', () => here.heard.includes(round));
    const outcome = failsWith(here.bus.ask(there.address, message('cut off'), { deadlineMs: 60_000 }), 'OUTCOME_UNKNOWN');
    there.proxy.cut();
    await outcome;
    await until('both have heard', () => here.heard.length === 2 * round && there.heard.includes(`down ${here.address}`));
    expect(here.heard.slice(-2)).toEqual([round, `down ${there.address}`]);
    expect(there.proxy.accepted).toBe(round);
    there.heard.length = 0;
  }
});

test('[BU17] a worker whose own loop stood still for long does not take its peers for dead', async () => {
  const ticks: (() => void)[] = [];
  let stoodStillMs = 0;
  const here = await open({
    clock: {
      ...systemClock,
      monotonicMs: () => systemClock.monotonicMs() + stoodStillMs,
      every: (_, task) => {
        ticks.push(task);
        return () => undefined;
      },
    },
  });
  const there = await open();
  expect(await here.bus.ask(there.address, message(1), DEADLINE)).toBe(1);
  stoodStillMs = 10_000; // when it goes on, each timer runs once, before anything that came is read
  for (const tick of ticks) tick();
  expect(await here.bus.ask(there.address, message(2), DEADLINE)).toBe(2);
  expect(here.heard).toEqual([]);
});

test('[BU18] another life replaces the link of the last, which has not ended for us: one onDown, then what it tells', async () => {
  const here = await open();
  for (const address of [DECIDES, DECIDES_NOT]) {
    here.heard.length = 0;
    const use = address === DECIDES ? [{ type: 'use' } as const] : [];
    const told = (payload: string): Buffer => bytesOf({ type: 'tell', message: message(payload) });
    const first = await aRawWorker(here.address, { address });
    first.socket.write(Buffer.concat([bytesOf(...use), told('first life')]));
    await until('it is told', () => here.heard.length === 1);
    const outcome = failsWith(here.bus.ask(address, message('asked'), { deadlineMs: 60_000 }), 'OUTCOME_UNKNOWN');
    const second = await aRawWorker(here.address, { address });
    second.socket.write(Buffer.concat([bytesOf(...use), told('second life')]));
    first.socket.write(told('first life, late'));
    await outcome;
    await until('it is told', () => here.heard.length === 3);
    expect(here.heard).toEqual(['first life', `down ${address}`, 'second life']);
    await until('the first is closed', () => first.stranger.isClosed);
  }
});

test('[BU18] of two connections of one life the worker of the smaller address takes one, and another when the dialer knows the first for dead', async () => {
  const here = await open();
  const first = await aRawWorker(here.address, { address: DECIDES_NOT, life: 'same' });
  await until('it is taken', () => framesOf(first.stranger.received).length === 1);
  expect(framesOf(first.stranger.received)).toEqual([{ type: 'use' }]);
  const second = await aRawWorker(here.address, { address: DECIDES_NOT, life: 'same' });
  await until('it is closed', () => second.stranger.isClosed);
  expect(framesOf(second.stranger.received)).toEqual([{ type: 'spare' }]);
  expect([here.heard, first.stranger.isClosed]).toEqual([[], false]);
  const third = await aRawWorker(here.address, { address: DECIDES_NOT, life: 'same', endedLinkId: first.linkId });
  await until('the first is closed', () => first.stranger.isClosed);
  await until('the third is taken', () => framesOf(third.stranger.received).length === 1);
  expect(framesOf(third.stranger.received)).toEqual([{ type: 'use' }]);
  await until('it is named', () => here.heard.length > 0);
  expect(here.heard).toEqual([`down ${DECIDES_NOT}`]);
});

test('[BU18] who dials again says which link it knows for dead', async () => {
  const here = await open();
  const met: Met[] = [];
  const heard: Stranger[] = [];
  const server = createServer(async (socket) => {
    socket.on('error', () => undefined);
    closing.push(() => socket.destroy());
    const self = {
      life: 'a listener',
      secrets: [busSecret] as const,
      clock: systemClock,
      random: systemRandom,
      sockets: new Set<Socket>(),
    };
    const meeting = await greet(socket, { ...self, address });
    if ('refused' in meeting) return;
    met.push(meeting);
    heard.push(listeningTo(meeting));
    if (address < here.address) socket.write(bytesOf({ type: 'use' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const address = asWorkerAddress(`127.0.0.1:${(server.address() as { port: number }).port}`);
  here.bus.tell(address, message('first'));
  await until('it is told', () => framesOf(heard[0]?.received ?? Buffer.alloc(0)).some(({ type }) => type === 'tell'));
  met[0]!.socket.resetAndDestroy();
  await until('it is named', () => here.heard.length === 1);
  here.bus.tell(address, message('second'));
  await until('they have met again', () => met.length === 2);
  expect(met.map(({ endedLinkId }) => endedLinkId)).toEqual([NO_LINK, met[0]!.linkId]);
});

test('[BU18] a worker that only follows takes no word before the verdict, and what may have been lost with the connection is told', async () => {
  const here = await open();
  const early = await aRawWorker(here.address, { address: DECIDES });
  early.socket.write(bytesOf({ type: 'tell', message: message('early') }));
  await until('it is closed', () => early.stranger.isClosed);
  await until('it is named', () => here.heard.length === 1);
  const cut = await aRawWorker(here.address, { address: DECIDES });
  cut.socket.resetAndDestroy();
  await until('it is named', () => here.heard.length === 2);
  const spare = await aRawWorker(here.address, { address: DECIDES });
  spare.socket.write(bytesOf({ type: 'spare' }));
  await until('it is closed', () => spare.stranger.isClosed);
  await settled();
  expect(here.heard).toEqual([`down ${DECIDES}`, `down ${DECIDES}`]);
});

test('[BU18] a worker that only follows waits 2 s for the verdict', async () => {
  const clock = standingClock();
  const here = await open({ clock });
  const undecided = await aRawWorker(here.address, { address: DECIDES });
  await settled();
  clock.advance(1_999);
  await settled();
  expect(undecided.stranger.isClosed).toBe(false);
  clock.advance(1);
  await until('it is closed', () => undecided.stranger.isClosed);
});

test('[BU19] both dial at once, under load and over slow wires: one connection is left, nothing is lost, all is in order (40 meetings)', async () => {
  for (let meeting = 0; meeting < 40; meeting += 1) {
    const workers = [await openProxied(), await openProxied()] as const;
    const delaysMs = [meeting % 4, Math.floor(meeting / 4) % 4] as const;
    workers.forEach(({ proxy }, index) => {
      proxy.delay({ ms: delaysMs[index]! });
    });
    const asks: Promise<unknown>[] = [];
    for (let n = 0; n < 200; n += 1) {
      for (const [index, { bus }] of workers.entries()) {
        const to = workers[1 - index]!.address;
        if (n % 5 === 0) asks.push(bus.ask(to, message(n), DEADLINE));
        else bus.tell(to, message(n));
      }
      if (n % 10 === 9) await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(asks);
    await until('all has come', () => workers.every(({ heard }) => heard.length >= 200));
    const expected = Array.from({ length: 200 }, (_, n) => n);
    for (const { heard } of workers) expect(heard).toEqual(expected);
    await until('one connection is left', () => workers[0].proxy.open + workers[1].proxy.open === 1);
    await Promise.all(workers.flatMap(({ bus, proxy }) => [bus.close(), proxy.close()]));
  }
});

test('[BU20] more than 256 MiB that a peer does not take end the link', async () => {
  const here = await open({ clock: standingClock() });
  const deaf = await aRawWorker(here.address, { address: DECIDES_NOT });
  deaf.socket.pause();
  let toldMib = 0;
  while (here.heard.length === 0 && toldMib < 400) {
    here.bus.tell(DECIDES_NOT, message(new Uint8Array(MIB)));
    toldMib += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(here.heard).toEqual([`down ${DECIDES_NOT}`]);
  expect(toldMib).toBeGreaterThan(255);
  expect(toldMib).toBeLessThan(256 + 16); // the system's own buffers take some
  await failsWith(here.bus.ask(DECIDES_NOT, message(null), DEADLINE), 'WORKER_UNREACHABLE');
  await here.bus.close(); // it waits for its sockets: none holds on to what was not taken
});

test('[RX7] seven sessions of a worker that fetch 50 MB each in one moment all get them over one link', async () => {
  const [here, there] = [await open(), await open()];
  const deps = { clock: systemClock, onGone: () => undefined };
  const owner = new RemoteSessions({ ...deps, bus: here.bus, workerName: 'owner' });
  const edge = new RemoteSessions({ ...deps, bus: there.bus, workerName: 'edge' });
  const got: [id: string, bytes: number][] = [];
  const none = (): never => {
    throw new Error('every session stays');
  };
  const deliver: LocalSessions['deliver'] = ([to], [frame]) => {
    got.push([to!.id, lengthOf(frame!.data)]);
    return null;
  };
  there.bus.serve((message, from) =>
    edge.handle(message, { from, here: { has: () => true, closeSessions: none, loseSessions: none, deliver } }),
  );
  owner.comesFrom(asSessionId('edge-1'), there.bus.address);
  const data = new Uint8Array(50 * MIB);
  for (let n = 1; n <= 7; n += 1) owner.deliver([recipientOf(asSessionId(`edge-${n}`))], [{ data, droppable: false }]);
  await until('all have theirs', () => got.length === 7);
  expect(got).toEqual(Array.from({ length: 7 }, (_, n) => [`edge-${n + 1}`, data.length]));
  expect(here.heard).toEqual([]);
});

test('[BU20] what a slow peer does take is not lost', async () => {
  const [here, there] = [await open({ limits: { linkBytesMax: MIB } }), await openProxied()];
  expect(await here.bus.ask(there.address, message('begin'), DEADLINE)).toBe('begin');
  there.proxy.throttle({ bytesPerSecond: 4 * MIB });
  for (let n = 0; n < 64; n += 1) here.bus.tell(there.address, message(new Uint8Array(16_000).fill(n)));
  await until('all has come', () => there.heard.length === 65);
  expect(there.heard.slice(1).map((bytes) => (bytes as Uint8Array)[15_999])).toEqual(Array.from({ length: 64 }, (_, n) => n));
  expect(here.heard).toEqual([]);
});

test('[BU20] a worker reads on when some of its open handlers have finished; what waits keeps its order', async () => {
  const here = await open();
  const bus = await aTcpBus({ limits: { underWayMax: 10 } });
  closing.push(() => bus.close());
  const begun: unknown[] = [];
  const finish: (() => void)[] = [];
  bus.serve(({ kind, payload }) => {
    begun.push(payload);
    return kind === 'tell' ? null : new Promise((resolve) => finish.push(() => resolve(payload)));
  });
  const asks = Array.from({ length: 100 }, (_, n) => here.bus.ask(bus.address, message(n, 'ask'), { deadlineMs: 60_000 }));
  here.bus.tell(bus.address, message('last', 'tell'));
  for (let n = 10; n <= 100; n += 1) {
    await until(`${n} have begun`, () => begun.length >= n);
    await settled();
    expect(begun).toHaveLength(n);
    finish.shift()!();
  }
  await until('the last is told', () => begun.length === 101);
  for (const each of finish) each();
  expect(await Promise.all(asks)).toEqual(Array.from({ length: 100 }, (_, n) => n));
  expect(begun).toEqual([...Array.from({ length: 100 }, (_, n) => n), 'last']);
});

test('[BU24] frames that take long have 10 ms of a turn, whatever came; the rest waits, in order', async () => {
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  let nowMs = 0;
  let turn = 0;
  const perTurn = new Map<number, number>();
  const [here, bus] = [await open(), await aTcpBus({ clock })];
  closing.push(() => bus.close());
  const heard: unknown[] = [];
  bus.serve(({ payload }) => {
    heard.push(payload);
    nowMs += 1;
    perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
    return null;
  });
  const count = (): void => {
    turn += 1;
    if (heard.length < 1_000) setImmediate(count);
  };
  for (let n = 0; n < 1_000; n += 1) here.bus.tell(bus.address, message(n));
  count();
  await until('all has come', () => heard.length === 1_000);
  expect(heard).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(20); // a turn's own, and what waited for its end
});

test('[BU20] a worker that reads nothing for a while because its handlers are slow is not taken for dead, nor its peer', async () => {
  const clock = standingClock();
  const here = await open({ clock });
  const bus = await aTcpBus({ clock, limits: { underWayMax: 1 } });
  const { heard } = watched(bus);
  let finish: (value: string) => void = () => undefined;
  bus.serve(() => new Promise((resolve) => (finish = resolve)));
  const asking = here.bus.ask(bus.address, message(null), { deadlineMs: 600_000 });
  await until('it is asked', () => finish.length > 0);
  for (let halfSeconds = 0; halfSeconds < 40; halfSeconds += 1) {
    clock.advance(500);
    await settled();
  }
  finish('at last');
  expect(await asking).toBe('at last');
  expect([here.heard, heard]).toEqual([[], []]);
});

test('[BU21] a message larger than a frame may be fails its ask, and so does its answer; a tell takes the link with it', async () => {
  const noted = notedLog();
  const limits = { frameBytesMax: 1_000 };
  const [here, there] = [await open({ limits, log: noted.log }), await open({ limits })];
  const tooLarge = { code: 'PAYLOAD_TOO_LARGE', facts: { bytesMax: 1_000 } };
  await expect(here.bus.ask(there.address, message(new Uint8Array(1_000)), DEADLINE)).rejects.toMatchObject(tooLarge);
  there.bus.serve(({ payload }) => new Uint8Array(Number(payload)));
  await expect(here.bus.ask(there.address, message(1_000), DEADLINE)).rejects.toMatchObject(tooLarge);
  expect(await here.bus.ask(there.address, message(990), DEADLINE)).toEqual(new Uint8Array(990));
  expect([here.heard, there.heard]).toEqual([[], []]);
  here.bus.tell(there.address, message(new Uint8Array(1_000)));
  await until('both have heard', () => here.heard.length === 1 && there.heard.length === 1);
  expect([here.heard, there.heard]).toEqual([[`down ${there.address}`], [`down ${here.address}`]]);
  expect(noted.lines).toMatchObject([
    { phrase: 'link to worker up' },
    { level: 'error', phrase: 'message cannot be sent', kind: 'test', peer: there.address },
    { phrase: 'link to worker down', reason: 'unsendable message' },
  ]);
});

test('[BU21] what is not plain data fails its ask, and an answer of it is an error of ours', async () => {
  const [here, there] = [await open(), await open()];
  await expect(here.bus.ask(there.address, message(1n), DEADLINE)).rejects.toThrow();
  there.bus.serve(() => ({ of: () => 'functions' }));
  await failsWith(here.bus.ask(there.address, message(null), DEADLINE), 'INTERNAL_SERVER_ERROR');
  expect(here.heard).toEqual([]);
});

test('[BU21] an error of the handler is logged where it happened, under an id that who asked is given', async () => {
  const noted = notedLog();
  const [here, there] = [await open(), await open({ log: noted.log })];
  const bug = new Error('a bug');
  there.bus.serve(({ payload }) => {
    if (payload === 'at once') throw bug;
    return Promise.reject(bug);
  });
  for (const payload of ['at once', 'later']) {
    noted.lines.length = 0;
    const asking = here.bus.ask(there.address, message(payload), DEADLINE);
    const error = await asking.then(String, (reason: AppError) => reason);
    await until('it is logged', () => noted.lines.some(({ level }) => level === 'error'));
    const line = noted.lines.find(({ level }) => level === 'error')!;
    expect(line).toMatchObject({ phrase: 'message failed', err: bug, kind: 'test', peer: here.address });
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', facts: { errorId: line.errorId } });
  }
});

test('[BU21] a refusal under a code that only a newer worker knows is an error like any other', async () => {
  const here = await open();
  const peer = await aRawWorker(here.address, { address: DECIDES_NOT });
  for (const code of ['NOT_KNOWN_YET', 'toString']) {
    const asking = here.bus.ask(DECIDES_NOT, message(code), DEADLINE);
    const asked = await until('it is asked', () =>
      framesOf(peer.stranger.received).find((frame) => frame.type === 'ask' && frame.message.payload === code),
    );
    peer.socket.write(bytesOf({ type: 'refusal', id: (asked as { id: number }).id, code, facts: {} }));
    await failsWith(asking, 'INTERNAL_SERVER_ERROR');
  }
});

test.each<[string, string, (limit: number) => Uint8Array]>([
  ['a frame too large', 'frame too large', (limit) => Buffer.from(new Uint32Array([limit + 1]).buffer).swap32()],
  ['no frame', 'invalid frame', () => Buffer.from([0, 0, 0, 2, 0x91, 0x63])],
  ['an empty frame', 'invalid frame', () => Buffer.alloc(4)],
  ['a second verdict', 'invalid frame', () => bytesOf({ type: 'use' })],
])('[BU21] a peer that sends %s loses its link, and the others keep theirs', async (_, reason, bytes) => {
  const noted = notedLog();
  const [here, there] = [await open({ log: noted.log }), await open()];
  expect(await there.bus.ask(here.address, message('other'), DEADLINE)).toBe('other');
  const peer = await aRawWorker(here.address, { address: DECIDES_NOT });
  peer.socket.write(Buffer.concat([bytesOf({ type: 'tell', message: message('good') }), bytes(128 * MIB)]));
  await until('it is closed', () => peer.stranger.isClosed);
  expect(here.heard).toEqual(['other', 'good', `down ${DECIDES_NOT}`]);
  expect(noted.lines.find(({ phrase }) => phrase === 'link to worker down')).toMatchObject({ peer: DECIDES_NOT, reason });
  expect(await there.bus.ask(here.address, message('again'), DEADLINE)).toBe('again');
});

test('[BU21] a tell that comes before the worker serves is not lost in silence', async () => {
  const bus = await aTcpBus();
  closing.push(() => bus.close());
  const here = await open();
  await failsWith(here.bus.ask(bus.address, message(null), DEADLINE), 'WORKER_UNREACHABLE');
  here.bus.tell(bus.address, message('early'));
  await until('it is named', () => here.heard.length === 1);
  const { heard } = watched(bus);
  here.bus.tell(bus.address, message('in time'));
  await until('it is told', () => heard.length === 1);
  expect(heard).toEqual(['in time']);
});

test('[BU22] what was told just before close arrives, then the link is down', async () => {
  const [here, there] = [await open(), await open()];
  expect(await here.bus.ask(there.address, message('begin'), DEADLINE)).toBe('begin');
  for (let n = 0; n < 100; n += 1) here.bus.tell(there.address, message(new Uint8Array(50_000)));
  await here.bus.close();
  await until('it is down', () => there.heard.includes(`down ${here.address}`));
  expect(there.heard).toHaveLength(102);
  expect(here.heard).toEqual([]);
});

test('[BU22] close waits for no peer that does not read, and for no stranger', async () => {
  const here = await open();
  const deaf = await aRawWorker(here.address, { address: DECIDES_NOT });
  deaf.socket.pause();
  for (let n = 0; n < 20; n += 1) here.bus.tell(DECIDES_NOT, message(new Uint8Array(MIB)));
  const { address, connections } = await aSilentListener();
  const outcome = failsWith(here.bus.ask(address, message(null), DEADLINE), 'WORKER_UNREACHABLE');
  await until('it is connected', () => connections() === 1);
  await here.bus.close();
  await outcome;
  await expect(aRawWorker(here.address)).rejects.toThrow('not reached');
  const again = await open({ port: portOf(here.address) });
  expect(again.address).toBe(here.address);
});

test('[BU22] a worker that closes names nobody as down', async () => {
  const [here, there] = [await open(), await open()];
  expect(await here.bus.ask(there.address, message('begin'), DEADLINE)).toBe('begin');
  const outcome = failsWith(here.bus.ask(asWorkerAddress('127.0.0.1:1'), message(null), DEADLINE), 'WORKER_UNREACHABLE');
  there.bus.serve(never);
  await Promise.all([here.bus.close(), there.bus.close(), outcome]);
  await settled();
  expect(here.heard).toEqual([]);
});
