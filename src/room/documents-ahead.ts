/**
 * Makes a large document that is about to be read, before the command that asks for it is decided: a slice in each turn of the event loop, which no other
 * slice on this worker shares. Whoever types in another room passes in between.
 */
import { concat } from '../base/binary.ts';
import type { Clock } from '../base/clock.ts';
import { OnePerTurn } from '../base/one-per-turn.ts';
import type { RoomState } from './shapes.ts';
import { type DocumentForm, DocumentWriter } from './storage/document.ts';
import { keepDocument, keptDocument, nameOf } from './storage/kept-document.ts';

/** With fewer nodes it is made at once: less than half a millisecond. */
const NODES_MIN = 1_000;
const SLICE_MS = 1;
const NODES_BETWEEN_LOOKS = 250;
/** A room that changes faster than its document is written has it made in one turn. */
const ATTEMPTS_MAX = 3;
/** Documents that wait for their next turn. */
const WAITING_MAX = 500;

interface Making {
  readonly formName: string;
  readonly done: Promise<void>;
}

export class DocumentsAhead {
  readonly #clock: Clock;
  readonly #turns: OnePerTurn;
  /** One for all who ask meanwhile. */
  readonly #making = new WeakMap<RoomState, Making>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turns = new OnePerTurn({ clock, waitingMax: WAITING_MAX });
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
      let bytes: Uint8Array | null = null;
      for (let attempt = 1; bytes === null && attempt <= ATTEMPTS_MAX; attempt += 1)
        bytes = await this.#bytesUnlessChanged(room, form);
      if (bytes !== null) keepDocument(room, form, bytes);
    } finally {
      this.#making.delete(room); // of another form, too, that is made meanwhile: at worst it is made twice
    }
  }

  /** Null when the room changed before it was done. */
  async #bytesUnlessChanged(room: RoomState, form: DocumentForm): Promise<Uint8Array | null> {
    const { version } = room;
    await this.#turns.wait();
    if (room.version !== version) return null;
    const writer = new DocumentWriter(room.storage, form);
    const parts: Uint8Array[] = [];
    for (;;) {
      const isDone = this.#slice(writer);
      parts.push(Buffer.from(writer.take()));
      if (isDone) return concat(parts);
      await this.#turns.wait();
      if (room.version !== version) return null;
    }
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
