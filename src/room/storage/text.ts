/**
 * Attributed text (protocol §5.7): applying operations, and the form of them that everybody applies alike.
 *
 * Knows nothing of versions or of who wrote; see `text-history.ts` and `text-transform.ts`.
 */
import type { Json, JsonObject } from '../../base/json.ts';
import type { LiveTextData, TextOperation, TextSegment } from '../../protocol/storage-ops.ts';
import { jsonEquals } from './json-equals.ts';
import type { TextWork } from './text-work.ts';

type Range = Extract<TextOperation, { type: 'delete' | 'format' }>;

const NO_ATTRIBUTES: JsonObject = {};

/** What copying a text costs by the run, in runs passed. */
const RUNS_PER_COPY = 80;
/** What giving attributes to a run costs by the key, in runs passed; some 0.5 µs. */
const RUNS_PER_KEY = 400;

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

/** Applies operations one after the other, each to what the one before left. `data` is in normal form. */
export function editText(data: LiveTextData, operations: readonly TextOperation[]): TextEdit {
  return editWithin(data, operations, null)!;
}

/** The same, at a price in runs; null when too little work is left for it. The edit before may have left the text in parts, which V8 puts together once it is looked into. */
export function editTextWithin(data: LiveTextData, operations: readonly TextOperation[], work: TextWork): TextEdit | null {
  const passed = operations.length * (data.length + operations.length) + data.length * RUNS_PER_COPY + textLength(data);
  return work.takeRuns(passed) ? editWithin(data, operations, work) : null;
}

function editWithin(data: LiveTextData, operations: readonly TextOperation[], work: TextWork | null): TextEdit | null {
  const draft = draftOf(data);
  const applied: TextOperation[] = [];
  for (const operation of operations) {
    if (operation.type === 'insert') {
      applied.push(insert(draft, operation));
      continue;
    }
    const range = clipped(draft, operation);
    const places = placesOf(draft, range);
    if (range.type === 'delete') remove(draft, places);
    else if (!format(draft, places, { patch: range.attributes, work })) return null;
    applied.push(range);
  }
  return { data: joined(draft), operations: applied };
}

/**
 * The text in the middle of an edit. Runs are only cut, never joined, until all is done: joining copies text, cutting does not. It is read from
 * where the last operation ended, because most come close to each other.
 */
interface Draft {
  readonly runs: TextSegment[];
  /** Of each run. */
  readonly lengths: number[];
  length: number;
  /** Where it is read: a place in `runs`, and the index at which the text from there on begins. */
  at: number;
  start: number;
  /** Runs that may be equal to one beside them, and those behind text that was deleted. */
  readonly unsure: Set<TextSegment>;
  /** Runs at the beginning and at the end that stand there as they did before. */
  readonly untouched: { before: number; behind: number };
}

function draftOf(data: LiveTextData): Draft {
  const lengths = data.map((segment) => segment[0].length);
  let length = 0;
  for (const one of lengths) length += one;
  const untouched = { before: data.length, behind: data.length };
  return { runs: data.slice(), lengths, length, at: 0, start: 0, unsure: new Set(), untouched };
}

/** Goes to the run that holds the unit at `index`, or behind the last one. */
function seek(draft: Draft, index: number): void {
  const { lengths } = draft;
  let { at, start } = draft;
  while (start > index) {
    at -= 1;
    start -= lengths[at]!;
  }
  while (at < lengths.length && start + lengths[at]! <= index) {
    start += lengths[at]!;
    at += 1;
  }
  draft.at = at;
  draft.start = start;
}

/** The runs of these places are about to become others. */
function touch({ runs, untouched }: Draft, { first, after }: Places): void {
  untouched.before = Math.min(untouched.before, first);
  untouched.behind = Math.min(untouched.behind, runs.length - after);
}

function insert(draft: Draft, operation: Extract<TextOperation, { type: 'insert' }>): TextOperation {
  const clipped = Math.min(operation.index, draft.length);
  const index = splitsPair(draft, clipped) ? clipped - 1 : clipped;
  if (operation.text !== '') {
    const inserted = run(operation.text, operation.attributes);
    const at = cut(draft, index);
    touch(draft, { first: at, after: at });
    draft.runs.splice(at, 0, inserted);
    draft.lengths.splice(at, 0, inserted[0].length);
    draft.unsure.add(inserted);
  }
  draft.length += operation.text.length;
  return { ...operation, index };
}

/** The operation as it is applied. */
function clipped<Of extends Range>(draft: Draft, operation: Of): Of {
  const start = Math.min(operation.index, draft.length);
  const end = Math.min(operation.index + operation.length, draft.length);
  const index = splitsPair(draft, start) ? start - 1 : start;
  if (start >= end) return { ...operation, index, length: 0 };
  return { ...operation, index, length: (splitsPair(draft, end) ? end + 1 : end) - index };
}

/** Places in `runs`: of the first run, and behind the last one. */
interface Places {
  readonly first: number;
  readonly after: number;
}

/** The runs of a range, and of nothing else. */
function placesOf(draft: Draft, { index, length }: Range): Places {
  if (length === 0) return { first: draft.at, after: draft.at };
  const first = cut(draft, index);
  return { first, after: cut(draft, index + length) };
}

function remove(draft: Draft, { first, after }: Places): void {
  const { runs, lengths, unsure } = draft;
  if (first === after) return;
  touch(draft, { first, after });
  runs.splice(first, after - first);
  for (const length of lengths.splice(first, after - first)) {
    draft.length -= length;
    draft.start -= length; // it was read behind the last one
  }
  draft.at = first;
  if (first < runs.length) unsure.add(runs[first]!);
}

/** False when too little work is left for it. */
function format(
  draft: Draft,
  { first, after }: Places,
  { patch, work }: { readonly patch: JsonObject; readonly work: TextWork | null },
): boolean {
  const { runs, unsure } = draft;
  touch(draft, { first, after });
  const patchKeys = Object.keys(patch).length;
  for (let at = first; at < after; at += 1) {
    const [text, attributes] = runs[at]!;
    if (work !== null && !work.takeRuns(priceOf(patchKeys + keysIn(attributes)))) return false;
    const changed = run(text, merged(attributes ?? NO_ATTRIBUTES, patch));
    runs[at] = changed;
    unsure.add(changed);
  }
  return true;
}

/** Cuts at `index` where needed; the place in `runs` at which the text from `index` on begins. */
function cut(draft: Draft, index: number): number {
  seek(draft, index);
  const { runs, lengths, unsure, at, start } = draft;
  if (start === index) return at;
  const [text, attributes] = runs[at]!;
  const [left, right] = [run(text.slice(0, index - start), attributes), run(text.slice(index - start), attributes)];
  touch(draft, { first: at, after: at + 1 });
  runs.splice(at, 1, left, right);
  lengths.splice(at, 1, left[0].length, right[0].length);
  unsure.add(left).add(right);
  draft.at = at + 1;
  draft.start = index;
  return at + 1;
}

function splitsPair(draft: Draft, index: number): boolean {
  if (index === 0 || index >= draft.length) return false;
  seek(draft, index);
  const { runs, at, start } = draft;
  const text = runs[at]![0];
  if ((text.charCodeAt(index - start) & 0xfc00) !== 0xdc00) return false;
  const before = index > start ? text.charCodeAt(index - start - 1) : lastUnit(runs[at - 1]!);
  return (before & 0xfc00) === 0xd800;
}

function lastUnit([text]: TextSegment): number {
  return text.charCodeAt(text.length - 1);
}

/** The normal form of what was in it before: two runs that stand beside each other as they did then are not equal. */
function joined({ runs, unsure, untouched }: Draft): LiveTextData {
  const from = Math.max(0, untouched.before - 1);
  const to = Math.max(from, runs.length - Math.max(0, untouched.behind - 1));
  let kept = from;
  for (let at = from; at < to; at += 1) {
    const segment = runs[at]!;
    const last = kept === from ? undefined : runs[kept - 1]!;
    const mayJoin = last !== undefined && (unsure.has(last) || unsure.has(segment));
    if (mayJoin && sameAttributes(last[1], segment[1])) {
      runs[kept - 1] = run(last[0] + segment[0], last[1]);
      unsure.add(runs[kept - 1]!);
    } else {
      runs[kept] = segment;
      kept += 1;
    }
  }
  runs.splice(kept, to - kept);
  return runs;
}

/** A null of the patch takes its key away; one that a run has stays, as it does at clients. Undefined when nothing is left. Assigned key by key: objects of many keys that are made from entries take V8 a time that is quadratic in them. */
function merged(attributes: JsonObject, patch: JsonObject): JsonObject | undefined {
  const all: Record<string, Json> = {};
  let isEmpty = true;
  const set = (key: string, value: Json): void => {
    all[key] = value;
    isEmpty = false;
  };
  for (const key of Object.keys(attributes))
    if (!Object.hasOwn(patch, key)) set(key, attributes[key]!);
    else if (patch[key] !== null) set(key, patch[key]!);
  for (const key of Object.keys(patch)) if (!Object.hasOwn(attributes, key) && patch[key] !== null) set(key, patch[key]!);
  return isEmpty ? undefined : all;
}

function keysIn(attributes: JsonObject | undefined): number {
  return attributes === undefined ? 0 : Object.keys(attributes).length;
}

/** What giving attributes to a run costs, in runs passed. */
function priceOf(keys: number): number {
  return (1 + keys) * RUNS_PER_KEY;
}

function run(text: string, attributes: JsonObject | undefined): TextSegment {
  return attributes === undefined ? [text] : [text, attributes];
}

/** Clients compare values in attributes by identity, and may hold runs apart that are one here: the same text, of which each character has the same attributes. */
function sameAttributes(left: JsonObject | undefined, right: JsonObject | undefined): boolean {
  return left === right || (left !== undefined && right !== undefined && jsonEquals(left, right));
}
