/** Text to values: query strings and path parameters become what their schema says, before it is checked. */
import type { TSchema } from 'typebox';
import { valueAtKey } from '../../base/errors.ts';

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly default?: unknown }>>;
  readonly additionalProperties?: unknown;
}

export type Read<Text> = (text: Text) => Record<string, unknown>;

/**
 * Reads a query string by an object schema: defaults filled in; what of others the schema does not ask for is left out, or refused.
 * @throws AppError UNPROCESSABLE_ENTITY when it is not valid percent-encoding or says a thing twice: of two values, neither is the right one.
 */
export function makeQueryReader(schema: TSchema, others: 'left out' | 'refused'): Read<string> {
  const { properties = {}, additionalProperties } = schema as ObjectSchema;
  const keepsOthers = additionalProperties !== undefined && additionalProperties !== false;
  return (query) => {
    if (!isPercentEncoded(query)) throw valueAtKey('query', 'is not valid percent-encoding');
    const values: Record<string, unknown> = Object.create(null);
    for (const [name, text] of new URLSearchParams(query)) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (property === undefined && !keepsOthers) {
        if (others === 'refused') throw valueAtKey(name, 'is not known here');
        continue;
      }
      if (name in values) throw valueAtKey(name, 'is given more than once');
      values[name] = fromText(text, property?.type);
    }
    for (const [name, property] of Object.entries(properties)) {
      if (property.default !== undefined && !(name in values)) values[name] = property.default;
    }
    return values;
  };
}

/** Reads path parameters, already decoded, by an object schema. */
export function makeParamsReader(schema: TSchema): Read<Readonly<Record<string, string>>> {
  const { properties = {} } = schema as ObjectSchema;
  return (params) => {
    const values: Record<string, unknown> = {};
    for (const [name, text] of Object.entries(params)) values[name] = fromText(text, properties[name]?.type);
    return values;
  };
}

/** Text that is no such value stays text: the check then says what was expected. */
function fromText(text: string, type: unknown): unknown {
  if (type === 'integer' && /^-?\d+$/.test(text)) return Number(text);
  if (type === 'number' && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === '' || text === 'true')) return true; // `?idempotent` alone is a flag
  if (type === 'boolean' && text === 'false') return false;
  return text;
}

/** Whether every % begins a byte and the bytes are UTF-8. */
export function isPercentEncoded(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}
