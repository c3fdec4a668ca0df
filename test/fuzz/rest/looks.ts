/** What a server shows of the things that a request names, by all routes that show them. */
import { isDeepStrictEqual } from 'node:util';
import type { TestServer } from '../../support/e2e/server.ts';
import { isObject } from './hostile.ts';
import { exchange } from './wire.ts';

export type Looks = Readonly<Record<string, { readonly status: number; readonly shown: unknown }>>;

/** By parameter: what to ask. */
const OF: Readonly<Record<string, readonly string[]>> = {
  roomId: [
    '/v2/rooms/{roomId}',
    '/v2/rooms/{roomId}/storage',
    '/v2/rooms/{roomId}/ydoc',
    '/v2/rooms/{roomId}/versions?limit=100',
    '/v2/rooms/{roomId}/threads',
    '/v2/c/rooms/{roomId}/threads',
    '/v2/rooms/{roomId}/schema',
    '/v2/rooms/{roomId}/active-users',
    '/v2/console/rooms/{roomId}/connections',
  ],
  threadId: [
    '/v2/rooms/{roomId}/threads/{threadId}',
    '/v2/rooms/{roomId}/threads/{threadId}/participants',
    '/v2/rooms/{roomId}/threads/{threadId}/subscriptions',
  ],
  commentId: ['/v2/rooms/{roomId}/threads/{threadId}/comments/{commentId}'],
  fileId: ['/v2/rooms/{roomId}/storage/files/{fileId}'],
  attachmentId: ['/v2/rooms/{roomId}/attachments/{attachmentId}'],
  userId: [
    '/v2/users/{userId}/notification-settings',
    '/v2/users/{userId}/groups',
    '/v2/users/{userId}/room-subscription-settings',
  ],
  groupId: ['/v2/groups/{groupId}'],
  schemaId: ['/v2/schemas/{schemaId}'],
  webhookId: [
    '/v2/management/projects/any/webhooks/{webhookId}',
    '/v2/management/projects/any/webhooks/{webhookId}/additional-headers',
    '/v2/management/projects/any/webhooks',
  ],
};

/** Addresses that expire, and with them what signs them. */
const PASSING = /"(url|expiresAt|lastConnectionAt|requestedAt)":"[^"]*",?/g;

export async function looksAt(server: TestServer, names: Readonly<Record<string, string>>): Promise<Looks> {
  const templates = Object.keys(names).flatMap((name) => OF[name] ?? []);
  if ('roomId' in names && 'userId' in names) templates.push('/v2/rooms/{roomId}/users/{userId}/subscription-settings');
  const seen = await Promise.all(
    templates.map(async (template) => {
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? 'none'));
      const { status, text } = await exchange(server.url, {
        method: 'GET',
        path,
        headers: { authorization: `Bearer ${server.secretKey}` },
      });
      const isHook = template.includes('webhooks');
      return [template, { status, shown: read(isHook ? text : text.replaceAll(PASSING, '')) }] as const;
    }),
  );
  return Object.fromEntries(seen);
}

function read(text: string): unknown {
  try {
    return JSON.parse(text.replaceAll(/,\}/g, '}'));
  } catch {
    return text;
  }
}

/** Where the two differ, in words; null when they do not. */
export function differenceOf(before: Looks, after: Looks): string | null {
  const name = Object.keys(after).find((key) => !isDeepStrictEqual(before[key], after[key]));
  return name === undefined ? null : `${name}: ${whereDiffer(before[name], after[name])}`;
}

/** Things that two routes show differently. */
export function contradictionIn(looks: Looks): string | null {
  const seen = new Map<string, unknown>();
  const full = Object.fromEntries(Object.entries(looks).filter(([path]) => !path.startsWith('/v2/c/')));
  for (const thing of thingsIn(full)) {
    const id = `${thing.type} ${thing.id}`;
    if (!seen.has(id)) seen.set(id, thing);
    else if (!isDeepStrictEqual(seen.get(id), thing)) return `${id} is shown with ${whereDiffer(seen.get(id), thing)}`;
  }
  return null;
}

function thingsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(thingsIn);
  return isObject(value) && typeof value.type === 'string' && typeof value.id === 'string' && value.type !== 'mention'
    ? [value, ...inner]
    : inner;
}

/** Whether some object in what is shown has this key with this value. */
export function shows(looks: unknown, key: string, value: unknown): boolean {
  if (typeof looks !== 'object' || looks === null) return false;
  if (Object.hasOwn(looks, key) && isSame((looks as Record<string, unknown>)[key], value)) return true;
  return Object.values(looks).some((inner) => shows(inner, key, value));
}

function isSame(one: unknown, other: unknown): boolean {
  if (isDeepStrictEqual(one, other)) return true;
  if (typeof one === 'string' && typeof other === 'string') return Date.parse(one) === Date.parse(other);
  return false;
}

const cut = (value: unknown): string => JSON.stringify(value)?.slice(0, 300) ?? 'nothing';

/** The first place where two values differ, and what is there. */
function whereDiffer(one: unknown, other: unknown): string {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return `${cut(one)} → ${cut(other)}`;
  const key = [...new Set([...Object.keys(one), ...Object.keys(other)])].find(
    (name) => !isDeepStrictEqual((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
  );
  return key === undefined
    ? 'another order'
    : `${key}.${whereDiffer((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key])}`;
}
