/**
 * What a client may do in one room: permission strings in, one full matrix out.
 *
 * The resolution mirrors the client SDK's own (protocol 2.5), because the client hides or offers actions by it: where the two
 * differ, users see buttons that fail. It knows neither how tokens are signed nor where accesses are stored.
 */
import { valueAtKey } from '../base/errors.ts';

export type Level = 'none' | 'read' | 'write';
export type Resource = 'room' | 'storage' | 'comments' | 'comments:public' | 'comments:private' | 'feeds';
/** The full matrix: a level for every resource. */
export type Permissions = Readonly<Record<Resource, Level>>;

/** Permission lists of a room (contract, Room). A user or group whose list is `[]` has explicitly no access. */
export interface RoomAccesses {
  readonly defaultAccesses: readonly string[];
  readonly groupsAccesses: Readonly<Record<string, readonly string[]>>;
  readonly usersAccesses: Readonly<Record<string, readonly string[]>>;
}

/** What lists say outright; a resource that is absent follows the base. */
type Stated = Partial<Record<Resource, Level>>;

const OVERRIDABLE = ['storage', 'comments', 'comments:public', 'comments:private', 'feeds'] as const;
const RANK: Readonly<Record<Level, number>> = { none: 0, read: 1, write: 2 };

/** A string's resource and level; null for the legacy string that is accepted and says nothing. */
const MEANINGS: ReadonlyMap<string, readonly [Resource, Level] | null> = new Map<string, readonly [Resource, Level] | null>([
  ['*:read', ['room', 'read']],
  ['*:write', ['room', 'write']],
  ['room:read', ['room', 'read']],
  ['room:write', ['room', 'write']],
  ['room:presence:write', null],
  ...OVERRIDABLE.flatMap((resource) =>
    (['read', 'write', 'none'] as const).map((level) => [`${resource}:${level}`, [resource, level]] as const),
  ),
]);

/** All permission strings there are (supplement 1.1). Clients throw on any other, so none may leave the server. */
export const PERMISSION_STRINGS: readonly string[] = [...MEANINGS.keys()];

export const NO_PERMISSIONS: Permissions = same('none');
export const FULL_ACCESS: Permissions = same('write');

/** The matrix of one list (protocol 2.5, steps 1 and 2). Order carries no meaning; without a base there is no access at all. */
export function permissionsOf(scopes: readonly string[]): Permissions {
  return resolved(statedBy(scopes));
}

/**
 * The matrix an access token grants on a room (protocol 2.5, step 4): over all matching patterns the highest base counts, while
 * each other resource follows the most specific pattern that names it.
 */
export function permissionsFromToken(perms: Readonly<Record<string, readonly string[]>>, roomId: string): Permissions {
  const stated: Stated = {};
  const specificityOf: Partial<Record<Resource, number>> = {};
  for (const [pattern, scopes] of Object.entries(perms)) {
    if (!matches(pattern, roomId)) continue;
    const specificity = pattern.endsWith('*') ? pattern.length - 1 : pattern.length;
    for (const [resource, level] of levelsIn(withVisibilities(statedBy(scopes)))) {
      const rival = resource === 'room' ? specificity : specificityOf[resource];
      if (rival !== undefined && specificity < rival) continue;
      if (rival === specificity) raise(stated, resource, level);
      else stated[resource] = level;
      specificityOf[resource] = specificity;
    }
  }
  return resolved(stated);
}

/**
 * The matrix a room's accesses grant to a user (protocol 2.5, step 5): what the user's own list states rules over what the
 * groups' lists state (merged by the highest), and that over the default list. Null is an anonymous user: the default alone.
 */
export function permissionsFromRoom(
  accesses: RoomAccesses,
  user: { readonly userId: string | null; readonly groupIds: readonly string[] },
): Permissions {
  const groups: Stated = {};
  for (const groupId of user.groupIds) {
    // each group's `comments` is spread before the merge: one group's private:none must not lower what another grants
    for (const [resource, level] of levelsIn(withVisibilities(statedFor(accesses.groupsAccesses, groupId))))
      raise(groups, resource, level);
  }
  return resolved({
    ...withVisibilities(statedBy(accesses.defaultAccesses)),
    ...groups,
    ...withVisibilities(user.userId === null ? {} : statedFor(accesses.usersAccesses, user.userId)),
  });
}

/** Whether the matrix reaches `needed` (protocol 2.5, step 3). `comments` is reached through either visibility too. */
export function allows(permissions: Permissions, resource: Resource, needed: 'read' | 'write'): boolean {
  if (RANK[permissions[resource]] >= RANK[needed]) return true;
  return (
    resource === 'comments' && (allows(permissions, 'comments:public', needed) || allows(permissions, 'comments:private', needed))
  );
}

export function isSameAccess(one: Permissions, other: Permissions): boolean {
  return one.room === other.room && OVERRIDABLE.every((resource) => one[resource] === other[resource]);
}

/**
 * The shortest list that says the same (protocol 2.5, step 7), for ROOM_STATE and USER_JOINED; `[]` for no access. It names the base by the older
 * of its two names: SDKs before 3.20 know no other, and take whoever has that other one for a reader.
 */
export function scopesOf(permissions: Permissions): string[] {
  if (permissions.room === 'none') return [];
  const scopes = [`room:${permissions.room}`];
  for (const resource of OVERRIDABLE) {
    const parent = resource.startsWith('comments:') ? 'comments' : 'room';
    if (permissions[resource] !== permissions[parent]) scopes.push(`${resource}:${permissions[resource]}`);
  }
  return scopes;
}

/**
 * A permission list as a client gave it, checked. A `set` is a room's list: it may be empty, and names each thing once
 * (protocol 2.5, step 6). A `union` is a token's: the SDK adds up what several calls allow, so the highest counts; an empty
 * one is refused, because it would not take away what a wider pattern gives.
 * @throws AppError UNPROCESSABLE_ENTITY naming `key`.
 */
export function checkScopes(scopes: unknown, key: string, rule: 'set' | 'union'): string[] {
  if (!Array.isArray(scopes)) throw valueAtKey(key, 'must be an array of permissions');
  const counts = new Map<Resource, number>();
  for (const scope of scopes) {
    if (typeof scope !== 'string' || !MEANINGS.has(scope)) {
      throw valueAtKey(key, `holds ${shown(scope)}, which is not a permission; allowed are ${PERMISSION_STRINGS.join(', ')}`);
    }
    const resource = MEANINGS.get(scope)?.[0];
    if (resource !== undefined) counts.set(resource, (counts.get(resource) ?? 0) + 1);
  }
  const unique = [...new Set<string>(scopes)];
  if (unique.length === 0 && rule === 'set') return [];
  if (!counts.has('room')) throw valueAtKey(key, 'needs a base permission: *:read or *:write');
  if (rule === 'union') return unique;
  if (unique.length < scopes.length) throw valueAtKey(key, 'holds a permission twice');
  for (const [resource, count] of counts) {
    if (count > 1)
      throw valueAtKey(key, `holds ${count} permissions for ${resource === 'room' ? 'the base' : resource}; one is allowed`);
  }
  return unique;
}

/** The same, but that comments are read at most. */
export function readingComments(permissions: Permissions): Permissions {
  const atMost = (level: Level): Level => (level === 'write' ? 'read' : level);
  const { comments, 'comments:public': publicly, 'comments:private': privately } = permissions;
  return theOne({
    ...permissions,
    comments: atMost(comments),
    'comments:public': atMost(publicly),
    'comments:private': atMost(privately),
  });
}

function statedBy(scopes: readonly string[]): Stated {
  if (scopes.length === 0) return { room: 'none' }; // an empty list is a statement: it beats the lists below it
  const stated: Stated = {};
  for (const scope of scopes) {
    const meaning = MEANINGS.get(scope);
    if (meaning) raise(stated, ...meaning);
  }
  return stated;
}

function statedFor(lists: Readonly<Record<string, readonly string[]>>, id: string): Stated {
  const scopes = Object.hasOwn(lists, id) ? lists[id] : undefined;
  return scopes === undefined ? {} : statedBy(scopes);
}

/** A list that names `comments` names both visibilities, so it outranks a visibility named by a list below it. */
function withVisibilities(stated: Stated): Stated {
  if (stated.comments === undefined) return stated;
  return { 'comments:public': stated.comments, 'comments:private': stated.comments, ...stated };
}

function resolved(stated: Stated): Permissions {
  const room = stated.room ?? 'none';
  if (room === 'none') return NO_PERMISSIONS;
  const comments = stated.comments ?? room;
  return theOne({
    room,
    storage: stated.storage ?? room,
    comments,
    'comments:public': stated['comments:public'] ?? comments,
    'comments:private': stated['comments:private'] ?? comments,
    feeds: stated.feeds ?? room,
  });
}

/** By their scopes, all matrices there have been: a few hundred can be. Every connection holds one, and most the same. */
const matrices = new Map<string, Permissions>();

function theOne(permissions: Permissions): Permissions {
  const name = scopesOf(permissions).join();
  const known = matrices.get(name);
  if (known !== undefined) return known;
  matrices.set(name, permissions);
  return permissions;
}

function raise(stated: Stated, resource: Resource, level: Level): void {
  const before = stated[resource];
  if (before === undefined || RANK[level] > RANK[before]) stated[resource] = level;
}

function levelsIn(stated: Stated): [Resource, Level][] {
  return Object.entries(stated) as [Resource, Level][];
}

function matches(pattern: string, roomId: string): boolean {
  return pattern.endsWith('*') ? roomId.startsWith(pattern.slice(0, -1)) : roomId === pattern;
}

function same(level: Level): Permissions {
  return { room: level, storage: level, comments: level, 'comments:public': level, 'comments:private': level, feeds: level };
}

function shown(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 80) ?? String(value);
}
