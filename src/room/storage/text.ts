/**
 * Attributed text (protocol §5.7): applying operations, and the form of them that everybody applies alike.
 *
 * Knows nothing of versions or of who wrote; see `text-history.ts` and `text-transform.ts`.
 */
import type { JsonObject } from '../../base/json.ts';
import type { LiveTextData, TextOperation, TextSegment } from '../../protocol/storage-ops.ts';
import { jsonEquals } from './json-equals.ts';

type Range = Extract<TextOperation, { type: 'delete' | 'format' }>;

export interface TextEdit {
  readonly data: LiveTextData;
  /** The operations as applied: clipped to the text, never between the halves of a surrogate pair. Clients compare them with their own. */
  readonly operations: readonly TextOperation[];
}

/** UTF-16 code units. */
export function textLength(data: LiveTextData): number {
  let length = 0;
  for (const [text] of data) length += text.length;
  return length;
}

/** The normal form: no empty runs, and neighbours with equal attributes are one. */
export function normalText(segments: LiveTextData): LiveTextData {
  const normal: TextSegment[] = [];
  for (const segment of segments) {
    if (segment[0] === '') continue;
    const last = normal.at(-1);
    if (last === undefined || !sameAttributes(last[1], segment[1])) normal.push(segment);
    else normal[normal.length - 1] = run(last[0] + segment[0], last[1]);
  }
  return normal;
}

/** Applies operations one after the other, each to what the one before left. */
export function editText(data: LiveTextData, operations: readonly TextOperation[]): TextEdit {
  const draft: Draft = { runs: [...data], length: textLength(data) };
  const applied = operations.map((operation) =>
    operation.type === 'insert' ? insert(draft, operation) : change(draft, operation),
  );
  return { data: normalText(draft.runs), operations: applied };
}

/** The text in the middle of an edit. Runs are only cut, never joined, until all is done: joining copies text, cutting does not. */
interface Draft {
  readonly runs: TextSegment[];
  length: number;
}

function insert(draft: Draft, operation: Extract<TextOperation, { type: 'insert' }>): TextOperation {
  const clipped = Math.min(operation.index, draft.length);
  const index = splitsPair(draft, clipped) ? clipped - 1 : clipped;
  if (operation.text !== '') draft.runs.splice(cut(draft, index), 0, run(operation.text, operation.attributes));
  draft.length += operation.text.length;
  return { ...operation, index };
}

function change(draft: Draft, operation: Range): TextOperation {
  const { start, end } = clip(draft, operation);
  const applied = { ...operation, index: start, length: end - start };
  if (start === end) return applied;
  const first = cut(draft, start);
  const after = cut(draft, end);
  if (applied.type === 'format') {
    for (let at = first; at < after; at += 1) draft.runs[at] = formatted(draft.runs[at]!, applied.attributes);
  } else {
    draft.runs.splice(first, after - first);
    draft.length -= end - start;
  }
  return applied;
}

function clip(draft: Draft, { index, length }: Range): { start: number; end: number } {
  const start = Math.min(index, draft.length);
  const end = Math.min(index + length, draft.length);
  const widened = { start: splitsPair(draft, start) ? start - 1 : start, end: splitsPair(draft, end) ? end + 1 : end };
  return start < end ? widened : { start: widened.start, end: widened.start };
}

/** Cuts at `index` where needed; the place in `runs` at which the text from `index` on begins. */
function cut({ runs }: Draft, index: number): number {
  let start = 0;
  for (let at = 0; at < runs.length; at += 1) {
    if (start === index) return at;
    const [text, attributes] = runs[at]!;
    if (index < start + text.length) {
      runs.splice(at, 1, run(text.slice(0, index - start), attributes), run(text.slice(index - start), attributes));
      return at + 1;
    }
    start += text.length;
  }
  return runs.length;
}

function splitsPair(draft: Draft, index: number): boolean {
  if (index === 0 || index >= draft.length) return false;
  return (unitAt(draft, index - 1) & 0xfc00) === 0xd800 && (unitAt(draft, index) & 0xfc00) === 0xdc00;
}

function unitAt({ runs }: Draft, index: number): number {
  let rest = index;
  for (const [text] of runs) {
    if (rest < text.length) return text.charCodeAt(rest);
    rest -= text.length;
  }
  return 0;
}

function formatted([text, attributes]: TextSegment, patch: JsonObject): TextSegment {
  const merged = Object.entries({ ...attributes, ...patch }).filter(([, value]) => value !== null);
  return merged.length === 0 ? [text] : [text, Object.fromEntries(merged)];
}

function run(text: string, attributes: JsonObject | undefined): TextSegment {
  return attributes === undefined ? [text] : [text, attributes];
}

function sameAttributes(left: JsonObject | undefined, right: JsonObject | undefined): boolean {
  return left === right || (left !== undefined && right !== undefined && jsonEquals(left, right));
}
