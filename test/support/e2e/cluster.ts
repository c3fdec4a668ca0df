/**
 * A cluster in this process: three workers on one real Postgres, Redis and S3, reached through a front that leads every client to a worker
 * that does not own its room.
 */
import { openPostgres } from '../../../src/adapters/postgres-sql.ts';
import { startApp } from '../../../src/app.ts';
import { asRoomId, asWorkerAddress } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { readSettings } from '../../../src/config.ts';
import { findOwnerAddress } from '../../../src/features/rooms/queries.ts';
import { preferredWorker } from '../../../src/kernel/cluster/placement.ts';
import { quietPorts } from './free-port.ts';
import { openFront } from './front.ts';

export interface TestCluster {
  readonly url: string;
  stop(): Promise<void>;
}

interface Place {
  readonly port: number;
  readonly busPort: number;
}

/** So many that a worker which neither owns a room nor is preferred for it always exists. */
const WORKERS = 3;

/** Settings of one worker, REDIS_URL among them; PORT is where clients reach the front. */
export interface ClusterSettings extends Readonly<Record<string, string>> {
  readonly PORT: string;
  readonly DATABASE_URL: string;
}

export async function startCluster(settings: ClusterSettings): Promise<TestCluster> {
  const first = await quietPorts(2 * WORKERS); // bound only once the services behind them have answered
  const places = Array.from(
    { length: WORKERS },
    (_, index): Place => ({ port: first + 2 * index, busPort: first + 2 * index + 1 }),
  );
  const url = `http://127.0.0.1:${settings.PORT}`;
  const apps = await Promise.all(
    places.map(({ port, busPort }) =>
      startApp(readSettings({ ...settings, PUBLIC_URL: url, PORT: String(port), BUS_PORT: String(busPort) }), {
        log: silentLog,
        onFatal: (reason) => {
          throw new Error(`a worker gave up: ${reason}`);
        },
      }),
    ),
  );
  const db = openPostgres({ url: settings.DATABASE_URL, poolMax: 2, log: silentLog });
  let turn = 0;
  const leadTo = async (roomId: string | null): Promise<number> => {
    turn += 1;
    const addresses = places.map(({ busPort }) => asWorkerAddress(`127.0.0.1:${busPort}`));
    const taken = new Set<string>();
    if (roomId !== null) {
      const owner = await findOwnerAddress(db, asRoomId(roomId)).catch(() => null); // an id that no room can have
      const preferred = preferredWorker(
        roomId,
        addresses.map((address) => ({ address, load: 0 })),
      );
      for (const address of [owner, preferred]) if (address !== null) taken.add(address);
    }
    const others = places.filter((_, index) => !taken.has(addresses[index]!));
    return others[turn % others.length]!.port;
  };
  const front = await openFront({ port: Number(settings.PORT), leadTo });
  return {
    url,
    async stop() {
      await Promise.all(apps.map((app) => app.stop()));
      await front.close();
      await db.close();
    },
  };
}
