import { expect, test } from 'vitest';
import { MIGRATIONS, readMigrations } from '../../../src/adapters/migration-files.ts';
import { StartRefused } from '../../../src/base/start-refused.ts';
import { type Migration, migrate } from '../../../src/kernel/persistence/migrate.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { usePostgres } from '../../support/postgres.ts';

const postgres = usePostgres();
const files = await readMigrations();
const next = (number: number, text: string, servesFrom = number): Migration => ({
  number,
  name: `${String(number).padStart(4, '0')}-next.sql`,
  text,
  servesFrom,
});
const numbersOf = (db: Sql): Promise<unknown[]> => db.query(sql`select number from schema_migrations order by number`);

test('[PG8] a migrated database needs nothing; a new file is applied once, and noted', async () => {
  const db = await postgres.open();
  expect(await migrate(db, files)).toEqual([]);
  const more = [...files, next(files.length + 1, 'create table extra (n int); insert into extra values (1)')];
  expect(await migrate(db, more)).toEqual([more.at(-1)!.name]);
  expect(await migrate(db, more)).toEqual([]);
  expect(await db.query(sql`select n from extra`)).toEqual([{ n: 1 }]);
  expect(await numbersOf(db)).toHaveLength(more.length);
});

test('[PG8] a migration that fails leaves the schema as it was', async () => {
  const db = await postgres.open();
  const broken = [
    ...files,
    next(files.length + 1, 'create table extra (n int)'),
    next(files.length + 2, 'create table extra (n int)'),
  ];
  await expect(migrate(db, broken)).rejects.toThrow('already exists');
  expect(await numbersOf(db)).toHaveLength(files.length);
  expect(await db.query(sql`select to_regclass('extra') as extra`)).toEqual([{ extra: null }]);
});

test('[PG8] of workers that start at once, one migrates', async () => {
  const db = await postgres.open({ lockMsMax: 10_000 });
  const more = [...files, next(files.length + 1, 'create table extra (n int)')];
  const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(db, more)));
  expect(applied.flat()).toEqual([more.at(-1)!.name]);
});

test('[PG9] a schema newer than the build refuses to start, and says so', async () => {
  const db = await postgres.open();
  await migrate(db, [...files, next(files.length + 1, 'select 1')]);
  const refused = migrate(db, files);
  await expect(refused).rejects.toBeInstanceOf(StartRefused);
  await expect(refused).rejects.toThrow(/newer Atrium.*-next\.sql/);
});

test('[PG20] an older build goes on with a newer schema that says so, and with nothing else', async () => {
  const db = await postgres.open();
  const known = files.length;
  await migrate(db, [...files, next(known + 1, 'select 1', known)]);
  expect(await migrate(db, files)).toEqual([]);
  await expect(migrate(db, files.slice(0, -1))).rejects.toThrow(/newer Atrium.*-next\.sql/); // older than the oldest that it is for
  await migrate(db, [...files, next(known + 1, 'select 1', known), next(known + 2, 'select 1', known + 1)]);
  await expect(migrate(db, files)).rejects.toThrow(/newer Atrium/);
});

test('[PG20] a schema of a build that noted nothing of others is for none that is older', async () => {
  const db = await postgres.open();
  await db.query(sql`alter table schema_migrations drop column serves_from`);
  await expect(migrate(db, files.slice(0, -1))).rejects.toBeInstanceOf(StartRefused);
  expect(await migrate(db, files)).toEqual([]);
});

test('[PG20] a file says in a line of its own which older builds go on; one that says nothing is for none', async () => {
  expect(files.filter(({ number }) => number <= 17).every(({ number, servesFrom }) => servesFrom === number)).toBe(true);
  expect(files.find(({ number }) => number === 21)).toMatchObject({ servesFrom: 20 });
});

test('[PG10] the files are numbered without gaps, and what is not a migration is passed over', async () => {
  expect(files.map(({ number }) => number)).toEqual(files.map((_, index) => index + 1));
  expect(files[0]!.text).toContain('create table rooms');
  await expect(readMigrations(new URL('../', MIGRATIONS))).resolves.toEqual([]);
});
