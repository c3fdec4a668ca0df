/**
 * Every setting: name, shape, default, meaning. A preset (`config/*.json`, CONFIG_FILE) < environment < flags.
 *
 * A setting of the wrong shape or out of its limits refuses to start with one sentence, and so does one in a preset or a flag that is
 * unknown. `config/README.md` is generated from this table.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { isEverywhere } from './base/address.ts';
import { LOG_LEVELS } from './base/observe.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

const text = (description: string, options: object = {}) => Type.String({ description, ...options });
const count = (description: string, options: { default: number; minimum: number; maximum: number }) =>
  Type.Integer({ description, ...options });

/** Names of custom kinds of notifications. */
const OWN_KINDS = { pattern: '^\\$[a-zA-Z_]{1,128}(,\\$[a-zA-Z_]{1,128})*$' };

/** One behind which a path can be put. */
const address = (description: string) => Type.Optional(text(description, { pattern: '^https?://[^/\\s]\\S*$' }));

const secretKey = (description: string) => Type.Optional(text(description, { pattern: '^sk_[\\w-]{16,128}$' }));

const flag = (description: string, options: { default?: boolean }) => Type.Boolean({ description, ...options });

/** The table. `default` absent: the setting is optional and has none. */
export const SETTINGS = {
  PORT: count('Port for clients: REST, WebSockets, health. 0 takes a free one.', { default: 8080, minimum: 0, maximum: 65_535 }),
  HOST: text('Address to listen on. 127.0.0.1 keeps other machines out.', { default: '0.0.0.0' }),
  PUBLIC_URL: address(
    'Address under which clients reach this server, as printed and used in signed URLs. Default: http://localhost:PORT.',
  ),
  DATA_DIR: text('Folder of the embedded mode: private Postgres, blobs, development keys.', { default: '.atrium' }),
  DATABASE_URL: Type.Optional(
    text('A Postgres (14 or later) to use instead of the private one: postgres://user:password@host:5432/database.', {
      pattern: '^postgres(ql)?://',
    }),
  ),
  DATABASE_POOL_MAX: count(
    'Connections to Postgres of each worker, beside five for the lease, claims and the journal. Too few: reads queue behind writes. Too many: Postgres spends itself on switching, or refuses: all workers together must stay below its max_connections.',
    { default: 10, minimum: 3, maximum: 100 },
  ),
  REDIS_URL: Type.Optional(
    text(
      'Redis, for more workers than one: redis://…, rediss://…, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:7000,host:7001. It holds hints only and may lose them. Requires DATABASE_URL and S3_BUCKET.',
      { pattern: '^rediss?(\\+sentinel|\\+cluster)?://' },
    ),
  ),
  REDIS_PREFIX: text('Begins every key in Redis; two clusters on one Redis need two.', {
    default: 'atrium',
    pattern: '^[\\w-]{1,64}$',
  }),
  S3_BUCKET: Type.Optional(text('Bucket for large snapshots and files, instead of DATA_DIR.')),
  S3_ENDPOINT: address('Address of an S3-compatible server, when it is not AWS.'),
  S3_PUBLIC_ENDPOINT: address(
    'Address under which clients reach the S3 server, in download URLs, when it is another than S3_ENDPOINT.',
  ),
  S3_REGION: text('Region of the bucket.', { default: 'us-east-1' }),
  S3_FORCE_PATH_STYLE: flag(
    'Whether the bucket stands in the path instead of the host name; most servers other than AWS need it.',
    { default: false },
  ),
  S3_CREATE_BUCKET: flag('Whether to make the bucket at start when it is missing.', { default: false }),
  WORKERS: count(
    'Worker processes on this machine, on one public port, under a supervisor that restarts them. About one per core. More than one requires REDIS_URL.',
    { default: 1, minimum: 1, maximum: 256 },
  ),
  BUS_HOST: text(
    'Address under which other workers reach this one, and on which it listens for them: a private one. Other machines cannot reach 127.0.0.1.',
    { default: '127.0.0.1' },
  ),
  BUS_PORT: count('Port for other workers; of several on one machine the second has the next port. 0 takes a free one.', {
    default: 0,
    minimum: 0,
    maximum: 65_535,
  }),
  ADMIN_HOST: text('Address for probes, metrics and the drain command; keep clients out.', { default: '127.0.0.1' }),
  ADMIN_PORT: Type.Optional(
    Type.Integer({
      description:
        'Port for /livez, /readyz, /metrics and POST /drain; of several workers the second has the next port. Absent: none.',
      minimum: 0,
      maximum: 65_535,
    }),
  ),
  SECRET_KEY: secretKey('Key of your back end, sk_…; whoever has it may do everything.'),
  OTHER_SECRET_KEY: secretKey('Taken as SECRET_KEY is, while keys are changed: of back ends, of tokens, of other workers.'),
  PUBLIC_KEY: Type.Optional(
    text('Key for browsers, pk_…; it opens rooms whose default access is open.', { pattern: '^pk_[\\w-]{8,128}$' }),
  ),
  PROJECT_ID: text('Name of this installation in webhooks.', { default: 'atrium', pattern: '^[\\w-]{1,64}$' }),
  STORAGE_TYPE_KEY: Type.Union([Type.Literal('serviceType'), Type.Literal('liveblocksType')], {
    default: 'serviceType',
    description:
      'Name of the kind field in Storage documents that are read; the SDKs expect liveblocksType. Both are understood when written.',
  }),
  DEMO: Type.Optional(
    flag(
      'Whether / is a live demo: whoever opens it may enter, and fill, the rooms demo and demo:…. Without this setting it is there when SECRET_KEY is not set.',
      {},
    ),
  ),
  CONSOLE: flag('Whether /console is a page to look into rooms and workers with; it shows nothing without the secret key.', {
    default: true,
  }),
  LOG_LEVEL: Type.Union(
    LOG_LEVELS.map((level) => Type.Literal(level)),
    { default: 'info', description: 'Least severe line that is logged.' },
  ),
  TOKEN_LIFETIME_SECONDS: count(
    'Validity of access and ID tokens. Shorter: lost rights act sooner, clients ask your back end more often.',
    { default: 3_600, minimum: 60, maximum: 86_400 },
  ),
  CONNECTIONS_MAX: count(
    'Sockets on one worker; more are asked to come back later. No more than the limit of open files allows.',
    {
      default: 20_000,
      minimum: 1,
      maximum: 1_000_000,
    },
  ),
  CONNECTIONS_PER_ROOM_MAX: count('Sockets in one room; more are told that it is full.', {
    default: 1_000,
    minimum: 1,
    maximum: 100_000,
  }),
  SHED_LAG_MS: count(
    'How late the event loop may come (p99 of a second), or frames of clients be heard, before a worker that is so for five seconds refuses to wake rooms, then new sockets, then reads.',
    {
      default: 250,
      minimum: 20,
      maximum: 60_000,
    },
  ),
  SHED_HEAP_PERCENT: count('Share of its largest heap above which a worker does the same. 100: never.', {
    default: 85,
    minimum: 10,
    maximum: 100,
  }),
  MESSAGES_PER_SECOND_MAX: count(
    'Messages a second from one connection, on average; four times as many at once. A frame may hold many. Lower than a program that edits a Yjs document sends, and good clients are closed.',
    {
      default: 500,
      minimum: 10,
      maximum: 100_000,
    },
  ),
  FRAME_BYTES_MAX: count(
    'Longest WebSocket frame from a client; a longer one closes the socket for good (4000), one of more than twice as much without a word (1006).',
    { default: 10 * MIB, minimum: 64 * KIB, maximum: 100 * MIB },
  ),
  BODY_BYTES_MAX: count('Longest JSON body of a request; events, Storage documents and Yjs updates have bounds of their own.', {
    default: 10 * MIB,
    minimum: 64 * KIB,
    maximum: 100 * MIB,
  }),
  MAX_FILE_BYTES: count(
    'Size of one file of a room. It passes through without being held in memory; the store of blobs needs room for it, twice while it is made of parts.',
    {
      default: 1024 * MIB,
      minimum: KIB,
      maximum: 50_000 * MIB,
    },
  ),
  PRESENCE_BYTES_MAX: count('Size of one presence update as JSON.', { default: 64 * KIB, minimum: KIB, maximum: MIB }),
  SEND_BUFFER_BYTES_MAX: count(
    'Bytes waiting for a slow reader before its socket is closed; it comes back and reads the state afresh.',
    {
      default: 2 * MIB,
      minimum: 64 * KIB,
      maximum: 64 * MIB,
    },
  ),
  PENDING_BYTES_PER_ROOM_MAX: count('Bytes of one room that may wait for the database before its writes are refused.', {
    default: 8 * MIB,
    minimum: 256 * KIB,
    maximum: 256 * MIB,
  }),
  IDLE_CONNECTION_SECONDS: count(
    'Silence after which a socket counts as dead. SDK clients speak every 30 s, hidden tabs every 60 s.',
    {
      default: 95,
      minimum: 35,
      maximum: 3_600,
    },
  ),
  IDLE_ROOM_SECONDS: count(
    'How long a room that everybody left, or that was prewarmed, stays in memory; where thousands were left at once they go in turns.',
    {
      default: 60,
      minimum: 10,
      maximum: 86_400,
    },
  ),
  SNAPSHOT_AFTER_CHANGES: count(
    'Changes of a room after which its state is saved whole; the journal covers what came since. Fewer: more writes, faster start of a room.',
    {
      default: 5_000,
      minimum: 10,
      maximum: 100_000,
    },
  ),
  SNAPSHOT_AFTER_BYTES: count(
    'Journal bytes of a room after which its state is saved whole. Large rooms wait for more of all three: twice as much at 256 KiB, and so on, eight times at most.',
    {
      default: MIB,
      minimum: 64 * KIB,
      maximum: 64 * MIB,
    },
  ),
  SNAPSHOT_EVERY_SECONDS: count(
    'Longest time a changed room goes without a snapshot; large ones up to eight times as long, and where thousands are due at once they have their turns. It loses nothing to wait, the journal covers the gap.',
    {
      default: 60,
      minimum: 1,
      maximum: 3_600,
    },
  ),
  AUTO_VERSION_SECONDS: count(
    'How long a change of a room may be in no version of its history; then one is made. Each is as large as the room and is kept until somebody deletes it. 0: only those that somebody makes.',
    {
      default: 0,
      minimum: 0,
      maximum: 86_400,
    },
  ),
  THREAD_NOTIFICATIONS: Type.Union([Type.Literal('all'), Type.Literal('replies_and_mentions'), Type.Literal('none')], {
    default: 'replies_and_mentions',
    description:
      'Which comments a user who set nothing for a room is notified of. With all: of users who wrote in the room, or whom it names.',
  }),
  TEXT_MENTION_NOTIFICATIONS: Type.Union([Type.Literal('mine'), Type.Literal('none')], {
    default: 'mine',
    description: 'Whether a user who set nothing for a room is notified of being mentioned in a text.',
  }),
  NOTIFICATION_CHANNELS: text(
    'Channels by which users are told of notifications unless they say otherwise: email, slack, teams, webPush, with commas between; or none.',
    { default: 'email', pattern: '^(none|(email|slack|teams|webPush)(,(email|slack|teams|webPush))*)$' },
  ),
  NOTIFICATION_KINDS: Type.Optional(
    text(
      'Kinds of your own, with commas between, that go out by NOTIFICATION_CHANNELS, too; others only to users who asked for them.',
      OWN_KINDS,
    ),
  ),
  BATCHED_NOTIFICATION_KINDS: Type.Optional(
    text(
      'Kinds of your own, with commas between, whose activities on one subject gather in one notification, up to 50.',
      OWN_KINDS,
    ),
  ),
  WEBHOOK_TARGETS: Type.Union([Type.Literal('public'), Type.Literal('all')], {
    default: 'public',
    description:
      'Where webhooks may lead. public: over https to public addresses. all: over http, too, and to addresses of this machine and its networks; for development, or where only you have the secret key.',
  }),
  NOTIFICATION_DELAY_SECONDS: count(
    'How long a notification waits for its user to read it before webhooks are told to bring it by e-mail and other channels.',
    {
      default: 1_800,
      minimum: 0,
      maximum: 604_800,
    },
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: address(
    'Address of a collector that takes spans of requests, room loads and snapshots over OTLP/HTTP. Absent: none are made.',
  ),
  TRACED_PERCENT: count('Share of requests of which spans are made; one that comes with a traceparent brings its own decision.', {
    default: 10,
    minimum: 0,
    maximum: 100,
  }),
  NODE_ENV: Type.Optional(
    text(
      'production: refuse to start with missing or development keys, as REDIS_URL does, too; print nothing but lines of the log.',
    ),
  ),
} as const satisfies Record<string, TSchema>;

const Settings = Type.Object(SETTINGS, { additionalProperties: false });
export type Settings = Static<typeof Settings>;

const check = Compile(Settings);

/** Not even one that is refused is shown: it may be a good one with a slip. Addresses may have a password in them. */
const SECRET: ReadonlySet<string> = new Set<keyof Settings>(['SECRET_KEY', 'OTHER_SECRET_KEY', 'DATABASE_URL', 'REDIS_URL']);

const NAME = 'be 1 to 64 letters, digits, - or _';
const SECRET_KEY_WORDS = 'be sk_ and after it 16 to 128 letters, digits, - or _';
const KINDS = 'be names such as $taskDone, with commas and no spaces between';
const ADDRESS = 'be an address that begins with http:// or https://';
const ADDRESSES = ['PUBLIC_URL', 'S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;
/** What the patterns of settings ask for, to be read after "must". */
const WORDS: { readonly [Name in keyof Settings]?: string } = {
  DATABASE_URL: 'begin with postgres:// or postgresql://',
  REDIS_URL: 'begin with redis://, rediss://, redis+sentinel:// or redis+cluster://',
  REDIS_PREFIX: NAME,
  SECRET_KEY: SECRET_KEY_WORDS,
  OTHER_SECRET_KEY: SECRET_KEY_WORDS,
  PUBLIC_KEY: 'be pk_ and after it 8 to 128 letters, digits, - or _',
  PROJECT_ID: NAME,
  NOTIFICATION_CHANNELS: 'be none, or some of email, slack, teams and webPush with commas and no spaces between',
  NOTIFICATION_KINDS: KINDS,
  BATCHED_NOTIFICATION_KINDS: KINDS,
  ...Object.fromEntries(ADDRESSES.map((name) => [name, ADDRESS])),
};

/**
 * Settings from a preset file's content (or none) and the environment; text becomes numbers where the table says so.
 * @throws an Error whose message is one sentence for the person who starts the server.
 */
export function readSettings(
  environment: Readonly<Record<string, string | undefined>>,
  preset: Readonly<Record<string, unknown>> = {},
): Settings {
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries<TSchema>(SETTINGS)) {
    const given = environment[name];
    const value = given === undefined || given === '' ? (preset[name] ?? defaultOf(schema)) : fromText(given, schema);
    if (value !== undefined) values[name] = value;
  }
  const unknown = Object.keys(preset).find((name) => !(name in SETTINGS));
  if (unknown !== undefined) throw new Error(`The setting ${unknown} is not known; config/README.md lists all settings.`);
  if (!check.Check(values)) {
    const [problem] = check.Errors(values);
    throw refusalOf((problem?.instancePath.slice(1) ?? '') as keyof Settings, values, problem?.message);
  }
  const unreadable = ADDRESSES.find((name) => values[name] !== undefined && !URL.canParse(values[name]));
  if (unreadable !== undefined) throw refusalOf(unreadable, values);
  const contradiction = contradictionIn(values);
  if (contradiction !== null) throw new Error(contradiction);
  const { PUBLIC_URL } = values;
  return PUBLIC_URL === undefined ? values : { ...values, PUBLIC_URL: PUBLIC_URL.replace(/\/+$/, '') }; // a path is put behind it
}

function refusalOf(name: keyof Settings, values: Readonly<Record<string, unknown>>, problem = 'is not valid'): Error {
  const shown = SECRET.has(name) ? 'a secret, and not shown' : JSON.stringify(values[name]);
  return new Error(`The setting ${name} ${wordsFor(name) ?? problem}; it is ${shown}.`);
}

/** Null where the library of shapes says it well itself, as of numbers. */
function wordsFor(name: keyof Settings): string | null {
  if (WORDS[name] !== undefined) return `must ${WORDS[name]}`;
  const { anyOf } = (SETTINGS[name] ?? {}) as { anyOf?: readonly { readonly const: string }[] };
  return anyOf === undefined
    ? null
    : `must be ${listOf(
        anyOf.map(({ const: value }) => value),
        'or',
      )}`;
}

/** A live demo is for those who try the server: whoever gave it a key of their own has to ask for it. */
export function hasDemo({ DEMO, SECRET_KEY }: Settings): boolean {
  return DEMO ?? SECRET_KEY === undefined;
}

const PORT_MAX = 65_535;

/** What settings that are each allowed cannot be together, as one sentence; null when they agree. */
function contradictionIn(settings: Settings): string | null {
  const { WORKERS, REDIS_URL } = settings;
  const shared = (['DATABASE_URL', 'S3_BUCKET'] as const).filter((name) => settings[name] === undefined);
  if (WORKERS > 1 && REDIS_URL === undefined) {
    const missing = listOf(['REDIS_URL', ...shared]);
    return `WORKERS is ${WORKERS}, and workers find and share their rooms by services: set ${missing} too, or WORKERS to 1.`;
  }
  if (REDIS_URL !== undefined && shared.length > 0) {
    return `REDIS_URL lets several workers serve, and they must share what they store: set ${listOf(shared)} too.`;
  }
  for (const name of ['BUS_PORT', 'ADMIN_PORT'] as const) {
    const first = settings[name] ?? 0;
    if (first > 0 && first + WORKERS - 1 > PORT_MAX)
      return `${name} is ${first}, and ${WORKERS} workers take as many ports from there on: set it to ${PORT_MAX + 1 - WORKERS} or less.`;
  }
  const { HOST, PORT, ADMIN_HOST, ADMIN_PORT = 0 } = settings;
  const isShared = HOST === ADMIN_HOST || isEverywhere(HOST) || isEverywhere(ADMIN_HOST);
  if (isShared && ADMIN_PORT > 0 && ADMIN_PORT <= PORT && PORT < ADMIN_PORT + WORKERS)
    return `PORT is ${PORT}, and ADMIN_PORT takes that one too: set one of them to another.`;
  return null;
}

/** `A`, `A and B`, `A, B and C`. */
function listOf(names: readonly string[], last: 'and' | 'or' = 'and'): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1)}`;
}

function defaultOf(schema: TSchema): unknown {
  return (schema as { default?: unknown }).default;
}

function fromText(value: string, schema: TSchema): unknown {
  const { type } = schema as { type?: string };
  if (type === 'integer' && /^-?\d+$/.test(value)) return Number(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}
