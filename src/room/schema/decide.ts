/**
 * What a room decides about its schema, and how the schema bounds what others decide about Storage (supplement 3.5).
 *
 * Which schema a room has is written in the database, by the feature that asks for it, and read when the room wakes; nothing of it is
 * journaled. The reply to an attachment says which decision it was, so that the database keeps the last one whoever is faster.
 */
import { AppError } from '../../base/errors.ts';
import type { AttachedAt, Command, Effect, RoomSchema, RoomState } from '../shapes.ts';
import type { Applied } from '../storage/apply.ts';
import { atomically, type Change, isEmptyStorage, type Slot } from '../storage/tree.ts';
import { compileSchema } from './compile.ts';
import { matchChanges, matchStorage } from './match.ts';
import type { Mismatch } from './mismatch.ts';

type Of<Type extends Command['type']> = Extract<Command, { type: Type }>;

/** @throws AppError SCHEMA_NOT_COMPATIBLE; then the room keeps the schema it has, if any. Replies AttachedAt once what was looked at is durable. */
export function decideSchemaAttach(room: RoomState, { schema }: Of<'schema.attach'>): Effect[] {
  const types = compileSchema(schema.body);
  const mismatch = matchStorage(types, room.storage);
  if (mismatch !== null) throw new AppError('SCHEMA_NOT_COMPATIBLE', { id: schema.id, reason: placed(mismatch) });
  const at: AttachedAt = { ...room.claim, decision: room.decision };
  room.schema = { id: schema.id, types, at };
  return [{ type: 'reply', value: at, when: 'durable' }];
}

/** Not what was attached later than the detachment knows of. */
export function decideSchemaDetach(room: RoomState, { upTo }: Of<'schema.detach'>): Effect[] {
  if (room.schema !== null && !isLater(room.schema.at, upTo)) room.schema = null;
  return [{ type: 'reply', value: null, when: 'now' }];
}

function isLater(at: AttachedAt, than: AttachedAt): boolean {
  return at.epoch > than.epoch || (at.epoch === than.epoch && at.decision > than.decision);
}

/** Gives a room that wakes the schema that the database says it has. @throws AppError ROOM_UNREADABLE when this build does not understand it */
export function restoreSchema(room: RoomState, { id, body, at }: RoomSchema): void {
  try {
    room.schema = { id, types: compileSchema(body), at };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError('ROOM_UNREADABLE', { reason: `its schema ${id} is none to this build (${error.message})` });
  }
}

/** What ops came to that were made and taken back. */
export interface Trial {
  /** Where the changes were; null for those of a text. */
  readonly changed: readonly (Slot | null)[];
  /** The ids of ops that were rejected for themselves, and so changed nothing here. */
  readonly rejected: ReadonlySet<string>;
}

export interface Refused extends Trial {
  /** A sentence without its full stop. */
  readonly reason: string;
  /** What is there in place of what a schema says. */
  readonly found?: string | undefined;
}

export function trialOf(changes: readonly Change[], { rejected }: Applied): Trial {
  return { changed: changes.map(({ slot }) => slot), rejected: new Set(rejected.flatMap(({ opIds }) => opIds)) };
}

type Bounded = { readonly applied: Applied; readonly refused: null } | { readonly applied: null; readonly refused: Refused };

/**
 * Makes changes of Storage, and takes all of them back when the room's schema does not allow what they lead to. A Storage that was emptied
 * need not have matched, so after that all of it is looked at once something changes.
 */
export function underSchema(room: RoomState, work: () => Applied, judge: 'changes' | 'all' = 'changes'): Bounded {
  const { schema, storage } = room;
  if (schema === null) return { applied: work(), refused: null };
  const wasEmpty = isEmptyStorage(storage);
  let outcome: Bounded | null = null;
  atomically(storage, (changes) => {
    const applied = work();
    const mismatch =
      judge === 'all' || (wasEmpty && changes.length > 0)
        ? matchStorage(schema.types, storage)
        : matchChanges(schema.types, storage, slotsOf(changes));
    if (mismatch === null) {
      outcome = { applied, refused: null };
      return undefined;
    }
    const reason = `The Storage would not match the schema ${schema.id}: ${placed(mismatch)}`;
    outcome = { applied: null, refused: { reason, found: mismatch.found, ...trialOf(changes, applied) } };
    return 'take back';
  });
  return outcome!;
}

function* slotsOf(changes: readonly Change[]): Iterable<Slot> {
  for (const { slot } of changes) if (slot !== null) yield slot;
}

function placed({ pointer, reason }: Mismatch): string {
  return `at "${pointer}" ${reason}`;
}
