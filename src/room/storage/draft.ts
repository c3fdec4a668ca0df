/**
 * Storage that is not in the tree yet: what REST documents, patch values and copies have in common, and the ops that create it.
 */
import type { Json } from '../../base/json.ts';
import { CRDT, type CreateOp, type FileData, type LiveTextData, OP } from '../../protocol/storage-ops.ts';
import { isParent, itemsOf, type StorageNode } from './nodes.ts';
import { plainEntries } from './plain-values.ts';
import { makePosition } from './positions.ts';

export type Member = readonly [key: string, draft: Draft];

/** A register is plain JSON: a member of its object, or a node of its own in a list or map. */
export type Draft =
  | { readonly type: typeof CRDT.OBJECT; readonly members: readonly Member[] }
  | { readonly type: typeof CRDT.MAP; readonly members: readonly Member[] }
  | { readonly type: typeof CRDT.LIST; readonly items: readonly Draft[] }
  | { readonly type: typeof CRDT.REGISTER; readonly data: Json }
  | { readonly type: typeof CRDT.TEXT; readonly data: LiveTextData }
  | { readonly type: typeof CRDT.FILE; readonly data: FileData };

/** Where ids of new nodes and ops come from; each is given out once. */
export interface NewIds {
  nextNodeId(): string;
  nextOpId(): string;
}

/** Where a draft goes: as in the op that creates its topmost node. */
export type DraftPlace = Pick<CreateOp, 'parentId' | 'parentKey' | 'intent' | 'deletedId'>;

/** A deep copy, without identity and history. */
export function draftOf(node: StorageNode): Draft {
  switch (node.type) {
    case CRDT.OBJECT: {
      const members: Member[] = [];
      for (const [key, data] of plainEntries(node.data)) members.push([key, plainDraft(data)]);
      return { type: node.type, members: withChildren(members, node.children) };
    }
    case CRDT.MAP:
      return { type: node.type, members: withChildren([], node.children) };
    case CRDT.LIST:
      return { type: node.type, items: itemsOf(node).map(draftOf) };
    case CRDT.REGISTER:
      return plainDraft(node.data);
    case CRDT.TEXT:
      return { type: node.type, data: node.data };
    case CRDT.FILE:
      return { type: node.type, data: node.data };
    default:
      return node satisfies never;
  }
}

/** How many ops make a copy of a node; counts no further than one more than `max`. A register under an object is copied as a plain value of it. */
export function copyOps(top: StorageNode, max: number): number {
  const found = [top];
  for (let at = 0; at < found.length && found.length <= max; at += 1) {
    const node = found[at]!;
    if (!isParent(node)) continue;
    for (const child of node.children.values()) {
      if (node.type !== CRDT.OBJECT || child.type !== CRDT.REGISTER) found.push(child);
      if (found.length > max) break;
    }
  }
  return found.length;
}

export function plainDraft(data: Json): Draft {
  return { type: CRDT.REGISTER, data };
}

function withChildren(members: Member[], children: ReadonlyMap<string, StorageNode>): Member[] {
  if (children.size > 0) for (const [key, child] of children) members.push([key, draftOf(child)]);
  return members;
}

/** The ops that create a draft, parents before their children, as the SDK sends them. Recurses as deep as the draft is nested. */
export function creationOps(draft: Draft, place: DraftPlace, ids: NewIds): CreateOp[] {
  const ops: CreateOp[] = [];
  const { parentId, parentKey, ...replacing } = place;
  create(draft, parentId, parentKey);
  if (place.intent !== undefined) ops[0] = { ...ops[0]!, ...replacing };
  return ops;

  function create(made: Draft, under: string, key: string): void {
    const op = createOp(made, { opId: ids.nextOpId(), id: ids.nextNodeId(), parentId: under, parentKey: key });
    ops.push(op);
    for (const [childKey, child] of childrenOf(made)) create(child, op.id, childKey);
  }
}

type Head = Required<Pick<CreateOp, 'opId' | 'id' | 'parentId' | 'parentKey'>>;

/** Written out: there may be as many as a patch may make nodes, and a copy by spread takes several times as long. */
function createOp(draft: Draft, { opId, id, parentId, parentKey }: Head): CreateOp {
  switch (draft.type) {
    case CRDT.OBJECT:
      return { type: OP.CREATE_OBJECT, opId, id, parentId, parentKey, data: plainMembers(draft.members) };
    case CRDT.MAP:
      return { type: OP.CREATE_MAP, opId, id, parentId, parentKey };
    case CRDT.LIST:
      return { type: OP.CREATE_LIST, opId, id, parentId, parentKey };
    case CRDT.REGISTER:
      return { type: OP.CREATE_REGISTER, opId, id, parentId, parentKey, data: draft.data };
    case CRDT.TEXT:
      return { type: OP.CREATE_TEXT, opId, id, parentId, parentKey, data: draft.data, version: 0 };
    case CRDT.FILE:
      return { type: OP.CREATE_FILE, opId, id, parentId, parentKey, data: draft.data };
    default:
      return draft satisfies never;
  }
}

/** What becomes a node of its own under the draft's topmost one. */
function childrenOf(draft: Draft): readonly Member[] {
  switch (draft.type) {
    case CRDT.OBJECT:
      return liveMembers(draft.members);
    case CRDT.MAP:
      return draft.members;
    case CRDT.LIST:
      return positioned(draft.items);
    default:
      return [];
  }
}

/** The plain values among an object's members. No key is `__proto__`: all doors refuse it (`isForbiddenKey`). */
export function plainMembers(members: readonly Member[]): Record<string, Json> {
  const plain: Record<string, Json> = {};
  for (const [key, draft] of members) if (draft.type === CRDT.REGISTER) plain[key] = draft.data;
  return plain;
}

/** The members of an object that become nodes. */
export function liveMembers(members: readonly Member[]): Member[] {
  return members.filter(([, draft]) => draft.type !== CRDT.REGISTER);
}

function positioned(items: readonly Draft[]): Member[] {
  let position: string | undefined;
  return items.map((item) => {
    position = makePosition(position);
    return [position, item];
  });
}
