/**
 * Storage as text, in each form in which somebody reads it whole; kept, because whoever polls it, or comes back to it with a hundred others, asks for the
 * same again. Once it has changed it is written anew, and what reads as before is the memory of before (`base/piece-writer.ts`).
 */
import { type NamedPieces, PieceWriter } from '../../base/piece-writer.ts';
import { type Pieces, textIn } from '../../base/pieces.ts';
import type { Utf8Writer } from '../../base/utf8-writer.ts';
import { type DocumentForm, DocumentWriter } from './document.ts';
import { FrameWriter, NodesWriter } from './node-texts.ts';
import type { Storage } from './tree.ts';

/** A document, or all nodes (`node-texts.ts`). */
export type TextForm = DocumentForm | typeof LINES | typeof ARRAY | typeof FRAME;

/** All nodes in full, a line each. */
export const LINES = { format: 'lines' } as const;
/** The same as one JSON array. */
const ARRAY = { format: 'array' } as const;
/** All nodes as clients read them. */
const FRAME = { format: 'frame' } as const;

export interface StorageTexts {
  /** As they were written last, by the name of their form. */
  readonly written: Map<string, Written>;
  /** Of a writer that has ended, for the next. */
  scratch: Utf8Writer | null;
}

interface Written {
  /** Of the Storage that it tells. */
  readonly edits: number;
  readonly named: NamedPieces;
  readonly pieces: Pieces;
  /** Since somebody asked for it. */
  quietSeconds: number;
}

/** What most nodes take, a guess. */
const BYTES_PER_NODE = 80;
/** A frame for clients that is shorter is written anew for each. */
const SHARED_BYTES = 64 * 1024;
/** Who polls more rarely than that has it written anew. */
const QUIET_SECONDS_MAX = 30;
const NOTHING: NamedPieces = new Map();

/** Writes one text, a part of it at a time; between two of them the Storage must not change. */
export class TextWriter {
  readonly #storage: Storage;
  readonly #form: TextForm;
  readonly #out: PieceWriter;
  readonly #nodes: { write(nodesMax: number): boolean };

  constructor(storage: Storage, form: TextForm) {
    const before = storage.texts?.written.get(nameOf(form))?.named ?? NOTHING;
    this.#storage = storage;
    this.#form = form;
    this.#out = new PieceWriter({ before, scratch: takenScratch(storage), bytesExpected: storage.nodes.size * BYTES_PER_NODE });
    this.#nodes = nodesOf(storage, form, this.#out);
  }

  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean {
    return this.#nodes.write(nodesMax);
  }

  /** So far. */
  get bytes(): number {
    return this.#out.bytes;
  }

  /** JSON in UTF-8, when all is written. */
  done(): Pieces {
    return this.#end().pieces;
  }

  /** The same, kept for whoever asks next. */
  keep(): Pieces {
    this.#storage.texts ??= { written: new Map(), scratch: null };
    const written = this.#end();
    this.#storage.texts.written.set(nameOf(this.#form), written);
    return written.pieces;
  }

  #end(): Written {
    const { pieces, scratch } = this.#out.end();
    const { texts, edits } = this.#storage;
    if (texts !== null && scratch !== null) texts.scratch = scratch;
    return { edits, named: pieces, pieces: [...pieces.values()], quietSeconds: 0 };
  }
}

function nodesOf(storage: Storage, form: TextForm, out: PieceWriter): { write(nodesMax: number): boolean } {
  switch (form.format) {
    case 'lines':
    case 'array':
      return new NodesWriter(storage, out, form.format);
    case 'frame':
      return new FrameWriter(storage, out);
    default:
      return new DocumentWriter(storage, form, out);
  }
}

/** Two that write in turns must not write into the same. */
function takenScratch({ texts }: Storage): Utf8Writer | null {
  if (texts === null) return null;
  const { scratch } = texts;
  texts.scratch = null;
  return scratch;
}

/** Of the Storage as it is now; null when it was not written, or has changed since. Whoever asks keeps it from being let go. */
export function keptPieces({ texts, edits }: Storage, form: TextForm): Pieces | null {
  const written = texts?.written.get(nameOf(form));
  if (written === undefined) return null;
  written.quietSeconds = 0;
  return written.edits === edits ? written.pieces : null;
}

/** As of now, kept or written. */
export function piecesOf(storage: Storage, form: TextForm): Pieces {
  return keptPieces(storage, form) ?? written(storage, form).keep();
}

/** The frame that tells a client all of it, as of now, kept or written. */
export function frameOf(storage: Storage): Pieces {
  const kept = keptPieces(storage, FRAME);
  if (kept !== null) return kept;
  const writer = written(storage, FRAME);
  return writer.bytes < SHARED_BYTES ? writer.done() : writer.keep();
}

/** The document, for whoever needs it once. */
export function documentText(storage: Storage, form: DocumentForm): string {
  return textIn(written(storage, form).done());
}

function written(storage: Storage, form: TextForm): TextWriter {
  const writer = new TextWriter(storage, form);
  writer.write(Number.POSITIVE_INFINITY);
  return writer;
}

export function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

/** Call it each second: what nobody asks for any more is let go. */
export function letTextsGo(storage: Storage): void {
  if (storage.texts === null) return;
  const { written } = storage.texts;
  for (const [name, text] of written) {
    text.quietSeconds += 1;
    if (text.quietSeconds > QUIET_SECONDS_MAX) written.delete(name);
  }
  if (written.size === 0) storage.texts = null;
}

export function nameOf(form: TextForm): string {
  return 'typeKey' in form ? `${form.format} ${form.typeKey}` : form.format;
}
