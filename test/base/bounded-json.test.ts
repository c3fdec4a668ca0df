import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JSON_KEYS_MAX, JSON_MEMBERS_MAX, parseBoundedJson } from '../../src/base/bounded-json.ts';

const refusal = (reason: string) => expect.objectContaining({ code: 'FRAME_INVALID', facts: { reason } });
const TOO_MANY_KEYS = refusal(`it has more than ${JSON_KEYS_MAX} keys`);
const TOO_MANY = refusal(`it has more than ${JSON_MEMBERS_MAX} keys and items`);

test('[CB23] a frame has a bounded number of keys and items, judged before it is parsed', () => {
  const items = (count: number, item: string): string => `[${`${item},`.repeat(count - 1)}${item}]`;
  const parsed = (text: string): number => (parseBoundedJson(text) as unknown[]).length;
  expect(parsed(items(JSON_MEMBERS_MAX, '1'))).toBe(JSON_MEMBERS_MAX);
  expect(() => parsed(items(JSON_MEMBERS_MAX + 1, '1'))).toThrow(TOO_MANY);
  expect(parsed(items(JSON_KEYS_MAX / 2, '{"k":1,"l":",[:,"},1'))).toBe(JSON_KEYS_MAX);
  expect(() => parsed(items(JSON_KEYS_MAX / 2 + 1, '{"k":1,"l":",[:,"},1'))).toThrow(TOO_MANY_KEYS);
  expect(() => parsed(items(JSON_MEMBERS_MAX / 2 + 1, '[]'))).toThrow(TOO_MANY);
  expect(() => parsed(items(JSON_MEMBERS_MAX + 1, 'nonsense'))).toThrow(TOO_MANY);
});

test('[CB24] a forbidden key is found wherever it is, and named as by a reviver of JSON.parse', () => {
  const name = fc.constantFrom('a', 'b', '', '7', '__proto__', 'constructor', 'prototype', '\\u005f_proto__');
  const { text } = fc.letrec<{ text: string }>((tie) => ({
    text: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom('1', 'null', '"\\u0061"', '{}', '[]', '"prototype"', 'x'),
      fc.array(tie('text'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
      fc
        .array(fc.tuple(name, tie('text')), { maxLength: 4 })
        .map((members) => `{${members.map(([key, inner]) => `"${key}":${inner}`).join()}}`),
    ),
  }));
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(text, (frame) => {
      const before = outcome(() => JSON.parse(frame, refuseForbidden));
      expect(outcome(() => parseBoundedJson(frame))).toEqual(before);
      outcomes.add(typeof before === 'string' ? before.slice(0, 20) : 'accepted');
    }),
    { numRuns: 1_000 },
  );
  expect([...outcomes].sort()).toEqual([
    'accepted',
    'it is not JSON (Unex',
    'the key "__proto__" ',
    'the key "constructor',
    'the key "prototype" ',
  ]);
});

class Forbidden extends Error {}

function refuseForbidden(key: string, value: unknown): unknown {
  if (['__proto__', 'constructor', 'prototype'].includes(key)) throw new Forbidden(`the key "${key}" is not allowed`);
  return value;
}

/** A value, or the reason why there is none. */
function outcome(parse: () => unknown): unknown {
  try {
    return [parse()];
  } catch (error) {
    if (error instanceof Forbidden) return error.message;
    const { facts } = error as { facts?: { reason?: string } };
    return facts?.reason ?? `it is not JSON (${(error as Error).message})`;
  }
}
