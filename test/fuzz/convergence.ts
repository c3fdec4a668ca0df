/**
 * One run of the convergence fuzz: several SDK clients edit one Storage tree over bad links, then all replicas must be equal.
 *
 * What a seed fixes is every choice; what it cannot fix is when the machine gets round to things. A seed that failed once may need a few
 * repetitions to fail again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { uploadAs } from '../support/e2e/files.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { until } from '../support/e2e/until.ts';
import { Dice } from './dice.ts';
import { FILE } from './edits.ts';
import { type Divergence, judge } from './judge.ts';
import type { OwnServer } from './own-server.ts';
import { Replica } from './replica.ts';
import { SCENARIOS, type Scenario, type ScenarioName } from './scenarios.ts';

export interface Run {
  readonly scenario: ScenarioName;
  readonly seed: number;
}

export interface Outcome extends Run {
  readonly divergences: readonly Divergence[];
  /** What only the server can be blamed for, whatever the clients show. */
  readonly serverFaults: readonly string[];
  /** What clients threw, in handlers of messages and at edits. */
  readonly thrown: readonly string[];
  readonly counts: { readonly steps: number; readonly cuts: number; readonly undos: number; readonly patches: number };
}

const STEPS_MIN = 80;
const STEPS_MAX = 200;
const PAUSE_MS_MAX = 12;
const CUT_MS_MAX = 500;

export async function converge(server: OwnServer, { scenario, seed }: Run): Promise<Outcome> {
  const rules = SCENARIOS[scenario];
  const dice = new Dice(seed);
  const writing = new Dice(seed + 1_000_003); // of its own: else no seed would be what it was
  const roomId = `fuzz:${scenario}:${seed}:${performance.now().toString(36)}`;
  await server.backend.createRoom(roomId, { defaultAccesses: [] });
  await uploadAs(server, roomId, FILE);
  const replicas: Replica[] = [];
  const cutting: Promise<void>[] = [];
  const patching: Promise<void>[] = [];
  const counts = { steps: STEPS_MIN + dice.below(STEPS_MAX - STEPS_MIN), cuts: 0, undos: 0, patches: 0 };
  const serverFaults: string[] = [];
  try {
    await enterAll(server, { roomId, seed, dice, rules, replicas });
    for (let step = 0; step < counts.steps; step += 1) {
      const replica = dice.pick(replicas);
      if (rules.cuts && dice.chance(0.03)) {
        counts.cuts += 1;
        cutting.push(replica.cutFor(dice.below(CUT_MS_MAX), dice.chance(0.5) ? 'both' : 'answers'));
      } else if (rules.undo && dice.chance(0.2)) {
        counts.undos += 1;
        replica.travel(dice.chance(0.6) ? 'undo' : 'redo');
      } else if (dice.chance(0.03)) {
        counts.patches += 1;
        patching.push(
          patch(server, roomId, replica.editor.patch(replica.root)).then((fault) => void serverFaults.push(...fault)),
        );
      } else replica.edit(dice.chance(0.15) ? 1 + dice.below(5) : 0);
      if (!rules.undo) writing.pick(replicas).writeOwn(); // undone, it would be an older one
      if (dice.chance(0.5)) await sleep(dice.below(PAUSE_MS_MAX));
    }
    await Promise.all([...cutting, ...patching]);
    const judged = await judge(server, roomId, replicas);
    serverFaults.push(...judged.serverFaults);
    const thrown = replicas.flatMap((replica) => replica.thrown.map((error) => `${replica.name}: ${messageOf(error)}`));
    return { scenario, seed, divergences: judged.divergences, serverFaults, thrown, counts };
  } finally {
    for (const replica of replicas) replica.leave();
  }
}

/** Whether the outcome is what its scenario promises. */
export function isAsPromised({ scenario, divergences, serverFaults }: Outcome): boolean {
  if (serverFaults.length > 0 || divergences.some(({ fault }) => fault === 'server')) return false;
  const allowed: Scenario['divergence'] = SCENARIOS[scenario].divergence;
  return allowed === 'reload' || divergences.every(({ isHealed, hasThrown }) => allowed === 'heals' && (isHealed || hasThrown));
}

interface EnterAll {
  readonly roomId: string;
  readonly seed: number;
  readonly dice: Dice;
  readonly rules: Scenario;
  readonly replicas: Replica[];
}

/** Three or four clients; the first fills the room, or all try to at once. */
async function enterAll(server: OwnServer, { roomId, seed, dice, rules, replicas }: EnterAll): Promise<void> {
  const names = ['A', 'B', 'C', 'D'].slice(0, 3 + dice.below(2));
  const allAtOnce = dice.chance(0.2);
  for (const [index, name] of names.entries()) {
    const delayMsMax = dice.pick([1, 20, 100, 300]);
    const replica = new Replica(server, { roomId, name, rules, dice: new Dice(seed * 64 + index), delayMsMax });
    replicas.push(replica);
    if (allAtOnce) continue;
    await replica.loaded();
    if (index === 0) await until('the first client is saved', () => replica.isAtRest);
  }
  await Promise.all(replicas.map((replica) => replica.loaded()));
}

/** Sends a patch; what it answers must be an answer to a patch that may have come too late. */
async function patch(server: OwnServer, roomId: string, operations: object[]): Promise<string[]> {
  const { status, text } = await ask(server, roomPath(roomId, '/storage/json-patch'), { method: 'PATCH', json: operations });
  return status === 200 || status === 422 ? [] : [`a JSON Patch was answered with ${status} ${text}`];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
