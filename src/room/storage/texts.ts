/**
 * Storage as text, in each form in which somebody reads it whole; kept until it changes, because whoever polls it, or comes back to it with a hundred
 * others, asks for the same again.
 */
import { type DocumentForm, DocumentWriter } from './document.ts';
import { FrameWriter, LinesWriter } from './node-texts.ts';
import type { Storage } from './tree.ts';

/** A document, or all nodes (`node-texts.ts`). */
export type BytesForm = DocumentForm | typeof LINES | typeof FRAME;

/** All nodes in full, a line each. */
export const LINES = { format: 'lines' } as const;
/** All nodes as clients read them. */
const FRAME = { format: 'frame' } as const;

export interface StorageTexts {
  /** By the name of their form. */
  readonly bytes: Map<string, Uint8Array>;
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

/** A frame for clients that is shorter is written anew for each. */
const SHARED_BYTES = 64 * 1024;
/** Who polls more rarely than that has it written anew. */
const QUIET_SECONDS_MAX = 30;

export function writerOf(storage: Storage, form: BytesForm): BytesWriter {
  switch (form.format) {
    case 'lines':
      return new LinesWriter(storage);
    case 'frame':
      return new FrameWriter(storage);
    default:
      return new DocumentWriter(storage, form);
  }
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
  const bytes = written(storage, form);
  keepBytes(storage, form, bytes);
  return bytes;
}

/** The frame that tells a client all of it, as of now, kept or written. */
export function frameOf(storage: Storage): Uint8Array {
  const kept = keptBytes(storage, FRAME);
  const bytes = kept ?? written(storage, FRAME);
  if (bytes.length >= SHARED_BYTES) keepBytes(storage, FRAME, bytes);
  return bytes;
}

function written(storage: Storage, form: BytesForm): Uint8Array {
  const writer = writerOf(storage, form);
  writer.write(Number.POSITIVE_INFINITY);
  return writer.done();
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
  return 'typeKey' in form ? `${form.format} ${form.typeKey}` : form.format;
}

function textsOf(storage: Storage): StorageTexts {
  storage.texts ??= { bytes: new Map(), quietSeconds: 0 };
  storage.texts.quietSeconds = 0;
  return storage.texts;
}
