/** The chart: values against its schema, and manifests as rendered last against Kubernetes' schemas, the settings and the ports of the server. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COUNTERS, GAUGES, HISTOGRAMS } from '../../src/base/metrics.ts';
import { readSettings, SETTINGS } from '../../src/config.ts';
import { chartDigest, type Manifest, moduleOf, readRendered, readValues, VALUE_SETS, valuesFile } from '../support/chart.ts';
import { chartSchema } from '../support/chart-schema.ts';

const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(chartSchema() as object);
const defaults = readValues('helm/values.yaml');
const NEEDED = {
  keys: { existingSecret: 'keys' },
  postgres: { existingSecret: 'postgres' },
  redis: { existingSecret: 'redis' },
  s3: { bucket: 'rooms' },
};

test('[HC1] values.schema.json knows every setting that the chart does not set itself (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(chartSchema(), null, 2)}\n`).toMatchFileSnapshot('../../helm/values.schema.json');
  const { properties } = chartSchema() as { properties: Record<string, unknown> };
  expect(Object.keys(defaults).filter((name) => !(name in properties))).toEqual([]);
});

test.each(VALUE_SETS)('[HC2] the values of the set %s are valid, alone and over the defaults', (set) => {
  const values = readValues(valuesFile(set));
  expect(validate(values) || validate.errors).toBe(true);
  expect(validate(merged(defaults, values)) || validate.errors).toBe(true);
});

test.each<[string, Record<string, unknown>, string]>([
  ['no database', { ...NEEDED, postgres: {} }, '/postgres'],
  ['a value that is not known', { ...NEEDED, replica: 3 }, ''],
  ['a setting that is not known', { ...NEEDED, settings: { IDLE_SECONDS: 3 } }, '/settings'],
  ['a setting out of its limits', { ...NEEDED, settings: { IDLE_ROOM_SECONDS: 1 } }, '/settings/IDLE_ROOM_SECONDS'],
  ['a setting that the chart sets', { ...NEEDED, settings: { PORT: 1 } }, '/settings'],
  ['an end that is too short for a drain', { ...NEEDED, terminationGracePeriodSeconds: 10 }, '/terminationGracePeriodSeconds'],
])('[HC3] %s is refused', (_, values, path) => {
  expect(validate(NEEDED) || validate.errors).toBe(true);
  expect(validate(values)).toBe(false);
  expect(validate.errors!.map(({ instancePath }) => instancePath)).toContain(path);
});

describe.each(VALUE_SETS)('the manifests of %s', (set) => {
  const { digest, manifests } = readRendered(set);
  const of = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind)!;
  const values = merged(defaults, readValues(valuesFile(set)));
  const container = of('Deployment').spec.template.spec.containers[0];
  const environment: { name: string; value?: string }[] = container.env;

  test('[HC4] they are those of the chart as it is (npm run chart renders them again)', () => {
    expect(digest).toBe(chartDigest());
  });

  test("[HC5] each is valid by Kubernetes' own schema", async () => {
    for (const manifest of manifests) {
      const model = await import(moduleOf(manifest));
      expect(() => new model[manifest.kind](manifest).validate(), `${manifest.kind} ${manifest.metadata.name}`).not.toThrow();
    }
  });

  test('[HC6] every variable is a setting, and the worker would start with them', () => {
    const own = [
      'NODE_OPTIONS',
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      ...names((values.extraEnv as { name: string }[]) ?? []),
    ];
    expect(names(environment).filter((name) => !(name in SETTINGS) && !own.includes(name))).toEqual([]);
    const secrets = {
      SECRET_KEY: 'sk_0123456789abcdef',
      PUBLIC_KEY: 'pk_0123456789',
      DATABASE_URL: 'postgres://x',
      REDIS_URL: 'redis://x',
      BUS_HOST: '10.0.0.1',
    };
    const plain = Object.fromEntries(environment.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
    expect(readSettings({ ...plain, ...secrets })).toMatchObject({
      WORKERS: values.workersPerPod,
      ...(values.settings as Record<string, unknown>),
    });
  });

  test('[HC13] files that variables name are mounted, and every mount has its volume', () => {
    const { volumes } = of('Deployment').spec.template.spec;
    const mounts = container.volumeMounts as { name: string; mountPath: string }[];
    expect(mounts.filter(({ name }) => !names(volumes).includes(name))).toEqual([]);
    const files = environment.flatMap(({ value }) => (value?.startsWith('/') ? [value] : []));
    expect(files.filter((file) => !mounts.some(({ mountPath }) => file.startsWith(`${mountPath}/`)))).toEqual([]);
  });

  test('[HC14] clients and probes reach pods with addresses of IPv6 where the values say that they have such', () => {
    const { HOST, ADMIN_HOST } = Object.fromEntries(environment.map(({ name, value }) => [name, value]));
    const host = values.listenOn ?? defaults.listenOn;
    expect({ HOST, ADMIN_HOST }).toEqual({ HOST: host, ADMIN_HOST: host });
  });

  test('[HC7] ports agree: settings, container, services, probes, network policy, monitor', () => {
    const setting = (name: string): number => Number(environment.find((variable) => variable.name === name)!.value);
    const ports = new Map<string, number>(container.ports.map((port: any) => [port.name, port.containerPort]));
    expect(ports.get('http')).toBe(setting('PORT'));
    for (let index = 0; index < setting('WORKERS'); index += 1) {
      expect(ports.get(`admin-${index}`)).toBe(setting('ADMIN_PORT') + index);
      expect(ports.get(`bus-${index}`)).toBe(setting('BUS_PORT') + index);
    }
    expect(new Set(ports.values()).size).toBe(1 + 2 * setting('WORKERS'));
    for (const { spec } of manifests.filter(({ kind }) => kind === 'Service'))
      for (const { targetPort } of spec.ports) expect(ports.has(targetPort)).toBe(true);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(container[probe].httpGet).toEqual({ path: probe === 'readinessProbe' ? '/readyz' : '/livez', port: 'admin-0' });
    const [open, bus] = of('NetworkPolicy').spec.ingress;
    expect(open.ports[0].port).toBe(setting('PORT'));
    expect(bus.ports[0]).toMatchObject({ port: setting('BUS_PORT'), endPort: setting('BUS_PORT') + setting('WORKERS') - 1 });
    for (const { port } of of('ServiceMonitor')?.spec.endpoints ?? []) expect(ports.has(port)).toBe(true);
  });

  test('[HC8] what selects pods finds them, and nobody runs as root or writes to the image', () => {
    const { labels } = of('Deployment').spec.template.metadata;
    const selectors = manifests.flatMap(({ kind, spec }) =>
      kind === 'Service' ? [spec.selector] : kind === 'NetworkPolicy' ? [spec.podSelector.matchLabels] : [],
    );
    selectors.push(of('PodDisruptionBudget').spec.selector.matchLabels, of('Deployment').spec.selector.matchLabels);
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    expect(of('Deployment').spec.template.spec.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
    expect(
      manifests.filter(({ kind }) => kind === 'Secret').every(({ stringData }) => Object.values(stringData!).every(Boolean)),
    ).toBe(true);
  });
});

test('[HC9] alerts and dashboard ask only for metrics that exist, and every alert is in the runbook', () => {
  const alerts = readFileSync('helm/files/alerts.yaml', 'utf8');
  const dashboard = readFileSync('helm/files/dashboard.json', 'utf8');
  expect(JSON.parse(dashboard).panels.length).toBeGreaterThan(20);
  const known = new Set([
    ...Object.keys(COUNTERS),
    ...Object.keys(GAUGES),
    ...Object.keys(HISTOGRAMS).flatMap((name) => [`${name}_bucket`, `${name}_sum`, `${name}_count`]),
  ]);
  const asked = [...`${alerts}${dashboard}`.matchAll(/\batrium_\w+/g)].map(([name]) => name);
  expect([...new Set(asked)].filter((name) => !known.has(name))).toEqual([]);
  const runbook = readFileSync('docs/runbook.md', 'utf8');
  const named = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
  expect(named.filter((name) => !runbook.includes(`\n## ${name}\n`))).toEqual([]);
  expect(named.filter((name) => !alerts.includes(`docs/runbook.md#${name.toLowerCase()}`))).toEqual([]);
});

test('[HC12] alerts link to the runbook where its address is given, and to nowhere else', () => {
  const links = (set: (typeof VALUE_SETS)[number]): string[] => {
    const { spec } = readRendered(set).manifests.find(({ kind }) => kind === 'PrometheusRule')!;
    return spec.groups.flatMap(({ rules }: any) => rules.map(({ annotations }: any) => annotations.runbook_url));
  };
  expect(links('production').length).toBeGreaterThan(10);
  for (const link of links('production')) expect(link).toMatch(/^https:\/\/docs\.example\.com\/atrium\/runbook#atrium[a-z]+$/);
  expect(new Set(links('everything'))).toEqual(new Set([undefined]));
});

/** What it says when it does not. */
function refusalOf(changes: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-chart-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'values.yaml');
  writeFileSync(path, JSON.stringify({ ...readValues(valuesFile('small')), ...changes }));
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };
  return spawnSync('go', ['run', 'helm/check/render.go', 'helm', path], { env, encoding: 'utf8' }).stderr;
}
const canRender = existsSync('/usr/share/gocode/src/github.com/Masterminds/sprig');

test.skipIf(!canRender)(
  '[HC11] heaps that the memory limit of a pod does not hold are refused',
  () => {
    const limited = (memory: unknown) => ({ workersPerPod: 3, heapMegabytes: 1024, resources: { limits: { memory } } });
    for (const memory of ['2Gi', '3071Mi', '3G', '2.9Gi'])
      expect(refusalOf(limited(memory))).toMatch(/workersPerPod x heapMegabytes is 3072 MiB, and resources\.limits\.memory is/);
    for (const memory of ['3Gi', '3072Mi', '3500M', 4_000_000_000]) expect(refusalOf(limited(memory))).toBe('');
    expect(refusalOf({ ...limited('1Gi'), resources: { limits: null } })).toBe('');
  },
  120_000,
);

test.skipIf(!canRender)(
  '[HC16] a time to end in which a worker could not drain is refused',
  () => {
    const ending = (preStopSeconds: number, terminationGracePeriodSeconds: number) =>
      refusalOf({ preStopSeconds, terminationGracePeriodSeconds });
    expect(ending(16, 40)).toMatch(/terminationGracePeriodSeconds is 40, and preStopSeconds with a drain of 25 s takes 41/);
    expect(ending(15, 40)).toBe('');
    expect(ending(60, 85)).toBe('');
  },
  120_000,
);

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

test.skipIf(!hasPromtool)('[HC15] alerts fire on what they are for', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'helm/check/alerts.test.yaml'], {
    encoding: 'utf8',
  });
  expect(status, stdout + stderr).toBe(0);
});

test('[HC10] chart, package and image are of one version', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(readValues('helm/Chart.yaml')).toMatchObject({ version, appVersion: version });
});

function names(variables: readonly { name: string }[]): string[] {
  return variables.map(({ name }) => name);
}

function merged(below: Record<string, unknown>, above: Record<string, unknown>): Record<string, unknown> {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const all = { ...below };
  for (const [name, value] of Object.entries(above)) {
    const own = all[name];
    all[name] = isMap(own) && isMap(value) ? merged(own, value) : value;
  }
  return all;
}
