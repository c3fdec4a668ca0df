/**
 * Storage as text, in each form in which somebody reads it whole; kept until it changes, because whoever polls it, or comes back to it with a hundred
 * others, asks for the same again.
 */
import { type DocumentForm, DocumentWriter } from './document.ts';
import { compactTexts, LinesWriter } from './node-texts.ts';
import type { Storage } from './tree.ts';

/** A document, or all nodes in full (`LinesWriter`). */
export type BytesForm = DocumentForm | typeof LINES;

/** All nodes in full, a line each. */
export const LINES = { format: 'lines' } as const;

export interface StorageTexts {
  /** By the name of their form. */
  readonly bytes: Map<string, Uint8Array>;
  /** All nodes for clients. */
  compact: readonly string[] | null;
  /** Since somebody asked for one of them. */
  quietSeconds: number;
}

/** Writes a part of it at a time; between two of them the Storage must not change. */
export interface BytesWriter {
  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean;
  /** JSON in UTF-8, when all is written. */
  done(): Uint8Array;
}

/** Nodes for clients that are less text than this are written anew for each. */
const SHARED_CHARACTERS = 64 * 1024;
/** Who polls more rarely than that has it written anew. */
const QUIET_SECONDS_MAX = 30;

export function writerOf(storage: Storage, form: BytesForm): BytesWriter {
  return form.format === 'lines' ? new LinesWriter(storage) : new DocumentWriter(storage, form);
}

export function keptBytes({ texts }: Storage, form: BytesForm): Uint8Array | null {
  return texts?.bytes.get(nameOf(form)) ?? null;
}

/** `bytes` are of the Storage as it is now. */
export function keepBytes(storage: Storage, form: BytesForm, bytes: Uint8Array): void {
  textsOf(storage).bytes.set(nameOf(form), bytes);
}

/** As of now, kept or written. */
export function bytesOf(storage: Storage, form: BytesForm): Uint8Array {
  const kept = textsOf(storage).bytes.get(nameOf(form));
  if (kept !== undefined) return kept;
  const writer = writerOf(storage, form);
  writer.write(Number.POSITIVE_INFINITY);
  const bytes = writer.done();
  keepBytes(storage, form, bytes);
  return bytes;
}

/** All nodes for clients, as of now, kept or written. */
export function compactOf(storage: Storage): readonly string[] {
  if (storage.texts !== null && storage.texts.compact !== null) return textsOf(storage).compact!;
  const written = compactTexts(storage);
  if (charactersOf(written) >= SHARED_CHARACTERS) textsOf(storage).compact = written;
  return written;
}

export function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/** Call it each second: what nobody asks for any more is let go. */
export function letTextsGo(storage: Storage): void {
  if (storage.texts === null) return;
  storage.texts.quietSeconds += 1;
  if (storage.texts.quietSeconds > QUIET_SECONDS_MAX) storage.texts = null;
}

export function nameOf(form: BytesForm): string {
  return form.format === 'lines' ? form.format : `${form.format} ${form.typeKey}`;
}

function textsOf(storage: Storage): StorageTexts {
  storage.texts ??= { bytes: new Map(), compact: null, quietSeconds: 0 };
  storage.texts.quietSeconds = 0;
  return storage.texts;
}
