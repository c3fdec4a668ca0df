/** Atrium as built, with its own Postgres on an empty directory: all checks on, durability strict. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORES } from '../config.ts';
import { type Started, start, stop } from '../processes.ts';
import { type Address, ask, freePort, HOST, KEYS, type Running, type Server, untilServing } from './server.ts';

const MAIN = new URL('../../dist/main.js', import.meta.url);

const SETTINGS = {
  HOST,
  LOG_LEVEL: 'warn',
  SECRET_KEY: KEYS.secretKey,
  PUBLIC_KEY: KEYS.publicKey,
  // A closed loop sends far more than a person; the check itself stays on.
  MESSAGES_PER_SECOND_MAX: '100000',
} as const;

/** How clients use it, however it is started. */
export const doors: Pick<Server, 'openRoom' | 'url'> = {
  openRoom: (at, roomId) =>
    ask(at, { method: 'POST', path: '/v2/rooms?idempotent=true', body: { id: roomId, defaultAccesses: ['*:write'] } }),
  url: ({ port }, door, roomId) => {
    const room = encodeURIComponent(roomId);
    return door === 'yjs'
      ? `ws://${HOST}:${port}/yjs/${room}?pubkey=${KEYS.publicKey}`
      : `ws://${HOST}:${port}/v8?roomId=${room}&pubkey=${KEYS.publicKey}&version=3.24.2`;
  },
};

export type Settings = Readonly<Record<string, string>>;

export const atrium: Server = atriumWith({});

/** The same with settings that a case needs. */
export function atriumWith(settings: Settings): Server {
  return { name: 'atrium', start: () => startAtrium(settings), ...doors };
}

async function startAtrium(settings: Settings): Promise<Running> {
  const dataDir = await aDataDir();
  const removeData = (): Promise<void> => rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  try {
    const { running } = await startMain({ DATA_DIR: dataDir, ...settings });
    return { ...running, stop: () => running.stop().then(removeData) };
  } catch (error) {
    await removeData();
    throw error;
  }
}

export async function aDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
  await chmod(dataDir, 0o755); // started as root, Postgres runs as another user, who must get in
  return dataDir;
}

/** With settings that say where its data are, which stay when it has stopped. */
export async function startMain(settings: Settings): Promise<{ running: Running; started: Started }> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const env = { ...SETTINGS, PORT: String(port), ADMIN_PORT: String(adminPort), ...settings };
  const started = start(MAIN, { core: CORES.server, env, language: 'js' });
  const address: Address = { port, adminPort: Number(env.ADMIN_PORT), pid: started.pid };
  await untilServing(started, address, '/health');
  return { running: { ...address, output: started.output, stop: () => stop(started) }, started };
}
