/** Text as the database can hold it: Postgres takes neither U+0000 nor half of a surrogate pair, in text as in jsonb. */

const UNSTORABLE = /\0|\p{Surrogate}/u;

/** Whether `text` can be stored and found again. Ask before a client's text meets a statement: the database would answer with an error. */
export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text);
}
