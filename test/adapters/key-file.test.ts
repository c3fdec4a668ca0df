import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { developmentKeys, type Keys } from '../../src/adapters/key-file.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { compiled } from '../support/compiled.ts';
import { aDataDir } from '../support/postgres.ts';

const BUILT = await compiled('src/adapters/key-file.ts');
const FILE = 'development-keys.json';

async function aFolder(): Promise<string> {
  const folder = await aDataDir('atrium-keys-');
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const keysOf = (dataDir: string): Promise<Keys> => developmentKeys({ dataDir, random: systemRandom });

test('[CG5] development keys are made once, for this user alone, and nothing is left beside them', async () => {
  const dataDir = join(await aFolder(), 'made', 'for them');
  const keys = await keysOf(dataDir);
  expect(keys).toEqual({
    secretKey: expect.stringMatching(/^sk_dev_\w{48}$/),
    publicKey: expect.stringMatching(/^pk_dev_\w{48}$/),
  });
  expect(await keysOf(dataDir)).toEqual(keys);
  expect(await readdir(dataDir)).toEqual([FILE]);
  expect((await stat(join(dataDir, FILE))).mode & 0o777).toBe(0o600);
});

test('[CG5] of two that start at once both have the keys of the faster one', async () => {
  const dataDir = await aFolder();
  const faster = JSON.stringify({ secretKey: 'sk_dev_faster', publicKey: 'pk_dev_faster' });
  const bytes = (size: number): Uint8Array => {
    writeFileSync(join(dataDir, FILE), faster);
    return systemRandom.bytes(size);
  };
  expect(await developmentKeys({ dataDir, random: { ...systemRandom, bytes } })).toEqual(JSON.parse(faster));
  expect(await readFile(join(dataDir, FILE), 'utf8')).toBe(faster);
  expect(await readdir(dataDir)).toEqual([FILE]);
});

test('[CG5] a disk that takes no more leaves no file that is cut off: the next start makes the keys', async () => {
  const dataDir = await aFolder();
  const program = `
    const { developmentKeys } = await import('${BUILT}');
    await developmentKeys({ dataDir: '${dataDir}', random: { bytes: (size) => Buffer.alloc(size), uuid: () => 'aside' } });`;
  const node = [process.execPath, '--input-type=module', '-e', program];
  const limited = ['-c', 'ulimit -f 0; exec "$@"', 'sh', ...node]; // a file may be made, and has no room for a byte
  await expect(promisify(execFile)('/bin/sh', limited)).rejects.toMatchObject({ stderr: expect.stringContaining('EFBIG') });
  expect(await readdir(dataDir)).toEqual([]);
  expect((await keysOf(dataDir)).secretKey).toMatch(/^sk_dev_/);
});

test.each([
  ['nothing', ''],
  ['half of what it had', '{\n  "secretKey": "sk_dev_01'],
  ['something else', 'null'],
  ['one key', '{ "secretKey": "sk_dev_0123" }'],
  ['keys that are no texts', '{ "secretKey": 1, "publicKey": 2 }'],
])('[CG5] a file with %s refuses to start, names itself, says what to do, and stays', async (_, text) => {
  const dataDir = await aFolder();
  const path = join(dataDir, FILE);
  await writeFile(path, text);
  await expect(keysOf(dataDir)).rejects.toMatchObject({
    name: 'StartRefused',
    message: `The file ${path} holds no keys; delete it to have new ones made.`,
  });
  expect(await readFile(path, 'utf8')).toBe(text);
});

test('[CG5] a folder that cannot be made, or not be written to, refuses to start with a sentence', async () => {
  const folder = await aFolder();
  await writeFile(join(folder, 'file'), '');
  await expect(keysOf(join(folder, 'file', 'below'))).rejects.toMatchObject({
    name: 'StartRefused',
    message: expect.stringMatching(/^DATA_DIR cannot hold the development keys \(ENOTDIR: /),
  });
});
