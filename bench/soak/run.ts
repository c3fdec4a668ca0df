/**
 * `npm run soak`: what a worker still holds of rooms and users that have come and gone. Lives (`life.ts`) go on for some time, all unlike each other; then
 * everything sleeps, and the heap of each worker is looked at; once more as long after that. What has grown with the number of lives is said, and whether it is
 * known to end somewhere. With `--faults` the stores falter meanwhile (`faults.ts`), and lives may be refused. Exit codes: 0 nothing else has grown, 1 something has,
 * 2 it could not be found out.
 */
import '../../test/fuzz/sdk-guard.ts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Liveblocks } from '@liveblocks/node';
import { descendantsOf } from '../../test/support/process-tree.ts';
import { SOAK } from '../config.ts';
import { stopAll } from '../processes.ts';
import { atriumWith, type Settings } from '../servers/atrium.ts';
import { atriumFourWith } from '../servers/atrium-cluster.ts';
import { ask, HOST, KEYS, type Running, type Server } from '../servers/server.ts';
import { falter } from './faults.ts';
import { type Growth, grownBy, type Holdings, holdingsIn } from './heap.ts';
import { live, type Place } from './life.ts';

process.setMaxListeners(0); // a client of y-websocket listens for the end of its process

const SNAPSHOT_SIGNAL = 'SIGPWR';
/** A part of the way by which it is held: what is kept there has a bound of its own, which a soak is too short to reach. */
const BOUNDED = [
  { part: 'closure verifyToken', by: 'REMEMBERED_TOKENS_MAX (app/rooms.ts)' },
  { part: 'object ReaderNotes', by: 'NOTED_MAX (notifications/readers)' },
  { part: 'object LastVisits', by: 'NOTED_MAX (app/last-visits.ts)' },
  { part: 'object Locations', by: 'KEPT_MAX (kernel/cluster/locations.ts)' },
] as const;
const EVENTS = [
  'roomCreated',
  'roomDeleted',
  'storageUpdated',
  'ydocUpdated',
  'userEntered',
  'userLeft',
  'threadCreated',
  'commentCreated',
  'notification',
];

class Lives {
  readonly #place: Place;
  #number = 0;
  done = 0;
  readonly failures = new Map<string, number>();

  constructor(place: Place) {
    this.#place = place;
  }

  /** Side by side, for so long. */
  async goOn(seconds: number): Promise<void> {
    const endMs = performance.now() + seconds * 1_000;
    const lane = async (): Promise<void> => {
      while (performance.now() < endMs) {
        this.#number += 1;
        await Promise.race([live(this.#place, this.#number), tooLong()]).then(
          () => (this.done += 1),
          (error: unknown) => this.#note(error),
        );
      }
    };
    await Promise.all(Array.from({ length: SOAK.atOnce }, lane));
  }

  #note(error: unknown): void {
    const said = String(error instanceof Error ? error.message : error).replace(/\d+/g, 'N');
    this.failures.set(said, (this.failures.get(said) ?? 0) + 1);
  }
}

async function tooLong(): Promise<never> {
  await sleep(SOAK.lifeMsMax, null, { ref: false });
  throw new Error('a life took too long');
}

/** One that takes webhooks. Returns where. */
async function receiver(): Promise<string> {
  const server = createServer((request, response) => void request.resume().once('end', () => response.end('ok')));
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  server.unref();
  return `http://${HOST}:${(server.address() as AddressInfo).port}/`;
}

function serverNamed(name: string, settings: Settings): Server {
  if (name === 'atrium') return atriumWith(settings);
  if (name === 'atrium-four') return atriumFourWith(settings);
  throw new Error(`--server takes atrium or atrium-four, not ${name}`);
}

/** The processes that serve. */
function workersOf({ pid, children }: Running): number[] {
  return children === 'workers' ? descendantsOf(pid).map((worker) => worker.pid) : [pid];
}

/** By worker; each writes its snapshot into the folder, after a collection. */
async function heapsOf(workers: readonly number[], folder: string): Promise<Holdings[]> {
  const heaps: Holdings[] = [];
  for (const pid of workers) {
    process.kill(pid, SNAPSHOT_SIGNAL);
    heaps.push(holdingsIn(await snapshotIn(folder)));
    for (const file of await readdir(folder)) await rm(join(folder, file));
  }
  return heaps;
}

async function snapshotIn(folder: string): Promise<string> {
  for (let lookedMs = 0; lookedMs < SOAK.snapshotMsMax; lookedMs += 500) {
    await sleep(500);
    const file = (await readdir(folder)).find((name) => name.endsWith('.heapsnapshot'));
    if (file === undefined) continue;
    await sleep(SOAK.writtenMs); // it is written in pieces
    return join(folder, file);
  }
  throw new Error('a worker wrote no snapshot of its heap');
}

const boundOf = ({ way }: Growth): string | null => BOUNDED.find(({ part }) => way.includes(part))?.by ?? null;

/** What has grown without a known bound, each way by itself, and the rest in one line for each bound. */
function reportOf(grown: readonly Growth[], lives: number): { lines: string[]; isFine: boolean } {
  const unbounded = grown.filter((one) => boundOf(one) === null);
  const lines = unbounded.map(
    ({ way, count, bytes }) => `  ✗ ${(count / lives).toFixed(2)} and ${Math.round(bytes / lives)} bytes a life: ${way}`,
  );
  for (const { by } of BOUNDED) {
    const bytes = grown.filter((one) => boundOf(one) === by).reduce((sum, one) => sum + one.bytes, 0);
    lines.push(`    ${Math.round(bytes / lives)} bytes a life, until ${by}`);
  }
  lines.push(unbounded.length === 0 ? '  ✓ nothing else' : `  ✗ ${unbounded.length} ways without a bound`);
  return { lines, isFine: unbounded.length === 0 };
}

interface Wish {
  /** Where workers write their snapshots. */
  readonly folder: string;
  readonly seconds: number;
  readonly faults: boolean;
}

async function soak(server: Server, { folder, seconds, faults }: Wish): Promise<number> {
  const running = await server.start();
  try {
    const url = `http://${HOST}:${running.port}`;
    const hook = { url: await receiver(), subscribedEvents: EVENTS };
    await ask(running, { method: 'POST', path: '/v2/management/projects/any/webhooks', body: hook });
    const backend = new Liveblocks({ secret: KEYS.secretKey, baseUrl: url });
    const lives = new Lives({ url, publicKey: KEYS.publicKey, backend });
    const phase = async (): Promise<void> => {
      const [told] = await Promise.all([
        faults ? falter(running, seconds / 2) : new Map<string, number>(),
        lives.goOn(seconds / 2),
      ]);
      for (const [fault, times] of told) console.log(`  ${times} × ${fault}`);
      await sleep(SOAK.quietMs);
    };
    await phase();
    const [livedBefore, before] = [lives.done, await heapsOf(workersOf(running), folder)];
    console.log(`${livedBefore} lives; then as long once more`);
    await phase();
    const more = lives.done - livedBefore;
    const after = await heapsOf(workersOf(running), folder);
    console.log(`${more} more lives; held by ${after.length} worker(s), more than before:`);
    for (const [failure, times] of lives.failures) console.log(`  ! ${times} × ${failure.slice(0, 200)}`);
    const grown = after.flatMap((heap, worker) => grownBy(before[worker]!, heap, more * SOAK.grownShareMin));
    const { lines, isFine } = reportOf(grown, more);
    for (const line of lines) console.log(line);
    if (lives.failures.size > 0 && !faults)
      throw new Error('some lives were not lived to their end: what these leave says nothing');
    return isFine ? 0 : 1;
  } finally {
    await running.stop();
  }
}

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const options = {
    server: { ...text, default: 'atrium' },
    minutes: { ...text, default: '8' },
    faults: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ options });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes takes a number above 0, not ${values.minutes}`);
  const folder = await mkdtemp(join(tmpdir(), 'atrium-soak-'));
  const settings = {
    NODE_OPTIONS: `--heapsnapshot-signal=${SNAPSHOT_SIGNAL} --diagnostic-dir=${folder}`,
    IDLE_ROOM_SECONDS: '10',
    AUTO_VERSION_SECONDS: '10',
    WEBHOOK_TARGETS: 'all',
    NOTIFICATION_DELAY_SECONDS: '1',
  };
  try {
    return await soak(serverNamed(values.server, settings), { folder, seconds: minutes * 60, faults: values.faults });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

main().then(process.exit, async (error: unknown) => {
  await stopAll();
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
});
