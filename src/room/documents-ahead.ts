/**
 * Makes what a command needs of a large document before it is decided: the text of Storage that it reads, the `Y.Doc` of a Yjs document. A slice at a time, those
 * of all rooms together in half of the worker's time at most: whoever types in another room passes in between.
 */
import { Background, half } from '../base/background.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { WAITING_BYTES_MAX } from './policy.ts';
import type { Command, RoomState } from './shapes.ts';
import { keptPieces, LINES, nameOf, type TextForm, TextWriter } from './storage/texts.ts';
import { WaitingBytes } from './waiting-bytes.ts';
import { YDOC_LIMITS } from './ydoc/limits.ts';
import { writeAhead } from './ydoc/live.ts';
import { isLongStep, type YdocStep } from './ydoc/long.ts';
import { BaseScanning, Reading } from './ydoc/reading.ts';
import { SCANNED_STRUCTS, type ScannedUpdate, Scanning, scanUpdate } from './ydoc/scan.ts';
import type { Ydoc } from './ydoc/state.ts';

/** With fewer nodes it is made at once: less than half a millisecond. */
const NODES_MIN = 1_000;
const SLICE_MS = 0.25;
/** A Yjs document has a hundred times as many pieces, and somebody waits for all of them. */
const YDOC_SLICE_MS = 1;
/** Of Yjs documents, as many as fill some 800 KB, nearly all of which stays. */
const TURNS_BETWEEN_COLLECTIONS = 4;
const NODES_BETWEEN_LOOKS = 250;
/** One that changes faster than it is written is written in one turn. */
const ATTEMPTS_MAX = 3;
/** Documents that wait for their next slice. */
const WAITING_MAX = 500;

/** The form of what the command reads whole; null when it reads nothing so large. */
export function formReadBy(command: Command): TextForm | null {
  if (command.type === 'storage.read') return command;
  return command.type === 'storage.nodes' ? LINES : null;
}

/** `changed`: Storage is not any more what was written so far. */
type Progress = 'more' | 'done' | 'changed';

export class DocumentsAhead {
  readonly #clock: Clock;
  readonly #slices: Background;
  readonly #collectYoung: () => void;
  #turnsUncollected = 0;
  #waiting = 0;
  readonly #readings = new WeakMap<Ydoc, Promise<void>>();
  /** Of Yjs updates that wait for their document, or are taken in pieces. */
  readonly updates = new WaitingBytes(WAITING_BYTES_MAX);
  /** By the name of its form, one for all who ask meanwhile. */
  readonly #making = new WeakMap<RoomState, Map<string, Promise<void>>>();

  /** `collectYoung` collects what was allocated last; without it V8 does, when there is much of it. */
  constructor(clock: Clock, collectYoung: () => void = () => undefined) {
    this.#clock = clock;
    this.#collectYoung = collectYoung;
    this.#slices = new Background(clock, half);
  }

  /** Resolves when the command may be decided; null: at once. Rejects with AppError WORKER_OVERLOADED when too many wait. */
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
    let state: Progress = 'changed';
    for (let attempt = 1; state === 'changed' && attempt <= ATTEMPTS_MAX; attempt += 1)
      state = await this.#makeUnlessChanged(room, form);
  }

  /** The scan of a Yjs update. Rejects with AppError as `scanUpdate` throws it. */
  async scan(update: Uint8Array): Promise<ScannedUpdate> {
    if (this.#isFull) return scanUpdate(update);
    const scanning = new Scanning(update, YDOC_LIMITS);
    await this.#inSlices(() => !scanning.next(SCANNED_STRUCTS));
    return scanning.end();
  }

  /** Resolves when these steps with Yjs documents take little, or can only be made at once; null: so it is already, or too many wait. */
  prepare(docs: Iterable<Ydoc>, steps: readonly YdocStep[]): Promise<void> | null {
    if (this.#isFull) return null;
    const long = [...docs].filter((doc) => steps.some((step) => isLongStep(doc, step)));
    return long.length === 0 ? null : this.#prepareAll(long, steps);
  }

  async #prepareAll(docs: readonly Ydoc[], steps: readonly YdocStep[]): Promise<void> {
    for (const doc of docs) for (const step of steps) if (isLongStep(doc, step)) await this.#prepare(doc, step);
  }

  async #prepare(doc: Ydoc, step: YdocStep): Promise<void> {
    if (step === 'scan') {
      const scanning = new BaseScanning(doc);
      return this.#inSlices(() => !scanning.next());
    }
    await this.#read(doc);
    const writing = step === 'write' ? writeAhead(doc) : null;
    if (writing !== null) await this.#inSlices(() => !writing.write());
  }

  /** One for all who need it. */
  #read(doc: Ydoc): Promise<void> {
    const before = this.#readings.get(doc);
    if (before !== undefined) return before;
    const reading = new Reading(doc);
    const done = this.#inSlices(() => !reading.read()).finally(() => this.#readings.delete(doc));
    this.#readings.set(doc, done);
    return done;
  }

  async #inSlices(step: () => boolean): Promise<void> {
    let isDone = false;
    while (!isDone) isDone = await this.ydocTurn(() => this.#slice(step, YDOC_SLICE_MS));
  }

  async #makeUnlessChanged(room: RoomState, form: TextForm): Promise<Progress> {
    const { storage } = room;
    const { edits } = storage;
    let writer: TextWriter | null = null;
    const step = (): Progress => {
      if (room.storage !== storage || storage.edits !== edits) return 'changed';
      writer ??= new TextWriter(storage, form);
      const slice = writer;
      if (!this.#slice(() => slice.write(NODES_BETWEEN_LOOKS))) return 'more';
      writer.keep(); // in this turn: it may have changed by the next
      return 'done';
    };
    let state = await this.#inTurn(step);
    while (state === 'more') state = await this.#inTurn(step);
    return state;
  }

  /** @throws AppError WORKER_OVERLOADED when too many wait */
  async #inTurn<Outcome>(work: () => Outcome): Promise<Outcome> {
    if (this.#isFull) throw new AppError('WORKER_OVERLOADED');
    return this.#turn(work);
  }

  get #isFull(): boolean {
    return this.#waiting >= WAITING_MAX;
  }

  /** What `work` with a Yjs document returns or throws, which is done when its turn comes. Of what is under way already: nobody is refused in the middle. */
  ydocTurn<Outcome>(work: () => Outcome): Promise<Outcome> {
    return this.#turn(() => {
      try {
        return work();
      } finally {
        this.#collect();
      }
    });
  }

  /** What a text of Storage leaves behind is garbage, which costs a collection nothing; of a Yjs document nearly all stays, and is moved. */
  #collect(): void {
    this.#turnsUncollected += 1;
    if (this.#turnsUncollected < TURNS_BETWEEN_COLLECTIONS) return;
    this.#turnsUncollected = 0;
    this.#collectYoung();
  }

  #turn<Outcome>(work: () => Outcome): Promise<Outcome> {
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

  /** Returns what the last step returned: whether all is done. */
  #slice(step: () => boolean, sliceMs = SLICE_MS): boolean {
    const startedMs = this.#clock.monotonicMs();
    let isDone: boolean;
    do isDone = step();
    while (!isDone && this.#clock.monotonicMs() - startedMs < sliceMs);
    return isDone;
  }
}
