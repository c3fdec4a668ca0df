/**
 * What a resent UPDATE_TEXT holds behind the edit that was applied already (protocol §6.3 option C).
 *
 * A client that missed the answer to an edit sends it again after its reconnect, with all that was typed since behind it, under one op id. What it
 * sends first is that edit as the client knew it last: moved over those updates of others that it had heard of, which only the client knows.
 */
import type { Json } from '../../base/json.ts';
import type { TextOperation, UpdateTextOp } from '../../protocol/storage-ops.ts';
import { jsonEquals } from './json-equals.ts';
import type { TextNode } from './nodes.ts';
import { updateOf, updatesSince } from './text-history.ts';
import { transform } from './text-transform.ts';

type Operations = readonly TextOperation[];

/** Most pairs of operations that meet here; some 0.2 s. */
const PAIRS_MAX = 500_000;

/** The operations behind the known edit, moved to the text as it is now; none when there are none, or when it cannot be told where they begin. */
export function operationsBehind({ opId, ops }: UpdateTextOp, { history, version }: TextNode): Operations {
  const known = opId === undefined ? null : updateOf(history, opId, version);
  if (known === null) return [];
  const { update } = known;
  const all = updatesSince(history, update.baseVersion, version);
  const count = all?.reduce((sum, others) => sum + others.length, 0) ?? 0;
  if (all === null || count * (ops.length + (update.sent ?? update.operations).length) > PAIRS_MAX) return [];
  const before = all.slice(0, known.version - 1 - update.baseVersion);
  const after = all.slice(before.length + 1);
  const behind = behindAny(ops, formsOf(update.sent ?? update.operations, before), before);
  return after.reduce<Operations>((rest, others) => transform(rest, others, 'after'), behind);
}

/** The edit as it was sent, and as its client knew it after each of the updates that came before it here. */
function formsOf(sent: Operations, before: readonly Operations[]): Operations[] {
  const forms = [sent];
  for (const others of before) forms.push(transform(forms.at(-1)!, others, 'after'));
  return forms;
}

/** What stands behind the form that `ops` begins with, moved over the updates which the client had not heard of. */
function behindAny(ops: Operations, forms: readonly Operations[], before: readonly Operations[]): Operations {
  let heard = -1;
  // The longest, for a form of which others left nothing begins everything; of equals the last, for most clients missed no more than the answer.
  for (const [index, form] of forms.entries())
    if (beginsWith(ops, form) && form.length >= (forms[heard]?.length ?? 0)) heard = index;
  if (heard < 0) return [];
  let rest = ops.slice(forms[heard]!.length);
  for (let index = heard; index < before.length; index += 1) {
    rest = [...transform(rest, transform(before[index]!, forms[index]!, 'before'), 'after')];
  }
  return rest;
}

function beginsWith(ops: Operations, form: Operations): boolean {
  return form.length <= ops.length && jsonEquals(ops.slice(0, form.length) as unknown as Json, form as unknown as Json);
}
