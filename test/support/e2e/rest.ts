/** REST by hand, for what no SDK method asks and for the exact status and body of an answer. */
import type { TestServer } from './server.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. */
  readonly json: any;
}

export interface Ask {
  readonly method?: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  /** In place of the secret key; null sends none. */
  readonly bearer?: string | null;
  /** The Idempotency-Key. */
  readonly key?: string;
  readonly signal?: AbortSignal;
}

export async function ask(
  server: TestServer,
  path: string,
  { method, json, body, contentType, bearer = server.secretKey, key, signal }: Ask = {},
): Promise<Answer> {
  const payload = json === undefined ? body : JSON.stringify(json);
  const response = await fetch(new URL(path, server.url), {
    method: method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: {
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(payload === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
    },
    ...(payload === undefined ? {} : { body: payload as never }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}

/** The path of something in a room. */
export function roomPath(roomId: string, rest = ''): string {
  return `/v2/rooms/${encodeURIComponent(roomId)}${rest}`;
}
