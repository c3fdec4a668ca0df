/** Rooms in which little is said, and what those in them feel of company on their worker. */
import type { Outcome, Trial } from '../case.ts';
import { NEIGHBOURS } from '../config.ts';
import { eachOf, ManyRooms } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { measure, outcomeOf, settled } from './window.ts';

/** Somebody else, who is too much. */
export interface Company {
  /** How often it was refused so far. */
  readonly refused?: () => number;
  /** Ends it. Returns why its figures should not be trusted. */
  stop(): Promise<readonly string[]> | readonly string[];
}

export const ALONE: Company = { stop: () => [] };

const DIALS_MAX = 25;

export async function calmRooms(trial: Trial, invite: (trial: Trial) => Promise<Company>): Promise<Outcome> {
  const { rooms, clients, perSecond } = NEIGHBOURS.calm;
  const calm = await ManyRooms.make(trial, { rooms, clients, senders: clients });
  await eachOf(rooms * clients, DIALS_MAX, (index) => calm.admit(index % rooms, Math.floor(index / rooms)));
  const stopTyping = startPace({
    senders: rooms * clients,
    perSecond,
    send: (turn) => calm.speak(turn % rooms, Math.floor(turn / rooms)),
  });
  const company = await invite(trial);
  const { refused } = company;
  const refusals = { before: 0, during: 0 };
  const window = await measure(trial, {
    open() {
      refusals.before = refused?.() ?? 0;
      calm.open();
    },
    close() {
      calm.close();
      refusals.during = (refused?.() ?? 0) - refusals.before;
    },
  });
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
