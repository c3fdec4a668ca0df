/**
 * A large update as several small ones, of which Yjs integrates each with those before it: what it needs comes first, whoever wrote it. Structs in V1 do not
 * depend on what stands before them in the bytes, so that a piece is a copy of some of them, with the deletions that are of these; then comes what waits for
 * something else, then all other deletions.
 */
import * as encoding from 'lib0/encoding';
import { addAllDeleted, type Deleted, writeDeleted } from './deleted.ts';
import { RANGE_NUMBERS, type ScannedUpdate, type Span } from './scan.ts';
import { StructWalk, structPlace } from './struct-walk.ts';

/** Structs of a piece, or deleted ranges: a millisecond of Yjs. */
const PIECE_ITEMS = 250;
/** Deleted ranges of a piece that has structs: an entry of several values must not come without its own (`kept-entries.ts`). */
const RANGES_WITH_STRUCTS_MAX = 4 * PIECE_ITEMS;

/** By client, the clock up to which everything is here. It may rise meanwhile. */
export type Reached = (client: number) => number;

export function piecesOf(update: Uint8Array, scanned: Pick<ScannedUpdate, 'spans' | 'deletes'>, reached: Reached): Pieces {
  const queues = new Map<number, Queue>();
  const waiting: Queue[] = [];
  for (const span of scanned.spans) {
    const { client, from, to } = span;
    const known = reached(client);
    if (from > known || queues.has(client)) waiting.push(new Queue(update, span, from));
    else if (to > known) queues.set(client, new Queue(update, span, known));
  }
  return new Pieces({ queues, waiting, reached, deletions: new Deletions(scanned.deletes) });
}

/** The deleted ranges of an update. */
class Deletions {
  /** In order, three numbers each, as a scan has them. */
  readonly #deletes: readonly number[];
  /** Of each range, whether it is in a piece. */
  readonly #taken: Uint8Array;
  /** By client, where the next of its ranges is that may belong to a struct. */
  readonly #next = new Map<number, number>();
  #at = 0;

  constructor(deletes: readonly number[]) {
    this.#deletes = deletes;
    this.#taken = new Uint8Array(deletes.length / RANGE_NUMBERS);
    for (let at = deletes.length - RANGE_NUMBERS; at >= 0; at -= RANGE_NUMBERS) this.#next.set(deletes[at]!, at);
  }

  /** What is deleted of these clocks of a client, which rise from call to call, but not of more than so many ranges. */
  within(client: number, clocks: { readonly from: number; readonly to: number }, into: Deleted): void {
    const deletes = this.#deletes;
    let at = this.#next.get(client) ?? deletes.length;
    while (deletes[at] === client && deletes[at + 2]! <= clocks.from) at += RANGE_NUMBERS;
    const ranges: number[] = [];
    for (; deletes[at] === client && deletes[at + 1]! < clocks.to; at += RANGE_NUMBERS) {
      const [first, end] = [deletes[at + 1]!, deletes[at + 2]!];
      if (ranges.length >= 2 * RANGES_WITH_STRUCTS_MAX) break;
      ranges.push(Math.max(first, clocks.from), Math.min(end, clocks.to));
      if (first >= clocks.from && end <= clocks.to) this.#taken[at / RANGE_NUMBERS] = 1;
      if (end > clocks.to) break;
    }
    this.#next.set(client, at);
    if (ranges.length > 0) addAllDeleted(into, client, ranges);
  }

  /** Some of those that are in no piece. */
  rest(): Deleted {
    const deleted: Deleted = new Map();
    for (let taken = 0; this.#at < this.#deletes.length && taken < PIECE_ITEMS; this.#at += RANGE_NUMBERS) {
      if (this.#taken[this.#at / RANGE_NUMBERS] === 1) continue;
      addAllDeleted(deleted, this.#deletes[this.#at]!, this.#deletes.slice(this.#at + 1, this.#at + RANGE_NUMBERS));
      taken += 1;
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
  /** It waits until others have come, or is one of those for which others wait. */
  isInChain = false;

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
  write(encoder: encoding.Encoder, deletions: Deletions, into: Deleted): void {
    const { clock, bytesFrom, structsBefore } = this.walk;
    deletions.within(this.client, { from: this.#clock, to: clock }, into);
    this.#write(encoder, structsBefore, bytesFrom);
    this.#clock = clock;
    this.#bytesFrom = bytesFrom;
    this.#structsBefore = structsBefore;
  }

  /** All that is left. */
  writeRest(encoder: encoding.Encoder, deletions: Deletions, into: Deleted): void {
    deletions.within(this.client, { from: this.#clock, to: this.#span.to }, into);
    this.#write(encoder, this.#span.structs, this.#span.bytesTo);
    this.#structsBefore = this.#span.structs;
  }

  #write(encoder: encoding.Encoder, structsTo: number, bytesTo: number): void {
    encoding.writeVarUint(encoder, structsTo - this.#structsBefore);
    encoding.writeVarUint(encoder, this.client);
    encoding.writeVarUint(encoder, this.#clock);
    encoding.writeUint8Array(encoder, this.#update.subarray(this.#bytesFrom, bytesTo));
  }
}

interface Parts {
  readonly queues: ReadonlyMap<number, Queue>;
  /** Spans that something has to come before that is not in the update. */
  readonly waiting: readonly Queue[];
  readonly reached: Reached;
  readonly deletions: Deletions;
}

export class Pieces {
  readonly #parts: Parts;
  readonly #inOrder: readonly Queue[];
  /** Of `#inOrder`, whose turn it is. */
  #at = 0;
  /** Those that wait until others have come, the first that may go on last. */
  readonly #chain: Queue[] = [];
  #waitingAt = 0;
  #hasStructs = true;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#inOrder = [...parts.queues.values()];
  }

  /** The next one; null behind the last. */
  next(): Uint8Array | null {
    return (this.#hasStructs ? this.#nextStructs() : null) ?? this.#nextWaiting() ?? this.#nextDeletes();
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
    return this.#hasStructs ? this.#written([...touched], (queue, ...rest) => queue.write(...rest)) : null;
  }

  /** Whose next struct needs nothing that is not here or in a piece. Stuck where some wait for each other, or for what has not come: Yjs is to find out. */
  #queueAtHand(): Queue | 'none' | 'stuck' {
    while (this.#inOrder[this.#at]?.walk.isOver === true) this.#at += 1;
    const first = this.#inOrder[this.#at];
    if (first === undefined) return 'none';
    for (let queue = this.#chain.pop() ?? first; ; ) {
      queue.isInChain = false;
      const missing = this.#missingTo(queue);
      if (missing === null) return queue;
      const needed = this.#parts.queues.get(missing);
      queue.isInChain = true;
      if (needed === undefined || needed.walk.isOver || needed.isInChain) return 'stuck';
      this.#chain.push(queue);
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
    const { reached, queues } = this.#parts;
    return Math.max(reached(client), queues.get(client)?.walk.clock ?? 0);
  }

  #rest(): Uint8Array {
    this.#hasStructs = false;
    const left = this.#inOrder.filter((queue) => !queue.isWritten);
    return this.#written(left, (queue, ...rest) => queue.writeRest(...rest));
  }

  #nextWaiting(): Uint8Array | null {
    const queue = this.#parts.waiting[this.#waitingAt];
    if (queue === undefined) return null;
    this.#waitingAt += 1;
    return this.#written([queue], (one, ...rest) => one.writeRest(...rest));
  }

  #nextDeletes(): Uint8Array | null {
    const deleted = this.#parts.deletions.rest();
    return deleted.size === 0 ? null : encode([], () => undefined, deleted);
  }

  #written(queues: readonly Queue[], write: (queue: Queue, encoder: encoding.Encoder, from: Deletions, into: Deleted) => void) {
    const deleted: Deleted = new Map();
    return encode(queues, (queue, encoder) => write(queue, encoder, this.#parts.deletions, deleted), deleted);
  }
}

function encode(
  queues: readonly Queue[],
  write: (queue: Queue, encoder: encoding.Encoder) => void,
  deleted: Deleted,
): Uint8Array {
  return encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, queues.length);
    for (const queue of queues) write(queue, encoder);
    writeDeleted(encoder, deleted);
  });
}
