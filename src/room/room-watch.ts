/**
 * What others, outside the room, may hear of it: that its documents have changed, once that is durable, and who came and went. Nothing is looked
 * at unless somebody wants to hear of it. It does not know who that is.
 */
import type { RoomId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { SmallMap } from '../base/small.ts';
import type { JournalRecord } from './journal-record.ts';
import type { Effect, RoomState, Session } from './shapes.ts';

export type WatchedDocument = 'storage' | 'ydoc';

/** One stay of somebody over one socket, wherever the room is meanwhile. */
export interface Visit {
  readonly key: string;
  readonly connectionId: number;
  readonly userId: string | null;
  readonly userInfo: JsonObject | null;
}

/** A room that is awake here. */
export interface WatchedRoom {
  readonly id: RoomId;
  /** Its number. */
  readonly stream: number;
  /** Whether those who come and go from now on are told of. */
  watchVisits(wish: 'on' | 'off'): void;
  /** Who is there. */
  visits(): readonly Visit[];
}

export interface RoomWatcher {
  readonly wantsChanges: boolean;
  opened(room: WatchedRoom): void;
  /** It sleeps, or is elsewhere. */
  closed(room: WatchedRoom): void;
  changed(room: WatchedRoom, document: WatchedDocument): void;
  entered(room: WatchedRoom, visit: Visit): void;
  left(room: WatchedRoom, visit: Visit): void;
}

/** Asks what is wanted of rooms by now. */
export interface Looking {
  /** @throws AppError DATABASE_UNAVAILABLE */
  look(): Promise<void>;
}

/** Changes that are not durable yet, by the versions of the first and the last. */
interface Untold {
  first: number;
  last: number;
}

export class RoomWatch implements WatchedRoom {
  readonly #watcher: RoomWatcher | undefined;
  readonly #room: RoomState;
  /** By actor number; null while nobody wants to know. */
  #present: Map<number, Visit> | null = null;
  readonly #untold = new SmallMap<WatchedDocument, Untold>();

  constructor(watcher: RoomWatcher | undefined, room: RoomState) {
    this.#watcher = watcher;
    this.#room = room;
    watcher?.opened(this);
  }

  get id(): RoomId {
    return this.#room.id;
  }

  get stream(): number {
    return this.#room.claim.stream;
  }

  watchVisits(wish: 'on' | 'off'): void {
    this.#present = wish === 'off' ? null : new Map(people(this.#room).map((session) => [session.actor, visitOf(session)]));
  }

  visits(): readonly Visit[] {
    return people(this.#room).map(visitOf);
  }

  /** After each decision. */
  decided(effects: readonly Effect[]): void {
    if (this.#watcher === undefined) return;
    if (this.#present !== null) this.#noteVisits(effects, this.#present, this.#watcher);
    if (!this.#watcher.wantsChanges) return;
    for (const effect of effects) {
      if (effect.type !== 'journal') continue;
      const document = DOCUMENT_OF[effect.record.kind];
      if (document === undefined) continue;
      const { version } = this.#room;
      const untold = this.#untold.get(document);
      if (untold === undefined) this.#untold.set(document, { first: version, last: version });
      else untold.last = version;
    }
  }

  /** All up to this version is in the journal. */
  durable(version: number): void {
    if (this.#untold.size === 0) return;
    for (const [document, untold] of this.#untold) {
      if (untold.first > version) continue;
      if (untold.last > version) untold.first = untold.last;
      else this.#untold.delete(document);
      this.#watcher?.changed(this, document);
    }
  }

  /** What an owner before left in the journal is durable, and was perhaps told to nobody: then it is told twice at the worst. */
  replayed(kinds: ReadonlySet<JournalRecord['kind']>): void {
    if (this.#watcher?.wantsChanges !== true) return;
    const documents = [...kinds].flatMap((kind) => DOCUMENT_OF[kind] ?? []);
    for (const document of new Set(documents)) this.#watcher.changed(this, document);
  }

  close(): void {
    this.#watcher?.closed(this);
  }

  #noteVisits(effects: readonly Effect[], present: Map<number, Visit>, watcher: RoomWatcher): void {
    for (const effect of effects) {
      if (effect.type !== 'send') continue;
      const { message } = effect;
      if (message.type === 'user.left') {
        const visit = present.get(message.actor);
        present.delete(message.actor);
        // One who joined anew over the same socket may be here already: then that one did not leave.
        if (visit !== undefined && ![...present.values()].some(({ key }) => key === visit.key)) watcher.left(this, visit);
      } else if (message.type === 'user.joined') {
        const session = people(this.#room).find(({ actor }) => actor === message.actor);
        if (session === undefined) continue;
        const visit = visitOf(session);
        present.set(session.actor, visit);
        watcher.entered(this, visit);
      }
    }
  }
}

const DOCUMENT_OF: Readonly<Partial<Record<JournalRecord['kind'], WatchedDocument>>> = {
  'storage.ops': 'storage',
  'storage.reset': 'storage',
  'ydoc.update': 'ydoc',
};

/** A presence set over REST is nobody who is connected. */
function people({ sessions }: RoomState): Session[] {
  return [...sessions.values()].filter(({ kind }) => kind !== 'rest');
}

function visitOf({ visit, actor, userId, info }: Session): Visit {
  return { key: visit, connectionId: actor, userId, userInfo: info };
}
