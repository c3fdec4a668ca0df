/**
 * Where a value does not fit its schema. What tells the reasons, typebox's `Errors`, takes some 50 µs for each member of an array, also of those that fit:
 * seconds for a body of megabytes, in one turn. So it is asked of one level alone, and of an excerpt of that, and compiled checks find the member that leads to
 * the next.
 */
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { compileSchema } from './compile-schema.ts';
import { excerptOf } from './excerpt.ts';
import { copyOfSchema, type Schema } from './schemas.ts';

export interface Misfit {
  /** Keys from the value to what does not fit. */
  readonly path: readonly string[];
  /** Of what is there; their paths begin there. */
  readonly problems: readonly TLocalizedValidationError[];
}

/** Of a value that its schema refuses. */
export function misfitOf(schema: TSchema, value: unknown): Misfit {
  const path: string[] = [];
  let here: Member = { key: '', level: levelOf(schema), value };
  for (;;) {
    const problems = here.level.problemsOf(here.value);
    if (problems.length > 0) return { path, problems };
    const next = firstOf(here.level.membersOf(here.value), (member) => !member.level.fits(member.value));
    if (next === null) return { path, problems };
    path.push(next.key);
    here = next;
  }
}

/** The first problem in words, and a JSON pointer to its place; for a value that its schema refuses. */
export function problemWith(schema: TSchema, value: unknown): { readonly pointer: string; readonly reason: string } {
  const { path, problems } = misfitOf(schema, value);
  const above = path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return { pointer: above + (problems[0]?.instancePath ?? ''), reason: problems[0]?.message ?? 'has the wrong shape' };
}

interface Member {
  readonly key: string;
  readonly level: Level;
  readonly value: unknown;
}

function firstOf<Item>(items: Iterable<Item>, isIt: (item: Item) => boolean): Item | null {
  for (const item of items) if (isIt(item)) return item;
  return null;
}

/** One schema: as a whole, and as far as it can be judged without looking into the members that have members of their own. */
class Level {
  readonly #schema: Schema;
  #whole: Validator | null = null;
  #alone: Alone | null = null;
  #teller: Validator | null = null;

  constructor(schema: TSchema) {
    this.#schema = schema;
  }

  fits(value: unknown): boolean {
    this.#whole ??= compileSchema(this.#schema);
    return this.#whole.Check(value);
  }

  problemsOf(value: unknown): TLocalizedValidationError[] {
    if (this.#fitsAlone(value)) return [];
    const { schema, check } = this.#alone!;
    this.#teller ??= Compile(schema);
    const excerpt = excerptOf(schema, value);
    return this.#teller.Errors(check.Check(excerpt) ? value : excerpt);
  }

  #fitsAlone(value: unknown): boolean {
    this.#alone ??= makeAlone(this.#schema);
    return this.#alone.check.Check(value);
  }

  /** Those that were not looked into, in order. */
  *membersOf(value: unknown): Iterable<Member> {
    const { anyOf = [], items, properties = {}, patternProperties = {}, additionalProperties } = this.#schema;
    for (const branch of anyOf.map(levelOf)) if (branch.#fitsAlone(value)) yield* branch.membersOf(value);
    if (Array.isArray(value)) {
      if (!isForAll(items)) return;
      const level = levelOf(items);
      for (let place = 0; place < value.length; place += 1) yield { key: String(place), level, value: value[place] };
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const patterns = Object.entries(patternProperties).map(([pattern, schema]) => ({
      pattern: new RegExp(pattern, 'u'),
      schema,
    }));
    for (const key of Object.keys(value)) {
      const named = Object.hasOwn(properties, key) ? properties[key] : undefined;
      const schema = named ?? patterns.find(({ pattern }) => pattern.test(key))?.schema ?? additionalProperties;
      if (typeof schema === 'object') yield { key, level: levelOf(schema), value: (value as Record<string, unknown>)[key] };
    }
  }
}

interface Alone {
  readonly schema: TSchema;
  readonly check: Validator;
}

function makeAlone(whole: TSchema): Alone {
  const schema = aloneOf(whole);
  return { schema, check: compileSchema(schema) };
}

const levels = new WeakMap<TSchema, Level>();

/** Compiled when something is refused first. */
function levelOf(schema: TSchema): Level {
  const known = levels.get(schema);
  if (known !== undefined) return known;
  const level = new Level(schema);
  levels.set(schema, level);
  return level;
}

/** The schema without what it says of members of arrays and records, and of properties that have members. */
function aloneOf(schema: Schema): TSchema {
  const { anyOf, items, properties, patternProperties, additionalProperties } = schema;
  const alone = copyOfSchema(schema);
  if (anyOf !== undefined) alone.anyOf = anyOf.map(aloneOf);
  if (isForAll(items)) delete alone.items;
  if (properties !== undefined)
    alone.properties = Object.fromEntries(
      Object.entries(properties).map(([key, inner]) => [key, hasMembers(inner) ? anythingLike(inner) : inner]),
    );
  if (patternProperties !== undefined && additionalProperties !== false) alone.patternProperties = {};
  if (typeof additionalProperties === 'object') delete alone.additionalProperties;
  return alone as TSchema;
}

function isForAll(items: Schema['items']): items is TSchema {
  return items !== undefined && !Array.isArray(items);
}

function hasMembers({ type, anyOf = [] }: Schema): boolean {
  return type === 'array' || type === 'object' || anyOf.some(hasMembers);
}

/** Takes everything, and is as optional. */
function anythingLike(schema: TSchema): TSchema {
  const optional = Object.getOwnPropertyDescriptor(schema, '~optional');
  return optional === undefined ? {} : Object.defineProperty({}, '~optional', optional);
}
