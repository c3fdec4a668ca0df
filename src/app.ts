/**
 * The composition root: picks the adapters from the settings and wires everything. The only place that knows which mode this is.
 *
 * Start goes from the ground up (database, rooms, server), stop the other way round.
 */

import { probePort } from './adapters/listen-probe.ts';
import { openFilesMax } from './adapters/open-files.ts';
import { chooseServer } from './adapters/server-choice.ts';
import { type Admin, openAdmin } from './app/admin.ts';
import { watchBacklog } from './app/backlog.ts';
import { openCluster } from './app/cluster.ts';
import { openDatabase } from './app/database.ts';
import { keysFor, type ServerKeys } from './app/keys.ts';
import { countClose, measuredHttp } from './app/measured.ts';
import { restApi } from './app/rest.ts';
import { startRooms } from './app/rooms.ts';
import { socketLimits } from './app/socket-limits.ts';
import { openTracing } from './app/tracing.ts';
import { openVitals } from './app/vitals.ts';
import { openWeb } from './app/web.ts';
import { openWebhooks } from './app/webhooks.ts';
import { localUrl } from './base/address.ts';
import { systemClock, systemRandom } from './base/clock.ts';
import { type Incarnation, newId } from './base/ids.ts';
import type { Log } from './base/observe.ts';
import type { Settings } from './config.ts';
import { SqlOutbox } from './kernel/persistence/sql-outbox.ts';
import { countInFlight } from './kernel/transport/in-flight.ts';
import { Gateway } from './room/gateway.ts';
import { Intake } from './room/intake.ts';

export interface App extends ServerKeys {
  readonly url: string;
  readonly port: number;
  /** Drains: no newcomers, sockets sent away, every room written down. Resolves when nothing is left running, also for who asks again. */
  stop(): Promise<void>;
  /** For a `stop` that takes too long, right before the process ends: others may take at once what it has not given up yet. Never rejects. */
  giveUp(): Promise<void>;
}

export interface StartOptions {
  readonly log: Log;
  /** Something that cannot be served without is gone; the process should end and be started again. */
  readonly onFatal: (reason: string) => void;
  /** A lease was taken under this name: once this process has ended, whoever saw that may declare the name dead. */
  readonly onRegistered?: (incarnation: Incarnation) => void;
  /** Resolves when somebody asks that this process end: a start that waits for the database then ends with StartEnded. */
  readonly ending?: Promise<void>;
  /** Somebody asked on the admin port that this process end in order. */
  readonly onDrainAsked?: () => void;
  /** `shared`: other workers of this machine listen on PORT too, and whoever started them has asked for it once. Default: `alone`. */
  readonly sharing?: 'alone' | 'shared';
}

/** Between saying that this worker goes and refusing what comes: load balancers and other workers look about once a second. */
const NOTICE_MS = 2_000;
const WORKER_NAME_LENGTH = 8;

/** @throws StartRefused with one sentence for the person who starts it, or StartEnded. */
export async function startApp(settings: Settings, options: StartOptions): Promise<App> {
  const { log, onDrainAsked } = options;
  const readiness: Readiness = { whyNot: () => 'it is starting', whatWaits: () => null };
  const admin = await openAdmin(settings, {
    log,
    whyNotReady: () => readiness.whyNot(),
    whatWaits: () => readiness.whatWaits(),
    drain: () => onDrainAsked?.(),
  });
  return startServing(settings, { ...options, admin, readiness }).catch(async (error: unknown) => {
    await admin.close();
    throw error;
  });
}

/** What the admin port says of this worker while it starts, serves and drains. */
interface Readiness {
  whyNot: () => string | null;
  whatWaits: () => string | null;
}

interface Serving extends StartOptions {
  readonly admin: Admin;
  readonly readiness: Readiness;
}

async function startServing(
  settings: Settings,
  { log, onFatal, onRegistered, ending, sharing = 'alone', admin, readiness }: Serving,
): Promise<App> {
  const refusal = sharing === 'alone' ? await probePort(settings.HOST, settings.PORT) : null; // before a database is made for nothing
  if (refusal !== null) throw refusal;
  const keys = await keysFor(settings);
  const [makeServer, web] = await Promise.all([chooseServer({ log }), openWeb(settings)]);
  const database = await openDatabase(settings, { log, onFatal, ending });
  let url = settings.PUBLIC_URL ?? '';
  const workerName = newId(systemRandom, '', WORKER_NAME_LENGTH);
  const { tracer, close: closeTracing } = await openTracing(settings, { log, workerName });
  const cluster = await openCluster(settings, { log, keys, workerName }).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const { connectionsMax, socketsMax } = socketLimits(settings.CONNECTIONS_MAX, { openFiles: openFilesMax(), log });
  const intake = new Intake({ clock: systemClock, log });
  const { metrics, shedding, report } = openVitals(settings, { log, metrics: admin.metrics, workerName, intake });
  const outbox = new SqlOutbox({ db: database.db, clock: systemClock, log });
  const webhooks = openWebhooks(settings, { db: database.db, log, outbox, workerName });
  const rooms = await startRooms({
    settings,
    log,
    keys,
    database,
    cluster,
    metrics,
    tracer,
    outbox,
    watcher: webhooks.watcher,
    publicUrl: () => url,
    report,
    sheds: shedding.sheds,
    intake,
    connectionsMax,
    ending,
    ...(onRegistered !== undefined && { onRegistered }),
  }).catch(async (error: unknown) => {
    shedding.close();
    await cluster.close();
    await database.close();
    throw error;
  });
  const rest = restApi({ settings, log, metrics, tracer, keys, db: database.db, rooms, outbox, webhooks, sheds: shedding.sheds });
  const requests = countInFlight(measuredHttp(web.serve(rest), { metrics, clock: systemClock }));
  const backlog = watchBacklog({ db: database.db, clock: systemClock, log, metrics });
  outbox.start();
  await webhooks.start();
  const server = makeServer({
    http: requests.handle,
    upgrades: Gateway.serves,
    socket: (request, socket) => rooms.worker.gateway.accept(request, socket),
    frameBytesMax: settings.FRAME_BYTES_MAX,
    sendBufferBytesMax: SEND_BUFFER_BYTES_BACKSTOP,
    reportBug: (error) => log.error({ err: error }, 'handler failed'),
    socketClosed: (code) => countClose(metrics, code),
    socketsMax,
  });

  const stopAll = async (): Promise<void> => {
    readiness.whyNot = () => 'it is draining';
    const standing = await rooms.worker.announceEnd();
    if (standing === 'others go on') await new Promise<void>((resolve) => systemClock.after(NOTICE_MS, resolve));
    server.stopListening();
    await rooms.worker.stop();
    await requests.settled();
    await rooms.close();
    await outbox.close();
    await backlog.close();
    await webhooks.close();
    await new Promise<void>((resolve) => systemClock.soon(resolve)); // their last bytes go out
    await server.close();
    await cluster.close();
    await database.close();
    await closeTracing();
    shedding.close();
    await admin.close();
  };
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= stopAll();
    return stopped;
  };
  try {
    const { port } = await server.listen({ host: settings.HOST, port: settings.PORT, sharing });
    url = settings.PUBLIC_URL ?? localUrl(settings.HOST, port);
    readiness.whyNot = () => (rooms.worker.canServe ? null : 'it holds no lease at the moment');
    readiness.whatWaits = () => waitOf(rooms.worker.oldestAppendMs);
    return { url, port, ...keys, stop, giveUp: () => rooms.worker.giveUp() };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A commit takes milliseconds; a Postgres that restarts is back by then. */
const LONG_WAIT_MS = 5_000;

function waitOf(oldestAppendMs: number): string | null {
  if (oldestAppendMs < LONG_WAIT_MS) return null;
  return `the oldest change has waited ${Math.round(oldestAppendMs / 1_000)} s for its commit`;
}

/** The adapter's own bound, beyond any honest backlog: a document of the largest size may be on its way to a slow reader. */
const SEND_BUFFER_BYTES_BACKSTOP = 128 * 1024 * 1024;
