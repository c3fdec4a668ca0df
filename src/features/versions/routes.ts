/**
 * The endpoints of version history, for back ends (contract, Version history) and for clients (protocol 7.2). Only making a version asks the room;
 * all else is read where versions are kept.
 */
import { isoFromMs } from '../../base/clock.ts';
import type { RequestKey, RoomId, RoomPk } from '../../base/ids.ts';
import type { Sql } from '../../kernel/persistence/sql.ts';
import type { Principal } from '../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, bytes, empty, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId } from '../../protocol/names.ts';
import { changesSince, listAsked, type Position, pageFrom, positionAt } from '../../protocol/paging.ts';
import { decodeVersion, type VersionBody } from '../../room/history-body.ts';
import { findRoomPk, findRoomRef } from '../../room/room-row.ts';
import type { RoomDoor } from '../../room/shapes.ts';
import {
  deleteVersion,
  LISTED_MAX,
  listVersions,
  listVersionsSince,
  readVersion,
  VersionReads,
  type VersionRow,
  type VersionStore,
} from './queries.ts';
import { checkVersionId, noVersion } from './rules.ts';
import {
  CreatedVersion,
  GuidQuery,
  ListQuery,
  RoomParams,
  SinceQuery,
  type VersionDocument,
  VersionList,
  VersionPage,
  VersionParams,
} from './shapes.ts';

export interface VersionsDeps extends VersionStore {
  readonly reads: VersionReads;
  readonly rooms: RoomDoor;
  nowMs(): number;
}

const route = routeFor<VersionsDeps>();
const tag = 'Version history';
/** Two zero bytes: an update that says nothing. */
const EMPTY_UPDATE = Uint8Array.of(0, 0);
const ROOT_GUID = '';

const listed = { path: '/v2/rooms/:roomId/versions', needs: 'secret', tag, params: RoomParams } as const;
const listedForClients = { ...listed, path: '/v2/c/rooms/:roomId/versions' } as const;
const one = { path: '/v2/rooms/:roomId/versions/:versionId', needs: 'secret', tag, params: VersionParams } as const;
const oneForClients = { ...one, path: '/v2/c/rooms/:roomId/versions/:versionId' } as const;
const NO_ROOM = ['ROOM_NOT_FOUND'] as const;
const NO_VERSION = ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'] as const;

export const listVersionsRoute = route({
  ...listed,
  method: 'GET',
  summary: 'List the versions of a room, newest first',
  query: ListQuery,
  reply: VersionPage,
  refuses: NO_ROOM,
  async handle({ params, query }, { db }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const { limit, cursor } = query;
    const list = listAsked('versions', [roomId]);
    const after = cursor === undefined ? null : positionAt(cursor, { list, key: 'cursor' });
    const { pk: roomPk } = await findRoomRef(db, roomId);
    const found = await listVersions(db, { roomPk, after, limit: limit + 1 });
    const { page, nextCursor } = pageFrom(found, { limit, list, positionOf });
    return { nextCursor, data: page.map(documentOf) };
  },
});

export const createVersionRoute = route({
  ...listed,
  method: 'POST',
  summary: 'Make a version: Storage and all Yjs documents as they are now',
  once: 'room',
  reply: CreatedVersion,
  refuses: NO_ROOM,
  async handle({ params, once }, { rooms }) {
    return create(rooms, checkRoomId(params.roomId, 'roomId'), once);
  },
});

export const getVersionYdocRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/versions/:versionId/yjs',
  method: 'GET',
  summary: 'Get a Yjs document of a version as one update',
  query: GuidQuery,
  reply: bytes('application/octet-stream'),
  refuses: NO_VERSION,
  async handle({ params, query }, deps) {
    return ydocIn(await bodyOf(params, deps), query.guid);
  },
});

export const deleteVersionRoute = route({
  ...one,
  method: 'DELETE',
  summary: 'Delete a version for good',
  once: 'transaction',
  reply: empty(204),
  refuses: NO_VERSION,
  async handle({ params }, deps) {
    await remove(params, deps);
  },
});

export const listForClientsRoute = route({
  ...listedForClients,
  method: 'GET',
  needs: 'storage:read',
  summary: `For the SDK: the newest ${LISTED_MAX} versions of a room`,
  reply: VersionList,
  refuses: NO_ROOM,
  async handle({ params, principal }, { db, nowMs }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const requestedAt = isoFromMs(nowMs()); // before anything is read: what comes later is in the next answer
    const roomPk = await visitedRoom(db, { principal, roomId });
    const found = roomPk === null ? [] : await listVersions(db, { roomPk, after: null, limit: LISTED_MAX });
    return { versions: found.map(documentOf), meta: { requestedAt } };
  },
});

export const listSinceRoute = route({
  ...listedForClients,
  path: '/v2/c/rooms/:roomId/versions/delta',
  method: 'GET',
  needs: 'storage:read',
  summary: 'For the SDK: the versions made since it asked last, and perhaps some before',
  query: SinceQuery,
  reply: VersionList,
  refuses: NO_ROOM,
  async handle({ params, query, principal }, { db, nowMs }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const sinceMs = changesSince(query.since);
    const requestedAt = isoFromMs(nowMs());
    const roomPk = await visitedRoom(db, { principal, roomId });
    const found = roomPk === null ? [] : await listVersionsSince(db, { roomPk, sinceMs });
    return { versions: found.map(documentOf), meta: { requestedAt } };
  },
});

export const createForClientsRoute = route({
  ...listedForClients,
  method: 'POST',
  aliases: ['/v2/c/rooms/:roomId/version'], // SDKs before 3.21
  needs: 'storage:write',
  summary: 'For the SDK: make a version',
  once: 'room',
  reply: CreatedVersion,
  refuses: NO_ROOM,
  async handle({ params, once }, { rooms }) {
    return create(rooms, checkRoomId(params.roomId, 'roomId'), once);
  },
});

export const getStorageForClientsRoute = route({
  ...oneForClients,
  path: '/v2/c/rooms/:roomId/versions/:versionId/storage',
  method: 'GET',
  needs: 'storage:read',
  summary: 'For the SDK: the Storage of a version, a line for each node, the root first',
  reply: bytes('application/x-ndjson'),
  refuses: NO_VERSION,
  async handle({ params }, deps) {
    return (await bodyOf(params, deps)).storage;
  },
});

export const getYdocForClientsRoute = route({
  ...oneForClients,
  path: '/v2/c/rooms/:roomId/versions/:versionId/yjs',
  aliases: ['/v2/c/rooms/:roomId/y-version/:versionId'], // SDKs before 3.21
  method: 'GET',
  needs: 'storage:read',
  summary: 'For the SDK: a Yjs document of a version as one update',
  query: GuidQuery,
  reply: bytes('application/octet-stream'),
  refuses: NO_VERSION,
  async handle({ params, query }, deps) {
    return ydocIn(await bodyOf(params, deps), query.guid);
  },
});

export const deleteForClientsRoute = route({
  ...oneForClients,
  method: 'DELETE',
  needs: 'storage:write',
  summary: 'For the SDK: delete a version for good',
  once: 'transaction',
  reply: empty(204),
  refuses: NO_VERSION,
  async handle({ params }, deps) {
    await remove(params, deps);
  },
});

export function versionRoutes(world: Omit<VersionsDeps, 'reads'>): BoundRoute[] {
  const deps: VersionsDeps = { ...world, reads: new VersionReads() };
  return [
    bindRoute(listVersionsRoute, deps),
    bindRoute(createVersionRoute, deps),
    bindRoute(getVersionYdocRoute, deps),
    bindRoute(deleteVersionRoute, deps),
    bindRoute(listForClientsRoute, deps),
    bindRoute(listSinceRoute, deps),
    bindRoute(createForClientsRoute, deps),
    bindRoute(getStorageForClientsRoute, deps),
    bindRoute(getYdocForClientsRoute, deps),
    bindRoute(deleteForClientsRoute, deps),
  ];
}

/**
 * Null when the room is not there yet and a user may make it by entering: the SDK asks before its socket has made it, and shows a 404 as an error.
 * @throws AppError ROOM_NOT_FOUND when whoever asks could not make it.
 */
async function visitedRoom(db: Sql, visit: { principal: Principal; roomId: RoomId }): Promise<RoomPk | null> {
  const { principal, roomId } = visit;
  return principal.kind === 'user' ? findRoomPk(db, roomId) : (await findRoomRef(db, roomId)).pk;
}

interface VersionPath {
  readonly roomId: string;
  readonly versionId: string;
}

async function create(
  rooms: RoomDoor,
  roomId: RoomId,
  once: { readonly request?: RequestKey },
): Promise<{ data: { id: string } }> {
  return { data: (await rooms.ask(roomId, { type: 'history.keep', ...once })) as { id: string } };
}

async function bodyOf({ roomId, versionId }: VersionPath, deps: VersionsDeps): Promise<VersionBody> {
  const checked = checkRoomId(roomId, 'roomId');
  const { pk: roomPk } = await findRoomRef(deps.db, checked);
  return decodeVersion(await readVersion(deps, { roomPk, id: checkVersionId(versionId) }));
}

async function remove({ roomId, versionId }: VersionPath, { db }: VersionsDeps): Promise<void> {
  const checked = checkRoomId(roomId, 'roomId');
  const { pk: roomPk } = await findRoomRef(db, checked);
  if (!(await deleteVersion(db, { roomPk, id: checkVersionId(versionId) }))) throw noVersion(versionId);
}

function ydocIn({ ydocs }: VersionBody, guid = ROOT_GUID): Uint8Array {
  return ydocs.get(guid) ?? EMPTY_UPDATE;
}

function documentOf({ id, createdAt, authors }: VersionRow): VersionDocument {
  return { id, createdAt, authors: authors.map((author) => ({ id: author })) };
}

function positionOf({ createdAt, pk }: VersionRow): Position {
  return { atMs: Date.parse(createdAt), pk };
}
