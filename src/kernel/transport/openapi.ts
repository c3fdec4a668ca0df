/** The routes as an OpenAPI 3.1 document. Made from the very schemas that validate, so it cannot say anything else. */
import type { TSchema } from 'typebox';
import type { BodySpec, BoundRoute, ReplySpec } from './route.ts';

export interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, TSchema & { readonly default?: unknown }>>;
  readonly required?: readonly string[];
}

export function openApiOf(routes: readonly BoundRoute[], info: ApiInfo): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const operation = operationOf(route);
    for (const pattern of [route.path, ...(route.aliases ?? [])]) {
      const path = templateOf(pattern);
      const isAlias = pattern !== route.path;
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: isAlias ? { ...operation, deprecated: true } : operation };
    }
  }
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The secret key (sk_…); where users may call, their token.' },
      },
      schemas: { Error: ERROR_SCHEMA },
      responses: {
        Error: {
          description: 'The request was refused.',
          content: { 'application/json': { schema: reference('schemas/Error') } },
        },
      },
    },
  };
}

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error', 'message', 'suggestion', 'docs'],
  properties: {
    error: { type: 'string' },
    message: { type: 'string' },
    suggestion: { type: 'string' },
    docs: { type: 'string' },
  },
};

function operationOf(route: BoundRoute): object {
  const parameters = [...parametersOf(route.params, 'path'), ...parametersOf(route.query, 'query')];
  return {
    summary: route.summary,
    tags: [route.tag],
    security: route.needs === 'none' ? [] : [{ bearer: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && { requestBody: { required: true, content: bodyContentOf(route.body) } }),
    responses: { ...responseOf(route.reply), ...errorsOf(route) },
  };
}

function parametersOf(schema: TSchema | undefined, place: 'path' | 'query'): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || (required.includes(name) && property.default === undefined),
    schema: property,
  }));
}

function bodyContentOf(body: BodySpec): object {
  if (!('kind' in body)) return { 'application/json': { schema: body } };
  return body.kind === 'json' ? { 'application/json': { schema: body.schema } } : { 'application/octet-stream': {} };
}

function responseOf(reply: ReplySpec): object {
  if (!('kind' in reply)) return { 200: { description: 'Done.', content: { 'application/json': { schema: reply } } } };
  if (reply.kind === 'empty') return { [reply.status]: { description: 'Done; without a body.' } };
  return { 200: { description: 'Done.', content: { [reply.contentType]: {} } } };
}

/** The refusals that follow from the route's own data; `default` stands for what its handler adds. */
function errorsOf(route: BoundRoute): object {
  const statuses = [
    ...(route.needs === 'none' ? [] : ['401', '403']),
    ...(route.body === undefined ? [] : ['413', '415']),
    ...(route.params === undefined && route.query === undefined && route.body === undefined ? [] : ['422']),
    'default',
  ];
  return Object.fromEntries(statuses.map((status) => [status, reference('responses/Error')]));
}

/** `/v2/rooms/:roomId` → `/v2/rooms/{roomId}` */
function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

function reference(name: string): object {
  return { $ref: `#/components/${name}` };
}
