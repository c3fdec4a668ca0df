/** A run in one line. */
import type { ClaimRow, Evidence } from './checks/evidence.ts';
import type { Op } from './history.ts';
import type { Span } from './nemesis.ts';
import type { Fault } from './plan.ts';

export interface Summary {
  readonly seed: number;
  readonly minutes: number;
  readonly faults: number;
  readonly ops: number;
  readonly acked: number;
  readonly unknown: number;
  readonly refused: number;
  readonly reads: number;
  /** Claims of a room that its owner had not given up. */
  readonly takeovers: number;
  readonly ackP50Ms: number;
  readonly ackP99Ms: number;
  /** The longest that a client waited for one acknowledgement, and what was broken meanwhile. */
  readonly longestGapMs: number;
  readonly during: string;
  readonly violations: number;
}

/** Writers of these kinds see each acknowledgement when it comes. */
const SEEN_AT_ONCE = /^(faithful|keyed)/;

interface Facts {
  readonly seed: number;
  readonly minutes: number;
  readonly plan: readonly Fault[];
  readonly evidence: Evidence;
  /** Of the time before everything was restarted. */
  readonly claims: readonly ClaimRow[];
  readonly spans: readonly Span[];
  readonly violations: number;
}

export function summarize({ seed, minutes, plan, evidence, claims, spans, violations }: Facts): Summary {
  const { ops, reads } = evidence;
  const count = (result: Op['result']): number => ops.filter((op) => op.result === result).length;
  const waited = ops
    .filter(({ result, kind }) => result === 'ok' && SEEN_AT_ONCE.test(kind))
    .sort((a, b) => a.t1! - a.t0 - (b.t1! - b.t0));
  const longest = waited.at(-1);
  const at = (part: number): number => {
    const op = waited[Math.floor(waited.length * part)];
    return op === undefined ? 0 : Math.round(op.t1! - op.t0);
  };
  return {
    ...{ seed, minutes, faults: plan.length, ops: ops.length },
    ...{ acked: count('ok'), unknown: count('unknown'), refused: count('fail'), reads: reads.length },
    takeovers: claims.filter(({ former }) => former !== null).length,
    ...{ ackP50Ms: at(0.5), ackP99Ms: at(0.99) },
    longestGapMs: longest === undefined ? 0 : Math.round(longest.t1! - longest.t0),
    during: longest === undefined ? 'nothing' : causesOf(longest, spans),
    violations,
  };
}

/** What was broken while it waited. */
function causesOf({ t0, t1, id }: Op, spans: readonly Span[]): string {
  const broken = spans.filter(({ fromMs, toMs }) => fromMs < t1! && toMs > t0).map(({ name }) => name);
  return `${id} at ${(t0 / 1_000).toFixed(1)}s: ${broken.join(', ') || 'nothing broken'}`;
}

export function lineOf({ during, ...numbers }: Summary): string {
  const { longestGapMs, violations, ...rest } = numbers;
  const words = Object.entries(rest).map(([name, value]) => `${name}=${value}`);
  return `${words.join(' ')} longestGapMs=${longestGapMs} (${during}) violations=${violations}`;
}
