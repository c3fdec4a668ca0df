/**
 * Curve: rows of the journal that a room has to read again when it wakes, because its worker died before the next snapshot.
 * Expected: some microseconds a row of one change, 10,000 in a quarter of a second; default settings stop at 500.
 */
import { rm } from 'node:fs/promises';
import type { Case, Outcome, Trial } from '../case.ts';
import { GROWTH } from '../config.ts';
import { percentile } from '../metrics.ts';
import { aDataDir, atrium, startMain } from '../servers/atrium.ts';
import { type Address, addressOf, restHeaders, restUrl } from '../servers/server.ts';
import { Crowd } from './crowd.ts';
import { Ledger } from './ledger.ts';
import { metricOf } from './own-metrics.ts';
import { actorIn, opFrame, writers } from './storage-ops.ts';
import { settled } from './window.ts';

const ROOM = 'journal';
/** So that only the journal has what was written. */
const NO_SNAPSHOTS = { SNAPSHOT_AFTER_CHANGES: '100000', SNAPSHOT_AFTER_BYTES: '67108864', SNAPSHOT_EVERY_SECONDS: '3600' };
/** Of `settled`, which gives up after two seconds each. */
const WAITS_MAX = 60;
const nameOf = (rows: number): string => `${rows.toLocaleString('en')} rows`;

export const growthJournal: Case = {
  name: 'growth-journal',
  question: 'How long does a room take to wake when its worker died and so much was written since its last snapshot?',
  unit: 'rooms',
  grows: 'rows of the journal',
  subjects: [atrium],
  peers: [],
  variants: GROWTH.journalRows.map((rows) => ({ name: nameOf(rows), at: rows, load: (trial) => wake(trial, rows) })),
  metrics: ['wakeMs', 'completeness'],
  targets: [{ variant: nameOf(GROWTH.journalRows.at(-1)!), metric: 'wakeMs', against: null, limit: { atMost: 250 } }],
};

/** Starts servers of its own beside the one of the trial, which does nothing: this one is killed, and comes back to its data. */
async function wake(trial: Trial, rows: number): Promise<Outcome> {
  const dataDir = await aDataDir();
  const wokenMs: number[] = [];
  try {
    await withServer(dataDir, (address) => write({ ...trial, address }, rows));
    for (let time = 0; time < GROWTH.journalWakes; time += 1) {
      wokenMs.push(await withServer(dataDir, (address) => touch(address, rows)));
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
  return { values: { wakeMs: percentile(Float64Array.from(wokenMs).sort(), 0.5), completeness: 1 }, problems: [] };
}

/** Until it is killed: it has no time for a snapshot. */
async function withServer<Value>(dataDir: string, use: (address: Address) => Promise<Value>): Promise<Value> {
  const { running, started } = await startMain({ DATA_DIR: dataDir, ...NO_SNAPSHOTS });
  try {
    return await use(addressOf(running));
  } finally {
    started.child.kill('SIGKILL');
    await started.ended;
  }
}

/** So many ops of one client, one at a time: each is acknowledged before the next, and is a row of its own. */
async function write(trial: Trial, rows: number): Promise<void> {
  let left = rows;
  const ledger = new Ledger({ senders: 1, clients: 1, reach: 'all', onOwn: () => sendNext() });
  ledger.open();
  const crowd = await Crowd.enter(trial, writers({ roomId: ROOM, clients: 1, ledger }));
  const actor = actorIn(crowd.welcomes[0]!);
  const sendNext = (): void => {
    if (left === 0) return;
    left -= 1;
    crowd.send(0, opFrame({ actor, client: 0, number: ledger.sent(0) }));
  };
  sendNext();
  const book = {
    expected: rows,
    get delivered() {
      return ledger.delivered;
    },
  };
  for (let wait = 0; wait < WAITS_MAX && ledger.delivered < rows; wait += 1) await settled(book);
  crowd.leave();
  if (ledger.delivered !== rows) throw new Error(`${ledger.delivered} of ${rows} ops were acknowledged`);
  const written = rows === 0 ? 0 : await metricOf(trial.address, 'atrium_journal_appends_total{outcome="committed"}');
  if (written !== rows) throw new Error(`${rows} ops made ${written} rows`);
}

/** The first request after the start, which the room has to wake for. @throws an Error when it lacks the last op. */
async function touch(address: Address, rows: number): Promise<number> {
  await (await fetch(restUrl(address, '/v2/rooms/nobody'), { headers: restHeaders() })).text(); // the connection, and code that is hot
  const startedAtMs = performance.now();
  const response = await fetch(restUrl(address, `/v2/rooms/${ROOM}/storage`), { headers: restHeaders() });
  const text = await response.text();
  const ms = performance.now() - startedAtMs;
  if (!response.ok || (rows > 0 && !text.includes(String(rows - 1))))
    throw new Error(`${response.status}: ${text.slice(0, 300)}`);
  return ms;
}
