/** Reads the settings, starts the app, says how to use it, drains on SIGTERM. Nothing else. */
import { readFileSync } from 'node:fs';
import { welcome } from './app/welcome.ts';
import { startApp } from './app.ts';
import { systemClock } from './base/clock.ts';
import { makeLog } from './base/observe.ts';
import { StartRefused } from './base/start-refused.ts';
import { readSettings, type Settings } from './config.ts';

/** Longest a drain may take; Kubernetes kills after 30 s. */
const DRAIN_MS_MAX = 25_000;

async function main(): Promise<void> {
  const settings = settingsOrExit();
  const log = makeLog(settings.LOG_LEVEL);
  process.on('uncaughtException', (error) => {
    log.error({ err: error }, 'uncaught error; ending, because the state behind it cannot be trusted');
    process.exit(1);
  });
  try {
    const starting = startApp(settings, { log, onFatal: (reason) => endWith(reason) });
    drainOnSignal(starting);
    process.stdout.write(welcome(await starting));
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    endWith(error.message);
  }
}

function settingsOrExit(): Settings {
  try {
    const file = process.env.CONFIG_FILE;
    return readSettings(
      process.env,
      file === undefined ? {} : (JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>),
    );
  } catch (error) {
    return endWith(error instanceof Error ? error.message : String(error));
  }
}

/** A signal during the start takes effect after it; one during the drain changes nothing: Ctrl-C reaches us from the terminal and from npm. */
function drainOnSignal(starting: Promise<{ stop(): Promise<void> }>): void {
  let isDraining = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isDraining) return;
      isDraining = true;
      systemClock.after(DRAIN_MS_MAX, () =>
        endWith(`The drain took longer than ${DRAIN_MS_MAX} ms; what was acknowledged is safe.`),
      );
      starting.then(drain, () => undefined); // who awaits the start deals with its failure
    });
  }
}

function drain(app: { stop(): Promise<void> }): void {
  app.stop().then(
    () => process.exit(0),
    (error: unknown) => endWith(`The drain failed: ${error instanceof Error ? error.message : String(error)}`),
  );
}

function endWith(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

await main();
