/** What strangers send: values, texts and changes of a body that once fitted, drawn by dice. Pure. */
import type { Dice } from '../dice.ts';

/** JSON as it stands, for what no value says: -0, 1e400, a key twice. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** As JSON.stringify, with what is raw as it stands, and keys such as `__proto__` as the keys that they are. */
export function jsonText(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return `{${membersOf(value).join(',')}}`;
}

const membersOf = (value: object): string[] =>
  Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}:${jsonText(part)}`);

const LONG = [40, 41, 128, 129, 256, 257, 300, 4_000, 4_001, 70_000];
const NAMES = [
  '',
  ' ',
  ' a',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  '0',
  '-1',
  'a.b',
  'a/b',
  'a~b',
  '~1',
  '*',
  '**',
  'a*',
];
const ODD = [
  'a\0b',
  '\u0001',
  '\n',
  '\u007f',
  '\u0085',
  '\u2028',
  '\u200b',
  '\u202e',
  '\ufeff',
  '\uffff',
  '\ud800',
  'x\udc00',
  '\ud83d\ude00',
  'e\u0301',
  '\u00e9',
  '\u0130',
  '\ufb01',
];
const SIGNS = [
  '"',
  "'",
  '\\',
  '\\u0000',
  '%',
  '%00',
  '$1',
  '{{a}}',
  '<b>',
  ';',
  ',',
  ',,',
  '+',
  '&',
  '#',
  '?',
  '..',
  '../..',
  '-- x',
  "' OR 1=1",
];
const WORDS = [
  'null',
  'undefined',
  'true',
  'NaN',
  'Infinity',
  '-0',
  '1e400',
  '0x10',
  '9007199254740993',
  '1.50',
  'default',
  'all',
  'root',
];
const TIMES = [
  ...['0000-01-01T00:00:00.000Z', '0001-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', '-271821-04-20T00:00:00.000Z'],
  ...['+275760-09-13T00:00:00.000Z', '+275760-09-13T00:00:00.001Z', '9999-12-31T23:59:59.999Z', '10000-01-01T00:00:00Z'],
  ...['1969-12-31T23:59:59.999Z', '2026-02-30T00:00:00Z', '2026-01-01', '2026-01-01T24:00:00Z', '2026-12-31T23:59:60Z'],
  ...['2026-01-01T00:00:00+14:00', '2026-01-01T00:00:00-23:59', '2026-01-02T03:04:05.6789999Z', '2026-01-01 00:00:00', '1e20'],
];
const NUMBERS = [
  ...['0', '-0', '-1', '1', '1.5', '-1.5', '1e400', '-1e400', '1e-400', '5e-324', '1e20', '1e308', '1E2', '0.1', '101', '32768'],
  ...[
    '2147483647',
    '2147483648',
    '4294967296',
    '-2147483649',
    '9007199254740991',
    '9007199254740993',
    '8640000000000000',
    '8640000000000001',
  ],
];

export function hostileText(dice: Dice): string {
  const kind = dice.weighted({ name: 3, odd: 3, sign: 2, word: 2, time: 2, long: 2, glued: 2 });
  if (kind === 'name') return dice.pick(NAMES);
  if (kind === 'odd') return dice.pick(ODD);
  if (kind === 'sign') return dice.pick(SIGNS);
  if (kind === 'word') return dice.pick(WORDS);
  if (kind === 'time') return dice.pick(TIMES);
  if (kind === 'long') return dice.pick(['x', 'é', '\ud83d\ude00', '%', '"']).repeat(dice.pick(LONG));
  return `${dice.pick(ODD)}${dice.pick(SIGNS)}${dice.pick(NAMES)}`;
}

export function hostileValue(dice: Dice): unknown {
  const kind = dice.weighted({ text: 6, number: 5, plain: 2, list: 1, object: 2, deep: 1 });
  if (kind === 'text') return hostileText(dice);
  if (kind === 'number') return new Raw(dice.pick(NUMBERS));
  if (kind === 'plain') return dice.pick([null, true, false]);
  if (kind === 'list') return dice.pick([[], [null], [[]], [{}], Array.from({ length: 1_001 }, (_, n) => n)]);
  if (kind === 'object') {
    const name = hostileText(dice);
    return dice.pick([
      {},
      Object.fromEntries([[name, 'a']]),
      Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])),
    ]);
  }
  const depth = dice.pick([5, 29, 33, 2_000]);
  return new Raw(dice.chance(0.5) ? '['.repeat(depth) + ']'.repeat(depth) : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
}

/** Half of a surrogate pair is no text that can be encoded. */
export const encodable = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, '');

/** A text as it may stand in a path or query: encoded, or as nobody should encode it. */
export function hostileEncoded(dice: Dice): string {
  const odd = [
    '%',
    '%0',
    '%ZZ',
    '%FF',
    '%C0%80',
    '%E0%A4%A',
    '%ED%A0%80',
    '%2e%2e',
    '..',
    '.',
    '%2F',
    '%5C',
    '%00',
    '%0A',
    '+',
    '%252F',
    ';a=1',
  ];
  if (dice.chance(0.4)) return dice.pick(odd);
  return encodeURIComponent(encodable(hostileText(dice).slice(0, 3_000)));
}

export type Place = readonly string[];
/** Whether something in it has no value, only a text. */
export function hasRaw(value: unknown): boolean {
  return value instanceof Raw || membersOfAny(value).some(([, part]) => hasRaw(part));
}

export interface Change {
  readonly value: unknown;
  /** Where it differs from what fitted. */
  readonly place: Place;
  readonly how: string;
}

/** The value with one change somewhere. */
export function changed(dice: Dice, whole: unknown): Change {
  const places = placesIn(whole);
  const place = dice.pick(places);
  const here = at(whole, place);
  if (isObject(here) && dice.chance(0.5)) return changedObject(dice, whole, place, here);
  if (Array.isArray(here) && here.length > 0 && dice.chance(0.5)) {
    const how = dice.weighted({ again: 2, empty: 1, more: 1 });
    const items = how === 'again' ? [...here, here[0]] : how === 'empty' ? [] : [...here, hostileValue(dice)];
    return { value: put(whole, place, items), place: how === 'more' ? [...place, String(here.length)] : place, how };
  }
  if (typeof here === 'string' && dice.chance(0.4)) {
    const more = hostileText(dice);
    return { value: put(whole, place, dice.chance(0.5) ? here + more : more + here), place, how: 'longer' };
  }
  return { value: put(whole, place, hostileValue(dice)), place, how: 'other' };
}

function changedObject(dice: Dice, whole: unknown, place: Place, here: Record<string, unknown>): Change {
  const keys = Object.keys(here);
  const how = keys.length === 0 ? 'extra' : dice.weighted({ without: 2, extra: 2, renamed: 2, twice: 1 });
  if (how === 'extra') {
    const name = hostileText(dice);
    const value = dice.chance(0.5) && keys.length > 0 ? here[dice.pick(keys)] : hostileValue(dice);
    return { value: put(whole, place, entriesOf([...Object.entries(here), [name, value]])), place: [...place, name], how };
  }
  const key = dice.pick(keys);
  const others = Object.entries(here).filter(([name]) => name !== key);
  if (how === 'without') return { value: put(whole, place, entriesOf(others)), place: [...place, key], how };
  if (how === 'renamed') {
    const name = hostileText(dice);
    return { value: put(whole, place, entriesOf([...others, [name, here[key]]])), place: [...place, name], how };
  }
  const text = jsonText(here);
  const again = `${JSON.stringify(key)}:${jsonText(hostileValue(dice))}`;
  return { value: put(whole, place, new Raw(`{${again},${text.slice(1)}`)), place: [...place, key], how };
}

/** Object.fromEntries makes own keys, `__proto__` too. */
const entriesOf = (entries: [string, unknown][]): object => Object.fromEntries(entries);
const membersOfAny = (value: unknown): [string, unknown][] =>
  Array.isArray(value) || isObject(value) ? Object.entries(value) : [];
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Raw);

function placesIn(value: unknown, place: Place = []): Place[] {
  return [place, ...membersOfAny(value).flatMap(([key, part]) => placesIn(part, [...place, key]))];
}

export function at(whole: unknown, place: Place): unknown {
  return place.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], whole);
}

function put(whole: unknown, [key, ...rest]: Place, part: unknown): unknown {
  if (key === undefined) return part;
  if (Array.isArray(whole)) return whole.map((item, index) => (String(index) === key ? put(item, rest, part) : item));
  return entriesOf(membersOfAny(whole).map(([name, inner]) => [name, name === key ? put(inner, rest, part) : inner]));
}
