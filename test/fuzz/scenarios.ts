/** The kinds of runs (protocol 5.9), and what is promised of each. */

export interface Scenario {
  /** Whether connections are cut at random. */
  readonly cuts: boolean;
  /** Whether list items are replaced. */
  readonly listSet: boolean;
  /** Whether clients undo and redo. */
  readonly undo: boolean;
  /**
   * `none`: all replicas end equal. `client`: a client may end with another tree although it was told everything, for the defects that
   * protocol 6.5 traces in the client; it must be right again after its next reconnect. The server is never at fault.
   */
  readonly divergence: 'none' | 'client';
}

export const SCENARIOS = {
  online: { cuts: false, listSet: true, undo: false, divergence: 'none' },
  offline: { cuts: true, listSet: false, undo: false, divergence: 'none' },
  'offline-set': { cuts: true, listSet: true, undo: false, divergence: 'client' },
  undo: { cuts: false, listSet: true, undo: true, divergence: 'client' },
  everything: { cuts: true, listSet: true, undo: true, divergence: 'client' },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

export const SCENARIO_NAMES = Object.keys(SCENARIOS) as ScenarioName[];
