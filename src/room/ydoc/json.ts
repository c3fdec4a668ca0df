/**
 * A Yjs document as JSON (contract, Yjs). Roots carry no type in Yjs, so it is inferred from what they hold, or told by the
 * caller.
 *
 * Reads only: a root is never turned into a typed one in the document itself, so that one reader's guess does not bind the next.
 */
import * as Y from 'yjs';
import { toBase64 } from '../../base/binary.ts';
import { AppError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { YDOC_LIMITS } from './limits.ts';
import { materialise, nestingOf } from './live.ts';
import type { Ydoc } from './state.ts';
import { isXml, xmlOf } from './xml.ts';

export type RootKind = 'ymap' | 'ytext' | 'yxmltext' | 'yxmlfragment' | 'yarray';

export interface YdocQuery {
  /** Only the value of this root. */
  readonly key?: string;
  /** With `key`: what to read it as. */
  readonly type?: RootKind;
  /** `delta` gives text with its formatting, as a list of inserts. */
  readonly formatting: 'plain' | 'delta';
}

/** What every type of Yjs is underneath: a list, a map, or both. */
interface Root {
  _start: Y.Item | null;
  _map: Map<string, Y.Item>;
  doc: Y.Doc | null;
}

/**
 * `{ root: value }`, or the value alone when a key is given (null when there is no such root). XML is a string, as Yjs writes it.
 * @throws AppError UNPROCESSABLE_ENTITY for a document nested deeper than any that is accepted now.
 */
export function readYdocJson(doc: Ydoc, { key, type, formatting }: YdocQuery): Json {
  const ydoc = materialise(doc);
  if (nestingOf(ydoc, YDOC_LIMITS.nestingMax) > YDOC_LIMITS.nestingMax) {
    throw new AppError('UNPROCESSABLE_ENTITY', { reason: `The Yjs document is nested deeper than ${YDOC_LIMITS.nestingMax}` });
  }
  if (key !== undefined) {
    const root: Root = ydoc.share.get(key) ?? { _start: null, _map: new Map(), doc: ydoc };
    const kind = type ?? kindOf(root);
    return kind === null ? null : readRoot(root, kind, formatting);
  }
  const all = emptyObject();
  for (const [name, root] of ydoc.share) {
    const kind = kindOf(root);
    if (kind !== null) all[name] = readRoot(root, kind, formatting);
  }
  return all;
}

/** Null for a root that holds nothing and never did; what only waits in an update leaves such roots behind. */
function kindOf(root: Root): RootKind | null {
  if (root._start === null) return root._map.size === 0 ? null : 'ymap';
  for (let item: Y.Item | null = root._start; item !== null; item = item.right) {
    const kind = item.deleted ? null : kindOfList(root, item.content);
    if (kind !== null) return kind;
  }
  // Emptied: a text and a fragment read alike, and both are commoner than lists.
  return 'ytext';
}

function kindOfList(root: Root, content: Y.Item['content']): RootKind | null {
  if (content instanceof Y.ContentString || content instanceof Y.ContentFormat || content instanceof Y.ContentEmbed)
    return 'ytext';
  if (!(content instanceof Y.ContentType)) return content instanceof Y.ContentDeleted ? null : 'yarray';
  if (!isXml(content.type) && !(content.type instanceof Y.XmlHook)) return 'yarray';
  // Editors that keep the whole document in one XML text give it attributes; a fragment has none.
  return root._map.size > 0 ? 'yxmltext' : 'yxmlfragment';
}

function readRoot(root: Root, kind: RootKind, formatting: YdocQuery['formatting']): Json {
  switch (kind) {
    case 'ymap':
      return readMap(root, formatting);
    case 'yarray':
      return readList(root, formatting);
    case 'ytext':
      return readText(sharing(new Y.Text(), root), formatting);
    case 'yxmltext':
      return xmlOf(sharing(new Y.XmlText(), root));
    case 'yxmlfragment':
      return xmlOf(sharing(new Y.XmlFragment(), root));
    default:
      return kind satisfies never;
  }
}

/** A typed view of an untyped root: the same items, and nothing that Yjs would notice. */
function sharing<View extends Root>(view: View, root: Root): View {
  view._start = root._start;
  view._map = root._map;
  view.doc = root.doc;
  return view;
}

function readMap(map: Root, formatting: YdocQuery['formatting']): JsonObject {
  const object = emptyObject();
  for (const [key, item] of map._map) {
    if (item.deleted) continue;
    const value = item.content.getContent()[item.length - 1];
    if (value !== undefined) object[key] = readValue(value, formatting);
  }
  return object;
}

function readList(list: Root, formatting: YdocQuery['formatting']): Json {
  const values: Json[] = [];
  for (let item = list._start; item !== null; item = item.right) {
    if (item.deleted || !item.countable) continue;
    for (const value of item.content.getContent()) values.push(readValue(value, formatting));
  }
  return values;
}

function readText(text: Y.Text, formatting: YdocQuery['formatting']): Json {
  if (formatting === 'plain') return text.toString();
  return (text.toDelta() as unknown[]).map((insert) => readValue(insert, formatting));
}

/** What a document may hold and JSON cannot: bytes become base64, big integers text, subdocuments `{ guid }`, the rest null. */
function readValue(value: unknown, formatting: YdocQuery['formatting']): Json {
  if (value instanceof Y.AbstractType) return readType(value, formatting);
  if (value instanceof Uint8Array) return toBase64(value);
  if (value instanceof Y.Doc) return { guid: value.guid };
  if (Array.isArray(value)) return value.map((item) => readValue(item, formatting));
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'bigint':
      return value.toString();
    case 'object':
      return value === null ? null : readObject(value, formatting);
    default:
      return null;
  }
}

function readObject(value: object, formatting: YdocQuery['formatting']): JsonObject {
  const object = emptyObject();
  for (const [key, item] of Object.entries(value)) if (item !== undefined) object[key] = readValue(item, formatting);
  return object;
}

function readType(type: Root, formatting: YdocQuery['formatting']): Json {
  if (type instanceof Y.XmlHook || type instanceof Y.Map) return readMap(type, formatting);
  if (isXml(type)) return xmlOf(type);
  return type instanceof Y.Text ? readText(type, formatting) : readList(type, formatting);
}

/** Without a prototype, so that no key of a document reaches one. */
function emptyObject(): Record<string, Json> {
  return Object.create(null) as Record<string, Json>;
}
