/**
 * Several updates as one, by moving bytes: what a newcomer is sent costs a copy, not a `Y.Doc` (performance, technique 5).
 *
 * Structs in V1 do not depend on what stands before them in the bytes, so runs of one client that follow each other without
 * overlap can be put behind one another. Anything else is left to Yjs.
 */
import * as encoding from 'lib0/encoding';
import { restFrom } from './cut.ts';
import { type Deleted, writeDeleted } from './deleted.ts';
import { GAP, type ScannedUpdate, type Span } from './scan.ts';
import { structPlace } from './struct-walk.ts';
import type { Vector } from './vector.ts';

export interface Part {
  readonly bytes: Uint8Array;
  readonly scanned: Pick<ScannedUpdate, 'spans'>;
}

interface Run {
  readonly from: number;
  to: number;
  structs: number;
  readonly pieces: Uint8Array[];
}

/** A span and the bytes in which it lies. */
interface Placed {
  readonly bytes: Uint8Array;
  readonly span: Span;
}

/**
 * One V1 update with the structs of all parts that reach beyond `vector`, and all of `deleted`; null when that takes more than
 * moving bytes.
 */
export function joinUpdates(parts: readonly Part[], vector: Vector, deleted: Deleted): Uint8Array | null {
  const runs = new Map<number, Run>();
  for (const { bytes, scanned } of parts) {
    for (const span of scanned.spans) {
      const run = runs.get(span.client);
      const end = run?.to ?? vector.get(span.client) ?? 0;
      if (span.to <= end) continue;
      // It came before what it follows, or overlaps what is joined already.
      if (span.from > end || (run !== undefined && span.from < end)) return null;
      if (run === undefined) runs.set(span.client, runFrom(end, bytes, span));
      else extend(run, bytes, span);
    }
  }
  return written(runs, deleted);
}

/**
 * The same for parts of which something waits, so that they may leave gaps, and come in any order: what is missing is written as such. Null when any
 * of them overlap: which one counts depends on what waited when it came.
 */
export function joinWithGaps(parts: readonly Part[], vector: Vector, deleted: Deleted): Uint8Array | null {
  const placed = parts.flatMap(({ bytes, scanned }) => scanned.spans.map((span): Placed => ({ bytes, span })));
  placed.sort((one, other) => one.span.from - other.span.from);
  const runs = new Map<number, Run>();
  for (const { bytes, span } of placed) {
    const known = vector.get(span.client) ?? 0;
    const run = runs.get(span.client);
    if (run !== undefined && span.from < run.to) return null;
    if (span.to <= known) continue;
    if (run === undefined) {
      runs.set(span.client, runFrom(Math.max(known, span.from), bytes, span));
      continue;
    }
    if (span.from > run.to) passOver(run, span.from);
    extend(run, bytes, span);
  }
  return written(runs, deleted);
}

function written(runs: ReadonlyMap<number, Run>, deleted: Deleted): Uint8Array {
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, runs.size);
  // Yjs integrates fastest when higher clients come first.
  for (const [client, run] of [...runs].sort((one, other) => other[0] - one[0])) {
    encoding.writeVarUint(encoder, run.structs);
    encoding.writeVarUint(encoder, client);
    encoding.writeVarUint(encoder, run.from);
    for (const piece of run.pieces) encoding.writeUint8Array(encoder, piece);
  }
  writeDeleted(encoder, deleted);
  return encoding.toUint8Array(encoder);
}

function passOver(run: Run, to: number): void {
  run.pieces.push(
    encoding.encode((encoder) => {
      encoding.writeUint8(encoder, GAP);
      encoding.writeVarUint(encoder, to - run.to);
    }),
  );
  run.structs += 1;
  run.to = to;
}

/** Of a span that begins there or before it, and reaches beyond. */
function runFrom(clock: number, bytes: Uint8Array, span: Span): Run {
  if (span.from === clock) return { from: clock, to: span.to, structs: span.structs, pieces: [pieceOf(bytes, span)] };
  const first = structPlace(bytes, span, clock);
  const structs = span.structs - first.structsBefore;
  const cut = { client: span.client, from: first.clock, clock };
  const { from, pieces } = restFrom(bytes.subarray(first.bytesFrom, span.bytesTo), cut);
  return { from, to: span.to, structs, pieces: [...pieces] };
}

function extend(run: Run, bytes: Uint8Array, span: Span): void {
  run.to = span.to;
  run.structs += span.structs;
  run.pieces.push(pieceOf(bytes, span));
}

function pieceOf(bytes: Uint8Array, span: Span): Uint8Array {
  return bytes.subarray(span.bytesFrom, span.bytesTo);
}
