/** Finds what a pointer of a JSON Patch means in Storage, and refuses with a reason what it cannot mean (supplement 1.5, rows 67–72). */
import { AppError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { parsePointer, pointerSegment } from '../../base/json-pointer.ts';
import { CRDT } from '../../protocol/storage-ops.ts';
import type { Batch } from './apply.ts';
import type { NewIds } from './draft.ts';
import { isParent, type ListNode, type ParentNode, positionsOf, type StorageNode } from './nodes.ts';
import type { PatchOperation } from './patch.ts';
import { plainValue } from './plain-values.ts';
import type { Storage } from './tree.ts';

/**
 * What one patch may come to, however few operations it has: thirty copies, each of all there is by then, would make a thousand million
 * nodes of one.
 */
export const PATCH_CHANGES_MAX = 100_000;
/**
 * Nodes that copies, and moves to another parent, may make: each takes some 10 µs and hardly a character of the body, so that a few operations would hold the
 * worker for seconds. What a body adds itself is paid for by its length.
 */
export const PATCH_COPIED_MAX = 20_000;
/** Characters that its ops have and its body has not: those of copies above all. Each is written and measured some times: a quarter of a second at worst. */
export const PATCH_CHARACTERS_MAX = 16 * 1024 * 1024;

/** One operation on its way. */
export interface Step {
  readonly storage: Storage;
  readonly ids: NewIds;
  readonly batch: Batch;
  /** By the whole patch so far; of characters those that its body has not. */
  readonly spent: { changes: number; copied: number; characters: number };
  /** Of the operation in the patch, from 0. */
  readonly index: number;
  readonly operation: PatchOperation;
}

/** Where a pointer ends: a key, index or `-` under a parent that exists. */
export interface Target {
  readonly parent: ParentNode;
  readonly token: string;
  readonly pointer: string;
}

/** What stands at a target: a node, or a plain value of an object. */
export type Found = { readonly node: StorageNode } | { readonly plain: Json };

/** @throws AppError INVALID_STORAGE_MUTATION_REQUEST quoting `path`, or the operation's own */
export function refuse({ index, operation }: Step, reason: string, path: string = operation.path): never {
  throw new AppError('INVALID_STORAGE_MUTATION_REQUEST', { index, op: operation.op, path, reason });
}

/** Walks to the parent of what `pointer` names; every step must be an object, list or map. */
export function locate(step: Step, pointer: string): Target {
  const segments = parsePointer(pointer, `/${step.index}`);
  const token = segments.pop()!;
  let parent: ParentNode = step.storage.root;
  let walked = '';
  for (const segment of segments) {
    const found = existing(step, { parent, token: segment, pointer });
    walked += pointerSegment(segment);
    if (!('node' in found) || found.node.type === CRDT.REGISTER)
      refuse(step, `${walked} is plain JSON, which cannot be entered`, pointer);
    if (!isParent(found.node)) refuse(step, `${walked} is a leaf: a LiveText or LiveFile is addressed only as a whole`, pointer);
    parent = found.node;
  }
  return { parent, token, pointer };
}

/** What stands at a target; it must be there. */
export function existing(step: Step, target: Target): Found {
  const { parent, token, pointer } = target;
  if (parent.type === CRDT.LIST)
    return { node: parent.children.get(positionsOf(parent).at(existingIndex(step, parent, target))!)! };
  const node = parent.children.get(token);
  if (node !== undefined) return { node };
  const plain = parent.type === CRDT.OBJECT ? plainValue(parent.data, token) : undefined;
  return plain === undefined ? refuse(step, `the path does not exist: there is no key "${token}"`, pointer) : { plain };
}

/** The index of an item that a target names. */
export function existingIndex(step: Step, list: ListNode, { token, pointer }: Target): number {
  if (token === '-') refuse(step, 'the index - stands for the end of a list and refers to no element', pointer);
  const index = readIndex(step, token, pointer);
  return index < list.children.size ? index : refuse(step, outOfBounds(token, list.children.size), pointer);
}

/** The index at which a list of `length` items is to get another. */
export function insertionIndex(step: Step, { token, pointer }: Target, length: number): number {
  const index = token === '-' ? length : readIndex(step, token, pointer);
  return index <= length ? index : refuse(step, outOfBounds(token, length), pointer);
}

function readIndex(step: Step, token: string, pointer: string): number {
  if (!/^(?:0|[1-9]\d*)$/.test(token)) refuse(step, `"${token}" is not a list index`, pointer);
  return Number(token);
}

function outOfBounds(token: string, length: number): string {
  return `the index ${token} is out of bounds of a list of ${length}`;
}
