/**
 * Reads a document into a `Y.Doc` a piece at a time, so that whoever types elsewhere passes in between: a megabyte takes Yjs some 150 ms. What it has not read
 * when somebody needs the `Y.Doc` at once is read then (`live.ts`).
 */
import * as Y from 'yjs';
import { AppError } from '../../base/errors.ts';
import { beginLive, materialise, noteDrained } from './live.ts';
import { isLongToRead } from './long.ts';
import { type Pieces, piecesOf } from './pieces.ts';
import { emptyReplica } from './replica.ts';
import { asStored, SCANNED_STRUCTS, Scanning, STORED } from './scan.ts';
import { type Live, tailScan, tailUpdate, type Ydoc } from './state.ts';
import { metered, StepMeter } from './steps.ts';

/** A longer update of those that came since it was stored is read by pieces. */
const AT_ONCE_BYTES = 16 * 1024;
/** Others so many at a time, unless they are longer than what is typed. */
const TOGETHER_MAX = 50;
const SHORT_BYTES = 128;

const NOTHING_READ = (): number => 0;

interface TailPieces {
  readonly index: number;
  readonly pieces: Pieces | null;
}

/** The scan of a document's base. */
export class BaseScanning {
  readonly #doc: Ydoc;
  readonly #base: Uint8Array;
  #scanning: Scanning | null = null;

  constructor(doc: Ydoc) {
    this.#doc = doc;
    this.#base = doc.base;
  }

  /** Scans a piece. Returns whether there is more. */
  next(): boolean {
    const doc = this.#doc;
    if (doc.base !== this.#base || doc.baseScan !== undefined) return false;
    try {
      this.#scanning ??= new Scanning(this.#base, STORED);
      if (this.#scanning.next(SCANNED_STRUCTS)) return true;
      doc.baseScan = asStored(this.#scanning.end());
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      doc.baseScan = null; // only Yjs can read it
    }
    return false;
  }
}

export class Reading {
  readonly #doc: Ydoc;
  readonly #base: Uint8Array;
  readonly #ydoc = emptyReplica({ gc: true });
  readonly #meter = new StepMeter();
  readonly #scanning: BaseScanning;
  #ofBase: Pieces | null = null;
  #isHandedOver = false;
  #ofTail: TailPieces = { index: -1, pieces: null };

  constructor(doc: Ydoc) {
    this.#doc = doc;
    this.#base = doc.base;
    this.#scanning = new BaseScanning(doc);
  }

  /** Reads a piece. Returns whether to go on: what cannot be read by pieces is left to whoever needs it. */
  read(): boolean {
    const doc = this.#doc;
    try {
      if (!isLongToRead(doc)) {
        materialise(doc);
        return false;
      }
      return doc.live === null ? this.#readBase() : this.#readTail(doc.live);
    } catch {
      doc.live = null; // a Y.Doc in which Yjs threw is not used again
      return false;
    }
  }

  #readBase(): boolean {
    const doc = this.#doc;
    if (doc.base !== this.#base || this.#isHandedOver) return false; // what was handed over is not used again once it was thrown away
    if (doc.baseScan === undefined) {
      this.#scanning.next();
      return true;
    }
    if (doc.baseScan === null) return false;
    this.#ofBase ??= piecesOf(doc.base, doc.baseScan, NOTHING_READ);
    const piece = this.#ofBase.next();
    if (piece !== null) {
      metered(this.#meter, () => Y.applyUpdate(this.#ydoc, piece));
      return true;
    }
    this.#isHandedOver = true;
    beginLive(doc, this.#ydoc, this.#meter.steps);
    if (doc.tail.ends.length === 0) noteDrained(doc, this.#ydoc, 0);
    return true;
  }

  #readTail(live: Live): boolean {
    const doc = this.#doc;
    const piece = this.#pieceOfTail(live);
    const meter = new StepMeter();
    if (piece === null) metered(meter, () => live.ydoc.transact(() => this.#applySome(live)));
    else metered(meter, () => Y.applyUpdate(live.ydoc, piece));
    doc.crowding.steps += meter.steps;
    if (live.drained === doc.tail.ends.length) noteDrained(doc, live.ydoc, 0);
    return true;
  }

  /** The next, whatever it is, and with it those that are short: one transaction for each would take longer than they do. */
  #applySome(live: Live): void {
    const { tail } = this.#doc;
    const end = Math.min(tail.ends.length, live.drained + TOGETHER_MAX);
    do {
      Y.applyUpdate(live.ydoc, tailUpdate(tail, live.drained));
      live.drained += 1;
    } while (live.drained < end && tailUpdate(tail, live.drained).length <= SHORT_BYTES);
  }

  /** Of the update that is next, if that is long; null when what is left of it comes at once. */
  #pieceOfTail({ ydoc, drained: index }: Live): Uint8Array | null {
    const { tail } = this.#doc;
    if (this.#ofTail.index !== index) {
      const update = tailUpdate(tail, index);
      const scanned = update.length > AT_ONCE_BYTES ? tailScan(tail, index) : null;
      const pieces = scanned === null ? null : piecesOf(update, scanned, (client) => Y.getState(ydoc.store, client));
      this.#ofTail = { index, pieces };
    }
    return this.#ofTail.pieces?.next() ?? null;
  }
}
