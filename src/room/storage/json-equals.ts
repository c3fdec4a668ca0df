/** Equality of JSON values, by content; the order of keys does not count. */
import { isJsonObject, type Json } from '../../base/json.ts';

/** Recurses no deeper than the shallower of the two. */
export function jsonEquals(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, at) => jsonEquals(item, right[at]!));
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && jsonEquals(left[key]!, right[key]!))
  );
}
