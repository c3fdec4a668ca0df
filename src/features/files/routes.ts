/**
 * The endpoints of files, for back ends (contract, Storage files) and for clients (protocol 7.2). Their upload is that of everything that is
 * uploaded; which of what was uploaded may be read is said here.
 */
import { isoFromMs } from '../../base/clock.ts';
import type { RoomId } from '../../base/ids.ts';
import type { Blobs } from '../../kernel/persistence/blobs.ts';
import { addressOf, type KeepDeps, type UploadTarget } from '../../kernel/persistence/kept-uploads.ts';
import type { Sql } from '../../kernel/persistence/sql.ts';
import { URL_VALID_MS } from '../../kernel/persistence/upload-rules.ts';
import { type BoundRoute, bindRoute, routeFor } from '../../kernel/transport/route.ts';
import { type UploadDoor, uploadRoutes } from '../../kernel/transport/upload-routes.ts';
import { checkRoomId } from '../../protocol/names.ts';
import type { RoomDoor } from '../../room/shapes.ts';
import { fileDataOf, findCompleted, findFile, findFiles, makeFile, type StoredFile } from './queries.ts';
import { isFileId, noSuchFile } from './rules.ts';
import { FILE_PARAMS, FileParams, FileReply, LocatedFile, RoomParams, UrlsBody, UrlsReply } from './shapes.ts';

/** `bytesMax`: largest file (setting MAX_FILE_BYTES). */
export interface FilesDeps extends KeepDeps {
  readonly blobs: KeepDeps['blobs'] & Pick<Blobs, 'presign'>;
  readonly rooms: RoomDoor;
  nowMs(): number;
}

const route = routeFor<FilesDeps>();
const tag = 'Storage files';

/** The same five for those with the secret key and for those with a token. */
const doorAt = (at: Pick<UploadDoor<StoredFile>, 'base' | 'needs'>, before: string): UploadDoor<StoredFile> => ({
  ...at,
  tag,
  params: FILE_PARAMS,
  query: {},
  words: { before, what: 'a file' },
  reply: { schema: FileReply, idKey: 'fileId', of: fileDataOf },
  target: ({ params }, { db }) => fileTarget({ roomId: params.roomId!, fileId: params.fileId! }, db),
});
const BACK_END = '/v2/rooms/:roomId/storage/files';
const CLIENTS = '/v2/c/rooms/:roomId/storage/files';

/** @throws AppError ROOM_NOT_FOUND */
async function fileTarget(named: { roomId: string; fileId: string }, db: Sql): Promise<UploadTarget<StoredFile>> {
  const at: { roomId: RoomId; fileId: string } = { ...named, roomId: checkRoomId(named.roomId, 'roomId') };
  const { roomPk } = await findFile(db, at);
  return {
    kind: 'file',
    id: at.fileId,
    stream: roomPk,
    by: null,
    keysUnder: 'v1/files',
    find: async (now) => (await findFile(now, at)).file,
    make: (now, file, from) => makeFile(now, { roomPk, file, from }),
    findCompleted: (now, from) => findCompleted(now, { roomPk, fileId: at.fileId, ...from }),
    isOwn: () => true,
  };
}

const getFileRoute = route({
  method: 'GET',
  path: `${BACK_END}/:fileId`,
  needs: 'secret',
  tag,
  summary: 'Get what a file is, and an address to download it from for an hour',
  params: FileParams,
  reply: LocatedFile,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
  async handle({ params }, deps) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const { file } = await findFile(deps.db, { roomId, fileId: params.fileId });
    if (file === null) throw noSuchFile(params.fileId);
    const expiresAt = isoFromMs(deps.nowMs() + URL_VALID_MS);
    return { ...fileDataOf(file), url: await addressOf(file, deps), expiresAt };
  },
});

/** Whoever may read the Storage may read the files that it refers to, and no others. */
const urlsRoute = route({
  method: 'POST',
  path: `${CLIENTS}/presigned-urls`,
  needs: 'storage:read',
  tag,
  summary: 'For the SDK: addresses to download files of the Storage from for an hour',
  params: RoomParams,
  body: UrlsBody,
  reply: UrlsReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, body }, deps) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const found = await findFiles(deps.db, { roomId, fileIds: body.fileIds.filter(isFileId) });
    const asked = { type: 'storage.refers', fileIds: [...found.keys()] } as const;
    const referred = found.size === 0 ? [] : ((await deps.rooms.ask(roomId, asked)) as readonly string[]);
    const expiresAt = isoFromMs(deps.nowMs() + URL_VALID_MS);
    const urls = body.fileIds.map(async (fileId) => {
      const file = found.get(fileId);
      if (file === undefined) return null;
      return referred.includes(fileId) ? addressOf(file, deps) : (false as const);
    });
    return { urls: await Promise.all(urls), expiresAt };
  },
});

export function fileRoutes(deps: FilesDeps): BoundRoute[] {
  return [
    bindRoute(getFileRoute, deps),
    ...uploadRoutes(doorAt({ base: `${BACK_END}/:fileId`, needs: 'secret' }, ''), deps),
    ...uploadRoutes(doorAt({ base: `${CLIENTS}/:fileId`, needs: 'storage:write' }, 'For the SDK: '), deps),
    bindRoute(urlsRoute, deps),
  ];
}
