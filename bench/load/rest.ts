/**
 * REST, with autocannon as the load.
 * Expected: reads at half or more of a server that answers with texts made at the start, because the room's JSON is kept until it
 * changes; writes bounded by Postgres.
 */
import autocannon from 'autocannon';
import { type Case, type Outcome, type Trial, targetsFor } from '../case.ts';
import { REST, WRITES_WARMUP_SECONDS } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { rawUws, rawUwsWithCommits } from '../servers/raw-uws.ts';
import { ask, restHeaders, restUrl } from '../servers/server.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import { Crowd } from './crowd.ts';
import { documentOf } from './documents.ts';
import { Ledger } from './ledger.ts';
import { startPace } from './pace.ts';
import { actorIn, opFrame, writers } from './storage-ops.ts';
import { measure, outcomeOf } from './window.ts';

const ROOM_ID = 'rest';
const ROOM = `/v2/rooms/${ROOM_ID}`;
const CHANGING = 'get storage that changes';

interface Request {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  /** What the `number`-th request carries: each asks for something new. */
  readonly body?: (number: number) => unknown;
  /** Names of servers that cannot answer it. */
  readonly notFor?: readonly string[];
  /** Makes what is asked about, besides the room. */
  readonly prepare?: (trial: Trial) => Promise<void>;
  /** Goes on meanwhile, until what it resolves with is called, which says why the figures should not be trusted. */
  readonly meanwhile?: (trial: Trial) => Promise<() => readonly string[]>;
}

const openDocument = ({ server: { secretKey, storageTypeKey }, address }: Trial): Promise<void> =>
  ask(address, { method: 'POST', path: `${ROOM}/storage`, body: documentOf(REST.documentNodes, storageTypeKey), secretKey });

const REQUESTS: readonly Request[] = [
  { name: 'get room', method: 'GET', path: ROOM, notFor: [rawUwsWithCommits.name] },
  { name: 'update room', method: 'POST', path: ROOM, body: (number) => ({ metadata: { turn: String(number) } }) },
  {
    name: 'create room',
    method: 'POST',
    path: '/v2/rooms',
    body: (number) => ({ id: `rest-${number}`, defaultAccesses: ['*:write'] }),
  },
  {
    name: 'get storage',
    method: 'GET',
    path: `${ROOM}/storage`,
    prepare: openDocument,
    notFor: [rawUwsWithCommits.name], // its reads are those of raw-uws
  },
  {
    name: CHANGING,
    method: 'GET',
    path: `${ROOM}/storage`,
    prepare: openDocument,
    meanwhile: changeStorage,
    notFor: [rawUwsWithCommits.name],
  },
  {
    name: 'patch storage',
    method: 'PATCH',
    path: `${ROOM}/storage/json-patch`,
    body: (number) => [{ op: 'replace', path: '/counter', value: number }],
    prepare: openDocument,
    notFor: [vendorDev.name], // it answers 501
  },
];

export const rest: Case = {
  name: 'rest',
  question: 'How many REST requests a second does one worker answer, and at what cost each?',
  unit: 'requests',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, rawUwsWithCommits, vendorDev],
  variants: REQUESTS.map((request) => ({
    name: request.name,
    load: (trial) => repeat(trial, request),
    notFor: request.notFor ?? [],
  })),
  warmupSeconds: WRITES_WARMUP_SECONDS,
  metrics: ['perSecond', 'p50Ms', 'p99Ms', 'cpuPerMillion', 'helperCpuPerMillion', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    ...targetsFor({ variant: 'get room', metric: 'perSecond' }, { atLeast: { 'raw-uws': 0.6, 'vendor-dev': 1.4 } }),
    ...targetsFor({ variant: 'update room', metric: 'perSecond' }, { atLeast: { 'raw-uws': 0.35, 'vendor-dev': 6 } }),
    ...targetsFor({ variant: 'create room', metric: 'perSecond' }, { atLeast: { 'raw-uws': 0.15, 'vendor-dev': 30 } }),
    ...targetsFor({ variant: 'get storage', metric: 'perSecond' }, { atLeast: { 'raw-uws': 0.55, 'vendor-dev': 30 } }),
    ...targetsFor({ variant: CHANGING, metric: 'perSecond' }, { atLeast: { 'raw-uws': 0.08, 'vendor-dev': 4 } }),
    ...targetsFor({ variant: 'patch storage', metric: 'perSecond' }, { atLeast: { 'raw-uws': 0.25 } }),
  ],
};

async function repeat(trial: Trial, request: Request): Promise<Outcome> {
  await trial.server.openRoom(trial.address, ROOM_ID);
  await request.prepare?.(trial);
  const leaveOff = await request.meanwhile?.(trial);
  const answers = new Answers();
  const firing = fire(trial, request, answers);
  const window = await measure(trial, answers);
  await firing.stop();
  const doubts = leaveOff?.() ?? [];
  return outcomeOf({
    window,
    count: answers.good,
    latenciesMs: answers.latenciesMs,
    completeness: answers.good / (answers.good + answers.bad),
    problems: [...answers.problems, ...doubts],
  });
}

/** Somebody in the room sets a value again and again, more often than anybody reads: no answer is the one before. */
async function changeStorage(trial: Trial): Promise<() => readonly string[]> {
  const ledger = new Ledger({ senders: 1, clients: 1, reach: 'all' });
  const crowd = await Crowd.enter(trial, writers({ roomId: ROOM_ID, clients: 1, ledger }));
  const actor = actorIn(crowd.welcomes[0]!);
  const change = (): void => crowd.send(0, opFrame({ actor, client: 0, number: ledger.sent(0) }));
  const stopChanging = startPace({ senders: 1, perSecond: REST.changesPerSecond, send: change });
  ledger.open();
  return () => {
    stopChanging();
    const { delivered, expected } = ledger;
    crowd.leave();
    if (delivered >= expected * REST.changesAckedMin) return crowd.losses;
    return [...crowd.losses, `only ${delivered} of ${expected} changes were acknowledged while it was read`];
  };
}

interface Firing {
  /** Resolves when the last answer is here. */
  stop(): Promise<void>;
}

function fire({ server, address, seconds, warmupSeconds }: Trial, { method, path, body }: Request, answers: Answers): Firing {
  let number = 0;
  const withBody = (request: autocannon.Request): autocannon.Request => {
    number += 1;
    return Object.assign(request, { body: JSON.stringify(body?.(number)) });
  };
  const options: autocannon.Options = {
    url: restUrl(address, path),
    method,
    headers: restHeaders(server.secretKey),
    connections: REST.connections,
    duration: (warmupSeconds + seconds) * 2, // ended before by `stop`
    sampleInt: 100, // how soon it notices
    ...(body !== undefined && { requests: [{ setupRequest: withBody }] }),
  };
  let end: (error: unknown) => void;
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  const instance = autocannon(options, (error: unknown) => end(error));
  instance.on('response', (_client, status, _bytes, tookMs) => answers.came(status, tookMs));
  instance.on('reqError', (error) => answers.failed(String(error)));
  return {
    stop() {
      instance.stop();
      return ended;
    },
  };
}

/** Answers that came while the window was open. */
class Answers {
  good = 0;
  bad = 0;
  readonly latenciesMs: number[] = [];
  readonly #complaints = new Map<string, number>();
  #isOpen = false;

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
  }

  came(status: number, tookMs: number): void {
    if (status < 200 || status >= 300) this.failed(`status ${status}`);
    else if (this.#isOpen) {
      this.good += 1;
      this.latenciesMs.push(tookMs);
    }
  }

  /** Counts whenever it happens: a failed warm-up is a failed run. */
  failed(why: string): void {
    this.bad += 1;
    this.#complaints.set(why, (this.#complaints.get(why) ?? 0) + 1);
  }

  get problems(): string[] {
    return [...this.#complaints].map(([why, times]) => `${why}, ${times} times`);
  }
}
