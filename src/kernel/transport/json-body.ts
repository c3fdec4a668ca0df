/** JSON from a request's body: bounded before it is parsed, exact about where it is wrong. */
import { asciiText } from '../../base/binary.ts';
import { AppError, valueAtKey } from '../../base/errors.ts';
import { isForbiddenKey, type Json, type JsonObject } from '../../base/json.ts';
import { jsonErrorOffset } from './json-error-offset.ts';
import type { JsonLimits } from './route.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_E = 0x65;
const LARGE_E = 0x45;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The value in `bytes`.
 * @throws AppError UNPROCESSABLE_ENTITY on anything that is not JSON in UTF-8, is nested or keyed beyond the limits, holds a number that is
 * none, or names a key that would reach a prototype (reliability 2.f).
 */
export function parseJson(bytes: Uint8Array, limits: Omit<JsonLimits, 'bytesMax'>): Json {
  const text = decode(bytes);
  const { hasHugeNumber } = scan(bytes, limits);
  const value = parse(text);
  if (hasHugeNumber || mayNameTraps(text)) refuseTraps(value);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return asciiText(bytes) ?? decoder.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw refused('The body is not UTF-8');
    throw error;
  }
}

/** An item costs less than a key, of which it is one of few that differ: points and numbers come in hundreds of thousands. */
const ITEMS_FOR_EACH_KEY = 4;

/** More digits in a row than a number can have and stay finite. */
const DIGITS_MANY = 300;

/**
 * One pass without recursion: a body of brackets costs a loop, not a stack. Over the bytes, because each character of a string takes V8 five times as
 * long, and all that is looked for is ASCII. Also tells whether a number may be beyond all numbers.
 *
 * Items of arrays have a bound, too, for ten megabytes hold five million. An array counts as one more, or arrays within arrays would be free.
 */
function scan(bytes: Uint8Array, { depthMax, keysMax }: Omit<JsonLimits, 'bytesMax'>): { hasHugeNumber: boolean } {
  let depth = 0;
  const itemsMax = keysMax * ITEMS_FOR_EACH_KEY;
  let keys = 0;
  let items = 0;
  const arrays = new Uint8Array(depthMax + 1); // by depth: 1 where what is open is an array
  let digits = 0;
  let hasHugeNumber = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const char = bytes[at]!;
    if (char >= ZERO && char <= NINE) {
      digits += 1;
      hasHugeNumber ||= digits === DIGITS_MANY;
      continue;
    }
    hasHugeNumber ||= digits > 0 && (char === SMALL_E || char === LARGE_E);
    digits = 0;
    if (char === QUOTE) {
      at = endOfString(bytes, at);
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      depth += 1;
      if (depth > depthMax) throw refused(`The body is nested deeper than ${depthMax} levels (offset ${at})`);
      arrays[depth] = char === OPEN_BRACKET ? 1 : 0;
      if (char === OPEN_BRACKET) items += 1;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      depth -= 1;
    } else if (char === COLON) {
      keys += 1;
    } else if (char === COMMA && arrays[depth] === 1) {
      items += 1;
    }
    if (keys > keysMax) throw refused(`The body has more than ${keysMax} keys`);
    if (items > itemsMax) throw refused(`The body has more than ${itemsMax} items`);
  }
  return { hasHugeNumber };
}

/** Longer strings are searched by the runtime, which looks at sixteen bytes and more in the time of one here. */
const SHORT_STRING = 64;

/** Offset of the closing quote, or of the end. */
function endOfString(bytes: Uint8Array, start: number): number {
  const shortEnd = Math.min(bytes.length, start + SHORT_STRING);
  let at = start + 1;
  for (; at < shortEnd; at += 1) {
    const char = bytes[at]!;
    if (char === QUOTE) return at;
    if (char === BACKSLASH) at += 1;
  }
  for (let quote = bytes.indexOf(QUOTE, at); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let before = quote - 1;
    while (before >= at && bytes[before] === BACKSLASH) before -= 1;
    if ((quote - before) % 2 === 1) return quote; // an even number of backslashes: none of them is for the quote
  }
  return bytes.length;
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) throw refused(`The body is invalid JSON at offset ${jsonErrorOffset(text)}`);
    throw error;
  }
}

/** Whether a forbidden key may be there at all, spelled out or behind an escape: most bodies have neither, and are not walked. */
function mayNameTraps(text: string): boolean {
  return FORBIDDEN.some((part) => text.includes(part)); // one after the other they take a tenth of the time of one regular expression
}
const FORBIDDEN = ['__proto__', 'constructor', 'prototype', '\\u'];

/** What may not be in a body, and the keys that lead to it. */
interface Trap {
  readonly reason: string;
  /** Innermost first. */
  readonly keys: (string | number)[];
}

function refuseTraps(value: Json): void {
  const trap = trapIn(value);
  if (trap === null) return;
  const path = trap.keys.reduceRight<string>((above, key) => (above === '' ? String(key) : `${above}.${key}`), '');
  throw valueAtKey(path, trap.reason);
}

/** The first in the order of the text. Recursion is bounded by `depthMax`, and keys are put together only for what is found. */
function trapIn(value: Json): Trap | null {
  if (typeof value === 'number' && !Number.isFinite(value)) return { reason: 'must be a finite number', keys: [] };
  if (typeof value !== 'object' || value === null) return null;
  return Array.isArray(value) ? trapInItems(value) : trapInMembers(value as JsonObject);
}

function trapInItems(items: readonly Json[]): Trap | null {
  for (let at = 0; at < items.length; at += 1) {
    const trap = trapIn(items[at]!);
    if (trap !== null) return within(at, trap);
  }
  return null;
}

function trapInMembers(members: JsonObject): Trap | null {
  for (const key of Object.keys(members)) {
    const trap = isForbiddenKey(key) ? { reason: 'may not have this name', keys: [] } : trapIn(members[key]!);
    if (trap !== null) return within(key, trap);
  }
  return null;
}

function within(key: string | number, trap: Trap): Trap {
  trap.keys.push(key);
  return trap;
}

function refused(reason: string): AppError {
  return new AppError('UNPROCESSABLE_ENTITY', { reason });
}
