/** The socket of the load, against the server of `ws`, which is somebody else's. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { dialOf, LightSocket } from '../../bench/load/light-socket.ts';
import { until } from '../support/e2e/until.ts';

async function aServer(): Promise<{ server: WebSocketServer; url: string }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { server, url: `ws://127.0.0.1:${(server.address() as { port: number }).port}/a?b=c` };
}

function dialled(url: string) {
  const heard: string[] = [];
  const socket = new LightSocket(dialOf(url), (message) => void heard.push(String(message)));
  onTestFinished(() => socket.terminate());
  const closed = new Promise<[number, string]>((resolve) => socket.once('close', (code, reason) => resolve([code, reason])));
  const failed = new Promise<Error>((resolve) => socket.on('error', resolve));
  return { socket, heard, closed, failed };
}

async function connected() {
  const { server, url } = await aServer();
  const accepted = once(server, 'connection') as Promise<[WebSocket, { url: string }]>;
  const client = dialled(url);
  await once(client.socket, 'open');
  const [peer, request] = await accepted;
  return { ...client, peer, request };
}

test('[LO6] what is said reaches the server as it was, text as text and bytes as bytes, of any length', async () => {
  const { socket, peer, request } = await connected();
  expect(request.url).toBe('/a?b=c');
  const got: [string, boolean][] = [];
  peer.on('message', (data, isBinary) => got.push([String(data), isBinary]));
  const said = ['', 'a', 'b'.repeat(125), 'c'.repeat(126), 'd'.repeat(65_535), 'e'.repeat(65_536), 'f'.repeat(3_000_000)];
  for (const text of said) socket.sendText(Buffer.from(text));
  socket.sendBytes(Buffer.from('bytes'));
  await until('all came', () => got.length === said.length + 1);
  expect(got).toEqual([...said.map((text) => [text, false]), ['bytes', true]]);
});

test('[LO5] it hears frames of any length and messages in pieces, answers a ping, and is answered', async () => {
  const { socket, heard, peer } = await connected();
  peer.send('text');
  peer.send(Buffer.alloc(3_000_000, 'x'));
  peer.send('in ', { fin: false });
  peer.send('pieces', { fin: true });
  await until('all came', () => heard.length === 3);
  expect(heard).toEqual(['text', 'x'.repeat(3_000_000), 'in pieces']);
  const pong = once(peer, 'pong');
  peer.ping('again');
  expect(String((await pong)[0])).toBe('again');
  const answered = once(socket, 'pong');
  socket.ping();
  await answered;
});

test('[LO5] it says with which code and why the server closed, answers the close, and hears nothing more', async () => {
  const { socket, heard, closed, peer } = await connected();
  const seen = once(peer, 'close');
  expect(socket.isOpen).toBe(true);
  const wire = (peer as unknown as { _socket: Socket })._socket;
  wire.cork();
  peer.close(4005, 'the room is full');
  wire.write(Buffer.from([0x81, 1, 0x78])); // a message behind the close, in one piece with it
  wire.uncork();
  expect(await closed).toEqual([4005, 'the room is full']);
  expect((await seen)[0]).toBe(4005);
  expect(socket.isOpen).toBe(false);
  expect(heard).toEqual([]);
});

test('[LO7] what fails in who listens is thrown to the process, and the socket is not closed for it', async () => {
  const { url, server } = await aServer();
  server.on('connection', (peer) => peer.send('hear this'));
  const uncaught = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of uncaught) process.on('uncaughtException', listener);
  });
  const thrown = once(process, 'uncaughtException');
  const socket = new LightSocket(dialOf(url), () => {
    throw new Error('a mistake of the load');
  });
  onTestFinished(() => socket.terminate());
  expect((await thrown)[0]).toMatchObject({ message: 'a mistake of the load' });
  expect(socket.isOpen).toBe(true);
});

test('[LO6] before it is open nothing is said', async () => {
  const { url } = await aServer();
  const { socket } = dialled(url);
  expect(() => socket.sendText(Buffer.from('a'))).toThrow('not open yet');
});

test('[LO5] a server that ends without a word is 1006', async () => {
  const { closed, peer } = await connected();
  peer.terminate();
  expect(await closed).toEqual([1006, '']);
});

test('[LO5] who pauses hears nothing', async () => {
  const { socket, heard, peer } = await connected();
  const other = await connected();
  socket.pause();
  peer.send('unheard');
  other.peer.send('heard'); // later, and read by the same loop
  await until('the other heard it', () => other.heard.length === 1);
  expect(heard).toEqual([]);
});

async function answering(answer: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer((socket) => void socket.once('data', () => answer(socket)));
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `ws://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

test.each([
  ['HTTP/1.1 503 Service Unavailable\r\n\r\n', 'the server answered HTTP/1.1 503 Service Unavailable'],
  ['HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: wrong\r\n\r\n', 'the server did not take up the key'],
  ['x'.repeat(20_000), 'the server answered '],
])('[LO7] a server that says %o is an error', async (said, error) => {
  const { failed, closed } = dialled(await answering((socket) => void socket.write(said)));
  expect((await failed).message).toBe(error);
  expect(await closed).toEqual([1006, '']);
});

test('[LO7] a server that hangs up instead of an answer, or is not there, is an error', async () => {
  expect((await dialled(await answering((socket) => void socket.end())).failed).message).toContain('instead of an answer');
  expect((await dialled('ws://127.0.0.1:1/').failed).message).toContain('ECONNREFUSED');
});
