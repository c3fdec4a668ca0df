/**
 * What a case is: one question, put to several servers in several variants. One file per question in `load/`.
 *
 * Knows neither how a server is started nor how load is made.
 */
import type { Metric } from './metrics.ts';
import type { Address, Server } from './servers/server.ts';

export interface Case {
  readonly name: string;
  readonly question: string;
  /** What the counts count. */
  readonly unit: 'deliveries' | 'ops' | 'requests' | 'connections' | 'joins' | 'rooms';
  /** Servers of ours, which are in question. */
  readonly subjects: readonly Server[];
  /** What each of them is compared with. */
  readonly peers: readonly Server[];
  readonly variants: readonly Variant[];
  readonly metrics: readonly Metric[];
  /** Predictions as numbers; RESULTS.md says which held. */
  readonly targets: readonly Target[];
  /** Length of the window. Absent: as that of most cases. */
  readonly seconds?: number;
  /** Absent: as long as that of most cases. */
  readonly warmupSeconds?: number;
  /** Of a curve: what grows from variant to variant. Absent: the variants are no series. */
  readonly grows?: string;
}

export interface Variant {
  readonly name: string;
  /** Of a curve: how much of what grows. */
  readonly at?: number;
  /** Runs in the load process. @throws an Error when the load could not be made at all. */
  readonly load: (trial: Trial) => Promise<Outcome>;
  /** Who else is there: `calmVariants` invites it, into a process of its own. @throws an Error when it could not come. */
  readonly company?: (trial: Trial) => Promise<Company>;
  /** Names of servers of the case that this variant is not put to. */
  readonly notFor?: readonly string[];
}

/** The servers that a variant is put to, ours first. */
export function serversOf({ subjects, peers }: Case, { notFor = [] }: Variant): Server[] {
  return [...subjects, ...peers].filter(({ name }) => !notFor.includes(name));
}

/** One run: one variant against one fresh server. */
export interface Trial {
  readonly server: Server;
  readonly address: Address;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

export type Values = Readonly<Partial<Record<Metric, number>>>;

export interface Outcome {
  readonly values: Values;
  /** Why the values should not be trusted; empty when all is well. */
  readonly problems: readonly string[];
}

/** Somebody beside those who are measured, who is too much. */
export interface Company {
  /** How often it was refused so far. */
  readonly refused?: () => number;
  /** Ends it. Returns why its figures should not be trusted. */
  stop(): Promise<readonly string[]> | readonly string[];
}

/** A prediction about the `metric` of each server of ours. */
export interface Target {
  readonly variant: string;
  readonly metric: Metric;
  /** The limit is a multiple of that server's value, or of the own one in another variant; null: it is the value itself. */
  readonly against: string | { readonly variant: string } | null;
  readonly limit: { readonly atMost: number } | { readonly atLeast: number };
}

/** The same metric of a variant against several peers, by name: at most, or at least, so many times theirs. */
export function targetsFor(
  { variant, metric }: Pick<Target, 'variant' | 'metric'>,
  limits: { readonly atMost: Readonly<Record<string, number>> } | { readonly atLeast: Readonly<Record<string, number>> },
): Target[] {
  if ('atMost' in limits)
    return Object.entries(limits.atMost).map(([against, atMost]) => ({ variant, metric, against, limit: { atMost } }));
  return Object.entries(limits.atLeast).map(([against, atLeast]) => ({ variant, metric, against, limit: { atLeast } }));
}
