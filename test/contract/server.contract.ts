/** What every server adapter promises (`src/kernel/transport/server.ts`), over real sockets. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import { textIn } from '../../src/base/pieces.ts';
import type { HttpRequest, HttpResponse, MakeServer, Server, ServerOptions } from '../../src/kernel/transport/server.ts';
import { freePort } from '../support/e2e/free-port.ts';
import {
  answering,
  ask,
  deafHandler,
  Peer,
  type Running,
  rawExchange,
  type StartOptions,
  seats,
  settled,
  startServer,
} from '../support/server-peer.ts';

const MIB = 1024 * 1024;

export function serverContract(name: string, load: () => Promise<MakeServer>): void {
  describe(name, () => {
    const running: Running[] = [];
    let make: MakeServer;

    beforeAll(async () => {
      make = await load();
    });
    const start = async (options: Partial<StartOptions> = {}): Promise<Running> => {
      const server = await startServer(make, options);
      running.push(server);
      return server;
    };
    afterEach(async () => {
      await Promise.all(running.splice(0).map((server) => server.close()));
      vi.restoreAllMocks();
    });

    describe('requests', () => requestContract(start));
    describe('bodies', () => bodyContract(start));
    describe('answers', () => answerContract(start));
    describe('listening', () => listeningContract(start, () => make));
    describe('sockets', () => socketContract(start));
    describe('slow readers', () => slowReaderContract(start));
  });
}

/** Takes 14 s, most of them idle: run it beside that of the other adapters. */
export function stallContract(name: string, load: () => Promise<MakeServer>): void {
  test.concurrent(`[TR4] a client that trickles its header, or a body that stops, is cut off after some 10 s: ${name}`, {
    timeout: 20_000,
  }, async ({ expect }) => {
    const server = await startServer(
      await load(),
      answering(async (request) => ({ status: 200, body: await request.body(100) })),
    );
    const trickle = (opening: string, next: string): Promise<number> =>
      new Promise((resolve) => {
        const startedMs = performance.now();
        const socket = net.connect(server.port, '127.0.0.1', () => socket.write(opening));
        const timer = setInterval(() => socket.write(next), 500);
        socket.resume();
        socket.on('error', () => undefined);
        socket.on('close', () => {
          clearInterval(timer);
          resolve(performance.now() - startedMs);
        });
      });
    const lives = [trickle('GET /', 'x'), trickle('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhel', '')];
    for (const ms of await Promise.all(lives)) {
      expect(ms).toBeGreaterThan(7_000); // uWebSockets.js counts in steps of 4 s
      expect(ms).toBeLessThan(15_000);
    }
    await server.close();
  });

  test.concurrent.each([
    ['[TR8] gets the whole body', 9 * MIB],
    ['[TR52] may still answer when all of it has come', 2 * MIB],
  ])(`a reader that takes longer over a piece than a client may be silent %s: ${name}`, { timeout: 25_000 }, async (_, bytes) => {
    const server = await startServer(
      await load(),
      answering(async (request) => {
        let size = 0;
        for await (const piece of request.stream()) {
          if (size === 0) await new Promise((resolve) => setTimeout(resolve, 14_000));
          size += piece.byteLength;
        }
        return { status: 200, body: String(size) };
      }),
    );
    const answer = await ask(server.port, { method: 'POST', path: '/', body: 'x'.repeat(bytes) });
    expect(answer.body.toString()).toBe(String(bytes));
    await server.close();
  });
}

type Start = (options?: Partial<StartOptions>) => Promise<Running>;

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'));
}

function requestContract(start: Start): void {
  test('[TR1] a request arrives as it was sent: percent-encoding untouched, header names in lower case, repeated headers joined', async () => {
    const seen: Partial<HttpRequest>[] = [];
    const { port } = await start(
      answering(({ method, path, query, headers }) => {
        seen.push({ method, path, query, headers: { ...headers } });
        return { status: 200 };
      }),
    );
    await rawExchange(
      port,
      'PATCH /v2/rooms/room%2F1%25?a=%20b&c HTTP/1.1\r\nHost: x\r\nX-Twice: 1\r\nx-twice: 2\r\n__proto__: odd\r\nX-Name: caf\xc3\xa9 noir\r\n\r\n',
    );
    expect(seen).toEqual([
      {
        method: 'PATCH',
        path: '/v2/rooms/room%2F1%25',
        query: 'a=%20b&c',
        headers: { host: 'x', 'x-twice': '1, 2', ['__proto__']: 'odd', 'x-name': 'café noir' },
      },
    ]);
    await rawExchange(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(seen[1]).toMatchObject({ method: 'GET', path: '/', query: '' });
  });

  test.skipIf(!hasIpv6())('[TR2] a v4 peer is served by a v6 listener; without a question mark the query is empty', async () => {
    const { port } = await start({
      ...answering(({ query }) => ({ status: 200, body: String(query.length) })),
      host: '::',
    });
    expect((await ask(port)).body.toString()).toBe('0');
  });

  test.each([
    ['a method HTTP does not know', 'FROB / HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1.1 400 /],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello', /^HTTP\/1.1 400 /],
    ['a negative length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nhello', /^HTTP\/1.1 400 /],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1.1 400 /,
    ],
    ['bytes above ASCII in the path', 'GET /\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1.1 400 /],
    ['a # in the path', 'GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1.1 400 /],
    ['a path without a slash', 'GET rooms HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1.1 (400|505) /],
    ['a whole URL for a path', 'GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1.1 (400|505) /],
    ['a header above 16 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(16 * 1024)}\r\n\r\n`, /^HTTP\/1.1 431 /],
  ])('[TR3] %s never reaches the handler', async (_, bytes, expected) => {
    const handler = vi.fn(async () => ({ status: 200 }));
    const { port } = await start({ http: handler });
    expect(await rawExchange(port, bytes)).toMatch(expected);
    expect(handler).not.toHaveBeenCalled();
  });

  test('[TR3] a header of 15 KiB passes: tokens may be long', async () => {
    const { port } = await start(answering(({ headers }) => ({ status: 200, body: String(headers.authorization?.length) })));
    const reply = await ask(port, { headers: { authorization: 'x'.repeat(15 * 1024) } });
    expect(reply.body.toString()).toBe(String(15 * 1024));
  });
}

function bodyContract(start: Start): void {
  const echo = answering(async (request) => ({ status: 200, body: await request.body(10) }));
  const limited: ServerOptions['http'] = async (request) => {
    try {
      return { status: 200, body: await request.body(10) };
    } catch (error) {
      return { status: error instanceof AppError ? error.status : 500 };
    }
  };

  test('[TR5] a body arrives whole: with a length, in chunks, or empty', async () => {
    const { port } = await start(echo);
    expect((await ask(port, { method: 'POST', body: 'hello' })).body.toString()).toBe('hello');
    expect(
      (await ask(port, { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, body: 'hello' })).body.toString(),
    ).toBe('hello');
    expect(
      (await ask(port, { method: 'POST', headers: { 'content-length': 0, 'content-type': 'application/json' } })).body.length,
    ).toBe(0);
    expect((await ask(port, { method: 'GET' })).body.length).toBe(0);
  });

  test('[TR6] a body of exactly the limit passes; one byte more is refused, declared or not, and the connection serves on', async () => {
    const { port } = await start({ http: limited });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const post = (body: string, headers: http.OutgoingHttpHeaders = {}) => ask(port, { method: 'POST', body, headers, agent });
    const sizes = ['x'.repeat(10), 'x'.repeat(11), 'x'.repeat(5 * MIB)];
    const statuses: number[] = [];
    for (const body of sizes)
      statuses.push((await post(body)).status, (await post(body, { 'transfer-encoding': 'chunked' })).status);
    expect(statuses).toEqual([200, 200, 413, 413, 413, 413]);
    agent.destroy();
  });

  test('[TR7] a body nobody reads does no harm to the next request on the connection', async () => {
    const { port } = await start(answering(({ path }) => ({ status: 200, body: path })));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    await ask(port, { method: 'POST', path: '/first', body: 'x'.repeat(5 * MIB), agent });
    expect((await ask(port, { path: '/second', agent })).body.toString()).toBe('/second');
    agent.destroy();
  });

  test('[TR8] a streamed body waits for its reader', async () => {
    const total = 64 * MIB;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { port } = await start(
      answering(async (request) => {
        let size = 0;
        for await (const piece of request.stream()) {
          if (size === 0) await gate;
          size += piece.byteLength;
        }
        return { status: 200, body: String(size) };
      }),
    );
    const socket = net.connect(port, '127.0.0.1');
    const reply = new Promise<string>((resolve) => socket.on('data', (data) => resolve(data.toString())));
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${total}\r\n\r\n`);
    let taken = 0;
    for (let sent = 0; sent < total; sent += MIB) {
      socket.write(new Uint8Array(MIB), () => {
        taken += MIB;
      });
    }
    const atRest = await settled(() => taken);
    expect(atRest).toBeLessThan(total / 2);
    open();
    expect(await reply).toMatch(new RegExp(`\r\n\r\n${total}$`));
    socket.destroy();
  });

  test('[TR8] a body whose end came while its reader was behind does no harm to the next request on the connection', async () => {
    const { port } = await start(
      answering(async (request) => {
        let size = 0;
        for await (const piece of request.stream()) {
          size += piece.byteLength;
          await new Promise((resolve) => setImmediate(resolve));
        }
        return { status: 200, body: String(size) };
      }),
    );
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (const size of [300_000, 500_000, 700_000, MIB, 5 * MIB]) {
      const answer = await ask(port, { method: 'POST', path: '/', body: 'x'.repeat(size), agent });
      expect(answer.body.toString()).toBe(String(size));
    }
    agent.destroy();
  });

  test('[TR9] when the client leaves, the signal is aborted, the body fails with its reason, and a late answer is no harm', async () => {
    let seen: (request: HttpRequest) => void = () => undefined;
    const arrived = new Promise<HttpRequest>((resolve) => {
      seen = resolve;
    });
    const failure = vi.fn();
    const { port, bugs } = await start(
      answering(async (request) => {
        seen(request);
        await request.body(100).catch(failure);
        return { status: 200, body: 'too late' };
      }),
    );
    const socket = net.connect(port, '127.0.0.1', () =>
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhel'),
    );
    const { aborted } = await arrived;
    expect(aborted.aborted).toBe(false);
    socket.destroy();
    await new Promise((resolve) => aborted.addEventListener('abort', resolve));
    await vi.waitFor(() => expect(failure).toHaveBeenCalledWith(aborted.reason));
    expect(bugs).toEqual([]);
  });
}

function answerContract(start: Start): void {
  test('[TR10] status, headers and body arrive; bytes, text, nothing; 204 has no length', async () => {
    const { port } = await start(
      answering(({ path }) => {
        if (path === '/text') return { status: 201, headers: { 'x-a': '1' }, body: 'grüße' };
        if (path === '/bytes') return { status: 200, body: new Uint8Array([0, 255]) };
        return path === '/204' ? { status: 204 } : { status: 200, headers: { 'content-length': '99', connection: 'close' } };
      }),
    );
    const text = await ask(port, { path: '/text' });
    expect([text.status, text.headers['x-a'], text.headers['content-length'], text.body.toString()]).toEqual([
      201,
      '1',
      '7',
      'grüße',
    ]);
    expect([...(await ask(port, { path: '/bytes' })).body]).toEqual([0, 255]);
    const none = await ask(port, { path: '/204' });
    expect([none.status, none.headers['content-length'], none.headers['transfer-encoding']]).toEqual([204, undefined, undefined]);
    expect((await ask(port, { path: '/none' })).headers['content-length']).toBe('0');
  });

  test('[TR11] HEAD has the headers of GET and no body, and the connection serves on', async () => {
    const pieces = async function* () {
      yield Buffer.from('piece');
    };
    const { port } = await start(answering(({ path }) => ({ status: 200, body: path === '/pieces' ? pieces() : 'hello' })));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const head = await ask(port, { method: 'HEAD', agent });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '5', 0]);
    expect((await ask(port, { method: 'HEAD', path: '/pieces', agent })).body.length).toBe(0);
    expect((await ask(port, { agent })).body.toString()).toBe('hello');
    agent.destroy();
  });

  test('[TR12] an answer in pieces arrives in order, and empty pieces do not end it', async () => {
    const pieces = async function* () {
      for (let number = 0; number < 1_000; number += 1) yield Buffer.from(number % 10 === 0 ? '' : `${number} `);
    };
    const { port } = await start(answering(() => ({ status: 200, body: pieces() })));
    const words = (await ask(port)).body.toString().trim().split(' ');
    expect(words).toEqual(Array.from({ length: 1_000 }, (_, number) => String(number)).filter((word) => !word.endsWith('0')));
  });

  test('[TR13] pieces wait for a client that does not read, and are given up when it leaves', async () => {
    let made = 0;
    let release: () => void = () => undefined;
    const returned = new Promise<void>((resolve) => {
      release = resolve;
    });
    const pieces = async function* () {
      try {
        for (; made < 256; made += 1) yield new Uint8Array(MIB);
      } finally {
        release();
      }
    };
    const { port, bugs } = await start(answering(() => ({ status: 200, body: pieces() })));
    const socket = net.connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    socket.pause();
    await vi.waitFor(() => expect(made).toBeGreaterThan(0));
    expect(await settled(() => made)).toBeLessThan(128);
    socket.destroy();
    await returned;
    expect(bugs).toEqual([]);
  });

  test('[TR40] pieces of a known size come with their length, whole also to a client that pauses', async () => {
    const size = 24 * MIB;
    const pieces = async function* () {
      for (let number = 0; number < 24; number += 1) yield new Uint8Array(MIB).fill(number);
    };
    const { port } = await start(answering(() => ({ status: 206, headers: { 'x-a': '1' }, body: pieces(), size })));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const head = await ask(port, { method: 'HEAD', agent });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([206, String(size), 0]);
    const request = http.get({ port, host: '127.0.0.1', agent });
    const [reply] = (await once(request, 'response')) as [http.IncomingMessage];
    expect([reply.headers['content-length'], reply.headers['x-a']]).toEqual([String(size), '1']);
    reply.pause();
    await settled(() => reply.socket.bytesRead);
    const received: Buffer[] = [];
    for await (const piece of reply) received.push(piece as Buffer);
    const bytes = Buffer.concat(received);
    expect([bytes.length, bytes[0], bytes[5 * MIB], bytes.at(-1)]).toEqual([size, 0, 5, 23]);
    expect((await ask(port, { method: 'HEAD', agent })).status).toBe(206);
    agent.destroy();
  });

  test('[TR47] a long answer that its client does not take lies in memory once, and arrives whole', async () => {
    const bytes = randomBytes(48 * MIB);
    const { port } = await start(answering(() => ({ status: 200, body: bytes })));
    const request = http.get({ port, host: '127.0.0.1' });
    const before = process.memoryUsage().rss;
    const [reply] = (await once(request, 'response')) as [http.IncomingMessage];
    reply.pause();
    await settled(() => reply.socket.bytesRead);
    expect(process.memoryUsage().rss - before).toBeLessThan(24 * MIB);
    const received: Buffer[] = [];
    for await (const piece of reply) received.push(piece as Buffer);
    expect([reply.headers['content-length'], digest(Buffer.concat(received))]).toEqual([String(bytes.length), digest(bytes)]);
  });

  test('[LA3] an answer is over once: when it has left, or its client has gone', async () => {
    const bytes = new Uint8Array(48 * MIB);
    const bodies: readonly HttpResponse['body'][] = [bytes, 'short', bytes];
    let [asked, ends] = [0, 0];
    const { port } = await start(answering(() => ({ status: 200, body: bodies[asked++], over: () => (ends += 1) })));
    for (const [at, { method }] of [{ method: 'GET' }, { method: 'HEAD' }].entries()) {
      await ask(port, { method });
      await settled(() => ends);
      expect(ends).toBe(at + 1);
    }
    const request = http.get({ port, host: '127.0.0.1' });
    const [reply] = (await once(request, 'response')) as [http.IncomingMessage];
    reply.pause();
    await settled(() => reply.socket.bytesRead);
    expect(ends).toBe(2);
    reply.on('error', () => undefined);
    request.destroy();
    await settled(() => ends);
    expect(ends).toBe(3);
  });

  test('[TR47] a long answer of text, or in pieces, is as long as its bytes', async () => {
    const text = 'x€'.repeat(200_000);
    const pieces = inPieces(text);
    const short = pieces.slice(0, 2);
    const answers: readonly HttpResponse['body'][] = [text, pieces, short, short];
    let asked = 0;
    const { port } = await start(answering(() => ({ status: 200, body: answers[asked++] })));
    for (const [method, expected] of [
      ['GET', text],
      ['GET', text],
      ['GET', textIn(short)],
      ['HEAD', ''],
    ] as const) {
      const { headers, body } = await ask(port, { method });
      const size = expected === text ? '800000' : '100000';
      expect([headers['content-length'], body.toString() === expected]).toEqual([size, true]);
    }
  });

  test.each([4, 6])('[TR40] pieces that make another size than was said are seen as broken by the client: %i', async (size) => {
    const pieces = async function* () {
      yield Buffer.from('he');
      yield Buffer.from('llo');
    };
    const { port, bugs } = await start(answering(() => ({ status: 200, body: pieces(), size })));
    await expect(ask(port)).rejects.toThrow();
    expect(bugs).toEqual([expect.any(Error)]);
  });

  test('[TR40] HEAD needs no body to tell a length', async () => {
    const { port } = await start(answering(() => ({ status: 200, size: 12 })));
    expect((await ask(port, { method: 'HEAD' })).headers['content-length']).toBe('12');
  });

  test('[TR14] a handler that fails gives a bare 500 and a report; the next request is served', async () => {
    const bug = new Error('planted');
    const { port, bugs } = await start(
      answering(({ path }) => {
        if (path === '/bug') throw bug;
        return path === '/split' ? { status: 200, headers: { 'x-a': 'b\r\nset-cookie: c' } } : { status: 200 };
      }),
    );
    const failed = await ask(port, { path: '/bug' });
    expect([failed.status, failed.body.length]).toEqual([500, 0]);
    const split = await ask(port, { path: '/split' });
    expect([split.status, split.headers['set-cookie']]).toEqual([500, undefined]);
    expect((await ask(port)).status).toBe(200);
    expect(bugs).toEqual([bug, expect.any(TypeError)]);
  });

  test('[TR15] an answer that breaks off midway is seen as broken by the client', async () => {
    const bug = new Error('planted');
    const pieces = async function* () {
      yield Buffer.from('half');
      throw bug;
    };
    const { port, bugs } = await start(answering(() => ({ status: 200, body: pieces() })));
    await expect(ask(port)).rejects.toThrow();
    expect(bugs).toEqual([bug]);
  });

  test('[TR41] a source that fails after the last byte of its size costs nobody anything: it is reported, and the next request is served', async () => {
    const bug = new Error('planted');
    const pieces = async function* () {
      yield Buffer.from('whole');
      throw bug;
    };
    const { port, bugs } = await start(
      answering(({ path }) => (path === '/late' ? { status: 200, body: pieces(), size: 5 } : { status: 200 })),
    );
    expect(String((await ask(port, { path: '/late' })).body)).toBe('whole');
    await vi.waitFor(() => expect(bugs).toEqual([bug]));
    expect((await ask(port)).status).toBe(200);
  });
}

function listeningContract(start: Start, make: () => MakeServer): void {
  test('[TR16] a port that is taken refuses to start with a sentence that names it', async () => {
    const { port } = await start();
    const second = startAt(make(), '127.0.0.1', port);
    await expect(second).rejects.toMatchObject({
      name: 'StartRefused',
      message: expect.stringContaining(`port ${port} is taken`),
    });
    await expect(startAt(make(), '192.0.2.1', 0)).rejects.toThrow('192.0.2.1 is no address of this machine');
  });

  test('[TR50] of more connections than there may be each is closed as it comes; where one has gone another finds room', async () => {
    const { port } = await start({ socketsMax: 3, ...answering(() => ({ status: 200 })) });
    const agent = new http.Agent({ keepAlive: true });
    const peers = [new Peer(port), new Peer(port)];
    await Promise.all(peers.map(({ opened }) => opened));
    expect((await ask(port, { agent })).status).toBe(200);
    for (let time = 0; time < 10; time += 1) {
      await expect(ask(port)).rejects.toThrow(/hang up|ECONNRESET/);
      expect((await new Peer(port).closed).code).toBe(1_006);
    }
    expect((await ask(port, { agent })).status).toBe(200);
    for (const leaver of peers) {
      leaver.ws.close();
      await leaver.closed;
      const next = new Peer(port);
      await next.opened;
      await expect(ask(port)).rejects.toThrow(/hang up|ECONNRESET/);
    }
    agent.destroy();
    await vi.waitFor(async () => expect((await ask(port)).status).toBe(200));
  });

  test('[TR17] after stopListening nobody new comes in, while an open request finishes and its connection ends', async () => {
    let finish: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const arrived = vi.fn();
    const server = await start(
      answering(async () => {
        arrived();
        await gate;
        return { status: 200, body: 'done' };
      }),
    );
    const pending = ask(server.port, { agent: new http.Agent({ keepAlive: true }) });
    await vi.waitFor(() => expect(arrived).toHaveBeenCalled());
    server.stopListening();
    await expect(ask(server.port)).rejects.toThrow('ECONNREFUSED');
    finish();
    const reply = await pending;
    expect([reply.body.toString(), reply.headers.connection]).toEqual(['done', 'close']);
  });

  test('[TR18] close ends open requests and sockets', async () => {
    const seated = seats();
    const server = await start({ ...answering(() => new Promise(() => undefined)), socket: seated.accept });
    const peer = new Peer(server.port);
    const pending = ask(server.port);
    const seat = await seated.next();
    await server.close();
    await expect(pending).rejects.toThrow();
    expect((await peer.closed).code).toBe(1006);
    expect((await seat.whenClosed).code).toBe(1006);
  });
}

/** For adapters that can share a port between processes; here two servers of one process do. */
export function sharingContract(name: string, load: () => Promise<MakeServer>): void {
  test(`[TR33] a shared port is served by all who share it and refused to who wants it alone: ${name}`, async () => {
    const make = await load();
    const answers = (text: string): Server => make({ ...SILENT, http: async () => ({ status: 200, body: text }) });
    const [one, two, alone] = [answers('one'), answers('two'), answers('alone')];
    const port = await freePort();
    const where = { host: '127.0.0.1', port };
    expect(await one.listen({ ...where, sharing: 'shared' })).toEqual({ port });
    expect(await two.listen({ ...where, sharing: 'shared' })).toEqual({ port });
    await expect(alone.listen(where)).rejects.toMatchObject({
      name: 'StartRefused',
      message: expect.stringContaining(`port ${port} is taken`),
    });
    const heard = async (): Promise<string> => (await ask(port)).body.toString();
    const seen = new Set<string>();
    await vi.waitFor(async () => expect([...seen.add(await heard())].toSorted()).toEqual(['one', 'two']));
    one.stopListening();
    for (let asked = 0; asked < 20; asked += 1) expect(await heard()).toBe('two');
    await Promise.all([one, two, alone].map((server) => server.close()));
  });
}

/** Of a server that nobody talks to. */
export const SILENT: ServerOptions = {
  http: async () => ({ status: 404 }),
  upgrades: () => true,
  socket: () => deafHandler,
  frameBytesMax: 1,
  sendBufferBytesMax: 1,
  reportBug: () => undefined,
};

async function startAt(make: MakeServer, host: string, port: number): Promise<void> {
  const server = make(SILENT);
  try {
    await server.listen({ host, port });
  } finally {
    await server.close();
  }
}

function socketContract(start: Start): void {
  test('[TR19] an upgrade is accepted on the paths that are wanted, whatever it shows; elsewhere it is a 404', async () => {
    const seated = seats();
    const { port } = await start({ upgrades: (path) => path === '/v8', socket: seated.accept });
    const peer = new Peer(port, `/v8?roomId=my+room%2F%C3%A9&tok=${'x'.repeat(15_000)}`);
    await peer.opened;
    const { request } = await seated.next();
    expect([request.path, request.query.slice(0, 24)]).toEqual(['/v8', 'roomId=my+room%2F%C3%A9&']);
    expect(peer.ws.extensions).toBe(''); // no compression
    await expect(new Peer(port, '/other').opened).rejects.toThrow('404');
  });

  test('[TR53] who offers another protocol than WebSocket is answered in this one, time and again on one connection', async () => {
    const warned = vi.spyOn(process, 'emitWarning');
    const { port } = await start(answering(async (request) => ({ status: 200, body: await request.body(100_000) })));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQBAAAAAAIAAAAA' };
    for (let time = 0; time < 12; time += 1) {
      const body = `${time}${'x'.repeat(90_000)}`;
      const answer = await ask(port, { method: 'POST', path: '/v8', headers, body, agent });
      expect([answer.status, answer.body.toString()]).toEqual([200, body]);
    }
    agent.destroy();
    expect(warned).not.toHaveBeenCalled();
  });

  test('[TR20] text stays text and bytes stay bytes, in order, and what was heard may be kept', async () => {
    const seated = seats();
    const { port } = await start({ socket: seated.accept });
    const peer = new Peer(port);
    await peer.opened;
    const seat = await seated.next();
    const enough = new Promise<void>((resolve) => {
      seat.onMessage = () => seat.heard.length === 102 && resolve();
    });
    peer.ws.send('\ufeffgrüße 🙂');
    peer.ws.send(new Uint8Array([1, 2, 3]));
    for (let number = 0; number < 100; number += 1) peer.ws.send(new Uint8Array(100).fill(number));
    await enough;
    expect(seat.heard.slice(0, 2)).toEqual(['\ufeffgrüße 🙂', new Uint8Array([1, 2, 3])]);
    expect(seat.heard.slice(2).map((data) => (data as Uint8Array)[99])).toEqual(
      Array.from({ length: 100 }, (_, number) => number),
    );

    seat.socket.cork(() => {
      seat.socket.send('one');
      seat.socket.send(new Uint8Array([2]));
      seat.socket.send({ utf8: [Buffer.from('grüße'), Buffer.from(' 🙂')] });
    });
    seat.socket.send('');
    expect(await peer.frames(4)).toEqual(['one', new Uint8Array([2]), 'grüße 🙂', '']);
  });

  test('[TR21] a frame of exactly the limit passes, of one byte more the handler hears, one far longer closes', async () => {
    const seated = seats();
    const { port } = await start({ socket: seated.accept, frameBytesMax: 1_000 });
    const say = async (bytes: number) => {
      const peer = new Peer(port);
      await peer.opened;
      const seat = await seated.next();
      seat.onMessage = () => seat.socket.close(4_100, 'heard');
      peer.ws.send(new Uint8Array(bytes));
      return { client: (await peer.closed).code, server: (await seat.whenClosed).code, heard: seat.heard.length };
    };
    expect(await say(1_000)).toEqual({ client: 4_100, server: 4_100, heard: 1 });
    expect(await say(1_001)).toEqual({ client: 4_000, server: 4_000, heard: 0 });
    const far = await say(100_000);
    expect([1_006, 1_009]).toContain(far.client);
    expect(far.server).toBe(1_009);
  });

  test('[TR22] our close arrives with code and reason, the reason cut to 123 bytes between characters; the handler hears it once, later', async () => {
    const seated = seats();
    const { port } = await start({ socket: seated.accept });
    const peer = new Peer(port);
    const seat = await seated.next();
    seat.socket.send('last words');
    seat.socket.close(4_001, '€'.repeat(50));
    seat.socket.close(4_002, 'again');
    expect([seat.closings.length, seat.socket.send('more'), seat.socket.bufferedBytes()]).toEqual([0, false, 0]);
    expect(await peer.closed).toEqual({ code: 4_001, reason: '€'.repeat(41) });
    expect(peer.heard).toEqual(['last words']);
    expect(await seat.whenClosed).toEqual({ code: 4_001, reason: '€'.repeat(41) });
    expect(seat.closings).toHaveLength(1);
  });

  test('[TR22] a socket may be closed while it is accepted, and its handler still hears of it', async () => {
    const closed = vi.fn();
    const { port } = await start({
      socket: (_, socket) => {
        socket.close(4_001, 'no');
        return { ...deafHandler, closed };
      },
    });
    expect(await new Peer(port).closed).toEqual({ code: 4_001, reason: 'no' });
    await vi.waitFor(() => expect(closed).toHaveBeenCalledWith(4_001, 'no'));
  });

  test('[TR23] the handler hears how the peer closed: its code, 1005 without one, 1006 when it was lost', async () => {
    const seated = seats();
    const { port } = await start({ socket: seated.accept });
    const leave = async (how: (peer: Peer) => void) => {
      const peer = new Peer(port);
      await peer.opened;
      const seat = await seated.next();
      how(peer);
      return seat.whenClosed;
    };
    expect(await leave((peer) => peer.ws.close(4_000, 'bye'))).toEqual({ code: 4_000, reason: 'bye' });
    expect((await leave((peer) => peer.ws.close())).code).toBe(1_005);
    expect((await leave((peer) => peer.ws.terminate())).code).toBe(1_006);
  });

  test('[TR34] who counts hears the code of each socket once, whichever side closed it', async () => {
    const seated = seats();
    const codes: number[] = [];
    const { port } = await start({ socket: seated.accept, socketClosed: (code) => codes.push(code) });
    for (const close of [(peer: Peer) => peer.ws.close(4_000, 'bye'), (peer: Peer) => peer.ws.terminate()]) {
      const peer = new Peer(port);
      await peer.opened;
      const seat = await seated.next();
      close(peer);
      await seat.whenClosed;
    }
    const peer = new Peer(port);
    const seat = await seated.next();
    seat.socket.close(4_001, 'away');
    seat.socket.close(4_002, 'again');
    await peer.closed;
    expect(codes).toEqual([4_000, 1_006, 4_001]);
  });

  test('[TR24] a refusal thrown by a handler closes with its code; a bug closes with 1011 and is reported; others stay open', async () => {
    const seated = seats();
    const bug = new Error('planted');
    const { port, bugs } = await start({
      socket: (request, socket) => {
        if (request.path === '/bug') throw bug;
        return seated.accept(request, socket);
      },
    });
    const [first, second, third] = [new Peer(port), new Peer(port), new Peer(port)];
    const all = [await seated.next(), await seated.next(), await seated.next()];
    for (const seat of all) {
      seat.onMessage = (data) => {
        if (data === 'bug') throw bug;
        if (data === 'refuse') throw new AppError('TOKEN_EXPIRED');
        seat.socket.send('fine');
      };
    }
    await Promise.all([first.opened, second.opened, third.opened]);
    first.ws.send('bug');
    second.ws.send('refuse');
    expect((await first.closed).code).toBe(1_011);
    expect(await second.closed).toEqual({ code: 4_109, reason: 'The token has expired.' });
    expect((await new Peer(port, '/bug').closed).code).toBe(1_011);
    third.ws.send('hello');
    expect(await third.frames(1)).toEqual(['fine']);
    expect(bugs).toEqual([bug, bug]);
  });

  test('[TR25] a ping is answered, and text that is not UTF-8 ends the socket', async () => {
    const seated = seats();
    const { port } = await start({ socket: seated.accept });
    const peer = new Peer(port);
    await peer.opened;
    const seat = await seated.next();
    const pong = new Promise<string>((resolve) => peer.ws.on('pong', (data) => resolve(data.toString())));
    peer.ws.ping('are you there');
    expect(await pong).toBe('are you there');
    peer.ws.send(Buffer.from([0xff, 0xfe]), { binary: false });
    await peer.closed;
    await seat.whenClosed;
    expect(seat.heard).toEqual([]);
  });
}

function slowReaderContract(start: Start): void {
  const aPausedPeer = async (options: Partial<ServerOptions> = {}) => {
    const seated = seats();
    const server = await start({ socket: seated.accept, ...options });
    const peer = new Peer(server.port);
    await peer.opened;
    peer.ws.pause();
    return { server, peer, seat: await seated.next() };
  };

  test('[TR26] what a peer does not take is counted, and when it reads again the handler is told', async () => {
    const { peer, seat } = await aPausedPeer();
    for (let sent = 0; sent < 16; sent += 1) expect(seat.socket.send(new Uint8Array(MIB))).toBe(true);
    expect(await settled(() => seat.socket.bufferedBytes())).toBeGreaterThan(4 * MIB);
    peer.ws.resume();
    await peer.frames(16);
    await vi.waitFor(() => expect(seat.drains).toBeGreaterThan(0));
    expect(seat.socket.bufferedBytes()).toBe(0);
  });

  test('[TR46] a ping is answered when all that was sent before it has arrived, a document of many MB too', async () => {
    const { peer, seat } = await aPausedPeer();
    seat.socket.ping('1');
    seat.socket.send('short');
    seat.socket.send(new Uint8Array(12 * MIB));
    seat.socket.send('behind');
    seat.socket.ping('2');
    await settled(() => seat.socket.bufferedBytes());
    expect(seat.pongs).toEqual([]);
    peer.ws.on('ping', (data) => peer.heard.push(`ping ${data}`));
    peer.ws.resume();
    await vi.waitFor(() => expect(seat.pongs.at(-1)).toBe('2'));
    expect(peer.heard.map((frame) => (typeof frame === 'string' ? frame : frame.length))).toEqual([
      'ping 1',
      'short',
      12 * MIB,
      'behind',
      'ping 2',
    ]);
    seat.socket.close(4_001, 'bye');
    seat.socket.ping('3');
    await peer.closed;
    expect(peer.heard).not.toContain('ping 3');
  });

  test('[TR27] a frame sent while more than the backstop waits drops the socket', async () => {
    const { peer, seat, server } = await aPausedPeer({ sendBufferBytesMax: 8 * MIB });
    let sent = 0;
    while (sent < 64 && seat.socket.send(new Uint8Array(MIB))) sent += 1;
    expect(sent).toBeGreaterThanOrEqual(8);
    expect(sent).toBeLessThan(32);
    expect(await seat.whenClosed).toEqual({ code: 1_006, reason: 'the send buffer is full' });
    peer.ws.resume();
    expect((await peer.closed).code).toBe(1_006);
    expect(server.bugs).toEqual([]);
  });

  test('[TR28] our close comes after all that was sent, however slowly it is read', async () => {
    const { peer, seat } = await aPausedPeer();
    for (let sent = 0; sent < 16; sent += 1) seat.socket.send(new Uint8Array(MIB));
    seat.socket.close(1_013, 'too slow');
    expect(await seat.whenClosed).toEqual({ code: 1_013, reason: 'too slow' });
    peer.ws.resume();
    expect(await peer.closed).toEqual({ code: 1_013, reason: 'too slow' });
    expect(peer.heard).toHaveLength(16);
  });

  test('[TR29] a peer that never takes what waits for it is dropped when the grace is over', async () => {
    let giveUp: () => void = () => undefined;
    vi.spyOn(systemClock, 'after').mockImplementation((_, task) => {
      giveUp = task;
      return () => undefined;
    });
    const { peer, seat } = await aPausedPeer();
    for (let sent = 0; sent < 16; sent += 1) seat.socket.send(new Uint8Array(MIB));
    seat.socket.close(1_013, 'too slow');
    await seat.whenClosed;
    giveUp();
    peer.ws.resume();
    expect((await peer.closed).code).toBe(1_006);
    expect(peer.heard.length).toBeLessThan(16);
  });

  test('[TR42] a document of many MB, bytes or text, arrives whole and in its place, however slowly it is read', async () => {
    const { peer, seat } = await aPausedPeer({ sendBufferBytesMax: 128 * MIB });
    const [long, text] = [randomBytes(40 * MIB + 7), 'x€'.repeat(750_000)];
    const frames = ['before', long, 'after, €', new Uint8Array([1, 2, 3]), text, long, 'the end'];
    seat.socket.cork(() => {
      for (const frame of frames) expect(seat.socket.send(frame === text ? { utf8: inPieces(text) } : frame)).toBe(true);
    });
    const waiting = await settled(() => seat.socket.bufferedBytes());
    expect(waiting).toBeGreaterThan(70 * MIB);
    expect(waiting).toBeLessThan(84 * MIB);
    peer.ws.resume();
    const heard = await peer.frames(frames.length);
    expect(heard.map((frame) => digest(frame))).toEqual(frames.map((frame) => digest(frame)));
    await vi.waitFor(() => expect(seat.socket.bufferedBytes()).toBe(0));
    expect(seat.drains).toBeGreaterThan(0);
  });

  test('[TR42] a close asked for meanwhile comes after it, a peer that leaves meanwhile does no harm', async () => {
    const { peer, seat, server } = await aPausedPeer();
    seat.socket.send(randomBytes(20 * MIB));
    seat.socket.send('after');
    seat.socket.close(1_013, 'too slow');
    peer.ws.resume();
    expect(await peer.closed).toEqual({ code: 1_013, reason: 'too slow' });
    expect(peer.heard.map((frame) => frame.length)).toEqual([20 * MIB, 5]);
    const other = await aPausedPeer();
    other.seat.socket.send(randomBytes(20 * MIB));
    other.peer.ws.terminate();
    expect((await other.seat.whenClosed).code).toBe(1_006);
    expect([...server.bugs, ...other.server.bugs]).toEqual([]);
  });

  test('[TR42] a close, or a drain, comes after it also where the system takes each piece at once', async () => {
    const seated = seats();
    const { port } = await start({ socket: seated.accept });
    const [kept, closed] = [new Peer(port), new Peer(port)];
    for (const [peer, ends] of [
      [kept, false],
      [closed, true],
    ] as const) {
      await peer.opened;
      const seat = await seated.next();
      for (const bytes of [2 * MIB, 1 * MIB]) seat.socket.send(new Uint8Array(bytes));
      seat.socket.send('after');
      if (ends) seat.socket.close(4_001, 'bye');
      else await vi.waitFor(() => expect([seat.socket.bufferedBytes(), seat.drains > 0]).toEqual([0, true]));
    }
    expect((await kept.frames(3)).map((frame) => frame.length)).toEqual([2 * MIB, 1 * MIB, 5]);
    expect(await closed.closed).toEqual({ code: 4_001, reason: 'bye' });
    expect(closed.heard).toHaveLength(3);
  });

  test('[TR43] what is sent when the handler hears of a drain, and has to wait, is followed by a drain, too', async () => {
    const { peer, seat } = await aPausedPeer();
    let sent = 0;
    const fill = (): void => {
      for (; sent < 80 && seat.socket.bufferedBytes() === 0; sent += 1) seat.socket.send(new Uint8Array(MIB / 4));
    };
    seat.onDrained = fill;
    fill();
    expect(sent).toBeLessThan(80);
    peer.ws.resume();
    expect(await peer.frames(80)).toHaveLength(80);
  });
}

/** Some short, some longer than what leaves at once. */
function inPieces(text: string): Uint8Array[] {
  const bytes = Buffer.from(text);
  const ends = [1, 100_000, 500_000, bytes.length];
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}

function digest(frame: string | Uint8Array): string {
  return typeof frame === 'string' ? frame : createHash('sha256').update(frame).digest('hex');
}
