/**
 * What goes wrong in a run, and when: made of a seed, before anything starts. Pure.
 *
 * Two faults that would undo or repeat each other never meet: each holds what it breaks until it is healed, and a moment longer.
 */
import { Dice } from '../fuzz/dice.ts';

export const GROUPS = ['kill', 'stop', 'drain', 'redis', 'postgres', 's3', 'partition'] as const;
export type Group = (typeof GROUPS)[number];

/** How a way is cut: `reset` tells at once, `silent` never, `deaf` lets requests through and no answers, `flapping` comes and goes. */
export type Cut = 'reset' | 'silent' | 'deaf' | 'flapping';

export type Action =
  | { readonly do: 'kill worker'; readonly node: number; readonly worker: number }
  | { readonly do: 'kill node'; readonly node: number }
  | { readonly do: 'stop worker'; readonly node: number; readonly worker: number }
  | { readonly do: 'stop node'; readonly node: number }
  | { readonly do: 'drain node'; readonly node: number }
  | { readonly do: 'roll node'; readonly node: number }
  | { readonly do: 'empty redis' | 'freeze redis' | 'restart postgres' | 'freeze postgres' }
  | { readonly do: 'refuse s3' | 'freeze s3' }
  | { readonly do: 'cut store'; readonly node: number; readonly store: 'postgres' | 'redis'; readonly how: Cut }
  | { readonly do: 'cut nodes'; readonly node: number; readonly other: number; readonly how: Cut };

export interface Fault {
  readonly atMs: number;
  /** From then until it is healed; what takes its own time to heal, as a start does, comes on top. */
  readonly lastsMs: number;
  readonly action: Action;
}

export interface PlanOptions {
  readonly seed: number;
  /** Faults begin within this time. */
  readonly forMs: number;
  readonly nodes: number;
  readonly workers: number;
  /** Kinds of faults; none: a run to compare with. */
  readonly groups: readonly Group[];
}

const AT_ONCE_MAX = 3;
const PAUSE_MS_MEAN = { min: 2_000, max: 4_000 } as const;
/** A node that starts again needs so long, on a busy machine. */
const RESTART_MS = 6_000;
const BREATH_MS = 500;
const TRIES = 20;

/** Longest times; the shortest is 50 ms. */
const STOPPED_MS_MAX = 15_000;
const DOWN_MS_MAX = 8_000;
const CUT_MS_MAX = 12_000;
const POSTGRES_AWAY_MS_MAX = 8_000;
const SHORTEST_MS = 50;

interface Held {
  readonly untilMs: number;
  readonly what: readonly string[];
}

export function planOf({ seed, forMs, nodes, workers, groups }: PlanOptions): Fault[] {
  const dice = new Dice(seed);
  const plan: Fault[] = [];
  let held: Held[] = [];
  if (groups.length === 0) return plan;
  for (let atMs = nextPauseMs(dice); atMs < forMs; atMs += nextPauseMs(dice)) {
    held = held.filter(({ untilMs }) => untilMs > atMs);
    if (held.length >= AT_ONCE_MAX) continue;
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const { lastsMs, action } = someFault(dice.pick(groups), { dice, nodes, workers });
      const what = held.flatMap((one) => one.what);
      if (holds(action).some((one) => what.includes(one))) continue;
      plan.push({ atMs, lastsMs, action });
      held.push({ untilMs: atMs + lastsMs + (isRestart(action) ? RESTART_MS : BREATH_MS), what: holds(action) });
      break;
    }
  }
  return plan;
}

function nextPauseMs(dice: Dice): number {
  const meanMs = PAUSE_MS_MEAN.min + dice.fraction() * (PAUSE_MS_MEAN.max - PAUSE_MS_MEAN.min);
  return -Math.log(1 - dice.fraction()) * meanMs;
}

/** Short ones as often as long ones. */
function someTimeMs(dice: Dice, maxMs: number): number {
  return Math.round(SHORTEST_MS * (maxMs / SHORTEST_MS) ** dice.fraction());
}

function someFault(
  group: Group,
  { dice, nodes, workers }: { dice: Dice; nodes: number; workers: number },
): { lastsMs: number; action: Action } {
  const node = dice.below(nodes);
  const worker = dice.below(workers);
  const how = dice.weighted({ reset: 3, silent: 4, deaf: 2, flapping: 2 });
  switch (group) {
    case 'kill':
      return dice.chance(0.6)
        ? { lastsMs: 0, action: { do: 'kill worker', node, worker } }
        : { lastsMs: someTimeMs(dice, DOWN_MS_MAX), action: { do: 'kill node', node } };
    case 'stop': {
      const action: Action = dice.chance(0.8) ? { do: 'stop worker', node, worker } : { do: 'stop node', node };
      return { lastsMs: someTimeMs(dice, STOPPED_MS_MAX), action };
    }
    case 'drain':
      return { lastsMs: someTimeMs(dice, DOWN_MS_MAX), action: { do: dice.pick(['drain node', 'roll node'] as const), node } };
    case 'redis':
      return { lastsMs: someTimeMs(dice, DOWN_MS_MAX), action: { do: dice.pick(['empty redis', 'freeze redis'] as const) } };
    case 'postgres': {
      const action: Action = { do: dice.pick(['restart postgres', 'freeze postgres'] as const) };
      return { lastsMs: someTimeMs(dice, POSTGRES_AWAY_MS_MAX), action };
    }
    case 's3':
      return { lastsMs: someTimeMs(dice, STOPPED_MS_MAX), action: { do: dice.pick(['refuse s3', 'freeze s3'] as const) } };
    case 'partition':
      return { lastsMs: someTimeMs(dice, CUT_MS_MAX), action: someCut(dice, { node, nodes, how }) };
    default:
      return group satisfies never;
  }
}

function someCut(dice: Dice, { node, nodes, how }: { node: number; nodes: number; how: Cut }): Action {
  const what = dice.weighted({ postgres: 3, redis: 2, nodes: 4 });
  if (what !== 'nodes') return { do: 'cut store', node, store: what, how };
  return { do: 'cut nodes', node, other: (node + 1 + dice.below(nodes - 1)) % nodes, how };
}

/** What a fault breaks, and others may not touch meanwhile. */
function holds(action: Action): string[] {
  switch (action.do) {
    case 'kill worker':
    case 'stop worker':
    case 'kill node':
    case 'stop node':
    case 'drain node':
    case 'roll node':
      return [`node ${action.node}`];
    case 'empty redis':
    case 'freeze redis':
      return ['redis'];
    case 'restart postgres':
    case 'freeze postgres':
      return ['postgres'];
    case 'refuse s3':
    case 'freeze s3':
      return ['s3'];
    case 'cut store':
      return [`way from ${action.node} to ${action.store}`];
    case 'cut nodes':
      return [`way between ${[action.node, action.other].sort().join(' and ')}`];
    default:
      return action satisfies never;
  }
}

function isRestart(action: Action): boolean {
  return ['kill worker', 'kill node', 'drain node', 'roll node'].includes(action.do);
}

/** As in `kill worker n1.0`, `cut n0-postgres silent 3.2s`. */
export function nameOf({ action, lastsMs }: Pick<Fault, 'action' | 'lastsMs'>): string {
  const time = lastsMs === 0 ? '' : ` ${(lastsMs / 1_000).toFixed(1)}s`;
  switch (action.do) {
    case 'kill worker':
    case 'stop worker':
      return `${action.do} n${action.node}.${action.worker}${time}`;
    case 'kill node':
    case 'stop node':
    case 'drain node':
    case 'roll node':
      return `${action.do} n${action.node}${time}`;
    case 'cut store':
      return `cut n${action.node}-${action.store} ${action.how}${time}`;
    case 'cut nodes':
      return `cut n${action.node}-n${action.other} ${action.how}${time}`;
    default:
      return `${action.do}${time}`;
  }
}
