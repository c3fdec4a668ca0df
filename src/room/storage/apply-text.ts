/**
 * The rules of UPDATE_TEXT (protocol §5.7, 6.3 option A): late edits are moved over what came between, and everybody is told them as
 * they were applied.
 */
import { CRDT, type LiveTextData, OP, type TextOperation, type UpdateTextOp } from '../../protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX } from '../../protocol/storage-values.ts';
import { editText, textLength } from './text.ts';
import { updatesSince } from './text-history.ts';
import { transform } from './text-transform.ts';
import { type Storage, updateText } from './tree.ts';
import type { Verdict } from './verdict.ts';

/** Most pairs of operations that meet in one transformation; some 0.2 s. Clients that were away read the text afresh and start from there. */
const PAIRS_MAX = 500_000;
/** Most runs of text that one update may pass, an operation at a time; some 0.2 s. Thousands of keystrokes typed offline stay below. */
const PASSED_RUNS_MAX = 50_000_000;

export function applyUpdateText(storage: Storage, op: UpdateTextOp): Verdict {
  const text = storage.nodes.get(op.id);
  if (text?.type !== CRDT.TEXT || op.ops.length === 0) return { is: 'ignored' };
  const { version } = text;
  // The client drops what it holds of this op, and takes the text as it knows it from its snapshot.
  if (op.opId !== undefined && text.history.opIds.has(op.opId))
    return { is: 'known', op: { ...op, baseVersion: version, version, ops: [] } };
  const between = updatesSince(text.history, op.baseVersion, version);
  if (between === null) return rejected(`The text is at version ${version}; ${op.baseVersion} is too old, or not yet reached`);
  const moved = transformOverAll(op.ops, between);
  if (moved === null || !isAffordable(moved, text.data))
    return rejected('The edit is too large to be merged with what came before it');
  const { data, operations } = editText(text.data, moved);
  if (textLength(data) > VALUE_CHARACTERS_MAX)
    return rejected(`A text may not be longer than ${VALUE_CHARACTERS_MAX} characters`);
  updateText(storage, text, { opId: op.opId, operations, data });
  return { is: 'applied', op: { ...op, version: version + 1, ops: operations } };
}

/** Applies an update as it was journaled: moved over others already. */
export function replayUpdateText(storage: Storage, op: UpdateTextOp): void {
  const text = storage.nodes.get(op.id);
  if (text?.type !== CRDT.TEXT) return;
  const { data, operations } = editText(text.data, op.ops);
  updateText(storage, text, { opId: op.opId, operations, data });
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
