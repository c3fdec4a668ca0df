/** What webhooks want to hear of rooms, and what rooms here tell: the one asks nothing of the other while no webhook wants it. */
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/observe.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import { Sweep } from '../../../kernel/persistence/sweep.ts';
import type { Looking, RoomWatcher, Visit, WatchedDocument, WatchedRoom } from '../../../room/room-watch.ts';
import { ChangeNotes, type ChangeNotesDeps } from '../changes/change-notes.ts';
import { deleteOldChanges } from '../changes/queries.ts';
import { deleteOld, deleteOrphans, findWanted, noteWhereWaitingBegins } from '../delivery/queries.ts';
import type { WebhookEvent } from '../endpoints/shapes.ts';
import { VisitNotes } from '../visits/visit-notes.ts';

export interface RoomEventsDeps extends ChangeNotesDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells of what else is due; resolves with whether more may be. */
  readonly tellOthers: () => Promise<boolean>;
}

/** Every worker knows of a changed webhook after so long, as a rule, also where nobody could tell it. */
export const LOOK_EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 30_000;
const OLD_AT_ONCE = 1_000;

export class RoomEvents implements RoomWatcher, Looking {
  wantsChanges = false;
  readonly #deps: RoomEventsDeps;
  readonly #changes: ChangeNotes;
  readonly #visits: VisitNotes;
  #wanted: ReadonlySet<WebhookEvent> = new Set();
  #edition = '';
  /** Looks are numbered: of two under way the one that was answered first may be the later one. */
  #looks = 0;
  #latestLook = 0;
  #sweeps: readonly Sweep[] = [];

  constructor(deps: RoomEventsDeps) {
    this.#deps = deps;
    this.#changes = new ChangeNotes(deps);
    this.#visits = new VisitNotes(deps);
  }

  /** Resolves when it is known what webhooks want: before, rooms would wake and say nothing. */
  async start(): Promise<void> {
    const { db } = this.#deps;
    const look = { phrase: 'webhooks not looked for', everyMs: LOOK_EVERY_MS, some: () => this.#lookAndTell() };
    const old = {
      phrase: 'old messages of webhooks not swept',
      everyMs: SWEEP_EVERY_MS,
      some: async () => {
        await this.#tellDue(); // also when no webhook is left: then it is dropped
        const deleted = [
          await deleteOld(db, OLD_AT_ONCE),
          await deleteOrphans(db, OLD_AT_ONCE),
          await deleteOldChanges(db, OLD_AT_ONCE),
        ];
        return Math.max(...deleted) >= OLD_AT_ONCE;
      },
    };
    const waiting = {
      phrase: 'what waits for webhooks not looked for',
      everyMs: SWEEP_EVERY_MS,
      some: async () => {
        await noteWhereWaitingBegins(db);
        return false;
      },
    };
    const visits = { phrase: 'visits not swept', everyMs: SWEEP_EVERY_MS, some: () => this.#visits.sweep() };
    this.#sweeps = [look, old, waiting, visits].map((work) => new Sweep(this.#deps, work));
    await this.#sweeps[0]?.run();
  }

  /** What rooms have told by now is written down. */
  async close(): Promise<void> {
    await Promise.all(this.#sweeps.map((sweep) => sweep.close()));
    await Promise.all([this.#changes.close(), this.#visits.close()]);
  }

  /** Asks what webhooks want. */
  async look(): Promise<void> {
    this.#looks += 1;
    const look = this.#looks;
    const { events, edition } = await findWanted(this.#deps.db);
    if (look < this.#latestLook) return;
    this.#latestLook = look;
    this.#wanted = events;
    this.wantsChanges = events.has('storageUpdated') || events.has('ydocUpdated');
    this.#visits.wanted(events.has('userEntered') || events.has('userLeft') ? 'on' : 'off');
    if (edition !== this.#edition) this.#changes.reconsider();
    this.#edition = edition;
  }

  opened(room: WatchedRoom): void {
    this.#visits.opened(room);
  }

  closed(room: WatchedRoom): void {
    this.#visits.closed(room);
  }

  changed({ stream }: WatchedRoom, document: WatchedDocument): void {
    const event = document === 'storage' ? 'storageUpdated' : 'ydocUpdated';
    if (this.#wanted.has(event)) this.#changes.changed(stream, event); // else no row would ever say that it is noted
  }

  entered(room: WatchedRoom, visit: Visit): void {
    this.#visits.entered(room, visit);
  }

  left(room: WatchedRoom, visit: Visit): void {
    this.#visits.left(room, visit);
  }

  async #lookAndTell(): Promise<boolean> {
    await this.look();
    if (this.#edition === '') return false; // no webhook, nobody to tell
    return this.#tellDue();
  }

  async #tellDue(): Promise<boolean> {
    await this.#changes.tellDue();
    this.#changes.prune();
    return this.#deps.tellOthers();
  }
}
