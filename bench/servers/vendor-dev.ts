/**
 * The vendor's dev server, as its command line starts it, on Bun. It is AGPL: a program that is run here, whose code nobody reads.
 *
 * It passes Yjs on in messages of the SDK's protocol, and a document's updates to live clients only up to the thousandth.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORES } from '../config.ts';
import { start, stop } from '../processes.ts';
import { installPeers, peerFile } from './peer-packages.ts';
import { sdkDialect } from './sdk-dialect.ts';
import { type Address, ask, freePort, HOST, type Running, type Server, untilServing } from './server.ts';

/** The keys that it takes, and no others. */
const KEYS = { secretKey: 'sk_localdev', publicKey: 'pk_localdev' } as const;
/** As Bun names its builds. */
const MACHINE = process.arch === 'arm64' ? 'aarch64' : process.arch;

export const vendorDev: Server = {
  name: 'vendor-dev',
  start: startServer,
  openRoom: (at, id) =>
    ask(at, {
      method: 'POST',
      path: '/v2/rooms?idempotent=true',
      body: { id, defaultAccesses: ['*:write'] },
      secretKey: KEYS.secretKey,
    }),
  url: ({ port }, _door, roomId) =>
    `ws://${HOST}:${port}/v8?roomId=${encodeURIComponent(roomId)}&pubkey=${KEYS.publicKey}&version=3.24.2`,
  dialect: () => sdkDialect,
  yjsEcho: 'echoed',
  secretKey: KEYS.secretKey,
  storageTypeKey: 'liveblocksType',
  garbage: 'left to itself',
};

async function startServer(): Promise<Running> {
  installPeers('vendor');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'atrium-bench-')); // its throwaway directory, which it leaves behind
  const removeData = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const started = start(peerFile(`vendor/node_modules/@oven/bun-linux-${MACHINE}/bin/bun`), {
    core: CORES.server,
    env: { TMPDIR: folder },
    language: 'program',
    args: [
      peerFile('vendor/node_modules/.bin/liveblocks').pathname,
      ...['dev', '--no-persist', '--no-check', '--host', HOST, '--port', String(port)],
    ],
  });
  const address: Address = { port, pid: started.pid };
  await untilServing(started, address, '/health').catch(async (error: unknown) => {
    await removeData();
    throw error;
  });
  return { ...address, output: started.output, stop: () => stop(started).then(removeData) };
}
