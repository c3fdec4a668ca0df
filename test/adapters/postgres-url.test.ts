import { expect, test } from 'vitest';
import { mustReadPostgresUrl } from '../../src/adapters/postgres-url.ts';

test.each([
  ['a / in the password', 'postgres://ada:secret/word@localhost:5432/rooms'],
  ['a # in the password', 'postgres://ada:secret#word@localhost:5432/rooms'],
  ['a port that is none', 'postgres://ada:secret@localhost:99999/rooms'],
  ['a port that is none, as a parameter', 'postgres://ada:secret@localhost/rooms?port=99999'],
  ['half an IPv6 address', 'postgres://ada:secret@[::1/rooms'],
  ['bytes that are no text', 'postgres://ada:secret%ff@localhost/rooms'],
])('[AP7] %s is refused with a sentence that shows the form, and nothing of what was given', (_, url) => {
  const refusal = refusalOf(url);
  expect(refusal).toMatch(
    /^DATABASE_URL is no URL of the form postgres:\/\/user:password@host:5432\/database; .*percent-encoded\.$/,
  );
  expect(refusal).not.toMatch(/secret|ada|rooms|99999/);
});

test('[AP7] a file that is missing is named; parameters that do not go together are not shown', () => {
  const place = 'postgres://ada:secret@localhost/rooms';
  const missing =
    'DATABASE_URL names the file /nowhere/ca.pem, which cannot be read (ENOENT): correct the path, or put it there.';
  expect(refusalOf(`${place}?sslrootcert=/nowhere/ca.pem`)).toBe(missing);
  expect(refusalOf(`${place}?sslrootcert=/`)).toContain('DATABASE_URL names a file, which cannot be read (EISDIR)');
  const parameters = 'DATABASE_URL has parameters after its ? that do not go together, or have values that there are not.';
  expect(refusalOf(`${place}?sslnegotiation=secret`)).toBe(parameters);
});

test.each([
  'postgres://database',
  'postgresql://ada:secret%2Fword@[::1]:5433/rooms?sslmode=disable',
  'postgres:///rooms?host=/var/run/postgresql&user=ada',
  'postgres://ada@%2Fvar%2Frun%2Fpostgresql/rooms',
])('[AP7] %s can be read', (url) => {
  expect(() => mustReadPostgresUrl(url)).not.toThrow();
});

function refusalOf(url: string): string {
  try {
    mustReadPostgresUrl(url);
  } catch (error) {
    expect(error).toMatchObject({ name: 'StartRefused' });
    return (error as Error).message;
  }
  throw new Error('this URL was taken');
}
