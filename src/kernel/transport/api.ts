/**
 * REST: from a request to the one route it is for, and from what that returns or throws to an answer.
 *
 * The order of checks is fixed: route, method, who is asking, path and query, body syntax, body shape; what exists and what conflicts is
 * the route's own business (supplement 7).
 */

import type { Random } from '../../base/clock.ts';
import { AppError, errorBody } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import { makeBodyReader, type ReadBody } from './body.ts';
import { corsHeaders, type Origins, PREFLIGHT_HEADERS } from './cors.ts';
import { type ApiInfo, openApiOf } from './openapi.ts';
import type { Authenticate, Need, Principal } from './principal.ts';
import { makeParamsReader, makeQueryReader } from './query-string.ts';
import { type BoundRoute, bytes, Dressed, type JsonLimits, type ReplySpec } from './route.ts';
import { RouteTable } from './route-table.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from './server.ts';
import { makeCheck } from './validate.ts';

export interface ApiOptions {
  readonly routes: readonly BoundRoute[];
  readonly info: ApiInfo;
  readonly authenticate: Authenticate;
  /** Whether a user or the public key may do what a route needs there. @throws AppError UNAUTHORIZED_ROOM_ACCESS. Without it only the secret key passes. */
  readonly authorize?: (principal: Principal, need: Need, params: Readonly<Record<string, string>>) => void | Promise<void>;
  readonly jsonLimits: JsonLimits;
  readonly origins: Origins;
  readonly log: Log;
  readonly random: Random;
}

/** Never rejects. Every answer carries `X-Request-Id`; of an error on our side it is the id in message and log. */
export function makeApi(options: ApiOptions): HttpHandler {
  const table = new RouteTable<Plan>();
  for (const route of [...options.routes, openApiRoute(options)]) {
    const plan = planOf(route, options.jsonLimits);
    for (const path of [route.path, ...(route.aliases ?? [])]) table.add(route.method, path, plan);
  }
  return async (request) => {
    const requestId = options.random.uuid();
    const { status, headers, ...rest } = await answer(request, table, options).catch((error: unknown) =>
      refusal(error, request, requestId, options.log),
    );
    return {
      status,
      headers: { ...corsHeaders(options.origins, request.headers), 'x-request-id': requestId, ...headers },
      ...rest,
    };
  };
}

/** A route ready to run: its schemas compiled. */
interface Plan {
  readonly route: BoundRoute;
  readonly params: (params: Readonly<Record<string, string>>) => unknown;
  readonly query: (query: string) => unknown;
  readonly body: ReadBody;
}

function planOf(route: BoundRoute, jsonLimits: JsonLimits): Plan {
  return {
    route,
    params: route.params === undefined ? () => ({}) : both(makeParamsReader(route.params), makeCheck(route.params, 'The path')),
    query: route.query === undefined ? () => ({}) : both(makeQueryReader(route.query), makeCheck(route.query, 'The query')),
    body: makeBodyReader(route.body, jsonLimits),
  };
}

function both<Text, Value>(read: (text: Text) => Value, check: (value: unknown) => unknown): (text: Text) => unknown {
  return (text) => check(read(text));
}

async function answer(request: HttpRequest, table: RouteTable<Plan>, options: ApiOptions): Promise<HttpResponse> {
  if (request.method === 'OPTIONS') return { status: 204, headers: PREFLIGHT_HEADERS };
  const { entry: plan, params } = table.match(request.method, request.path);
  const { needs, reply } = plan.route;
  const principal = await options.authenticate(request, needs);
  if (needs !== 'none' && principal.kind !== 'secret') {
    if (options.authorize === undefined) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { need: needs });
    await options.authorize(principal, needs, params);
  }
  const outcome = await plan.route.run({
    params: plan.params(params),
    query: plan.query(request.query),
    body: await plan.body(request),
    principal,
    request,
  });
  if (!(outcome instanceof Dressed)) return replyOf(reply, outcome);
  const response = replyOf(reply, outcome.value);
  return { ...response, headers: { ...response.headers, ...outcome.headers } };
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

function replyOf(spec: ReplySpec, value: unknown): HttpResponse {
  if (!('kind' in spec)) {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined)
      throw new AppError('INTERNAL_SERVER_ERROR', { reason: 'the route promises JSON and returned nothing' });
    return { status: 200, headers: JSON_HEADERS, body: text };
  }
  if (spec.kind === 'empty') return { status: spec.status };
  return { status: 200, headers: { 'content-type': spec.contentType }, body: value as Uint8Array | AsyncIterable<Uint8Array> };
}

/** Seconds after which a refused request may be tried again. Longest of what makes us refuse: a takeover, a full queue. */
const RETRY_AFTER_SECONDS = '1';

function refusal(error: unknown, request: HttpRequest, requestId: string, log: Log): HttpResponse {
  const { method, path } = request;
  if (error instanceof AppError && error.code !== 'INTERNAL_SERVER_ERROR') return errorResponse(error);
  // the client has left, and with it whoever would read this: the error is how its body broke off
  if (request.aborted.aborted) return { status: 400 };
  log.error({ errorId: requestId, method, path, err: error }, 'request failed');
  return errorResponse(new AppError('INTERNAL_SERVER_ERROR', { errorId: requestId }));
}

function errorResponse(error: AppError): HttpResponse {
  const headers: Record<string, string> = { ...JSON_HEADERS };
  if (error.retry && (error.status === 503 || error.status === 429)) headers['retry-after'] = RETRY_AFTER_SECONDS;
  if (error.code === 'METHOD_NOT_ALLOWED') headers.allow = String(error.facts.allow);
  return { status: error.status, headers, body: JSON.stringify(errorBody(error)) };
}

function openApiRoute({ routes, info }: ApiOptions): BoundRoute {
  let document: Uint8Array | null = null; // made when first asked for; the routes do not change
  return {
    method: 'GET',
    path: '/openapi.json',
    needs: 'none',
    summary: 'This API as OpenAPI 3.1',
    tag: 'About',
    reply: bytes('application/json; charset=utf-8'),
    run() {
      document ??= Buffer.from(JSON.stringify(openApiOf(routes, info)));
      return document;
    },
  };
}
