import { expect, test } from 'vitest';
import { readSettings, SETTINGS } from '../src/config.ts';

const CLUSTER = { REDIS_URL: 'redis://redis:6379', DATABASE_URL: 'postgres://database', S3_BUCKET: 'atrium' };

test.each([
  ['workers without Redis', { WORKERS: '2' }, ['REDIS_URL', 'DATABASE_URL', 'S3_BUCKET']],
  ['workers without Redis, on a database', { WORKERS: '2', DATABASE_URL: CLUSTER.DATABASE_URL }, ['REDIS_URL', 'S3_BUCKET']],
  ['workers with Redis alone', { WORKERS: '2', REDIS_URL: CLUSTER.REDIS_URL }, ['DATABASE_URL', 'S3_BUCKET']],
  ['Redis alone', { REDIS_URL: CLUSTER.REDIS_URL }, ['DATABASE_URL', 'S3_BUCKET']],
  ['Redis without a bucket', { ...CLUSTER, S3_BUCKET: '' }, ['S3_BUCKET']],
  ['Redis without a database', { ...CLUSTER, DATABASE_URL: '' }, ['DATABASE_URL']],
  ['a bus that leads past the last port', { ...CLUSTER, WORKERS: '3', BUS_PORT: '65534' }, ['BUS_PORT']],
  ['admin ports that lead past the last one', { ...CLUSTER, WORKERS: '3', ADMIN_PORT: '65534' }, ['ADMIN_PORT']],
  ['one port for clients and for probes', { PORT: '9000', ADMIN_PORT: '9000' }, ['PORT']],
  ['a port for clients among those for probes', { ...CLUSTER, WORKERS: '3', PORT: '9002', ADMIN_PORT: '9000' }, ['PORT']],
])(
  '[CG1] settings that cannot be together refuse to start with one sentence that names what is missing: %s',
  (_, settings, missing) => {
    const refusal = refusalOf(settings);
    expect(refusal).toMatch(/^[^.\n]+\.$/);
    const named = refusal.split(/: set /)[1]!.match(/REDIS_URL|DATABASE_URL|S3_BUCKET/g) ?? [refusal.split(' ')[0]];
    expect(named).toEqual(missing);
  },
);

test.each([
  ['nothing at all', {}],
  ['a database and a bucket without Redis', { DATABASE_URL: CLUSTER.DATABASE_URL, S3_BUCKET: CLUSTER.S3_BUCKET }],
  ['one worker of a cluster', CLUSTER],
  ['several workers', { ...CLUSTER, WORKERS: '4', BUS_PORT: '7000', ADMIN_PORT: '9000' }],
  ['workers up to the last port', { ...CLUSTER, WORKERS: '3', BUS_PORT: '65533', ADMIN_PORT: '65533' }],
  ['one port on two addresses', { HOST: '10.0.0.2', PORT: '9000', ADMIN_PORT: '9000' }],
  ['a port for clients behind those for probes', { ...CLUSTER, WORKERS: '3', PORT: '9003', ADMIN_PORT: '9000' }],
  ['ports chosen by the system', { ...CLUSTER, WORKERS: '3', BUS_PORT: '0', ADMIN_PORT: '0' }],
])('[CG2] settings that agree start: %s', (_, settings) => {
  expect(readSettings(settings)).toMatchObject({ WORKERS: Number((settings as { WORKERS?: string }).WORKERS ?? 1) });
});

function refusalOf(settings: Readonly<Record<string, string>>): string {
  try {
    readSettings(settings);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('these settings were taken');
}

test('[CG4] a secret key that is refused is not shown', () => {
  const refusal = refusalOf({ SECRET_KEY: 'sk_0123456789abcdef 0123' });
  expect(refusal).toMatch(/^The setting SECRET_KEY must .*; it is a secret, and not shown\.$/);
  expect(refusalOf({ DATABASE_URL: 'ada:password@localhost/rooms' })).not.toContain('password');
  expect(refusalOf({ PUBLIC_KEY: 'pk_short' })).toContain('it is "pk_short"');
});

test.each([
  ['DATABASE_URL', 'localhost/rooms', 'must begin with postgres:// or postgresql://'],
  ['REDIS_URL', 'localhost:6379', 'must begin with redis://, rediss://, redis+sentinel:// or redis+cluster://'],
  ['LOG_LEVEL', 'verbose', 'must be silent, error, warn, info or debug'],
  ['SECRET_KEY', 'foo', 'must be sk_ and after it 16 to 128 letters, digits, - or _'],
  ['PORT', '70000', 'must be <= 65535'],
])('[CG6] %s=%s is refused in words', (name, value, words) => {
  expect(refusalOf({ [name]: value })).toContain(`The setting ${name} ${words};`);
});

test.each(
  ['PUBLIC_URL', 'S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].flatMap((name) =>
    ['rooms.example.com', 'localhost:8080', 'http:///rooms', 'http://rooms .example.com', 'http://:::'].map((value) => [
      name,
      value,
    ]),
  ),
)('[CG6] %s=%s is refused, for it is no address', (name, value) => {
  const refusal = `The setting ${name} must be an address that begins with http:// or https://; it is "${value}".`;
  expect(refusalOf({ [name!]: value! })).toBe(refusal);
});

test.each([
  ['https://rooms.example.com', 'https://rooms.example.com'],
  ['https://rooms.example.com/', 'https://rooms.example.com'],
  ['http://localhost:8080/atrium//', 'http://localhost:8080/atrium'],
])('[CG8] PUBLIC_URL may end with slashes, which what is made of it does not have: %s', (given, read) => {
  expect(readSettings({ PUBLIC_URL: given }).PUBLIC_URL).toBe(read);
});

test('[CG6] every setting with a pattern has words for it', () => {
  const patterned = Object.entries(SETTINGS).flatMap(([name, schema]) => ('pattern' in schema ? [name] : []));
  expect(patterned.length).toBeGreaterThan(8);
  for (const name of patterned) expect(refusalOf({ [name]: '\n' })).not.toMatch(/match|pattern/);
});
