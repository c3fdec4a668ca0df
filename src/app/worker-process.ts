/** This process as one worker: it starts the app, tells its supervisor if it has one, and drains when it is asked to end. */
import { type App, startApp } from '../app.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import { StartEnded } from '../base/start-refused.ts';
import type { Settings } from '../config.ts';
import { type SupervisorLink, stayAlive } from '../kernel/cluster/child-worker.ts';
import { endWith } from './end-with.ts';
import { welcome } from './welcome.ts';

/** Longest a drain may take; Kubernetes kills after 30 s, a supervisor after 28 s. */
const DRAIN_MS_MAX = 25_000;
/** And then to give up the lease. */
const GIVE_UP_MS_MAX = 1_000;

/**
 * Resolves when it serves; the process then ends by itself, in order after SIGTERM, SIGINT, SIGHUP where nobody supervises it, the
 * admin port's drain, or the end of its supervisor.
 * @throws StartRefused with one sentence for the person who starts it.
 */
export async function work(settings: Settings, { log, link }: { log: Log; link: SupervisorLink | null }): Promise<void> {
  let askToEnd: () => void = () => undefined;
  const ending = new Promise<void>((resolve) => {
    askToEnd = resolve;
  });
  const drain = drainOnce(() => starting, askToEnd);
  if (link !== null) stayAlive(link, systemClock);
  const starting = startApp(settings, {
    log,
    onFatal: (reason) => endWith(reason),
    onDrainAsked: drain,
    ending,
    sharing: link === null ? 'alone' : 'shared',
    onRegistered: (incarnation) => void link?.report({ type: 'registered', incarnation }),
  });
  process.on('SIGTERM', drain);
  process.on('SIGINT', drain);
  process.on('SIGHUP', link === null ? drain : ignored); // a supervisor restarts us; the same signal reaches all when sent to the whole group
  if (link !== null) followSupervisor(link, { log, drain });
  const app = await starting.catch((error: unknown) => {
    if (error instanceof StartEnded) process.exit(0); // as asked
    throw error;
  });
  if (link === null) welcome(app, settings, { log });
  else await link.report({ type: 'serving', url: app.url });
}

const ignored = (): void => undefined;

function followSupervisor(link: SupervisorLink, { log, drain }: { log: Log; drain: () => void }): void {
  link.onGone(() => {
    log.warn('supervisor gone; this worker drains');
    drain();
  });
}

/** Asked during the start it takes effect after it, if that does not end at once; asked again it changes nothing: Ctrl-C reaches us from the terminal and from npm. */
function drainOnce(starting: () => Promise<App>, onAsked: () => void): () => void {
  let isDraining = false;
  return () => {
    if (isDraining) return;
    isDraining = true;
    onAsked();
    systemClock.after(DRAIN_MS_MAX, () => giveUp(starting()));
    starting().then(stop, () => undefined); // who awaits the start deals with its failure
  };
}

/** Whatever hangs, the process ends. */
function giveUp(starting: Promise<App>): void {
  const end = (): never => endWith(`The drain took longer than ${DRAIN_MS_MAX} ms; what was acknowledged is safe.`);
  systemClock.after(GIVE_UP_MS_MAX, end);
  starting.then((app) => app.giveUp()).then(end, end);
}

function stop(app: App): void {
  app.stop().then(
    () => process.exit(0),
    (error: unknown) => endWith(`The drain failed: ${error instanceof Error ? error.message : String(error)}`),
  );
}
