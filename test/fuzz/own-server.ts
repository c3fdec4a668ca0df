/**
 * A server of this process on a Postgres of its own, for tests and for scripts that run without vitest; and a second reading of its rooms
 * from what is written down, past the live room.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Liveblocks } from '@liveblocks/node';
import { DiskBlobs } from '../../src/adapters/disk-blobs.ts';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres.ts';
import { openPostgres, type PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { startApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { type Log, silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { findRoomForEntry } from '../../src/features/rooms/queries.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { SqlSnapshots } from '../../src/kernel/persistence/sql-snapshots.ts';
import { decodeRecords } from '../../src/room/journal-record.ts';
import { emptyRoom } from '../../src/room/room.ts';
import type { RoomState } from '../../src/room/shapes.ts';
import { replayRecord, restoreSnapshot } from '../../src/room/snapshot.ts';
import type { TestServer } from '../support/e2e/server.ts';

export interface OwnServer extends TestServer {
  /** The room as the next owner would find it: snapshot and journal, read from the database. */
  recover(roomId: string): Promise<RoomState>;
  stop(): Promise<void>;
}

export async function startOwnServer(settings: Readonly<Record<string, string>> = {}, log: Log = silentLog): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-fuzz-'));
  await chmod(folder, 0o711); // Postgres may run as another user
  const fail = (reason: string): never => {
    throw new Error(`the server gave up: ${reason}`);
  };
  const postgres = await startEmbeddedPostgres({
    dataDir: folder,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    onExit: fail,
    settings: { fsync: 'off', shared_buffers: '16MB' }, // nobody cuts the power here
  });
  const keys = { secretKey: `sk_${randomBytes(16).toString('hex')}`, publicKey: `pk_${randomBytes(16).toString('hex')}` };
  const app = await startApp(
    readSettings({
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: folder,
      DATABASE_URL: postgres.url,
      SECRET_KEY: keys.secretKey,
      PUBLIC_KEY: keys.publicKey,
      STORAGE_TYPE_KEY: 'liveblocksType',
      MESSAGES_PER_SECOND_MAX: '100000',
      ...settings,
    }),
    { log, onFatal: fail },
  );
  const db = openPostgres({ url: postgres.url, poolMax: 2, log: silentLog });
  return {
    url: app.url,
    socketUrl: app.url.replace(/^http/, 'ws'),
    ...keys,
    backend: new Liveblocks({ secret: keys.secretKey, baseUrl: app.url }),
    restart: () => Promise.reject(new Error('this server is not restarted')),
    recover: (roomId) => recover(roomId, { db, folder }),
    async stop() {
      await app.stop();
      await db.close();
      await postgres.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function recover(roomId: string, { db, folder }: { db: PostgresSql; folder: string }): Promise<RoomState> {
  const found = await findRoomForEntry(db, asRoomId(roomId));
  if (found === null) throw new Error(`no room ${roomId}`);
  const blobs = new DiskBlobs({
    directory: join(folder, 'blobs'),
    publicUrl: () => '',
    secrets: [new Uint8Array(32)],
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  const journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
  const snapshots = new SqlSnapshots({ db, blobs, journal, clock: systemClock, log: silentLog });
  const room = emptyRoom(asRoomId(roomId), { from: 1, to: 2 });
  const snapshot = await snapshots.load(found.pk);
  if (snapshot !== null) restoreSnapshot(room, snapshot);
  for (const { payload } of await journal.readAfter(found.pk, room.version)) {
    for (const record of decodeRecords(payload)) replayRecord(room, record);
  }
  return room;
}
