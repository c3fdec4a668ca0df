/**
 * Makes a large document that is about to be read, before the command that asks for it is decided: a slice at a time, those of all rooms together in half of
 * the worker's time. Whoever types in another room passes in between.
 */
import { Background, half } from '../base/background.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { RoomState } from './shapes.ts';
import { type DocumentForm, DocumentWriter } from './storage/document.ts';
import { keepDocument, keptDocument, nameOf } from './storage/kept-document.ts';

/** With fewer nodes it is made at once: less than half a millisecond. */
const NODES_MIN = 1_000;
const SLICE_MS = 1;
const NODES_BETWEEN_LOOKS = 250;
/** A room that changes faster than its document is written has it made in one turn. */
const ATTEMPTS_MAX = 3;
/** Documents that wait for their next slice. */
const WAITING_MAX = 500;

interface Making {
  readonly formName: string;
  readonly done: Promise<void>;
}

/** `changed`: the room is of another version than what was written so far. */
type Progress = 'more' | 'done' | 'changed';

export class DocumentsAhead {
  readonly #clock: Clock;
  readonly #slices: Background;
  #waiting = 0;
  /** One for all who ask meanwhile. */
  readonly #making = new WeakMap<RoomState, Making>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#slices = new Background(clock, half);
  }

  /** Resolves when the read may be decided; null: at once. Rejects with AppError WORKER_OVERLOADED when too many wait. */
  make(room: RoomState, form: DocumentForm): Promise<void> | null {
    if (room.storage.nodes.size < NODES_MIN || keptDocument(room, form) !== null) return null;
    const formName = nameOf(form);
    const before = this.#making.get(room);
    if (before?.formName === formName) return before.done;
    const making = { formName, done: this.#make(room, form) };
    this.#making.set(room, making);
    return making.done;
  }

  async #make(room: RoomState, form: DocumentForm): Promise<void> {
    try {
      let state: Progress = 'changed';
      for (let attempt = 1; state === 'changed' && attempt <= ATTEMPTS_MAX; attempt += 1)
        state = await this.#makeUnlessChanged(room, form);
    } finally {
      this.#making.delete(room); // of another form, too, that is made meanwhile: at worst it is made twice
    }
  }

  async #makeUnlessChanged(room: RoomState, form: DocumentForm): Promise<Progress> {
    const { version } = room;
    let writer: DocumentWriter | null = null;
    const step = (): Progress => {
      if (room.version !== version) return 'changed';
      writer ??= new DocumentWriter(room.storage, form);
      if (!this.#slice(writer)) return 'more';
      keepDocument(room, form, writer.done()); // in this turn: it may have changed by the next
      return 'done';
    };
    let state = await this.#inTurn(step);
    while (state === 'more') state = await this.#inTurn(step);
    return state;
  }

  /** @throws AppError WORKER_OVERLOADED when too many wait */
  async #inTurn<Outcome>(work: () => Outcome): Promise<Outcome> {
    if (this.#waiting >= WAITING_MAX) throw new AppError('WORKER_OVERLOADED');
    this.#waiting += 1;
    return new Promise((resolve, reject) =>
      this.#slices.next(() => {
        this.#waiting -= 1;
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      }),
    );
  }

  /** Returns whether all is written. */
  #slice(writer: DocumentWriter): boolean {
    const startedMs = this.#clock.monotonicMs();
    let isDone: boolean;
    do isDone = writer.write(NODES_BETWEEN_LOOKS);
    while (!isDone && this.#clock.monotonicMs() - startedMs < SLICE_MS);
    return isDone;
  }
}
