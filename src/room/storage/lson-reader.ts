/**
 * Reads plain LSON (contract, "Storage document") into drafts, and says of every fault where it is.
 *
 * An object is a node when its member `serviceType` or `liveblocksType` names a kind. What looks like a node of another kind is refused (supplement 7,
 * row 59); anything else with such a member is data of an application, which clients may have written.
 */
import { Compile } from 'typebox/compile';
import { AppError, missingKey, valueAtKey } from '../../base/errors.ts';
import { isForbiddenKey, isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { pointerSegment } from '../../base/json-pointer.ts';
import { CRDT, FILE_LENGTHS, FileData, type LiveTextData, type TextSegment } from '../../protocol/storage-ops.ts';
import { membersProblem, textDataProblem, type ValueProblem, valueProblem } from '../../protocol/storage-values.ts';
import { type Draft, type Member, plainDraft, plainMembers } from './draft.ts';
import { NODE_DEPTH_MAX } from './nodes.ts';
import { normalText } from './text.ts';

const TYPE_KEYS = ['serviceType', 'liveblocksType'] as const;
const KINDS = ['LiveObject', 'LiveList', 'LiveMap', 'LiveText', 'LiveFile'] as const;
type Kind = (typeof KINDS)[number];

/** What becomes of objects and arrays that are no nodes: in documents they are opaque JSON, in patch values objects and lists (contract, JSON Patch 3). */
export type PlainObjects = 'kept' | 'converted';

interface Reading {
  /** Where in the request the value stands. */
  readonly pointer: string;
  readonly depth: number;
  readonly plain: PlainObjects;
  /** Nodes and values of the whole request so far. */
  readonly made: { count: number };
}

/** Each takes some 7 µs and 600 bytes, where an item of its text may be two characters. */
const MADE_MAX = 500_000;

/** Bounds of a document as JSON: a node is two levels, and its keys are content. */
export const DOCUMENT_LIMITS = { bytesMax: 10_485_760, depthMax: 130, keysMax: 500_000 } as const;

/** The members of a whole document. @throws AppError UNPROCESSABLE_ENTITY */
export function readDocument(root: Json): readonly Member[] {
  if (!isJsonObject(root)) throw new AppError('UNPROCESSABLE_ENTITY', { reason: 'A Storage document must be an object' });
  const node = nodeHead(root, '');
  if (node === null) throw missingKey(TYPE_KEYS[0]);
  if (node.kind !== 'LiveObject') throw valueAtKey(node.typeKey, "must be 'LiveObject': the root of Storage is one");
  return readMembers(root, node.kind, { pointer: '', depth: 0, plain: 'kept', made: { count: 0 } });
}

/** A value to be added at `pointer` of a request. @throws AppError UNPROCESSABLE_ENTITY */
export function readValue(value: Json, { pointer, plain }: Pick<Reading, 'pointer' | 'plain'>): Draft {
  return read(value, { pointer, depth: 0, plain, made: { count: 0 } });
}

function read(value: Json, at: Reading): Draft {
  if (at.depth > NODE_DEPTH_MAX) throw valueAtKey(at.pointer, `is nested deeper than ${NODE_DEPTH_MAX}`);
  at.made.count += 1;
  if (at.made.count > MADE_MAX) throw valueAtKey(at.pointer, `is one more than the ${MADE_MAX} nodes and values of a document`);
  const node = isJsonObject(value) ? nodeHead(value, at.pointer) : null;
  if (node !== null) return readNode(value as JsonObject, node.kind, at);
  if (at.plain === 'converted' && Array.isArray(value)) return { type: CRDT.LIST, items: readItems(value, at) };
  if (at.plain === 'converted' && isJsonObject(value))
    return { type: CRDT.OBJECT, members: readEntries(value, at, 'LiveObject') };
  refuse(at.pointer, valueProblem(value) ?? hiddenNode(value));
  return plainDraft(value);
}

/** The kind of the node that an object describes, or null for an object that describes none. */
function nodeHead(value: JsonObject, pointer: string): { kind: Kind; typeKey: string } | null {
  const typeKey = TYPE_KEYS.find((key) => Object.hasOwn(value, key) && meansKind(value, key));
  if (typeKey === undefined) return null;
  const kind = KINDS.find((known) => known === value[typeKey]);
  if (kind === undefined) throw valueAtKey(member(pointer, typeKey), `must be one of ${KINDS.join(', ')}`);
  const extra = Object.keys(value).find(
    (key) => key !== typeKey && key !== 'data' && !(kind === 'LiveText' && key === 'version'),
  );
  if (extra !== undefined) throw valueAtKey(member(pointer, extra), `is not expected: a ${kind} has ${typeKey} and data`);
  if (!Object.hasOwn(value, 'data')) throw missingKey(pointer === '' ? 'data' : member(pointer, 'data'));
  return { kind, typeKey };
}

/** A node has no more than its kind and its data, and what begins with `Live` is meant as one all the same. */
function meansKind(value: JsonObject, typeKey: string): boolean {
  const kind = value[typeKey];
  if (typeof kind !== 'string') return false;
  return kind.startsWith('Live') || (Object.hasOwn(value, 'data') && Object.keys(value).length === 2);
}

function readNode(node: JsonObject, kind: Kind, at: Reading): Draft {
  const pointer = member(at.pointer, 'data');
  const data = node.data!;
  switch (kind) {
    case 'LiveObject':
      return { type: CRDT.OBJECT, members: readMembers(node, kind, at) };
    case 'LiveMap':
      return { type: CRDT.MAP, members: readMembers(node, kind, at) };
    case 'LiveList':
      if (!Array.isArray(data)) throw valueAtKey(pointer, 'must be an array');
      return { type: CRDT.LIST, items: readItems(data, { ...at, pointer }) };
    case 'LiveText':
      return { type: CRDT.TEXT, data: readText(data, pointer) };
    case 'LiveFile':
      return { type: CRDT.FILE, data: readFile(data, pointer) };
    default:
      return kind satisfies never;
  }
}

function readMembers(node: JsonObject, kind: 'LiveObject' | 'LiveMap', at: Reading): Member[] {
  const pointer = member(at.pointer, 'data');
  const data = node.data!;
  if (!isJsonObject(data)) throw valueAtKey(pointer, 'must be an object');
  return readEntries(data, { ...at, pointer }, kind);
}

function readEntries(data: JsonObject, at: Reading, kind: 'LiveObject' | 'LiveMap'): Member[] {
  const members = Object.entries(data).map(([key, value]): Member => {
    if (isForbiddenKey(key)) throw valueAtKey(at.pointer, `has the key "${key}", which is not allowed`);
    return [key, read(value, within(at, key))];
  });
  // The plain members of an object are one value, and bounded as one.
  if (kind === 'LiveObject') refuse(at.pointer, membersProblem(plainMembers(members)));
  return members;
}

function readItems(items: readonly Json[], at: Reading): Draft[] {
  return items.map((item, index) => read(item, within(at, index)));
}

/** @throws AppError UNPROCESSABLE_ENTITY */
function readText(value: Json, pointer: string): LiveTextData {
  const data = textOf(value);
  if (data === null) throw valueAtKey(pointer, `must be ${TEXT_FORM}`);
  refuse(pointer, textDataProblem(data));
  return data;
}

/** How a text may be written, for messages. */
export const TEXT_FORM = 'a string or an array of segments [text] or [text, attributes]; no attribute may be null';

/** The text that a JSON value spells, or null: a string, or an array of segments. */
export function textOf(value: Json): LiveTextData | null {
  if (typeof value === 'string') return normalText([[value]]);
  if (!Array.isArray(value)) return null;
  const segments: readonly Json[] = value.map((segment: Json) => (typeof segment === 'string' ? [segment] : segment));
  return segments.every(isSegment) ? normalText(segments) : null;
}

function isSegment(segment: Json): segment is TextSegment {
  if (!Array.isArray(segment) || typeof segment[0] !== 'string' || segment.length > 2) return false;
  const attributes: Json | undefined = segment[1];
  return attributes === undefined || (isJsonObject(attributes) && !Object.values(attributes).includes(null));
}

function readFile(value: Json, pointer: string): FileData {
  if (!isJsonObject(value)) throw valueAtKey(pointer, 'must be an object');
  const known = Object.keys(FileData.properties);
  const missing = known.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) throw missingKey(member(pointer, missing));
  const extra = Object.keys(value).find((key) => !known.includes(key));
  if (extra !== undefined) throw valueAtKey(member(pointer, extra), `is not expected: a file has ${known.join(', ')}`);
  for (const [key, { check, rule }] of Object.entries(FILE_RULES)) {
    if (!check.Check(value[key])) throw valueAtKey(member(pointer, key), rule);
  }
  return value as unknown as FileData;
}

const { id, name, size, mimeType } = FileData.properties;
const FILE_RULES = {
  id: { check: Compile(id), rule: 'must be fl_ and 21 letters, digits, _ or -' },
  name: { check: Compile(name), rule: `must be a string of at most ${FILE_LENGTHS.name} characters` },
  size: { check: Compile(size), rule: 'must be an integer of at least 0' },
  mimeType: { check: Compile(mimeType), rule: `must be a string of at most ${FILE_LENGTHS.mimeType} characters` },
} as const;

/** Plain JSON is opaque to us: a node inside it would never come to life (supplement 1.4). */
function hiddenNode(value: Json): ValueProblem | null {
  if (typeof value !== 'object' || value === null) return null;
  const isNode = TYPE_KEYS.some((key) => KINDS.some((kind) => kind === (value as JsonObject)[key]));
  if (isNode) return { pointer: '', reason: 'is a node inside plain JSON; write the objects around it as LiveObject or LiveMap' };
  for (const [key, inner] of Object.entries(value as JsonObject)) {
    const problem = hiddenNode(inner);
    if (problem !== null) return { ...problem, pointer: pointerSegment(key) + problem.pointer };
  }
  return null;
}

function refuse(pointer: string, problem: ValueProblem | null): void {
  if (problem !== null) throw valueAtKey(pointer + problem.pointer, problem.reason);
}

/** Written out: of a copy by spread V8 searches for each key that is replaced, and there are as many of these as values. */
function within({ pointer, depth, plain, made }: Reading, key: string | number): Reading {
  return { pointer: member(pointer, key), depth: depth + 1, plain, made };
}

function member(pointer: string, key: string | number): string {
  return pointer + pointerSegment(key);
}
