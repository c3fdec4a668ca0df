/** The rules that names follow wherever a client gives one, in a path, a body, a token or a socket's URL: rooms, users, groups, organisations. */
import { valueAtKey } from '../base/errors.ts';
import { asRoomId, type RoomId } from '../base/ids.ts';
import { isForbiddenKey } from '../base/json.ts';
import { isStorableText } from '../base/text.ts';

/** Longest names, in UTF-16 units as the SDK counts them (supplement 1.9; those of organisations and subdocuments are ours). */
export const NAME_LENGTHS = { roomId: 128, userId: 128, groupId: 256, organizationId: 128, guid: 256, feedId: 128 } as const;

/** What `checkRoomId` asks for, as keywords of a JSON schema, to be shown. */
export const ROOM_ID_LIMITS = {
  minLength: 1,
  maxLength: NAME_LENGTHS.roomId,
  pattern: '^[^*\\u0000-\\u001f\\u007f-\\u009f]+$',
} as const;

/** The organisation of rooms and tokens that name none (supplement 1.2). */
export const DEFAULT_ORGANIZATION = 'default';

const CONTROL = /\p{Cc}/u;

/**
 * A name of 1 to `lengthMax` characters that can be stored and used as a key.
 * @throws AppError UNPROCESSABLE_ENTITY naming `key`.
 */
export function checkName(value: unknown, key: string, lengthMax: number): string {
  if (typeof value !== 'string') throw valueAtKey(key, 'must be a string');
  if (value.length < 1 || value.length > lengthMax) throw valueAtKey(key, `must have 1 to ${lengthMax} characters`);
  if (!isStorableText(value)) throw valueAtKey(key, 'may not hold U+0000 or half of a surrogate pair');
  if (isForbiddenKey(value)) throw valueAtKey(key, 'is a name that may not be used');
  return value;
}

/**
 * A name that stands in paths: clients take `.` and `..` in a URL for folders, encoded or not, and ask for something else.
 * @throws AppError UNPROCESSABLE_ENTITY naming `key`.
 */
export function checkNameInPath(value: unknown, key: string, lengthMax: number): string {
  const name = checkName(value, key, lengthMax);
  if (name === '.' || name === '..') throw valueAtKey(key, 'must not be a path that URLs take for a folder');
  return name;
}

/**
 * A room id. An asterisk is refused because it would read as a pattern in a token's permissions.
 * @throws AppError UNPROCESSABLE_ENTITY naming `key` (supplement 7, rows 20 and 21).
 */
export function checkRoomId(value: unknown, key: string): RoomId {
  const name = checkNameInPath(value, key, NAME_LENGTHS.roomId);
  if (name.includes('*')) throw valueAtKey(key, 'may not hold an asterisk');
  if (CONTROL.test(name)) throw valueAtKey(key, 'may not hold control characters');
  return asRoomId(name);
}
