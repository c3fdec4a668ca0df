/**
 * Form-encoded bodies, as the older listing of the API takes them: `id=hello&defaultAccesses[]=*:write&metadata[stage]=draft`.
 *
 * A form knows text only, so the schema says what is a number, a list or a map. It cannot say null; an empty field of a list is an empty list.
 */
import type { TSchema } from 'typebox';
import { AppError, valueAtKey } from '../../base/errors.ts';
import { isForbiddenKey, type Json } from '../../base/json.ts';
import { parseJson } from './json-body.ts';
import { isPercentEncoded } from './query-string.ts';
import type { JsonLimits } from './route.ts';

/** Text, or what the brackets behind a name hold, by what stands in them; `[]` counts on. */
type Field = string | Map<string, Field>;

interface Shape {
  readonly type?: unknown;
  readonly const?: unknown;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
}

const BRACKET = /[[\]]/;
const NAME_SHOWN_MAX = 100;
const OPEN_BRACE = 0x7b;

/** Only what a closed object says can be said by a form: content of any shape is JSON. */
export function takesForm(schema: TSchema): boolean {
  const { type, additionalProperties } = schema as { type?: unknown; additionalProperties?: unknown };
  return type === 'object' && additionalProperties === false;
}

/**
 * The value that the form describes, ready to be checked against `schema`.
 * @throws AppError UNPROCESSABLE_ENTITY on what is no form, says a thing twice, or is nested or keyed beyond the limits.
 */
export function parseForm(bytes: Uint8Array, limits: Omit<JsonLimits, 'bytesMax'>, schema: TSchema): Json {
  if (bytes[0] === OPEN_BRACE) return parseJson(bytes, limits); // what curl calls a form when nobody says otherwise
  const text = Buffer.from(bytes).toString('latin1'); // ASCII, or it is none
  if (hasMoreFields(text, limits.keysMax)) throw tooMany(); // counted first: ten megabytes of them take a second to read
  if (/[^\x21-\x7e]/.test(text) || !isPercentEncoded(text)) {
    throw new AppError('UNPROCESSABLE_ENTITY', { reason: 'The body is no valid percent-encoding' });
  }
  const fields = new Map<string, Field>();
  let keys = 0;
  for (const [name, value] of new URLSearchParams(text)) {
    const path = pathOf(name, limits.depthMax);
    keys += path.length;
    if (path.length > limits.depthMax || keys > limits.keysMax) throw tooMany();
    place(fields, path, { name, value });
  }
  return jsonOf(fields, schema as Shape);
}

/** Empty fields count, too. */
function hasMoreFields(text: string, fieldsMax: number): boolean {
  let fields = 1;
  for (let at = text.indexOf('&'); at >= 0 && fields <= fieldsMax; at = text.indexOf('&', at + 1)) fields += 1;
  return fields > fieldsMax;
}

function tooMany(): AppError {
  return new AppError('UNPROCESSABLE_ENTITY', { reason: 'The body has too many keys, or nests them too deep' });
}

/** `a[b][]` → a, b, '', and no more than one beyond `depthMax`. */
function pathOf(name: string, depthMax: number): string[] {
  const shown = name.slice(0, NAME_SHOWN_MAX);
  const opens = name.indexOf('[');
  const keys = opens < 0 || !name.endsWith(']') ? [] : name.slice(opens + 1, -1).split('][', depthMax);
  const path = [keys.length === 0 ? name : name.slice(0, opens), ...keys];
  if (path[0] === '' || path.some((key) => BRACKET.test(key)))
    throw valueAtKey(shown, 'is not a field name: name, name[key] or name[]');
  if (path.some(isForbiddenKey)) throw valueAtKey(shown, 'may not have this name');
  return path;
}

function place(fields: Map<string, Field>, path: readonly string[], { name, value }: { name: string; value: string }): void {
  let at = fields;
  for (const [depth, key] of path.entries()) {
    const found = at.get(key);
    if (depth === path.length - 1) {
      const last = key === '' ? String(at.size) : key;
      if (at.has(last)) throw twice(name);
      at.set(last, value);
    } else {
      if (typeof found === 'string') throw twice(name);
      const inner = found ?? new Map<string, Field>();
      at.set(key, inner);
      at = inner;
    }
  }
}

function twice(name: string): AppError {
  return valueAtKey(name.slice(0, NAME_SHOWN_MAX), 'is given more than once');
}

/** What does not fit stays as it is: the check then says what was expected. */
function jsonOf(field: Field, shape: Shape | undefined): Json {
  const shapes = shape?.anyOf ?? (shape === undefined ? [] : [shape]);
  if (typeof field === 'string') return scalarOf(field, shapes);
  const list = shapes.find(({ type }) => type === 'array');
  const keys = [...field.keys()];
  if (list !== undefined && keys.every((key, index) => key === String(index))) return itemsOf(field, list);
  const object = shapes.find(({ type }) => type === 'object');
  return Object.fromEntries(keys.map((key) => [key, jsonOf(field.get(key)!, memberOf(object, key))]));
}

/** `tags[]=` is the empty list: there is no other way to say it. */
function itemsOf(field: Map<string, Field>, { items }: Shape): Json {
  const values = [...field.values()];
  return values.length === 1 && values[0] === '' ? [] : values.map((value) => jsonOf(value, items));
}

function memberOf(object: Shape | undefined, key: string): Shape | undefined {
  if (object?.properties !== undefined && Object.hasOwn(object.properties, key)) return object.properties[key];
  return Object.values(object?.patternProperties ?? {})[0];
}

function scalarOf(text: string, shapes: readonly Shape[]): Json {
  for (const { type, const: constant } of shapes) {
    if (type === 'string' && constant === undefined) return text;
    if (constant !== undefined && String(constant) === text) return constant as Json;
    if (typeof constant === 'string') continue;
    if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
    if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
    if (type === 'array' && text === '') return [];
  }
  return text;
}
