/**
 * What a client feels of faults in a cluster of three nodes with two workers each, on real Postgres, Redis and S3, all on this machine:
 * `npm run bench:cluster -- --case kill|freeze|drain|redis`. Prints one line a case; needs `npm run build`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { copyApp } from '../../test/chaos/app-copy.ts';
import { ChaosCluster, NODES, WORKERS } from '../../test/chaos/cluster.ts';
import { type Stores, startStores } from '../../test/chaos/stores.ts';
import { percentile, Writer } from './writer.ts';

const { values } = parseArgs({
  options: {
    case: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '10' },
    rooms: { type: 'string', default: '24' },
    dist: { type: 'string', default: 'dist' },
  },
});

const CASES = { kill, freeze, drain, redis };
const chosen = values.case ?? Object.keys(CASES);
const rounds = Number(values.rounds);
const rooms = Number(values.rooms);
/** A frozen worker's rooms are elsewhere after its lease; a killed one has long been replaced. */
const FAULT_MS = 9_000;

const folder = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
await copyApp(resolve(values.dist), join(folder, 'app'));
const stores = await startStores(folder);
try {
  for (const [index, name] of chosen.entries()) await inCluster(`${index}`, CASES[name as keyof typeof CASES]);
} finally {
  await stores.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit(0);

async function inCluster(run: string, measure: (cluster: ChaosCluster, stores: Stores) => Promise<string>): Promise<void> {
  const silent = { line: () => undefined, text: () => undefined, end: () => undefined };
  const options = {
    folder: join(folder, run),
    app: join(folder, 'app'),
    appBefore: null,
    stores,
    run: `bench${run}`,
    eventsOf: () => silent,
  };
  const cluster = await ChaosCluster.prepare(options);
  try {
    await cluster.start();
    console.log(`${measure.name}: ${await measure(cluster, stores)} (${cpus().length} cores, ${NODES} × ${WORKERS} workers)`);
  } finally {
    await cluster.dispose();
  }
}

function kill(cluster: ChaosCluster): Promise<string> {
  return gaps(cluster, 'SIGKILL');
}

function freeze(cluster: ChaosCluster): Promise<string> {
  return gaps(cluster, 'SIGSTOP');
}

/** Writers on other nodes than their rooms' owners; one worker after the other is struck, and every room it had tells its longest silence. */
async function gaps(cluster: ChaosCluster, signal: 'SIGKILL' | 'SIGSTOP'): Promise<string> {
  const felt: number[] = [];
  let closes = 0;
  for (let round = 0; round < rounds; round += 1) {
    const [node, worker] = [round % NODES, Math.floor(round / NODES) % WORKERS];
    const writers = await someWriters(cluster, { round, awayFrom: node });
    for (const writer of writers) writer.takeLongestMs();
    const struck = new Set(await roomsOf(cluster, { node, worker }));
    cluster.nodes[node]!.signalWorker(worker, signal);
    await sleep(FAULT_MS);
    for (const writer of writers) {
      const longestMs = writer.takeLongestMs();
      if (struck.has(writer.roomId)) felt.push(longestMs);
      closes += writer.closes;
      writer.stop();
    }
    if (signal === 'SIGSTOP') cluster.nodes[node]!.signalWorker(worker, 'SIGCONT');
    await cluster.nodes[node]!.ready();
  }
  return `write gap of ${felt.length} rooms whose owner got ${signal}: p50 ${ms(percentile(felt, 0.5))}, p99 ${ms(percentile(felt, 0.99))}, worst ${ms(Math.max(...felt))}; sockets closed ${closes}`;
}

async function someWriters(cluster: ChaosCluster, { round, awayFrom }: { round: number; awayFrom: number }): Promise<Writer[]> {
  const writers = Array.from({ length: rooms }, (_, index) => {
    const node = (awayFrom + 1 + (index % (NODES - 1))) % NODES;
    return aWriter(cluster, { node, roomId: `gap-${round}-${index}`, pauseMs: 10 });
  });
  await Promise.all(writers.map(({ roomId }) => makeRoom(cluster, roomId)));
  await Promise.all(writers.map((writer) => writer.start()));
  return writers;
}

/** 1,000 rooms with two sockets each, a hundred of them written to; one node of the three is told to stop. */
async function drain(cluster: ChaosCluster): Promise<string> {
  const writers: Writer[] = [];
  for (let index = 0; index < 1_000; index += 50) {
    const some = Array.from({ length: 50 }, (_, offset) => `drain-${index + offset}`);
    await Promise.all(some.map((roomId) => makeRoom(cluster, roomId)));
    const these = some.flatMap((roomId, offset) => {
      const isBusy = (index + offset) % 10 === 0;
      return [0, 1].map((seat) => {
        const pauseMs = isBusy && seat === 0 ? 50 : 60_000;
        return aWriter(cluster, { node: (index + offset + seat) % NODES, roomId, pauseMs });
      });
    });
    await Promise.all(these.map((writer) => writer.start()));
    writers.push(...these);
  }
  const local = writers.filter((_, index) => nodeOf(index) === 0);
  const remote = writers.filter((_, index) => nodeOf(index) !== 0);
  const startedMs = performance.now();
  const code = await cluster.nodes[0]!.drain();
  const tookMs = performance.now() - startedMs;
  const most = Math.max(...local.map(({ closes }) => closes));
  cluster.nodes[0]!.start();
  await cluster.nodes[0]!.ready();
  await sleep(3_000);
  const lost = remote.filter(({ closes }) => closes > 0).length;
  const acked = writers.reduce((sum, writer) => sum + writer.acked, 0);
  for (const writer of writers) writer.stop();
  return `a node with ${local.length} of ${writers.length} sockets in 1,000 rooms ended with ${code} after ${ms(tookMs)}; reconnects of its own sockets at most ${most}, sockets of other nodes closed ${lost}, writes acknowledged ${acked}`;
}

/** Which node a writer of `drain` is on, by its place in the list. */
function nodeOf(index: number): number {
  return (Math.floor(index / 2) + (index % 2)) % NODES;
}

/** A minute without Redis under load. */
async function redis(cluster: ChaosCluster, { redis: server }: Stores): Promise<string> {
  const writers = await someWriters(cluster, { round: 0, awayFrom: 0 });
  await sleep(5_000);
  const before = writers.flatMap(({ latenciesMs }) => latenciesMs.splice(0));
  await server.stop();
  for (const writer of writers) writer.takeLongestMs();
  const ackedBefore = writers.reduce((sum, { acked }) => sum + acked, 0);
  await sleep(60_000);
  const during = writers.flatMap(({ latenciesMs }) => latenciesMs.splice(0));
  const longest = Math.max(...writers.map((writer) => writer.takeLongestMs()));
  await server.start();
  const acked = writers.reduce((sum, writer) => sum + writer.acked, 0) - ackedBefore;
  const closes = writers.reduce((sum, writer) => sum + writer.closes, 0);
  for (const writer of writers) writer.stop();
  return `60 s without: ${acked} writes acknowledged, 0 refused is ${closes === 0}, longest gap ${ms(longest)}; p50 ${ms(percentile(before, 0.5))} before and ${ms(percentile(during, 0.5))} without, p99 ${ms(percentile(before, 0.99))} and ${ms(percentile(during, 0.99))}`;
}

function aWriter(cluster: ChaosCluster, options: { node: number; roomId: string; pauseMs: number }): Writer {
  const origins = Array.from({ length: NODES }, (_, index) => cluster.serverOf((options.node + index) % NODES).socketUrl);
  return new Writer({ origins, publicKey: cluster.server.publicKey, roomId: options.roomId, pauseMs: options.pauseMs });
}

async function makeRoom({ server }: ChaosCluster, id: string): Promise<void> {
  const answer = await fetch(`${server.url}/v2/rooms`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.secretKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id, defaultAccesses: ['*:write'] }),
  });
  if (answer.status !== 200) throw new Error(`room ${id}: ${answer.status} ${await answer.text()}`);
}

/** The rooms that this worker owns. */
async function roomsOf(cluster: ChaosCluster, { node, worker }: { node: number; worker: number }): Promise<string[]> {
  const rows = await cluster.stores.postgres.ask<{ id: string }>(
    cluster.database,
    `select r.id from rooms r join actor_owner o on o.stream = r.pk join worker_lease w on w.incarnation = o.owner
      where w.fenced_at is null and w.address = '127.0.0.1:${cluster.nodes[node]!.port + 1 + worker}'`, // ports of a node stand side by side
  );
  return rows.map(({ id }) => id);
}

function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}
