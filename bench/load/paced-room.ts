/** Load of one shape: people in one room who say something at a steady rate, and all others must hear it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Trial } from '../case.ts';
import { HEAT } from '../config.ts';
import type { Server } from '../servers/server.ts';
import { Crowd, type Entry } from './crowd.ts';
import { Ledger, type LedgerOptions, type Reach } from './ledger.ts';
import { startPace } from './pace.ts';
import { measure, outcomeOf, settled } from './window.ts';

export interface Talk {
  readonly clients: number;
  /** The first so many clients speak. */
  readonly senders: number;
  /** From each sender. */
  readonly perSecond: number;
  readonly reachOn: (server: Server) => Reach;
  readonly gaps?: LedgerOptions['gaps'];
  readonly entryFor: (ledger: Ledger) => Entry;
  /** The first `count` frames of a sender, each with its mark. */
  readonly framesOf: (sender: number, count: number) => readonly Buffer[];
}

/** The same talk, much faster, before anybody is measured: see `HEAT`. */
export async function heat(trial: Trial, talk: Talk): Promise<void> {
  for (let time = 0; time < HEAT.times; time += 1) await talkFast(trial, talk, `heat-${time}`);
  await sleep(HEAT.coolMs);
}

async function talkFast(trial: Trial, { entryFor, framesOf, reachOn, gaps }: Talk, roomId: string): Promise<void> {
  const { clients, perSecond, seconds } = HEAT;
  const ledger = new Ledger({ senders: clients, clients, reach: reachOn(trial.server), ...(gaps !== undefined && { gaps }) });
  const frames = Array.from({ length: clients }, (_, sender) => framesOf(sender, (seconds + SPARE_SECONDS) * perSecond));
  const crowd = await Crowd.enter(trial, { ...entryFor(ledger), roomId, clients });
  const send = (sender: number): void => crowd.send(sender, frames[sender]![ledger.sent(sender)]!);
  const stopTalking = startPace({ senders: clients, perSecond, send });
  await sleep(seconds * 1_000);
  stopTalking();
  crowd.leave();
  // A server may be seconds behind by now, and would be so in the window: who enters is answered after all that was said before.
  const last = await Crowd.enter(trial, { ...entryFor(ledger), roomId, clients: 1 });
  last.leave();
}

/** Frames made beyond the planned end, for a clock that runs over. */
const SPARE_SECONDS = 2;

export async function talkInRoom(trial: Trial, talk: Talk): Promise<Outcome> {
  await heat(trial, talk);
  const { clients, senders, perSecond, entryFor, framesOf, reachOn, gaps } = talk;
  const ledger = new Ledger({ senders, clients, reach: reachOn(trial.server), ...(gaps !== undefined && { gaps }) });
  const count = (trial.warmupSeconds + trial.seconds + SPARE_SECONDS) * perSecond;
  const frames = Array.from({ length: senders }, (_, sender) => framesOf(sender, count));
  const crowd = await Crowd.enter(trial, entryFor(ledger));
  const stopTalking = startPace({
    senders,
    perSecond,
    send: (sender) => crowd.send(sender, frames[sender]![ledger.sent(sender)]!),
  });
  const window = await measure(trial, ledger);
  stopTalking();
  await settled(ledger);
  crowd.leave();
  return outcomeOf({
    window,
    count: ledger.delivered,
    latenciesMs: ledger.othersMs,
    completeness: ledger.delivered / ledger.expected,
    problems: [...crowd.losses, ...ledger.problems],
  });
}
