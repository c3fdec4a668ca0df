/** The REST side of this worker: all features' routes in one table, and health beside them. */
import Type from 'typebox';
import { systemClock, systemRandom } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { RoomId } from '../base/ids.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import type { Tracer } from '../base/trace.ts';
import type { Settings } from '../config.ts';
import { attachmentRoutes } from '../features/comments/attachments/routes.ts';
import { consoleRoutes } from '../features/console/routes.ts';
import { findMissingFiles } from '../features/files/queries.ts';
import { fileRoutes } from '../features/files/routes.ts';
import { liveRoutes } from '../features/live/routes.ts';
import { atEntry, type RoomAtEntry } from '../features/rooms/queries.ts';
import { roomRoutes } from '../features/rooms/routes.ts';
import { schemaRoutes } from '../features/schemas/routes.ts';
import { storageRoutes } from '../features/storage/routes.ts';
import { authorize, permissionsIn, personOf, tokenKeyFrom, verifyBackEndToken } from '../features/tokens/queries.ts';
import { issueToken, tokenRoutes } from '../features/tokens/routes.ts';
import { v1Routes } from '../features/v1/routes.ts';
import { versionRoutes } from '../features/versions/routes.ts';
import { webhookRoutes } from '../features/webhooks/endpoints/routes.ts';
import { ydocRoutes } from '../features/ydoc/routes.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import { SqlAnswers } from '../kernel/persistence/sql-answers.ts';
import type { SqlOutbox } from '../kernel/persistence/sql-outbox.ts';
import type { Sheds } from '../kernel/shedding.ts';
import { makeApi } from '../kernel/transport/api.ts';
import { makeAuthenticate } from '../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, routeFor } from '../kernel/transport/route.ts';
import type { HttpHandler } from '../kernel/transport/server.ts';
import { FULL_ACCESS } from '../protocol/permissions.ts';
import { AccessChanges } from './access-changes.ts';
import { commentParts } from './comments.ts';
import { derived, type ServerKeys } from './keys.ts';
import { notificationParts } from './notifications.ts';
import type { Rooms } from './rooms.ts';
import { webRoutes } from './web.ts';
import type { OpenedWebhooks } from './webhooks.ts';

interface RestDeps {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  readonly keys: ServerKeys;
  readonly db: Sql;
  readonly rooms: Rooms;
  /** Not started yet: features register what they want to hear of. */
  readonly outbox: SqlOutbox;
  readonly webhooks: Pick<OpenedWebhooks, 'management'>;
  readonly sheds: Sheds;
}

const INFO = {
  title: 'Atrium',
  version: '2.0',
  description: 'Rooms, Storage, Yjs documents and tokens of a realtime collaboration server. Send the secret key as bearer.',
};

/** Nesting and keys of a JSON body (reliability 2.f); Storage documents come this way too. */
const JSON_DEPTH_MAX = 32;
const JSON_KEYS_MAX = 200_000;

export function restApi({ settings, log, metrics, tracer, keys, db, rooms, outbox, webhooks, sheds }: RestDeps): HttpHandler {
  const { door, changes } = rooms.worker;
  const accesses = new AccessChanges({ outbox, changes, log });
  const nowMs = (): number => systemClock.nowMs();
  const tokenKeys = derived(keys.secretKeys, tokenKeyFrom);
  const findRoom = async (roomId: RoomId): Promise<RoomAtEntry | null> => {
    const room = await rooms.findRoom(roomId);
    return room === null ? null : atEntry(room);
  };
  const roomExists = async (roomId: RoomId): Promise<boolean> => (await rooms.findRoom(roomId)) !== null;
  const uploads = {
    db,
    blobs: rooms.stored.blobs,
    bytesMax: settings.MAX_FILE_BYTES,
    nowMs,
    newId: () => systemRandom.uuid(),
    log,
  };
  const tokens = {
    tokenKey: tokenKeys[0],
    tokenLifetimeMs: settings.TOKEN_LIFETIME_SECONDS * 1_000,
    publicKey: keys.publicKey,
    nowMs,
    newTokenId: () => systemRandom.uuid(),
    findRoom,
  };
  const routes = [
    ...tokenRoutes(tokens),
    ...roomRoutes({
      db,
      outbox,
      rooms: door,
      nowMs,
      writer: rooms.writer,
      findRoom: (roomId) => rooms.findRoom(roomId),
      accessesChanged: (roomId, event) => accesses.tell(roomId, event),
      roomChanged: (roomId) => changes.roomChanged(roomId),
    }),
    ...liveRoutes({ rooms: door, roomExists }),
    ...rooms.feeds.routes,
    ...schemaRoutes({ db, rooms: door, nowMs }),
    ...storageRoutes({
      rooms: door,
      typeKey: settings.STORAGE_TYPE_KEY,
      findMissingFiles: (roomId, fileIds) => findMissingFiles(db, { roomId, fileIds }),
    }),
    ...fileRoutes({ ...uploads, rooms: door }),
    ...attachmentRoutes({
      ...uploads,
      userIdOf: (principal) => personOf(principal).userId,
      permissionsIn: async (principal, roomId) =>
        principal.kind === 'secret' ? FULL_ACCESS : permissionsIn(principal, { roomId, findRoom }),
    }),
    ...ydocRoutes({ rooms: door }),
    ...versionRoutes({ db, blobs: rooms.stored.blobs, log, rooms: door, nowMs }),
    ...notificationParts({ db, outbox, settings, roomExists }), // before the comments: whoever hears of one live asks for its notification, too
    ...commentParts({ db, outbox, rooms: door, byDefault: settings.THREAD_NOTIFICATIONS, findRoom }),
    ...v1Routes({ rooms: door, typeKey: settings.STORAGE_TYPE_KEY, roomExists }),
    ...consoleRoutes({ rooms: door, roomExists, workerReports: () => rooms.worker.reports() }),
    ...webRoutes(settings, { issueToken: (request) => issueToken(request, tokens) }),
    ...webhookRoutes({ ...webhooks.management(rooms.worker.watch), db, random: systemRandom, nowMs }),
    healthRoute(rooms),
  ];
  const api = makeApi({
    routes,
    info: { ...INFO, bodyBytesMax: settings.BODY_BYTES_MAX },
    authenticate: makeAuthenticate({
      ...keys,
      verifyToken: async (token) => ({ ...(await rooms.verifyToken(token)) }),
      verifyBackEndToken: (token) => verifyBackEndToken(token, { tokenKeys, nowMs: nowMs() }),
    }),
    authorize: (principal, need, params) => authorize(principal, need, { params, findRoom }),
    answers: new SqlAnswers({ db, log }),
    jsonLimits: { bytesMax: settings.BODY_BYTES_MAX, depthMax: JSON_DEPTH_MAX, keysMax: JSON_KEYS_MAX },
    clock: systemClock,
    origins: '*',
    log,
    random: systemRandom,
    tracer,
    shedsReads: () => sheds('read'),
    onRefused: (code) => metrics.count('atrium_refusals_total', code),
  });
  return rooms.stored.serve(api);
}

/** For load balancers: 200 once rooms can be served, 503 while this worker may not own any. */
function healthRoute(rooms: Rooms): BoundRoute {
  return bindRoute(
    routeFor<Rooms>()({
      method: 'GET',
      path: '/health',
      needs: 'none',
      tag: 'About',
      summary: 'Whether this worker serves rooms',
      reply: Type.Object({ status: Type.Literal('ok') }),
      handle(_, { worker }) {
        if (!worker.canServe) throw new AppError('DATABASE_UNAVAILABLE');
        return { status: 'ok' as const };
      },
    }),
    rooms,
  );
}
