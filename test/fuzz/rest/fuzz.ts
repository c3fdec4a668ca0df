/** A server of its own that is asked by dice, in one of three ways; its log is listened to. */
import { makeLog } from '../../../src/base/observe.ts';
import { operationsOf } from '../../support/operations/operation.ts';
import { startOwnServer } from '../own-server.ts';
import { playPages } from './pages.ts';
import { playPatches } from './patches.ts';
import { playCalls } from './play.ts';

export const SCENARIOS = ['calls', 'patches', 'pages'] as const;
export type RestScenario = (typeof SCENARIOS)[number];

export interface RestFuzz {
  /** What was wrong. `count` is how many calls or patches are made; pages have a number of their own. */
  run(scenario: RestScenario, asked: { readonly seed: number; readonly count: number }): Promise<string[]>;
  stop(): Promise<void>;
}

/** @param only a part of the names of the operations that are called, such as `POST /v2/rooms` */
export async function startRestFuzz(only = ''): Promise<RestFuzz> {
  const lines: string[] = [];
  const log = makeLog('error', { write: (line) => void lines.push(line) });
  const server = await startOwnServer({ SHED_LAG_MS: '60000' }, log); // it shares its event loop with who asks
  const operations = (await operationsOf(server)).filter(({ name }) => name.includes(only));
  return {
    async run(scenario, { seed, count }) {
      if (scenario === 'patches') return playPatches(server, { seed, patches: count });
      if (scenario === 'pages') return playPages(server, seed);
      return playCalls({ server, operations, errors: () => lines.splice(0), seed, calls: count });
    },
    stop: () => server.stop(),
  };
}
