import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { readWebFiles } from '../../src/adapters/web-files.ts';

test('[WP5] what the build left is there by path and type, compressed where that saves; a missing build is none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-web-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'demo.html'), '<p>');
  const text = 'let x = 1;\n'.repeat(100);
  await writeFile(join(folder, 'assets', 'demo-X.js'), text);
  await writeFile(join(folder, 'assets', 'demo-X.js.gz'), gzipSync(text));
  await writeFile(join(folder, 'assets', 'dot.svg'), '<svg/>');
  await writeFile(join(folder, 'assets', 'dot.svg.gz'), gzipSync('<svg/>'));
  const files = await readWebFiles(pathToFileURL(`${folder}/`));
  expect([...files.keys()].sort()).toEqual(['/assets/demo-X.js', '/assets/dot.svg', '/demo.html']);
  expect(files.get('/demo.html')).toMatchObject({ contentType: 'text/html; charset=utf-8', gzipped: null });
  const script = files.get('/assets/demo-X.js')!;
  expect(script.contentType).toBe('text/javascript; charset=utf-8');
  expect(gunzipSync(script.gzipped!)).toEqual(script.bytes);
  expect(files.get('/assets/dot.svg')!.gzipped).toBeNull(); // it would be longer
  expect(script.etag).not.toBe(files.get('/demo.html')!.etag);
  expect((await readWebFiles(pathToFileURL(join(folder, 'none/')))).size).toBe(0);
});
