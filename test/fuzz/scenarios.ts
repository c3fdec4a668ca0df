/** The kinds of runs (protocol 5.9), and what is promised of each. */

export interface Scenario {
  /** Whether connections are cut at random. */
  readonly cuts: boolean;
  /** Whether list items are replaced. */
  readonly listSet: boolean;
  /** Whether clients undo and redo. */
  readonly undo: boolean;
  /** Whether a key of an object may hold a plain value now and a live structure later. */
  readonly retype: boolean;
  /**
   * `none`: all replicas end equal. `client`: a client may end with another tree although it was told everything, for defects of the client
   * (protocol 6.5). The server is never at fault.
   */
  readonly divergence: 'none' | 'client';
}

const PLAIN = { cuts: false, listSet: true, undo: false, retype: false } as const;

export const SCENARIOS = {
  online: { ...PLAIN, divergence: 'none' },
  offline: { ...PLAIN, cuts: true, listSet: false, divergence: 'none' },
  'offline-set': { ...PLAIN, cuts: true, divergence: 'client' },
  undo: { ...PLAIN, undo: true, divergence: 'client' },
  retype: { ...PLAIN, retype: true, divergence: 'client' },
  everything: { cuts: true, listSet: true, undo: true, retype: true, divergence: 'client' },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

export const SCENARIO_NAMES = Object.keys(SCENARIOS) as ScenarioName[];
