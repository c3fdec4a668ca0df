/** This worker as the settings want it: its database, blobs and cluster, and who is let in. */
import { loopSlices } from '../adapters/loop-slices.ts';
import { collectYoung } from '../adapters/young-garbage.ts';
import { isoFromMs, systemClock, systemRandom } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Incarnation, RoomId } from '../base/ids.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import type { Tracer } from '../base/trace.ts';
import type { Settings } from '../config.ts';
import { findMissingFiles } from '../features/files/queries.ts';
import {
  atEntry,
  findOwnerAddress,
  findRoom,
  findRoomForEntry,
  noteVisits,
  type RoomAtEntry,
  type RoomRow,
  roomOnEntry,
} from '../features/rooms/queries.ts';
import { findSchemaOfStream } from '../features/schemas/queries.ts';
import { type AdmissionDeps, admit, makeTokenVerifier, tokenKeyFrom, type VerifyToken } from '../features/tokens/queries.ts';
import { keepVersion } from '../features/versions/queries.ts';
import type { Outbox } from '../kernel/persistence/outbox.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import { TimelineWatch } from '../kernel/persistence/timeline.ts';
import type { Sheds } from '../kernel/shedding.ts';
import type { ConnectionDeps } from '../room/connection-deps.ts';
import type { Intake } from '../room/intake.ts';
import type { Looking, RoomWatcher } from '../room/room-watch.ts';
import { Worker } from '../room/worker.ts';
import type { WorkerDeps } from '../room/worker-deps.ts';
import { type OpenedBlobs, openBlobs } from './blobs.ts';
import type { Cluster } from './cluster.ts';
import { type Database, whenDatabaseAnswers } from './database.ts';
import { type Feeds, feedParts } from './feeds.ts';
import { derived, type ServerKeys } from './keys.ts';
import { LastVisits } from './last-visits.ts';
import { RoomMemory } from './room-memory.ts';
import { connectionLimits, roomPolicy } from './room-policy.ts';
import { RoomWriter } from './room-writer.ts';

export interface Rooms {
  readonly worker: Worker;
  readonly verifyToken: VerifyToken;
  readonly stored: OpenedBlobs;
  readonly writer: RoomWriter;
  readonly feeds: Feeds;
  /** As it is now; null when there is none. @throws AppError DATABASE_UNAVAILABLE */
  findRoom(roomId: RoomId): Promise<RoomRow | null>;
  /** Ends what writes for rooms but is not in them; after the worker. */
  close(): Promise<void>;
}

const REMEMBERED_TOKENS_MAX = 20_000;

interface StartRooms {
  readonly settings: Settings;
  readonly log: Log;
  readonly keys: ServerKeys;
  readonly database: Database;
  readonly cluster: Cluster;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  readonly outbox: Outbox;
  readonly watcher: RoomWatcher & Looking;
  /** Where clients reach this server; known once it listens. */
  readonly publicUrl: () => string;
  readonly onRegistered?: (incarnation: Incarnation) => void;
  readonly ending: Promise<void> | undefined;
  readonly report: () => unknown;
  readonly sheds: Sheds;
  readonly intake: Intake;
  readonly connectionsMax: number;
}

export async function startRooms({
  settings,
  log,
  keys,
  database,
  cluster,
  metrics,
  tracer,
  outbox,
  publicUrl,
  connectionsMax,
  ending,
  ...rest
}: StartRooms): Promise<Rooms> {
  const { db, authority, lease, isPrivate } = database;
  const tokenKeys = derived(keys.secretKeys, tokenKeyFrom);
  const verifyToken = makeTokenVerifier({
    tokenKeys,
    nowMs: () => systemClock.nowMs(),
    rememberedMax: REMEMBERED_TOKENS_MAX,
  });
  const stored = await openBlobs(settings, { db, log, publicUrl, secrets: tokenKeys });
  const standing: { worker: Worker | null } = { worker: null };
  const memory = new RoomMemory<RoomRow>({
    clock: systemClock,
    standing: () => standing.worker?.standing ?? null,
    find: (roomId) => findRoom(db, roomId),
  });
  const writer = new RoomWriter({ db, clock: systemClock });
  const visits = new LastVisits({
    clock: systemClock,
    log,
    async write(entered) {
      await noteVisits(db, entered);
      for (const { roomId } of entered) memory.forget(roomId);
    },
  });
  const timeline = new TimelineWatch({ db, clock: systemClock, log, onPromoted: () => standing.worker?.databaseReplaced() });
  const close = async (): Promise<void> => {
    await timeline.close();
    await visits.close();
    await stored.close();
  };
  const feeds = feedParts({
    db,
    rooms: { tellIfAwake: async (roomId, command) => standing.worker?.door.tellIfAwake(roomId, command) },
    log,
  });
  const deps: WorkerDeps = {
    world: { clock: systemClock, random: systemRandom, log, metrics, tracer, slices: loopSlices, collectYoung },
    authority,
    lease,
    blobs: stored.blobs,
    cluster: isPrivate ? { ...cluster, findLeased: async () => [] } : cluster, // it could only find this one
    rooms: {
      findStream: async (roomId) => (await findRoomForEntry(db, roomId))?.pk ?? null,
      findSchema: (stream) => findSchemaOfStream(db, stream),
      keepVersion: (version) => keepVersion(version, { db, blobs: stored.blobs, log }),
      findOwner: (roomId) => findOwnerAddress(db, roomId),
      remembered: memory,
    },
    limits: {
      policy: roomPolicy(settings),
      limits: connectionLimits(settings),
      connectionsMax,
    },
    sockets: {
      admit: admission({ db, outbox, writer, verifyToken, publicKey: keys.publicKey, memory, visits }),
      findMissingFiles: (roomId, fileIds) => findMissingFiles(db, { roomId, fileIds }),
      feeds: feeds.desk,
    },
    ...rest,
  };
  const worker = await whenDatabaseAnswers(() => Worker.start(deps), { log, ending }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  standing.worker = worker;
  if (isPrivate) await worker.fenceAllOthers();
  return { worker, verifyToken, stored, writer, feeds, findRoom: (roomId) => memory.find(roomId), close };
}

interface AdmissionParts {
  readonly db: Sql;
  readonly outbox: Outbox;
  readonly writer: RoomWriter;
  readonly verifyToken: VerifyToken;
  readonly publicKey: string;
  readonly memory: RoomMemory<RoomRow>;
  readonly visits: LastVisits;
}

/** Who comes in, or is in and may perhaps stay, checked against the room as it is in the database now. */
function admission({ db, outbox, writer, memory, visits, ...deps }: AdmissionParts): ConnectionDeps['admit'] {
  const findRoom = async (roomId: RoomId): Promise<RoomAtEntry | null> => {
    const room = await memory.find(roomId);
    return room === null ? null : atEntry(room);
  };
  return async (target, visit) => {
    if (visit === 'going on') return admit(target, { findRoom, createRoom: thereIsNone, ...deps });
    const createRoom: AdmissionDeps['createRoom'] = async (wanted) => {
      const { room } = await writer.make(db, roomOnEntry({ nowIso: isoFromMs(systemClock.nowMs()), ...wanted }));
      outbox.nudge();
      return atEntry(room);
    };
    const admitted = await admit(target, { findRoom, createRoom, ...deps });
    visits.note(admitted.roomId);
    return admitted;
  };
}

async function thereIsNone({ roomId }: { roomId: RoomId }): Promise<never> {
  throw new AppError('ROOM_NOT_FOUND', { roomId });
}
