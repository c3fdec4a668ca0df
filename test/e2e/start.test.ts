/** The built server as a process: what it prints, when it refuses to start, how it ends, and what is still there afterwards. */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Liveblocks } from '@liveblocks/node';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/e2e/free-port.ts';
import { build, ServerProcess } from '../support/e2e/process.ts';
import { isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir } from '../support/postgres.ts';

const KEYS = { SECRET_KEY: 'sk_for_the_start_test_only', PUBLIC_KEY: 'pk_for_the_start_test_only' };

async function aFolder(): Promise<string> {
  const folder = await aDataDir('atrium-start-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

async function started(
  settings: Readonly<Record<string, string>>,
): Promise<{ server: ServerProcess; port: number; backend: Liveblocks }> {
  const port = await freePort();
  const server = new ServerProcess({ PORT: String(port), ...KEYS, ...settings });
  await server.ready(port);
  return { server, port, backend: new Liveblocks({ secret: KEYS.SECRET_KEY, baseUrl: `http://127.0.0.1:${port}` }) };
}

describe.skipIf(isExternal)('the process', () => {
  beforeAll(build);

  test('[E2E-P1] it prints its address, its development keys and three things to paste; the keys work and are kept', async () => {
    const folder = await aFolder();
    const first = await started({ DATA_DIR: folder, SECRET_KEY: '', PUBLIC_KEY: '' });
    const stdout = await until(
      'it has said how to use it',
      () => /WebsocketProvider.*\n/.test(first.server.stdout) && first.server.stdout,
    );
    expect(stdout).toContain(`http://127.0.0.1:${first.port}`);
    const [secret] = stdout.match(/sk_[\w-]+/) ?? [];
    const [publicKey] = stdout.match(/pk_[\w-]+/) ?? [];
    expect(secret).toBeDefined();
    expect(publicKey).toBeDefined();
    expect(stdout).toMatch(/curl .*\/v2\/rooms/);
    expect(stdout).toMatch(/createClient\(/);
    expect(stdout).toMatch(/new WebsocketProvider\(/);

    const [command] = stdout.match(/curl[^\n]*(?:\\\n[^\n]*)*/)!;
    const room = await run(command);
    expect(JSON.parse(room)).toMatchObject({ type: 'room' });

    expect(await first.server.stop('SIGTERM')).toEqual({ code: 0, signal: null });
    const second = await started({ DATA_DIR: folder, SECRET_KEY: '', PUBLIC_KEY: '' });
    await until('it has said the same keys', () => [secret!, publicKey!].every((key) => second.server.stdout.includes(key)));
  });

  test('[E2E-P2] a second process on the same folder ends with one clear sentence, and the first one goes on', async () => {
    const DATA_DIR = await aFolder();
    const first = await started({ DATA_DIR });
    const second = new ServerProcess({ PORT: String(await freePort()), DATA_DIR, ...KEYS });
    expect((await second.exited).code).not.toBe(0);
    expect(sentences(second.output)).toEqual([expect.stringContaining(DATA_DIR)]);
    expect((await first.backend.createRoom('still-there', { defaultAccesses: [] })).id).toBe('still-there');
  });

  test('[E2E-P2] a second process on the same port ends with one clear sentence, and the first one goes on', async () => {
    const first = await started({ DATA_DIR: await aFolder() });
    const second = new ServerProcess({ PORT: String(first.port), DATA_DIR: await aFolder(), ...KEYS });
    expect((await second.exited).code).not.toBe(0);
    expect(sentences(second.output)).toEqual([expect.stringContaining(String(first.port))]);
    expect((await first.backend.createRoom('still-there', { defaultAccesses: [] })).id).toBe('still-there');
  });

  test.each([
    ['an unusable port', { PORT: 'eighty' }, 'PORT'],
    ['a secret key of the wrong form', { SECRET_KEY: 'secret' }, 'SECRET_KEY'],
    ['production without keys', { NODE_ENV: 'production', SECRET_KEY: '', PUBLIC_KEY: '' }, 'SECRET_KEY'],
  ])('[E2E-P3] %s refuses to start, naming the setting', async (_, settings, name) => {
    const server = new ServerProcess({ PORT: String(await freePort()), DATA_DIR: await aFolder(), ...KEYS, ...settings });
    expect((await server.exited).code).not.toBe(0);
    expect(sentences(server.output)).toEqual([expect.stringContaining(name)]);
  });

  test('[E2E-P4] what was acknowledged is there after SIGTERM and after SIGKILL', async () => {
    const DATA_DIR = await aFolder();
    const first = await started({ DATA_DIR });
    await first.backend.createRoom('kept', { defaultAccesses: ['*:write'], metadata: { a: '1' } });
    await first.backend.initializeStorageDocument('kept', { liveblocksType: 'LiveObject', data: { n: 1 } });
    expect(await first.server.stop('SIGTERM')).toEqual({ code: 0, signal: null });

    const second = await started({ DATA_DIR });
    expect(await second.backend.getStorageDocument('kept', 'json')).toEqual({ n: 1 });
    await second.backend.mutateStorage('kept', ({ root }: any) => root.set('n', 2));
    await second.server.stop('SIGKILL');

    const third = await started({ DATA_DIR });
    expect(await third.backend.getStorageDocument('kept', 'json')).toEqual({ n: 2 });
    expect((await third.backend.getRoom('kept')).metadata).toEqual({ a: '1' });
  });
});

/** Lines that were said, without log lines below warning. */
function sentences(output: string): string[] {
  return output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('{"level":30'));
}

async function run(command: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-c', command])).stdout;
}
