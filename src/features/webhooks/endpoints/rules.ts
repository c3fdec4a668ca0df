/** What addresses, headers and secrets of webhooks may be. Pure. */
import type { Random } from '../../../base/clock.ts';
import { AppError, valueAtKey } from '../../../base/errors.ts';
import type { Outgoing } from '../../../kernel/transport/outgoing.ts';

export function noSuchWebhook(webhookId: string): AppError {
  return new AppError('WEBHOOK_NOT_FOUND', { webhookId });
}

/** As it stands in requests. @throws AppError UNPROCESSABLE_ENTITY */
export function checkUrl(text: string, outgoing: Pick<Outgoing, 'objectionTo'>): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === '') throw valueAtKey('url', 'must be an absolute URL');
  const objection = outgoing.objectionTo(url);
  if (objection !== null) throw valueAtKey('url', objection);
  url.hash = '';
  return url.href;
}

type Headers = Readonly<Record<string, string>>;

/** Ours, and those that say how a request travels. */
const RESERVED =
  /^(webhook-.*|content-.*|host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|date|user-agent)$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const HEADER_VALUE = /^[\x20-\x7e]{0,2048}$/;
export const HEADERS_MAX = 50;

/** @throws AppError UNPROCESSABLE_ENTITY naming the header under `key` */
export function checkHeaders(headers: Headers, key: string): Headers {
  for (const [name, value] of Object.entries(headers)) {
    const at = `${key}.${name.slice(0, 100)}`;
    if (!HEADER_NAME.test(name)) throw valueAtKey(at, 'is not the name of a header');
    if (RESERVED.test(name.toLowerCase())) throw valueAtKey(at, 'is a header that the server sets');
    if (!HEADER_VALUE.test(value)) throw valueAtKey(at, 'must be at most 2048 printable ASCII characters');
  }
  return mergedHeaders({}, headers, key);
}

/** Names are the same in whatever case; the later one counts. @throws AppError UNPROCESSABLE_ENTITY when there are too many */
export function mergedHeaders(before: Headers, added: Headers, key: string): Headers {
  const merged = { ...withoutHeaders(before, Object.keys(added)), ...lastOfEach(added) };
  if (Object.keys(merged).length > HEADERS_MAX) throw valueAtKey(key, `may not make more than ${HEADERS_MAX} headers`);
  return merged;
}

export function withoutHeaders(headers: Headers, names: readonly string[]): Headers {
  const gone = new Set(names.map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !gone.has(name.toLowerCase())));
}

function lastOfEach(headers: Headers): Headers {
  const byName = new Map(Object.entries(headers).map((entry) => [entry[0].toLowerCase(), entry]));
  return Object.fromEntries(byName.values());
}

const SECRET_BYTES = 24;

export function newSecret(random: Random): string {
  return `whsec_${Buffer.from(random.bytes(SECRET_BYTES)).toString('base64')}`;
}
