/** Schemas of typebox as what they are beneath: JSON Schema with some hidden marks. */
import type { TSchema } from 'typebox';

/** Keywords that say which members a value may have. */
export interface MemberKeywords {
  readonly type?: unknown;
  readonly anyOf?: readonly TSchema[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  /** Of a record: by what its keys look like. */
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: TSchema | boolean;
  readonly propertyNames?: TSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  /** Of all, or of each by its place: of a tuple, which is short. */
  readonly items?: TSchema | readonly TSchema[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}
export type Schema = TSchema & MemberKeywords;

type Copy = Record<string, unknown>;

/** A copy with its marks, in which `change` was made of each schema, innermost first; it may change the copy that it is given. */
export function changedSchema(schema: TSchema, change: (copy: Copy) => Copy): TSchema {
  return changed(schema, change) as TSchema;
}

function changed(schema: unknown, change: (copy: Copy) => Copy): unknown {
  if (Array.isArray(schema)) return schema.map((one) => changed(one, change));
  if (typeof schema !== 'object' || schema === null || Object.getPrototypeOf(schema) !== Object.prototype) return schema;
  const copy = copyOfSchema(schema);
  for (const [key, value] of Object.entries(copy)) copy[key] = changed(value, change);
  return change(copy);
}

/** One level, with its hidden marks. */
export function copyOfSchema(schema: object): Copy {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as Copy;
}
