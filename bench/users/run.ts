/** The runner behind `npm run load`: a server or the one of --url, rooms full of clients, a line a second, a summary, an exit code. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startPace } from '../load/pace.ts';
import { settled } from '../load/window.ts';
import { stopAll } from '../processes.ts';
import { atrium } from '../servers/atrium.ts';
import { type RunningServer, runningServer } from '../servers/running.ts';
import { HOST, KEYS } from '../servers/server.ts';
import { type FilledRoom, fillRooms } from './fill.ts';
import { type Plan, readPlan, USAGE } from './plan.ts';
import { liveLine, missedLimits, type Result, summaryOf } from './summary.ts';
import { Tally } from './tally.ts';

/** The same load before it is measured: code gets hot, rooms have woken and are in step. */
const WARMUP_MS = 5_000;
const DELETING_AT_ONCE = 8;
const isTerminal = process.stdout.isTTY === true;
/** Where no terminal overwrites the line, one in so many seconds is enough. */
const SECONDS_PER_LINE = isTerminal ? 1 : 10;

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
process.stdout.on('error', () => interrupted.abort()); // nobody reads any more, as behind `| head`

const wait = (ms: number): Promise<unknown> => sleep(ms, null, { signal: interrupted.signal }).catch(() => undefined);

function live(line: string): void {
  process.stdout.write(isTerminal ? `\r\x1b[K  ${line}` : `  ${line}\n`);
}

function say(text: string): void {
  process.stdout.write(isTerminal ? `\r\x1b[K${text}\n` : `${text}\n`);
}

async function load(plan: Plan): Promise<number> {
  if (plan.url !== null) return loadOn(serverAt(plan.url), plan);
  say('starting a server on fresh data …');
  const running = await atrium.start();
  const keys = { secretKey: KEYS.secretKey, publicKey: KEYS.publicKey };
  try {
    return await loadOn(runningServer({ url: `http://${HOST}:${running.port}`, ...keys }), { ...plan, afterwards: 'keep rooms' });
  } finally {
    await running.stop();
  }
}

function serverAt(url: string): RunningServer {
  const { SECRET_KEY: secretKey, PUBLIC_KEY: publicKey } = process.env;
  if (secretKey === undefined || publicKey === undefined)
    throw new Error('with --url set SECRET_KEY and PUBLIC_KEY to the keys of that server');
  return runningServer({ url, secretKey, publicKey });
}

async function loadOn(server: RunningServer, plan: Plan): Promise<number> {
  const tally = new Tally(plan.work === 'storage' ? 'own' : 'others');
  let filled: readonly FilledRoom[] = [];
  const onFilled = (rooms: readonly FilledRoom[]): void => {
    filled = rooms;
    if (isTerminal || rooms.length === plan.rooms) live(`entered ${rooms.length} of ${plan.rooms} rooms`);
  };
  try {
    const prefix = `load-${Date.now().toString(36)}`;
    const rooms = await fillRooms({ plan, server, tally, prefix, onFilled, isOver: () => interrupted.signal.aborted });
    const result = await speakIn(rooms, { plan, tally });
    if (interrupted.signal.aborted) return 130;
    say(summaryOf(result));
    const missed = missedLimits(result);
    for (const line of missed) say(`  ✗ ${line}`);
    say(missed.length === 0 ? '  ✓ within all limits' : '');
    return missed.length === 0 ? 0 : 1;
  } finally {
    for (const { crowd } of filled) crowd.leave();
    if (plan.afterwards === 'delete rooms') await deleteAll(filled, server);
  }
}

/** Speaks through the warm-up and the measured time, and waits for what is under way. */
async function speakIn(rooms: readonly FilledRoom[], { plan, tally }: { plan: Plan; tally: Tally }): Promise<Result> {
  let isMeasured = false;
  const closedNow = (): number => rooms.reduce((sum, { crowd }) => sum + crowd.losses.length, 0);
  const stop = startPace({
    senders: rooms.length * plan.clients,
    perSecond: plan.rate,
    send(turn) {
      rooms[turn % rooms.length]!.speak(Math.floor(turn / rooms.length)); // neighbours in time are in different rooms
      if (isMeasured) tally.sent += 1;
    },
  });
  await wait(Math.min(WARMUP_MS, plan.seconds * 1_000));
  const before = process.cpuUsage();
  const startedAtMs = performance.now();
  isMeasured = true;
  for (const { ledger } of rooms) ledger.open();
  await showUntilEnd({ plan, tally, startedAtMs, closedNow });
  for (const { ledger } of rooms) ledger.close();
  isMeasured = false;
  stop();
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const { user, system } = process.cpuUsage(before);
  const expected = rooms.reduce((sum, { ledger }) => sum + ledger.expected, 0);
  if (!interrupted.signal.aborted)
    await settled({
      expected,
      get delivered() {
        return tally.arrived;
      },
    });
  const problems = [...new Set(rooms.flatMap(({ ledger, crowd }) => [...crowd.losses.map(withoutNumber), ...ledger.problems]))];
  return {
    plan,
    tally,
    seconds,
    expected,
    closed: closedNow(),
    loadBusy: (user + system) / 1e6 / seconds,
    problems: problems.slice(0, 5),
  };
}

interface Show {
  readonly plan: Plan;
  readonly tally: Tally;
  readonly startedAtMs: number;
  readonly closedNow: () => number;
}

async function showUntilEnd({ plan, tally, startedAtMs, closedNow }: Show): Promise<void> {
  let shown = { atMs: startedAtMs, sent: 0, arrived: 0 };
  for (;;) {
    const leftMs = startedAtMs + plan.seconds * 1_000 - performance.now();
    if (leftMs <= 0 || interrupted.signal.aborted) return;
    await wait(Math.min(leftMs, SECONDS_PER_LINE * 1_000));
    const atMs = performance.now();
    const perSecond = (now: number, then: number): number => ((now - then) * 1_000) / (atMs - shown.atMs);
    const rates = { sent: perSecond(tally.sent, shown.sent), arrived: perSecond(tally.arrived, shown.arrived) };
    live(liveLine((atMs - startedAtMs) / 1_000, { tally, ...rates, closed: closedNow() }));
    shown = { atMs, sent: tally.sent, arrived: tally.arrived };
    tally.recent.clear();
  }
}

function withoutNumber(loss: string): string {
  return loss.replace(/^client \d+/, 'clients');
}

async function deleteAll(rooms: readonly FilledRoom[], server: RunningServer): Promise<void> {
  const left = [...rooms];
  const deleteNext = async (): Promise<void> => {
    for (let room = left.pop(); room !== undefined; room = left.pop()) {
      const { id } = room;
      await server.deleteRoom(id).catch((error: unknown) => say(`  ! ${id} was not deleted: ${messageOf(error)}`));
    }
  };
  await Promise.all(Array.from({ length: DELETING_AT_ONCE }, deleteNext));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function main(): Promise<number> {
  const plan = readPlan(process.argv.slice(2));
  if (plan !== null) return load(plan);
  say(USAGE);
  return 0;
}

main().then(process.exit, async (error: unknown) => {
  await stopAll();
  process.stderr.write(`${interrupted.signal.aborted ? 'interrupted' : messageOf(error)}\n`);
  process.exit(interrupted.signal.aborted ? 130 : 2);
});
