/**
 * A bounded pass over the V1 bytes of a Yjs update: every check that can be made without the document, and a summary for those
 * that need it. No Yjs, and no allocation on the strength of a declared count.
 *
 * An update that passes is one that Yjs can decode. Whether it *fits* (its clocks, what it waits for) is told by `fit.ts`.
 */
import { AppError } from '../../base/errors.ts';
import { withOneMore } from '../../base/small.ts';
import { ByteReader, invalidUpdate } from './byte-reader.ts';
import { inOrder } from './deleted.ts';
import { checkDeleted } from './kept-entries.ts';
import { YDOC_LIMITS, type YdocLimits } from './limits.ts';
import { scanStruct } from './scan-struct.ts';

/** Structs of one client without a gap between them. */
export interface Span {
  readonly client: number;
  /** Clock of the first struct, and the clock after the last. */
  readonly from: number;
  to: number;
  structs: number;
  readonly bytesFrom: number;
  bytesTo: number;
  /** Clocks of deleted or collected structs: they advance the client without bytes to show for it. */
  deleted: number;
  /** The last live structs, four numbers each: clock, length, print of where it stands, print of what it holds (`writers.ts`). */
  live: number[];
  /** What the first struct needs of other clients, two numbers each: client, clock. Null when that is nothing. */
  firstNeeds: number[] | null;
  /** Documents within the document among its structs. */
  documents: number;
  /** Of every so many structs where one begins, three numbers each: clock, place of its bytes, structs before it. Null in a short span. */
  marks: number[] | null;
}

export interface ScannedUpdate {
  /** In the order of the bytes: clients in any order, clocks of one client ascending. */
  readonly spans: readonly Span[];
  /** By client, the clock it must have reached before all of this can be integrated. */
  readonly needs: ReadonlyMap<number, number>;
  /** Deleted ranges, three numbers each: client, first clock, clock after the last; in order (`deleted.ts`), whatever the bytes have. */
  readonly deletes: readonly number[];
  /** Where the delete set begins. */
  readonly deletesAt: number;
  /** Whether the bytes have the ranges in order themselves, and no empty ones. */
  readonly isInOrder: boolean;
  /** Types that are not known to lie directly in a root: each may be one level deeper than all before. */
  readonly nestedTypes: number;
  /** Structs that do not stand right behind the one before of their client (`crowding.ts`). */
  readonly atRisk: number;
  /** What those of them stand behind that stand behind something, two numbers each: client, clock. */
  readonly behind: readonly number[];
  /** Documents within the document. */
  readonly documents: number;
  /** Roots that structs name as their parents. */
  readonly roots: ReadonlySet<string>;
}

/** What is asked of a scan of a whole document. */
export type WholeScan = Pick<ScannedUpdate, 'spans' | 'deletes' | 'deletesAt'>;

/** How far a scan has come. */
export interface Scan {
  readonly reader: ByteReader;
  readonly limits: YdocLimits;
  /** Null until there is one; likewise `needs`: most updates are one struct behind the one before. */
  spans: Span[] | null;
  needs: Map<number, number> | null;
  /** As in the bytes, without empty ranges. */
  readonly deletes: number[];
  emptyRanges: number;
  /** Ranges that must be deleted by this same update, as in `deletes`. */
  readonly mustBeDeleted: number[];
  nestedTypes: number;
  atRisk: number;
  /** Null until there is one. */
  roots: Set<string> | null;
  /** Null until there is one. */
  behind: number[] | null;
  /** Blocks that are left, each of one client, and structs that are left of the one at hand. */
  blocks: number;
  structs: number;
  /** Clients that had a block; null where there is one block at most. */
  clients: Set<number> | null;
  /** Of the block at hand: its client, the clock of the next struct, the span that it goes on. */
  blockOf: number;
  at: number;
  span: Span | null;
  /** The id that was read last. */
  client: number;
  clock: number;
}

/** What was accepted once is read again whatever the limits are now. */
export const STORED: YdocLimits = {
  ...YDOC_LIMITS,
  updateBytesMax: Number.POSITIVE_INFINITY,
  nestingMax: Number.POSITIVE_INFINITY,
  clockMax: Number.MAX_SAFE_INTEGER,
};

/** Structs to be scanned at a time: less than half a millisecond. */
export const SCANNED_STRUCTS = 1_000;

const NO_SPANS: readonly Span[] = [];
const NO_NEEDS: ReadonlyMap<number, number> = new Map();
const NOTHING_BEHIND: readonly number[] = [];
const NO_ROOTS: ReadonlySet<string> = new Set();

/** Structs of this client that are missing: Yjs' Skip. */
export const GAP = 10;
/**
 * Smallest encodings: a struct is two bytes, a client's block three without its structs, deletions of a client two, a range
 * two.
 */
const STRUCT_BYTES_MIN = 2;
const BLOCK_BYTES_MIN = 3;
export const RANGE_BYTES_MIN = 2;
/** Of a deleted range: client, first clock, clock after the last. */
export const RANGE_NUMBERS = 3;
export const MARK_NUMBERS = 3;
/** To pass over so many structs takes some 50 µs; the marks take a hundredth of the bytes they stand for. */
const STRUCTS_PER_MARK = 256;
/** A document takes 20 µs to make, any other struct about one: it counts as sixteen. */
const DOCUMENT_WEIGHT = 15;

/** @throws AppError YJS_UPDATE_INVALID, PAYLOAD_TOO_LARGE */
export function scanUpdate(update: Uint8Array, limits: YdocLimits = YDOC_LIMITS): ScannedUpdate {
  const scan = beginScan(update, limits);
  scanBlocks(scan, Number.POSITIVE_INFINITY);
  return scannedOf(scan);
}

/** A scan that is made a piece at a time. */
export class Scanning {
  readonly #scan: Scan;

  /** @throws AppError as `scanUpdate` does, like all that follows */
  constructor(update: Uint8Array, limits: YdocLimits) {
    this.#scan = beginScan(update, limits);
  }

  /** Scans so many structs. Returns whether there are more. */
  next(structsMax: number): boolean {
    return scanBlocks(this.#scan, structsMax);
  }

  /** When there are no more. */
  end(): ScannedUpdate {
    return scannedOf(this.#scan);
  }
}

function beginScan(update: Uint8Array, limits: YdocLimits): Scan {
  if (update.length > limits.updateBytesMax) {
    throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The Yjs update', bytesMax: limits.updateBytesMax });
  }
  const scan = scanOf(new ByteReader(update), limits);
  scan.blocks = scan.reader.count(BLOCK_BYTES_MIN);
  if (scan.blocks > 1) scan.clients = new Set();
  return scan;
}

/** What follows the structs is scanned, too. */
function scannedOf(scan: Scan): ScannedUpdate {
  const { reader } = scan;
  const deletesAt = reader.at;
  scanDeletes(scan);
  if (reader.left > 0) throw invalidUpdate('bytes follow its end; is it in the V2 encoding?');
  const deletes = inOrder(scan.deletes);
  checkDeleted(scan.mustBeDeleted, deletes);
  const { nestedTypes, atRisk } = scan;
  const isInOrder = deletes === scan.deletes && scan.emptyRanges === 0;
  const spans = scan.spans ?? NO_SPANS;
  const documents = spans.reduce((sum, span) => sum + span.documents, 0);
  const behind = scan.behind ?? NOTHING_BEHIND;
  return {
    spans,
    needs: scan.needs ?? NO_NEEDS,
    deletes,
    deletesAt,
    isInOrder,
    nestedTypes,
    atRisk,
    behind,
    documents,
    roots: scan.roots ?? NO_ROOTS,
  };
}

/**
 * The same for bytes that were accepted once. Null when the rules have become stricter since, or when Yjs wrote what it
 * cannot read. `behind` is left out: it is asked of what comes alone, and this scan may be kept as long as its document.
 */
export function scanStored(update: Uint8Array): ScannedUpdate | null {
  try {
    return asStored(scanUpdate(update, STORED));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return null;
  }
}

export function asStored(scanned: ScannedUpdate): ScannedUpdate {
  return { ...scanned, behind: NOTHING_BEHIND };
}

export function scanOf(reader: ByteReader, limits: YdocLimits): Scan {
  return {
    reader,
    limits,
    spans: null,
    needs: null,
    deletes: [],
    emptyRanges: 0,
    mustBeDeleted: [],
    nestedTypes: 0,
    atRisk: 0,
    roots: null,
    behind: null,
    blocks: 0,
    structs: 0,
    clients: null,
    blockOf: 0,
    at: 0,
    span: null,
    client: 0,
    clock: 0,
  };
}

/** Scans so many structs at most. Returns whether there are more. */
function scanBlocks(scan: Scan, structsMax: number): boolean {
  for (let left = structsMax; scan.structs > 0 || scan.blocks > 0; ) {
    if (scan.structs === 0) {
      beginBlock(scan);
      continue;
    }
    if (left <= 0) return true;
    left -= 1;
    scan.structs -= 1;
    scanNext(scan);
  }
  return false;
}

function beginBlock(scan: Scan): void {
  const { reader, clients } = scan;
  scan.blocks -= 1;
  scan.structs = reader.count(STRUCT_BYTES_MIN);
  scan.blockOf = reader.varUint();
  scan.at = reader.varUint();
  scan.span = null;
  // Yjs would keep only the last block of a client.
  if (clients?.has(scan.blockOf)) throw invalidUpdate(`it lists client ${scan.blockOf} twice`);
  clients?.add(scan.blockOf);
}

function scanNext(scan: Scan): void {
  const { reader, limits } = scan;
  const bytesFrom = reader.at;
  const info = reader.byte();
  if (info === GAP) scan.span = null;
  else scan.span ??= openSpan(scan, scan.blockOf, scan.at, bytesFrom);
  const { span } = scan;
  const length = span === null ? reader.varUint() : scanStruct(scan, span, info);
  // Yjs writes no empty structs, and its binary search does not find its way past one.
  if (length === 0) throw invalidUpdate('it holds an empty struct');
  scan.at += length;
  if (scan.at > limits.clockMax) throw invalidUpdate(`a clock in it is beyond ${limits.clockMax}`);
  if (span === null) return;
  span.to = scan.at;
  span.structs += 1;
  span.bytesTo = reader.at;
  if (span.structs % STRUCTS_PER_MARK === 0) span.marks = withMark(span);
}

function withMark({ marks, to, bytesTo, structs }: Span): number[] {
  if (marks === null) return [to, bytesTo, structs];
  marks.push(to, bytesTo, structs);
  return marks;
}

/** What structs cost that Yjs reads again and again. */
export function weightOf(spans: readonly Span[]): number {
  let weight = 0;
  for (const { structs, documents } of spans) weight += structs + DOCUMENT_WEIGHT * documents;
  return weight;
}

function openSpan(scan: Scan, client: number, from: number, bytesFrom: number): Span {
  const span: Span = {
    client,
    from,
    to: from,
    structs: 0,
    bytesFrom,
    bytesTo: bytesFrom,
    deleted: 0,
    live: [],
    firstNeeds: null,
    documents: 0,
    marks: null,
  };
  scan.spans = withOneMore(scan.spans, span);
  return span;
}

function scanDeletes(scan: Scan): void {
  const { reader, limits, deletes } = scan;
  for (let clients = reader.count(RANGE_BYTES_MIN); clients > 0; clients -= 1) {
    const client = reader.varUint();
    for (let ranges = reader.count(RANGE_BYTES_MIN); ranges > 0; ranges -= 1) {
      const from = reader.varUint();
      const to = from + reader.varUint();
      if (to > limits.clockMax) throw invalidUpdate(`a clock in it is beyond ${limits.clockMax}`);
      // Yjs writes none, and cannot: of one that waits it throws for ever.
      if (to === from) scan.emptyRanges += 1;
      else deletes.push(client, from, to);
    }
  }
}
