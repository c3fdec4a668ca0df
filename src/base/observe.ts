/** The log: pino, fixed phrases and fields with units; secrets are removed here, so no caller has to remember to. */
import { type Logger, pino } from 'pino';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields that may carry a credential, wherever a request, a setting or an error is logged. */
const SECRET_FIELDS = [
  ...['authorization', 'cookie', 'token', 'tok', 'secret', 'secretKey', 'password', 'accessKeyId', 'secretAccessKey'],
  ...['SECRET_KEY', 'DATABASE_URL', 'REDIS_URL'], // the latter two may hold a password
];
/** How deep they are looked for: a request within a field, its headers, one of them. */
const DEPTHS = ['', '*.', '*.*.'];
const SECRET_PATHS = DEPTHS.flatMap((depth) => SECRET_FIELDS.map((field) => `${depth}${field}`));

/** Where lines go, each with its end. */
export interface LogDestination {
  write(line: string): void;
}

export function makeLog(level: LogLevel, destination: LogDestination): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_PATHS, censor: '[removed]' },
    },
    destination,
  );
}

/** For tests and tools that have nothing to say. */
export const silentLog: Log = pino({ level: 'silent' });
