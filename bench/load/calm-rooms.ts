/** Rooms in which little is said, and what those in them feel of company on their worker. */
import type { Company, Outcome, Trial, Variant } from '../case.ts';
import { FANOUT_YJS, NEIGHBOURS } from '../config.ts';
import { inItsProcess } from './company.ts';
import { talkOf } from './fanout-yjs.ts';
import { firstOnCore } from './first-on-core.ts';
import type { Job } from './job.ts';
import { eachOf, ManyRooms } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { heat } from './paced-room.ts';
import { measure, outcomeOf, settled } from './window.ts';

export const CALM = 'calm rooms alone';

/** The calm beside whom? */
export interface Beside extends Pick<Variant, 'name' | 'notFor'> {
  readonly company: NonNullable<Variant['company']>;
}

/** The calm alone, and beside each of these. */
export function calmVariants(caseName: string, companies: readonly Beside[]): Variant[] {
  return [
    { name: CALM, load: (trial) => calmRooms(trial, async () => ALONE) },
    ...companies.map((beside) => ({
      ...beside,
      load: (trial: Trial) => calmRooms(trial, () => inItsProcess(jobOf(caseName, beside.name, trial))),
    })),
  ];
}

const ALONE: Company = { stop: () => [] };
const DIALS_MAX = 25;

function jobOf(caseName: string, variantName: string, { server, ...rest }: Trial): Job {
  return { caseName, variantName, serverName: server.name, ...rest };
}

async function calmRooms(trial: Trial, invite: () => Promise<Company>): Promise<Outcome> {
  const { rooms, clients, perSecond } = NEIGHBOURS.calm;
  await heat(trial, talkOf(FANOUT_YJS[0]!));
  const calm = await ManyRooms.make(trial, { rooms, clients, senders: clients });
  await eachOf(rooms * clients, DIALS_MAX, (index) => calm.admit(index % rooms, Math.floor(index / rooms)));
  const stopTyping = startPace({
    senders: rooms * clients,
    perSecond,
    send: (turn) => calm.speak(turn % rooms, Math.floor(turn / rooms)),
  });
  const company = await invite();
  const { refused } = company;
  const refusals = { before: 0, during: 0 };
  const book = {
    open() {
      refusals.before = refused?.() ?? 0;
      calm.open();
    },
    close() {
      calm.close();
      refusals.during = (refused?.() ?? 0) - refusals.before;
    },
  };
  const window = await firstOnCore(() => measure(trial, book));
  stopTyping();
  await settled(calm);
  calm.leave();
  const { values, problems } = outcomeOf({
    window,
    count: calm.delivered,
    latenciesMs: calm.othersMs,
    completeness: calm.delivered / calm.expected,
    problems: [...calm.problems, ...(await company.stop())],
  });
  if (refused === undefined) return { values, problems };
  return { values: { ...values, refusedPerSecond: refusals.during / window.seconds }, problems };
}
