/** Atrium as built, with its own Postgres on an empty directory: all checks on, durability strict. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORES } from '../config.ts';
import { start, stop } from '../processes.ts';
import { type Address, ask, freePort, HOST, KEYS, type Running, type Server, untilServing } from './server.ts';

export const MAIN = new URL('../../dist/main.js', import.meta.url);

export const SETTINGS = {
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

export const atrium: Server = { name: 'atrium', start: startAtrium, ...doors };

async function startAtrium(): Promise<Running> {
  const dataDir = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
  await chmod(dataDir, 0o755); // started as root, Postgres runs as another user, who must get in
  const port = await freePort();
  const env = { ...SETTINGS, PORT: String(port), DATA_DIR: dataDir };
  const removeData = (): Promise<void> => rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  try {
    const started = start(MAIN, { core: CORES.server, env, language: 'js' });
    const address: Address = { port, pid: started.pid };
    await untilServing(started, address, '/health');
    return { ...address, output: started.output, stop: () => stop(started).then(removeData) };
  } catch (error) {
    await removeData();
    throw error;
  }
}
