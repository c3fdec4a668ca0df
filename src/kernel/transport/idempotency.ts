/**
 * The header Idempotency-Key: what makes a request the same one when it is sent again (reliability 2.e), and what is said of the outcome when
 * nobody knows it.
 *
 * Who remembers the request is another matter: the room that decided it, or `SqlAnswers`.
 */
import { createHash } from 'node:crypto';
import { type AppError, type ErrorCode, valueAtKey } from '../../base/errors.ts';
import type { RequestKey } from '../../base/ids.ts';
import { sha256Base64Url } from '../../base/sha256.ts';
import type { Sql } from '../persistence/sql.ts';
import type { SqlAnswers, StoredAnswer } from '../persistence/sql-answers.ts';
import type { Principal } from './principal.ts';
import type { BoundRoute, Input } from './route.ts';
import type { HttpRequest, HttpResponse } from './server.ts';

const KEY = /^[\x20-\x7e]{1,255}$/;

/** The caller's key. Where a room remembers requests anyway, the id of the request is in its place, so that we may ask the room again ourselves. Else null. */
export function keyOf({ headers }: HttpRequest, { once }: BoundRoute, requestId: string): string | null {
  const given = headers['idempotency-key'];
  if (once === undefined) return null;
  if (given === undefined) return once === 'room' ? requestId : null;
  if (!KEY.test(given)) throw valueAtKey('Idempotency-Key', 'must have 1 to 255 printable ASCII characters');
  return given;
}

interface Asked {
  readonly principal: Principal;
  readonly route: BoundRoute;
  readonly params: unknown;
  readonly query: string;
  readonly body: Uint8Array;
}

/** The same for the same key of the same caller and, as to its digest, for the same request, octet by octet; over whichever path it came. */
export function requestKeyOf(key: string, { principal, route, params, query, body }: Asked): RequestKey {
  const what = JSON.stringify([route.method, route.path, params, query]);
  const id = digestOf(22, measured(scopeOf(principal)) + measured(key));
  const head = `${measured(what)}${body.length} `;
  if (body.length > COPIED_BYTES_MAX)
    return { id, digest: createHash('sha256').update(head).update(body).digest('base64url').slice(0, 16) };
  return { id, digest: digestOf(16, Buffer.concat([Buffer.from(head), body])) };
}

/** A longer body is not copied, only to be in one piece with what comes before it. */
const COPIED_BYTES_MAX = 16 * 1024;

/** Keys of two callers never meet. A user's holds as long as the token it came with. */
function scopeOf(principal: Principal): string {
  return principal.kind === 'user' ? JSON.stringify(principal.token) : principal.kind;
}

/** With its length before it: so two texts after one another cannot pass for two others. */
function measured(text: string): string {
  return `${text.length} ${text}`;
}

function digestOf(length: number, content: string | Uint8Array): string {
  return sha256Base64Url(content).slice(0, length);
}

/** After these the request may have had its effect. */
const IN_DOUBT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['OUTCOME_UNKNOWN', 'DATABASE_UNAVAILABLE', 'INTERNAL_SERVER_ERROR']);

/** What a refusal of a request that changes something says besides the usual; `key` is what to send it again with, if that makes it once. */
export function outcomeOf(
  { code }: AppError,
  key: string | null,
): { readonly outcome?: 'unknown'; readonly idempotencyKey?: string } {
  if (!IN_DOUBT.has(code)) return {};
  return { outcome: 'unknown', ...(key !== null && { idempotencyKey: key }) };
}

type Means = Pick<Input<unknown, unknown, unknown>, 'once' | 'afterCommit'>;
/** Runs the handler and makes its answer. */
type Respond = (means: Means, db?: Sql) => Promise<HttpResponse>;

/** Runs a request in the way of its route, or finds what it was answered before. `request` is null when nobody could know it again. */
export async function runOnce(
  { once: way }: BoundRoute,
  { request, answers, respond }: { request: RequestKey | null; answers: SqlAnswers | undefined; respond: Respond },
): Promise<HttpResponse> {
  const atOnce = async (once: Means['once']): Promise<HttpResponse> => {
    const running: (void | Promise<void>)[] = [];
    const response = await respond({ once, afterCommit: (task) => void running.push(task()) });
    if (running.length > 0) await Promise.all(running);
    return response;
  };
  if (request === null) return atOnce({});
  if (way !== 'transaction' && way !== 'reservation') return atOnce({ request });
  if (answers === undefined) throw new Error('no database was given to keep answers in');
  if (way === 'reservation') return fromStored(await answers.reserved(request, async () => toStored(await atOnce({}))));
  const tasks: (() => void | Promise<void>)[] = [];
  const afterCommit: Means['afterCommit'] = (task) => void tasks.push(task);
  const stored = await answers.inTransaction(request, async (tx) => toStored(await respond({ once: {}, afterCommit }, tx)));
  await Promise.all(tasks.map((task) => task()));
  return fromStored(stored);
}

/** An answer that can be kept: every route whose answers are kept in the database replies with JSON, or with nothing. */
function toStored({ status, headers = {}, body = '' }: HttpResponse): StoredAnswer {
  if (typeof body !== 'string') throw new TypeError('an answer that is no text cannot be kept');
  return { status, headers, body };
}

function fromStored({ status, headers, body }: StoredAnswer): HttpResponse {
  return { status, headers, ...(body !== '' && { body }) };
}
