/** What was written of a large Storage, kept until the next change: whoever polls it, or comes back to it with a hundred others, asks for the same again. */
import type { RoomState } from '../shapes.ts';
import { type DocumentForm, DocumentWriter } from './document.ts';
import { compactTexts, LinesWriter } from './node-texts.ts';

/** A document, or all nodes in full (`LinesWriter`). */
export type BytesForm = DocumentForm | { readonly format: 'lines' };

export interface KeptTexts {
  /** Of the room. */
  readonly version: number;
  /** By the name of their form. */
  readonly bytes: Map<string, Uint8Array>;
  /** All nodes for clients. */
  compact: readonly string[] | null;
}

/** Writes a part of it at a time; between two of them the Storage must not change for good. */
export interface BytesWriter {
  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean;
  /** JSON in UTF-8, when all is written. */
  done(): Uint8Array;
}

/** With fewer nodes it is written anew each time: less than half a millisecond. */
export const LARGE_NODES = 1_000;

export function writerOf({ storage }: RoomState, form: BytesForm): BytesWriter {
  return form.format === 'lines' ? new LinesWriter(storage) : new DocumentWriter(storage, form);
}

export function keptBytes({ texts, version }: RoomState, form: BytesForm): Uint8Array | null {
  return (texts?.version === version && texts.bytes.get(nameOf(form))) || null;
}

/** `bytes` are of the room as it is now. */
export function keepBytes(room: RoomState, form: BytesForm, bytes: Uint8Array): void {
  textsOf(room).bytes.set(nameOf(form), bytes);
}

/** As of now, kept or written. */
export function bytesOf(room: RoomState, form: BytesForm): Uint8Array {
  const kept = keptBytes(room, form);
  if (kept !== null) return kept;
  const writer = writerOf(room, form);
  writer.write(Number.POSITIVE_INFINITY);
  const bytes = writer.done();
  keepBytes(room, form, bytes);
  return bytes;
}

/** All nodes for clients, as of now, kept or written. */
export function compactOf(room: RoomState): readonly string[] {
  if (room.storage.nodes.size < LARGE_NODES) return compactTexts(room.storage);
  const texts = textsOf(room);
  texts.compact ??= compactTexts(room.storage);
  return texts.compact;
}

export function nameOf(form: BytesForm): string {
  return form.format === 'lines' ? form.format : `${form.format} ${form.typeKey}`;
}

/** Those of another version go. */
function textsOf(room: RoomState): KeptTexts {
  const { texts, version } = room;
  if (texts?.version === version) return texts;
  room.texts = { version, bytes: new Map(), compact: null };
  return room.texts;
}
