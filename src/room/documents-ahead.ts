/**
 * Makes a large document that is about to be read, before the command that asks for it is decided: some of it in each turn of the event loop (`base/slices.ts`).
 * Whoever types in another room passes in between.
 */
import { AppError } from '../base/errors.ts';
import type { Slices } from '../base/slices.ts';
import type { Command, RoomState } from './shapes.ts';
import { keptPieces, LINES, nameOf, type TextForm, TextWriter } from './storage/texts.ts';

/** With fewer nodes it is made at once: less than half a millisecond. */
const NODES_MIN = 1_000;
/** A tenth of a millisecond. */
const NODES_PER_STEP = 250;
/** One that changes faster than it is written is written in one turn. */
const ATTEMPTS_MAX = 3;
/** Documents at a time. */
const MAKING_MAX = 500;

/** The form of what the command reads whole; null when it reads nothing so large. */
export function formReadBy(command: Command): TextForm | null {
  if (command.type === 'storage.read') return command;
  return command.type === 'storage.nodes' ? LINES : null;
}

/** `changed`: Storage is not any more what was written so far. */
type Progress = 'more' | 'done' | 'changed';

export class DocumentsAhead {
  readonly #slices: Slices;
  #underWay = 0;
  /** By the name of its form, one for all who ask meanwhile. */
  readonly #making = new WeakMap<RoomState, Map<string, Promise<void>>>();

  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Resolves when the command may be decided; null: at once. Rejects with AppError WORKER_OVERLOADED when too many are made already. */
  make(room: RoomState, command: Command): Promise<void> | null {
    const form = formReadBy(command);
    if (form === null || room.storage.nodes.size < NODES_MIN || keptPieces(room.storage, form) !== null) return null;
    const making = this.#makingOf(room);
    const before = making.get(nameOf(form));
    if (before !== undefined) return before;
    const done = this.#make(room, form).finally(() => making.delete(nameOf(form)));
    making.set(nameOf(form), done);
    return done;
  }

  #makingOf(room: RoomState): Map<string, Promise<void>> {
    const known = this.#making.get(room);
    if (known !== undefined) return known;
    const making = new Map<string, Promise<void>>();
    this.#making.set(room, making);
    return making;
  }

  async #make(room: RoomState, form: TextForm): Promise<void> {
    if (this.#underWay >= MAKING_MAX) throw new AppError('WORKER_OVERLOADED');
    this.#underWay += 1;
    try {
      let state: Progress = 'changed';
      for (let attempt = 1; state === 'changed' && attempt <= ATTEMPTS_MAX; attempt += 1)
        state = await this.#makeUnlessChanged(room, form);
    } finally {
      this.#underWay -= 1;
    }
  }

  #makeUnlessChanged(room: RoomState, form: TextForm): Promise<Progress> {
    const { storage } = room;
    const { edits } = storage;
    let writer: TextWriter | null = null;
    const goOn = (): Progress => {
      writer ??= new TextWriter(storage, form);
      if (!writer.write(NODES_PER_STEP)) return 'more';
      writer.keep(); // in this turn: it may have changed by the next
      return 'done';
    };
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          const state = room.storage !== storage || storage.edits !== edits ? 'changed' : goOn();
          if (state === 'more') this.#slices.next(step);
          else resolve(state);
        } catch (error) {
          reject(error);
        }
      };
      this.#slices.next(step);
    });
  }
}
