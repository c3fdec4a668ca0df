/**
 * The routes as an OpenAPI 3.1 document. Made from the very schemas that validate; a limit that a route's own rules keep stands beside its
 * schema as `x-limits` and is shown as if it were part of it. `test/e2e/operations.test.ts` asks a server whether all of it is true.
 */
import type { TSchema } from 'typebox';
import { ERRORS } from '../../base/error-table.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { takesForm } from './form-body.ts';
import type { Need } from './principal.ts';
import type { BodySpec, BoundRoute, ReplySpec } from './route.ts';

export interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  /** For bodies that set none of their own. */
  readonly bodyBytesMax?: number;
}

export type Schema = Readonly<Record<string, unknown>>;
type Content = Readonly<Record<string, { readonly schema?: Schema; readonly 'x-bytes-max'?: number }>>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly deprecated?: true;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>;
}

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: Pick<ApiInfo, 'title' | 'version' | 'description'>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

export function openApiOf(routes: readonly BoundRoute[], { bodyBytesMax, ...info }: ApiInfo): OpenApi {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    for (const pattern of [route.path, ...(route.aliases ?? [])]) {
      const path = templateOf(pattern);
      const operation = operationOf(route, path, bodyBytesMax);
      const shown: Operation = pattern === route.path ? operation : { ...operation, deprecated: true };
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: shown };
    }
  }
  return { openapi: '3.1.0', info, paths, components: COMPONENTS };
}

/** What a request shows to be let in; each alternative of `SECURITY` names one. */
const SECURITY_SCHEMES = {
  secretKey: { type: 'http', scheme: 'bearer', description: 'The secret key, `sk_…`. It may do everything.' },
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token or ID token of a user, or the public key. Named beside it is the right that it must give.',
  },
  backEndToken: { type: 'http', scheme: 'bearer', description: 'The JWT of `/api/authorize`.' },
} as const;

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error', 'message', 'suggestion', 'docs'],
  properties: {
    error: { type: 'string', enum: Object.keys(ERRORS) },
    message: { type: 'string' },
    suggestion: { type: 'string' },
    docs: { type: 'string', description: 'May be empty.' },
    outcome: { const: 'unknown', description: 'Present when the request may have had its effect.' },
    idempotencyKey: {
      type: 'string',
      description: 'Beside it: sent again with this Idempotency-Key, the request has its effect once.',
    },
  },
  additionalProperties: false,
};

const COMPONENTS = { securitySchemes: SECURITY_SCHEMES, schemas: { Error: ERROR_SCHEMA } };

function operationOf(route: BoundRoute, path: string, bodyBytesMax: number | undefined): Operation {
  const parameters = [...parametersOf(route.params, 'path'), ...parametersOf(route.query, 'query'), ...headersOf(route)];
  return {
    operationId: idOf(route.method, path),
    summary: route.summary,
    tags: [route.tag],
    ...(route.deprecated && { deprecated: true }),
    security: securityOf(route.needs),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && {
      requestBody: { required: !('default' in route.body), content: bodyContentOf(route.body, bodyBytesMax) },
    }),
    responses: { ...responseOf(route.reply), ...refusalsOf(route) },
  };
}

/** `POST`, `/v2/rooms/{roomId}` → `post-v2-rooms-roomId` */
function idOf(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replaceAll(/[^\w-]+/g, '-').replace(/-$/, '')}`;
}

function securityOf(need: Need): Operation['security'] {
  switch (need) {
    case 'none':
      return [];
    case 'secret':
      return [{ secretKey: [] }];
    case 'back end':
      return [{ backEndToken: [] }, { secretKey: [] }];
    default:
      return [{ token: [need] }, { secretKey: [] }];
  }
}

function parametersOf(schema: TSchema | undefined, place: 'path' | 'query'): Parameter[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema & { default?: unknown }>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || (required.includes(name) && property.default === undefined),
    schema: shown(property) as Schema,
  }));
}

function headersOf({ once }: BoundRoute): Parameter[] {
  return once === undefined ? [] : [IDEMPOTENCY_KEY];
}

const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    description:
      'A key of your choice, new for every request. The same request sent again with it within 24 hours has its effect once and gets its first answer.',
  },
};

function bodyContentOf(body: BodySpec, bodyBytesMax: number | undefined): Content {
  if ('kind' in body && body.kind !== 'json') return { 'application/octet-stream': { 'x-bytes-max': body.bytesMax } };
  const [schema, bytesMax] = 'kind' in body ? [body.schema, body.limits.bytesMax ?? bodyBytesMax] : [body, bodyBytesMax];
  const media = { schema: shown(schema) as Schema, ...(bytesMax !== undefined && { 'x-bytes-max': bytesMax }) };
  return { 'application/json': media, ...(takesForm(schema) && { 'application/x-www-form-urlencoded': media }) };
}

function responseOf(reply: ReplySpec): Operation['responses'] {
  if (!('kind' in reply))
    return { 200: { description: 'Done.', content: { 'application/json': { schema: shown(reply) as Schema } } } };
  if (reply.kind === 'empty') return { [reply.status]: { description: 'Done; without a body.' } };
  return { 200: { description: 'Done.', content: { [reply.contentType]: {} } } };
}

/** Those that follow from the route's own data, those it names, and `default` for what may befall any request. */
function refusalsOf({ needs, body, once, refuses = [] }: BoundRoute): Operation['responses'] {
  const codes: ErrorCode[] = [...CODES_OF_NEED[kindOf(needs)], 'UNPROCESSABLE_ENTITY']; // a query may be no percent-encoding
  if (body !== undefined) codes.push('PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE');
  if (once !== undefined) codes.push('IDEMPOTENCY_KEY_REUSED');
  if (once === 'transaction' || once === 'reservation') codes.push('IDEMPOTENCY_KEY_IN_USE');
  const byStatus: Record<string, ErrorCode[]> = {};
  for (const code of new Set([...codes, ...refuses])) {
    byStatus[ERRORS[code].status] = [...(byStatus[ERRORS[code].status] ?? []), code];
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  return {
    ...Object.fromEntries(
      Object.entries(byStatus).map(([status, named]) => [status, { description: named.join(', '), content }]),
    ),
    default: { description: 'What may befall any request.', content },
  };
}

const CODES_OF_NEED: Readonly<Record<'none' | 'secret' | 'back end' | 'right', readonly ErrorCode[]>> = {
  none: [],
  secret: ['MISSING_SECRET_KEY', 'WRONG_KEY_USED', 'INVALID_SECRET_KEY'],
  'back end': ['MISSING_SECRET_KEY', 'WRONG_KEY_USED', 'INVALID_TOKEN', 'TOKEN_EXPIRED', 'INVALID_SECRET_KEY'],
  right: [
    'MISSING_TOKEN',
    'INVALID_TOKEN',
    'TOKEN_EXPIRED',
    'INVALID_SECRET_KEY',
    'INVALID_PUBLIC_KEY',
    'UNAUTHORIZED_ROOM_ACCESS',
  ],
};

function kindOf(need: Need): keyof typeof CODES_OF_NEED {
  return need === 'none' || need === 'secret' || need === 'back end' ? need : 'right';
}

/** A schema as readers know it: limits in place, and a record by `additionalProperties` rather than by a pattern for all names. */
function shown(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(shown);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { 'x-limits': limits, patternProperties, ...rest } = schema as Record<string, unknown>;
  const { '^.*$': values, ...patterns } = (patternProperties ?? {}) as Record<string, unknown>;
  const all = {
    ...rest,
    ...(values !== undefined && { additionalProperties: values }),
    ...(Object.keys(patterns).length > 0 && { patternProperties: patterns }),
    ...(limits as object | undefined),
  };
  return Object.fromEntries(Object.entries(all).map(([keyword, value]) => [keyword, shownKeyword(keyword, value)]));
}

function shownKeyword(keyword: string, value: unknown): unknown {
  if (keyword === 'default' || keyword === 'enum' || keyword === 'const') return value;
  if (keyword !== 'properties' && keyword !== 'patternProperties') return shown(value);
  return Object.fromEntries(Object.entries(value as object).map(([name, property]) => [name, shown(property)]));
}

/** `/v2/rooms/:roomId` → `/v2/rooms/{roomId}` */
function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}
