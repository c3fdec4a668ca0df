/** Where a socket wants to go and what it shows at the door: the two kinds of URL that clients dial. */
import type { ClientKind } from '../protocol/server-messages.ts';

export interface SocketTarget {
  readonly kind: ClientKind;
  readonly roomId: string;
  readonly credentials: Credentials;
}

export type Credentials =
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'public-key'; readonly key: string }
  | { readonly type: 'none' };

const SDK_PATH = '/v8';
const YJS_PREFIX = '/yjs/';
/** What SDKs dial, of this version or another, for rooms and for AI copilots. They would dial for ever if they could not be told over a socket that it is not served. */
const SDK_PATHS = /^(\/ai)?\/v\d+$/;

/**
 * SDK: `/v8?roomId=…&tok=…` or `&pubkey=…` (protocol 1.3). y-websocket: `/yjs/{roomId}?token=…` or `?pubkey=…`, the room id percent-encoded.
 * Null for any other path, or one that is not valid percent-encoding.
 */
export function targetOf({ path, query }: { path: string; query: string }): SocketTarget | null {
  const params = new URLSearchParams(query);
  if (path === SDK_PATH)
    return {
      kind: 'sdk',
      roomId: params.get('roomId') ?? '',
      credentials: credentialsOf(params.get('tok'), params.get('pubkey')),
    };
  if (!path.startsWith(YJS_PREFIX)) return null;
  const roomId = decodeSegment(path.slice(YJS_PREFIX.length));
  return roomId === null ? null : { kind: 'yjs', roomId, credentials: credentialsOf(params.get('token'), params.get('pubkey')) };
}

/** Whether a socket on this path is taken: to enter a room, or to hear that there is nothing. */
export function takesSockets(path: string): boolean {
  return SDK_PATHS.test(path) || targetOf({ path, query: '' }) !== null;
}

function credentialsOf(token: string | null, publicKey: string | null): Credentials {
  if (token !== null) return { type: 'token', token };
  if (publicKey !== null) return publicKeyCredentials(publicKey);
  return NO_CREDENTIALS;
}

const NO_CREDENTIALS: Credentials = { type: 'none' };
/** As shown last. There is one public key, and many who show it and stay. */
let shown: Extract<Credentials, { readonly type: 'public-key' }> = { type: 'public-key', key: '' };

function publicKeyCredentials(key: string): Credentials {
  if (shown.key !== key) shown = { type: 'public-key', key };
  return shown;
}

function decodeSegment(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null; // malformed percent-encoding names no room
  }
}

/**
 * What stops an SDK client for good is 4000–4099 (protocol 3.4); y-websocket stops at 4400–4499 and would knock for ever at any other.
 */
export function closeCodeFor(kind: SocketTarget['kind'], code: number): number {
  return kind === 'yjs' && code >= 4000 && code < 4100 ? code + 400 : code;
}
