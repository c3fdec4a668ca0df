/** Waiting for a condition: the only place of the end-to-end tests where time passes by itself. */
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_EVERY_MS = 5;
/** Patient: beside the simulation, on a slow machine, a client took more than 8 s to get in. */
const TIMEOUT_MS = 20_000;

/**
 * The first value of `condition` that is neither false, null nor undefined; an assertion that throws counts as "not yet".
 * @throws an Error naming `what`, with the last failure as its cause, after `timeoutMs`.
 */
export async function until<Value>(
  what: string,
  condition: () => Value | Promise<Value>,
  { timeoutMs = TIMEOUT_MS }: { timeoutMs?: number } = {},
): Promise<Exclude<Value, false | null | undefined>> {
  const deadlineMs = performance.now() + timeoutMs;
  let failure: unknown;
  do {
    try {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined) return value as Exclude<Value, false | null | undefined>;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    await sleep(POLL_EVERY_MS);
  } while (performance.now() < deadlineMs);
  throw new Error(`Waited ${timeoutMs} ms in vain until ${what}.`, { cause: failure });
}
