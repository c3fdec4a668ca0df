/** The migrations as files: `0001-rooms.sql`, numbered without gaps. */
import { readdir, readFile } from 'node:fs/promises';
import type { Migration } from '../kernel/persistence/migrate.ts';

/** Beside this module in the sources and in the build. */
export const MIGRATIONS = new URL('../migrations/', import.meta.url);

/** In order. @throws an Error when a number is missing or taken twice: our mistake, found by the first start. */
export async function readMigrations(directory: URL = MIGRATIONS): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})-/.exec(name)?.[1]);
      if (number !== index + 1) throw new Error(`migration ${name} should have the number ${index + 1}`);
      return { number, name, text: await readFile(new URL(name, directory), 'utf8') };
    }),
  );
}
