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
   * What may happen to a client that was told everything, because of its own defects (protocol 6.5). `none`: all replicas end equal. `heals`:
   * it may end with another tree, until it reconnects; one whose library threw ("Cannot reposition item that is not in the list", one in 2,000 runs of
   * `offline-set`) may stay so. `reload`: it may be past reconnecting; whoever enters anew is right. The server is
   * never at fault.
   */
  readonly divergence: 'none' | 'heals' | 'reload';
}

const PLAIN = { cuts: false, listSet: true, undo: false, retype: false } as const;

export const SCENARIOS = {
  online: { ...PLAIN, divergence: 'none' },
  offline: { ...PLAIN, cuts: true, listSet: false, divergence: 'none' },
  'offline-set': { ...PLAIN, cuts: true, divergence: 'heals' },
  undo: { ...PLAIN, undo: true, divergence: 'heals' },
  retype: { ...PLAIN, retype: true, divergence: 'reload' },
  everything: { cuts: true, listSet: true, undo: true, retype: true, divergence: 'reload' },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

export const SCENARIO_NAMES = Object.keys(SCENARIOS) as ScenarioName[];
