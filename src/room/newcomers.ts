/**
 * What newcomers hear of the presences of those who are there: SDK clients send them copies. One copy may be some 2,000 times the message that asks for it,
 * so large ones are made for so many newcomers a second; the others hear it as it is at the next tick.
 */
import { bytesIn, counted } from '../base/byte-window.ts';
import type { SessionId } from '../base/ids.ts';
import { fullPresenceText, presenceBytes } from './kept-presence.ts';
import { fullPresence } from './roster.ts';
import type { DecideContext, Effect, RoomState, Session } from './shapes.ts';

/** Copies of presences as clients have them are not counted: they are cursors, names and what is selected. */
const SMALL_BYTES = 1_024;
/** Of larger ones, for each session: 8 of the largest size, which take some 50 ms when there is a patch before each. */
const COPIED_BYTES_MAX = 512 * 1_024;

/** Characters that are told late in one tick; what is left waits for the next. */
const LATE_CHARACTERS_MAX = 8 * 1_024 * 1_024;

/** By session, the newcomers who are still to hear of it. */
export type LateCopies = Map<SessionId, Set<SessionId>>;

/** The presence of `session` for one newcomer, now or later. */
export function copyFor(room: RoomState, session: Session, newcomer: Session, { nowMs }: DecideContext): Effect[] {
  if (bytesIn(session.copied, nowMs) >= COPIED_BYTES_MAX) {
    noteLate(room, session, newcomer);
    return [];
  }
  const bytes = presenceBytes(session);
  if (bytes > SMALL_BYTES) session.copied = counted(bytes, session.copied, nowMs);
  return [fullPresence(session, { to: { only: newcomer.id }, targetActor: newcomer.actor })];
}

/** As fetched presences are told: one text for all who are to hear it. */
export function lateCopies(room: RoomState): Effect[] {
  const effects: Effect[] = [];
  const waiting: LateCopies = room.lateCopies ?? new Map();
  let characters = 0;
  for (const [id, newcomers] of waiting) {
    const session = room.sessions.get(id);
    const text = session === undefined ? null : fullPresenceText(session);
    for (const only of newcomers) {
      if (characters > LATE_CHARACTERS_MAX) return effects;
      newcomers.delete(only);
      if (text === null || !room.sessions.has(only)) continue;
      characters += text.length;
      effects.push({ type: 'send', to: { only }, when: 'now', message: { type: 'presences', texts: [text] } });
    }
    waiting.delete(id);
  }
  room.lateCopies = null;
  return effects;
}

function noteLate(room: RoomState, session: Session, newcomer: Session): void {
  room.lateCopies ??= new Map();
  const newcomers = room.lateCopies.get(session.id) ?? new Set();
  room.lateCopies.set(session.id, newcomers.add(newcomer.id));
}
