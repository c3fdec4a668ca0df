/** The log: pino, fixed phrases and fields with units; secrets are removed here, so no caller has to remember to. */
import { type Logger, pino } from 'pino';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields that may carry a credential, wherever a request or a setting is logged. */
const SECRET_FIELDS = [
  'authorization',
  'token',
  'tok',
  'secretKey',
  'headers.authorization',
  '*.authorization',
  '*.token',
  '*.secretKey',
];

export function makeLog(level: LogLevel): Log {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_FIELDS, censor: '[removed]' },
  });
}

/** For tests and tools that have nothing to say. */
export const silentLog: Log = pino({ level: 'silent' });
