import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS } from '../src/base/error-table.ts';
import { configReadme } from './support/config-readme.ts';
import { FILE_LINES_MAX, type SourceFile, violationsOf } from './support/house-rules.ts';

function sources(): SourceFile[] {
  return readdirSync('src', { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((path) => /\.(tsx?|mjs)$/.test(path))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

test('[HO1] src keeps the layers, the file size, the names, the ban on ambient time, and times that an index finds', () => {
  const files = sources();
  expect(files.length).toBeGreaterThan(50);
  expect(violationsOf(files)).toEqual([]);
});

test.each([
  ['the kernel names a room', 'src/kernel/actor/x.ts', "import type { RoomState } from '../../room/shapes.ts';"],
  ['base imports the kernel', 'src/base/x.ts', "import { sql } from '../kernel/persistence/sql.ts';"],
  ['a feature imports another', 'src/features/rooms/rules.ts', "import { claimsFor } from '../tokens/rules.ts';"],
  ['a room talks to the database', 'src/room/x.ts', "import pg from 'pg';"],
  ['a feature reads files', 'src/features/rooms/routes.ts', "import { readFileSync } from 'node:fs';"],
  ['an adapter knows a room', 'src/adapters/x.ts', "import { decide } from '../room/room.ts';"],
  ['a lazy import crosses layers', 'src/protocol/x.ts', "const room = await import('../room/room.ts');"],
  ['a re-export crosses layers', 'src/base/x.ts', "export { decide } from '../room/room.ts';"],
  ['a page imports the server', 'src/web/demo/x.tsx', "import { decide } from '../../room/room.ts';"],
  ['a page imports another', 'src/web/demo/x.tsx', "import { Chart } from '../console/chart.tsx';"],
  ['a page reads files', 'src/web/console/x.ts', "import { readFile } from 'node:fs/promises';"],
  ['the server imports a page', 'src/app/x.ts', "import { App } from '../web/demo/app.tsx';"],
  ['a drawer among the pages', 'src/web/shared/utils.tsx', ''],
  ['a module reads the time', 'src/room/x.ts', 'const now = Date.now();'],
  ['a module throws dice', 'src/kernel/x.ts', 'const id = Math.random();'],
  ['rows looked for by a time per row', 'src/kernel/x.ts', 'sql`select id from x where due_at <= clock_timestamp()`'],
  ['a barrel', 'src/room/index.ts', ''],
  ['a drawer', 'src/base/utils.ts', ''],
  ['a fifth kind of file in a feature', 'src/features/rooms/logic.ts', ''],
  ['camel case', 'src/room/roomActor.ts', ''],
  ['one line too many', 'src/room/x.ts', '\n'.repeat(FILE_LINES_MAX + 1)],
])('[HO2] a planted violation is found: %s', (_, path, text) => {
  expect(violationsOf([{ path, text }])).toHaveLength(1);
});

test.each([
  ['a file of exactly the allowed length', 'src/room/x.ts', '\n'.repeat(FILE_LINES_MAX)],
  ['a feature uses the room', 'src/features/rooms/routes.ts', "import type { RoomDoor } from '../../room/shapes.ts';"],
  ['an adapter does I/O', 'src/adapters/x.ts', "import pg from 'pg';"],
  ['a page uses what pages share', 'src/web/demo/x.tsx', "import { Mark } from '../shared/mark.tsx';"],
  ['a page has its own clock', 'src/web/console/x.ts', 'const now = Date.now();'],
  ['a time of its statement', 'src/kernel/x.ts', 'sql`select id from x where due_at <= statement_timestamp()`'],
  ['a time of a known row', 'src/kernel/x.ts', 'sql`select id from x where id = 1 and next_at < clock_timestamp()`'],
  ['time in a comment', 'src/room/x.ts', '// unlike Date.now() this never goes back'],
])('[HO3] and nothing is found where nothing is wrong: %s', (_, path, text) => {
  expect(violationsOf([{ path, text }])).toEqual([]);
});

test('[HO4] every error has a status and a close code that clients understand, and a sentence that ends', () => {
  for (const [code, entry] of Object.entries(ERRORS)) {
    expect(code).toMatch(/^[A-Z_]+$/);
    expect(entry.status).toBeGreaterThanOrEqual(400);
    expect([1008, 1009, 1011, 1012, 1013].includes(entry.close) || (entry.close >= 4000 && entry.close <= 4999)).toBe(true);
    expect(entry.suggestion).toMatch(/\.$/);
  }
});

test('[HO5] config/README.md lists every setting with default, limits and meaning (vitest -u writes it)', async () => {
  await expect(configReadme()).toMatchFileSnapshot('../config/README.md');
});
