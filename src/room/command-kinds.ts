/** What a command is to those who carry it to its room: whether it may change what is journaled, how large its answer may be, how it is recognised. */
import { AppError } from '../base/errors.ts';
import type { RequestKey } from '../base/ids.ts';
import type { Command } from './shapes.ts';

type Kinds = ReadonlySet<Command['type']>;

const CHANGES: Kinds = new Set<Command['type']>([
  'session.join',
  'presence.set',
  'storage.change',
  'storage.initialize',
  'storage.delete',
  'storage.patch',
  'storage.nodes',
  'storage.send',
  'history.keep',
  'history.settle',
  'ydoc.change',
]);

const LARGE_ANSWERS: Kinds = new Set<Command['type']>([
  'history.keep',
  'storage.fetch',
  'storage.read',
  'storage.nodes',
  'ydoc.fetch',
  'ydoc.read',
  'ydoc.json',
]);

/** They touch only who is there, which is never written down. */
const EPHEMERAL: Kinds = new Set<Command['type']>([
  'session.leave',
  'sessions.depart',
  'sessions.dismiss',
  'session.permit',
  'presence.patch',
  'presence.fetch',
  'event.broadcast',
  'awareness.change',
  'awareness.fetch',
  'comments.tell',
  'clock.tick',
]);

/** They change nothing, set what they set, or carry ids by which a room knows what it has had: sessions, ops, Yjs structs. */
const REPEATABLE: Kinds = new Set<Command['type']>([
  'session.join',
  'presence.set',
  'storage.nodes',
  'storage.read',
  'storage.refers',
  'storage.send',
  'comments.tell',
  'users.list',
  'sessions.list',
  'sessions.dismiss',
  'ydoc.change',
  'ydoc.json',
  'ydoc.read',
  'room.touch',
]);

/** What makes the room recognise the command when it comes again; null when nothing does. */
export function requestOf(command: Command): RequestKey | null {
  return ('request' in command ? command.request : undefined) ?? null;
}

/** What its caller hears when `error` came between the decision and its answer: it may be in the journal all the same; who asks again with the same request hears. */
export function unheard(command: Command, error: AppError): AppError {
  const isKnown = requestOf(command) === null || command.type === 'history.keep'; // of a version its keeper knows
  return isKnown ? error : new AppError('OUTCOME_UNKNOWN');
}

/** Those that do not change what is journaled go on while the journal is behind, and cannot leave it behind the room. */
export function isChange(command: Command): boolean {
  return CHANGES.has(command.type) || requestOf(command) !== null;
}

/** Whether the answer, or what waits for the journal with it, may be as large as the room. */
export function hasLargeAnswer(command: Command): boolean {
  return LARGE_ANSWERS.has(command.type);
}

/** Whether a room may go on deciding it while nothing can be written down; a request is, whatever it asks for. */
export function isEphemeral(command: Command): boolean {
  return EPHEMERAL.has(command.type) && requestOf(command) === null;
}

/** Whether it may be decided twice, so that a router whose question went unanswered may ask again. */
export function isRepeatable(command: Command): boolean {
  return REPEATABLE.has(command.type) || requestOf(command) !== null;
}
