/**
 * Writes a document as one update a piece at a time, so that whoever types elsewhere passes in between: a megabyte takes Yjs some 20 ms. The document may change
 * meanwhile: what is written of a struct is what it was then, the deletions are written last, and together they say what there is.
 */
import * as encoding from 'lib0/encoding';
import * as Y from 'yjs';
import { concat } from '../../base/binary.ts';
import { decodeDeleted } from './deleted.ts';
import type { Span, WholeScan } from './scan.ts';

export interface Written {
  /** One V1 update, as Yjs would write it. */
  readonly bytes: Uint8Array;
  readonly scanned: WholeScan;
}

/** Structs of a piece: some 0.1 ms. */
const PIECE_STRUCTS = 250;

/** Structs of one client. */
class Block {
  readonly client: number;
  readonly #pieces: Uint8Array[] = [];
  /** As those of a span, from the first struct. */
  readonly #marks: number[] = [];
  #structs = 0;
  #bytes = 0;
  /** The clock after what is written. */
  #to = 0;

  constructor(client: number) {
    this.client = client;
  }

  /** Writes so many at most. Returns whether there are more. */
  write({ clients }: Y.Doc['store'], structsMax: number): boolean {
    const structs = clients.get(this.client)!;
    if (this.#to >= endOf(structs)) return false;
    const encoder = new Y.UpdateEncoderV1();
    const from = Y.findIndexSS(structs, this.#to);
    const before = Math.min(structs.length, from + structsMax);
    for (let at = from; at < before; at += 1) {
      const struct = structs[at]!;
      struct.write(encoder, Math.max(0, this.#to - struct.id.clock)); // it may have been joined with what is written
      this.#to = struct.id.clock + struct.length;
    }
    const piece = encoder.toUint8Array();
    this.#pieces.push(piece);
    this.#structs += before - from;
    this.#bytes += piece.length;
    this.#marks.push(this.#to, this.#bytes, this.#structs);
    return before < structs.length;
  }

  /** Puts it behind what is there already. */
  put(pieces: Uint8Array[], at: number): Span {
    const head = encoding.encode((encoder) => {
      encoding.writeVarUint(encoder, this.#structs);
      encoding.writeVarUint(encoder, this.client);
      encoding.writeVarUint(encoder, 0);
    });
    pieces.push(head, ...this.#pieces);
    const bytesFrom = at + head.length;
    for (let mark = 1; mark < this.#marks.length; mark += 3) this.#marks[mark]! += bytesFrom;
    return {
      client: this.client,
      from: 0,
      to: this.#to,
      structs: this.#structs,
      bytesFrom,
      bytesTo: bytesFrom + this.#bytes,
      marks: this.#marks.slice(0, -3), // the last is the end
      ...NOT_COUNTED,
    };
  }
}

/** Of what is in a document already nobody asks for these. */
const NOT_COUNTED = { deleted: 0, live: [], firstNeeds: null, documents: 0 };

export class Writing {
  readonly ydoc: Y.Doc;
  readonly #blocks = new Map<number, Block>();
  readonly #clients: readonly number[];
  #at = 0;

  /** @param ydoc in which nothing waits when it is finished */
  constructor(ydoc: Y.Doc) {
    this.ydoc = ydoc;
    this.#clients = [...ydoc.store.clients.keys()];
  }

  /** Writes a piece. Returns whether there may be more. */
  write(): boolean {
    const client = this.#clients[this.#at];
    if (client === undefined) return false;
    if (!this.#blockOf(client).write(this.ydoc.store, PIECE_STRUCTS)) this.#at += 1;
    return true;
  }

  /** Writes what is not written, and the deletions. To be called once. */
  finish(): Written {
    const { store } = this.ydoc;
    for (const client of store.clients.keys()) this.#blockOf(client).write(store, Number.POSITIVE_INFINITY);
    const blocks = [...this.#blocks.values()].sort((one, other) => other.client - one.client); // Yjs integrates fastest when higher clients come first
    const pieces: Uint8Array[] = [encoding.encode((encoder) => encoding.writeVarUint(encoder, blocks.length))];
    const spans: Span[] = [];
    let at = pieces[0]!.length;
    for (const block of blocks) {
      const span = block.put(pieces, at);
      spans.push(span);
      at = span.bytesTo;
    }
    const deletions = deletionsOf(store);
    pieces.push(deletions);
    return { bytes: concat(pieces), scanned: { spans, deletes: rangesIn(deletions), deletesAt: at } };
  }

  #blockOf(client: number): Block {
    const known = this.#blocks.get(client);
    if (known !== undefined) return known;
    const block = new Block(client);
    this.#blocks.set(client, block);
    return block;
  }
}

function endOf(structs: readonly (Y.Item | Y.GC)[]): number {
  const last = structs.at(-1)!;
  return last.id.clock + last.length;
}

/** The delete set, in bytes: a snapshot begins with it, and ends with a state vector. */
function deletionsOf(store: Y.Doc['store']): Uint8Array {
  return Y.encodeSnapshot(Y.createSnapshot(Y.createDeleteSetFromStructStore(store), new Map())).subarray(0, -1);
}

function rangesIn(deletions: Uint8Array): number[] {
  const deletes: number[] = [];
  for (const [client, ranges] of decodeDeleted(deletions)) {
    for (let at = 0; at < ranges.length; at += 2) deletes.push(client, ranges[at]!, ranges[at + 1]!);
  }
  return deletes;
}
