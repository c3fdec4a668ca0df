/**
 * Schemas as types that values are held against (supplement 3.2): by kind of value, so that matching never searches.
 *
 * Of each kind a union has one member at most (`check.ts`), so the kind of a value alone tells which member it must match.
 */
import { checkSchema, ROOT_TYPE } from './check.ts';
import { type Definition, type MemberSyntax, type ObjectBody, type PlainObject, parseSchema, type TypeSyntax } from './parse.ts';

/** What a value may be, one member a kind; what is null or false may not be. */
export interface ValueType {
  /** As it stands in the schema. */
  readonly text: string;
  readonly isNullable: boolean;
  readonly booleans: ReadonlySet<boolean>;
  readonly numbers: 'all' | ReadonlySet<number>;
  readonly strings: 'all' | ReadonlySet<string>;
  readonly object: ObjectType | null;
  /** Of a plain array. */
  readonly items: ValueType | null;
  readonly liveObject: ObjectType | null;
  readonly liveList: ValueType | null;
  readonly liveMap: ValueType | null;
  readonly hasLiveText: boolean;
  readonly hasLiveFile: boolean;
}

export interface ObjectType {
  /** For messages; an object written out is named after where it stands, as in `Storage.address`. */
  readonly name: string;
  readonly fields: ReadonlyMap<string, FieldType>;
  /** Names of the fields that must be there. */
  readonly required: readonly string[];
}

export interface FieldType {
  readonly isOptional: boolean;
  readonly type: ValueType;
}

/** A compiled schema. */
export interface Schema {
  readonly root: ObjectType;
}

/** Texts whose types are kept: rooms that share a schema share its types. Fewer costs a parse more often, more some 0.1 MB each. */
const REMEMBERED_MAX = 100;
const remembered = new Map<string, Schema>();

/**
 * The types of a schema's text; compiled once for all rooms that use it.
 * @throws AppError INVALID_SCHEMA { line, column, expected, found }
 */
export function compileSchema(text: string): Schema {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const syntax = parseSchema(text);
  checkSchema(syntax);
  const schema = typesOf(syntax.definitions);
  const [oldest] = remembered.keys();
  if (remembered.size === REMEMBERED_MAX) remembered.delete(oldest!);
  remembered.set(text, schema);
  return schema;
}

/** An object type under construction: it may refer to itself. */
interface Growing extends ObjectType {
  readonly fields: Map<string, FieldType>;
  readonly required: string[];
}

function typesOf(definitions: readonly Definition[]): Schema {
  const named = new Map(definitions.map(({ name }) => [name, growing(name)]));
  for (const { name, body } of definitions) fill(named.get(name)!, body);
  return { root: named.get(ROOT_TYPE)! };

  function fill(object: Growing, { fields }: ObjectBody): Growing {
    for (const { name, isOptional, type } of fields) {
      object.fields.set(name, { isOptional, type: valueType(type, `${object.name}.${name}`) });
      if (!isOptional) object.required.push(name);
    }
    return object;
  }

  function objectType(object: PlainObject, place: string): ObjectType {
    return object.is === 'name' ? named.get(object.name)! : fill(growing(place), object.body);
  }

  function valueType({ text, members }: TypeSyntax, place: string): ValueType {
    const only = <Is extends MemberSyntax['is']>(is: Is) =>
      members.find((member): member is Extract<MemberSyntax, { is: Is }> => member.is === is);
    const itemsOf = (member: { readonly items: TypeSyntax } | undefined) =>
      member === undefined ? null : valueType(member.items, place);
    const plain = only('object') ?? only('name');
    const live = only('LiveObject');
    return {
      text,
      ...scalarsOf(members),
      object: plain === undefined ? null : objectType(plain, place),
      items: itemsOf(only('array')),
      liveObject: live === undefined ? null : objectType(live.of, place),
      liveList: itemsOf(only('LiveList')),
      liveMap: itemsOf(only('LiveMap')),
      hasLiveText: only('LiveText') !== undefined,
      hasLiveFile: only('LiveFile') !== undefined,
    };
  }
}

function growing(name: string): Growing {
  return { name, fields: new Map(), required: [] };
}

function scalarsOf(members: readonly MemberSyntax[]): Pick<ValueType, 'isNullable' | 'booleans' | 'numbers' | 'strings'> {
  const has = (scalar: string): boolean => members.some((member) => member.is === 'scalar' && member.scalar === scalar);
  const literals = members.flatMap((member) => (member.is === 'literal' ? [member.value] : []));
  return {
    isNullable: has('null'),
    booleans: new Set(has('boolean') ? [true, false] : literals.filter((value) => typeof value === 'boolean')),
    numbers: has('number') ? 'all' : new Set(literals.filter((value) => typeof value === 'number')),
    strings: has('string') ? 'all' : new Set(literals.filter((value) => typeof value === 'string')),
  };
}
