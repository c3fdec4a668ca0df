/**
 * Values on both sides of everything that a JSON schema says, made from one value that fits it. Pure.
 *
 * For each member of the value: other types, each required key taken away, a key too many, each limit at its edge and beyond.
 */
import { randomBytes } from 'node:crypto';
import { Compile } from 'typebox/compile';

export interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly default?: unknown;
  readonly [keyword: string]: unknown;
}

export interface Probe {
  readonly name: string;
  /** The place that it changes, as messages name it. */
  readonly place: string;
  readonly value: unknown;
  /** Where the fault is, as messages name it; null when there is none and the value is to be taken. */
  readonly fault: string | null;
}

type Path = readonly string[];

/** All probes of `value`, which fits `schema`. */
export function probesOf(schema: JsonSchema, value: unknown): Probe[] {
  return visit(schema, value, []).map(({ path, replacement, ...probe }) => ({
    ...probe,
    place: path.join('.'),
    value: replacedAt(value, path, replacement),
  }));
}

/** Whether the value fits a schema that says all it knows: no key that it does not name. */
export function fitsExactly(schema: JsonSchema, value: unknown): string[] {
  return [...Compile(closed(schema) as never).Errors(value)].map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** What is in a probe before it is put in its place; ABSENT takes its place away. */
interface Local {
  readonly name: string;
  readonly path: Path;
  readonly replacement: unknown;
  readonly fault: string | null;
}
const ABSENT = Symbol('absent');

function visit(schema: JsonSchema, value: unknown, path: Path): Local[] {
  const meant = branchOf(schema, value);
  return [
    ...ofType(schema, path),
    ...ofChoice(schema, value, path),
    ...ofLimits(meant, value, path),
    ...ofParts(meant, value, path),
  ];
}

/** The branch of a union that the value is of. */
function branchOf(schema: JsonSchema, value: unknown): JsonSchema {
  const branch = schema.anyOf?.find((one) => Compile(one as never).Check(value));
  return branch === undefined ? schema : branchOf(branch, value);
}

const SAMPLES: readonly unknown[] = [null, true, 7, 7.5, 'text', [], {}];

function ofType(schema: JsonSchema, path: Path): Local[] {
  const types = typesOf(schema);
  if (types === null) return [];
  const wrong = SAMPLES.filter((sample) => !typesFor(sample).some((type) => types.includes(type)));
  return wrong.map((sample) => ({
    name: `${shown(path)} as ${JSON.stringify(sample)}`,
    path,
    replacement: sample,
    fault: path.join('.'),
  }));
}

/** The types that a schema takes; null when it takes all. */
function typesOf(schema: JsonSchema): string[] | null {
  if (schema.anyOf !== undefined) {
    const types = schema.anyOf.map(typesOf);
    return types.includes(null) ? null : types.flatMap((some) => some!);
  }
  if (schema.type !== undefined) return [schema.type];
  return schema.const === undefined ? null : typesFor(schema.const);
}

function typesFor(value: unknown): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [typeof value];
}

/** Of constants and enumerations: a value of the right type that is none of them. */
function ofChoice(schema: JsonSchema, value: unknown, path: Path): Local[] {
  const branches = schema.anyOf ?? [schema];
  const areChoices = branches.every(
    (branch) => branch.const !== undefined || branch.enum !== undefined || branch.type === 'null',
  );
  if (!areChoices || branches.every(({ type }) => type === 'null')) return [];
  const replacement = typeof value === 'number' ? 77 : 'no-such-choice';
  return [{ name: `${shown(path)} as another choice`, path, replacement, fault: path.join('.') }];
}

function ofLimits(schema: JsonSchema, value: unknown, path: Path): Local[] {
  const edges: Local[] = [];
  const at = (name: string, replacement: unknown) =>
    edges.push({ name: `${shown(path)} ${name}`, path, replacement, fault: null });
  const beyond = (name: string, replacement: unknown) =>
    edges.push({ name: `${shown(path)} ${name}`, path, replacement, fault: path.join('.') });
  for (const [keyword, edge] of Object.entries(EDGES)) {
    const limit = schema[keyword];
    if (limit === undefined) continue;
    const { inside, outside } = edge(limit as never, value, schema);
    if (inside !== undefined) at(`at the edge of ${keyword}`, inside);
    if (outside !== undefined) beyond(`beyond ${keyword}`, outside);
  }
  return edges;
}

interface Edge {
  readonly inside?: unknown;
  readonly outside?: unknown;
}

const EDGES: Readonly<Record<string, (limit: never, value: unknown, schema: JsonSchema) => Edge>> = {
  minLength: (limit: number) => ({ inside: textOf(limit), outside: textOf(limit - 1) }),
  maxLength: (limit: number, _, { pattern }) => ({
    ...((pattern === undefined || new RegExp(String(pattern), 'u').test(textOf(limit))) && { inside: textOf(limit) }),
    outside: textOf(limit + 1),
  }),
  minimum: (limit: number) => ({ inside: limit, outside: limit - 1 }),
  maximum: (limit: number) => ({ inside: limit, outside: limit + 1 }),
  maxItems: (limit: number, value, { uniqueItems }) => ({
    ...(uniqueItems !== true && { inside: itemsOf(value, limit) }),
    outside: itemsOf(value, limit + 1),
  }),
  minItems: (limit: number, value) => ({ inside: itemsOf(value, limit), outside: itemsOf(value, limit - 1) }),
  uniqueItems: (_, value) => ({ outside: [...(value as unknown[]), (value as unknown[])[0]] }),
  maxProperties: (limit: number, value) => ({ inside: entriesOf(value, limit), outside: entriesOf(value, limit + 1) }),
  propertyNames: (names: JsonSchema, value) => {
    const longest = names.maxLength as number | undefined;
    if (longest !== undefined) return { inside: renamed(value, textOf(longest)), outside: renamed(value, textOf(longest + 1)) };
    return { outside: renamed(value, '*no*name*') };
  },
  pattern: (pattern: string) => (new RegExp(pattern, 'u').test('no*such~pattern') ? {} : { outside: 'no*such~pattern' }),
  format: () => ({ outside: 'no such format' }),
  'x-json-length-max': (limit: number) => ({
    inside: { pad: 'x'.repeat(limit - '{"pad":""}'.length) },
    outside: { pad: 'x'.repeat(limit + 1 - '{"pad":""}'.length) },
  }),
};

/** Text of chance, so that it is the name of nothing yet. */
function textOf(length: number): string {
  return randomBytes(Math.max(length, 0)).toString('hex').slice(0, Math.max(length, 0));
}

function itemsOf(value: unknown, length: number): unknown[] {
  const [first] = value as unknown[];
  return Array.from({ length }, () => structuredClone(first));
}

function entriesOf(value: unknown, count: number): object {
  const [first] = Object.values(value as object);
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, structuredClone(first)]));
}

function renamed(value: unknown, name: string): object {
  return { [name]: Object.values(value as object)[0] };
}

function ofParts(schema: JsonSchema, value: unknown, path: Path): Local[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) =>
      schema.items === undefined ? [] : visit(schema.items, item, [...path, String(index)]),
    );
  if (typeof value !== 'object' || value === null) return [];
  const { properties = {}, required = [], additionalProperties } = schema;
  const missing = required.map((key): Local => {
    const place = [...path, key];
    return { name: `without ${shown(place)}`, path: place, replacement: ABSENT, fault: place.join('.') };
  });
  const extra: Local[] =
    additionalProperties !== false
      ? []
      : [
          {
            name: `${shown(path)} with a key too many`,
            path: [...path, 'keyTooMany'],
            replacement: 1,
            fault: [...path, 'keyTooMany'].join('.'),
          },
        ];
  const inner = Object.entries(value).flatMap(([key, member]) => {
    const part = properties[key] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    return part === undefined ? [] : visit(part, member, [...path, key]);
  });
  return [...missing, ...extra, ...inner];
}

function shown(path: Path): string {
  return path.length === 0 ? 'the whole' : path.join('.');
}

function replacedAt(whole: unknown, path: Path, replacement: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return replacement;
  const copy: any = Array.isArray(whole) ? [...whole] : { ...(whole as object) };
  if (rest.length === 0 && replacement === ABSENT) delete copy[key];
  else copy[key] = replacedAt(copy[key], rest, replacement);
  return copy;
}

/** An object without any properties named is meant to be any object. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([keyword, inner]) => [keyword, closed(inner)])) as Record<
    string,
    unknown
  >;
  const names = Object.keys((copy.properties ?? {}) as object);
  if (copy.type === 'object' && names.length > 0 && copy.additionalProperties === undefined) copy.additionalProperties = false;
  return copy;
}
