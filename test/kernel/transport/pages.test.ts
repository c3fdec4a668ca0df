import { describe, expect, test } from 'vitest';
import { servePages, type WebFile } from '../../../src/kernel/transport/pages.ts';
import type { HttpRequest } from '../../../src/kernel/transport/server.ts';

const file = (text: string, gzipped: Uint8Array | null = null): WebFile => ({
  contentType: 'text/html; charset=utf-8',
  bytes: Buffer.from(text),
  gzipped,
  etag: `"${text}"`,
});
const files = new Map([
  ['/demo.html', file('page')],
  ['/console.html', file('console')],
  ['/assets/demo-X2KBQ7PD.js', file('script', Buffer.from('zipped'))],
  ['/assets/mark.svg', file('mark')],
]);
const others = async () => ({ status: 404, body: 'others' });
const serve = servePages({ files, pages: { '/': '/demo.html', '/console': '/console.html' } }, others);
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  serve({ method, path, query: '', headers } as HttpRequest);

describe('a page', () => {
  test('[WP1] may load and run only its own, is never framed, and is asked about each time by its tag', async () => {
    const { status, headers, body } = await ask('/');
    expect({ status, body: String(body) }).toEqual({ status: 200, body: 'page' });
    const policy = headers!['content-security-policy']!;
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe-eval');
    expect(headers).toMatchObject({
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      etag: '"page"',
    });
    expect(await ask('/', { 'if-none-match': '"page"' })).toMatchObject({ status: 304 });
    expect(await ask('/', { 'if-none-match': '"old"' })).toMatchObject({ status: 200 });
  });

  test('[WP4] is only read: other methods are a 405', async () => {
    expect(await ask('/', {}, 'HEAD')).toMatchObject({ status: 200 });
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      expect(await ask('/', {}, method)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
      expect(await ask('/assets/demo-X2KBQ7PD.js', {}, method)).toMatchObject({ status: 405 });
    }
  });
});

test('[WP2] files whose names change may be kept for a year, and are compressed for those who take that', async () => {
  const zipped = await ask('/assets/demo-X2KBQ7PD.js', { 'accept-encoding': 'br, gzip' });
  expect(zipped.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'gzip',
    vary: 'accept-encoding',
  });
  expect(String(zipped.body)).toBe('zipped');
  const plain = await ask('/assets/demo-X2KBQ7PD.js', { 'accept-encoding': 'identity' });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(String(plain.body)).toBe('script');
});

test('[WP6] of files whose names stay the same each is asked about each time, by its tag', async () => {
  expect((await ask('/assets/mark.svg')).headers).toMatchObject({ 'cache-control': 'no-cache', etag: '"mark"' });
  expect(await ask('/assets/mark.svg', { 'if-none-match': '"mark"' })).toMatchObject({ status: 304 });
});

test('[WP7] a page is found with a slash at its end, too, and known by any of the tags that are named', async () => {
  for (const path of ['/console', '/console/']) expect(String((await ask(path)).body)).toBe('console');
  expect(await ask('/console//')).toMatchObject({ status: 404 });
  for (const tags of ['W/"console"', '"old", W/"console"', '*'])
    expect(await ask('/console/', { 'if-none-match': tags })).toMatchObject({ status: 304 });
  for (const tags of ['', 'W/"old"', 'console'])
    expect(await ask('/console', { 'if-none-match': tags })).toMatchObject({ status: 200 });
});

test('[WP3] other paths are handed on, and all when nothing was built', async () => {
  for (const path of ['/v2/rooms', '/demo.html', '/assets/', '/assets/none.js', '/constructor', '/assets/../demo.html'])
    expect(await ask(path)).toEqual({ status: 404, body: 'others' });
  const unbuilt = servePages({ files: new Map(), pages: { '/': '/demo.html' } }, others);
  expect(await unbuilt({ method: 'GET', path: '/', query: '', headers: {} } as HttpRequest)).toEqual({
    status: 404,
    body: 'others',
  });
});
