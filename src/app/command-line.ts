/**
 * The command line of the server: every setting is a flag too, DATABASE_URL is --database-url. It knows the table of settings, not what
 * they do; a flag wins over the environment, which wins over a preset file.
 */
import { parseArgs } from 'node:util';
import Type from 'typebox';
import { SETTINGS } from '../config.ts';

/** How the process ends, for whoever started it. */
export const EXIT = { inOrder: 0, failed: 1, wrongUse: 2 } as const;

export type CommandLine =
  | { readonly does: 'serve'; readonly environment: Readonly<Record<string, string>> }
  | { readonly does: 'help' }
  | { readonly does: 'version' }
  | { readonly does: 'refuse'; readonly sentence: string };

type SettingName = keyof typeof SETTINGS;

/** Everybody on the machine can read the command line of a process. */
const NOT_FLAGS: readonly SettingName[] = ['SECRET_KEY', 'OTHER_SECRET_KEY'];
const COMMON: readonly SettingName[] = [
  'PORT',
  'HOST',
  'PUBLIC_URL',
  'DATA_DIR',
  'DATABASE_URL',
  'REDIS_URL',
  'S3_BUCKET',
  'WORKERS',
  'ADMIN_PORT',
  'LOG_LEVEL',
];

const flagOf = (name: string): string => name.toLowerCase().replaceAll('_', '-');
const FLAGS: ReadonlyMap<string, SettingName> = new Map(
  (Object.keys(SETTINGS) as SettingName[]).filter((name) => !NOT_FLAGS.includes(name)).map((name) => [flagOf(name), name]),
);

/** What the arguments after the script ask for. Never throws: what is wrong with them is a sentence. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { tokens } = parseArgs({ args: [...args], options: optionsOf(), strict: false, allowPositionals: true, tokens: true });
  const environment: Record<string, string> = {};
  for (const token of tokens) {
    if (token.kind !== 'option') return refuse(`"${token.kind === 'positional' ? token.value : '--'}" is not understood`);
    if (token.name === 'help' || token.name === 'h') return { does: 'help' };
    if (token.name === 'version') return { does: 'version' };
    const setting = token.name === 'config' ? 'CONFIG_FILE' : FLAGS.get(token.name);
    if (setting === undefined) return refuse(unknownFlag(token.name));
    const value = token.value ?? (isSwitch(setting) ? 'true' : undefined);
    if (value === undefined || value === '') return refuse(`--${token.name} takes a value`);
    environment[setting] = value;
  }
  return { does: 'serve', environment };
}

function refuse(what: string): CommandLine {
  return { does: 'refuse', sentence: `${what}; --help says what is.` };
}

function unknownFlag(name: string): string {
  const secret = NOT_FLAGS.find((setting) => flagOf(setting) === name);
  if (secret === undefined) return `There is no flag --${name}`;
  return `Everybody on this machine could read --${name}: set it as ${secret} in the environment`;
}

function isSwitch(setting: string): boolean {
  return setting in SETTINGS && Type.IsBoolean(SETTINGS[setting as SettingName]);
}

function optionsOf(): Record<string, { type: 'boolean' | 'string'; short?: string }> {
  const flags = [...FLAGS].map(([flag, name]) => [flag, { type: isSwitch(name) ? 'boolean' : 'string' }] as const);
  return {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean' },
    config: { type: 'string' },
    ...Object.fromEntries(flags),
  };
}

/** What --help prints. */
export function helpText(): string {
  const rows: [string, string][] = [
    ...COMMON.map((name): [string, string] => [`--${flagOf(name)} ${placeholder(name)}`, firstSentence(name)]),
    ['--config FILE', 'Settings from a JSON file, such as config/sdk.json.'],
    ['--help, --version', ''],
  ];
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return `Atrium: rooms, presence, Storage and Yjs for your app. Without flags it serves on port 8080 with a private Postgres.

  npm start                         one worker, data in .atrium
  npm start -- --port 9000          flags come after --
  node dist/main.js --workers 4     four workers (needs --database-url, --redis-url, --s3-bucket)

${rows.map(([flag, meaning]) => `  ${flag.padEnd(width)}  ${meaning}`.trimEnd()).join('\n')}

Every setting of config/README.md is a flag in the same way, but for ${NOT_FLAGS.join(' and ')}, which are read from the environment only.
A flag wins over the environment variable of its name, and that over the file. Others on the machine can read flags:
an address with a password in it belongs in the environment.

SIGTERM and Ctrl-C drain, and so does SIGHUP with one worker; with several it restarts them one by one.
Exit codes: ${EXIT.inOrder} ended as asked, ${EXIT.failed} could not start or go on (the last line says why), ${EXIT.wrongUse} a flag or setting is wrong.
`;
}

function placeholder(name: SettingName): string {
  const { type } = SETTINGS[name] as { type?: string };
  return type === 'integer' ? 'N' : name.endsWith('URL') ? 'URL' : name.endsWith('DIR') ? 'FOLDER' : name;
}

function firstSentence(name: SettingName): string {
  const { description = '', default: fallback } = SETTINGS[name] as { description?: string; default?: unknown };
  const [sentence = ''] = description.split(/(?<=\.) /);
  return fallback === undefined ? sentence : `${sentence} [${String(fallback)}]`;
}
