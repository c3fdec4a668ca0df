/**
 * What a supervisor needs of a worker: a real lease and a socket on the shared port, with nothing behind them. It prints one JSON line when it
 * serves, and answers every request with the id of its process.
 */
import { openPostgres } from '../../src/adapters/postgres-sql.ts';
import { loadUws } from '../../src/adapters/uws-server.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { type SupervisorLink, stayAlive } from '../../src/kernel/cluster/child-worker.ts';
import { Membership } from '../../src/kernel/cluster/membership.ts';
import { deafHandler } from './server-peer.ts';

export async function work(link: SupervisorLink): Promise<void> {
  stayAlive(link, systemClock);
  const settings = readSettings(process.env);
  const print = (line: object): boolean =>
    process.stdout.write(`${JSON.stringify({ worker: link.index, pid: process.pid, ...line })}\n`);
  const db = openPostgres({ url: settings.DATABASE_URL!, poolMax: 2, log: silentLog });
  const membership = await Membership.join({
    db,
    lease: db,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    address: asWorkerAddress(`127.0.0.1:${settings.BUS_PORT}`),
    onLapsed: () => undefined,
    onRecalled: () => undefined,
    onRegistered: (incarnation) => void link.report({ type: 'registered', incarnation }),
  });
  const makeServer = await loadUws();
  const server = makeServer({
    http: async () => ({ status: 200, body: String(process.pid) }),
    upgrades: () => false,
    socket: () => deafHandler,
    frameBytesMax: 0,
    sendBufferBytesMax: 0,
    reportBug: (error) => print({ bug: String(error) }),
  });
  const { port } = await server.listen({ host: settings.HOST, port: settings.PORT, sharing: 'shared' });
  const end = async (): Promise<void> => {
    server.stopListening();
    await membership.leave();
    await server.close();
    await db.close();
    process.exit(0);
  };
  process.on('SIGTERM', () => void end());
  process.on('SIGHUP', () => undefined);
  link.onGone(() => void end());
  await link.report({ type: 'serving', url: `http://127.0.0.1:${port}` });
  print({ serves: membership.incarnation, port, busPort: settings.BUS_PORT, adminPort: settings.ADMIN_PORT ?? null });
}
