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
  readonly unit: 'deliveries' | 'ops' | 'requests';
  /** The first is the one in question, the others are compared with. */
  readonly servers: readonly Server[];
  readonly variants: readonly Variant[];
  readonly metrics: readonly Metric[];
  /** Predictions as numbers; RESULTS.md says which held. */
  readonly targets: readonly Target[];
}

export interface Variant {
  readonly name: string;
  /** Runs in the load process. @throws an Error when the load could not be made at all. */
  readonly load: (trial: Trial) => Promise<Outcome>;
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

/** The first server's `metric` as a multiple of that of `against`. */
export interface Target {
  readonly variant: string;
  readonly metric: Metric;
  readonly against: string;
  readonly limit: { readonly atMost: number } | { readonly atLeast: number };
}
