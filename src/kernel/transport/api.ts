/**
 * REST: from a request to the one route it is for, and from what that returns or throws to an answer.
 *
 * The order of checks is fixed: route, method, who is asking, path and query, body syntax, body shape; what exists and what conflicts is
 * the route's own business (supplement 7).
 */

import Type from 'typebox';
import type { Clock, Random } from '../../base/clock.ts';
import { AppError, type ErrorCode, errorBody } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import { OnePerTurn } from '../../base/one-per-turn.ts';
import type { Pieces } from '../../base/pieces.ts';
import { noTracer, type Tracer } from '../../base/trace.ts';
import type { SqlAnswers } from '../persistence/sql-answers.ts';
import { aboutRoutes } from './about.ts';
import { type BodyRules, LARGE_ONES_MAX, makeBodyReader, type ReadBody } from './body.ts';
import { corsHeaders, type Origins, PREFLIGHT_HEADERS } from './cors.ts';
import { keyOf, outcomeOf, requestKeyOf, runOnce } from './idempotency.ts';
import { LongAnswers } from './long-answers.ts';
import type { ApiInfo } from './openapi.ts';
import type { Authenticate, Need, Principal } from './principal.ts';
import { makeParamsReader, makeQueryReader } from './query-string.ts';
import { type BoundRoute, Dressed, type JsonLimits, type ReplySpec, Written } from './route.ts';
import { RouteTable } from './route-table.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from './server.ts';
import { makeCheck } from './validate.ts';

export interface ApiOptions {
  readonly routes: readonly BoundRoute[];
  readonly info: ApiInfo;
  readonly authenticate: Authenticate;
  /** Whether a user or the public key may do what a route needs there. @throws AppError UNAUTHORIZED_ROOM_ACCESS. Without it only the secret key passes. */
  readonly authorize?: (principal: Principal, need: Need, params: Readonly<Record<string, string>>) => void | Promise<void>;
  /** Where answers of routes that write to the database are kept for requests that come again. Without it those take no Idempotency-Key. */
  readonly answers?: SqlAnswers;
  readonly jsonLimits: JsonLimits;
  readonly clock: Pick<Clock, 'soon'>;
  readonly origins: Origins;
  readonly log: Log;
  readonly random: Random;
  readonly tracer?: Tracer;
  /** Whether reads are refused at the moment; never when absent. Routes that need nobody's leave go on: probes ask them. */
  readonly shedsReads?: () => boolean;
  /** Hears the code of every error that is answered. */
  readonly onRefused?: (code: string) => void;
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

/** Never rejects. Every answer carries `X-Request-Id`; of an error on our side it is the id in message and log. */
export function makeApi(options: ApiOptions): HttpHandler {
  const table = new RouteTable<Plan>();
  const rules: BodyRules = {
    limits: options.jsonLimits,
    largeOnes: new OnePerTurn({ clock: options.clock, waitingMax: LARGE_ONES_MAX }),
  };
  const longAnswers = new LongAnswers();
  for (const route of [...options.routes, ...aboutRoutes(options)]) {
    const plan = planOf(route, rules);
    for (const path of [route.path, ...(route.aliases ?? [])]) table.add(route.method, path, plan);
  }
  return async (request) => {
    const exchange: Exchange = { request, requestId: options.random.uuid(), effect: null };
    let response: HttpResponse;
    try {
      response = await answer(exchange, table, options);
      if (request.method === 'GET') response = longAnswers.leaving(response); // what changed something is answered, whatever it takes
    } catch (error) {
      response = refusal(error, exchange, options);
    }
    const { status, body, size, over } = response;
    return { status, headers: headersOf(response, exchange, options.origins), body, size, over };
  };
}

/** Most answers are for anybody, and JSON or nothing: a copy with one value replaced, of a key that is there, takes V8 a tenth of the time of objects put together. */
const BARE_HEADERS = { 'x-request-id': '', ...corsHeaders('*', {}) };
const MOST_HEADERS = { ...BARE_HEADERS, ...JSON_HEADERS };

function headersOf(
  { headers }: HttpResponse,
  { request, requestId }: Exchange,
  origins: Origins,
): Readonly<Record<string, string>> {
  if (headers === JSON_HEADERS && origins === '*') return { ...MOST_HEADERS, 'x-request-id': requestId };
  if (headers === undefined && origins === '*') return { ...BARE_HEADERS, 'x-request-id': requestId };
  return { 'x-request-id': requestId, ...corsHeaders(origins, request.headers), ...headers };
}

interface Exchange {
  readonly request: HttpRequest;
  readonly requestId: string;
  /** Set when it runs and may have an effect; with the key under which that would happen once, if there is one. */
  effect: { readonly key: string | null } | null;
}

/** A route ready to run: its schemas compiled. */
interface Plan {
  readonly route: BoundRoute;
  readonly params: (params: Readonly<Record<string, string>>) => unknown;
  readonly query: (query: string) => unknown;
  readonly body: ReadBody;
}

const NO_QUERY = Type.Object({});

function planOf(route: BoundRoute, rules: BodyRules): Plan {
  const { query = NO_QUERY } = route;
  return {
    route,
    params: route.params === undefined ? () => ({}) : both(makeParamsReader(route.params), makeCheck(route.params, 'The path')),
    query: both(makeQueryReader(query, othersIn(route)), makeCheck(query, 'The query')),
    body: makeBodyReader(route.body, rules),
  };
}

/** A back end that misspells a filter would be given what it did not ask for; clients of other versions may say more than we know. */
function othersIn({ needs }: BoundRoute): 'left out' | 'refused' {
  return needs === 'secret' || needs === 'back end' ? 'refused' : 'left out';
}

function both<Text, Value>(read: (text: Text) => Value, check: (value: unknown) => unknown): (text: Text) => unknown {
  return (text) => check(read(text));
}

async function answer(exchange: Exchange, table: RouteTable<Plan>, options: ApiOptions): Promise<HttpResponse> {
  const { request } = exchange;
  if (request.method === 'OPTIONS') return { status: 204, headers: PREFLIGHT_HEADERS };
  const { entry: plan, params } = table.match(request.method, request.path);
  const { tracer = noTracer } = options;
  if (tracer === noTracer) return routed(exchange, { plan, params }, options);
  const { method, path } = plan.route;
  const facts = { 'http.request.method': method, 'http.route': path, 'atrium.request_id': exchange.requestId };
  return tracer.span(`${method} ${path}`, { facts, parent: request.headers.traceparent ?? '' }, async (span) => {
    if (params.roomId !== undefined) span.note({ 'atrium.room_id': params.roomId });
    const response = await routed(exchange, { plan, params }, options);
    span.note({ 'http.response.status_code': response.status });
    return response;
  });
}

interface Matched {
  readonly plan: Plan;
  readonly params: Readonly<Record<string, string>>;
}

async function routed(exchange: Exchange, { plan, params }: Matched, options: ApiOptions): Promise<HttpResponse> {
  const { request } = exchange;
  const { route } = plan;
  const { needs } = route;
  if (route.method === 'GET' && needs !== 'none' && options.shedsReads?.()) throw new AppError('WORKER_OVERLOADED');
  const principal = await options.authenticate(request, needs);
  if (needs !== 'none' && principal.kind !== 'secret') {
    if (options.authorize === undefined) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { need: needs });
    await options.authorize(principal, needs, params);
  }
  const key = keyOf(request, route, exchange.requestId);
  const pathParams = plan.params(params);
  const query = plan.query(request.query);
  const { value: body, bytes } = await plan.body(request, () => route.mustTake?.(pathParams));
  if (route.once !== undefined) exchange.effect = { key };
  const asked = { principal, route, params: pathParams, query: request.query, body: bytes };
  return runOnce(route, {
    request: key === null ? null : requestKeyOf(key, asked),
    answers: options.answers,
    respond: async ({ once, afterCommit }, db) =>
      responseOf(route.reply, await route.run({ once, afterCommit, params: pathParams, query, body, principal, request }, db)),
  });
}

function responseOf(reply: ReplySpec, outcome: unknown): HttpResponse {
  if (!(outcome instanceof Dressed)) return replyOf(reply, outcome);
  const response = replyOf(reply, outcome.value);
  return { ...response, headers: { ...response.headers, ...outcome.headers } };
}

function replyOf(spec: ReplySpec, value: unknown): HttpResponse {
  if (!('kind' in spec)) {
    const text = value instanceof Written ? value.text : (JSON.stringify(value) as string | undefined);
    if (text === undefined)
      throw new AppError('INTERNAL_SERVER_ERROR', { reason: 'the route promises JSON and returned nothing' });
    return { status: 200, headers: JSON_HEADERS, body: text };
  }
  if (spec.kind === 'empty') return { status: spec.status };
  return {
    status: 200,
    headers: { 'content-type': spec.contentType },
    body: value as Uint8Array | Pieces | AsyncIterable<Uint8Array>,
  };
}

/** Seconds after which a refused request may be tried again. Longest of what makes us refuse: a takeover, a full queue. */
export const RETRY_AFTER_SECONDS = '1';

/** Statuses of those refusals after which the same request may be answered otherwise soon. */
const STATUSES_TO_RETRY: readonly number[] = [409, 429, 503];

/** Refusals whose reason is in our world, and not for the caller. The log says each once in ten seconds (`base/observe.ts`). */
const LOGGED: Readonly<Partial<Record<ErrorCode, string>>> = {
  DATABASE_UNAVAILABLE: 'request found no database',
  BODY_FOUND_NO_PLACE: 'request body found no place on disk',
};

function refusal(
  error: unknown,
  { request, requestId, effect }: Exchange,
  { log, onRefused }: Pick<ApiOptions, 'log' | 'onRefused'>,
): HttpResponse {
  const { method, path } = request;
  if (error instanceof AppError && error.code !== 'INTERNAL_SERVER_ERROR') {
    onRefused?.(error.code);
    const phrase = LOGGED[error.code];
    if (phrase !== undefined) log.warn({ errorId: requestId, method, path, err: error }, phrase);
    return errorResponse(error, effect);
  }
  const { aborted, reason } = request.aborted;
  if (aborted && error === reason) return { status: 400 }; // how its body broke off: the client has left, and with it whoever would read this
  onRefused?.('INTERNAL_SERVER_ERROR');
  log.error({ errorId: requestId, method, path, err: error }, 'request failed');
  return errorResponse(new AppError('INTERNAL_SERVER_ERROR', { errorId: requestId }), effect);
}

function errorResponse(error: AppError, effect: Exchange['effect']): HttpResponse {
  const headers: Record<string, string> = { ...JSON_HEADERS };
  if (error.retry && STATUSES_TO_RETRY.includes(error.status)) headers['retry-after'] = RETRY_AFTER_SECONDS;
  if (error.code === 'METHOD_NOT_ALLOWED') headers.allow = String(error.facts.allow);
  const body = { ...errorBody(error), ...(effect !== null && outcomeOf(error, effect.key)) };
  return { status: error.status, headers, body: JSON.stringify(body) };
}
