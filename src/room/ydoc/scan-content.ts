/**
 * Passes over the content of one struct of an update and tells its length in clocks, making sure that Yjs will read it without
 * throwing. Nothing is built: the only strings made are JSON texts and suspicious keys.
 */
import { parseBoundedJson } from '../../base/bounded-json.ts';
import { AppError } from '../../base/errors.ts';
import { isForbiddenKey } from '../../base/json.ts';
import { type ByteReader, invalidUpdate } from './byte-reader.ts';

/** What a struct holds, by the low five bits of its first byte; 0 is a collected struct and 10 a gap, neither has content. */
export const CONTENT = { deleted: 1, json: 2, binary: 3, string: 4, embed: 5, format: 6, type: 7, any: 8, document: 9 } as const;

/** Types of Yjs, by number: array, map, text, element, fragment, hook, xml text. Elements and hooks carry a name. */
const TYPE_REF_MAX = 6;
export const NAMED_TYPE_REFS: readonly number[] = [3, 5];

/** Options of a subdocument that would overwrite what Yjs relies on: a guid that is no string cannot be encoded again. */
const RESERVED_OPTIONS: readonly string[] = ['guid', 'gcFilter'];

/** @throws AppError YJS_UPDATE_INVALID */
export function scanContent(reader: ByteReader, kind: number, nestingMax: number): number {
  switch (kind) {
    case CONTENT.deleted:
      return reader.varUint();
    case CONTENT.json:
      return scanJsonList(reader);
    case CONTENT.binary:
      reader.blob();
      return 1;
    case CONTENT.string:
      return reader.text();
    case CONTENT.embed:
      scanJson(reader);
      return 1;
    case CONTENT.format:
      scanKey(reader);
      scanJson(reader);
      return 1;
    case CONTENT.type:
      scanType(reader);
      return 1;
    case CONTENT.any:
      return scanAnyList(reader, nestingMax);
    case CONTENT.document:
      scanDocument(reader, nestingMax);
      return 1;
    default:
      throw invalidUpdate(`it holds content of the unknown kind ${kind}`);
  }
}

/** A name that becomes a property when the document is read as JSON. */
export function scanKey(reader: ByteReader): void {
  reader.text();
  const length = reader.textTo - reader.textFrom;
  // The lengths of the forbidden keys: most keys need not become a string.
  if (length !== 9 && length !== 11) return;
  const key = reader.lastText();
  if (isForbiddenKey(key)) throw invalidUpdate(`the key "${key}" is not allowed`);
}

function scanType(reader: ByteReader): void {
  const ref = reader.varUint();
  if (ref > TYPE_REF_MAX) throw invalidUpdate(`it holds a type of the unknown kind ${ref}`);
  reader.mix(ref);
  if (NAMED_TYPE_REFS.includes(ref)) reader.text();
}

/** JSON texts do not count into the print beyond their number: ports of Yjs differ in spaces and the order of keys. */
function scanJsonList(reader: ByteReader): number {
  const count = reader.count(1);
  for (let index = 0; index < count; index += 1) {
    const { print } = reader;
    reader.text();
    reader.print = print;
    const text = reader.lastText();
    if (text !== 'undefined') checkJson(text);
  }
  return count;
}

function scanJson(reader: ByteReader): void {
  const { print } = reader;
  reader.text();
  reader.print = print;
  checkJson(reader.lastText());
}

function checkJson(text: string): void {
  try {
    parseBoundedJson(text);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw invalidUpdate(`a value in it: ${String(error.facts.reason)}`);
  }
}

function scanAnyList(reader: ByteReader, nestingMax: number): number {
  const count = reader.count(1);
  for (let index = 0; index < count; index += 1) scanAny(reader, nestingMax);
  return count;
}

/** Guid and options. Yjs spreads the options over its own, so they must be an object that leaves those alone. */
function scanDocument(reader: ByteReader, nestingMax: number): void {
  reader.text();
  if (reader.byte() !== 118) throw invalidUpdate('the options of a subdocument are not an object');
  const { print } = reader;
  const count = reader.count(2);
  for (let index = 0; index < count; index += 1) {
    scanKey(reader);
    if (RESERVED_OPTIONS.includes(reader.lastText())) throw invalidUpdate('a subdocument has an option that is not allowed');
    scanAny(reader, nestingMax);
  }
  reader.print = print;
}

/** One JSON-like value in lib0's encoding. Recursion ends at `levels`. */
export function scanAny(reader: ByteReader, levels: number): void {
  if (levels < 0) throw invalidUpdate('a value in it is nested too deeply');
  const tag = reader.byte();
  switch (tag) {
    case 127: // undefined
    case 126: // null
    case 121: // false
    case 120: // true
      reader.mix(tag);
      return;
    case 125:
      reader.mixNumber(reader.varInt());
      return;
    case 124:
      reader.mixNumber(reader.float(4));
      return;
    case 123:
      reader.mixNumber(reader.float(8));
      return;
    case 122: // bigint
      reader.mixNumber(reader.float(8));
      return;
    case 119:
      reader.text();
      return;
    case 118: {
      const count = reader.count(2);
      reader.mix(count);
      for (let index = 0; index < count; index += 1) {
        scanKey(reader);
        scanAny(reader, levels - 1);
      }
      return;
    }
    case 117: {
      const count = reader.count(1);
      reader.mix(count);
      for (let index = 0; index < count; index += 1) scanAny(reader, levels - 1);
      return;
    }
    case 116:
      reader.blob();
      return;
    default:
      throw invalidUpdate(`it holds a value of the unknown kind ${tag}`);
  }
}
