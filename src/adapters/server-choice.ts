/** Which server serves: uWebSockets.js where its binary loads, else `node:http` with `ws`. One line in the log says which and why. */
import type { Log } from '../base/observe.ts';
import type { MakeServer } from '../kernel/transport/server.ts';
import { makeNodeServer } from './node-server.ts';
import { loadUws } from './uws-server.ts';

/** `load` is a parameter so that a test can be a machine without a binary. */
export async function chooseServer({ log, load = loadUws }: { log: Log; load?: () => Promise<MakeServer> }): Promise<MakeServer> {
  try {
    const makeUwsServer = await load();
    log.info({ server: 'uWebSockets.js' }, 'server chosen');
    return makeUwsServer;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ server: 'node:http and ws', reason }, 'server chosen');
    return makeNodeServer;
  }
}
