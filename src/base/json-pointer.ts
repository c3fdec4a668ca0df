/**
 * JSON pointers (RFC 6901): text to segments and back, with errors that name the fault.
 *
 * Knows the syntax only; what a segment selects is up to whoever walks a document.
 */
import { valueAtKey } from './errors.ts';
import { isForbiddenKey } from './json.ts';

/** Deeper than any document of an app; a longer pointer is an attempt to keep us walking (reliability 2.f). */
export const POINTER_SEGMENTS_MAX = 64;

/**
 * The unescaped segments of a pointer to something inside a document; the whole document, `''`, is no such thing.
 * @param key where the pointer stands in the request, for the message
 * @throws AppError UNPROCESSABLE_ENTITY naming `key` and the fault
 */
export function parsePointer(pointer: string, key: string): string[] {
  if (!pointer.startsWith('/')) throw valueAtKey(key, 'is not a JSON pointer: it must start with a slash');
  const segments = pointer.slice(1).split('/');
  if (segments.length > POINTER_SEGMENTS_MAX)
    throw valueAtKey(key, `is a JSON pointer of more than ${POINTER_SEGMENTS_MAX} segments`);
  return segments.map((segment) => unescaped(segment, key));
}

/** One key or index as it stands in a pointer, its slash before it. */
export function pointerSegment(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function unescaped(segment: string, key: string): string {
  if (/~(?![01])/.test(segment)) throw valueAtKey(key, 'is not a JSON pointer: ~ must be followed by 0 or 1');
  const plain = segment.replaceAll('~1', '/').replaceAll('~0', '~');
  if (isForbiddenKey(plain)) throw valueAtKey(key, `names the key "${plain}", which is not allowed`);
  return plain;
}
