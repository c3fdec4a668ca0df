import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readPreset } from '../../src/adapters/preset-file.ts';

test.each([
  ['no file', null, 'cannot be read (ENOENT'],
  ['a file that was cut off', '{"PORT": 80', 'is not JSON'],
  ['an empty file', '', 'is not JSON.'],
  ['a list', '[]', 'must hold one JSON object'],
])('[CL5] %s is refused with a sentence that names the file', (_, text, what) => {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-preset-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'settings.json');
  if (text !== null) writeFileSync(path, text);
  expect(() => readPreset(path)).toThrow(`The file ${path} of --config (CONFIG_FILE) ${what}`);
});

test.each(['{"SECRET_KEY": sk_0123}', '{"SECRET_KEY": "sk_0123" "PORT": 80}', '{"SECRET_KEY": "sk_0123'])(
  '[CL5] of a file that is not JSON nothing is shown, for it may be of a secret: %s',
  (text) => {
    const folder = mkdtempSync(join(tmpdir(), 'atrium-preset-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'settings.json');
    writeFileSync(path, text);
    expect(() => readPreset(path)).toThrow(/ is not JSON( \((line \d+ column|position) \d+\))?\.$/);
  },
);

test('[CL5] a file of settings is read, and without one there are none', () => {
  expect(readPreset('config/sdk.json')).toHaveProperty('STORAGE_TYPE_KEY');
  expect(readPreset(undefined)).toEqual({});
  expect(readPreset('')).toEqual({});
});
