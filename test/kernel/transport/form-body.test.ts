import Type from 'typebox';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { OnePerTurn } from '../../../src/base/one-per-turn.ts';
import { makeBodyReader } from '../../../src/kernel/transport/body.ts';
import type { HttpRequest } from '../../../src/kernel/transport/server.ts';

const FORM = 'application/x-www-form-urlencoded';
const LIMITS = { bytesMax: 2_000, depthMax: 4, keysMax: 12 };
const Scopes = Type.Array(Type.String());
const Body = Type.Object(
  {
    id: Type.String(),
    defaultAccesses: Type.Optional(Scopes),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]))),
    usersAccesses: Type.Optional(Type.Record(Type.String(), Type.Union([Scopes, Type.Null()]))),
    ttl: Type.Optional(Type.Integer({ minimum: 2 })),
    share: Type.Optional(Type.Number()),
    open: Type.Optional(Type.Boolean()),
    engine: Type.Optional(Type.Union([Type.Literal(1), Type.Literal(2)])),
    update: Type.Optional(Type.Object({ note: Type.Optional(Type.String()) }, { additionalProperties: false })),
  },
  { additionalProperties: false },
);

async function read(
  body: string | Uint8Array,
  contentType = FORM,
  schema: Parameters<typeof makeBodyReader>[0] = Body,
): Promise<unknown> {
  const request = { headers: { 'content-type': contentType }, body: async () => Buffer.from(body) } as unknown as HttpRequest;
  try {
    const read = makeBodyReader(schema, { limits: LIMITS, largeOnes: new OnePerTurn({ clock: systemClock, waitingMax: 1 }) });
    return (await read(request, () => undefined)).value;
  } catch (error) {
    if (error instanceof AppError) return `${error.status} ${error.message}`;
    throw error;
  }
}

test.each<[form: string, value: object]>([
  ['id=a', { id: 'a' }],
  ['id=a+b%20%C3%BC%26', { id: 'a b ü&' }],
  ['id=7', { id: '7' }],
  ['id=', { id: '' }],
  ['id=a&ttl=60&share=0.5&open=true', { id: 'a', ttl: 60, share: 0.5, open: true }],
  ['id=a&open=false&engine=2', { id: 'a', open: false, engine: 2 }],
  ['id=a&defaultAccesses[]=*:read&defaultAccesses[]=comments:write', { id: 'a', defaultAccesses: ['*:read', 'comments:write'] }],
  ['id=a&defaultAccesses[0]=*:read&defaultAccesses[1]=x', { id: 'a', defaultAccesses: ['*:read', 'x'] }],
  ['id=a&defaultAccesses%5B%5D=*:read', { id: 'a', defaultAccesses: ['*:read'] }],
  ['id=a&defaultAccesses=', { id: 'a', defaultAccesses: [] }],
  ['id=a&defaultAccesses[]=', { id: 'a', defaultAccesses: [] }],
  [
    'id=a&metadata[stage]=draft&metadata[tags][]=x&metadata[tags][]=y',
    { id: 'a', metadata: { stage: 'draft', tags: ['x', 'y'] } },
  ],
  ['id=a&metadata[n]=3', { id: 'a', metadata: { n: '3' } }],
  ['id=a&usersAccesses[mia][]=*:write&usersAccesses[bo][]=', { id: 'a', usersAccesses: { mia: ['*:write'], bo: [] } }],
  ['id=a&update[note]=n', { id: 'a', update: { note: 'n' } }],
])('[FB1] %s is read as the schema says', async (form, value) => {
  expect(await read(form)).toEqual(value);
  expect(await read(form, `${FORM}; charset=UTF-8`)).toEqual(value);
});

test.each([
  ['', "422 Missing key 'id'."],
  ['defaultAccesses[]=x', "422 Missing key 'id'."],
  ['id=a&colour=red', "422 Value at key 'colour' is not known here."],
  ['id=a&ttl=1', "422 Value at key 'ttl' must be at least 2."],
  ['id=a&ttl=soon', "422 Value at key 'ttl' must be an integer."],
  ['id=a&open=yes', "422 Value at key 'open' must be true or false."],
  ['id=a&engine=3', "422 Value at key 'engine' must be 1 or 2."],
  ['id=a&defaultAccesses=*:read', "422 Value at key 'defaultAccesses' must be an array."],
  ['id[x]=a', "422 Value at key 'id' must be a string."],
  ['id=a&id=b', "422 Value at key 'id' is given more than once."],
  ['id=a&metadata[k]=1&metadata[k]=2', "422 Value at key 'metadata[k]' is given more than once."],
  ['id=a&metadata[k]=1&metadata[k][x]=2', "422 Value at key 'metadata[k][x]' is given more than once."],
  ['id=a&metadata[k=1', "422 Value at key 'metadata[k' is not a field name: name, name[key] or name[]."],
  ['id=a&[x]=1', "422 Value at key '[x]' is not a field name: name, name[key] or name[]."],
  ['id=a&metadata[__proto__]=1', "422 Value at key 'metadata[__proto__]' may not have this name."],
  ['id=a&constructor=1', "422 Value at key 'constructor' may not have this name."],
  ['id=%', '422 The body is no valid percent-encoding.'],
  ['id=%ff', '422 The body is no valid percent-encoding.'],
  ['id=ü', '422 The body is no valid percent-encoding.'],
  ['id=a&metadata[a][b][c][d]=1', '422 The body has too many keys, or nests them too deep.'],
  [`id=a&${'metadata[a]=1&'.repeat(6)}`, "422 Value at key 'metadata[a]' is given more than once."],
  [
    `id=a&${Array.from({ length: 6 }, (_, n) => `metadata[a${n}]=1`).join('&')}`,
    '422 The body has too many keys, or nests them too deep.',
  ],
])('[FB2] %s is refused: %s', async (form, refusal) => {
  expect(await read(form)).toBe(refusal);
});

test('[CB28] the fields of a form are counted before they are read', async () => {
  const tooMany = '422 The body has too many keys, or nests them too deep.';
  const fields = (count: number) => Array.from({ length: count }, () => 'a=%').join('&');
  expect(await read(fields(LIMITS.keysMax))).toBe('422 The body is no valid percent-encoding.');
  expect(await read(fields(LIMITS.keysMax + 1))).toBe(tooMany);
  expect(await read(`id=a${'&'.repeat(LIMITS.keysMax - 1)}`)).toEqual({ id: 'a' });
  expect(await read(`id=a${'&'.repeat(LIMITS.keysMax)}`)).toBe(tooMany);
});

test('[FB3] JSON under the content type of a form, as curl sends it, is JSON', async () => {
  expect(await read('{"id":"a","ttl":60}')).toEqual({ id: 'a', ttl: 60 });
  expect(await read('{"id":')).toBe('422 The body is invalid JSON at offset 6.');
});

test('[FB4] what is no closed object takes JSON only: documents, events, patches', async () => {
  for (const schema of [Type.Unknown(), Type.Object({ data: Type.Object({}) }), Type.Array(Type.String())])
    expect(await read('a=1', FORM, schema)).toBe(`415 The content type "${FORM}" is not accepted here; application/json is.`);
  expect(await read('a=1', 'text/html')).toBe(
    `415 The content type "text/html" is not accepted here; application/json or ${FORM} is.`,
  );
});

test('[FB5] a body of which nothing is required may be left out', async () => {
  const schema = Type.Object({ userId: Type.Optional(Type.String()) }, { additionalProperties: false, default: {} });
  for (const contentType of ['', 'application/json', FORM]) expect(await read('', contentType, schema)).toEqual({});
  expect(await read('{}', 'application/json', Body)).toBe("422 Missing key 'id'.");
});
