/** This process as a supervisor: it chooses what its workers share, starts them, passes signals on, and says when they serve. */
import { childWorkers } from '../adapters/child-workers.ts';
import { portToShare } from '../adapters/listen-probe.ts';
import { openPostgres } from '../adapters/postgres-sql.ts';
import { mustReadPostgresUrl } from '../adapters/postgres-url.ts';
import { systemClock, systemRandom } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import type { Settings } from '../config.ts';
import { fenceAtOnce } from '../kernel/cluster/dead-fence.ts';
import { keysFor } from './keys.ts';
import { Supervisor, type SupervisorEnd } from './supervisor.ts';
import { welcome } from './welcome.ts';

/** Fences are short and rare; one that hangs must not keep the others waiting. */
const FENCE_POOL_MAX = 4;
const FENCE_MS_MAX = 1_000;

/**
 * Runs until SIGTERM or SIGINT has ended all workers, or they would not start. SIGHUP restarts them one after the other.
 * @throws StartRefused with one sentence for the person who starts it.
 */
export async function supervise(settings: Settings, { log, entry }: { log: Log; entry: string }): Promise<SupervisorEnd> {
  mustReadPostgresUrl(settings.DATABASE_URL!); // with more workers than one it is required
  const keys = await keysFor(settings);
  const port = await portToShare(settings.HOST, settings.PORT);
  const db = openPostgres({
    url: settings.DATABASE_URL!,
    poolMax: FENCE_POOL_MAX,
    log,
    lockMsMax: FENCE_MS_MAX,
    statementMsMax: FENCE_MS_MAX,
    connectMsMax: FENCE_MS_MAX,
  });
  const tools = { clock: systemClock, random: systemRandom, log };
  const supervisor = new Supervisor({
    ...tools,
    startChild: childWorkers({ entry }),
    settings: Array.from({ length: settings.WORKERS }, (_, index) => settingsOf(index, { ...settings, PORT: port })),
    fence: (incarnation) => fenceAtOnce(incarnation, { db, ...tools }),
    onServing: (url) => welcome({ url, ...keys }, settings, { log }),
  });
  process.on('SIGTERM', () => supervisor.stop());
  process.on('SIGINT', () => supervisor.stop());
  process.on('SIGHUP', () => supervisor.roll());
  log.info({ pid: process.pid, workers: settings.WORKERS }, 'supervisor started'); // SIGHUP is for this process, not for npm above it
  return supervisor.run();
}

/** All share the public port; of the others each has its own, counted from the first, unless the system is to choose: a worker counts no further. */
function settingsOf(index: number, { PORT, BUS_PORT, ADMIN_PORT }: Settings): Record<string, string> {
  const own: Record<string, string> = { WORKERS: '1', PORT: String(PORT), BUS_PORT: String(BUS_PORT && BUS_PORT + index) };
  if (ADMIN_PORT !== undefined) own.ADMIN_PORT = String(ADMIN_PORT && ADMIN_PORT + index);
  return own;
}
