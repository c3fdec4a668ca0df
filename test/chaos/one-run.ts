/**
 * One run: load, faults, heal, settle, read by every route, kill everything, start again on what is written down, read again, judge
 * (reliability 3.4).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installAudit, readAudit } from './audit.ts';
import { check } from './checks/check.ts';
import type { Evidence, Violation } from './checks/evidence.ts';
import { ChaosCluster } from './cluster.ts';
import { readFinally, readRooms } from './final-reads.ts';
import { History } from './history.ts';
import { Load } from './load.ts';
import { type NodeLogs, watchLogs } from './logs.ts';
import { Nemesis } from './nemesis.ts';
import type { Fault } from './plan.ts';
import type { Stores } from './stores.ts';
import { type Summary, summarize } from './summary.ts';

export interface RunOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly plan: readonly Fault[];
  readonly stores: Stores;
  readonly app: string;
  /** See `ChaosCluster`. */
  readonly appBefore: string | null;
  /** Takes history and logs. */
  readonly folder: string;
  /** Names the run among those of this process. */
  readonly run: string;
}

export interface Outcome {
  readonly summary: Summary;
  readonly violations: readonly Violation[];
  readonly complaints: readonly string[];
}

const CALM_MS = 3_000;
/** A drain of a whole node ends within this, when nothing else is broken. */
const DRAIN_MS_MAX = 25_000;

export async function runOnce(options: RunOptions): Promise<Outcome> {
  const { folder, stores, app, appBefore, run } = options;
  await mkdir(folder, { recursive: true });
  const history = new History(join(folder, 'history.jsonl'));
  const logs = watchLogs(history);
  const cluster = await ChaosCluster.prepare({ folder, app, appBefore, stores, run, eventsOf: logs.eventsOf });
  try {
    return await underFaults(cluster, { ...options, history, logs });
  } finally {
    await cluster.dispose();
    await history.close();
  }
}

async function underFaults(
  cluster: ChaosCluster,
  { seed, minutes, plan, stores, folder, history, logs }: RunOptions & { history: History; logs: NodeLogs },
): Promise<Outcome> {
  await cluster.start();
  await installAudit(stores.postgres, cluster.database);
  const load = new Load(cluster.server, { history, seed });
  const nemesis = new Nemesis(cluster, { nowMs: () => history.nowMs(), note: (what) => history.note(what) });
  const { rooms, roomPrefix } = load;
  try {
    await load.enter();
    load.start();
    await sleep(CALM_MS);
    const ended = sleep(minutes * 60_000);
    await nemesis.run(plan);
    await ended;
    await sleep(CALM_MS);
    await load.stop();
    const attendance = await load.attendance();
    const { claims } = await readAudit(stores.postgres, cluster.database); // up to here
    const finals = await readFinally(cluster, { rooms, phase: 'before the restart' });
    const replicas = load.replicas();
    load.leave();
    await startAgain(cluster);
    finals.push(...(await readFinally(cluster, { rooms, phase: 'after the restart' })));
    const { ops, reads, replays, shown } = history;
    const rest = { rooms: await readRooms(cluster, roomPrefix), audit: await readAudit(stores.postgres, cluster.database) };
    const evidence: Evidence = { ops, reads, replays, shown, finals, replicas, attendance, ...rest };
    const violations = check(evidence);
    for (const { name, exitCode, tookMs, isAlone } of nemesis.drains)
      if (isAlone && (exitCode !== 0 || tookMs > DRAIN_MS_MAX))
        history.complain(`${name}: it ended with ${exitCode} after ${Math.round(tookMs)} ms, and nothing else was broken`);
    if (violations.length > 0) await writeFile(join(folder, 'finals.json'), JSON.stringify({ finals, replicas, attendance }));
    const complaints = [...history.complaints, ...logs.complaints];
    const summary = summarize({
      seed,
      minutes,
      plan,
      evidence,
      claims,
      spans: nemesis.spans,
      violations: violations.length + complaints.length,
    });
    return { summary, violations, complaints };
  } finally {
    load.leave();
  }
}

async function startAgain(cluster: ChaosCluster): Promise<void> {
  await cluster.stopEverything();
  await cluster.stores.postgres.start();
  await cluster.stores.redis.start();
  await cluster.start();
}
