/**
 * The part of a value that shows why its schema refuses it. Typebox's `Errors` takes 5 to 50 µs for each key that a schema does not name, in each branch of a
 * union, and the square of the items that are there twice: seconds for a body of megabytes. Of an excerpt it tells the same first problem, at once.
 */
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Schema } from './schemas.ts';

/** Values up to this size are their own excerpts. */
const MEMBERS_FEW = 64;

/** In the order of the value. May be one that the schema takes, where a rare keyword refused the value: ask before you use it. */
export function excerptOf(schema: TSchema, value: unknown): unknown {
  if (Array.isArray(value)) return value.length <= MEMBERS_FEW ? value : value.slice(0, itemsToKeep(schema, value));
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value);
  if (keys.length <= MEMBERS_FEW) return value;
  const members = value as Readonly<Record<string, unknown>>;
  const kept = new Set(schemasIn(schema).flatMap((branch) => keysToKeep(branch, members, keys)));
  return Object.fromEntries(keys.filter((key) => kept.has(key)).map((key) => [key, members[key]]));
}

/** The schema itself, and the branches of its unions. */
function schemasIn(schema: Schema): Schema[] {
  return [schema, ...(schema.anyOf ?? []).flatMap(schemasIn)];
}

/** How many: those that a tuple names, one too many where there are too many, and all up to the first that is there twice. */
function itemsToKeep(schema: Schema, value: readonly unknown[]): number {
  const counts = schemasIn(schema).map(({ items, minItems = 0, maxItems, uniqueItems }) => {
    const named = Array.isArray(items) ? items.length : 0;
    const untilTwice = uniqueItems === true && !(value.length > (maxItems ?? Number.POSITIVE_INFINITY)) ? repeatedAt(value) : 0;
    return Math.max(MEMBERS_FEW, named + 1, minItems, (maxItems ?? 0) + 1, untilTwice + 1);
  });
  return Math.max(...counts);
}

/** Where the first item is that stands before it, too; 0 when there is none. */
function repeatedAt(items: readonly unknown[]): number {
  const seen = new Set<string>();
  for (let at = 0; at < items.length; at += 1) {
    seen.add(JSON.stringify(items[at]));
    if (seen.size <= at) return at;
  }
  return 0;
}

/** Keys that the schema names, one too many where there are too many, and of each kind of unwanted ones the first. */
function keysToKeep(schema: Schema, members: Readonly<Record<string, unknown>>, keys: readonly string[]): string[] {
  const { properties = {}, required = [], minProperties = 0, maxProperties = 0 } = schema;
  const named = [...Object.keys(properties), ...required];
  const unwanted = unwantedIn(schema, members).map((isUnwanted) => keys.find(isUnwanted));
  const counted = keys.slice(0, Math.max(minProperties, maxProperties) + 1);
  return [...named, ...counted, ...unwanted.filter((key) => key !== undefined)];
}

/** How a key can be unwanted. */
function unwantedIn(schema: Schema, members: Readonly<Record<string, unknown>>): ((key: string) => boolean)[] {
  const { properties = {}, patternProperties = {}, additionalProperties, propertyNames } = schema;
  const patterns = Object.entries(patternProperties).map(([pattern, inner]) => ({ pattern: new RegExp(pattern, 'u'), inner }));
  const ways: ((key: string) => boolean)[] = [];
  if (additionalProperties === false)
    ways.push((key) => !Object.hasOwn(properties, key) && !patterns.some(({ pattern }) => pattern.test(key)));
  for (const { pattern, inner } of patterns) ways.push((key) => pattern.test(key) && !checkOf(inner).Check(members[key]));
  if (propertyNames !== undefined) ways.push((key) => !checkOf(propertyNames).Check(key));
  return ways;
}

const checks = new WeakMap<TSchema, Validator>();

function checkOf(schema: TSchema): Validator {
  const known = checks.get(schema) ?? Compile(schema);
  checks.set(schema, known);
  return known;
}
