/** The scan of one struct: where it stands, and what it holds. */
import { SmallMap, SmallSet } from '../../base/small.ts';
import { invalidUpdate } from './byte-reader.ts';
import type { Scan, Span } from './scan.ts';
import { CONTENT, scanContent, scanKey } from './scan-content.ts';

/** Of the first byte of a struct. */
export const HAS_ORIGIN = 0x80;
export const HAS_RIGHT_ORIGIN = 0x40;
export const HAS_KEY = 0x20;
export const KIND = 0x1f;
const COLLECTED = 0;
const LIVE_NUMBERS = 4;

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
