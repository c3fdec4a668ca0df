/** Whether plain JSON is what a type says (supplement 3.2). Recurses as deep as JSON in Storage may be nested. */
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { ObjectType, ValueType } from './compile.ts';
import { type Fault, faultIn } from './mismatch.ts';

/** What is wrong with a value, or null. */
export function plainFault(value: Json, type: ValueType): Fault | null {
  return isAllowed(value, type)
    ? innerFault(value, type)
    : { problem: problemOf(value, type), expected: type.text, found: named(value) };
}

/** Whether the kind of the value, or the very value, is allowed. */
function isAllowed(value: Json, type: ValueType): boolean {
  switch (typeof value) {
    case 'boolean':
      return type.booleans.has(value);
    case 'number':
      return type.numbers === 'all' || type.numbers.has(value);
    case 'string':
      return type.strings === 'all' || type.strings.has(value);
    default:
      if (value === null) return type.isNullable;
      return (isJsonObject(value) ? type.object : type.items) !== null;
  }
}

function innerFault(value: Json, { object, items, text }: ValueType): Fault | null {
  if (typeof value !== 'object' || value === null) return null;
  if (isJsonObject(value)) return membersFault(value, object!);
  for (const [index, item] of value.entries()) {
    const fault = plainFault(item, items!);
    if (fault !== null) return faultIn(text, String(index), fault);
  }
  return null;
}

function membersFault(value: JsonObject, { name, fields, required }: ObjectType): Fault | null {
  for (const key of required) if (!Object.hasOwn(value, key)) return faultIn(name, key, { problem: 'missing' });
  for (const key of Object.keys(value)) {
    const type = fields.get(key)?.type;
    const fault = type === undefined ? ({ problem: 'not known' } as const) : plainFault(value[key]!, type);
    if (fault !== null) return faultIn(name, key, fault);
  }
  return null;
}

/** A plain value where only its live counterpart is allowed. */
function problemOf(value: Json, type: ValueType): Fault['problem'] {
  const isLiveAllowed = isJsonObject(value)
    ? type.liveObject !== null || type.liveMap !== null || type.hasLiveFile
    : Array.isArray(value)
      ? type.liveList !== null || type.hasLiveText
      : typeof value === 'string' && type.hasLiveText;
  return isLiveAllowed ? 'not live' : 'wrong type';
}

/** How much of a scalar messages show. */
const SHOWN_MAX = 40;

function named(value: Json): string {
  if (isJsonObject(value)) return 'a plain object';
  if (Array.isArray(value)) return 'a plain array';
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, SHOWN_MAX) : value);
  return typeof value === 'string' && value.length > SHOWN_MAX ? `${text}…` : text;
}
