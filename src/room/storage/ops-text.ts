/**
 * The JSON of what follows from ops. The journal, their sender and everybody else mostly get the same ones, but for the opIds: then each op's
 * is made once for all three.
 */
import type { Op, OpsText } from '../../protocol/storage-ops.ts';
import type { Applied } from './apply.ts';

/** What `Applied` tells of ops, in the form in which it leaves. */
export interface AppliedText {
  readonly replies: OpsText;
  readonly forwards: OpsText;
  readonly journal: OpsText;
}

/**
 * Of each op that has an effect there is one in the journal, and at least one in each of the other lists: where journal and replies are the same, and
 * there are no more forwards, each forward is the op in its place without the opId.
 */
export function withTexts({ replies, forwards, journal }: Pick<Applied, keyof AppliedText>): AppliedText {
  const isSame = isEach(journal, replies) && forwards.length === journal.length; // an op with fixes is forwarded as several
  if (!isSame) return { replies: { ops: replies }, forwards: { ops: forwards }, journal: { ops: journal } };
  const others = forwards.map((op) => JSON.stringify(op));
  const json = inArray(others.map((text, at) => withOpId(text, journal[at]!)));
  return { replies: { ops: replies, json }, forwards: { ops: forwards, json: inArray(others) }, journal: { ops: journal, json } };
}

/** Whether both lists are of the same ops, each with an opId. */
function isEach(left: readonly Op[], right: readonly Op[]): boolean {
  return left.length === right.length && left.every((op, at) => op === right[at] && op.opId !== undefined);
}

/** Every op has a type, so the opId is never the only member; it is digits and a colon, with nothing to escape. */
function withOpId(text: string, { opId }: Op): string {
  return `{"opId":"${opId}",${text.slice(1)}`;
}

function inArray(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}
