/**
 * The vendor's dev server, as its command line starts it, on Bun. It is AGPL: a program that is run here, whose code nobody reads.
 *
 * It passes Yjs on in messages of the SDK's protocol, and a document's updates to live clients only up to the thousandth.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CORES } from '../config.ts';
import { isStep, STEP_1, STEP_2, syncFrame, UPDATE, updateIn } from '../load/sync-frames.ts';
import { start, stop } from '../processes.ts';
import { installPeers, peerFile } from './peer-packages.ts';
import { type Address, ask, freePort, HOST, type Running, type Server, untilServing } from './server.ts';

/** The keys that it takes, and no others. */
const KEYS = { secretKey: 'sk_localdev', publicKey: 'pk_localdev' } as const;
/** As Bun names its builds. */
const MACHINE = process.arch === 'arm64' ? 'aarch64' : process.arch;
/** Messages of the SDK's protocol: the first from the client asks for the document, that of the server brings it or a change. */
const YDOC = 300;
const CHANGE_YDOC = 301;

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
  dialect: () => ({ format: 'text', greeting: [], toWire, fromWire }),
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

function toWire(frame: Buffer): Buffer {
  const payload = Buffer.from(updateIn(frame)).toString('base64');
  const message = isStep(STEP_1, frame) ? { type: YDOC, vector: payload } : { type: CHANGE_YDOC, update: payload };
  return Buffer.from(JSON.stringify([message]));
}

/** All its changes, frame after frame, the document before what came later: marks are found in all of them, a document in the first. */
function fromWire(frame: Buffer): Buffer | null {
  const said = JSON.parse(frame.toString());
  const changes = (Array.isArray(said) ? said : [said]).filter(({ type }) => type === YDOC);
  if (changes.length === 0) return null;
  const [documents, updates] = [changes.filter(({ isSync }) => isSync), changes.filter(({ isSync }) => !isSync)];
  const framesOf = (step: number, of: readonly { update: string }[]): Buffer[] =>
    of.map(({ update }) => syncFrame(step, Buffer.from(update, 'base64')));
  return Buffer.concat([...framesOf(STEP_2, documents), ...framesOf(UPDATE, updates)]);
}
