/** The built server as a process: what it prints, when it refuses to start, how it ends, and what is still there afterwards. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Liveblocks } from '@liveblocks/node';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../support/e2e/free-port.ts';
import { aServerProcess, build, type ServerProcess } from '../support/e2e/process.ts';
import { isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';

const KEYS = { SECRET_KEY: 'sk_for_the_start_test_only', PUBLIC_KEY: 'pk_for_the_start_test_only' };
/** As if they were not set. */
const NO_KEYS = { SECRET_KEY: '', PUBLIC_KEY: '' };
const postgres = usePostgres();

async function aFolder(): Promise<string> {
  const folder = await aDataDir('atrium-start-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

/** A process that serves; the back end uses the keys it was given or, without any, those it printed. */
async function started(
  settings: Readonly<Record<string, string>>,
): Promise<{ server: ServerProcess; port: number; backend: Liveblocks }> {
  const port = await freePort();
  const server = aServerProcess({ ...KEYS, PORT: String(port), ...settings });
  await server.ready(port);
  const { secretKey } =
    settings.SECRET_KEY === ''
      ? await until('it has printed its keys', () => keysIn(server.stdout))
      : { secretKey: KEYS.SECRET_KEY };
  return { server, port, backend: new Liveblocks({ secret: secretKey, baseUrl: `http://127.0.0.1:${port}` }) };
}

describe.skipIf(isExternal)('the process', () => {
  beforeAll(build);

  test('[E2E-P1] it prints its address, development keys and three things to paste, all of which work; SIGTERM sends everybody away and exits 0', async () => {
    const { server, port } = await started({ DATA_DIR: await aFolder(), ...NO_KEYS });
    const stdout = await until('it has said all', () => /WebsocketProvider.*\n/.test(server.stdout) && server.stdout);
    const url = `http://127.0.0.1:${port}`;
    const { publicKey } = keysIn(stdout);
    expect(stdout).toMatch(`ready at ${url}`);
    expect(stdout).toContain(`createClient({ baseUrl: '${url}', publicApiKey: '${publicKey}' }).enterRoom('hello')`);
    expect(stdout).toContain(
      `new WebsocketProvider('ws://127.0.0.1:${port}/yjs', 'hello', doc, { params: { pubkey: '${publicKey}' } })`,
    );

    const [command] = stdout.match(/curl(?:\\\n|[^\n])*/)!;
    expect(JSON.parse(await run(command))).toMatchObject({ type: 'room', id: 'hello' });
    const sockets = [`/v8?roomId=hello&pubkey=${publicKey}`, `/yjs/hello?pubkey=${publicKey}`].map(
      (path) => new WebSocket(`ws://127.0.0.1:${port}${path}`),
    );
    await Promise.all(sockets.map((socket) => once(socket, 'message')));
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')));
    expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null });
    expect((await closed).map(([code]) => code)).toEqual([1012, 1012]);
  });

  test('[E2E-P2] a second process on the same folder or port ends with one clear sentence, and the first one goes on', async () => {
    const DATA_DIR = await aFolder();
    const first = await started({ DATA_DIR });
    const sameFolder = aServerProcess({ ...KEYS, PORT: String(await freePort()), DATA_DIR });
    expect((await sameFolder.exited).code).not.toBe(0);
    expect(sentences(sameFolder.output)).toEqual([expect.stringContaining(DATA_DIR)]);

    const samePort = aServerProcess({
      ...KEYS,
      PORT: String(first.port),
      DATA_DIR: await aFolder(),
      DATABASE_URL: await postgres.database(),
    });
    expect((await samePort.exited).code).not.toBe(0);
    expect(sentences(samePort.output)).toEqual([expect.stringContaining(String(first.port))]);
    expect((await first.backend.createRoom('still-there', { defaultAccesses: [] })).id).toBe('still-there');
  });

  test.each([
    ['an unusable port', { PORT: 'eighty' }, 'PORT'],
    ['a secret key of the wrong form', { SECRET_KEY: 'secret' }, 'SECRET_KEY'],
    ['production without keys', { NODE_ENV: 'production', ...NO_KEYS }, 'SECRET_KEY'],
  ])('[E2E-P3] %s refuses to start, naming the setting', async (_, settings, name) => {
    const server = aServerProcess({ ...KEYS, PORT: String(await freePort()), DATA_DIR: await aFolder(), ...settings });
    expect((await server.exited).code).not.toBe(0);
    expect(sentences(server.output)).toEqual([expect.stringContaining(name)]);
  });

  test('[E2E-P4] what was acknowledged is there after SIGTERM and after SIGKILL, and so are the development keys', async () => {
    const settings = { DATA_DIR: await aFolder(), ...NO_KEYS };
    const first = await started(settings);
    await first.backend.createRoom('kept', { defaultAccesses: ['*:write'], metadata: { a: '1' } });
    await first.backend.initializeStorageDocument('kept', { liveblocksType: 'LiveObject', data: { n: 1 } });
    expect(await first.server.stop('SIGTERM')).toEqual({ code: 0, signal: null });

    const second = await started(settings);
    expect(await second.backend.getStorageDocument('kept', 'json')).toEqual({ n: 1 });
    await second.backend.mutateStorage('kept', ({ root }: any) => root.set('n', 2));
    await second.server.stop('SIGKILL');

    const third = await started(settings);
    expect(await third.backend.getStorageDocument('kept', 'json')).toEqual({ n: 2 });
    expect((await third.backend.getRoom('kept')).metadata).toEqual({ a: '1' });
  });
});

/** The development keys as printed. */
function keysIn(stdout: string): { secretKey: string; publicKey: string } {
  const [secretKey, publicKey] = [/sk_[\w-]+/, /pk_[\w-]+/].map((pattern) => stdout.match(pattern)?.[0]);
  if (secretKey === undefined || publicKey === undefined) throw new Error(`no keys in: ${stdout}`);
  return { secretKey, publicKey };
}

/** Lines that were said, without log lines below warning. */
function sentences(output: string): string[] {
  return output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('{"level":30'));
}

async function run(command: string): Promise<string> {
  return (await promisify(execFile)('bash', ['-c', command])).stdout;
}
