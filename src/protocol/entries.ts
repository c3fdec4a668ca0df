/** Maps that clients change by their names, as metadata are: what is null goes, what is not named stays. Pure. */
import { valueAtKey } from '../base/errors.ts';
import { isStorableText } from '../base/text.ts';
import { checkName } from './names.ts';

export interface EntriesRule<Value> {
  /** Where the map stands in the body. */
  readonly key: string;
  readonly entriesMax: number;
  readonly nameLengthMax: number;
  readonly check: (value: Value, key: string) => Value;
}

/** @throws AppError UNPROCESSABLE_ENTITY naming the place; the bounds count what would be there afterwards. */
export function entriesAfter<Value>(
  before: Readonly<Record<string, Value>>,
  changes: Readonly<Record<string, Value | null>> | null | undefined,
  rule: EntriesRule<Value>,
): Readonly<Record<string, Value>> {
  if (changes === undefined) return before;
  if (changes === null) return {};
  const after: Record<string, Value> = { ...before };
  for (const [name, value] of Object.entries(changes)) {
    const key = `${rule.key}.${name}`;
    checkName(name, key, rule.nameLengthMax);
    if (value === null) delete after[name];
    else after[name] = rule.check(value, key);
  }
  const entries = Object.keys(after).length;
  if (entries > rule.entriesMax)
    throw valueAtKey(rule.key, `may have at most ${rule.entriesMax} entries; it would have ${entries}`);
  return after;
}

/** A text, or several. */
export type Texts = string | string[];

/** @throws AppError UNPROCESSABLE_ENTITY naming `key` */
export function checkTexts(value: Texts, key: string, { lengthMax, itemsMax }: { lengthMax: number; itemsMax: number }): Texts {
  const items = typeof value === 'string' ? [value] : value;
  if (items.length > itemsMax) throw valueAtKey(key, `may have at most ${itemsMax} items`);
  for (const item of items) {
    if (item.length > lengthMax) throw valueAtKey(key, `must have at most ${lengthMax} characters`);
    if (!isStorableText(item)) throw valueAtKey(key, 'may not hold U+0000 or half of a surrogate pair');
  }
  return value;
}
