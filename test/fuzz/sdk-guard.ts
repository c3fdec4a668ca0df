/**
 * Keeps what SDK clients say to the console and throw in timers from flooding, or ending, a run of thousands of clients on bad networks.
 * In a browser both would go to the console and the page would go on. Import it before the SDK, which takes hold of the console when it loads.
 */
const { warn, error } = console;

/** How often clients said it and went on. */
export const sdkTroubles = { warnings: 0, textRebuilds: 0, thrownInTimers: 0 };

const listen = (...words: unknown[]): void => {
  if (String(words[0]).startsWith('LiveText: acknowledgement did not match')) sdkTroubles.textRebuilds += 1;
  else sdkTroubles.warnings += 1;
};
Object.assign(console, { warn: listen, error: listen });
await import('@liveblocks/client');
Object.assign(console, { warn, error });

const { setTimeout: plainTimeout } = globalThis;
globalThis.setTimeout = Object.assign(
  (task: (...details: unknown[]) => void, delayMs?: number, ...details: unknown[]) =>
    plainTimeout(() => guarded(() => task(...details)), delayMs),
  plainTimeout,
) as typeof globalThis.setTimeout;

function guarded(task: () => void): void {
  try {
    task();
  } catch (thrown) {
    if (!(thrown instanceof Error && thrown.stack?.includes('@liveblocks'))) throw thrown;
    sdkTroubles.thrownInTimers += 1;
  }
}
