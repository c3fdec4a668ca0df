import Type from 'typebox';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../../src/base/error-table.ts';
import { openApiOf } from '../../../src/kernel/transport/openapi.ts';
import type { Need } from '../../../src/kernel/transport/principal.ts';
import { referencePageOf } from '../../../src/kernel/transport/reference.ts';
import { type BoundRoute, bytes, empty, json } from '../../../src/kernel/transport/route.ts';

const facts = {
  needs: 'secret',
  tag: 'Things',
  summary: 'Do <b>things</b> & "more"',
  reply: empty(204),
  run: () => undefined,
} as const;
const Name = Type.String({ description: 'As the <script>alert(1)</script> says.', 'x-limits': { minLength: 1, maxLength: 40 } });
const routes: BoundRoute[] = [
  {
    ...facts,
    method: 'POST',
    path: '/v2/rooms/:roomId/things',
    aliases: ['/v1/room/:roomId/things'],
    params: Type.Object({ roomId: Type.String() }),
    query: Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }), after: Type.Optional(Type.String()) }),
    body: Type.Object(
      { name: Name, default: Type.Optional(Name), map: Type.Record(Type.String(), Name, { 'x-limits': { maxProperties: 50 } }) },
      { additionalProperties: false },
    ),
    reply: Type.Object({ id: Type.String() }),
    refuses: ['ROOM_NOT_FOUND', 'ROOM_ALREADY_EXISTS'],
  },
  { ...facts, method: 'PUT', path: '/v2/bytes', body: bytes({ bytesMax: 10 }), reply: bytes('application/x-ndjson') },
  { ...facts, method: 'POST', path: '/v2/any', body: json(Type.Unknown(), { bytesMax: 20 }), deprecated: true },
];
const documentOf = (all: readonly BoundRoute[]) =>
  openApiOf(all, { title: 'T', version: '1', description: 'D', bodyBytesMax: 99 });
const { paths } = documentOf(routes);
const operation = (path: string, method: string) => paths[path]![method]!;

describe('the OpenAPI document', () => {
  test('[OD1] shows limits of rules as keywords, records by additionalProperties, and properties of any name', () => {
    const { schema } = operation('/v2/rooms/{roomId}/things', 'post').requestBody!.content['application/json']!;
    const name = { type: 'string', description: expect.any(String), minLength: 1, maxLength: 40 };
    expect(schema).toEqual({
      type: 'object',
      required: ['name', 'map'],
      properties: { name, default: name, map: { type: 'object', additionalProperties: name, maxProperties: 50 } },
      additionalProperties: false,
    });
  });

  test('[OD2] says how bodies may travel and how large they may be', () => {
    const contentOf = (path: string, method: string) => {
      const { content } = operation(path, method).requestBody!;
      return Object.entries(content).map(([type, media]) => [type, media['x-bytes-max']]);
    };
    expect(contentOf('/v2/rooms/{roomId}/things', 'post')).toEqual([
      ['application/json', 99],
      ['application/x-www-form-urlencoded', 99],
    ]);
    expect(contentOf('/v2/bytes', 'put')).toEqual([['application/octet-stream', 10]]);
    expect(contentOf('/v2/any', 'post')).toEqual([['application/json', 20]]);
    expect(operation('/v2/any', 'post').requestBody!.required).toBe(true);
  });

  test('[OD3] names the codes of each refusal by status: those of keys, of the form, and those the route names', () => {
    const { responses } = operation('/v2/rooms/{roomId}/things', 'post');
    expect(Object.entries(responses).map(([status, { description }]) => `${status} ${description}`)).toEqual([
      '200 Done.',
      '401 MISSING_SECRET_KEY, WRONG_KEY_USED',
      '403 INVALID_SECRET_KEY',
      '404 ROOM_NOT_FOUND',
      '409 ROOM_ALREADY_EXISTS',
      '413 PAYLOAD_TOO_LARGE',
      '415 UNSUPPORTED_MEDIA_TYPE',
      '422 UNPROCESSABLE_ENTITY',
      'default What may befall any request.',
    ]);
  });

  test('[AE27] says of each operation that it may be a 422, for any may be asked with a query that is none', () => {
    const only = documentOf([{ ...facts, needs: 'none', method: 'GET', path: '/v2/x' }]);
    expect(only.paths['/v2/x']!.get!.responses[422]!.description).toBe('UNPROCESSABLE_ENTITY');
  });

  test.each<[need: Need, security: object[]]>([
    ['none', []],
    ['secret', [{ secretKey: [] }]],
    ['back end', [{ backEndToken: [] }, { secretKey: [] }]],
    ['room:read', [{ token: ['room:read'] }, { secretKey: [] }]],
  ])('[OD4] a route that needs %s says so', (needs, security) => {
    const only = documentOf([{ ...facts, needs, method: 'GET', path: '/v2/x' }]);
    expect(only.paths['/v2/x']!.get!.security).toEqual(security);
  });

  test('[OD4] an operation has an id of its own; older paths and deprecated routes are marked', () => {
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId, deprecated }) => [operationId, deprecated]),
    );
    expect(ids).toEqual([
      ['post-v2-rooms-roomId-things', undefined],
      ['post-v1-room-roomId-things', true],
      ['put-v2-bytes', undefined],
      ['post-v2-any', true],
    ]);
  });
});

describe('the reference page', () => {
  const page = referencePageOf(documentOf(routes));

  test('[OD5] shows every operation, with its parameters, body, limits and answers', () => {
    for (const shown of [
      '<section id="post-v2-rooms-roomId-things">',
      '<code>POST /v2/rooms/{roomId}/things</code>',
      'Needs the secret key.',
      '<tr><td><code>limit</code></td><td>query, optional</td><td>integer</td><td>1 to 100, default 20</td></tr>',
      '<tr><td><code>map</code></td><td></td><td>object</td><td>at most 50 entries, values: string</td></tr>',
      '<tr><td><code>map.*</code></td><td></td><td>string</td><td>1 to 40 characters. As the &lt;script&gt;',
      '<a href="#ROOM_NOT_FOUND"><code>ROOM_NOT_FOUND</code></a>',
      '<tr><td><code>id</code></td><td></td><td>string</td><td></td></tr>',
      'application/octet-stream</code>, at most 10 bytes',
    ])
      expect(page).toContain(shown);
    for (const anchor of page.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${anchor[1]}"`);
  });

  test('[OD6] lists every error code with its status and what to do', () => {
    for (const [code, { status, suggestion }] of Object.entries(ERRORS)) {
      expect(page).toContain(`<a id="${code}"><code>${code}</code></a></td><td>${status}</td>`);
      expect(page).toContain(
        suggestion.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
      );
    }
  });

  test('[OD7] loads nothing and runs nothing; text is text', () => {
    expect(page).not.toMatch(/<script|<img|<link|src=|url\(|@import|https?:/);
    expect(page).toContain('Do &lt;b&gt;things&lt;/b&gt; &amp; &quot;more&quot;');
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });
});
