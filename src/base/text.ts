/** Text as the database can hold it: Postgres takes neither U+0000 nor half of a surrogate pair, in text as in jsonb. */
import type { Json } from './json.ts';

const UNSTORABLE = /\0|\p{Surrogate}/u;

/** Whether `text` can be stored and found again. Ask before a client's text meets a statement: the database would answer with an error. */
export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** The same of every text in a value, keys too. It goes as deep as the value does, whose depth its length or a bound on depth is to limit. */
export function isStorableJson(value: Json): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, part]) => isStorableText(key) && isStorableJson(part));
}

/** An id to look for: one that nothing stored can have becomes one that nothing has. */
export function soughtId(id: string): string {
  return isStorableText(id) ? id : '';
}
