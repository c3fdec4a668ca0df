/**
 * Who writes as which Yjs client, so that two sessions with one client id are noticed instead of losing what the second types.
 *
 * A session is never refused for sending another's structs (people forward what they have): only for sending something *else*
 * at the same clock while the other writer is live, or for using up a live writer's clocks with content that is deleted
 * already. The latter for the moment only: it may be the same client, back before anybody noticed that its former connection
 * is dead, with much that it wrote and deleted meanwhile.
 */
import { AppError } from '../../base/errors.ts';
import type { SessionId } from '../../base/ids.ts';
import type { YdocLimits } from './limits.ts';
import type { Span } from './scan.ts';
import type { Vector } from './vector.ts';

/** Where an update comes from; `session` is null for REST. */
export interface Sender {
  readonly session: SessionId | null;
  /** The sessions that are there. */
  readonly live: { has(session: SessionId): boolean };
}

interface Writer {
  session: SessionId;
  /** A ring of its last live structs, four numbers each as in `Span.live`; `written` counts all that ever went in. */
  ring: Uint32Array;
  written: number;
}

/** By Yjs client id; from half of the limit on, the one that advanced it longest ago first. */
export type Writers = Map<number, Writer>;

const NUMBERS = 4;
const RING_STRUCTS_MIN = 4;

/** @throws AppError YJS_CLIENT_ID_IN_USE, YJS_CLIENT_ID_HELD */
export function checkWriters(writers: Writers, spans: readonly Span[], known: Vector, from: Sender, limits: YdocLimits): void {
  for (const span of spans) {
    const writer = writers.get(span.client);
    if (writer === undefined || writer.session === from.session || !from.live.has(writer.session)) continue;
    if (deletedAdvance(span, known) > limits.strangerAdvanceMax) {
      throw new AppError('YJS_CLIENT_ID_HELD', { clientId: span.client });
    }
    if (contradicts(writer, span.live)) throw new AppError('YJS_CLIENT_ID_IN_USE', { clientId: span.client });
  }
}

/** Clocks by which deleted content of the span may advance its client. */
export function deletedAdvance(span: Span, known: Vector): number {
  return Math.min(span.deleted, Math.max(0, span.to - Math.max(span.from, known.get(span.client) ?? 0)));
}

/** Notes what `session` wrote; only clients that the update advances. */
export function recordWriters(
  writers: Writers,
  spans: readonly Span[],
  known: Vector,
  session: SessionId,
  limits: YdocLimits,
): void {
  for (const span of spans) {
    if (span.to <= (known.get(span.client) ?? 0)) continue;
    const writer = writers.get(span.client) ?? { session, ring: new Uint32Array(NUMBERS * RING_STRUCTS_MIN), written: 0 };
    writer.session = session;
    for (let at = 0; at < span.live.length; at += NUMBERS) recordStruct(writer, span.live, at, limits.writerStructsMax);
    if (writers.size > limits.writersMax / 2) writers.delete(span.client); // it comes last then
    writers.set(span.client, writer);
    if (writers.size > limits.writersMax) writers.delete(writers.keys().next().value!);
  }
}

function recordStruct(writer: Writer, live: readonly number[], at: number, structsMax: number): void {
  const size = writer.ring.length / NUMBERS;
  if (writer.written === size && size < structsMax) {
    const larger = new Uint32Array(NUMBERS * Math.min(structsMax, 2 * size));
    larger.set(writer.ring);
    writer.ring = larger;
  }
  const slot = NUMBERS * (writer.written % (writer.ring.length / NUMBERS));
  for (let number = 0; number < NUMBERS; number += 1) writer.ring[slot + number] = live[at + number]!;
  writer.written += 1;
}

/**
 * Whether a struct begins where a remembered one began and is another. Lengths may differ, since replicas merge and split
 * structs; what a struct stands beside never changes, and content of equal length must be equal.
 */
function contradicts({ ring, written }: Writer, live: readonly number[]): boolean {
  const end = Math.min(ring.length, NUMBERS * written);
  for (let at = 0; at < live.length; at += NUMBERS) {
    for (let slot = 0; slot < end; slot += NUMBERS) {
      if (ring[slot] !== live[at]) continue;
      if (ring[slot + 2] !== live[at + 2]) return true;
      if (ring[slot + 1] === live[at + 1] && ring[slot + 3] !== live[at + 3]) return true;
    }
  }
  return false;
}
