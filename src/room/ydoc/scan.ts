/**
 * A bounded pass over the V1 bytes of a Yjs update: every check that can be made without the document, and a summary for those
 * that need it. No Yjs, and no allocation on the strength of a declared count.
 *
 * An update that passes is one that Yjs can decode. Whether it *fits* (its clocks, what it waits for) is told by `fit.ts`.
 */
import { AppError } from '../../base/errors.ts';
import { SmallMap, SmallSet, withOneMore } from '../../base/small.ts';
import { ByteReader, invalidUpdate } from './byte-reader.ts';
import { inOrder } from './deleted.ts';
import { checkDeleted } from './kept-entries.ts';
import { YDOC_LIMITS, type YdocLimits } from './limits.ts';
import { CONTENT, scanContent, scanKey } from './scan-content.ts';

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

const NO_SPANS: readonly Span[] = [];
const NO_NEEDS: ReadonlyMap<number, number> = new Map();
const NOTHING_BEHIND: readonly number[] = [];
const NO_ROOTS: ReadonlySet<string> = new Set();

/** Of the first byte of a struct. */
export const HAS_ORIGIN = 0x80;
export const HAS_RIGHT_ORIGIN = 0x40;
export const HAS_KEY = 0x20;
export const KIND = 0x1f;
const COLLECTED = 0;
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
const LIVE_NUMBERS = 4;
export const MARK_NUMBERS = 3;
/** To pass over so many structs takes some 50 µs; the marks take a hundredth of the bytes they stand for. */
const STRUCTS_PER_MARK = 256;
/** A document takes 20 µs to make, any other struct about one: it counts as sixteen. */
const DOCUMENT_WEIGHT = 15;

/** @throws AppError YJS_UPDATE_INVALID, PAYLOAD_TOO_LARGE */
export function scanUpdate(update: Uint8Array, limits: YdocLimits = YDOC_LIMITS): ScannedUpdate {
  if (update.length > limits.updateBytesMax) {
    throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The Yjs update', bytesMax: limits.updateBytesMax });
  }
  const reader = new ByteReader(update);
  const scan = scanOf(reader, limits);
  scanBlocks(scan);
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
    return { ...scanUpdate(update, STORED), behind: NOTHING_BEHIND };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return null;
  }
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
    client: 0,
    clock: 0,
  };
}

function scanBlocks(scan: Scan): void {
  const blocks = scan.reader.count(BLOCK_BYTES_MIN);
  const clients = blocks > 1 ? new Set<number>() : null;
  for (let block = 0; block < blocks; block += 1) {
    const client = scanBlock(scan);
    // Yjs would keep only the last block of a client.
    if (clients?.has(client)) throw invalidUpdate(`it lists client ${client} twice`);
    clients?.add(client);
  }
}

function scanBlock(scan: Scan): number {
  const { reader, limits } = scan;
  const structs = reader.count(STRUCT_BYTES_MIN);
  const client = reader.varUint();
  let clock = reader.varUint();
  let span: Span | null = null;
  for (let index = 0; index < structs; index += 1) {
    const bytesFrom = reader.at;
    const info = reader.byte();
    const isGap = info === GAP;
    if (isGap) span = null;
    else if (span === null) span = openSpan(scan, client, clock, bytesFrom);
    const length = span === null ? reader.varUint() : scanStruct(scan, span, info);
    // Yjs writes no empty structs, and its binary search does not find its way past one.
    if (length === 0) throw invalidUpdate('it holds an empty struct');
    clock += length;
    if (clock > limits.clockMax) throw invalidUpdate(`a clock in it is beyond ${limits.clockMax}`);
    if (span !== null) {
      span.to = clock;
      span.structs += 1;
      span.bytesTo = reader.at;
      if (span.structs % STRUCTS_PER_MARK === 0) span.marks = withMark(span);
    }
  }
  return client;
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

/** One struct after its first byte, standing at `span.to`. Returns its length in clocks. */
export function scanStruct(scan: Scan, span: Span, info: number): number {
  const { reader, limits } = scan;
  if (info === COLLECTED) {
    const length = reader.varUint();
    span.deleted += length;
    return length;
  }
  const kind = info & KIND;
  const inRoot = scanPlace(scan, span, info);
  const place = reader.print;
  reader.print = kind;
  const length = scanContent(reader, kind, limits.nestingMax);
  if (kind === CONTENT.type && !inRoot) scan.nestedTypes += 1;
  if (kind === CONTENT.document) span.documents += 1;
  if (kind === CONTENT.deleted) {
    span.deleted += length;
    return length;
  }
  if (info & HAS_KEY && length > 1) scan.mustBeDeleted.push(span.client, span.to, span.to + length);
  remember(span, length, place, reader.print, limits.writerStructsMax);
  return length;
}

/** Where a struct stands: its neighbours, or else its parent. Returns whether that is known to be a root. */
function scanPlace(scan: Scan, span: Span, info: number): boolean {
  const { reader } = scan;
  const neighbours = info & (HAS_ORIGIN | HAS_RIGHT_ORIGIN);
  reader.print = neighbours;
  if (info & HAS_ORIGIN) scanOrigin(scan, span);
  else scan.atRisk += 1;
  if (info & HAS_RIGHT_ORIGIN) scanId(scan, span);
  if (neighbours !== 0) return false;
  const parent = reader.varUint();
  if (parent > 1) throw invalidUpdate('a struct in it has no parent');
  if (parent === 1) scanRoot(scan);
  else scanId(scan, span);
  if (info & HAS_KEY) scanKey(reader);
  return parent === 1;
}

function scanRoot(scan: Scan): void {
  scanKey(scan.reader);
  scan.roots ??= new SmallSet();
  scan.roots.add(scan.reader.lastText());
}

/** Right behind the one before it, or behind anything else. */
function scanOrigin(scan: Scan, span: Span): void {
  scanId(scan, span);
  const { client, clock } = scan;
  if (client === span.client && clock === span.to - 1) return;
  scan.atRisk += 1;
  scan.behind ??= [];
  scan.behind.push(client, clock);
}

function scanId(scan: Scan, span: Span): void {
  const { reader, limits } = scan;
  const client = reader.varUint();
  const clock = reader.varUint();
  scan.client = client;
  scan.clock = clock;
  reader.mix(client);
  reader.mix(clock);
  if (client === span.client) {
    // Yjs takes it for granted that a client refers only to its own past, and throws while it integrates.
    if (clock >= span.to) throw invalidUpdate('a struct in it refers to its own future');
    return;
  }
  if (clock >= limits.clockMax) throw invalidUpdate(`a clock in it is beyond ${limits.clockMax}`);
  scan.needs ??= new SmallMap();
  if (clock >= (scan.needs.get(client) ?? 0)) scan.needs.set(client, clock + 1);
  if (span.structs > 0) return;
  span.firstNeeds ??= [];
  span.firstNeeds.push(client, clock + 1);
}

function remember(span: Span, length: number, place: number, content: number, structsMax: number): void {
  if (span.live.length === 0) span.live = [span.to, length, place, content];
  else span.live.push(span.to, length, place, content);
  // Dropped in halves, so that a long span does not shift its array at every struct.
  if (span.live.length > 2 * LIVE_NUMBERS * structsMax) span.live.splice(0, LIVE_NUMBERS * structsMax);
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
