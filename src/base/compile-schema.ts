/**
 * Schemas compiled for values from strangers. Typebox lists the names of an object before it looks at its members, in each branch of a union, and that takes a
 * microsecond and more for each name when there are very many. Here they are looked at last: where a constant that marks a branch is another one, not at all.
 */
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { changedSchema } from './schemas.ts';

/** Takes the same values; only its `Errors` would say less. */
export function compileSchema(schema: TSchema): Validator {
  return Compile(changedSchema(schema, namesLast));
}

function namesLast(copy: Record<string, unknown>): Record<string, unknown> {
  const { properties, additionalProperties, patternProperties } = copy;
  if (additionalProperties !== false || typeof properties !== 'object' || patternProperties !== undefined) return copy;
  delete copy.additionalProperties;
  const names = new Set(Object.keys(properties as object));
  const isClosed = { check: (value: unknown) => hasOnly(names, value), error: () => 'has a name too many' };
  const others = (copy['~refine'] ?? []) as readonly unknown[];
  return Object.defineProperty(copy, '~refine', { value: [isClosed, ...others] });
}

function hasOnly(names: ReadonlySet<string>, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return true;
  for (const name of Object.keys(value)) if (!names.has(name)) return false;
  return true;
}
