/** Tells those who are in a room what happened to its feeds. They are not the room's: it keeps none, and who asks for them asks elsewhere (`feed-desk.ts`). */
import { putNewest } from '../base/newest.ts';
import type { Command, Effect, RoomState } from './shapes.ts';

type Tell = Extract<Command, { type: 'feeds.tell' }>;

/** Things whose last change is remembered: workers tell of theirs in milliseconds, and only meanwhile one may overtake another. */
const REMEMBERED_MAX = 1_000;

/** Clients keep what they hear last, so what is older than what they heard of the same thing is told to nobody. */
export function decideFeedsTell(room: RoomState, { message, about, change }: Tell): Effect[] {
  const reply: Effect = { type: 'reply', value: null, when: 'now' };
  room.feedsTold ??= new Map();
  if (change < (room.feedsTold.get(about) ?? 0)) return [reply];
  putNewest(room.feedsTold, about, change, REMEMBERED_MAX);
  return [{ type: 'send', to: { mayRead: 'feeds' }, when: 'now', message }, reply];
}
