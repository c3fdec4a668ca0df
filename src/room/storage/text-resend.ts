/**
 * What a resent UPDATE_TEXT holds behind the edit that was applied already (protocol §6.3 option C).
 *
 * A client that missed the answer to an edit sends it again after its reconnect, with all that was typed since behind it, under one op id. What it
 * sends first is that edit as the client knew it last: moved over those updates of others that it had heard of, which only the client knows.
 */
import type { Json } from '../../base/json.ts';
import { CRDT, OP, type Op, type TextOperation, type UpdateTextOp } from '../../protocol/storage-ops.ts';
import { jsonEquals } from './json-equals.ts';
import type { StorageNode, TextNode } from './nodes.ts';
import { type AppliedUpdate, latestSince, updateOf, updatesSince } from './text-history.ts';
import { lengthOf, type Outline, outlineOf } from './text-outline.ts';
import { PAIRS_MAX, transform, transformOverAll } from './text-transform.ts';

type Operations = readonly TextOperation[];

/** The last update under an op id, and the version it made. */
type Known = NonNullable<ReturnType<typeof updateOf>>;

export interface Sender {
  /** The version that the client had heard of, at most, when it typed what it sends. */
  readonly typedOver: number;
  /** Of the edit that was applied already. */
  readonly outline: Outline;
}

/** The operations behind the known edit, moved to the text as it is now; none when there are none. */
export function operationsBehind(op: UpdateTextOp, text: TextNode, { typedOver, outline }: Sender): Operations {
  const known = op.opId === undefined ? null : updateOf(text.history, op.opId, text.version);
  const exact = known === null ? null : behindForm(op, text, known);
  if (exact !== null) return exact;
  const rest = op.ops.slice(lengthOf(known === null ? outline : outlineOf(sentOf(known.update)), op.ops));
  if (known === null && outline === 0) return [];
  // Its client read the text at the version that it based the edit on, and has typed the rest since.
  const unheard = latestSince(text.history, Math.max(typedOver, known?.update.baseVersion ?? 0), text.version);
  const others = unheard.filter(({ opId }) => opId !== op.opId).map(({ operations }) => operations);
  return transformOverAll(rest, others) ?? rest; // better a little off its place than lost
}

function sentOf({ sent, operations }: AppliedUpdate): Operations {
  return sent ?? operations;
}

/** What stands behind the edit as its client knew it while it heard of one update after the other; null when the op begins with nothing of that. */
function behindForm(op: UpdateTextOp, { history, version }: TextNode, known: Known): Operations | null {
  const sent = sentOf(known.update);
  const { baseVersion } = known.update;
  const all = updatesSince(history, baseVersion, version);
  const count = all?.reduce((sum, { operations }) => sum + operations.length, 0) ?? 0;
  if (all === null || count * (op.ops.length + sent.length) > PAIRS_MAX) return null;
  const before = all.slice(0, known.version - 1 - baseVersion);
  const rest = behindAny(op, formsOf(sent, before), before);
  const after = all.slice(before.length + 1);
  return rest === null ? null : after.reduce<Operations>((moved, { operations }) => transform(moved, operations, 'after'), rest);
}

/** The edit as it was sent, and as its client knew it after each of the updates that came before it here. */
function formsOf(sent: Operations, before: readonly AppliedUpdate[]): Operations[] {
  const forms = [sent];
  for (const { operations } of before) forms.push(transform(forms.at(-1)!, operations, 'after'));
  return forms;
}

/** What stands behind the form that the op begins with, moved over the updates which the client had not heard of. */
function behindAny(
  { opId, ops }: UpdateTextOp,
  forms: readonly Operations[],
  before: readonly AppliedUpdate[],
): Operations | null {
  let heard = -1;
  // The longest, for a form of which others left nothing begins everything; of equals the last, for most clients missed no more than the answer.
  for (const [index, form] of forms.entries())
    if (beginsWith(ops, form) && form.length >= (forms[heard]?.length ?? 0)) heard = index;
  if (heard < 0) return null;
  let rest = ops.slice(forms[heard]!.length);
  for (let index = heard; index < before.length; index += 1) {
    if (before[index]!.opId === opId) continue; // a part of the edit itself
    rest = [...transform(rest, transform(before[index]!.operations, forms[index]!, 'before'), 'after')];
  }
  return rest;
}

function beginsWith(ops: Operations, form: Operations): boolean {
  return form.length <= ops.length && isSame(ops.slice(0, form.length), form);
}

function isSame(left: Operations, right: Operations): boolean {
  return jsonEquals(left as unknown as Json, right as unknown as Json);
}

/**
 * The ops of one message without an edit that its client has made once more by itself.
 *
 * An SDK client that sends an edit again while the first copy still waits in its buffer forgets the answer when the buffer leaves. At the next
 * snapshot it then takes that edit for one more among those it typed later in that text, and sends it empty before them.
 */
export function withoutEchoes(nodes: ReadonlyMap<string, StorageNode>, ops: readonly Op[]): readonly Op[] {
  if (!ops.some((op) => op.type === OP.UPDATE_TEXT && op.ops.length === 0)) return ops;
  const echoes = new Map<StorageNode, Operations>();
  return ops.map((op) => {
    const text = op.type === OP.UPDATE_TEXT ? nodes.get(op.id) : undefined;
    if (op.type !== OP.UPDATE_TEXT || text?.type !== CRDT.TEXT) return op;
    if (op.ops.length === 0) {
      const known = op.opId === undefined ? null : updateOf(text.history, op.opId, text.version);
      if (known !== null) echoes.set(text, sentOf(known.update));
      return op;
    }
    const echo = echoes.get(text);
    return echo === undefined ? op : { ...op, ops: withoutLast(op.ops, echo) };
  });
}

function withoutLast(operations: Operations, part: Operations): TextOperation[] {
  for (let at = operations.length - part.length; at > 0; at -= 1)
    if (isSame(operations.slice(at, at + part.length), part))
      return [...operations.slice(0, at), ...operations.slice(at + part.length)];
  return [...operations];
}
