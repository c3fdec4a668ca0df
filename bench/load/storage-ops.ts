/**
 * Storage ops over the SDK's protocol, durability strict.
 * Expected: at least 0.35× the ops of a relay that writes nothing down, because the commits of all twenty writers are one.
 */
import { type Case, type Outcome, type Trial, targetsFor } from '../case.ts';
import { STORAGE_OPS, WRITES_WARMUP_SECONDS } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { rawUws, rawUwsWithCommits } from '../servers/raw-uws.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import { Crowd, type Entry } from './crowd.ts';
import { Ledger, markOf } from './ledger.ts';
import { measure, outcomeOf, settled } from './window.ts';

const { clients } = STORAGE_OPS;
const NAME = `${clients} clients, one op at a time each`;

export const storageOps: Case = {
  name: 'storage-ops',
  question: 'How many Storage ops a second does a room take when every one must be in Postgres before it is acknowledged?',
  unit: 'ops',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, rawUwsWithCommits, vendorDev],
  variants: [{ name: NAME, load: writeInTurns }],
  warmupSeconds: WRITES_WARMUP_SECONDS,
  metrics: ['cpuPerMillion', 'helperCpuPerMillion', 'p50Ms', 'p99Ms', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    ...targetsFor({ variant: NAME, metric: 'perSecond' }, { atLeast: { 'raw-uws': 0.35, 'vendor-dev': 7 } }),
    ...targetsFor({ variant: NAME, metric: 'cpuPerMillion' }, { atMost: { 'raw-uws': 1.4, 'vendor-dev': 0.6 } }),
  ],
};

async function writeInTurns(trial: Trial): Promise<Outcome> {
  let isWriting = true;
  const write = (client: number): void => {
    const number = ledger.sent(client);
    crowd.send(client, opFrame({ actor: actors[client]!, client, number }));
  };
  const ledger = new Ledger({ senders: clients, clients, reach: 'all', onOwn: (client) => isWriting && write(client) });
  const crowd = await Crowd.enter(trial, writers({ roomId: 'storage', clients, ledger }));
  const actors = crowd.welcomes.map(actorIn);
  for (let client = 0; client < clients; client += 1) write(client);
  const window = await measure(trial, ledger);
  isWriting = false;
  await settled(ledger);
  crowd.leave();
  return outcomeOf({
    window,
    count: ledger.messages,
    latenciesMs: ledger.ownMs,
    completeness: ledger.delivered / ledger.expected,
    problems: [...crowd.losses, ...ledger.problems],
  });
}

/** Clients that enter like the SDK and ask for Storage, so that they hear each other's ops. */
export function writers({ roomId, clients, ledger }: { roomId: string; clients: number; ledger: Ledger }): Entry {
  return {
    door: 'sdk',
    roomId,
    clients,
    hello: Buffer.from('[{"type":200}]'),
    isWelcome: (frame) => frame.includes('"type":104'),
    isComplete: (frame) => frame.includes('"type":211'), // the end of Storage: what comes later is an op
    receive: (client, frame) => ledger.received(client, frame),
  };
}

/** The number that the server gave, from ROOM_STATE; ids of ops begin with it. */
export function actorIn(welcome: Buffer): number {
  return (JSON.parse(welcome.toString()) as { actor: number }).actor;
}

/** An op that sets the client's own key of the root. The mark comes back in the acknowledgement, which is the op as applied. */
export function opFrame({ actor, client, number }: { actor: number; client: number; number: number }): Buffer {
  return Buffer.from(
    `[{"type":201,"ops":[{"opId":"${actor}:${number}","type":3,"id":"root","data":{"key ${client}":"${markOf(client, number)}"}}]}]`,
  );
}
