/**
 * The composition root: picks the adapters from the settings and wires everything. The only place that knows which mode this is.
 *
 * Start goes from the ground up (database, rooms, server), stop the other way round.
 */

import { probePort } from './adapters/listen-probe.ts';
import { chooseServer } from './adapters/server-choice.ts';
import { openDatabase } from './app/database.ts';
import { keysFor } from './app/keys.ts';
import { restApi } from './app/rest.ts';
import { startRooms } from './app/rooms.ts';
import type { Log } from './base/observe.ts';
import type { Settings } from './config.ts';
import { Gateway } from './room/gateway.ts';

export interface App {
  readonly url: string;
  readonly port: number;
  readonly secretKey: string;
  readonly publicKey: string;
  readonly hasDevelopmentKeys: boolean;
  /** Drains: no newcomers, sockets sent away, every room written down. Resolves when nothing is left running, also for who asks again. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly log: Log;
  /** Something that cannot be served without is gone; the process should end and be started again. */
  readonly onFatal: (reason: string) => void;
}

/** @throws StartRefused with one sentence for the person who starts it. */
export async function startApp(settings: Settings, { log, onFatal }: StartOptions): Promise<App> {
  const refusal = await probePort(settings.HOST, settings.PORT); // before a database is made for nothing
  if (refusal !== null) throw refusal;
  const keys = await keysFor(settings);
  const makeServer = await chooseServer({ log });
  const database = await openDatabase(settings, { log, onFatal });
  let url = settings.PUBLIC_URL ?? '';
  const rooms = await startRooms({ settings, log, keys, database, publicUrl: () => url }).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  const server = makeServer({
    http: restApi({ settings, log, keys, db: database.db, rooms }),
    upgrades: Gateway.serves,
    socket: (request, socket) => rooms.gateway.accept(request, socket),
    frameBytesMax: settings.FRAME_BYTES_MAX,
    sendBufferBytesMax: SEND_BUFFER_BYTES_BACKSTOP,
    reportBug: (error) => log.error({ err: error }, 'handler failed'),
  });

  const stopAll = async (): Promise<void> => {
    server.stopListening();
    await rooms.stop();
    await server.close();
    await database.close();
  };
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= stopAll();
    return stopped;
  };
  try {
    const { port } = await server.listen({ host: settings.HOST, port: settings.PORT });
    url = settings.PUBLIC_URL ?? `http://${settings.HOST === '0.0.0.0' ? 'localhost' : settings.HOST}:${port}`;
    return { url, port, ...keys, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The adapter's own bound, beyond any honest backlog: a document of the largest size may be on its way to a slow reader. */
const SEND_BUFFER_BYTES_BACKSTOP = 128 * 1024 * 1024;
