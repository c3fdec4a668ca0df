/**
 * How large a value in Storage may be, and which keys it may have (supplement 1.9, reliability 2.f).
 *
 * Says what is wrong and where; who refuses, and with which error, is the caller's matter.
 */
import { JSON_DEPTH_MAX } from '../base/bounded-json.ts';
import { isForbiddenKey, type Json, type JsonObject } from '../base/json.ts';
import { pointerSegment } from '../base/json-pointer.ts';
import type { LiveTextData } from './storage-ops.ts';

/** Size of one plain JSON value, of the static members of one object, or of one text: characters of JSON, roughly. */
export const VALUE_CHARACTERS_MAX = 2 * 1024 * 1024;
/** Keys in one such value, at all depths. */
export const VALUE_KEYS_MAX = 10_000;

/** Why a value may not be stored, and where in it the reason lies. */
export interface ValueProblem {
  readonly pointer: string;
  readonly reason: string;
}

const TOO_LONG = `is longer than ${VALUE_CHARACTERS_MAX} characters`;

/** Why a plain JSON value may not be stored, or null: too deep, too large, too many keys, a forbidden key, a number that JSON cannot write. */
export function valueProblem(value: Json): ValueProblem | null {
  return measure(value, 1, { keys: 0, characters: 0 });
}

/** The same of the plain values of one object: what holds them is a node, and no level of theirs. */
export function membersProblem(members: JsonObject): ValueProblem | null {
  return measure(members, 0, { keys: 0, characters: 0 });
}

/** Keys of the attributes of each run count apart: a long text may have more attributed runs than a value may have keys. */
export function textDataProblem(data: LiveTextData): ValueProblem | null {
  for (const [at, [, attributes]] of data.entries()) {
    const problem = attributes === undefined ? null : valueProblem(attributes);
    if (problem !== null) return inside(`/${at}/1`, problem);
  }
  return textCharacters(data) > VALUE_CHARACTERS_MAX ? { pointer: '', reason: TOO_LONG } : null;
}

/** Size of a text with the attributes of its runs (supplement 1.9: LiveText). */
export function textCharacters(data: LiveTextData): number {
  let characters = 0;
  for (const [text, attributes] of data) characters += text.length + (attributes === undefined ? 0 : charactersOf(attributes));
  return characters;
}

/** The same problem, seen from the value around. */
export function inside(pointer: string, problem: ValueProblem | null): ValueProblem | null {
  return problem === null ? null : { pointer: pointer + problem.pointer, reason: problem.reason };
}

/** Size of a value that is stored, by the same measure. Its depth is bounded, so it may recurse. */
export function charactersOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return scalarCharacters(value);
  if (Array.isArray(value)) return (value as readonly Json[]).reduce<number>((sum, item) => sum + charactersOf(item), 3);
  return Object.entries(value as JsonObject).reduce((sum, [key, inner]) => sum + key.length + 3 + charactersOf(inner), 3);
}

/** Keys in a value that is stored, at all depths. */
function keysIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let keys = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const inner of Object.values(value as JsonObject)) keys += keysIn(inner);
  return keys;
}

/** How large the plain values of an object are together. */
export interface MembersSize {
  characters: number;
  keys: number;
}

/** Of an object without any. */
export function noMembersSize(): MembersSize {
  return { characters: charactersOf({}), keys: 0 };
}

/** Counts one member in, or out where `times` is -1; one that is not there counts nothing. */
export function countMember(size: MembersSize, times: 1 | -1, key: string, value: Json | undefined): void {
  if (value === undefined) return;
  const { characters, keys } = measured(value);
  size.characters += times * (key.length + 3 + characters);
  size.keys += times * (1 + keys);
}

/** Size of the value of a member, or of none. */
export function valueCharacters(value: Json | undefined): number {
  return value === undefined ? 0 : measured(value).characters;
}

/** From here on a value is walked once: it stays where it is while any number of ops is held against it. */
const LARGE_CHARACTERS = 4_096;

/** Values never change. */
const large = new WeakMap<object, MembersSize>();

function measured(value: Json): MembersSize {
  const known = typeof value === 'object' && value !== null ? large.get(value) : undefined;
  if (known !== undefined) return known;
  const size = { characters: charactersOf(value), keys: keysIn(value) };
  if (typeof value === 'object' && value !== null && size.characters >= LARGE_CHARACTERS) large.set(value, size);
  return size;
}

function scalarCharacters(value: null | boolean | number | string): number {
  return typeof value === 'string' ? value.length + 3 : 5;
}

interface Tally {
  keys: number;
  characters: number;
}

/** One walk for all limits; the recursion ends at the depth limit. */
function measure(value: Json, depth: number, tally: Tally): ValueProblem | null {
  if (typeof value !== 'object' || value === null) return measureScalar(value, tally);
  if (depth > JSON_DEPTH_MAX) return { pointer: '', reason: `is nested deeper than ${JSON_DEPTH_MAX}` };
  tally.characters += 3;
  return Array.isArray(value)
    ? measureItems(value as readonly Json[], depth, tally)
    : measureMembers(value as JsonObject, depth, tally);
}

function measureScalar(value: null | boolean | number | string, tally: Tally): ValueProblem | null {
  tally.characters += scalarCharacters(value);
  if (tally.characters > VALUE_CHARACTERS_MAX) return { pointer: '', reason: TOO_LONG };
  return typeof value === 'number' && !Number.isFinite(value) ? { pointer: '', reason: 'is not a finite number' } : null;
}

function measureItems(items: readonly Json[], depth: number, tally: Tally): ValueProblem | null {
  for (let at = 0; at < items.length; at += 1) {
    const problem = measure(items[at]!, depth + 1, tally);
    if (problem !== null) return inside(`/${at}`, problem);
  }
  return null;
}

function measureMembers(members: JsonObject, depth: number, tally: Tally): ValueProblem | null {
  for (const key of Object.keys(members)) {
    if (isForbiddenKey(key)) return { pointer: '', reason: `has the key "${key}", which is not allowed` };
    tally.keys += 1;
    tally.characters += key.length + 3;
    if (tally.keys > VALUE_KEYS_MAX) return { pointer: '', reason: `has more than ${VALUE_KEYS_MAX} keys` };
    const problem = measure(members[key]!, depth + 1, tally);
    if (problem !== null) return inside(pointerSegment(key), problem);
  }
  return null;
}
