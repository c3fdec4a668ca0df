/**
 * Time and chance as inputs. Nobody else reads `Date.now`, `performance.now`, `setTimeout` or `crypto`, so a test
 * can own them: `manualClock` moves only when told.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { IsDate } from 'typebox/format';

export interface Clock {
  /** Milliseconds since the Unix epoch; may jump. For timestamps and token expiry only. */
  nowMs(): number;
  /** Milliseconds that never go back. For leases, deadlines and rates. */
  monotonicMs(): number;
  /** Runs `task` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` every `everyMs` until the returned function is called. */
  every(everyMs: number, task: () => void): () => void;
  /** Runs `task` when the current turn of the event loop has ended. */
  soon(task: () => void): void;
}

export interface Random {
  /** `size` random bytes. */
  bytes(size: number): Uint8Array;
  /** A random UUID, version 4. */
  uuid(): string;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every(everyMs, task) {
    const timer = setInterval(task, everyMs);
    return () => clearInterval(timer);
  },
  soon(task) {
    setImmediate(task);
  },
};

export const systemRandom: Random = {
  bytes: (size) => randomBytes(size),
  uuid: () => randomUUID(),
};

/** A number in [0, 1), in steps fine enough for delays and spreads. */
export function chanceFrom(random: Random): number {
  const [high = 0, low = 0] = random.bytes(2);
  return (high * 256 + low) / 65_536;
}

/** Whether less than `windowMs` have passed since `fromMs`, by a clock that may be set back: then they have passed. */
export function isWithin(windowMs: number, { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number }): boolean {
  return nowMs >= fromMs && nowMs - fromMs < windowMs;
}

/** ISO 8601 in UTC with milliseconds, the only form in which times leave the server. */
export function isoFromMs(ms: number): string {
  return new Date(ms).toISOString();
}

/** A time of ISO 8601, to the minute or finer, with its offset (RFC 3339, 5.6). */
const ISO = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i;

/** Such a time in ms since the epoch; null for any other text, and for a day that no calendar has, which `Date.parse` would take for a later one. */
export function msFromIso(text: string): number | null {
  const [, day] = ISO.exec(text) ?? [];
  const ms = day !== undefined && IsDate(day) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** Resolves after so long. */
export function pause(clock: Pick<Clock, 'after'>, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** Resolves when the work, which never rejects, is done, or when `ms` have passed: then the work goes on, and nobody waits for it. */
export function doneWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    void work.then(() => {
      cancel();
      resolve();
    });
  });
}
