/**
 * The judge: hears of everything that was begun, answered, told and committed, and says what was broken of what is promised (reliability 3.2).
 *
 * It trusts nobody: what counts is what clients saw, and what the tables held at each commit. Every edit carries a token that nothing else has,
 * and tokens are never removed, so all that was once true of a room must stay true.
 */
import type { CommitListener, JournalRow, OwnerRow } from './postgres/tables.ts';
import type { World } from './world.ts';

export type Rule =
  | 'C1 an acknowledged edit is there, once'
  | 'C2 nothing is there that was not sent'
  | 'C4 epochs rise and versions have no gap'
  | 'C5 one owner per epoch'
  | 'C6 a read shows what was known before it began'
  | 'C7 edits keep their order'
  | 'C8 what was told stays'
  | 'C9 a repeated request gets its first answer'
  | 'C11 no trouble in the code'
  | 'C12 a refusal means that nothing happened'
  | 'C13 a number is given once'
  | 'C14 what was deleted is gone'
  | 'L1 a healed cluster serves'
  | 'L2 clients catch up';

export interface Violation {
  readonly rule: Rule;
  readonly what: string;
  readonly atMs: number;
}

/** What a client is about to do, or did. */
export interface Edit {
  readonly token: string;
  readonly room: string;
  /** Whether the room keeps such edits in order. */
  readonly isOrdered: boolean;
  readonly begunMs: number;
  ackedMs: number | null;
  /** An attempt ended without anybody knowing how. */
  mayBeThere: boolean;
}

/** What a client found in a room. */
export interface Sight {
  readonly list: readonly string[];
  readonly text: readonly string[];
}

const VIOLATIONS_MAX = 5;

export class Audit implements CommitListener {
  readonly violations: Violation[] = [];
  readonly #world: World;
  readonly #edits = new Map<string, Edit>();
  /** By room, what some client knows to be there, in the order in which it came to be known. */
  readonly #known = new Map<string, string[]>();
  readonly #isKnown = new Set<string>();
  readonly #owners = new Map<number, OwnerRow>();
  readonly #heads = new Map<number, { version: number; epoch: number }>();
  readonly #writers = new Map<string, string>();
  readonly #numbers = new Map<string, string>();
  /** A machine stood still: its owner cannot know that its lease is over. Only what is written is safe then (reliability 2.a). */
  mayReadsBeStale = false;
  acked = 0;
  takeovers = 0;
  reads = 0;

  constructor(world: World) {
    this.#world = world;
  }

  broken(rule: Rule, what: string): void {
    this.#world.note(() => `VIOLATION ${rule}: ${what}`);
    if (this.violations.length < VIOLATIONS_MAX) this.violations.push({ rule, what, atMs: Math.round(this.#world.elapsedMs) });
  }

  // What clients do

  begins(edit: Pick<Edit, 'token' | 'room' | 'isOrdered'>): Edit {
    const begun: Edit = { ...edit, begunMs: this.#world.nowMs, ackedMs: null, mayBeThere: false };
    this.#edits.set(edit.token, begun);
    return begun;
  }

  acks(edit: Edit): void {
    if (edit.ackedMs !== null) return;
    edit.ackedMs = this.#world.nowMs;
    this.acked += 1;
    this.#knows(edit.room, edit.token);
    this.#world.note(() => `${edit.token} in ${edit.room} acknowledged`);
  }

  /** A client was shown these, in a message or an answer. */
  told(room: string, tokens: Iterable<string>): void {
    for (const token of tokens) this.#knows(room, token);
  }

  /** How much is known of the room; for a read that begins now. */
  knownOf(room: string): number {
    return this.#known.get(room)?.length ?? 0;
  }

  read(room: string, sight: Sight, knownBefore: number): void {
    this.reads += 1;
    const found = this.#foundIn(room, sight);
    const known = this.#known.get(room) ?? [];
    for (let at = 0; at < knownBefore && !this.mayReadsBeStale; at += 1)
      if (!found.has(known[at]!))
        this.broken('C6 a read shows what was known before it began', `${known[at]} of ${room} was not shown`);
    this.told(room, found);
  }

  /** The number was given to `whom`; the same one again may get it again. */
  numbered(room: string, number: number, whom: string): void {
    const key = `${room} ${number}`;
    const before = this.#numbers.get(key);
    if (before !== undefined && before !== whom) this.broken('C13 a number is given once', `${key} to ${before} and to ${whom}`);
    this.#numbers.set(key, whom);
  }

  // What is committed

  owned(stream: number, row: OwnerRow): void {
    const before = this.#owners.get(stream);
    this.#owners.set(stream, row);
    this.#world.note(
      () => `room ${stream} is of ${row.owner?.slice(0, 4) ?? 'nobody'} in epoch ${row.epoch}, snapshot ${row.snapshotVersion}`,
    );
    if (before === undefined) return;
    if (row.epoch > before.epoch) this.takeovers += 1;
    const isNewOwner = row.owner !== null && row.owner !== before.owner;
    if (row.epoch < before.epoch || (isNewOwner && row.epoch === before.epoch))
      this.broken('C4 epochs rise and versions have no gap', `room ${stream} went from epoch ${before.epoch} to ${row.epoch}`);
  }

  appended(stream: number, row: JournalRow, by: string): void {
    this.#world.note(() => `room ${stream} has versions to ${row.version} in epoch ${row.epoch} by ${by}`);
    const head = this.#heads.get(stream) ?? { version: 0, epoch: 0 };
    if (row.version - row.count !== head.version || row.epoch < head.epoch)
      this.broken(
        'C4 epochs rise and versions have no gap',
        `room ${stream}: ${row.count} up to ${row.version} of epoch ${row.epoch} after ${head.version} of ${head.epoch}`,
      );
    this.#heads.set(stream, row);
    const key = `${stream} ${row.epoch}`;
    const writer = this.#writers.get(key);
    if (writer !== undefined && writer !== by)
      this.broken('C5 one owner per epoch', `${writer} and ${by} wrote in epoch ${row.epoch} of ${stream}`);
    this.#writers.set(key, by);
  }

  // The end: only what is durable counts

  /** @param knownBefore how much was known when the read began; a socket may be shown more while it is under way. */
  final(room: string, sight: Sight, knownBefore: number): void {
    const found = this.#foundIn(room, sight);
    for (const edit of this.#edits.values()) {
      if (edit.room !== room) continue;
      const isThere = found.has(edit.token);
      if (edit.ackedMs !== null && !isThere)
        this.broken('C1 an acknowledged edit is there, once', `${edit.token} of ${room} is lost`);
      if (isThere && edit.ackedMs === null && !edit.mayBeThere)
        this.broken('C12 a refusal means that nothing happened', `${edit.token} of ${room} was refused and is there`);
    }
    for (const token of (this.#known.get(room) ?? []).slice(0, knownBefore))
      if (!found.has(token) && this.#edits.get(token)?.ackedMs === null)
        this.broken('C8 what was told stays', `${token} of ${room} is gone`);
    this.#judgeOrder(room, sight.list);
  }

  /** Of the first so many tokens known in the room, those that a client has not been shown. */
  missing(room: string, seen: ReadonlySet<string>, known: number): string[] {
    return (this.#known.get(room) ?? []).slice(0, known).filter((token) => !seen.has(token));
  }

  /** What was acknowledged before another began stands before it. */
  #judgeOrder(room: string, list: readonly string[]): void {
    let earliestAckMs = Number.POSITIVE_INFINITY;
    let earliest = '';
    for (let at = list.length - 1; at >= 0; at -= 1) {
      const edit = this.#edits.get(list[at]!);
      if (edit === undefined || !edit.isOrdered) continue;
      if (earliestAckMs < edit.begunMs)
        this.broken('C7 edits keep their order', `${earliest} of ${room} stands behind ${edit.token}, which began later`);
      if (edit.ackedMs === null || edit.ackedMs >= earliestAckMs) continue;
      earliestAckMs = edit.ackedMs;
      earliest = edit.token;
    }
  }

  #foundIn(room: string, { list, text }: Sight): Set<string> {
    const found = new Set<string>();
    for (const token of [...list, ...text]) {
      if (found.has(token)) this.broken('C1 an acknowledged edit is there, once', `${token} is twice in ${room}`);
      if (this.#edits.get(token)?.room !== room) this.broken('C2 nothing is there that was not sent', `${token} is in ${room}`);
      found.add(token);
    }
    return found;
  }

  #knows(room: string, token: string): void {
    if (this.#isKnown.has(token)) return;
    this.#isKnown.add(token);
    const known = this.#known.get(room);
    if (known === undefined) this.#known.set(room, [token]);
    else known.push(token);
  }
}
