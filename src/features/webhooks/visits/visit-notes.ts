/**
 * Who comes and goes in rooms here, noted for webhooks in order. A room that changes its owner does not end the visits in it: who is not back some time
 * later has left, and so has everybody in a room that nobody owns.
 */
import { type Clock, isoFromMs } from '../../../base/clock.ts';
import type { Log } from '../../../base/observe.ts';
import { Batched } from '../../../kernel/persistence/batched.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Visit, WatchedRoom } from '../../../room/room-watch.ts';
import { enqueue, mayWriteMany, type NewDelivery } from '../delivery/queries.ts';
import { bodyOf } from '../delivery/rules.ts';
import { applyVisits, findOthers, forgetVisits, markOrphans, type ToldVisit, takeOrphans, type VisitNote } from './queries.ts';

export interface VisitNotesDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly projectId: string;
  /** Messages were written. */
  readonly nudge: () => void;
}

const NOTES_AT_ONCE = 500;
const NOTES_WAITING_MAX = 100_000;
/** Sessions that lost their room are back long before. */
const BACK_MS_MAX = 20_000;
const LOOK_EVERY_MS = 1_000;
/** A worker that was started again has thousands of rooms within a second; each look is a query. */
const LOOKS_AT_ONCE = 8;
const ORPHANS_AT_ONCE = 500;

export class VisitNotes {
  readonly #deps: VisitNotesDeps;
  readonly #waiting: Batched<VisitNote>;
  /** Rooms that are awake here. */
  readonly #rooms = new Set<WatchedRoom>();
  /** Those of which it is to be seen who did not come back, and when (monotonic), earliest first. */
  readonly #unseen = new Map<WatchedRoom, number>();
  readonly #stopLooking: () => void;
  /** At so many rooms right now. */
  #looking = 0;
  #isWanted = false;
  /** More visits are to be ended, and marked already. */
  #hasMore = false;
  #isClosed = false;

  constructor(deps: VisitNotesDeps) {
    this.#deps = deps;
    this.#waiting = new Batched(deps, {
      phrase: 'visits not noted',
      itemsMax: NOTES_AT_ONCE,
      waitingMax: NOTES_WAITING_MAX,
      write: (notes) => this.#write(notes),
    });
    this.#stopLooking = deps.clock.every(LOOK_EVERY_MS, () => this.#look());
  }

  /** Some webhook wants to hear of visits, or none does any more. Who is there already is no news. */
  wanted(wish: 'on' | 'off'): void {
    if (this.#isWanted === (wish === 'on')) return;
    this.#isWanted = wish === 'on';
    for (const room of this.#rooms) {
      room.watchVisits(wish);
      if (wish === 'on') for (const visit of room.visits()) this.#add(room.stream, visit, 'present');
    }
    if (wish === 'off')
      void this.sweep().catch((error: unknown) => this.#deps.log.debug({ err: error }, 'visits not forgotten yet'));
  }

  opened(room: WatchedRoom): void {
    if (this.#isWanted) room.watchVisits('on');
    this.#rooms.add(room);
    this.#lookLater(room);
  }

  closed(room: WatchedRoom): void {
    this.#rooms.delete(room);
    this.#unseen.delete(room);
  }

  entered({ stream }: WatchedRoom, visit: Visit): void {
    this.#add(stream, visit, 'entered');
  }

  left({ stream }: WatchedRoom, visit: Visit): void {
    this.#add(stream, visit, 'left');
  }

  /**
   * Ends some visits in rooms that nobody owns, and forgets all when nobody wants to know. Resolves with whether more are to be ended at once: where
   * a webhook is behind they come later, for of what comes at once too much would be given up.
   */
  async sweep(): Promise<boolean> {
    const { db, nudge } = this.#deps;
    const goesOn = this.#hasMore;
    this.#hasMore = false;
    if (!this.#isWanted) {
      await forgetVisits(db);
      return false;
    }
    if (!goesOn) await markOrphans(db);
    const count = await db.transaction(async (tx) => {
      const orphans = await takeOrphans(tx, ORPHANS_AT_ONCE);
      await this.#tell(
        tx,
        await applyVisits(
          tx,
          orphans.map((orphan) => this.#gone(orphan)),
        ),
      );
      return orphans.length;
    });
    nudge();
    this.#hasMore = count === ORPHANS_AT_ONCE && (await mayWriteMany(db, 'userLeft'));
    return this.#hasMore;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopLooking();
    await this.#waiting.close();
  }

  #add(roomPk: number, { key, connectionId, userId, userInfo }: Visit, kind: VisitNote['kind']): void {
    this.#waiting.add({ kind, roomPk, key, connectionId, userId, userInfo, at: this.#nowIso() });
  }

  #lookLater(room: WatchedRoom): void {
    this.#unseen.set(room, this.#deps.clock.monotonicMs() + BACK_MS_MAX);
  }

  #look(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [room, atMs] of this.#unseen) {
      if (atMs > nowMs || this.#looking === LOOKS_AT_ONCE || this.#isClosed) return;
      this.#unseen.delete(room);
      if (this.#isWanted) void this.#lookAt(room);
    }
  }

  /** The next one follows at once. */
  async #lookAt(room: WatchedRoom): Promise<void> {
    this.#looking += 1;
    await this.#whoDidNotComeBack(room);
    this.#looking -= 1;
    this.#look();
  }

  /** Never rejects. */
  async #whoDidNotComeBack(room: WatchedRoom): Promise<void> {
    const keys = (): string[] => room.visits().map(({ key }) => key);
    try {
      const others = await findOthers(this.#deps.db, room.stream, keys());
      const here = new Set(keys()); // some may have come meanwhile
      if (!this.#rooms.has(room)) return;
      for (const other of others) if (!here.has(other.key)) this.#waiting.add(this.#gone(other));
    } catch (error) {
      this.#deps.log.warn({ err: error, roomId: room.id }, 'visits not compared');
      if (this.#rooms.has(room)) this.#lookLater(room);
    }
  }

  /** What else is told of it is in the row. */
  #gone({ roomPk, key }: { readonly roomPk: number; readonly key: string }): VisitNote {
    return { kind: 'left', roomPk, key, connectionId: 0, userId: null, userInfo: null, at: this.#nowIso() };
  }

  async #write(notes: readonly VisitNote[]): Promise<void> {
    const { db, nudge } = this.#deps;
    await db.transaction(async (tx) => {
      for (const run of withoutRepeats(notes)) await this.#tell(tx, await applyVisits(tx, run));
    });
    nudge();
  }

  async #tell(tx: Sql, visits: readonly ToldVisit[]): Promise<void> {
    const { projectId } = this.#deps;
    await enqueue(
      tx,
      visits.map(({ kind, roomId, connectionId, userId, userInfo, numActiveUsers, at }): NewDelivery => {
        const type = kind === 'entered' ? 'userEntered' : 'userLeft';
        const data = {
          roomId,
          connectionId,
          userId,
          userInfo,
          [kind === 'entered' ? 'enteredAt' : 'leftAt']: at,
          numActiveUsers,
        };
        return { type, body: bodyOf({ type, data }, projectId) };
      }),
    );
  }

  #nowIso(): string {
    return isoFromMs(this.#deps.clock.nowMs());
  }
}

/** In order, in as few runs as name no visit twice. */
function withoutRepeats(notes: readonly VisitNote[]): VisitNote[][] {
  const runs: VisitNote[][] = [];
  let seen = new Set<string>();
  for (const note of notes) {
    const key = `${note.roomPk} ${note.key}`;
    if (runs.length === 0 || seen.has(key)) {
      runs.push([]);
      seen = new Set();
    }
    seen.add(key);
    runs.at(-1)!.push(note);
  }
  return runs;
}
