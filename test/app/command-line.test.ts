/** The command line of the server, as a function. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { helpText, readCommandLine } from '../../src/app/command-line.ts';
import { readSettings, SETTINGS } from '../../src/config.ts';
import { compiled } from '../support/compiled.ts';

test('[CL1] every setting but the secret keys is a flag, and what a flag says is what the setting becomes', () => {
  for (const [name, schema] of Object.entries(SETTINGS) as [string, { type?: string; default?: unknown }][]) {
    const flag = `--${name.toLowerCase().replaceAll('_', '-')}`;
    const isSecretKey = name === 'SECRET_KEY' || name === 'OTHER_SECRET_KEY';
    const value = isSecretKey ? 'sk_0123456789abcdef' : String(schema.default ?? 'x');
    const line = readCommandLine([`${flag}=${value}`]);
    expect(line).toEqual(
      isSecretKey
        ? { does: 'refuse', sentence: expect.stringContaining(name) }
        : { does: 'serve', environment: { [name]: value } },
    );
  }
  const line = readCommandLine(['--port', '9000', '--s3-force-path-style', '--config', 'config/sdk.json']);
  if (line.does !== 'serve') throw new Error('expected to serve');
  expect(line.environment).toEqual({ PORT: '9000', S3_FORCE_PATH_STYLE: 'true', CONFIG_FILE: 'config/sdk.json' });
  expect(readSettings(line.environment)).toMatchObject({ PORT: 9000, S3_FORCE_PATH_STYLE: true });
});

test.each([
  [['--prot', '9000'], '--prot'],
  [['serve'], 'serve'],
  [['--port'], '--port'],
  [['--port='], '--port'],
])('[CL2] %j is refused with a sentence that names it', (args, named) => {
  expect(readCommandLine(args)).toEqual({ does: 'refuse', sentence: expect.stringMatching(new RegExp(`${named}\\b.*--help`)) });
});

test('[CL3] --help names the common settings and their defaults, in lines that fit a terminal of 200', () => {
  expect(readCommandLine(['--help'])).toEqual({ does: 'help' });
  expect(readCommandLine(['-h', '--port', '1'])).toEqual({ does: 'help' });
  expect(readCommandLine(['--version'])).toEqual({ does: 'version' });
  expect(helpText()).toMatch(/--port N\s+Port for clients.*\[8080\]/);
  expect(
    Math.max(
      ...helpText()
        .split('\n')
        .map(({ length }) => length),
    ),
  ).toBeLessThan(200);
});

test('[CL4] the process ends with 0 after --help and with 2 after a wrong flag or setting, before it touches anything', async () => {
  const main = await compiled('src/main.ts');
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [main, ...args], { timeout: 20_000 }).then(
      ({ stdout }) => ({ code: 0, text: stdout }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, text: stderr }),
    );
  const [help, flag, setting] = await Promise.all([run('--help'), run('--prot', '1'), run('--port', 'eighty')]);
  expect(help).toEqual({ code: 0, text: helpText() });
  expect(flag).toEqual({ code: 2, text: expect.stringContaining('--prot') });
  expect(setting).toEqual({ code: 2, text: expect.stringContaining('PORT') });
});
