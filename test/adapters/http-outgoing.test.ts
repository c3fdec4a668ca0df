import { getEventListeners } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HttpOutgoing, type HttpOutgoingOptions } from '../../src/adapters/http-outgoing.ts';
import { isPublicAddress } from '../../src/adapters/special-addresses.ts';
import { until } from '../support/e2e/until.ts';

/** The port of a server of this test. */
async function listening(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
const never = new AbortController().signal;
const post = (url: string, options: HttpOutgoingOptions, { timeoutMs = 5_000, signal = never } = {}) =>
  new HttpOutgoing(options).post({ url, headers: { 'x-a': 'b', 'content-length': '2' }, body: '{}', timeoutMs, signal });
/** A name that leads there, and how often that was asked. */
const leadingTo = (...addresses: string[]) => {
  const asked: string[] = [];
  const addressesOf = async (name: string): Promise<string[]> => {
    asked.push(name);
    return addresses;
  };
  return { asked, names: { addressesOf } };
};

describe('addresses', () => {
  test.each([
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.0.1', '169.254.169.254', '172.16.0.1'],
    ...['172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1', '198.19.255.255', '198.51.100.7'],
    ...['203.0.113.9', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::ffff:8.8.8.8', '::ffff:10.0.0.1', '::7f00:1', '64:ff9b::a00:1', '100::1', '2001::1', '2001:1ff:ffff::1'],
    ...['2001:db8::1', '2002:a00:1::', '3fff::1', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fec0::1', 'ff02::1'],
    ...['', 'x', '1.2.3', 'localhost'],
  ])('[OUT1] %s is special', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each([
    ...[
      '8.8.8.8',
      '1.1.1.1',
      '9.255.255.255',
      '11.0.0.1',
      '100.63.255.255',
      '100.128.0.1',
      '169.253.0.1',
      '172.15.0.1',
      '172.32.0.1',
    ],
    ...[
      '192.1.0.1',
      '192.167.0.1',
      '198.17.0.1',
      '198.20.0.1',
      '223.255.255.255',
      '2606:4700::1111',
      '2a00:1450::1',
      '2001:4860::8888',
    ],
  ])('[OUT1] %s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test('[OUT2] what shows without a look-up is objected to at once', () => {
    const objection = (url: string, targets: 'public' | 'all') => new HttpOutgoing({ targets }).objectionTo(new URL(url));
    expect(objection('https://example.com/', 'public')).toBeNull();
    expect(objection('https://8.8.8.8:444/', 'public')).toBeNull();
    expect(objection('http://example.com/', 'public')).toBe('must begin with https://');
    expect(objection('file:///etc/passwd', 'all')).toBe('must begin with https:// or http://');
    for (const url of ['https://127.1/', 'https://2130706433/', 'https://0177.0.0.1/', 'https://[::]/', 'https://[fe80::1]/'])
      expect(objection(url, 'public')).toBe('is a private or special address');
    expect(objection('https://a@example.com/', 'all')).toBe('may not hold credentials');
    expect(objection('http://127.0.0.1/', 'all')).toBeNull();
  });
});

describe('sending', () => {
  test('[OUT3] a name that leads to a special address is not followed, nor is anything connected to', async () => {
    let isReached = false;
    const port = await listening(() => {
      isReached = true;
    });
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254', 'not an address']) {
      const outcome = await post(`https://hooks.test:${port}/`, { targets: 'public', ...leadingTo(address) });
      expect(outcome).toEqual({ kind: 'failed', problem: 'its name leads to a private or special address' });
    }
    expect(await post(`https://127.0.0.1:${port}/`, { targets: 'public' })).toEqual({
      kind: 'failed',
      problem: 'the address is a private or special address',
    });
    expect(isReached).toBe(false);
  });

  test('[OUT3] of several addresses the special ones are left out', async () => {
    let isReached = false;
    const port = await listening((_, response) => {
      isReached = true;
      response.end();
    });
    const names = leadingTo('127.0.0.1', '192.0.2.1');
    expect((await post(`http://hooks.test:${port}/`, { targets: 'all', ...leadingTo('127.0.0.1') })).kind).toBe('answered');
    isReached = false;
    await post(`https://hooks.test:${port}/`, { targets: 'public', ...names }, { timeoutMs: 200 });
    expect([isReached, names.asked]).toEqual([false, ['hooks.test']]);
  });

  test('[OUT4] the name is looked up once, and the connection goes to the address that was judged', async () => {
    const seen: unknown[] = [];
    const port = await listening((request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', () => {
        seen.push([request.method, request.url, request.headers.host, request.headers['x-a'], body]);
        response.writeHead(204).end();
      });
    });
    const names = leadingTo('127.0.0.1');
    expect(await post(`http://hooks.test:${port}/take?a=b`, { targets: 'all', ...names })).toEqual({
      kind: 'answered',
      status: 204,
    });
    expect(names.asked).toEqual(['hooks.test']);
    expect(seen).toEqual([['POST', '/take?a=b', `hooks.test:${port}`, 'b', '{}']]);
  });

  test('[OUT4] localhost is this machine, whatever DNS there is', async () => {
    const port = await listening((_, response) => void response.writeHead(204).end());
    expect(await post(`http://localhost:${port}/`, { targets: 'all' })).toEqual({ kind: 'answered', status: 204 });
    expect(await post(`https://localhost:${port}/`, { targets: 'public' })).toMatchObject({
      problem: 'its name leads to a private or special address',
    });
  });

  test('[OUT5] a redirect is an answer, and is not followed', async () => {
    const paths: unknown[] = [];
    const port = await listening((request, response) => {
      paths.push(request.url);
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    expect(await post(`http://127.0.0.1:${port}/`, { targets: 'all' })).toEqual({ kind: 'answered', status: 307 });
    expect(paths).toEqual(['/']);
  });

  test('[OUT6] an answer without end is cut off, and counts', async () => {
    let isClosed = false;
    const port = await listening((_, response) => {
      response.writeHead(200);
      response.on('close', () => {
        isClosed = true;
      });
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(10_000), more);
      };
      more();
    });
    expect(await post(`http://127.0.0.1:${port}/`, { targets: 'all' })).toEqual({ kind: 'answered', status: 200 });
    await until('the connection has ended', () => isClosed);
  });

  test('[OUT6] an answer whose head has come in time counts, however slow the rest is', async () => {
    const port = await listening((_, response) => void response.writeHead(200).write('x'));
    expect(await post(`http://127.0.0.1:${port}/`, { targets: 'all' }, { timeoutMs: 200 })).toEqual({
      kind: 'answered',
      status: 200,
    });
  });

  test('[OUT7] no answer in time, no connection, no HTTP, no name: each fails with a few words', async () => {
    const silent = await listening(() => undefined);
    const problem = async (url: string, options: Partial<HttpOutgoingOptions> = {}, timeoutMs = 2_000) => {
      const outcome = await post(url, { targets: 'all', ...options }, { timeoutMs });
      return outcome.kind === 'failed' ? outcome.problem : outcome;
    };
    expect(await problem(`http://127.0.0.1:${silent}/`, {}, 300)).toBe('no answer within 0.3 s');
    const gone = await listening(() => undefined);
    const garbage = createTcpServer((socket) => socket.end('hello\r\n\r\n'));
    await new Promise<void>((resolve) => garbage.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void garbage.close());
    expect(await problem(`http://127.0.0.1:${(garbage.address() as AddressInfo).port}/`)).toMatch(/^HPE_/);
    const switching = createTcpServer((socket) =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
      ),
    );
    await new Promise<void>((resolve) => switching.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void switching.close());
    expect(await problem(`http://127.0.0.1:${(switching.address() as AddressInfo).port}/`)).toBe('closed without an answer');
    expect(await problem(`https://127.0.0.1:${gone}/`)).toMatch(/SSL|EPROTO/);
    expect(
      await problem('http://hooks.test/', {
        names: { addressesOf: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })) },
      }),
    ).toBe('ENOTFOUND');
    expect(await problem('http://hooks.test/', { names: { addressesOf: () => new Promise(() => undefined) } }, 100)).toBe(
      'no answer within 0.1 s',
    );
    expect(await problem('not a URL')).toBe('ERR_INVALID_URL');
  });

  test('[OUT8] it can be given up', async () => {
    const port = await listening(() => end.abort());
    const end = new AbortController();
    const outcome = await post(`http://127.0.0.1:${port}/`, { targets: 'all' }, { signal: end.signal });
    expect(outcome).toEqual({ kind: 'failed', problem: 'ABORT_ERR' });
    expect(await post(`http://127.0.0.1:${port}/`, { targets: 'all' }, { signal: end.signal })).toEqual(outcome);
  });

  test('[OUT9] it leaves nothing in the signal that it may be given up by, which outlives it', async () => {
    const port = await listening((_, answer) => answer.end());
    const { signal } = new AbortController();
    const leadsNowhere = { targets: 'all', names: { addressesOf: async () => ['127.0.0.1'] } } as const;
    expect((await post(`http://127.0.0.1:${port}/`, { targets: 'all' }, { signal })).kind).toBe('answered');
    expect((await post('http://nowhere.test:1/', leadsNowhere, { signal })).kind).toBe('failed');
    const held = Object.getOwnPropertySymbols(signal).map((symbol) => (signal as unknown as Record<symbol, unknown>)[symbol]);
    const followers = held.filter((one) => (one as { size?: number } | null)?.size); // sets of Node's own, which are no `Set` of ours
    expect([...getEventListeners(signal, 'abort'), ...followers]).toEqual([]);
  });
});
