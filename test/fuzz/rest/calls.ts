/** Requests drawn by dice: the example of an operation, with one thing done to it that strangers do. */
import { accessTokenFor, forgedToken, idTokenFor } from '../../support/e2e/tokens.ts';
import type { Example, World } from '../../support/operations/example.ts';
import { EXAMPLES } from '../../support/operations/examples.ts';
import { bodyOf, type Walked } from '../../support/operations/operation.ts';
import type { Dice } from '../dice.ts';
import { type Change, changed, encodable, hasRaw, hostileEncoded, hostileText, isObject, jsonText } from './hostile.ts';
import type { Request } from './wire.ts';

/** What was done to a request, so that its answer can be judged. */
export interface Call {
  readonly walked: Walked;
  readonly request: Request;
  /** Of the body, the last one. */
  readonly change: Change | null;
  /** Whether it is the only one: then a refusal names its place. */
  readonly isOnly: boolean;
  /** The parameter of the query that was changed. */
  readonly parameter: string | null;
  readonly isPathChanged: boolean;
  /** Of what it is about, by parameter; also of what it is to make. */
  readonly names: Readonly<Record<string, string>>;
}

export async function aCall(dice: Dice, walked: Walked, world: World): Promise<Call> {
  const example = await EXAMPLES[walked.name]!.make(world);
  const what = dice.weighted(oftenOf(walked));
  const first = what === 'body' ? changed(dice, example.json ?? {}) : null;
  const isOnly = first === null || hasRaw(first.value) || dice.chance(0.8);
  const change = isOnly ? first : changed(dice, first.value);
  const { path, isPathChanged } = pathOf(dice, walked, { example, isChanged: what === 'path' });
  const plain = String(new URLSearchParams(example.query));
  const { search, parameter } = what === 'query' ? hostileQuery(dice, walked, example) : { search: plain, parameter: null };
  const body = what === 'text' ? hostileBody(dice, example) : bodyFor(example, change);
  const headers: Record<string, string | string[]> = {};
  if (body !== undefined) headers['content-type'] = example.bytes === undefined ? 'application/json' : 'application/octet-stream';
  if (dice.chance(0.25)) headers['idempotency-key'] = `${walked.name} ${dice.fraction()} ${path.length} ${Date.now()}`;
  const { bearer = world.server.secretKey } = what === 'bearer' ? { bearer: await aStranger(dice, world) } : example;
  if (bearer !== null) headers.authorization = `Bearer ${bearer}`;
  if (what === 'header') Object.assign(headers, dice.pick(HEADERS));
  return {
    walked,
    request: { method: walked.method, path: search === '' ? path : `${path}?${search}`, headers, body },
    ...{ change, isOnly, parameter, isPathChanged },
    names: { ...example.params, ...namesIn(walked, change === null || hasRaw(change.value) ? example.json : change.value) },
  };
}

function oftenOf(walked: Walked) {
  const body = bodyOf(walked);
  const isJson = body?.types.includes('application/json') === true;
  return { body: isJson ? 8 : 0, query: 3, path: 2, header: 1, bearer: 1, text: body === null ? 0 : 1 };
}

function pathOf(dice: Dice, { path }: Walked, { example: { params = {} }, isChanged }: { example: Example; isChanged: boolean }) {
  const names = Object.keys(params);
  const isPathChanged = isChanged && names.length > 0;
  const changing = isPathChanged ? dice.pick(names) : null;
  const other = isPathChanged ? hostileEncoded(dice) : '';
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === changing ? other : encodeURIComponent(params[name]!),
  );
  return { path: filled, isPathChanged };
}

/** What is to be there afterwards. */
function namesIn({ path }: Walked, body: unknown): Record<string, string> {
  const made = isObject(body) ? body : {};
  const id = path === '/v2/rooms' || path === '/v2/groups' ? made.id : made.newRoomId;
  if (typeof id !== 'string' || id.length > 300 || id !== encodable(id)) return {};
  return { [path === '/v2/groups' ? 'groupId' : 'roomId']: id };
}

function bodyFor({ bytes, json }: Example, change: Change | null): string | Uint8Array | undefined {
  if (change !== null) return jsonText(change.value);
  return bytes ?? (json === undefined ? undefined : jsonText(json));
}

const QUERIES = [
  ...[
    'resolved:true',
    "metadata['a']:'b'",
    'metadata["a"]:null',
    "metadata['a']^'b'",
    'metadata["n"]>1e400',
    'metadata["n"]>=-0',
  ],
  ...[
    "roomId^'a'",
    'metadata["a"]:"\\u0000"',
    "metadata['\\ud800']:1",
    'metadata["__proto__"]:"x"',
    'AND',
    ' ',
    "a:'",
    'metadata[',
  ],
  ...['unread:1e999', "kind:'\\", 'visibility:"private" AND', 'metadata["n"]<9007199254740993', 'metadata["n"]:1e308'],
  ...[`metadata['a']:'${'x'.repeat(3_000)}'`, 'resolved:true '.repeat(30), "metadata['%']^'%_\\\\'", 'metadata["n"]:1e-400'],
];

function hostileQuery(dice: Dice, { operation }: Walked, { query = {} }: Example): { search: string; parameter: string | null } {
  const known = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const isKnown = known.length > 0 && dice.chance(0.9);
  const name = isKnown ? dice.pick(known) : encodeURIComponent(encodable(hostileText(dice)).slice(0, 300));
  const isQuery = name === 'query' && dice.chance(0.8);
  const text = isQuery ? encodeURIComponent(dice.pick(QUERIES)) : hostileEncoded(dice);
  const kept = Object.entries(query).filter(([key]) => key !== name || dice.chance(0.2));
  const others = kept.map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  const search = [...others, dice.chance(0.05) ? name : `${name}=${text}`].join(dice.chance(0.05) ? '&&' : '&');
  return { search, parameter: isKnown ? name : null };
}

const HEADERS: readonly Record<string, string | string[]>[] = [
  ...['', 'x'.repeat(255), 'x'.repeat(256), 'é', '\tx'].map((key) => ({ 'idempotency-key': key })),
  { 'idempotency-key': ['a', 'b'] },
  ...['text/plain', 'application/json; charset=utf-16', 'APPLICATION/JSON;CHARSET=UTF-8', ''].map((type) => ({
    'content-type': type,
  })),
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'].map((type) => ({ 'content-type': type })),
  ...['gzip', 'identity'].map((coding) => ({ 'content-encoding': coding })),
  ...['Bearer', 'bearer  x', 'Basic YTpi'].map((authorization) => ({ authorization })),
  { 'x-http-method-override': 'DELETE', accept: 'text/html', 'accept-encoding': 'br;q=0' },
  { range: 'bytes=5-1', 'if-none-match': '*' },
];

function hostileBody(dice: Dice, { json }: Example): string | Uint8Array {
  const text = json === undefined ? '{}' : jsonText(json);
  return dice.pick<string | Uint8Array>([
    ...['', text.slice(0, text.length / 2), text.slice(0, -1), `${text}${text}`, `\ufeff${text}`, ` \n${text}\t`, `[${text}]`],
    ...[text.replaceAll('"', "'"), text.replace(/"([^"]*)"/, '"\\u0000$1"'), text.replace(/"([^"]*)"/, '"$1\\ud800"')],
    ...[text.replace(/:/, ':NaN,'), 'null', '"a"', '-0', `a[b][c]=1&a=2&${'x'.repeat(100)}=%ZZ`],
    Buffer.from(text, 'utf16le'),
    Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xff, 0x7d])]),
  ]);
}

const SCOPES = ['*:read', '*:write', 'storage:read', 'comments:read', 'comments:write', 'comments:none'];
const NOBODIES = ['sk_x', 'pk_x', 'a.b.c', '..', 'x'.repeat(3_000), 'eyJhbGciOiJub25lIn0.e30.', ''];

/** Who else might ask: nobody, a key, a user with rights of chance. */
async function aStranger(dice: Dice, { server }: World): Promise<string | null> {
  const kind = dice.weighted({ nobody: 3, key: 2, user: 3, identified: 1, expired: 1 });
  if (kind === 'nobody') return dice.pick([null, ...NOBODIES]);
  if (kind === 'key') return dice.pick([server.publicKey, server.secretKey]);
  const scopes = [dice.pick(['*:read', '*:write']), dice.pick(SCOPES)];
  if (kind === 'user') return accessTokenFor(server, { userId: dice.pick(['mia', 'u']), permissions: { '*': scopes } });
  return kind === 'identified' ? idTokenFor(server, { userId: 'mia' }) : forgedToken(server, { expiresInSeconds: -5 });
}
