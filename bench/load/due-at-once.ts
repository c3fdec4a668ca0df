/**
 * What calm rooms feel when very many others on their worker have the same to do in one moment, which nobody waits for: to be saved whole, because all
 * were quiet for a while and then each is changed; and to fall asleep, because all were left together.
 * Expected: p99 at most twice what it is without them, because such work is done room by room and has a share of the worker's time, not all of it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Case, Company, Trial } from '../case.ts';
import { DUE_AT_ONCE, IDLE_ROOM_SECONDS, NEIGHBOURS } from '../config.ts';
import { atriumWith } from '../servers/atrium.ts';
import { atriumClusterWith } from '../servers/atrium-cluster.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { CALM, calmVariants } from './calm-rooms.ts';
import { eachOf, ManyRooms } from './many-rooms.ts';
import { metricOf } from './own-metrics.ts';

const { rooms, dialsMax, settings } = DUE_AT_ONCE;
const SAVED = `${rooms.toLocaleString('en')} rooms are saved`;
const SAVES = 'atrium_snapshot_seconds_count';
const AWAKE = 'atrium_rooms';
const ASLEEP = `${rooms.toLocaleString('en')} rooms fall asleep`;

export const dueAtOnce: Case = {
  name: 'due-at-once',
  question: 'What do people feel when thousands of rooms on their worker are to be saved, or to fall asleep, in one moment?',
  unit: 'deliveries',
  subjects: [atriumWith(settings), atriumClusterWith(settings)],
  peers: [rawUws], // it saves nothing: what calm rooms feel there is the machine's doing
  variants: calmVariants('due-at-once', [
    { name: SAVED, company: areChanged },
    { name: ASLEEP, company: areLeft },
  ]),
  seconds: NEIGHBOURS.seconds,
  metrics: ['p50Ms', 'p99Ms', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [SAVED, ASLEEP].map((variant) => ({ variant, metric: 'p99Ms', against: { variant: CALM }, limit: { atMost: 2 } })),
};

/** One change in each as the window opens, within a second; before it, long enough nothing. */
async function areChanged(trial: Trial): Promise<Company> {
  const many = await entered(trial);
  await sleep((Number(settings.SNAPSHOT_EVERY_SECONDS) + 2) * 1_000);
  const before = await metricOf(trial.address, SAVES);
  const changes = setTimeout(() => void changeAll(many), trial.warmupSeconds * 1_000);
  return {
    async stop() {
      clearTimeout(changes);
      const doubts = shortOf('were saved', before, await metricOf(trial.address, SAVES));
      many.leave();
      return [...many.problems, ...doubts];
    },
  };
}

/** In this very moment; the window opens a second before they are to sleep. */
async function areLeft(trial: Trial): Promise<Company> {
  const many = await entered(trial);
  await changeAll(many);
  many.leave();
  await sleep((IDLE_ROOM_SECONDS - 1 - trial.warmupSeconds) * 1_000);
  const before = await metricOf(trial.address, AWAKE);
  return {
    async stop() {
      return [...many.problems, ...shortOf('fell asleep', await metricOf(trial.address, AWAKE), before)];
    },
  };
}

/** Such work is spread out, so not all of it need be done when the window closes: then the calm have felt less of it than the case says. Null: of a server that does not tell. */
export function shortOf(what: string, from: number | null, to: number | null): string[] {
  if (from === null || to === null || to - from >= rooms) return [];
  return [`only ${to - from} of ${rooms} rooms ${what} until the window closed`];
}

/** One client in each, who has typed once. */
async function entered(trial: Trial): Promise<ManyRooms> {
  const many = await ManyRooms.make(trial, { rooms, clients: 1, senders: 1, called: 'other' });
  await eachOf(rooms, dialsMax, (room) => many.admit(room, 0));
  await changeAll(many);
  return many;
}

const SLICES = 20;

async function changeAll(many: ManyRooms): Promise<void> {
  for (let slice = 0; slice < SLICES; slice += 1) {
    for (let room = slice; room < rooms; room += SLICES) many.speak(room, 0);
    await sleep(1_000 / SLICES);
  }
}
