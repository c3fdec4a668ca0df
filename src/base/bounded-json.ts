/**
 * JSON from strangers: bounded in depth and in members before it is parsed, and free of keys that would reach a prototype (reliability 2.f).
 *
 * The scan is one pass over the text without recursion, so ten thousand brackets cost a loop, not a stack.
 */
import { AppError } from './errors.ts';
import { isForbiddenKey, type Json, type JsonObject } from './json.ts';

/** Nesting beyond this is no document of an app but an attack on recursive code. */
export const JSON_DEPTH_MAX = 32;

/** Whether a text may hold a forbidden key at all: spelled out, or hidden behind an escape. Most frames hold neither, and are parsed at full speed. */
const SUSPECT = /"(?:__proto__|constructor|prototype)"|\\u/;

/** Of one frame. Keys that all differ take some 2 µs each; ten megabytes of the ops that SDKs send have fewer, but for 330,000 deletions. */
export const JSON_KEYS_MAX = 1_000_000;
/**
 * Members of objects and arrays in one frame, an object or array that is empty being one more. Five million fit into ten megabytes, and take seconds of whoever
 * looks at them; ten megabytes of points, `[123,456],`, are three.
 */
export const JSON_MEMBERS_MAX = 4_000_000;

/** @throws AppError FRAME_INVALID on syntax errors, too deep nesting, too many keys and items, or a forbidden key. */
export function parseBoundedJson(text: string): Json {
  const { json, flawIn } = readFrame(text, JSON_DEPTH_MAX);
  const flaw = flawIn(json, { depthMax: JSON_DEPTH_MAX, isForbidden: isForbiddenKey });
  if (flaw !== null) throw refused(flaw);
  return json;
}

/** What a part of a frame must keep to. */
interface PartBounds {
  readonly depthMax: number;
  readonly isForbidden: (key: string) => boolean;
}

/** A frame whose parts are judged by themselves. */
export interface ReadFrame {
  readonly json: Json;
  /** Why a part may not be taken, or null. Costs nothing where the text of the frame gives no reason to look. */
  flawIn(part: Json, bounds: PartBounds): string | null;
}

/** @throws AppError FRAME_INVALID on syntax errors, nesting beyond `depthMax`, too many keys and items. */
export function readFrame(text: string, depthMax: number): ReadFrame {
  const { trap, depth } = scanJson(text, depthMax);
  if (trap !== null) throw refused(trap);
  const json = parse(text);
  const mayHoldKeys = SUSPECT.test(text);
  return {
    json,
    flawIn(part, bounds) {
      if (depth > bounds.depthMax && isDeeper(part, bounds.depthMax)) return tooDeep(bounds.depthMax);
      const forbidden = mayHoldKeys ? forbiddenKeyIn(part, bounds.isForbidden) : null;
      return forbidden === null ? null : `the key "${forbidden}" is not allowed`;
    },
  };
}

function tooDeep(depthMax: number): string {
  return `it is nested deeper than ${depthMax}`;
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw refused(`it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** Innermost first. Recursion is bounded by the scan; by index, for a frame may be a million items. */
function forbiddenKeyIn(value: Json, isForbidden: PartBounds['isForbidden']): string | null {
  if (typeof value !== 'object' || value === null) return null;
  return Array.isArray(value) ? forbiddenInItems(value, isForbidden) : forbiddenInMembers(value as JsonObject, isForbidden);
}

function forbiddenInItems(items: readonly Json[], isForbidden: PartBounds['isForbidden']): string | null {
  for (let at = 0; at < items.length; at += 1) {
    const found = forbiddenKeyIn(items[at]!, isForbidden);
    if (found !== null) return found;
  }
  return null;
}

function forbiddenInMembers(members: JsonObject, isForbidden: PartBounds['isForbidden']): string | null {
  for (const key of Object.keys(members)) {
    const found = forbiddenKeyIn(members[key]!, isForbidden) ?? (isForbidden(key) ? key : null);
    if (found !== null) return found;
  }
  return null;
}

/** What is wrong with the text before parsing, or null, and how deep it is: only depth and the number of members are looked at. */
function scanJson(text: string, depthMax: number): { trap: string | null; depth: number } {
  let depth = 0;
  let deepest = 0;
  let keys = 0;
  let members = 0; // one for what opens and one for each comma: that is how many there are
  let inString = false;
  const { length } = text; // read once: V8 asks anew which kind of string it is, and there are many
  for (let at = 0; at < length; at += 1) {
    const char = text.charCodeAt(at);
    if (inString) {
      if (char === 0x5c) at += 1;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) {
      depth += 1;
      members += 1;
      if (depth > deepest) deepest = depth;
      if (depth > depthMax) return { trap: tooDeep(depthMax), depth };
    } else if (char === 0x7d || char === 0x5d) depth -= 1;
    else if (char === 0x2c) members += 1;
    else if (char === 0x3a) keys += 1;
    if (keys > JSON_KEYS_MAX) return { trap: `it has more than ${JSON_KEYS_MAX} keys`, depth };
    if (members > JSON_MEMBERS_MAX) return { trap: `it has more than ${JSON_MEMBERS_MAX} keys and items`, depth };
  }
  return { trap: null, depth: deepest };
}

function refused(reason: string): AppError {
  return new AppError('FRAME_INVALID', { reason });
}
