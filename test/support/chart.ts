/** The chart in `helm/`: its files, its value sets, the manifests as they were rendered last, and of which Kubernetes kind each is. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

export const VALUE_SETS = ['small', 'production', 'everything'] as const;
export type ValueSet = (typeof VALUE_SETS)[number];

export const valuesFile = (set: ValueSet): string => `helm/ci/${set}-values.yaml`;
export const renderedFile = (set: ValueSet): string => `test/deploy/rendered/${set}.yaml`;
const FIRST_LINE = '# Rendered by `npm run chart` from a chart of sha256 ';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec?: any;
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** The module of kubernetes-models that knows manifests of this kind. */
export function moduleOf({ apiVersion, kind }: Manifest): string {
  const from = apiVersion.startsWith('monitoring.coreos.com/') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
  return `${from}/${apiVersion}/${kind}`;
}

export function readValues(path: string): Record<string, unknown> {
  return parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
}

/** Of everything that decides what is rendered. */
export function chartDigest(): string {
  const hash = createHash('sha256');
  const folders = ['helm', 'helm/templates', 'helm/files', 'helm/ci', 'helm/check'];
  const paths = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isFile() && entry.name !== 'values.schema.json' ? [join(folder, entry.name)] : [],
    ),
  );
  for (const path of paths.sort()) hash.update(`${path}\n`).update(readFileSync(path));
  return hash.digest('hex');
}

export function headed(manifests: string): string {
  return `${FIRST_LINE}${chartDigest()}\n${manifests}`;
}

export function readRendered(set: ValueSet): { digest: string; manifests: Manifest[] } {
  const text = readFileSync(renderedFile(set), 'utf8');
  return { digest: text.split('\n', 1)[0]!.slice(FIRST_LINE.length), manifests: manifestsIn(text) };
}

export function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}
