/** The pages for people: what they link to and name exists. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { USAGE as LOAD_USAGE } from '../../bench/users/plan.ts';
import { helpText } from '../../src/app/command-line.ts';
import { USAGE as IMPORT_USAGE, readImportPlan } from '../../src/app/import/plan.ts';
import { ERRORS } from '../../src/base/error-table.ts';
import { COUNTERS, GAUGES, HISTOGRAMS } from '../../src/base/metrics.ts';
import { SETTINGS } from '../../src/config.ts';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'src/README.md',
  ...readdirSync('docs').flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
];
const textOf = (path: string): string => readFileSync(path, 'utf8');

/** As forges make them of headings. */
function anchorsIn(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

test.each(PAGES)('[DC1] what %s links to exists', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter((link) => !/^https?:/.test(link));
  const broken = links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    return !existsSync(target) || (anchor !== undefined && !anchorsIn(textOf(target)).has(anchor));
  });
  expect(broken).toEqual([]);
});

const OWN_NAMES = [
  'FROM_SECRET_KEY',
  'OMIT',
  'CONFIG_FILE',
  'ROOM_ID',
  'CI',
  'TEST_REDIS_URL',
  'ROOM_STATE',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
];

test('[DC2] settings, error codes, flags and npm scripts that the pages name exist', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const flags = `${helpText()}${LOAD_USAGE}${IMPORT_USAGE}--build-arg --scenario`;
  const wrong: string[] = [];
  for (const page of PAGES) {
    const text = textOf(page);
    for (const [, script] of text.matchAll(/\bnpm run ([\w:]+)/g))
      if (!(script! in scripts)) wrong.push(`${page}: npm run ${script}`);
    const spans = [...text.replace(/```[\s\S]*?```/g, '').matchAll(/`([^`]+)`/g)].map(([, span]) => span!);
    for (const span of spans) {
      const [name] = span.split('=', 1);
      const isCode = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/.test(name!);
      if (isCode && !(name! in SETTINGS) && !(name! in ERRORS) && !OWN_NAMES.includes(name!)) wrong.push(`${page}: ${name}`);
      const [flag] = /^--[a-z][\w-]*/.exec(span) ?? [];
      if (flag !== undefined && !flags.includes(flag)) wrong.push(`${page}: ${flag}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('[DC2] phrases of the log that the runbook quotes are in the code', () => {
  const code = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => textOf(join('src', path)))
    .join('\n');
  const phrases = [...textOf('docs/runbook.md').matchAll(/`([a-z][a-z ,]+ [a-z ,]+)`/g)].map(([, phrase]) => phrase!);
  const logged = phrases.filter((phrase) => !/^(kubectl|select|kill|curl) /.test(phrase));
  expect(logged.length).toBeGreaterThan(4);
  expect(logged.filter((phrase) => !code.includes(`'${phrase}'`))).toEqual([]);
});

test('[DC4] docs/metrics.md lists every metric (vitest -u writes it)', async () => {
  const rows = [
    ...Object.entries(COUNTERS).map(([name, { label, help }]) => `| \`${name}\` | counter by \`${label}\` | ${help} |`),
    ...Object.entries(HISTOGRAMS).map(([name, { help }]) => `| \`${name}\` | histogram | ${help} |`),
    ...Object.entries(GAUGES).map(([name, help]) => `| \`${name}\` | gauge | ${help} |`),
  ];
  const page = `# Metrics

At \`/metrics\` on \`ADMIN_PORT\`, for Prometheus. Besides these there is what the process says of itself: \`process_*\` and \`nodejs_*\` (CPU, memory, event loop
lag, garbage collection). The [runbook](runbook.md) says what to do when they look bad. This page is generated from \`src/base/metrics.ts\`.

| metric | kind | meaning |
| --- | --- | --- |
${rows.join('\n')}
`;
  await expect(page).toMatchFileSnapshot('../../docs/metrics.md');
});

test('[DC7] wherever a command of the pages sets S3_BUCKET, the credentials that go with it are set, too', () => {
  const commands = PAGES.flatMap((page) =>
    [...textOf(page).matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => `${page}: ${block}`),
  );
  const withBucket = commands.filter((command) => command.includes('S3_BUCKET='));
  expect(withBucket.length).toBeGreaterThan(1);
  expect(withBucket.filter((command) => !/AWS_ACCESS_KEY_ID=.* AWS_SECRET_ACCESS_KEY=/.test(command))).toEqual([]);
  expect(textOf('config/README.md')).toMatch(/`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`/);
});

test('[DC9] the programs of the pages are right in their types, each by itself', () => {
  const folder = mkdtempSync('test/deploy/programs-'); // here packages are found
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const programs = PAGES.flatMap((page) => [...textOf(page).matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block!));
  expect(programs.length).toBeGreaterThan(5);
  const paths = programs.map((program, index) => {
    const path = join(folder, `program-${index}.ts`);
    writeFileSync(path, `${program}\nexport {};\n`);
    return path;
  });
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2023', '--types', 'node'];
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler'];
  const args = ['--ignoreConfig', ...flags, ...modules, ...paths];
  const { stdout } = spawnSync('node_modules/.bin/tsc', args, { encoding: 'utf8' });
  expect(stdout).toBe('');
}, 60_000);

test('[DC10] the commands of docs/moving.md make the folder and fetch the package that they use, and their notes are not for git', () => {
  const [command = ''] = textOf('docs/moving.md').match(/```\n[^`]*better-sqlite3[\s\S]*?```/) ?? [];
  expect(command).toMatch(/mkdir -p documents[\s\S]*writeFileSync\('documents\/'/);
  expect(command).toMatch(/npm i --no-save better-sqlite3\n/);
  const { notesPath } = readImportPlan(['--from', 'documents', '--to', 'http://localhost:8080'], { SECRET_KEY: 'sk' })!;
  expect(textOf('.gitignore').split('\n')).toContain(notesPath);
});
