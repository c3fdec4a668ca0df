/** `npm run load` as its users run it: flags, what it prints, exit codes, and that it leaves nothing behind. */
import { execFile } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { readPlan } from '../../bench/users/plan.ts';
import { compiled } from '../support/compiled.ts';
import { aServer } from '../support/e2e/server.ts';

const server = await aServer();
const program = await compiled('bench/users/run.ts');

function load(...flags: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, SECRET_KEY: server.secretKey, PUBLIC_KEY: server.publicKey };
  const args = [program, ...flags];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

const SMALL = ['--rooms', '3', '--clients', '3', '--rate', '5', '--minutes', '0.02'];

describe('npm run load', () => {
  test.each(['storage', 'presence', 'yjs'])(
    '[LO1] %s: all that is sent arrives at everybody, and the rooms are gone afterwards',
    async (work) => {
      const { code, stdout } = await load('--url', server.url, ...SMALL, '--work', work);
      expect(stdout).toMatch(/sent {2,}(1[5-9]|[2-9]\d)/);
      expect(stdout).toMatch(/lost {2,}0\n/);
      expect(stdout).toMatch(/p50 [\d.]+ {2}p90 [\d.]+ {2}p99/);
      expect(code).toBe(0);
      const { data } = await server.backend.getRooms({ query: 'roomId^"load-"' });
      expect(data).toEqual([]);
    },
  );

  test('[LO2] a limit that is not kept is named, and the exit code is 1', async () => {
    const { code, stdout } = await load('--url', server.url, ...SMALL, '--p50-ms-max', '0.001');
    expect(stdout).toContain('--p50-ms-max is 0.001, and it was ');
    expect(code).toBe(1);
  });

  test('[LO3] a wrong flag, or a server that is not there, is one line and the exit code 2', async () => {
    const [flag, nowhere] = await Promise.all([load('--rooms', 'many'), load('--url', 'http://127.0.0.1:1', ...SMALL)]);
    expect(flag).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--rooms takes .*\n$/) });
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringMatching(/^.+\n$/) });
  });

  test('[LO4] flags have defaults and bounds', () => {
    expect(readPlan([])).toMatchObject({ rooms: 100, clients: 2, rate: 2, seconds: 60, work: 'storage', url: null });
    expect(readPlan(['--help'])).toBeNull();
    for (const wrong of [
      ['--rooms', '0'],
      ['--rooms', '1.5'],
      ['--rate', '-1'],
      ['--work', 'nothing'],
      ['--url', 'localhost'],
      ['--x'],
    ])
      expect(() => readPlan(wrong)).toThrow(wrong[0]);
  });
});
