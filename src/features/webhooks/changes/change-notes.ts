/**
 * What rooms here say of their changes, noted for webhooks: a row is written when a window has nothing to tell yet, and further changes of the window
 * cost a look into memory.
 */
import { type Clock, isoFromMs } from '../../../base/clock.ts';
import type { Log } from '../../../base/observe.ts';
import { Batched } from '../../../kernel/persistence/batched.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import { enqueue } from '../delivery/queries.ts';
import { bodyOf } from '../delivery/rules.ts';
import { type ChangeEvent, findCovers, type NotedChange, noteChanges, takeDueChanges } from './queries.ts';

export interface ChangeNotesDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly projectId: string;
  readonly workerName: string;
  /** Messages were written. */
  readonly nudge: () => void;
}

interface Note {
  readonly roomPk: number;
  readonly event: ChangeEvent;
  lastMs: number;
  /** Monotonic; until then what changes will be told anyway. */
  coveredUntilMs: number;
  isWaiting: boolean;
}

const NOTES_AT_ONCE = 500;
/** More rooms are not noted at once on one worker. */
const NOTES_WAITING_MAX = 100_000;
const DUE_AT_ONCE = 200;
/** A change at the very end of a window is noted, though it may be told without. */
const EARLY_MS = 50;
/** By then a window that has ended is told: with the time of the last change, which stands here alone. */
const UNTOLD_MS = 10_000;

export class ChangeNotes {
  readonly #deps: ChangeNotesDeps;
  readonly #notes = new Map<string, Note>();
  readonly #waiting: Batched<Note>;

  constructor(deps: ChangeNotesDeps) {
    this.#deps = deps;
    this.#waiting = new Batched(deps, {
      phrase: 'changes of rooms not noted',
      itemsMax: NOTES_AT_ONCE,
      waitingMax: NOTES_WAITING_MAX,
      write: (notes) => this.#write(notes),
      onLost: (note) => {
        note.isWaiting = false;
      },
    });
  }

  changed(roomPk: number, event: ChangeEvent): void {
    const { clock } = this.#deps;
    const key = keyOf({ roomPk, event });
    let note = this.#notes.get(key);
    if (note === undefined) {
      note = { roomPk, event, lastMs: 0, coveredUntilMs: Number.NEGATIVE_INFINITY, isWaiting: false };
      this.#notes.set(key, note);
    }
    note.lastMs = clock.nowMs();
    if (note.isWaiting || note.coveredUntilMs > clock.monotonicMs()) return;
    note.isWaiting = true;
    this.#waiting.add(note);
  }

  /** Other webhooks, or other windows: what was covered may not be. Also the time to forget rooms that are still. */
  reconsider(): void {
    for (const [key, note] of this.#notes) {
      note.coveredUntilMs = Number.NEGATIVE_INFINITY;
      if (!note.isWaiting) this.#notes.delete(key);
    }
  }

  /** Forgets what is known of rooms in which nothing has changed lately. */
  prune(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [key, note] of this.#notes)
      if (!note.isWaiting && note.coveredUntilMs + UNTOLD_MS <= nowMs) this.#notes.delete(key);
  }

  /** Tells what is due, also what others noted and do not tell. */
  async tellDue(): Promise<void> {
    const { db, nudge } = this.#deps;
    for (let told = DUE_AT_ONCE; told === DUE_AT_ONCE; ) {
      told = await db.transaction((tx) => this.#tellSome(tx));
      if (told > 0) nudge();
    }
  }

  close(): Promise<void> {
    return this.#waiting.close();
  }

  async #write(notes: readonly Note[]): Promise<void> {
    const { db, clock, workerName, nudge } = this.#deps;
    for (const note of notes) note.isWaiting = false; // what changes from here on is written by the next one
    const changes: NotedChange[] = notes.map(({ roomPk, event, lastMs }) => ({ roomPk, event, at: isoFromMs(lastMs) }));
    const startedMs = clock.monotonicMs();
    const covers = await db
      .transaction(async (tx) => {
        await noteChanges(tx, changes, workerName);
        await this.#tellSome(tx);
        return findCovers(tx, changes);
      })
      .catch((error: unknown) => {
        for (const note of notes) note.isWaiting = true; // all of them are tried again
        throw error;
      });
    for (const cover of covers) {
      const note = this.#notes.get(keyOf(cover));
      if (note !== undefined) note.coveredUntilMs = startedMs + cover.forMs - EARLY_MS;
    }
    nudge();
  }

  async #tellSome(tx: Sql): Promise<number> {
    const { projectId, workerName } = this.#deps;
    const due = await takeDueChanges(tx, { worker: workerName, limit: DUE_AT_ONCE });
    await enqueue(
      tx,
      due.map(({ webhookPk, roomId, event, roomPk, at }) => {
        const lastMs = Math.max(Date.parse(at), this.#notes.get(keyOf({ roomPk, event }))?.lastMs ?? 0);
        const data = { roomId, updatedAt: isoFromMs(lastMs) };
        return { type: event, webhookPk, body: bodyOf({ type: event, data }, projectId) };
      }),
    );
    return due.length;
  }
}

function keyOf({ roomPk, event }: { readonly roomPk: number; readonly event: ChangeEvent }): string {
  return `${roomPk} ${event}`;
}
