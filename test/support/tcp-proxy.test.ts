import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { until } from './e2e/until.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** One end of a connection, with all it has heard. */
function anEnd(socket: Socket) {
  const heard: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => heard.push(piece));
  closing.push(() => socket.destroy());
  return { socket, heard: () => Buffer.concat(heard), text: () => Buffer.concat(heard).toString() };
}
type End = ReturnType<typeof anEnd>;

async function aProxy(): Promise<{ proxy: TcpProxy; dial(): Promise<[client: End, target: End]> }> {
  const server = createServer({ allowHalfOpen: true });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const proxy = await startTcpProxy({ target: { host: '127.0.0.1', port: (server.address() as { port: number }).port } });
  closing.push(() => proxy.close());
  return {
    proxy,
    async dial() {
      const accepted = once(server, 'connection');
      const client = anEnd(connect({ host: proxy.host, port: proxy.port, allowHalfOpen: true }));
      const [socket] = (await accepted) as [Socket];
      return [client, anEnd(socket)];
    },
  };
}

test('the proxy passes both ways, and ends when both sides have', async () => {
  const { proxy, dial } = await aProxy();
  const [client, target] = await dial();
  client.socket.end('ping');
  await once(target.socket, 'end');
  expect(target.text()).toBe('ping');
  target.socket.end('pong');
  await once(client.socket, 'close');
  expect(client.text()).toBe('pong');
  await until('it is over', () => proxy.open === 0);
  expect(proxy.accepted).toBe(1);
});

test('what is delayed comes later, whole and in order, however much is on the wire', async () => {
  const { proxy, dial } = await aProxy();
  const [client, target] = await dial();
  proxy.delay({ ms: 100 });
  const startMs = performance.now();
  for (let n = 0; n < 20; n += 1) {
    client.socket.write(`${n} `);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await until('the first is there', () => target.text().startsWith('0 '));
  expect(performance.now() - startMs).toBeGreaterThan(95);
  await until('the last is there', () => target.text().endsWith('19 '));
  expect(target.text()).toBe(Array.from({ length: 20 }, (_, n) => `${n} `).join(''));
});

test('what is throttled takes its time, and the writer feels it', async () => {
  const { proxy, dial } = await aProxy();
  const [client, target] = await dial();
  proxy.throttle({ bytesPerSecond: 1_000_000 });
  const startMs = performance.now();
  client.socket.write(new Uint8Array(200_000));
  await until('it is there', () => target.heard().length === 200_000);
  expect(performance.now() - startMs).toBeGreaterThan(150);
  client.socket.write(new Uint8Array(40_000_000));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(client.socket.writableLength).toBeGreaterThan(10_000_000);
});

test('a black hole holds one direction or both, without an end; healed, what was held passes', async () => {
  const { proxy, dial } = await aProxy();
  const [client, target] = await dial();
  proxy.blackHole('toTarget');
  client.socket.write('held');
  target.socket.write('passes');
  await until('it is there', () => client.text() === 'passes');
  proxy.blackHole();
  target.socket.end(' later');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([client.text(), target.text(), client.socket.readableEnded]).toEqual(['passes', '', false]);
  proxy.heal();
  await until('all is there', () => client.text() === 'passes later' && target.text() === 'held');
});

test('cut resets both ends of all connections, and the next is fine', async () => {
  const { proxy, dial } = await aProxy();
  const ends = [...(await dial()), ...(await dial())];
  const codes: unknown[] = [];
  for (const { socket } of ends) {
    socket.on('error', ({ code }: NodeJS.ErrnoException) => codes.push(code));
    socket.pause().write(new Uint8Array(5_000_000)); // more than the other end takes: it cannot end in order
  }
  proxy.cut();
  await until('all are closed', () => ends.every(({ socket }) => socket.destroyed));
  expect(codes).toHaveLength(4);
  for (const code of codes) expect(['ECONNRESET', 'EPIPE']).toContain(code);
  const [client, target] = await dial();
  client.socket.write('ping');
  await until('it is there', () => target.text() === 'ping');
  expect(proxy.open).toBe(1);
});

test('cutAfter lets exactly so many bytes pass, over one connection', async () => {
  const { proxy, dial } = await aProxy();
  proxy.cutAfter({ bytes: 1_000 });
  const [client, target] = await dial();
  client.socket.write(new Uint8Array(600));
  await until('it is there', () => target.heard().length === 600);
  target.socket.write(new Uint8Array(600));
  // A reset that comes together with bytes is told as an end, and one that overtakes bytes takes them away.
  await until('it is cut', () => [client, target].every(({ socket }) => socket.destroyed || socket.readableEnded));
  expect(client.heard().length).toBeLessThanOrEqual(400);
  const [next, nextTarget] = await dial();
  next.socket.write(new Uint8Array(2_000));
  await until('it is there', () => nextTarget.heard().length === 2_000);
});

test('who is refused is reset, also when there is no target or the target is gone', async () => {
  const { proxy, dial } = await aProxy();
  const isRefused = async (port: number): Promise<void> => {
    const { socket, heard } = anEnd(connect(port, '127.0.0.1'));
    await until('it is closed', () => socket.destroyed);
    expect(heard().length).toBe(0);
  };
  proxy.refuse();
  await isRefused(proxy.port);
  expect(proxy.accepted).toBe(0);
  proxy.heal();
  await dial();
  proxy.aim({ host: '127.0.0.1', port: 1 });
  await isRefused(proxy.port);
  const aimless = await startTcpProxy();
  closing.push(() => aimless.close());
  await isRefused(aimless.port);
});

test('a proxy that interjects says it to each client once, behind the piece that it was given', async () => {
  const { proxy, dial } = await aProxy();
  proxy.interject({ bytes: Buffer.from('?'), behind: 2 });
  const [client, target] = await dial();
  for (const piece of ['one', 'two', 'three']) {
    client.socket.write(piece);
    await until('it has passed', () => target.text().endsWith(piece));
  }
  target.socket.write('!');
  await until('the answer came', () => client.text().includes('!'));
  expect([client.text(), target.text()]).toEqual(['?!', 'onetwothree']);
});
