/**
 * The rules of UPDATE_TEXT (protocol §5.7, 6.3 option C): late edits are moved over what came between, and everybody is told them as
 * they were applied. What a client typed behind an edit whose answer it missed comes under the same op id, and is not lost.
 */
import { CRDT, type LiveTextData, type TextOperation, type UpdateTextOp } from '../../protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX } from '../../protocol/storage-values.ts';
import { jsonEquals } from './json-equals.ts';
import type { TextNode } from './nodes.ts';
import { editText, textLength } from './text.ts';
import { updatesSince } from './text-history.ts';
import { operationsBehind } from './text-resend.ts';
import { transform } from './text-transform.ts';
import { type Storage, updateText } from './tree.ts';
import type { Verdict } from './verdict.ts';

/** Most pairs of operations that meet in one transformation; some 0.2 s. Clients that were away read the text afresh and start from there. */
const PAIRS_MAX = 500_000;
/** Most runs of text that one update may pass, an operation at a time; some 0.2 s. Thousands of keystrokes typed offline stay below. */
const PASSED_RUNS_MAX = 50_000_000;

/** As it stands in the journal: with what the client sent, where that is not what was applied. */
type JournaledUpdate = UpdateTextOp & { readonly sent?: readonly TextOperation[] };

export function applyUpdateText(storage: Storage, op: UpdateTextOp): Verdict {
  const text = storage.nodes.get(op.id);
  if (text?.type !== CRDT.TEXT || op.ops.length === 0) return { is: 'ignored' };
  const { version, history } = text;
  if (op.opId !== undefined && (history.opIds.has(op.opId) || storage.textOpIds.has(op.opId))) {
    const behind = operationsBehind(op, text);
    // The client drops what it holds of this op, and takes the text as it knows it from its snapshot.
    const ack: UpdateTextOp = { ...op, baseVersion: version, version, ops: [] };
    if (behind.length === 0) return { is: 'known', op: ack };
    // If the first answer was only late, the client takes no second one under this op id: it hears of the rest as others do.
    const verdict = applyMoved(storage, text, op, behind);
    return verdict.is === 'applied' ? { ...verdict, ack } : verdict;
  }
  const between = updatesSince(history, op.baseVersion, version);
  if (between === null) return rejected(`The text is at version ${version}; ${op.baseVersion} is too old, or not yet reached`);
  return applyMoved(storage, text, op, transformOverAll(op.ops, between));
}

/** Applies what became of the operations of `op` on their way to this version; null when that was too much to find out. */
function applyMoved(storage: Storage, text: TextNode, op: UpdateTextOp, moved: readonly TextOperation[] | null): Verdict {
  if (moved === null || !isAffordable(moved, text.data))
    return rejected('The edit is too large to be merged with what came before it');
  const { data, operations } = editText(text.data, moved);
  if (textLength(data) > VALUE_CHARACTERS_MAX)
    return rejected(`A text may not be longer than ${VALUE_CHARACTERS_MAX} characters`);
  const applied: UpdateTextOp = { ...op, version: text.version + 1, ops: [...operations] };
  const journal: JournaledUpdate = jsonEquals(op.ops, applied.ops) ? applied : { ...applied, sent: op.ops };
  updateText(storage, text, { opId: op.opId, baseVersion: op.baseVersion, operations, sent: journal.sent, data });
  return { is: 'applied', op: applied, journal };
}

/** Applies an update as it was journaled: moved over others already. */
export function replayUpdateText(storage: Storage, op: JournaledUpdate): void {
  const text = storage.nodes.get(op.id);
  if (text?.type !== CRDT.TEXT) return;
  const { opId, baseVersion, sent } = op;
  const { data, operations } = editText(text.data, op.ops);
  updateText(storage, text, { opId, baseVersion, operations, sent, data });
}

function rejected(reason: string): Verdict {
  return { is: 'rejected', reason };
}

function transformOverAll(
  operations: readonly TextOperation[],
  between: readonly (readonly TextOperation[])[],
): readonly TextOperation[] | null {
  let moved = operations;
  let ahead = between.reduce((count, others) => count + others.length, 0);
  let pairs = 0;
  for (const others of between) {
    // Asked anew each time, because ranges split where text was inserted.
    if (pairs + moved.length * ahead > PAIRS_MAX) return null;
    pairs += moved.length * others.length;
    ahead -= others.length;
    moved = transform(moved, others, 'after');
  }
  return moved;
}

/** Every operation passes the runs before its place, those that earlier ones cut included. */
function isAffordable(operations: readonly TextOperation[], data: LiveTextData): boolean {
  return operations.length * (data.length + operations.length) <= PASSED_RUNS_MAX;
}
