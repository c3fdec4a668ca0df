/** JSON from a request's body: bounded before it is parsed, exact about where it is wrong. */
import { AppError, valueAtKey } from '../../base/errors.ts';
import { isForbiddenKey, type Json } from '../../base/json.ts';
import { jsonErrorOffset } from './json-error-offset.ts';
import type { JsonLimits } from './route.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The value in `bytes`.
 * @throws AppError UNPROCESSABLE_ENTITY on anything that is not JSON in UTF-8, is nested or keyed beyond the limits, holds a number that is
 * none, or names a key that would reach a prototype (reliability 2.f).
 */
export function parseJson(bytes: Uint8Array, limits: Omit<JsonLimits, 'bytesMax'>): Json {
  const text = decode(bytes);
  boundStructure(text, limits);
  const value = parse(text);
  if (isSuspect(text)) refuseTraps(value, '');
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw refused('The body is not UTF-8');
    throw error;
  }
}

/** One pass without recursion: a body of brackets costs a loop, not a stack. */
function boundStructure(text: string, { depthMax, keysMax }: Omit<JsonLimits, 'bytesMax'>): void {
  let depth = 0;
  let keys = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at);
    } else if (char === 0x7b || char === 0x5b) {
      depth += 1;
      if (depth > depthMax) throw refused(`The body is nested deeper than ${depthMax} levels (offset ${at})`);
    } else if (char === 0x7d || char === 0x5d) {
      depth -= 1;
    } else if (char === 0x3a) {
      keys += 1;
      if (keys > keysMax) throw refused(`The body has more than ${keysMax} keys`);
    }
  }
}

/** Offset of the closing quote, or of the text's end. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) break;
    if (char === BACKSLASH) at += 1;
  }
  return at;
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) throw refused(`The body is invalid JSON at offset ${jsonErrorOffset(text)}`);
    throw error;
  }
}

const FORBIDDEN = /__proto__|constructor|prototype|\\u/;
/** An exponent of three digits, or so many digits in a row that none is needed. */
const HUGE_NUMBER = /\d[eE]\+?\d{3}|\d{300}/;

/** Whether a value could hold what `refuseTraps` looks for: most bodies could not, and are not walked. */
function isSuspect(text: string): boolean {
  return FORBIDDEN.test(text) || HUGE_NUMBER.test(text);
}

/** Its recursion is bounded by `depthMax`. */
function refuseTraps(value: Json, path: string): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw valueAtKey(path, 'must be a finite number');
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    if (isForbiddenKey(key)) throw valueAtKey(at, 'may not have this name');
    refuseTraps(inner as Json, at);
  }
}

function refused(reason: string): AppError {
  return new AppError('UNPROCESSABLE_ENTITY', { reason });
}
