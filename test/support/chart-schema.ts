/** `helm/values.schema.json` as it should be: the chart's own values, and under `settings` what src/config.ts knows, in the shapes it takes. */
import { SETTINGS } from '../../src/config.ts';

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const count = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum });
const port = count(1, 65_535);
const list = { type: 'array' } as const;
const map = { type: 'object' } as const;
const labels = { type: 'object', additionalProperties: text } as const;
const optionalAddress = { ...text, pattern: '^(https?://[^/\\s]\\S*)?$' } as const;
const quantity = { type: ['string', 'number', 'null'] } as const;
const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...more,
});
/** One of these, not neither: an existing secret or the value itself. */
const oneOf = (...names: string[]) => ({
  anyOf: names.map((name) => ({ properties: { [name]: { type: 'string', minLength: 1 } }, required: [name] })),
});

/** What the templates set themselves, from values of their own; and a secret, which comes through `extraEnv`. */
export const SET_BY_CHART = [
  ...[
    'NODE_ENV',
    'HOST',
    'PORT',
    'WORKERS',
    'BUS_HOST',
    'BUS_PORT',
    'ADMIN_HOST',
    'ADMIN_PORT',
    'DATA_DIR',
    'PUBLIC_URL',
    'SECRET_KEY',
    'OTHER_SECRET_KEY',
    'PUBLIC_KEY',
  ],
  ...['DATABASE_URL', 'REDIS_URL', 'S3_BUCKET', 'S3_REGION', 'S3_FORCE_PATH_STYLE', 'S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT'],
  'OTEL_EXPORTER_OTLP_ENDPOINT',
];

export function chartSchema(): unknown {
  const settings = Object.entries(SETTINGS).filter(([name]) => !SET_BY_CHART.includes(name));
  const properties = {
    nameOverride: text,
    global: map,
    image: object({ repository: text, tag: text, pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] } }),
    imagePullSecrets: list,
    replicas: count(1, 200),
    workersPerPod: count(1, 32),
    keys: object(
      {
        existingSecret: text,
        secretKeyKey: text,
        publicKeyKey: text,
        otherSecretKeyKey: text,
        secretKey: { ...text, pattern: '^(sk_[\\w-]{16,128})?$' },
        otherSecretKey: { ...text, pattern: '^(sk_[\\w-]{16,128})?$' },
        publicKey: { ...text, pattern: '^(pk_[\\w-]{8,128})?$' },
      },
      oneOf('existingSecret', 'secretKey'),
    ),
    postgres: object(
      { existingSecret: text, urlKey: text, url: { ...text, pattern: '^(postgres(ql)?://.*)?$' } },
      oneOf('existingSecret', 'url'),
    ),
    redis: object(
      { existingSecret: text, urlKey: text, url: { ...text, pattern: '^(rediss?(\\+sentinel|\\+cluster)?://.*)?$' } },
      oneOf('existingSecret', 'url'),
    ),
    s3: object({
      bucket: { ...text, minLength: 3 },
      endpoint: optionalAddress,
      publicEndpoint: optionalAddress,
      region: text,
      forcePathStyle: flag,
      existingSecret: text,
      accessKeyIdKey: text,
      secretAccessKeyKey: text,
      accessKeyId: text,
      secretAccessKey: text,
    }),
    publicUrl: optionalAddress,
    settings: object(Object.fromEntries(settings.map(([name, schema]) => [name, plain(schema)]))),
    otlpEndpoint: optionalAddress,
    extraEnv: list,
    extraEnvFrom: list,
    extraVolumes: list,
    extraVolumeMounts: list,
    listenOn: { enum: ['0.0.0.0', '::'] },
    ports: object({ http: port, admin: port, bus: port }),
    service: object({ type: { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] }, port, annotations: labels }),
    ingress: object({
      enabled: flag,
      className: text,
      host: text,
      tlsSecret: text,
      affinity: { enum: ['hash', 'none'] },
      annotations: labels,
    }),
    resources: map,
    heapMegabytes: count(256, 65_536),
    autoscaling: object({
      enabled: flag,
      minReplicas: count(1, 200),
      maxReplicas: count(1, 200),
      cpuPercent: { type: ['integer', 'null'], minimum: 1, maximum: 100 },
      connectionsPerPod: quantity,
      eventLoopLagP99Seconds: quantity,
    }),
    podDisruptionBudget: object({ enabled: flag, maxUnavailable: { type: ['integer', 'string'] } }),
    topologySpread: object({
      keys: { type: 'array', items: text },
      whenUnsatisfiable: { enum: ['ScheduleAnyway', 'DoNotSchedule'] },
    }),
    networkPolicy: object({ enabled: flag, publicFrom: list, adminFrom: list, egress: list }),
    terminationGracePeriodSeconds: count(30, 3_600),
    preStopSeconds: count(0, 60),
    serviceAccount: object({ create: flag, name: text, annotations: labels }),
    monitoring: object({
      serviceMonitor: object({ enabled: flag, interval: { ...text, pattern: '^\\d+[ms]$' }, labels }),
      rules: object({ enabled: flag, runbookUrl: { ...text, pattern: '^(https?://.+)?$' }, labels }),
      dashboard: object({ enabled: flag, labels }),
    }),
    podAnnotations: labels,
    podLabels: labels,
    nodeSelector: labels,
    tolerations: list,
    affinity: map,
    priorityClassName: text,
  };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the Atrium chart. Written by test/deploy/chart.test.ts -u; `settings` follows src/config.ts.',
    ...object(properties, { required: ['keys', 'postgres', 'redis', 's3'] }),
  };
}

/** Without the default: what is not said is left to the server. */
function plain(schema: unknown): unknown {
  const { default: _, ...rest } = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
  return rest;
}
