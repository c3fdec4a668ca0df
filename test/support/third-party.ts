/** Packages that come with the server: those it runs on, and those that are built into its pages. From package-lock.json. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ThirdParty {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly comesAs: 'installed' | 'in the pages';
}

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const IMPORT = /\bfrom '((?:@[\w.-]+\/)?[\w.-]+)(?:\/[^']*)?'/g;

export function thirdParties(): ThirdParty[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
  const inPages = closure(packages, importsOf('src/web'));
  const found = Object.entries(packages).flatMap(([path, { name, version, license, dev }]): ThirdParty[] => {
    const isInPages = inPages.has(path);
    if (path === '' || (dev === true && !isInPages)) return [];
    const named = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return [
      {
        name: name === undefined ? named : `${named} (${name})`,
        version,
        licence: license ?? 'unknown',
        comesAs: dev === true ? 'in the pages' : 'installed',
      },
    ];
  });
  const once = new Map(found.map((one) => [`${one.name} ${one.version}`, one]));
  return [...once.values()].sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

function importsOf(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
  return files.flatMap((path) => [...readFileSync(join(folder, path), 'utf8').matchAll(IMPORT)].map(([, name]) => name!));
}

/** Paths in the lock of these packages and all that they need, found as Node finds them. */
function closure(packages: Readonly<Record<string, Locked>>, names: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const waiting = names.map((name) => ({ name, from: '' }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const path = resolve(packages, next);
    if (path === null || reached.has(path)) continue;
    reached.add(path);
    const { dependencies = {}, peerDependencies = {} } = packages[path]!;
    for (const name of Object.keys({ ...dependencies, ...peerDependencies })) waiting.push({ name, from: path });
  }
  return reached;
}

function resolve(packages: Readonly<Record<string, Locked>>, { name, from }: { name: string; from: string }): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (path in packages) return path;
    if (!folder.includes('/node_modules/')) return `node_modules/${name}` in packages ? `node_modules/${name}` : null;
  }
}

export function thirdPartyPage(): string {
  const rows = thirdParties().map(({ name, version, licence, comesAs }) => `| ${name} | ${version} | ${licence} | ${comesAs} |`);
  return `# Third-party packages

What comes with Atrium, under the licences of its authors; their texts are in each package. Written from package-lock.json by
\`npx vitest run test/deploy/third-party.test.ts -u\`. [NOTICE](NOTICE) names those that carry binaries.

| package | version | licence | comes |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}
