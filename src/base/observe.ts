/** The log: pino, fixed phrases and fields with units; secrets are removed here, so no caller has to remember to. */
import { type Logger, pino } from 'pino';
import { type Clock, systemClock } from './clock.ts';
import { AppError, type ErrorCode } from './errors.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields that may carry a credential, wherever a request, a setting or an error is logged. */
const SECRET_FIELDS = [
  ...['authorization', 'cookie', 'token', 'tok', 'secret', 'secretKey', 'secretKeys', 'password'],
  ...['accessKeyId', 'secretAccessKey'],
  ...['SECRET_KEY', 'OTHER_SECRET_KEY', 'DATABASE_URL', 'REDIS_URL'], // the latter two may hold a password
];
/** How deep they are looked for: a request within a field, its headers, one of them. */
const DEPTHS = ['', '*.', '*.*.'];
const SECRET_PATHS = DEPTHS.flatMap((depth) => SECRET_FIELDS.map((field) => `${depth}${field}`));

/** Where lines go, each with its end. */
export interface LogDestination {
  write(line: string): void;
}

/** What many calls meet at once, each of which would say so; and again with the next. Their stacks say where somebody waited, which is everywhere. */
const FLOODS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['DATABASE_UNAVAILABLE', 'BODY_FOUND_NO_PLACE']);
const FLOOD_EVERY_MS = 10_000;

/** Of these errors, each phrase at most once in ten seconds, with how many were left out since: phrases are fixed, so that they are few. */
export function makeLog(level: LogLevel, destination: LogDestination, clock: Pick<Clock, 'monotonicMs'> = systemClock): Log {
  const floods = new Map<string, { saidMs: number; leftOut: number }>();
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_PATHS, censor: '[removed]' },
      hooks: {
        logMethod(line, write) {
          const [fields, phrase] = line;
          const error = floodIn(fields);
          if (error === null) return write.apply(this, line);
          const nowMs = clock.monotonicMs();
          const last = floods.get(`${error.code} ${phrase}`);
          if (last !== undefined && nowMs - last.saidMs < FLOOD_EVERY_MS) {
            last.leftOut += 1;
            return;
          }
          floods.set(`${error.code} ${phrase}`, { saidMs: nowMs, leftOut: 0 });
          const leftOut = (last?.leftOut ?? 0) > 0 ? { leftOut: last!.leftOut } : {};
          write.apply(this, [{ ...(fields as object), err: { code: error.code, ...error.facts }, ...leftOut }, phrase]);
        },
      },
    },
    destination,
  );
}

function floodIn(fields: unknown): AppError | null {
  if (typeof fields !== 'object' || fields === null || !('err' in fields)) return null;
  const { err } = fields;
  return err instanceof AppError && FLOODS.has(err.code) ? err : null;
}

/** For tests and tools that have nothing to say. */
export const silentLog: Log = pino({ level: 'silent' });
