/** What one JSON Patch operation does to Storage (RFC 6902; contract "JSON Patch rules", supplement 1.5 and rows 66–76). */
import { valueAtKey } from '../../base/errors.ts';
import { isJsonObject, type Json } from '../../base/json.ts';
import { CRDT, type LiveTextData, OP, type Op, type TextOperation } from '../../protocol/storage-ops.ts';
import { textDataProblem } from '../../protocol/storage-values.ts';
import { applyOp } from './apply.ts';
import { copyOps, creationOps, type Draft, draftOf, plainDraft } from './draft.ts';
import { jsonEquals } from './json-equals.ts';
import { readValue, TEXT_FORM, textOf } from './lson-reader.ts';
import { nodeEquals } from './node-equals.ts';
import { type ListNode, positionsOf, type StorageNode, type TextNode } from './nodes.ts';
import {
  existing,
  existingIndex,
  type Found,
  insertionIndex,
  locate,
  PATCH_CHANGES_MAX,
  PATCH_CHARACTERS_MAX,
  PATCH_COPIED_MAX,
  refuse,
  type Step,
  type Target,
} from './patch-places.ts';
import { makePosition } from './positions.ts';
import { textLength } from './text.ts';

/** @throws AppError INVALID_STORAGE_MUTATION_REQUEST or UNPROCESSABLE_ENTITY; changes made before it must be taken back by the caller */
export function applyStep(step: Step): void {
  const { operation } = step;
  switch (operation.op) {
    case 'add':
      add(step, locate(step, operation.path), readDraft(step, operation.value));
      break;
    case 'remove':
      remove(step, locate(step, operation.path));
      break;
    case 'replace':
      replace(step, locate(step, operation.path), operation.value);
      break;
    case 'move':
      move(step, operation);
      break;
    case 'copy':
      add(step, locate(step, operation.path), copyOf(step, existing(step, locate(step, operation.from))));
      break;
    case 'test':
      test(step, locate(step, operation.path), operation.value);
      break;
    default:
      operation satisfies never;
  }
}

/** Creates or replaces a member, or inserts an item. */
function add(step: Step, target: Target, draft: Draft): void {
  const { parent, token } = target;
  if (parent.type === CRDT.LIST) {
    const positions = positionsOf(parent);
    const index = insertionIndex(step, target, parent.children.size);
    run(
      step,
      creationOps(
        draft,
        { parentId: parent.id, parentKey: makePosition(positions.at(index - 1), positions.at(index)) },
        step.ids,
      ),
    );
  } else if (parent.type === CRDT.OBJECT && draft.type === CRDT.REGISTER) {
    run(step, [{ type: OP.UPDATE_OBJECT, opId: step.ids.nextOpId(), id: parent.id, data: { [token]: draft.data } }]);
  } else {
    run(step, creationOps(draft, { parentId: parent.id, parentKey: token }, step.ids));
  }
}

function remove(step: Step, target: Target): void {
  const found = existing(step, target);
  const opId = step.ids.nextOpId();
  if (target.parent.type !== CRDT.OBJECT && 'node' in found) run(step, [{ type: OP.DELETE_CRDT, opId, id: found.node.id }]);
  else run(step, [{ type: OP.DELETE_OBJECT_KEY, opId, id: target.parent.id, key: target.token }]);
}

function replace(step: Step, target: Target, value: Json): void {
  const found = existing(step, target);
  const node = 'node' in found ? found.node : null;
  if (node?.type !== CRDT.TEXT) {
    putInPlace(step, { target, node }, readDraft(step, value));
    return;
  }
  const data = wholeText(step, value);
  if (data.length <= REWRITTEN_RUNS_MAX) rewriteText(step, node, data);
  else putInPlace(step, { target, node }, { type: CRDT.TEXT, data });
}

/** `node`: what is there, unless it is a plain value. */
function putInPlace(
  step: Step,
  { target, node }: { readonly target: Target; readonly node: StorageNode | null },
  draft: Draft,
): void {
  if (node !== null && target.parent.type === CRDT.LIST) replaceItem(step, node, draft);
  else add(step, target, draft);
}

/** At the position of the old item, so that clients see a replacement. */
function replaceItem(step: Step, { id, key, parent }: StorageNode, draft: Draft): void {
  run(step, creationOps(draft, { parentId: parent!.id, parentKey: key, intent: 'set', deletedId: id }, step.ids));
}

/**
 * Runs that a text may get by an edit. An SDK client takes a time for it that grows by their square: 0.1 s for so many, 7 s for 4,000, in which its page
 * stands still. A text of more comes in place of the one that is there, in some milliseconds.
 */
export const REWRITTEN_RUNS_MAX = 500;

/** The node stays the same one, so that editors that show it follow. */
function rewriteText(step: Step, text: TextNode, data: LiveTextData): void {
  const operations: TextOperation[] = text.data.length === 0 ? [] : [{ type: 'delete', index: 0, length: textLength(text.data) }];
  let index = 0;
  for (const [piece, attributes] of data) {
    operations.push({ type: 'insert', index, text: piece, ...(attributes === undefined ? {} : { attributes }) });
    index += piece.length;
  }
  run(step, [{ type: OP.UPDATE_TEXT, opId: step.ids.nextOpId(), id: text.id, baseVersion: text.version, ops: operations }]);
}

/** What is to be in place of a text: no less than all of one. */
function wholeText(step: Step, value: Json): LiveTextData {
  const draft = isJsonObject(value) ? readDraft(step, value) : null;
  const data = draft?.type === CRDT.TEXT ? draft.data : textOf(value);
  if (data === null) refuse(step, `a LiveText is replaced by ${TEXT_FORM}`);
  const problem = textDataProblem(data);
  if (problem !== null) throw valueAtKey(`/${step.index}/value${problem.pointer}`, problem.reason);
  return data;
}

/** Within one list the item itself moves; elsewhere a copy takes its place, for no op gives a node another parent. */
function move(step: Step, { from, path }: { readonly from: string; readonly path: string }): void {
  if (path.startsWith(`${from}/`)) refuse(step, `${from} would be moved into itself`);
  const source = locate(step, from);
  const found = existing(step, source);
  if (from === path) return;
  if (source.parent.type === CRDT.LIST && parentOf(from) === parentOf(path)) {
    moveItem(step, source.parent, source);
  } else {
    const draft = copyOf(step, found);
    remove(step, source);
    // Located only now: removing an item moves those after it (RFC 6902, 4.4).
    add(step, locate(step, path), draft);
  }
}

function moveItem(step: Step, list: ListNode, source: Target): void {
  const positions = positionsOf(list);
  const from = existingIndex(step, list, source);
  const to = insertionIndex(step, locate(step, step.operation.path), list.children.size - 1);
  if (from === to) return;
  /** As if the item were not there: those after it are one place nearer. */
  const others = (index: number) => positions.at(index < from ? index : index + 1);
  const parentKey = makePosition(others(to - 1), others(to));
  const item = list.children.get(positions.at(from)!)!;
  run(step, [{ type: OP.SET_PARENT_KEY, opId: step.ids.nextOpId(), id: item.id, parentKey }]);
}

/** A live node equals its simple JSON (supplement 1.5). */
function test(step: Step, target: Target, value: Json): void {
  const found = existing(step, target);
  const isEqual = 'node' in found ? nodeEquals(found.node, value) : jsonEquals(found.plain, value);
  if (!isEqual) refuse(step, 'the value there is another one');
}

function parentOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}

/** Counted first: a copy of all there is would be made for seconds, only to be refused. */
function copyOf(step: Step, found: Found): Draft {
  if (!('node' in found)) return plainDraft(found.plain);
  const changesLeft = PATCH_CHANGES_MAX - step.spent.changes;
  const left = Math.min(PATCH_COPIED_MAX - step.spent.copied, changesLeft);
  const nodes = copyOps(found.node, left);
  if (nodes > left) refuse(step, left < changesLeft ? TOO_MANY_COPIES : TOO_MANY_CHANGES);
  step.spent.copied += nodes;
  return draftOf(found.node);
}

function readDraft(step: Step, value: Json): Draft {
  return readValue(value, { pointer: `/${step.index}/value`, plain: 'converted' });
}

function run(step: Step, ops: readonly Op[]): void {
  for (const op of ops) {
    spend(step, op);
    const verdict = applyOp(step.storage, op, step.batch);
    if (verdict.is === 'rejected') refuse(step, verdict.reason);
    const asksNothing = op.type === OP.UPDATE_TEXT && op.ops.length === 0;
    if (verdict.is !== 'applied' && !asksNothing) refuse(step, 'it would change nothing');
  }
}

/** Names, type and ids of an op. */
const OP_CHARACTERS = 80;

const TOO_MANY_CHANGES = `the patch makes more than ${PATCH_CHANGES_MAX} changes`;

const TOO_MANY_COPIES = `the patch copies more than ${PATCH_COPIED_MAX} nodes`;

function spend(step: Step, op: Op): void {
  step.spent.changes += 1;
  step.spent.characters += beyondBody(step, op);
  if (step.spent.changes > PATCH_CHANGES_MAX) refuse(step, TOO_MANY_CHANGES);
  if (step.spent.characters > PATCH_CHARACTERS_MAX) refuse(step, `the patch writes more than ${PATCH_CHARACTERS_MAX} characters`);
}

/** Characters that an op may have and the body it came in has not: what a copy holds, and the place in a list, which grows out of those beside it. */
function beyondBody({ operation }: Step, op: Op): number {
  const place = 'parentKey' in op && typeof op.parentKey === 'string' ? op.parentKey.length : 0;
  if (operation.op !== 'copy' && operation.op !== 'move') return place;
  return OP_CHARACTERS + place + ('data' in op ? JSON.stringify(op.data).length : 0);
}
