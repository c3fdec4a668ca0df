/** What browsers of other origins may do (protocol 1.5). Credentials travel in the Authorization header, so cookies are never allowed. */
import type { HttpRequest } from './server.ts';

/** `*`, or the exact origins whose pages may call us. */
export type Origins = '*' | readonly string[];

const METHODS = 'GET, POST, PUT, PATCH, DELETE, OPTIONS';
const REQUEST_HEADERS = 'Authorization, Content-Type, X-LB-Client, Idempotency-Key';
const RESPONSE_HEADERS = 'X-LB-Warn, X-Request-Id, Retry-After';
/** Browsers ask again after at most two hours. */
const PREFLIGHT_SECONDS = 7_200;

const FOR_ALL = { 'access-control-allow-origin': '*', 'access-control-expose-headers': RESPONSE_HEADERS } as const;

/** Headers for every answer. */
export function corsHeaders(origins: Origins, headers: HttpRequest['headers']): Readonly<Record<string, string>> {
  if (origins === '*') return FOR_ALL;
  const { origin } = headers;
  if (origin === undefined || !origins.includes(origin)) return { vary: 'origin' };
  return { vary: 'origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': RESPONSE_HEADERS };
}

/** Headers for the answer to OPTIONS, besides those of every answer. */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-methods': METHODS,
  'access-control-allow-headers': REQUEST_HEADERS,
  'access-control-max-age': String(PREFLIGHT_SECONDS),
};
