/** What a command is to those who carry it to its room: whether it may change what is journaled, how large its answer may be, how it is recognised. */
import { AppError } from '../base/errors.ts';
import type { RequestKey } from '../base/ids.ts';
import type { Command } from './shapes.ts';

/**
 * `changes`: what is journaled. `large answer`: it, or what waits for the journal with it, may be as large as the room. `passes`: it touches only who is there,
 * which is never written down. `repeatable`: it changes nothing, sets what it sets, or carries ids by which a room knows what it has had.
 */
type Trait = 'changes' | 'large answer' | 'passes' | 'repeatable';

interface Kind {
  readonly changes: boolean;
  readonly hasLargeAnswer: boolean;
  readonly passes: boolean;
  readonly isRepeatable: boolean;
}

/** All of one shape: each frame asks. */
function kind(...traits: readonly Trait[]): Kind {
  return {
    changes: traits.includes('changes'),
    hasLargeAnswer: traits.includes('large answer'),
    passes: traits.includes('passes'),
    isRepeatable: traits.includes('repeatable'),
  };
}

const KINDS: Readonly<Record<Command['type'], Kind>> = {
  'session.join': kind('changes', 'repeatable'),
  'session.leave': kind('passes'),
  'sessions.gone': kind('passes'),
  'sessions.depart': kind('passes'),
  'session.permit': kind('passes'),
  'presence.patch': kind('passes'),
  'presence.fetch': kind('passes'),
  'event.broadcast': kind('passes'),
  'storage.fetch': kind('large answer'),
  'storage.change': kind('changes'),
  'ydoc.fetch': kind('large answer'),
  'ydoc.change': kind('changes', 'repeatable'),
  'awareness.change': kind('passes'),
  'awareness.fetch': kind('passes'),
  'ydoc.settle': kind(),
  'users.list': kind('repeatable'),
  'sessions.list': kind('repeatable'),
  'sessions.dismiss': kind('passes', 'repeatable'),
  'presence.set': kind('changes', 'repeatable'),
  'storage.read': kind('large answer', 'repeatable'),
  'storage.refers': kind('repeatable'),
  'storage.initialize': kind('changes'),
  'storage.delete': kind('changes'),
  'storage.patch': kind('changes'),
  'storage.nodes': kind('changes', 'large answer', 'repeatable'),
  'storage.send': kind('changes', 'repeatable'),
  'schema.attach': kind(),
  'schema.detach': kind(),
  'history.keep': kind('changes', 'large answer'),
  'history.settle': kind('changes'),
  'ydoc.read': kind('large answer', 'repeatable'),
  'ydoc.json': kind('large answer', 'repeatable'),
  'comments.tell': kind('passes', 'repeatable'),
  'feeds.tell': kind('passes', 'repeatable'),
  'room.close': kind('passes'), // it only forgets
  'room.touch': kind('repeatable'),
  'clock.tick': kind('passes'),
};

/** Whether this build knows it: another worker may be of a newer one. */
export function isKnown({ type }: Command): boolean {
  return Object.hasOwn(KINDS, type);
}

/** What makes the room recognise the command when it comes again; null when nothing does. */
export function requestOf(command: Command): RequestKey | null {
  return ('request' in command ? command.request : undefined) ?? null;
}

/** What its caller hears when `error` came between the decision and its answer: it may be in the journal all the same; who asks again with the same request hears. */
export function unheard(command: Command, error: AppError): AppError {
  const isKnown = requestOf(command) === null || command.type === 'history.keep'; // of a version its keeper knows
  return isKnown ? error : new AppError('OUTCOME_UNKNOWN');
}

/** Whether all it does is tell: nobody need wonder what became of it when no answer came. */
export function isRead(command: Command): boolean {
  const { changes, passes, isRepeatable: repeats } = KINDS[command.type];
  return repeats && !changes && !passes && requestOf(command) === null;
}

/** Those that do not change what is journaled go on while the journal is behind, and cannot leave it behind the room. */
export function isChange(command: Command): boolean {
  return KINDS[command.type].changes || requestOf(command) !== null;
}

/** Whether the answer, or what waits for the journal with it, may be as large as the room. */
export function hasLargeAnswer(command: Command): boolean {
  return KINDS[command.type].hasLargeAnswer;
}

/** Whether a room may go on deciding it while nothing can be written down; a request is, whatever it asks for. */
export function isEphemeral(command: Command): boolean {
  return KINDS[command.type].passes && requestOf(command) === null;
}

/** Whether it says that somebody is not there any more. All rooms of a worker may be told so, those too that have never heard of them. */
export function isParting({ type }: Command): boolean {
  return type === 'session.leave' || type === 'sessions.gone' || type === 'sessions.depart';
}

/** Whether a room that is told it has something to do, whatever it decides. */
export function keepsAwake(command: Command): boolean {
  return command.type !== 'clock.tick' && !isParting(command);
}

/** Of a long Yjs update, which is decided in pieces: 3 s a megabyte, where an idle worker takes half a second. */
const UPDATE_BYTES_PER_MS = 350;

/** Milliseconds by which its answer may come later than that of others. */
export function extraAnswerMs(command: Command): number {
  return command.type === 'ydoc.change' ? command.update.length / UPDATE_BYTES_PER_MS : 0;
}

/** Whether it may be decided twice, so that a router whose question went unanswered may ask again. */
export function isRepeatable(command: Command): boolean {
  return KINDS[command.type].isRepeatable || requestOf(command) !== null;
}
