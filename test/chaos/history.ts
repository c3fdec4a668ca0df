/**
 * What clients did and saw, with times of one clock. Each line also goes to a file as JSON, so that a run that failed can be judged again.
 *
 * An operation whose outcome nobody knows stays open, as in Jepsen: it may have its effect at any time, once.
 */
import { createWriteStream, type WriteStream } from 'node:fs';
import type { WriteLog } from '../support/writing/writers.ts';
import { type CompactIds, compact } from './compact-ids.ts';

/** Where in a room an id can be found again; created rooms are found in the list of rooms. */
export type Part = 'list' | 'map' | 'text' | 'ydoc' | 'rooms';

/** `fail`: the server said that nothing was done, and that it never will be. */
export type Result = 'ok' | 'fail' | 'unknown';

export interface Op {
  readonly id: string;
  readonly client: string;
  readonly room: string;
  readonly kind: string;
  readonly t0: number;
  t1: number | null;
  result: Result;
}

export interface Read {
  readonly client: string;
  readonly room: string;
  readonly parts: readonly Part[];
  readonly t0: number;
  readonly t1: number;
  readonly seen: CompactIds;
}

/** The same request, answered twice. */
export interface Replay {
  readonly id: string;
  readonly first: string;
  readonly again: string;
}

/**
 * What each kind of write leaves, and whether it goes to the end of the list in the order of its client. The SDK's pushes do not: after a reconnect
 * it sends what is new before it sends again what is old (protocol 6.1, step 3).
 */
export const KINDS: Readonly<Record<string, { readonly part: Part; readonly place?: 'end' }>> = {
  faithfulPush: { part: 'list', place: 'end' },
  forgetfulPush: { part: 'list', place: 'end' },
  faithfulSet: { part: 'map' },
  forgetfulSet: { part: 'map' },
  sdkPush: { part: 'list' },
  sdkSet: { part: 'map' },
  sdkText: { part: 'text' },
  keyedPush: { part: 'list', place: 'end' },
  keyedInsert: { part: 'list' },
  keyedSet: { part: 'map' },
  keyedYdoc: { part: 'ydoc' },
  keyedRoom: { part: 'rooms' },
  plainPush: { part: 'list', place: 'end' },
  plainSet: { part: 'map' },
  plainRoom: { part: 'rooms' },
  ydocSdk: { part: 'ydoc' },
  ydocPlain: { part: 'ydoc' },
};

export class History {
  readonly ops: Op[] = [];
  readonly reads: Read[] = [];
  readonly replays: Replay[] = [];
  /** Ids that others were told of by a route that tells only what stays, and who was. */
  readonly shown = new Map<string, string>();
  /** What clients met that no server may do to them. */
  readonly complaints: string[] = [];
  readonly #startMs = performance.now();
  readonly #file: WriteStream;
  readonly #open = new Map<string, Op>();
  readonly #counts = new Map<string, number>();

  constructor(file: string) {
    this.#file = createWriteStream(file);
  }

  nowMs(): number {
    return performance.now() - this.#startMs;
  }

  /** An id that says who wrote it and how: `kind.client.number`. */
  nextId(kind: string, client: string): string {
    const name = `${kind}.${client}`;
    const count = this.#counts.get(name) ?? 0;
    this.#counts.set(name, count + 1);
    return `${name}.${count}`;
  }

  begin(id: string, { client, room }: { client: string; room: string }): void {
    const kind = id.slice(0, id.indexOf('.'));
    if (KINDS[kind] === undefined) throw new Error(`what ${kind} leaves is not known`);
    const op: Op = { id, client, room, kind, t0: this.nowMs(), t1: null, result: 'unknown' };
    this.ops.push(op);
    this.#open.set(id, op);
  }

  end(id: string, result: 'ok' | 'fail'): void {
    const op = this.#open.get(id);
    if (op === undefined) return; // ended before
    this.#open.delete(id);
    op.t1 = this.nowMs();
    op.result = result;
    this.#write(op);
  }

  read(read: Omit<Read, 'seen' | 't1'> & { readonly ids: readonly string[] }): void {
    const { ids, ...rest } = read;
    const whole: Read = { ...rest, t1: this.nowMs(), seen: compact(ids) };
    this.reads.push(whole);
    this.#write({ kind: 'read', ...whole });
  }

  replayed(replay: Replay): void {
    this.replays.push(replay);
    this.#write({ kind: 'replay', ...replay });
  }

  complain(sentence: string): void {
    this.complaints.push(sentence);
    this.#write({ kind: 'complaint', at: this.nowMs(), sentence });
  }

  note(what: object): void {
    this.#write({ kind: 'note', at: this.nowMs(), ...what });
  }

  /** What shared writers want to tell, as of one client in one room. */
  logOf(who: { readonly client: string; readonly room: string }): WriteLog {
    return {
      wrote: (id) => this.begin(id, who),
      acked: (id) => this.end(id, 'ok'),
      shown: (id) => {
        if (this.shown.has(id)) return;
        this.shown.set(id, who.client);
        this.#write({ kind: 'shown', at: this.nowMs(), id, to: who.client });
      },
      lostSocket: (code, reason) => this.note({ ...who, lostSocket: code, reason }),
      saw: (ids, askedMs) => this.read({ ...who, parts: ['list', 'map', 'text'], t0: askedMs - this.#startMs, ids }),
    };
  }

  /** Writes down what stayed open. */
  async close(): Promise<void> {
    for (const op of this.#open.values()) this.#write(op);
    await new Promise<void>((resolve) => this.#file.end(resolve));
  }

  #write(line: object): void {
    this.#file.write(`${JSON.stringify(line)}\n`);
  }
}
