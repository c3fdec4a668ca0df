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
  readonly unit: 'deliveries' | 'ops' | 'requests' | 'joins' | 'rooms';
  /** The first is the one in question, the others are compared with. */
  readonly servers: readonly Server[];
  readonly variants: readonly Variant[];
  readonly metrics: readonly Metric[];
  /** Predictions as numbers; RESULTS.md says which held. */
  readonly targets: readonly Target[];
  /** Of a curve: what grows from variant to variant. Absent: the variants are no series. */
  readonly grows?: string;
}

export interface Variant {
  readonly name: string;
  /** Of a curve: how much of what grows. */
  readonly at?: number;
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

/** A prediction about the first server's `metric`. */
export interface Target {
  readonly variant: string;
  readonly metric: Metric;
  /** The limit is a multiple of that server's value, or of the first server's own in another variant; null: it is the value itself. */
  readonly against: string | { readonly variant: string } | null;
  readonly limit: { readonly atMost: number } | { readonly atLeast: number };
}
