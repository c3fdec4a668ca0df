/** The rooms of this worker and the sockets that lead to them: ownership, journal, snapshots, actors, gateway. */
import { join } from 'node:path';
import { DiskBlobs } from '../adapters/disk-blobs.ts';
import { isoFromMs, systemClock, systemRandom } from '../base/clock.ts';
import { asRoomId, asWorkerAddress, newId, type RoomId } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Settings } from '../config.ts';
import { createRoomOnEntry, findRoomForEntry, touchLastConnection } from '../features/rooms/queries.ts';
import { findSchemaOfStream } from '../features/schemas/queries.ts';
import { admit, makeTokenVerifier, tokenKeyFrom, type VerifyToken } from '../features/tokens/queries.ts';
import { ActorHost } from '../kernel/actor/actor-host.ts';
import { Membership } from '../kernel/cluster/membership.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import { SqlJournal } from '../kernel/persistence/sql-journal.ts';
import { SqlSnapshots } from '../kernel/persistence/sql-snapshots.ts';
import type { ConnectionDeps, ConnectionLimits } from '../room/connection.ts';
import { Gateway } from '../room/gateway.ts';
import { loadRoom } from '../room/load-room.ts';
import type { RoomPolicy } from '../room/room-actor.ts';
import type { Command, RoomDoor } from '../room/shapes.ts';
import type { Database } from './database.ts';
import type { ServerKeys } from './keys.ts';

export interface Rooms {
  readonly door: RoomDoor;
  readonly gateway: Gateway;
  readonly verifyToken: VerifyToken;
  /** Whether this worker may own rooms at the moment. */
  readonly canServe: boolean;
  stop(): Promise<void>;
}

/** Commands that wait for one room to load; each is a socket that joins or a REST call. */
const WAITING_PER_ROOM_MAX = 2_000;
const REMEMBERED_TOKENS_MAX = 20_000;
/** How long a drain waits for the journal. What is not written by then was not acknowledged. */
const JOURNAL_MS_MAX = 10_000;

interface StartRooms {
  readonly settings: Settings;
  readonly log: Log;
  readonly keys: ServerKeys;
  readonly database: Database;
  /** Where clients reach this server; known once it listens. */
  readonly publicUrl: () => string;
}

export async function startRooms({ settings, log, keys, database, publicUrl }: StartRooms): Promise<Rooms> {
  const { db, authority, isPrivate } = database;
  const clock = systemClock;
  const blobs = new DiskBlobs({
    directory: join(settings.DATA_DIR, 'blobs'),
    publicUrl,
    secret: tokenKeyFrom(keys.secretKey),
    clock,
    random: systemRandom,
  });
  const journal = new SqlJournal({ db: authority, clock, log });
  const snapshots = new SqlSnapshots({ db: authority, blobs, journal, log });
  const host = new ActorHost<Command>({
    clock,
    waitingMax: WAITING_PER_ROOM_MAX,
    onError: (error, roomId) => log.error({ err: error, roomId }, 'room failed'),
    load: (key, onLost) => loadRoom(roomDeps, asRoomId(key), onLost),
  });
  const ownership = await Membership.join({
    db: authority,
    clock,
    random: systemRandom,
    log,
    address: asWorkerAddress(`${settings.HOST}:${settings.PORT}`),
    onLapsed: () => host.dropAll(),
  });
  if (isPrivate) await ownership.fenceAllOthers();

  const verifyToken = makeTokenVerifier({
    tokenKey: tokenKeyFrom(keys.secretKey),
    nowMs: () => clock.nowMs(),
    rememberedMax: REMEMBERED_TOKENS_MAX,
  });
  const gateway = new Gateway({
    clock,
    workerName: newId(systemRandom, '', 8),
    rooms: host,
    log,
    connectionsMax: settings.CONNECTIONS_MAX,
    limits: connectionLimits(settings),
    admit: admission({ db, verifyToken, publicKey: keys.publicKey }),
  });
  const roomDeps = {
    clock,
    journal,
    snapshots,
    ownership,
    mayAnswer: () => ownership.isStanding,
    log,
    policy: roomPolicy(settings),
    deliver: gateway.deliver,
    closeSessions: gateway.closeSessions.bind(gateway),
    findStream: async (roomId: RoomId) => (await findRoomForEntry(db, roomId))?.pk ?? null,
    findSchema: (stream: number) => findSchemaOfStream(db, stream),
  };
  return {
    door: {
      ask: (roomId, command) => host.ask(roomId, command),
      askIfAwake: (roomId, command) => host.askIfAwake(roomId, command),
      tellIfAwake: (roomId, command) => void host.tell(roomId, command),
    },
    gateway,
    verifyToken,
    get canServe() {
      return ownership.isStanding;
    },
    async stop() {
      gateway.drain();
      const cancel = clock.after(JOURNAL_MS_MAX, () => journal.close());
      await host.close();
      cancel();
      journal.close();
      await ownership.leave();
    },
  };
}

/** Who comes in, checked against the room as it is in the database now. */
function admission({ db, ...deps }: { db: Sql; verifyToken: VerifyToken; publicKey: string }): ConnectionDeps['admit'] {
  const nowIso = (): string => isoFromMs(systemClock.nowMs());
  return async (target) => {
    const admitted = await admit(target, {
      ...deps,
      findRoom: (roomId) => findRoomForEntry(db, roomId),
      createRoom: (room) => createRoomOnEntry(db, { ...room, nowIso: nowIso() }),
    });
    await touchLastConnection(db, { roomId: admitted.roomId, nowIso: nowIso() });
    return admitted;
  };
}

function roomPolicy(settings: Settings): RoomPolicy {
  return {
    connectionsMax: settings.CONNECTIONS_PER_ROOM_MAX,
    presenceBytesMax: settings.PRESENCE_BYTES_MAX,
    ydocsMax: YDOCS_PER_ROOM_MAX,
    pendingBytesMax: settings.PENDING_BYTES_PER_ROOM_MAX,
    snapshotAfterChanges: settings.SNAPSHOT_AFTER_CHANGES,
    snapshotAfterBytes: settings.SNAPSHOT_AFTER_BYTES,
    snapshotEveryMs: settings.SNAPSHOT_EVERY_SECONDS * 1_000,
    idleMs: settings.IDLE_ROOM_SECONDS * 1_000,
  };
}

/** Documents of one room, subdocuments included (reliability 2.f). */
const YDOCS_PER_ROOM_MAX = 1_000;

function connectionLimits(settings: Settings): ConnectionLimits {
  return {
    messagesPerSecondMax: settings.MESSAGES_PER_SECOND_MAX,
    messagesBurstMax: settings.MESSAGES_PER_SECOND_MAX * 4,
    sendBytesSoftMax: settings.SEND_BUFFER_BYTES_MAX / 4,
    sendBytesHardMax: settings.SEND_BUFFER_BYTES_MAX,
    idleMs: settings.IDLE_CONNECTION_SECONDS * 1_000,
  };
}
