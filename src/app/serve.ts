/** The server's process: reads the command line and the settings and becomes what they say, one worker or the supervisor of several. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findSupervisor } from '../adapters/child-workers.ts';
import { LogOutput } from '../adapters/log-output.ts';
import { spareTheOnlyCore } from '../adapters/one-core.ts';
import { readPreset } from '../adapters/preset-file.ts';
import { systemClock } from '../base/clock.ts';
import { type Log, makeLog } from '../base/observe.ts';
import { StartRefused } from '../base/start-refused.ts';
import { readSettings, type Settings } from '../config.ts';
import type { SupervisorLink } from '../kernel/cluster/child-worker.ts';
import { EXIT, helpText, readCommandLine } from './command-line.ts';
import { endWith } from './end-with.ts';

/** Resolves when a worker serves; the process then ends by itself. `main` is the file that workers run. */
export async function serve(main: URL): Promise<void> {
  const line = readCommandLine(process.argv.slice(2));
  if (line.does === 'help') return printed(helpText());
  if (line.does === 'version') return printed(`${versionOfThis()}\n`);
  if (line.does === 'refuse') endWith(line.sentence, EXIT.wrongUse);
  Object.assign(process.env, line.environment); // workers that this process starts inherit it
  const settings = settingsOrExit();
  const link = findSupervisor();
  const log = openLog(settings, link);
  process.on('uncaughtException', (error) => {
    log.error({ err: error }, 'uncaught error; ending, because the state behind it cannot be trusted');
    process.exit(1);
  });
  try {
    await become(settings, { log, link, entry: fileURLToPath(main) });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    if (link === null) endWith(error.message);
    await link.report({ type: 'refused', sentence: error.message });
    process.exit(1); // the supervisor says why, once for all workers
  }
}

function openLog({ LOG_LEVEL }: Settings, link: SupervisorLink | null): Log {
  const onLost = (lines: number): void => log.error({ lines }, 'log lines lost: they could not be written in time');
  const output = new LogOutput({ fd: process.stdout.fd, clock: systemClock, onLost });
  process.on('exit', () => output.finish());
  process.stdout.on('error', () => undefined); // of the welcome: whoever cannot hear it is still served
  const log = makeLog(LOG_LEVEL, output);
  return link === null ? log : log.child({ worker: link.index });
}

interface Becoming {
  readonly log: Log;
  readonly link: SupervisorLink | null;
  readonly entry: string;
}

/** Each part is loaded only where it is needed: a supervisor is small. */
async function become(settings: Settings, { log, link, entry }: Becoming): Promise<void> {
  if (link === null && settings.WORKERS > 1) {
    const { supervise } = await import('./supervisor-process.ts');
    const { code, sentence } = await supervise(settings, { log, entry });
    if (sentence !== null) endWith(sentence);
    process.exit(code);
  }
  spareTheOnlyCore();
  const { work } = await import('./worker-process.ts');
  await work(settings, { log, link });
}

function settingsOrExit(): Settings {
  try {
    return readSettings(process.env, readPreset(process.env.CONFIG_FILE));
  } catch (error) {
    return endWith(error instanceof Error ? error.message : String(error), EXIT.wrongUse);
  }
}

function printed(text: string): void {
  process.stdout.write(text);
}

function versionOfThis(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version;
}
