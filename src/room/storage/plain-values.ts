/**
 * The plain values of a LiveObject, which nobody else may change: an object while its keys are few and names, a map from then on.
 *
 * Objects that got the same keys in the same order share in V8 what says so, and each is little more than its values: three of them take 56 bytes, where
 * a `Map` takes 184. That holds only for objects that begin as `{}` and lose no key: a copy by `...` shares nothing with its like once a key comes, and
 * `delete` makes a table of it. A key that is a number has an object make room for the numbers below it, up to 12 KB for one value. Objects whose keys no
 * other has take up to twice what a map would.
 */
import type { Json, JsonObject } from '../../base/json.ts';

type Few = Record<string, Json>;
type Many = Map<string, Json>;
/** Read and changed by the functions below alone. */
export type PlainValues = Few | Many;

/** With more than these, four of its own and twelve beyond, V8 makes a table of an object, which is larger than a map. */
export const FEW_MAX = 16;

/** A copy of what an op brought: ops are kept, and sent. */
export function plainValuesOf(data: JsonObject): PlainValues {
  const keys = Object.keys(data);
  return keys.length <= FEW_MAX && !keys.some(beginsWithDigit) ? fewOf(data, keys) : new Map(Object.entries(data));
}

/** No key is `__proto__`: all doors refuse it (`isForbiddenKey`). */
function fewOf(values: JsonObject, keys: readonly string[]): Few {
  const few: Few = {};
  for (const key of keys) few[key] = values[key]!;
  return few;
}

function beginsWithDigit(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39;
}

export function plainValue(values: PlainValues, key: string): Json | undefined {
  if (values instanceof Map) return values.get(key);
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** In the order in which the keys came. */
export function plainEntries(values: PlainValues): Iterable<readonly [key: string, value: Json]> {
  return values instanceof Map ? values : Object.entries(values);
}

export function isWithoutValues(values: PlainValues): boolean {
  return (values instanceof Map ? values.size : Object.keys(values).length) === 0;
}

/** Sets a value, or removes it when `value` is undefined. Returns what holds all of them then, which may be another. */
export function withPlainValue(values: PlainValues, key: string, value: Json | undefined): PlainValues {
  if (values instanceof Map) {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    return values;
  }
  if (value === undefined)
    return fewOf(
      values,
      Object.keys(values).filter((one) => one !== key),
    );
  const isNew = !Object.hasOwn(values, key);
  if (isNew && (beginsWithDigit(key) || Object.keys(values).length >= FEW_MAX))
    return new Map(Object.entries(values)).set(key, value);
  values[key] = value;
  return values;
}
