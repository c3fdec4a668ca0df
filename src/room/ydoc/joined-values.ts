/**
 * Lists of values that follow each other are joined by Yjs into one, at the end of a transaction, from the last to the first: with a new list at each
 * step, and none let go of before the end, so that 30,000 values pushed one by one took 3.7 GB. And a list that is split is copied, all that is left of it
 * each time. Here a list is put together, or cut out of a longer one, when it is read.
 *
 * The methods of Yjs are replaced here and nowhere else: see `ContentAny` and `ContentJSON` there with each new version of it.
 */
import * as Y from 'yjs';

interface Values {
  /** As Yjs has it. */
  arr: unknown[];
  /** It is `source` from `from` to `to`, or else all `parts`. */
  source: unknown[];
  from: number;
  to: number;
  /** The last one first; null when there are none. */
  parts: unknown[][] | null;
}

const NONE: unknown[] = [];

function replaceMethods(content: { prototype: object; new (values: unknown[]): object }): void {
  Object.defineProperties(content.prototype, {
    arr: { get: read, set: write },
    getLength: { value: lengthOf },
    mergeWith: { value: join },
    splice: {
      value(this: Values, offset: number): Values {
        return split(this, new content(NONE) as Values, offset);
      },
    },
  });
}

function write(this: Values, values: unknown[]): void {
  this.source = values;
  this.from = 0;
  this.to = values.length;
  this.parts = null;
}

function read(this: Values): unknown[] {
  const { source, from, to, parts } = this;
  if (parts !== null) this.arr = parts.length === 2 ? parts[1]!.concat(parts[0]!) : inOrder(parts);
  else if (from > 0 || to < source.length) this.arr = source.slice(from, to);
  return this.source;
}

function inOrder(parts: readonly unknown[][]): unknown[] {
  const values: unknown[] = [];
  for (let index = parts.length - 1; index >= 0; index -= 1) for (const value of parts[index]!) values.push(value);
  return values;
}

function lengthOf(this: Values): number {
  return this.to - this.from;
}

/** `right` is given up by whoever calls this. */
function join(this: Values, right: Values): true {
  const to = this.to - this.from + right.to - right.from;
  const parts = right.parts ?? [right.arr];
  for (const part of this.parts ?? [this.arr]) parts.push(part);
  right.arr = NONE;
  Object.assign(this, { source: NONE, from: 0, to, parts });
  return true;
}

/** What lies behind `offset` goes to `right`. */
function split(left: Values, right: Values, offset: number): Values {
  if (left.parts !== null) left.arr = read.call(left);
  const at = left.from + offset;
  right.source = left.source;
  right.from = at;
  right.to = left.to;
  left.to = at;
  return right;
}

replaceMethods(Y.ContentAny);
replaceMethods(Y.ContentJSON);
