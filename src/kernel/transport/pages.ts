/** Pages for people: files made at build time, held in memory, sent with the headers that browsers keep rules by. It does not know what is in them. */
import { AppError, errorBody } from '../../base/errors.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from './server.ts';

export interface WebFile {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** The same, compressed; null where that saves nothing. */
  readonly gzipped: Uint8Array | null;
  readonly etag: string;
}

/** By path, as a browser asks for them: `/assets/demo-X2KB.js`. */
export type WebFiles = ReadonlyMap<string, WebFile>;

/** What pages are made of is under this path. */
export const ASSETS_PATH = '/assets/';

/** The build leaves it in names that change with the content: `demo-X2KBQ7PD.js`. */
const HASH_IN_NAME = /-[0-9A-Z]{8}\./;

const METHODS = 'GET, HEAD';
const YEAR_SECONDS = 31_536_000;

/**
 * What a page may load and do: its own scripts, and sockets and requests to the server that it came from. Components write styles into the page;
 * images may come from where files are kept, which can be another server.
 */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob: https:",
    "font-src 'self'",
    "connect-src 'self' ws: wss:", // not all browsers take 'self' for sockets
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const;

interface PagesOptions {
  readonly files: WebFiles;
  /** Which file answers at a path that is not its own, with or without a slash at its end: `{ '/console': '/console.html' }`. */
  readonly pages: Readonly<Record<string, string>>;
}

/** Answers these pages and what they are made of, and hands everything else on. Without files all is handed on. */
export function servePages({ files, pages }: PagesOptions, others: HttpHandler): HttpHandler {
  return async (request) => {
    const { path } = request;
    const isAsset = path.startsWith(ASSETS_PATH);
    const file = files.get(isAsset ? path : (pageAt(path, pages) ?? ''));
    if (file === undefined) return others(request);
    return answer(request, file, isAsset ? 'asset' : 'page');
  };
}

function pageAt(path: string, pages: PagesOptions['pages']): string | undefined {
  const plain = path === '/' ? path : path.replace(/\/$/, '');
  return Object.hasOwn(pages, plain) ? pages[plain] : undefined;
}

/** Whether a browser, or a proxy that has changed the encoding and says so by `W/`, has the file (RFC 9110, 13.1.2). */
function isKnown({ etag }: WebFile, ifNoneMatch = ''): boolean {
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

function answer({ method, path, headers }: HttpRequest, file: WebFile, kind: 'asset' | 'page'): HttpResponse {
  if (method !== 'GET' && method !== 'HEAD') return refusal(method, path);
  const common = {
    etag: file.etag,
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    'cache-control': HASH_IN_NAME.test(path) ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache',
    ...(kind === 'page' && PAGE_HEADERS),
  };
  if (isKnown(file, headers['if-none-match'])) return { status: 304, headers: common };
  const zipped = /\bgzip\b/.test(headers['accept-encoding'] ?? '') ? file.gzipped : null;
  return {
    status: 200,
    headers: { ...common, 'content-type': file.contentType, ...(zipped !== null && { 'content-encoding': 'gzip' }) },
    body: zipped ?? file.bytes,
  };
}

function refusal(method: string, path: string): HttpResponse {
  const error = new AppError('METHOD_NOT_ALLOWED', { method, path, allow: METHODS });
  const headers = { 'content-type': 'application/json; charset=utf-8', allow: METHODS };
  return { status: error.status, headers, body: JSON.stringify(errorBody(error)) };
}
