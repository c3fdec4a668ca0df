/**
 * Whether Storage is what a schema says (supplement 3.2): the whole tree, or only what a group of changes touched.
 *
 * Both ask the same of each node; the second asks it of the changed places alone. That is enough where everything matched before:
 * what is right for a node depends on its place and its own content, and no change gives a node another parent.
 */
import { CRDT } from '../../protocol/storage-ops.ts';
import { isParent, type ParentNode, type StorageNode } from '../storage/nodes.ts';
import { plainEntries, plainValue } from '../storage/plain-values.ts';
import type { Slot, Storage } from '../storage/tree.ts';
import type { ObjectType, Schema, ValueType } from './compile.ts';
import { type Fault, faultIn, type Mismatch, mismatchAt } from './mismatch.ts';
import { plainFault } from './plain.ts';

/** What a node with children is held against: an object type, or the one type of all its items or entries. */
export type Inside = { readonly object: ObjectType } | { readonly each: ValueType; readonly name: string };

interface Place extends Slot {
  readonly inside: Inside;
}

/** The first place where Storage is not what the schema says, or null. A loop, so the depth of the tree does not matter. */
export function matchStorage({ root }: Schema, { root: node }: Storage): Mismatch | null {
  const object = { object: root };
  const fault = contentFault(node, object);
  if (fault !== null) return mismatchAt(node, fault);
  const waiting: (readonly [ParentNode, Inside])[] = [[node, object]];
  for (let at = 0; at < waiting.length; at += 1) {
    const [parent, inside] = waiting[at]!;
    for (const [key, child] of parent.children) {
      const mismatch = childMismatch(child, { parent, key, inside });
      if (mismatch !== null) return mismatch;
      if (isParent(child)) waiting.push([child, insideOf(child, typeAt(inside, key)!)!]);
    }
  }
  return null;
}

/** The first of the changed places that is not what the schema says, or null, given that all matched before the changes. */
export function matchChanges({ root }: Schema, { root: node, nodes }: Storage, slots: Iterable<Slot>): Mismatch | null {
  const insides = new Map<ParentNode, Inside | null>([[node, { object: root }]]);
  const asked = new Map<ParentNode, Set<string>>();
  for (const { parent, key } of slots) {
    const keys = asked.get(parent) ?? new Set();
    if (keys.has(key) || nodes.get(parent.id) !== parent) continue; // asked before; or gone, and then asked about where it was
    asked.set(parent, keys.add(key));
    const inside = insideKnown(parent, insides);
    const mismatch = inside === null ? null : slotMismatch({ parent, key, inside });
    if (mismatch !== null) return mismatch;
  }
  return null;
}

function slotMismatch(place: Place): Mismatch | null {
  const { parent, key, inside } = place;
  const child = parent.children.get(key);
  if (child !== undefined) return childMismatch(child, place);
  if (parent.type !== CRDT.OBJECT || !('object' in inside)) return null; // an item or entry may always go
  const value = plainValue(parent.data, key);
  const type = typeAt(inside, key);
  if (value !== undefined) return found(place, type === undefined ? { problem: 'not known' } : plainFault(value, type));
  return inside.object.fields.get(key)?.isOptional === false ? found(place, { problem: 'not optional' }) : null;
}

/** What is wrong with a child: its place, its kind, or its own content, that of its children not included. */
function childMismatch(child: StorageNode, place: Place): Mismatch | null {
  const type = typeAt(place.inside, place.key);
  if (type === undefined) return found(place, { problem: 'not known' });
  switch (child.type) {
    case CRDT.REGISTER:
      return found(place, plainFault(child.data, type));
    case CRDT.TEXT:
      return type.hasLiveText ? null : found(place, wrongKind(type, 'a LiveText'));
    case CRDT.FILE:
      return type.hasLiveFile ? null : found(place, wrongKind(type, 'a LiveFile'));
    default: {
      const inside = insideOf(child, type);
      if (inside === null) return found(place, wrongKind(type, KINDS[child.type]));
      const fault = contentFault(child, inside);
      return fault === null ? null : mismatchAt(child, fault);
    }
  }
}

const KINDS = { [CRDT.OBJECT]: 'a LiveObject', [CRDT.LIST]: 'a LiveList', [CRDT.MAP]: 'a LiveMap' } as const;

/** What is missing among all members of an object, or wrong with its plain ones. */
function contentFault(node: ParentNode, inside: Inside): Fault | null {
  if (node.type !== CRDT.OBJECT || !('object' in inside)) return null;
  const { name, fields, required } = inside.object;
  for (const key of required)
    if (plainValue(node.data, key) === undefined && !node.children.has(key)) return faultIn(name, key, { problem: 'missing' });
  for (const [key, value] of plainEntries(node.data)) {
    const type = fields.get(key)?.type;
    const fault = type === undefined ? ({ problem: 'not known' } as const) : plainFault(value, type);
    if (fault !== null) return faultIn(name, key, fault);
  }
  return null;
}

function wrongKind({ text }: ValueType, what: string): Fault {
  return { problem: 'wrong type', expected: text, found: what };
}

function found({ parent, key, inside }: Place, fault: Fault | null): Mismatch | null {
  return fault === null ? null : mismatchAt(parent, faultIn('object' in inside ? inside.object.name : inside.name, key, fault));
}

function typeAt(inside: Inside, key: string): ValueType | undefined {
  return 'object' in inside ? inside.object.fields.get(key)?.type : inside.each;
}

/** What the content of a node is held against, or null when the type does not allow its kind. */
function insideOf(node: ParentNode, { liveObject, liveList, liveMap }: ValueType): Inside | null {
  switch (node.type) {
    case CRDT.OBJECT:
      return liveObject === null ? null : { object: liveObject };
    case CRDT.LIST:
      return liveList === null ? null : { each: liveList, name: `LiveList<${liveList.text}>` };
    case CRDT.MAP:
      return liveMap === null ? null : { each: liveMap, name: `LiveMap<string, ${liveMap.text}>` };
    default:
      return node satisfies never;
  }
}

/** The same by where the node stands; each node is asked about once. Null below what did not match before the changes. */
function insideKnown(node: ParentNode, known: Map<ParentNode, Inside | null>): Inside | null {
  const path: ParentNode[] = [];
  let at = node;
  for (; !known.has(at); at = at.parent!) path.push(at);
  let inside = known.get(at) ?? null;
  for (const next of path.reverse()) {
    const type = inside === null ? undefined : typeAt(inside, next.key);
    inside = type === undefined ? null : insideOf(next, type);
    known.set(next, inside);
  }
  return inside;
}
