/** What every answer keeps to, whatever was asked. Pure. */
import { bodyOf } from '../../support/operations/operation.ts';
import type { Call } from './calls.ts';
import { at, isObject, jsonText, type Place } from './hostile.ts';
import { type Looks, shows } from './looks.ts';
import type { Reply } from './wire.ts';

export function faultsOf({ walked: { operation }, isPathChanged, ...call }: Call, { status, headers, text }: Reply): string[] {
  if (status === 431) return []; // of uWebSockets.js itself: no one of ours has read it
  if (status >= 500) return ['it is a failure of ours'];
  const documented = operation.responses[String(status)];
  if (status < 400) return documented === undefined ? [`${status} is not documented`] : [];
  const refusal = refusalIn(text);
  if (refusal === null || headers['content-type'] !== 'application/json; charset=utf-8')
    return ['it has not the form of a refusal'];
  const isElsewhere = isPathChanged && (refusal.error === 'NOT_FOUND' || refusal.error === 'METHOD_NOT_ALLOWED');
  const isDocumented = documented?.description?.split(', ').includes(refusal.error) === true;
  return [
    ...(isDocumented || isElsewhere ? [] : [`${status} ${refusal.error} is not documented`]),
    ...(refusal.error === 'UNPROCESSABLE_ENTITY' && !isNamedBy(refusal.message, call)
      ? ['it does not name what was changed']
      : []),
  ];
}

function isNamedBy(message: string, { change, isOnly, parameter }: Pick<Call, 'change' | 'isOnly' | 'parameter'>): boolean {
  if (parameter !== null) return message.includes(`'${parameter}'`) || message.includes("'query'");
  if (change === null || !isOnly || /^The body|^Missing key/.test(message)) return true;
  return message.includes("'") && (change.place.length === 0 || change.place.some((key) => message.includes(key.slice(0, 60))));
}

function refusalIn(text: string): { readonly error: string; readonly message: string } | null {
  try {
    const { error, message, suggestion, docs, ...others } = JSON.parse(text);
    const hasAll =
      [error, message, suggestion, docs].every((part) => typeof part === 'string') && message !== '' && suggestion !== '';
    return hasAll && Object.keys(others).length === 0 ? { error, message } : null;
  } catch {
    return null;
  }
}

/** What says nothing that is kept under its name, or nothing that a back end may read; older news of a feed are passed by. */
const UNREAD =
  /^PATCH .*feeds|broadcast|disconnect|read$|find$|presigned|send-message|-mutation|json-patch|test$|complete$|recover|-headers$|members$|unsubscribe|mark-as|remove-|trigger|text-m/;
const UNREAD_KEYS: ReadonlySet<string> = new Set(['publicApiKey', 'memberIds', 'comment', 'updatedAt', 'removedAt', 'url']);
/** Other names under which a thing is shown; short ones are claims of tokens. */
const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ['userId', ['id', 'uid']],
  ['userInfo', ['info', 'ui']],
  ['groupIds', ['gids']],
  ['permissions', ['perms']],
  ['organizationId', ['oid']],
  ['newRoomId', ['id']],
  ['toOrganizationId', ['organizationId']],
]);

/** What was taken and is shown nowhere, neither by the answer nor by any look. */
export function unshown({ walked, change }: Call, { text }: Reply, after: Looks): string[] {
  if (change === null || UNREAD.test(walked.name)) return [];
  const whole = parsed(jsonText(change.value));
  const place = withoutIndexes(change.place);
  const key = place.at(-1);
  const taken = asKept(at(whole, place));
  if (key === undefined || taken === null || !isRead(walked, place)) return [];
  const shown = [after, parsed(text), claimsIn(text)];
  const isShown = [key, ...(ALIASES.get(key) ?? [])].some((name) => shows(shown, name, taken));
  return isShown ? [] : [`taken, but shown nowhere: ${place.join('.')} = ${JSON.stringify(taken).slice(0, 200)}`];
}

/** Not what is left out as unknown, who changed something, or what an upsert would have created. */
function isRead(walked: Call['walked'], place: Place): boolean {
  const properties = bodyOf(walked)?.schema?.properties as object | undefined;
  const isUnknown = properties !== undefined && !Object.hasOwn(properties, place[0]!);
  const isActor = place.at(-1) === 'userId' && /metadata$|subscribe$/.test(walked.name);
  return !isUnknown && !isActor && place[0] !== 'create' && !UNREAD_KEYS.has(place.at(-1)!);
}

/** -0 is 0, and null takes a member away. */
function asKept(value: unknown): unknown {
  const kept = parsed(JSON.stringify(value) ?? 'null');
  return isObject(kept) ? Object.fromEntries(Object.entries(kept).filter(([, part]) => part !== null)) : kept;
}

function withoutIndexes(place: Place): Place {
  const end = place.findLastIndex((key) => !/^\d+$/.test(key));
  return place.slice(0, end + 1);
}

function claimsIn(text: string): unknown {
  const { token } = (parsed(text) ?? {}) as { token?: string };
  return token === undefined ? null : parsed(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
