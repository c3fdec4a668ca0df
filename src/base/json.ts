/** JSON as a type, and the two questions everybody asks of it. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Keys that would reach a prototype; refused wherever a client names a key that we look up (reliability 2.f). */
export function isForbiddenKey(key: string): boolean {
  return isPrototypeKey(key) || key === 'constructor' || key === 'prototype';
}

/** The one key that is refused in what is only passed on, too: whoever copies it by assignment sets a prototype. */
export function isPrototypeKey(key: string): boolean {
  return key === '__proto__';
}
