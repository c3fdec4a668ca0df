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
import { type AppliedUpdate, latestSince, priceToFind, updateOf, updatesSince } from './text-history.ts';
import { lengthOf, type Outline, outlineOf } from './text-outline.ts';
import { transformOverAll, transformWithin } from './text-transform.ts';
import type { TextWork } from './text-work.ts';

type Operations = readonly TextOperation[];

/** The last update under an op id, and the version it made. */
type Known = NonNullable<ReturnType<typeof updateOf>>;

/** What an edit began with, in a form that can be looked for. */
interface Part {
  readonly operations: Operations;
  /** What comparing one of its operations costs at most, in pairs. */
  readonly price: number;
}

/** Characters of JSON that are compared while a pair meets. */
const CHARACTERS_PER_PAIR = 100;

export interface Sender {
  /** The version that the client had heard of, at most, when it typed what it sends. */
  readonly typedOver: number;
  /** Of the edit that was applied already. */
  readonly outline: Outline;
  /** What is left to its message. */
  readonly work: TextWork;
}

/** The operations behind the known edit, moved to the text as it is now; none when there are none, null when it is too much to find out. */
export function operationsBehind(op: UpdateTextOp, text: TextNode, { typedOver, outline, work }: Sender): Operations | null {
  const known = knownUpdate(op, text);
  if (known !== null && !work.takePairs(known.update.characters / CHARACTERS_PER_PAIR)) return null;
  const exact = known === null ? null : behindForm(op, text, { known, work });
  if (exact !== null) return exact;
  const rest = op.ops.slice(lengthOf(known === null ? outline : outlineOf(sentOf(known.update)), op.ops));
  if (known === null && outline === 0) return [];
  // Its client read the text at the version that it based the edit on, and has typed the rest since.
  const unheard = latestSince(text.history, Math.max(typedOver, known?.update.baseVersion ?? 0), text.version);
  const others = unheard.filter(({ opId }) => opId !== op.opId).map(({ operations }) => operations);
  return transformOverAll(rest, others, work) ?? rest; // better a little off its place than lost
}

function knownUpdate({ opId }: UpdateTextOp, { history, version }: TextNode): Known | null {
  return opId === undefined ? null : updateOf(history, opId, version);
}

function sentOf({ sent, operations }: AppliedUpdate): Operations {
  return sent ?? operations;
}

/** An edit that is known, and what is left to the message that brings it again. */
interface Resent {
  readonly known: Known;
  readonly work: TextWork;
}

/**
 * What stands behind the edit as its client knew it while it heard of one update after the other; null when the op begins with nothing of that, or
 * it is too much to find out.
 */
function behindForm(op: UpdateTextOp, { history, version }: TextNode, { known, work }: Resent): Operations | null {
  const sent = partOf(known.update);
  const { baseVersion } = known.update;
  const all = updatesSince(history, baseVersion, version);
  const count = all?.reduce((sum, { operations }) => sum + operations.length, 0) ?? 0;
  if (all === null || !work.hasPairs(count * (op.ops.length + sent.operations.length))) return null;
  const before = all.slice(0, known.version - 1 - baseVersion);
  const forms = formsOf(sent, before, work);
  let rest = forms === null ? null : behindAny(op, forms, { before, work });
  for (const { operations } of all.slice(before.length + 1))
    rest = rest === null ? null : transformWithin(rest, operations, { order: 'after', work });
  return rest;
}

/** The edit as it was sent, and as its client knew it after each of the updates that came before it here. */
function formsOf({ operations: sent, price }: Part, before: readonly AppliedUpdate[], work: TextWork): Part[] | null {
  const forms = [{ operations: sent, price }];
  for (const { operations } of before) {
    const next = transformWithin(forms.at(-1)!.operations, operations, { order: 'after', work });
    if (next === null) return null;
    forms.push({ operations: next, price });
  }
  return forms;
}

/** What stands behind the form that the op begins with, moved over the updates which the client had not heard of. */
function behindAny(
  { opId, ops }: UpdateTextOp,
  forms: readonly Part[],
  { before, work }: { readonly before: readonly AppliedUpdate[]; readonly work: TextWork },
): Operations | null {
  let heard = -1;
  // The longest, for a form of which others left nothing begins everything; of equals the last, for most clients missed no more than the answer.
  for (const [index, form] of forms.entries()) {
    const isSame = index > 0 && form.operations === forms[index - 1]!.operations; // an update of which nothing was left
    const begins = isSame ? heard === index - 1 : standsAt(ops, 0, { part: form, work });
    if (begins === null) return null;
    if (begins && form.operations.length >= (forms[heard]?.operations.length ?? 0)) heard = index;
  }
  if (heard < 0) return null;
  let rest: Operations | null = ops.slice(forms[heard]!.operations.length);
  for (let index = heard; index < before.length; index += 1) {
    if (before[index]!.opId === opId) continue; // a part of the edit itself
    const other = transformWithin(before[index]!.operations, forms[index]!.operations, { order: 'before', work });
    rest = other === null || rest === null ? null : transformWithin(rest, other, { order: 'after', work });
  }
  return rest;
}

function partOf(update: AppliedUpdate): Part {
  const operations = sentOf(update);
  const longest = operations.reduce((most, operation) => Math.max(most, JSON.stringify(operation).length), 0);
  return { operations, price: Math.max(1, longest / CHARACTERS_PER_PAIR) };
}

/** Whether the part stands in `operations` at that place; null when it is too much to find out. */
function standsAt(
  operations: Operations,
  at: number,
  { part, work }: { readonly part: Part; readonly work: TextWork },
): boolean | null {
  if (at + part.operations.length > operations.length) return false;
  for (const [index, one] of part.operations.entries()) {
    if (!work.takePairs(part.price)) return null;
    if (!jsonEquals(operations[at + index] as unknown as Json, one as unknown as Json)) return false;
  }
  return true;
}

/**
 * The ops of one message without an edit that its client has made once more by itself.
 *
 * An SDK client that sends an edit again while the first copy still waits in its buffer forgets the answer when the buffer leaves. At the next
 * snapshot it then takes that edit for one more among those it typed later in that text, and sends it empty before them.
 */
export function withoutEchoes(nodes: ReadonlyMap<string, StorageNode>, ops: readonly Op[], work: TextWork): readonly Op[] {
  if (!ops.some((op) => op.type === OP.UPDATE_TEXT && op.ops.length === 0)) return ops;
  const echoes = new Map<StorageNode, Part>();
  return ops.map((op) => {
    const text = op.type === OP.UPDATE_TEXT ? nodes.get(op.id) : undefined;
    if (op.type !== OP.UPDATE_TEXT || text?.type !== CRDT.TEXT) return op;
    if (op.ops.length === 0) {
      const known = knownEcho(op, text, work);
      if (known !== null && work.takePairs(known.update.characters / CHARACTERS_PER_PAIR)) echoes.set(text, partOf(known.update));
      return op;
    }
    const echo = echoes.get(text);
    return echo === undefined ? op : { ...op, ops: withoutLast(op.ops, echo, work) };
  });
}

/** Nearly all empty ones are not known: of an undo of many edits a client sends each but the first so. They cost nothing, or what is behind them would be refused. */
function knownEcho(op: UpdateTextOp, text: TextNode, work: TextWork): Known | null {
  const { history } = text;
  if (op.opId === undefined || !history.opIds.has(op.opId)) return null;
  return work.takeRuns(priceToFind(history)) ? knownUpdate(op, text) : null;
}

/** The operations as they are where the part is not among them, or is too much to look for. */
function withoutLast(operations: Operations, part: Part, work: TextWork): Operations {
  const { length } = part.operations;
  for (let at = operations.length - length; at > 0; at -= 1) {
    const stands = standsAt(operations, at, { part, work });
    if (stands === null) break;
    if (stands) return [...operations.slice(0, at), ...operations.slice(at + length)];
  }
  return operations;
}
