/**
 * The house rules as a function: source files in, violations out. `house.test.ts` runs it on `src` and on planted violations.
 */
export interface SourceFile {
  /** Relative to the repository, with slashes: `src/room/room.ts`. */
  readonly path: string;
  readonly text: string;
}

export const FILE_LINES_MAX = 400;

/** Which layers a layer may import, itself included. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: ['base'],
  protocol: ['protocol', 'base'],
  kernel: ['kernel', 'base'],
  room: ['room', 'kernel', 'protocol', 'base'],
  features: ['features', 'room', 'kernel', 'protocol', 'base'],
  adapters: ['adapters', 'kernel', 'base'],
  config: ['base'],
  app: ['app', 'config', 'features', 'room', 'kernel', 'adapters', 'protocol', 'base'],
  main: ['app', 'config', 'adapters', 'kernel', 'base'],
  import: ['app', 'base'],
  web: ['web'],
};

/** What runs in browsers may import anything that runs there. */
const WEB = 'src/web/';
/** Bundles the pages; runs in Node, beside what it bundles. */
const WEB_BUILD = 'src/web/build.mjs';

/** Packages that do no I/O, by the layer that may import them. */
const PURE_PACKAGES: Readonly<Record<string, readonly RegExp[]>> = {
  base: [/^@msgpack\/msgpack$/, /^pino$/, /^node:buffer$/, /^node:crypto$/, /^node:zlib$/, /^typebox/],
  protocol: [/^typebox/, /^lib0\//],
  kernel: [/^typebox/, /^find-my-way$/, /^node:crypto$/],
  room: [/^yjs$/, /^y-protocols\//, /^lib0\//, /^typebox/],
  features: [/^typebox/, /^jose$/, /^node:crypto$/],
  config: [/^typebox/],
};

const FORBIDDEN_NAMES = /^(index|utils?|helpers?|common|types|manager|service)\.(tsx?|mjs)$/;
const FEATURE_FILES = /^(shapes|rules|queries|routes)\.ts$/;
/** The clock and randomness are inputs: only their own module reads the machine's. */
const AMBIENT =
  /\b(Date\.now|performance\.now|setTimeout|setInterval|setImmediate|Math\.random|randomBytes|randomUUID)\s*\(|\bnew Date\(\)/;
/** A column that is compared with a time which is another one for each row: no index finds such rows. */
const PER_ROW_TIME = /([\w.]+) <=? clock_timestamp\(\)/g;
/** Those are of rows found by their keys, which may have been waited for meanwhile. */
const TIMES_OF_KNOWN_ROWS = ['failing_since', 'known.created_at', 'known.reserved_until', 'next_at', 'o.quarantined_until'];
const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

export function violationsOf(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => [...sizeOf(file), ...namesOf(file), ...importsOf(file), ...ambientOf(file), ...timesOf(file)]);
}

function sizeOf({ path, text }: SourceFile): string[] {
  const lines = text.split('\n').length - 1;
  return lines > FILE_LINES_MAX ? [`${path}: ${lines} lines, more than ${FILE_LINES_MAX}`] : [];
}

function namesOf({ path }: SourceFile): string[] {
  const name = path.split('/').at(-1)!;
  if (FORBIDDEN_NAMES.test(name)) return [`${path}: a file is named for what is in it`];
  if (!/^[a-z0-9-]+(\.d)?\.(tsx?|mjs)$/.test(name)) return [`${path}: file names are kebab-case`];
  if (path.startsWith('src/features/') && !FEATURE_FILES.test(name) && path.split('/').length === 4) {
    return [`${path}: a feature has shapes, rules, queries and routes`];
  }
  return [];
}

function importsOf({ path, text }: SourceFile): string[] {
  if (path === WEB_BUILD) return [];
  const layer = layerOf(path);
  const violations: string[] = [];
  for (const match of text.matchAll(IMPORT)) {
    const target = (match[1] ?? match[2] ?? match[3])!;
    const reason = target.startsWith('.') ? crossing(path, layer, resolve(path, target)) : foreign(layer, target);
    if (reason !== null) violations.push(`${path}: ${reason}`);
  }
  return violations;
}

function crossing(path: string, layer: string, target: string): string | null {
  const other = layerOf(target);
  if (!LAYERS[layer]?.includes(other)) return `${layer} may not import ${other} (${target})`;
  if (layer === 'features' && other === 'features' && featureOf(path) !== featureOf(target))
    return `features never import each other (${target})`;
  if (layer === 'web' && pageOf(path) !== pageOf(target) && pageOf(target) !== 'shared')
    return `pages share only what is in shared (${target})`;
  return null;
}

function foreign(layer: string, target: string): string | null {
  if (layer === 'adapters' || layer === 'app' || layer === 'main' || layer === 'import') return null;
  if (layer === 'web') return target.startsWith('node:') ? `a browser has no ${target}` : null;
  return PURE_PACKAGES[layer]?.some((allowed) => allowed.test(target)) ? null : `${layer} may not import the package ${target}`;
}

function ambientOf({ path, text }: SourceFile): string[] {
  if (path === 'src/base/clock.ts' || path.startsWith('src/adapters/') || path.startsWith(WEB)) return [];
  const found = AMBIENT.exec(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''));
  return found === null ? [] : [`${path}: ${found[0]} – time and chance come from base/clock.ts`];
}

function timesOf({ path, text }: SourceFile): string[] {
  return [...text.matchAll(PER_ROW_TIME)]
    .filter(([, column]) => !TIMES_OF_KNOWN_ROWS.includes(column!))
    .map(([found]) => `${path}: ${found} – statement_timestamp() is looked up in an index`);
}

function layerOf(path: string): string {
  const [, first] = path.split('/');
  return first!.replace(/\.ts$/, '');
}

/** `demo` of `src/web/demo/board.tsx`. */
function pageOf(path: string): string {
  return path.split('/')[2]!;
}

function featureOf(path: string): string {
  return path.split('/')[2]!;
}

function resolve(from: string, target: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}
