/** Signed URLs of blobs on disk as a client sees them, over both servers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DiskBlobs } from '../../../src/adapters/disk-blobs.ts';
import { makeNodeServer } from '../../../src/adapters/node-server.ts';
import { loadUws } from '../../../src/adapters/uws-server.ts';
import { systemRandom } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { attachment, safeMimeType } from '../../../src/kernel/transport/attachment.ts';
import { serveDownloads } from '../../../src/kernel/transport/downloads.ts';
import type { MakeServer, Server } from '../../../src/kernel/transport/server.ts';
import { bytesOf, MIB } from '../../support/blob-bodies.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { deafHandler } from '../../support/server-peer.ts';

const servers: readonly (readonly [name: string, load: () => Promise<MakeServer>])[] = [
  ['uWebSockets.js', loadUws],
  ['node:http', async () => makeNodeServer],
];

describe.each(servers)('downloads over %s', (_, load) => {
  const clock = manualClock();
  let directory: string;
  let server: Server;
  let blobs: DiskBlobs;
  let origin = '';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-blobs-'));
    blobs = new DiskBlobs({
      directory,
      publicUrl: () => origin,
      secrets: [new Uint8Array(32)],
      clock,
      random: systemRandom,
      log: silentLog,
    });
    const make = await load();
    server = make({
      http: serveDownloads({ blobs, grantOf: (request) => blobs.grantOf(request), log: silentLog }),
      upgrades: () => false,
      socket: () => deafHandler,
      frameBytesMax: MIB,
      sendBufferBytesMax: MIB,
      reportBug: (error) => {
        throw error;
      },
    });
    origin = `http://127.0.0.1:${(await server.listen({ host: '127.0.0.1', port: 0 })).port}`;
    await blobs.put('v1/digits', Buffer.from('0123456789'));
    await blobs.put('v1/empty', new Uint8Array());
    await blobs.put('v1/large', bytesOf(9 * MIB));
  });
  afterAll(async () => {
    await server.close();
    await rm(directory, { recursive: true });
  });

  const urlOf = (key: string, { fileName = 'digits.txt', mimeType = 'text/plain' } = {}): Promise<string> =>
    blobs.presign(key, { validMs: 60_000, fileName, mimeType });
  const get = async (key: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(await urlOf(key), { headers });

  test('[BL5] the URL downloads the file under its name and type, and a browser will save it, not run it', async () => {
    const answer = await fetch(await urlOf('v1/digits', { fileName: 'Zahlen "ä"\r\n.html', mimeType: 'text/html' }));
    expect([answer.status, await answer.text()]).toEqual([200, '0123456789']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': `attachment; filename="Zahlen _____.html"; filename*=UTF-8''Zahlen%20%22%C3%A4%22%0D%0A.html`,
      'content-length': '10',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
    });
  });

  test('[BL5] a large file and an empty one arrive whole', async () => {
    const large = new Uint8Array(await (await get('v1/large')).arrayBuffer());
    expect(Buffer.compare(large, bytesOf(9 * MIB))).toBe(0);
    const empty = await get('v1/empty', { range: 'bytes=0-' });
    expect([empty.status, empty.headers.get('content-range')]).toEqual([416, 'bytes */0']);
    expect([(await get('v1/empty')).status, await (await get('v1/empty')).text()]).toEqual([200, '']);
  });

  test.each([
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-30', '0123456789', 'bytes 0-9/10'],
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
  ])('[BL5] a range is answered with 206: %s', async (range, text, contentRange) => {
    const answer = await get('v1/digits', { range });
    expect([answer.status, await answer.text(), answer.headers.get('content-range')]).toEqual([206, text, contentRange]);
    expect(answer.headers.get('content-length')).toBe(String(text.length));
  });

  test.each(['bytes=10-', 'bytes=10-12', 'bytes=-0'])('[BL5] a range beyond the end is a 416: %s', async (range) => {
    const answer = await get('v1/digits', { range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, 'bytes */10']);
    expect(await answer.json()).toMatchObject({ error: 'RANGE_NOT_SATISFIABLE' });
  });

  test.each(['bytes=4-2', 'bytes=1-2,4-5', 'bytes=', 'lines=1-2', 'bytes=a-b'])(
    '[BL5] what is no single range is answered whole: %s',
    async (range) => {
      const answer = await get('v1/digits', { range });
      expect([answer.status, await answer.text()]).toEqual([200, '0123456789']);
    },
  );

  test('[BL5] a download goes on where it broke off if the file is the same', async () => {
    const etag = (await get('v1/digits')).headers.get('etag')!;
    expect((await get('v1/digits', { range: 'bytes=5-', 'if-range': etag })).status).toBe(206);
    expect((await get('v1/digits', { range: 'bytes=5-', 'if-range': '"other"' })).status).toBe(200);
  });

  test('[BL5] HEAD tells the size and sends nothing; pages of any origin may ask; nothing else is understood', async () => {
    const url = await urlOf('v1/digits');
    const head = await fetch(url, { method: 'HEAD', headers: { range: 'bytes=1-2' } });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', '']);
    const preflight = await fetch(url, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, 'Range, If-Range']);
    const put = await fetch(url, { method: 'PUT', body: 'x' });
    expect([put.status, put.headers.get('allow'), await put.json()]).toMatchObject([
      405,
      'GET, HEAD',
      { error: 'METHOD_NOT_ALLOWED' },
    ]);
  });

  test('[BL4] an expired or changed URL is a 403, one of a blob that is gone a 404', async () => {
    await blobs.put('v1/gone', bytesOf(1));
    const [url, gone] = [await urlOf('v1/digits'), await urlOf('v1/gone')];
    await blobs.delete('v1/gone');
    expect([(await fetch(gone)).status, await (await fetch(gone)).json()]).toMatchObject([404, { error: 'RESOURCE_NOT_FOUND' }]);
    expect((await fetch(url.replace('v1/digits', 'v1/large'))).status).toBe(403);
    expect((await fetch(`${origin}/blobs/v1/digits`)).status).toBe(403);
    clock.advance(60_000);
    const expired = await fetch(url);
    expect([expired.status, await expired.json()]).toMatchObject([403, { error: 'DOWNLOAD_REFUSED' }]);
  });
});

test.each([
  ['a.txt', `attachment; filename="a.txt"; filename*=UTF-8''a.txt`],
  ['100%.txt', `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`],
  [`it's (1)*.txt`, `attachment; filename="it's (1)*.txt"; filename*=UTF-8''it%27s%20%281%29%2A.txt`],
  ['half \ud800', `attachment; filename="half _"; filename*=UTF-8''half%20%EF%BF%BD`],
])('[BL5] any name fits into its header: %j', (fileName, header) => {
  expect(attachment(fileName)).toBe(header);
});

test.each([
  ['text/plain; charset=utf-8', 'text/plain; charset=utf-8'],
  ['image/svg+xml', 'image/svg+xml'],
  ['text/html\r\nset-cookie: a=b', 'application/octet-stream'],
  ['nothing', 'application/octet-stream'],
])('[BL5] a type that is none is that of any bytes: %j', (mimeType, safe) => {
  expect(safeMimeType(mimeType)).toBe(safe);
});
