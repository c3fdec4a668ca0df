import Type from 'typebox';
import { expect, expectTypeOf, test } from 'vitest';
import type { Principal } from '../../../src/kernel/transport/principal.ts';
import { bindRoute, bytes, empty, json, routeFor, stream, withHeaders } from '../../../src/kernel/transport/route.ts';
import type { HttpRequest } from '../../../src/kernel/transport/server.ts';

const route = routeFor<{ db: string }>();
const facts = { method: 'POST', path: '/v2/things/:id', needs: 'secret', tag: 'Things', summary: 'Make a thing' } as const;

test('[RT30] a handler is typed by the schemas beside it (the compiler is the test)', () => {
  route({
    ...facts,
    params: Type.Object({ id: Type.String() }),
    query: Type.Object({ limit: Type.Integer({ default: 1 }), flag: Type.Optional(Type.Boolean()) }),
    body: Type.Object({ name: Type.String() }),
    reply: Type.Object({ ok: Type.Boolean() }),
    handle({ params, query, body, principal, request }, deps) {
      expectTypeOf(params).toEqualTypeOf<{ id: string }>();
      expectTypeOf(query).toEqualTypeOf<{ limit: number; flag?: boolean }>();
      expectTypeOf(body).toEqualTypeOf<{ name: string }>();
      expectTypeOf(principal).toEqualTypeOf<Principal>();
      expectTypeOf(request).toEqualTypeOf<HttpRequest>();
      expectTypeOf(deps).toEqualTypeOf<{ db: string }>();
      return { ok: true };
    },
  });
  route({
    ...facts,
    body: bytes({ bytesMax: 1 }),
    reply: empty(204),
    handle: ({ body }) => void expectTypeOf(body).toEqualTypeOf<Uint8Array>(),
  });
  route({
    ...facts,
    body: stream({ bytesMax: 20 }),
    reply: empty(204),
    handle: ({ body }) => void expectTypeOf(body).toEqualTypeOf<AsyncIterable<Uint8Array>>(),
  });
  route({
    ...facts,
    body: json(Type.String(), {}),
    reply: empty(204),
    handle: ({ body }) => void expectTypeOf(body).toEqualTypeOf<string>(),
  });
  route({ ...facts, reply: empty(204), handle: ({ body }) => void expectTypeOf(body).toEqualTypeOf<undefined>() });
  // @ts-expect-error: the reply is not what the schema says
  route({ ...facts, reply: Type.Object({ ok: Type.Boolean() }), handle: () => ({ ok: 'yes' }) });
});

test('[RT30] a bound route hands its dependencies to the handler', () => {
  const bound = bindRoute(route({ ...facts, reply: Type.String(), handle: (_, { db }) => withHeaders(db, { 'x-a': '1' }) }), {
    db: 'here',
  });
  const means = { request: {} as HttpRequest, once: {}, afterCommit: () => undefined };
  expect(bound.run({ params: {}, query: {}, body: undefined, principal: { kind: 'none' }, ...means })).toEqual({
    value: 'here',
    headers: { 'x-a': '1' },
  });
});
