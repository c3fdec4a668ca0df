/**
 * Blobs for whoever holds a signed URL: whole, in ranges, or their headers only. It knows neither how URLs are signed nor where blobs are.
 */
import { AppError, errorBody } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import { sha256Hex } from '../../base/sha256.ts';
import type { Blobs, ByteRange, DownloadTerms } from '../persistence/blobs.ts';
import { RETRY_AFTER_SECONDS } from './api.ts';
import { attachment, safeMimeType } from './attachment.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from './server.ts';

interface DownloadsDeps {
  readonly blobs: Pick<Blobs, 'head' | 'read'>;
  /** What the URL permits now; null when it was changed or has expired. */
  readonly grantOf: (request: {
    path: string;
    query: string;
  }) => (Omit<DownloadTerms, 'validMs'> & { readonly key: string }) | null;
  readonly log: Log;
}

/** Pages of any origin may read: whoever has the URL has the file. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Retry-After',
} as const;
const METHODS = 'GET, HEAD';

/** Never rejects. */
export function serveDownloads(deps: DownloadsDeps): HttpHandler {
  return (request) =>
    answer(request, deps).catch((error: unknown) => {
      if (error instanceof AppError) return refusal(error);
      deps.log.error({ path: request.path, err: error }, 'download failed');
      return refusal(new AppError('INTERNAL_SERVER_ERROR'));
    });
}

async function answer(request: HttpRequest, { blobs, grantOf }: DownloadsDeps): Promise<HttpResponse> {
  const { method, headers } = request;
  if (method === 'OPTIONS') return preflight();
  if (method !== 'GET' && method !== 'HEAD') throw new AppError('METHOD_NOT_ALLOWED', { method, path: '/blobs', allow: METHODS });
  const grant = grantOf(request);
  if (grant === null) throw new AppError('DOWNLOAD_REFUSED');
  const found = await blobs.head(grant.key);
  if (found === null) throw gone(grant.fileName);

  const etag = `"${sha256Hex(Buffer.from(grant.key)).slice(0, 32)}"`; // the bytes of a key never change
  const isResumable = headers['if-range'] === undefined || headers['if-range'] === etag;
  const range = isResumable && method === 'GET' ? rangeOf(headers.range, found.size) : null;
  const size = range === null ? found.size : range.end - range.start + 1;
  const response = {
    status: range === null ? 200 : 206,
    headers: {
      ...CORS,
      'content-type': safeMimeType(grant.mimeType),
      'content-disposition': attachment(grant.fileName),
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'cache-control': 'private',
      etag,
      ...(range !== null && { 'content-range': `bytes ${range.start}-${range.end}/${found.size}` }),
    },
    size,
  };
  if (method === 'HEAD' || size === 0) return response;
  const stream = await blobs.read(grant.key, range ?? undefined);
  if (stream === null) throw gone(grant.fileName);
  return { ...response, body: stream.body };
}

/**
 * The one range that is asked for, cut to the blob. Null, for the whole, when there is none, or several, or what is no range at all (RFC 9110, 14.2).
 * @throws AppError RANGE_NOT_SATISFIABLE
 */
function rangeOf(header: string | undefined, size: number): ByteRange | null {
  const found = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/.exec(header?.replaceAll(' ', '') ?? '');
  if (found === null) return null;
  const [, from, to, last] = found;
  const start = from === undefined ? Math.max(0, size - Number(last)) : Number(from);
  const end = to === undefined || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== undefined && to !== '' && Number(to) < start) return null;
  if (start >= size) throw new AppError('RANGE_NOT_SATISFIABLE', { size });
  return { start, end };
}

function preflight(): HttpResponse {
  const headers = { ...CORS, 'access-control-allow-methods': METHODS, 'access-control-allow-headers': 'Range, If-Range' };
  return { status: 204, headers };
}

function gone(fileName: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'file', id: fileName });
}

function refusal(error: AppError): HttpResponse {
  const headers: Record<string, string> = { ...CORS, 'content-type': 'application/json; charset=utf-8' };
  if (error.code === 'RANGE_NOT_SATISFIABLE') headers['content-range'] = `bytes */${String(error.facts.size)}`;
  if (error.code === 'METHOD_NOT_ALLOWED') headers.allow = METHODS;
  if (error.retry) headers['retry-after'] = RETRY_AFTER_SECONDS;
  return { status: error.status, headers, body: JSON.stringify(errorBody(error)) };
}
