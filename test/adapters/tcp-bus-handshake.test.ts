import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { FirstBytes } from '../../src/adapters/tcp-bus-first-bytes.ts';
import { HEAD_BYTES, NO_LINK, NONCE_BYTES, PROOF_BYTES, packHello, packWelcome } from '../../src/adapters/tcp-bus-handshake.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import type { Bus } from '../../src/kernel/cluster/bus.ts';
import { freePort } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';
import { aStranger, aTcpBus, notedLog, portOf, Stranger, standingClock } from '../support/tcp-workers.ts';

const DEADLINE = { deadlineMs: 5_000 };
const message = { kind: 'test', payload: 'secret of the cluster' };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function open(options: Parameters<typeof aTcpBus>[0] = {}): Promise<Bus & { readonly heard: unknown[] }> {
  const bus = await aTcpBus(options);
  closing.push(() => bus.close());
  const heard: unknown[] = [];
  bus.serve(({ payload }) => {
    heard.push(payload);
    return payload;
  });
  return Object.assign(bus, { heard });
}

function knock(address: WorkerAddress): Stranger {
  const stranger = aStranger(address);
  closing.push(() => stranger.socket.destroy());
  return stranger;
}

/** A listener that is no worker: each connection is handed to `meet`. */
async function aListener(meet: (stranger: Stranger) => void): Promise<WorkerAddress> {
  const server: Server = createServer((socket) => meet(new Stranger(socket)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const place = server.address();
  return asWorkerAddress(`127.0.0.1:${typeof place === 'object' ? place?.port : place}`);
}

const helloTo = (to: WorkerAddress, from = asWorkerAddress('127.0.0.1:2')): Uint8Array =>
  packHello({ nonce: systemRandom.bytes(NONCE_BYTES), endedLinkId: NO_LINK, life: 'stranger', from, to });
const closed = (stranger: Stranger): Promise<true> => until('the connection is closed', () => stranger.isClosed);

/** What one side of a handshake said, up to and with its proof. */
interface Recorded {
  readonly dialer: Buffer;
  readonly listener: Buffer;
}

/** Lets another worker dial `there` at its address, and somebody in between who listens in. */
async function listenIn(there: Bus, port: number): Promise<Recorded> {
  const said = { dialer: Buffer.alloc(0), listener: Buffer.alloc(0) };
  const server = createServer((client) => {
    const target = connect({ host: '127.0.0.1', port });
    client.on('data', (piece: Buffer) => {
      said.dialer = Buffer.concat([said.dialer, piece]);
      target.write(piece);
    });
    target.on('data', (piece: Buffer) => {
      said.listener = Buffer.concat([said.listener, piece]);
      client.write(piece);
    });
    client.on('error', () => target.destroy()).on('close', () => target.destroy());
    target.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(portOf(there.address), '127.0.0.1', resolve));
  const here = await open();
  expect(await here.ask(there.address, message, DEADLINE)).toEqual(message.payload);
  await here.close();
  await new Promise((resolve) => server.close(resolve));
  return said;
}

test('[BU15] workers with different secrets never hear each other, whoever dials', async () => {
  const noted = notedLog();
  const here = await open({ log: noted.log });
  const there = await open({ secrets: [new Uint8Array(32).fill(8)] });
  const downs: WorkerAddress[] = [];
  for (const [from, to] of [
    [here, there],
    [there, here],
  ] as const) {
    from.onDown((address) => downs.push(address));
    from.tell(to.address, message);
    await expect(from.ask(to.address, message, DEADLINE)).rejects.toMatchObject({ code: 'WORKER_UNREACHABLE' });
  }
  await until('both are told', () => downs.length === 2);
  expect(downs).toEqual([there.address, here.address]);
  expect([here.heard, there.heard]).toEqual([[], []]);
  await until('it is in the log', () => noted.lines.length === 2);
  expect(noted.lines).toMatchObject([
    { level: 'warn', phrase: 'worker cannot be reached', peer: there.address },
    { level: 'warn', phrase: 'connection to the bus refused', reason: 'wrong secret', from: '127.0.0.1' },
  ]);
});

test('[BU15] while secrets are changed workers hear each other, each of which takes what the other proves to have', async () => {
  const [former, next] = [new Uint8Array(32).fill(8), new Uint8Array(32).fill(9)];
  const steps = [[former], [former, next], [next, former], [next]] as const;
  for (const [index, secrets] of steps.slice(1).entries()) {
    const [before, after] = [await open({ secrets: steps[index]! }), await open({ secrets })];
    for (const [from, to] of [
      [before, after],
      [after, before],
    ] as const)
      expect(await from.ask(to.address, message, DEADLINE)).toEqual(message.payload);
  }
});

test.each<[string, (to: WorkerAddress) => Uint8Array]>([
  ['an HTTP request', () => Buffer.from('GET / HTTP/1.1\r\nHost: bus\r\n\r\n')],
  ['zeros', () => new Uint8Array(700)],
  ['chance', () => systemRandom.bytes(700)],
  ['a hello with a length beyond all', (to) => Uint8Array.from(helloTo(to)).fill(0xff, 9, 11)],
  ['a hello with a byte too many', (to) => lengthened(helloTo(to), 1)],
  ['a hello cut short', (to) => lengthened(helloTo(to).subarray(0, -1), -1)],
  ['a welcome', () => packWelcome({ nonce: systemRandom.bytes(NONCE_BYTES), life: 'stranger' })],
  ['a hello of version 0', (to) => Uint8Array.from(helloTo(to)).fill(0, 8, 9)],
  ['a hello to another worker', () => helloTo(asWorkerAddress('127.0.0.1:3'))],
  ['a hello that claims to come from itself', (to) => helloTo(to, to)],
])('[BU15] a stranger gets no byte of the worker: %s', async (_, words) => {
  const here = await open();
  const stranger = knock(here.address);
  stranger.socket.write(words(here.address));
  await closed(stranger);
  expect(stranger.received.length).toBe(0);
  expect(here.heard).toEqual([]);
});

test('[BU15] a stranger who says more than a hello before its proof is cut off', async () => {
  const here = await open();
  const stranger = knock(here.address);
  stranger.socket.write(helloTo(here.address));
  await until('it is welcomed', () => stranger.received.length > 0);
  const welcomed = stranger.received.length;
  stranger.socket.write(new Uint8Array(2_000));
  await closed(stranger);
  expect(stranger.received.length).toBe(welcomed);
});

function lengthened(hello: Uint8Array, by: number): Uint8Array {
  const bytes = Buffer.concat([hello, new Uint8Array(Math.max(0, by))]);
  bytes.writeUInt16BE(bytes.length - HEAD_BYTES, 9);
  return bytes;
}

test('[BU15] of what a stranger says 1 KiB is held, and more ends the connection', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const stranger = knock(asWorkerAddress(`127.0.0.1:${(server.address() as { port: number }).port}`));
  const [socket] = (await once(server, 'connection')) as [Socket];
  const reading = new FirstBytes(socket, { heldBytesMax: 1_024 }).read(2_000);
  stranger.socket.write(new Uint8Array(1_024));
  await until('it has come', () => socket.bytesRead === 1_024);
  expect(socket.destroyed).toBe(false);
  stranger.socket.write(new Uint8Array(1));
  expect(await reading).toBeNull();
  expect(socket.destroyed).toBe(true);
});

test('[BU15] a proof without the secret ends the connection, and no proof is given in return', async () => {
  const here = await open();
  const stranger = knock(here.address);
  stranger.socket.write(helloTo(here.address));
  await until('it is welcomed', () => stranger.received.length > 0);
  const welcomed = stranger.received.length;
  stranger.socket.write(systemRandom.bytes(PROOF_BYTES));
  await closed(stranger);
  expect(stranger.received.length).toBe(welcomed);
});

test('[BU15] what a worker said once opens no second door: neither its hello and proof, nor a welcome and proof of its listener', async () => {
  const port = await freePort();
  const there = await open({ port, address: asWorkerAddress(`127.0.0.1:${await freePort()}`) });
  const said = await listenIn(there, port);

  const stranger = knock(asWorkerAddress(`127.0.0.1:${port}`));
  const helloBytes = HEAD_BYTES + said.dialer.readUInt16BE(9);
  stranger.socket.write(said.dialer.subarray(0, helloBytes));
  await until('it is welcomed', () => stranger.received.length > 0);
  const welcomed = stranger.received.length;
  stranger.socket.write(said.dialer.subarray(helloBytes));
  await closed(stranger);
  expect(stranger.received.length).toBe(welcomed);
  expect(there.heard).toEqual([message.payload]);

  const again = await open();
  const fake = await aListener(({ socket }) => socket.write(said.listener));
  await expect(again.ask(fake, message, DEADLINE)).rejects.toMatchObject({ code: 'WORKER_UNREACHABLE' });
});

test('[BU15] a proof sent back to who gave it is none', async () => {
  const noted = notedLog();
  const here = await open({ log: noted.log });
  let proofs = 0;
  const mirror = await aListener((stranger) => {
    const { socket } = stranger;
    socket.on('data', () => {
      const hello = stranger.received;
      const helloBytes = HEAD_BYTES + (hello.length > HEAD_BYTES ? hello.readUInt16BE(9) : 0);
      if (hello.length === helloBytes) {
        socket.write(packWelcome({ nonce: systemRandom.bytes(NONCE_BYTES), life: 'mirror' }));
      } else if (hello.length === helloBytes + PROOF_BYTES) {
        proofs += 1;
        socket.write(hello.subarray(helloBytes));
      }
    });
  });
  await expect(here.ask(mirror, message, DEADLINE)).rejects.toMatchObject({ code: 'WORKER_UNREACHABLE' });
  expect(proofs).toBe(1);
  expect(noted.lines).toMatchObject([{ phrase: 'worker cannot be reached', peer: mirror, reason: 'wrong secret' }]);
});

test('[BU15] a stranger who trickles its hello is cut off after 2 s, and not before', async () => {
  const clock = standingClock();
  const here = await open({ clock });
  const stranger = knock(here.address);
  const other = knock(here.address);
  for (const byte of helloTo(here.address).subarray(0, 60)) stranger.socket.write(Uint8Array.of(byte));
  other.socket.write(helloTo(here.address));
  await until('the other is welcomed, and waited for', () => other.received.length > 0);
  clock.advance(1_999);
  await settled();
  expect([stranger.isClosed, other.isClosed]).toEqual([false, false]);
  clock.advance(1);
  await Promise.all([closed(stranger), closed(other)]);
  expect(stranger.received.length).toBe(0);
});

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('[BU15] of strangers who wait the oldest go, so that a worker still comes in', async () => {
  const here = await open({ limits: { strangersMax: 3 }, clock: standingClock() });
  const strangers: Stranger[] = [];
  for (let n = 0; n < 5; n += 1) {
    const stranger = knock(here.address);
    strangers.push(stranger);
    stranger.socket.write(helloTo(here.address));
    await until('it is welcomed', () => stranger.received.length > 0);
  }
  await until('the oldest are gone', () => strangers[1]!.isClosed);
  expect(strangers.map(({ isClosed }) => isClosed)).toEqual([true, true, false, false, false]);
  const there = await open();
  expect(await there.ask(here.address, message, DEADLINE)).toBe(message.payload);
  await until('it took the place of the next', () => strangers[2]!.isClosed);
});

test('[BU15] a peer of a newer version is refused, in one line of the log however often it comes', async () => {
  const noted = notedLog();
  const here = await open({ log: noted.log });
  for (let round = 0; round < 5; round += 1) {
    const stranger = knock(here.address);
    stranger.socket.write(Uint8Array.from(helloTo(here.address)).fill(2, 8, 9));
    await closed(stranger);
    expect(stranger.received.length).toBe(0);
  }
  expect(noted.lines).toMatchObject([{ level: 'warn', phrase: 'connection to the bus refused', reason: 'newer version' }]);

  noted.lines.length = 0;
  const newer = await aListener(({ socket }) => {
    socket.write(packWelcome({ nonce: new Uint8Array(NONCE_BYTES), life: 'newer' }).fill(2, 8, 9));
  });
  for (let round = 0; round < 3; round += 1) {
    await expect(here.ask(newer, message, DEADLINE)).rejects.toMatchObject({ code: 'WORKER_UNREACHABLE' });
  }
  expect(noted.lines.filter(({ level }) => level === 'warn')).toMatchObject([
    { phrase: 'worker cannot be reached', peer: newer, reason: 'newer version' },
  ]);
});

test.each([
  '',
  ':1',
  'nowhere',
  '127.0.0.1:',
  '127.0.0.1:0',
  '127.0.0.1:70000',
  '127.0.0.1:-1',
  '::1:80',
  `${'x'.repeat(300)}:1`,
])('[BU15] what is no address is not reached: %j', async (address) => {
  const here = await open();
  await expect(here.ask(asWorkerAddress(address), message, DEADLINE)).rejects.toMatchObject({ code: 'WORKER_UNREACHABLE' });
});

test('[BU15] workers meet over IPv6 too', async () => {
  const [here, there] = [await open({ host: '::1' }), await open({ host: '::1' })];
  expect(there.address).toMatch(/^\[::1\]:\d+$/);
  expect(await here.ask(there.address, message, DEADLINE)).toBe(message.payload);
});

test('[BU15] a port that is taken refuses to start with a sentence that names the setting', async () => {
  const here = await open();
  await expect(aTcpBus({ port: portOf(here.address) })).rejects.toThrow(/EADDRINUSE.*BUS_PORT/);
});
