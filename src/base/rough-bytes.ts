/** Of each value, beside its characters or bytes. */
const BESIDE = 16;

/**
 * About how much memory plain data holds, in bytes; a character counts as one, names of members do not count. Past `most` it is not looked at any further: what is
 * returned is a little more then.
 */
export function roughBytesOf(value: unknown, most: number): number {
  if (typeof value === 'string') return BESIDE + value.length;
  if (typeof value !== 'object' || value === null) return BESIDE;
  if (value instanceof Uint8Array) return BESIDE + value.length;
  return Array.isArray(value) ? ofItems(value, most) : ofMembers(value, most);
}

/** By index, for they may be a million. */
function ofItems(items: readonly unknown[], most: number): number {
  let bytes = BESIDE;
  for (let at = 0; at < items.length && bytes <= most; at += 1) bytes += roughBytesOf(items[at], most - bytes);
  return bytes;
}

function ofMembers(members: object, most: number): number {
  let bytes = BESIDE;
  for (const member of Object.values(members)) {
    bytes += roughBytesOf(member, most - bytes);
    if (bytes > most) break;
  }
  return bytes;
}
