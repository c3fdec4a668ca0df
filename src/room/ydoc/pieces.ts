/**
 * A large update as several small ones, of which Yjs integrates each with those before it: what it needs comes first, whoever wrote it. Structs in V1 do not
 * depend on what stands before them in the bytes, so that a piece is a copy of some of them, with the deletions that are of these; all others come last.
 */
import * as encoding from 'lib0/encoding';
import { addAllDeleted, type Deleted, writeDeleted } from './deleted.ts';
import { RANGE_NUMBERS, type ScannedUpdate, type Span } from './scan.ts';
import { StructWalk, structPlace } from './struct-walk.ts';

/** Structs, or deleted ranges, of a piece: a millisecond of Yjs. */
const PIECE_ITEMS = 250;

/** By client, the clock up to which everything is here. */
export type Reached = (client: number) => number;

/** Null for what waits for something that has not come. */
export function piecesOf(update: Uint8Array, scanned: Pick<ScannedUpdate, 'spans' | 'deletes'>, reached: Reached): Pieces | null {
  const queues = new Map<number, Queue>();
  for (const span of scanned.spans) {
    const { client, from, to } = span;
    if (from > reached(client) || queues.has(client)) return null;
    if (to > reached(client)) queues.set(client, new Queue(update, span, reached(client)));
  }
  return new Pieces(queues, reached, new Deletions(scanned.deletes));
}

/** Deleted ranges that are in no piece yet. */
class Deletions {
  /** In order, three numbers each, as a scan has them. */
  readonly #deletes: readonly number[];
  /** By client, where the next of its ranges is. */
  readonly #next = new Map<number, number>();
  /** By client, how far the range that is next was taken already. */
  readonly #takenTo = new Map<number, number>();

  constructor(deletes: readonly number[]) {
    this.#deletes = deletes;
    for (let at = deletes.length - RANGE_NUMBERS; at >= 0; at -= RANGE_NUMBERS) this.#next.set(deletes[at]!, at);
  }

  /** Moves those of a client that begin before `clock`, as far as they are before it, but no more than so many. */
  take(client: number, clock: number, into: Deleted, rangesMax = Number.POSITIVE_INFINITY): number {
    let at = this.#next.get(client) ?? this.#deletes.length;
    const ranges: number[] = [];
    for (; this.#deletes[at] === client && ranges.length < 2 * rangesMax; at += RANGE_NUMBERS) {
      const from = Math.max(this.#deletes[at + 1]!, this.#takenTo.get(client) ?? 0);
      const to = Math.min(this.#deletes[at + 2]!, clock);
      if (from < to) ranges.push(from, to);
      if (to < this.#deletes[at + 2]!) break;
    }
    this.#next.set(client, at);
    this.#takenTo.set(client, Math.max(clock, this.#takenTo.get(client) ?? 0));
    if (ranges.length > 0) addAllDeleted(into, client, ranges);
    return ranges.length / 2;
  }

  /** The next of any clients. */
  takeSome(rangesMax: number): Deleted {
    const deleted: Deleted = new Map();
    let taken = 0;
    for (const client of this.#next.keys()) {
      if (taken >= rangesMax) break;
      taken += this.take(client, Number.POSITIVE_INFINITY, deleted, rangesMax - taken);
      if (this.#deletes[this.#next.get(client)!] !== client) this.#next.delete(client);
    }
    return deleted;
  }
}

/** The structs of one client that are in no piece yet. */
class Queue {
  readonly client: number;
  readonly walk: StructWalk;
  readonly #update: Uint8Array;
  readonly #span: Span;
  /** Where the piece that is being filled begins. */
  #clock: number;
  #bytesFrom: number;
  #structsBefore: number;

  constructor(update: Uint8Array, span: Span, clock: number) {
    this.client = span.client;
    this.#update = update;
    this.#span = span;
    this.walk =
      clock === span.from ? new StructWalk(update, span) : new StructWalk(update, span, structPlace(update, span, clock));
    this.#clock = this.walk.clock;
    this.#bytesFrom = this.walk.bytesFrom;
    this.#structsBefore = this.walk.structsBefore;
  }

  /** Whether all of it is in a piece. */
  get isWritten(): boolean {
    return this.#structsBefore === this.#span.structs;
  }

  /** What the walk has passed since the last time. */
  write(encoder: encoding.Encoder): void {
    const { clock, bytesFrom, structsBefore } = this.walk;
    this.#write(encoder, structsBefore, bytesFrom);
    this.#clock = clock;
    this.#bytesFrom = bytesFrom;
    this.#structsBefore = structsBefore;
  }

  /** All that is left. */
  writeRest(encoder: encoding.Encoder): void {
    this.#write(encoder, this.#span.structs, this.#span.bytesTo);
  }

  #write(encoder: encoding.Encoder, structsTo: number, bytesTo: number): void {
    encoding.writeVarUint(encoder, structsTo - this.#structsBefore);
    encoding.writeVarUint(encoder, this.client);
    encoding.writeVarUint(encoder, this.#clock);
    encoding.writeUint8Array(encoder, this.#update.subarray(this.#bytesFrom, bytesTo));
  }
}

export class Pieces {
  readonly #queues: ReadonlyMap<number, Queue>;
  readonly #inOrder: readonly Queue[];
  readonly #reached: Reached;
  readonly #deletions: Deletions;
  /** Of `#inOrder`, whose turn it is. */
  #at = 0;
  /** Those that others wait for, the next one last. */
  readonly #needed: Queue[] = [];
  #hasStructs = true;

  constructor(queues: ReadonlyMap<number, Queue>, reached: Reached, deletions: Deletions) {
    this.#queues = queues;
    this.#inOrder = [...queues.values()];
    this.#reached = reached;
    this.#deletions = deletions;
  }

  /** The next one; null behind the last. */
  next(): Uint8Array | null {
    const structs = this.#hasStructs ? this.#nextStructs() : null;
    if (structs !== null) return structs;
    const deleted = this.#deletions.takeSome(PIECE_ITEMS);
    return deleted.size === 0 ? null : written(NO_QUEUES, { write: () => undefined, deleted });
  }

  #nextStructs(): Uint8Array | null {
    const touched = new Set<Queue>();
    for (let taken = 0; taken < PIECE_ITEMS; taken += 1) {
      const queue = this.#queueAtHand();
      if (queue === 'none') break;
      if (queue === 'stuck') return this.#rest();
      touched.add(queue);
      queue.walk.next();
    }
    this.#hasStructs = touched.size > 0;
    if (!this.#hasStructs) return null;
    const deleted: Deleted = new Map();
    for (const { client, walk } of touched) this.#deletions.take(client, walk.clock, deleted);
    return written(touched, { write: (queue, encoder) => queue.write(encoder), deleted });
  }

  /** Whose next struct needs nothing that is not here or in a piece. Stuck where some wait for each other, or for what is in no update: Yjs is to find out. */
  #queueAtHand(): Queue | 'none' | 'stuck' {
    while (this.#inOrder[this.#at]?.walk.isOver === true) this.#at += 1;
    let queue = this.#inOrder[this.#at];
    if (queue === undefined) return 'none';
    for (queue = this.#needed.pop() ?? queue; ; ) {
      const missing = this.#missingTo(queue);
      if (missing === null) return queue;
      const needed = this.#queues.get(missing);
      if (needed === undefined || needed.walk.isOver || this.#needed.includes(needed) || needed === queue) return 'stuck';
      this.#needed.push(queue);
      queue = needed;
    }
  }

  /** A client of whom more has to come first. */
  #missingTo({ walk: { needs } }: Queue): number | null {
    if (needs === null) return null;
    for (let at = 0; at < needs.length; at += 2) if (needs[at + 1]! > this.#reachedOf(needs[at]!)) return needs[at]!;
    return null;
  }

  #reachedOf(client: number): number {
    return Math.max(this.#reached(client), this.#queues.get(client)?.walk.clock ?? 0);
  }

  #rest(): Uint8Array {
    this.#hasStructs = false;
    const left = this.#inOrder.filter((queue) => !queue.isWritten);
    const deleted: Deleted = new Map();
    for (const { client } of left) this.#deletions.take(client, Number.POSITIVE_INFINITY, deleted);
    return written(left, { write: (queue, encoder) => queue.writeRest(encoder), deleted });
  }
}

interface Piece {
  readonly write: (queue: Queue, encoder: encoding.Encoder) => void;
  readonly deleted: Deleted;
}

const NO_QUEUES: Queue[] = [];

function written(queues: Iterable<Queue>, { write, deleted }: Piece): Uint8Array {
  const of = [...queues];
  return encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, of.length);
    for (const queue of of) write(queue, encoder);
    writeDeleted(encoder, deleted);
  });
}
