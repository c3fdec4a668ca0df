/**
 * The rules of UPDATE_TEXT (protocol §5.7, 6.3 option C): late edits are moved over what came between, and everybody is told them as
 * they were applied. What a client typed behind an edit whose answer it missed comes under the same op id, and is not lost.
 */
import { CRDT, type LiveTextData, type TextOperation, type UpdateTextOp } from '../../protocol/storage-ops.ts';
import { textCharacters, VALUE_CHARACTERS_MAX } from '../../protocol/storage-values.ts';
import { jsonEquals } from './json-equals.ts';
import type { TextNode } from './nodes.ts';
import { editText, editTextWithin, textLength } from './text.ts';
import { versionTypedOver } from './text-departures.ts';
import { type AppliedUpdate, latestSince, priceToFind, updatesSince } from './text-history.ts';
import { operationsBehind } from './text-resend.ts';
import { transformOverAll } from './text-transform.ts';
import type { TextWork } from './text-work.ts';
import { type Storage, updateText } from './tree.ts';
import type { Verdict } from './verdict.ts';

/** What measuring a text with its attributes costs by the run, in runs passed. */
const RUNS_PER_MEASURE = 100;
const TOO_MUCH = 'The edit is too large to be merged with what came before it';

/** Whose op it is, and what is left to its message. */
export interface Within {
  readonly session: 'this' | 'earlier';
  readonly work: TextWork;
}

/** As it stands in the journal: with what the client sent, where that is not what was applied. */
type JournaledUpdate = UpdateTextOp & { readonly sent?: readonly TextOperation[] };

export function applyUpdateText(storage: Storage, op: UpdateTextOp, { session, work }: Within): Verdict {
  const text = storage.nodes.get(op.id);
  if (text?.type !== CRDT.TEXT) return { is: 'ignored' };
  const { version, history } = text;
  // The client drops what it holds of this op, and takes the text as it knows it from its snapshot.
  const ack: UpdateTextOp = { ...op, baseVersion: version, version, ops: [] };
  // Nothing may be left of a resent edit that is not known here. Its client still waits for it, and sends no other of this text before.
  if (op.ops.length === 0) return { is: 'known', op: ack };
  if (!work.takeRuns(history.updates.length)) return rejected(TOO_MUCH); // those that it is looked for among
  const told = session === 'this' ? version : versionTypedOver(storage.departures, text, op.opId);
  const typedOver = Math.min(op.baseVersion, told);
  const outline = op.opId === undefined ? undefined : storage.textOpIds.noteOf(op.opId);
  if (op.opId !== undefined && (outline !== undefined || history.opIds.has(op.opId))) {
    if (!work.takeRuns(priceToFind(history))) return rejected(TOO_MUCH);
    const behind = operationsBehind(op, text, { typedOver, outline: outline ?? 0, work });
    if (behind === null) return rejected(TOO_MUCH);
    if (behind.length === 0) return { is: 'known', op: ack };
    // If the first answer was only late, the client takes no second one under this op id: it hears of the rest as others do.
    const verdict = applyMoved(storage, text, op, { moved: behind, work });
    return verdict.is === 'applied' ? { ...verdict, ack } : verdict;
  }
  const between = updatesSince(history, op.baseVersion, version);
  if (between === null) return rejected(`The text is at version ${version}; ${op.baseVersion} is too old, or not yet reached`);
  // Where that is too much it is moved over less: what was typed may stand beside its place then, for everybody alike, but a refused edit is lost.
  const moved = movedOver(op.ops, latestSince(history, typedOver, version), work) ?? movedOver(op.ops, between, work);
  return moved === null ? rejected(TOO_MUCH) : applyMoved(storage, text, op, { moved, work });
}

function movedOver(
  operations: readonly TextOperation[],
  updates: readonly AppliedUpdate[],
  work: TextWork,
): readonly TextOperation[] | null {
  const between = updates.map((update) => update.operations);
  return transformOverAll(operations, between, work);
}

/** Applies what became of the operations of `op` on their way to this version. */
function applyMoved(
  storage: Storage,
  text: TextNode,
  op: UpdateTextOp,
  { moved, work }: { readonly moved: readonly TextOperation[]; readonly work: TextWork },
): Verdict {
  const edited = editTextWithin(text.data, moved, work);
  if (edited === null) return rejected(TOO_MUCH);
  const { data, operations } = edited;
  const before = text.data;
  if (isStyled(data, { before, operations }) && !work.takeRuns(data.length * RUNS_PER_MEASURE)) return rejected(TOO_MUCH);
  if (isTooLong(data, { before, operations }))
    return rejected(`A text may not be longer than ${VALUE_CHARACTERS_MAX} characters, with the attributes of its runs`);
  const { type, id, opId, baseVersion } = op; // by name: what else a client writes into an op is none of ours
  const said = { type, id, baseVersion, version: text.version + 1, ops: [...operations] };
  const applied: UpdateTextOp = opId === undefined ? said : { ...said, opId };
  const journal: JournaledUpdate = jsonEquals(op.ops, applied.ops) ? applied : { ...applied, sent: op.ops };
  storage.departures.edits += 1;
  const { edits: edit } = storage.departures;
  updateText(storage, text, { opId, baseVersion, operations, sent: journal.sent, data, edit });
  return { is: 'applied', op: applied, journal };
}

interface Edited {
  readonly before: LiveTextData;
  readonly operations: readonly TextOperation[];
}

function isTooLong(data: LiveTextData, edited: Edited): boolean {
  if (textLength(data) > VALUE_CHARACTERS_MAX) return true;
  return isStyled(data, edited) && textCharacters(data) > VALUE_CHARACTERS_MAX;
}

/** Whether an edit may have added attributes, its own or those of a run that it cut: most edits are typing within a run. */
function isStyled(data: LiveTextData, { before, operations }: Edited): boolean {
  return data.length > before.length || operations.some((one) => one.type !== 'delete' && one.attributes !== undefined);
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
