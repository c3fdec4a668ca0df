/**
 * JSON from strangers: bounded in depth before it is parsed, and free of keys that would reach a prototype (reliability 2.f).
 *
 * The scan is one pass over the text without recursion, so ten thousand brackets cost a loop, not a stack.
 */
import { AppError } from './errors.ts';
import { isForbiddenKey, type Json } from './json.ts';

/** Nesting beyond this is no document of an app but an attack on recursive code. */
export const JSON_DEPTH_MAX = 32;

/** Whether a text may hold a forbidden key at all: spelled out, or hidden behind an escape. Most frames hold neither, and are parsed at full speed. */
const SUSPECT = /"(?:__proto__|constructor|prototype)"|\\u/;

/** @throws AppError FRAME_INVALID on syntax errors, too deep nesting, or a forbidden key. */
export function parseBoundedJson(text: string): Json {
  const trap = scanJson(text);
  if (trap !== null) throw new AppError('FRAME_INVALID', { reason: trap });
  try {
    return JSON.parse(text, SUSPECT.test(text) ? refuseForbiddenKey : undefined) as Json;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('FRAME_INVALID', { reason: `it is not JSON (${error instanceof Error ? error.message : String(error)})` });
  }
}

function refuseForbiddenKey(key: string, value: unknown): unknown {
  if (isForbiddenKey(key)) throw new AppError('FRAME_INVALID', { reason: `the key "${key}" is not allowed` });
  return value;
}

/** What is wrong with the text before parsing, or null: only depth is looked at. */
export function scanJson(text: string): string | null {
  let depth = 0;
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
      if (depth > JSON_DEPTH_MAX) return `it is nested deeper than ${JSON_DEPTH_MAX}`;
    } else if (char === 0x7d || char === 0x5d) depth -= 1;
  }
  return null;
}
