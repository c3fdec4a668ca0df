import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../../src/kernel/transport/json-body.ts';
import { jsonErrorOffset } from '../../../src/kernel/transport/json-error-offset.ts';

const LIMITS = { depthMax: 32, keysMax: 10_000 };

function parsed(text: string | Uint8Array, limits = LIMITS): unknown {
  return parseJson(typeof text === 'string' ? Buffer.from(text) : text, limits);
}

test.each([
  ['', 0],
  ['   ', 3],
  ['{"a":1', 6],
  ['{"a" 1}', 5],
  ['{"a":1,}', 7],
  ['{a:1}', 1],
  ["{'a':1}", 1],
  ['[1,]', 3],
  ['[1 2]', 3],
  ['[1]]', 3],
  ['"abc', 4],
  ['"a\\x"', 2],
  ['"a\nb"', 2],
  ['"\\u12g4"', 1],
  ['01', 1],
  ['1.', 1],
  ['-', 0],
  ['+1', 0],
  ['nul', 0],
  ['true false', 5],
  ['{"a":[1,{"b":tru}]}', 13],
  ['NaN', 0],
])('[RT3] %j is refused as invalid JSON at offset %i', (text, offset) => {
  expect(() => parsed(text)).toThrow(`The body is invalid JSON at offset ${offset}.`);
});

test('[RT3] where the engine says the place of an error, ours is the same, or the beginning of the same word or number', () => {
  let compared = 0;
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '\\', '0', 'x', ' '), (text, seed, put) => {
      const at = seed % (text.length + 1);
      const broken = text.slice(0, at) + put + text.slice(at + 1);
      const engineOffset = engineErrorOffset(broken);
      if (engineOffset === null) return;
      compared += 1;
      const earlier = engineOffset - jsonErrorOffset(broken);
      expect(earlier).toBeGreaterThanOrEqual(0);
      expect(earlier).toBeLessThanOrEqual(6); // as in \u12g4
    }),
    { numRuns: 1_000 },
  );
  expect(compared).toBeGreaterThan(100);
});

test.each<[what: string, text: string, offset: number]>([
  ['items', `[${'1.5e3 , null,'.repeat(1_001)}x`, 1 + 13 * 1_001],
  ['the last comma', `[${'1,'.repeat(777)} ]`, 2 + 2 * 777],
  ['digits', `[1,${'7'.repeat(10_000)}`, 3 + 10_000],
  ['spaces', `[1${' '.repeat(10_000)}2`, 2 + 10_000],
  ['escapes', `"${'\\n\\u00e4'.repeat(1_001)}\\x"`, 1 + 8 * 1_001],
  ['characters', `["${'\u00e4'.repeat(10_000)}`, 2 + 10_000],
])('[CB22] the offset is exact behind thousands of %s', (_, text, offset) => {
  expect(jsonErrorOffset(text)).toBe(offset);
});

/** Null when the text is JSON, or the engine does not say where it is not. */
function engineErrorOffset(text: string): number | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const place = / at position (\d+)/.exec((error as SyntaxError).message);
    return place === null ? null : Number(place[1]);
  }
}

test('[RT4] 32 levels pass, 33 do not; brackets in strings do not count', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}"[[[{"${']'.repeat(levels)}`;
  expect(() => parsed(nested(32))).not.toThrow();
  expect(() => parsed(nested(33))).toThrow('The body is nested deeper than 32 levels (offset 32).');
});

test('[RT4] as many keys pass as are allowed, one more does not; colons in strings do not count', () => {
  const keyed = (keys: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, key) => [`k${key}`, ':\\":'])));
  expect(() => parsed(keyed(10), { depthMax: 2, keysMax: 10 })).not.toThrow();
  expect(() => parsed(keyed(11), { depthMax: 2, keysMax: 10 })).toThrow('The body has more than 10 keys.');
});

test('[CB20] of items of arrays as many pass as are allowed, one more does not; an array is one, too', () => {
  const bounds = { depthMax: 4, keysMax: 3 };
  const items = (count: number): string => `[${Array.from({ length: count - 1 }, () => '",[,"').join()}]`;
  const refusal = 'The body has more than 12 items.';
  expect(() => parsed(items(12), bounds)).not.toThrow();
  expect(() => parsed(items(14), bounds)).toThrow(refusal);
  expect(() => parsed(`{"a":${items(4)},"b":{"c":${items(8)}}}`, bounds)).not.toThrow();
  expect(() => parsed(`{"a":${items(8)},"b":{"c":${items(9)}}}`, bounds)).toThrow(refusal);
  expect(() => parsed(`[${'[],'.repeat(5)}1]`, bounds)).not.toThrow();
  expect(() => parsed(`[${'[],'.repeat(6)}1]`, bounds)).toThrow(refusal);
  expect(() => parsed(`[${'{},'.repeat(11)}1]`, bounds)).not.toThrow();
});

test('[CB20] ten megabytes of items are refused before they are parsed, whatever brackets are out of place', () => {
  expect(() => parsed(`[${'1,'.repeat(5_000_000)}1]`)).toThrow('The body has more than 40000 items.');
  expect(() => parsed(`${']'.repeat(5_000_000)}${'['.repeat(5_000_000)}`)).toThrow('The body has more than 40000 items.');
});

test('[RT4] a body of ten million brackets, or of one endless string, is refused without harm', () => {
  expect(() => parsed('['.repeat(10_000_000))).toThrow('nested deeper');
  expect(() => parsed(`"${'x'.repeat(10_000_000)}`)).toThrow('invalid JSON at offset 10000001');
});

test.each([
  ['{"a":{"__proto__":{"x":1}}}', 'a.__proto__'],
  ['{"a":[{"constructor":1}]}', 'a.0.constructor'],
  ['{"prototype":1}', 'prototype'],
  ['{"\\u005f_proto__":1}', '__proto__'],
])('[RT5] %s is refused: a key may not reach a prototype', (text, key) => {
  expect(() => parsed(text)).toThrow(`Value at key '${key}' may not have this name.`);
});

test('[RT5] the same words as values are fine', () => {
  expect(parsed('{"a":["__proto__","constructor"]}')).toEqual({ a: ['__proto__', 'constructor'] });
});

test('[CB21] of several faults the first is told, by its keys', () => {
  const name = fc.constantFrom('a', 'b', '', '0', '7', '__proto__', 'constructor', 'prototype');
  const leaf = fc.constantFrom('1', 'null', '"\\u0061"', '{}', '[]', '1e999', '"prototype"');
  const { text } = fc.letrec<{ text: string }>((tie) => ({
    text: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.array(tie('text'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
      fc
        .array(fc.tuple(name, tie('text')), { maxLength: 4 })
        .map((members) => `{${members.map(([key, inner]) => `"${key}":${inner}`).join()}}`),
    ),
  }));
  let refused = 0;
  fc.assert(
    fc.property(text, (body) => {
      const value: unknown = JSON.parse(`["\\u0061",${body}]`);
      const told = faultIn(value, '');
      if (told !== null) refused += 1;
      if (told === null) expect(parsed(`["\\u0061",${body}]`)).toEqual(value);
      else expect(() => parsed(`["\\u0061",${body}]`)).toThrow(`Value at key '${told}.`);
    }),
    { numRuns: 500 },
  );
  expect(refused).toBeGreaterThan(50);
});

/** As plain as it can be said. */
function faultIn(value: unknown, path: string): string | null {
  if (typeof value === 'number' && !Number.isFinite(value)) return `${path}' must be a finite number`;
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    const fault = ['__proto__', 'constructor', 'prototype'].includes(key) ? `${at}' may not have this name` : faultIn(inner, at);
    if (fault !== null) return fault;
  }
  return null;
}

test.each([['{"a":1e999}'], ['{"a":-1E+400}'], [`{"a":${'9'.repeat(310)}}`]])(
  '[RT6] %s is refused: it would be stored as null',
  (text) => {
    expect(() => parsed(text)).toThrow("Value at key 'a' must be a finite number.");
  },
);

test('[RT6] the largest number there is passes', () => {
  expect(parsed('[1.7976931348623157e308, 5e-324]')).toEqual([Number.MAX_VALUE, Number.MIN_VALUE]);
});

test('[RT7] bytes that are not UTF-8 are refused, a byte order mark is not', () => {
  expect(() => parsed(new Uint8Array([0x22, 0xff, 0x22]))).toThrow('The body is not UTF-8.');
  expect(parsed('\ufeff{}')).toEqual({});
});

test.each(['', '\\', '\\\\', '"', '\\"', '\\\\"', 'ü', '\n'])(
  'what looks like structure inside a string, however long, is none: %j',
  (tail) => {
    const bounds = { depthMax: 1, keysMax: 3 }; // as many as there are items
    for (let length = 0; length < 200; length += 1) {
      const value = ['x'.repeat(length) + tail + '[{":":'.repeat(3), tail];
      expect(parsed(JSON.stringify(value), bounds)).toEqual(value);
      expect(() => parsed(JSON.stringify([...value, [tail]]), bounds)).toThrow('nested deeper than 1 levels');
    }
  },
);
