/** Why a room is lost that nobody stopped. Each is a word of the log, and of `atrium_rooms_lost_total`. */
import type { Loss } from '../kernel/actor/actor.ts';

/** What the host of the room makes of each. */
export const LOSSES = {
  fenced: 'taken',
  'claimed by another': 'taken',
  recalled: 'taken',
  'lease lapsed': 'taken',
  retired: 'taken',
  'append failed': 'failed',
  'decision broke off': 'failed',
  broken: 'failed',
} as const satisfies Readonly<Record<string, Loss>>;

export type RoomLoss = keyof typeof LOSSES;
