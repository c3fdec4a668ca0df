/**
 * What the grammar cannot say of a schema: names that exist, live types that can be live, unions that can be told apart, objects that can
 * exist (supplement 3.3, rows 2, 4 and 8 to 11).
 */
import type { Definition, FieldSyntax, MemberSyntax, ObjectBody, PlainObject, SchemaSyntax, TypeSyntax } from './parse.ts';
import { type Position, schemaError } from './tokens.ts';

/** The definition every schema has: the root of Storage. */
export const ROOT_TYPE = 'Storage';

interface Checking {
  readonly definitions: ReadonlyMap<string, Definition>;
  /** Names of the object types that hold live types, so that they can only be live themselves. */
  readonly onlyLive: ReadonlySet<string>;
}

/** Whether live types may stand here: only right inside something live (supplement 3.3 row 8). */
type Context = 'live' | 'plain';

/** @throws AppError INVALID_SCHEMA with the position of the first fault. */
export function checkSchema({ definitions: list, end }: SchemaSyntax): void {
  const definitions = new Map(list.map((definition) => [definition.name, definition]));
  if (!definitions.has(ROOT_TYPE)) throw schemaError(end, `a definition of the type ${ROOT_TYPE}`, 'none');
  const checking = { definitions, onlyLive: onlyLive(list) };
  for (const { body } of list) checkBody(checking, body, 'live');
  const possible = possibleNames(list);
  for (const definition of list) {
    if (!possible.has(definition.name))
      throw schemaError(definition, 'an object that can exist', `${definition.name}, which must hold another one of itself`);
  }
}

function checkBody(checking: Checking, { fields }: ObjectBody, context: Context): void {
  for (const { type } of fields) checkType(checking, type, context);
}

function checkType(checking: Checking, { members }: TypeSyntax, context: Context): void {
  const seen = new Set<string>();
  for (const member of members) {
    checkMember(checking, member, context);
    const shape = shapeOf(member);
    if (shape !== null && seen.has(shape)) throw schemaError(member, `at most one ${shape} in a union`, `a second one`);
    if (shape !== null) seen.add(shape);
  }
}

/** Members of one shape could not be told apart by the kind of a value alone (supplement 3.3 row 9; that arrays count too is ours). */
function shapeOf(member: MemberSyntax): string | null {
  switch (member.is) {
    case 'object':
    case 'name':
      return 'plain object type';
    case 'array':
      return 'array type';
    case 'LiveObject':
    case 'LiveList':
    case 'LiveMap':
      return member.is;
    default:
      return null;
  }
}

function checkMember(checking: Checking, member: MemberSyntax, context: Context): void {
  if (isLive(member) && context === 'plain')
    throw schemaError(member, 'a plain type: what is inside a plain object or array is never live', member.is);
  switch (member.is) {
    case 'array':
      checkType(checking, member.items, 'plain');
      break;
    case 'object':
      checkBody(checking, member.body, 'plain');
      break;
    case 'name':
      checkName(checking, member);
      if (checking.onlyLive.has(member.name))
        throw schemaError(member, `LiveObject<${member.name}>, because ${member.name} holds live types`, member.name);
      break;
    case 'LiveObject':
      if (member.of.is === 'name') checkName(checking, { ...member.of });
      else checkBody(checking, member.of.body, 'live');
      break;
    case 'LiveList':
    case 'LiveMap':
      checkType(checking, member.items, 'live');
      break;
    default: // scalars, literals, LiveText and LiveFile are what they are
  }
}

function checkName({ definitions }: Checking, { name, ...at }: Position & { readonly name: string }): void {
  if (name === ROOT_TYPE) throw schemaError(at, 'another type: Storage is the root and stands nowhere else', name);
  if (!definitions.has(name)) throw schemaError(at, 'a type that the language has or the schema defines', name);
}

function isLive({ is }: MemberSyntax): boolean {
  return is.startsWith('Live');
}

/** Object types with a live type among their fields, or in plain objects and arrays below them. */
function onlyLive(list: readonly Definition[]): Set<string> {
  return closure(list, ({ body }, known) => holdsLive(body, known));
}

function holdsLive({ fields }: ObjectBody, known: ReadonlySet<string>): boolean {
  const inType = ({ members }: TypeSyntax): boolean => members.some(inMember);
  const inMember = (member: MemberSyntax): boolean => {
    if (member.is === 'array') return inType(member.items);
    if (member.is === 'object') return holdsLive(member.body, known);
    return member.is === 'name' ? known.has(member.name) : isLive(member);
  };
  return fields.some(({ type }) => inType(type));
}

/**
 * Object types of which a finite value exists. Lists, maps and arrays may be empty, so they always can; a LiveObject counts as one that
 * can too, since an SDK fills it step by step (supplement 3.3 row 11).
 */
function possibleNames(list: readonly Definition[]): Set<string> {
  return closure(list, ({ body }, known) => isPossible(body, known));
}

function isPossible({ fields }: ObjectBody, known: ReadonlySet<string>): boolean {
  const isObject = (object: PlainObject): boolean =>
    object.is === 'name' ? known.has(object.name) : isPossible(object.body, known);
  const isField = ({ isOptional, type }: FieldSyntax): boolean =>
    isOptional || type.members.some((member) => (member.is === 'object' || member.is === 'name' ? isObject(member) : true));
  return fields.every(isField);
}

/**
 * The names for which `holds` is true, given those for which it is. A definition is looked at again only when one that it names was added:
 * sixty kilobytes can be a chain of four thousand.
 */
function closure(
  list: readonly Definition[],
  holds: (definition: Definition, known: ReadonlySet<string>) => boolean,
): Set<string> {
  const users = usersOf(list);
  const known = new Set<string>();
  const waiting = [...list];
  for (let at = 0; at < waiting.length; at += 1) {
    const definition = waiting[at]!;
    if (known.has(definition.name) || !holds(definition, known)) continue;
    known.add(definition.name);
    waiting.push(...(users.get(definition.name) ?? []));
  }
  return known;
}

/** By name, the definitions that name it as a plain object. */
function usersOf(list: readonly Definition[]): Map<string, Set<Definition>> {
  const users = new Map<string, Set<Definition>>();
  const add = (name: string, user: Definition): void => {
    users.set(name, (users.get(name) ?? new Set()).add(user));
  };
  const inBody = ({ fields }: ObjectBody, user: Definition): void => {
    for (const { type } of fields) inType(type, user);
  };
  const inType = ({ members }: TypeSyntax, user: Definition): void => {
    for (const member of members) {
      if (member.is === 'array') inType(member.items, user);
      else if (member.is === 'object') inBody(member.body, user);
      else if (member.is === 'name') add(member.name, user);
    }
  };
  for (const definition of list) inBody(definition.body, definition);
  return users;
}
