/**
 * The migrations as files: `0001-rooms.sql`, numbered without gaps. A line of it says which older builds go on with the schema that it makes: those that
 * know `-- serves builds from 0021`, or none.
 */
import { readdir, readFile } from 'node:fs/promises';
import type { Migration } from '../kernel/persistence/migrate.ts';

/** Beside this module in the sources and in the build. */
export const MIGRATIONS = new URL('../migrations/', import.meta.url);

const SERVES_FROM = /^-- serves builds from (\d{4})$/m;

/** In order. @throws an Error when a number is missing or taken twice: our mistake, found by the first start. */
export async function readMigrations(directory: URL = MIGRATIONS): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})-/.exec(name)?.[1]);
      if (number !== index + 1) throw new Error(`migration ${name} should have the number ${index + 1}`);
      const text = await readFile(new URL(name, directory), 'utf8');
      return { number, name, text, servesFrom: Number(SERVES_FROM.exec(text)?.[1] ?? number) };
    }),
  );
}
