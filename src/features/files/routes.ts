/**
 * The endpoints of files, for back ends (contract, Storage files) and for clients (protocol 7.2). Bytes pass from the request to the store of blobs
 * and are never held whole; the database says which of them are files.
 */
import { isoFromMs } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { RoomId, RoomPk } from '../../base/ids.ts';
import { mimeTypeOf } from '../../base/mime-types.ts';
import type { Log } from '../../base/observe.ts';
import { countedBody } from '../../kernel/persistence/blob-parts.ts';
import type { Blobs } from '../../kernel/persistence/blobs.ts';
import { dropBlob, noteBlob } from '../../kernel/persistence/loose-blobs.ts';
import type { Sql } from '../../kernel/persistence/sql.ts';
import type { UploadPlace } from '../../kernel/persistence/upload-queries.ts';
import { abandonUpload, beginUpload, completeUpload, noSuchUpload, putPart } from '../../kernel/persistence/uploads.ts';
import type { Need } from '../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, empty, json, routeFor, stream } from '../../kernel/transport/route.ts';
import { checkRoomId } from '../../protocol/names.ts';
import type { FileData } from '../../protocol/storage-ops.ts';
import type { RoomDoor } from '../../room/shapes.ts';
import { type FromParts, fileDataOf, findCompleted, findFile, findFiles, makeFile, type StoredFile } from './queries.ts';
import {
  announcedSize,
  checkFileName,
  contentLengthOf,
  digestOfParts,
  fileExists,
  isFileId,
  noSuchFile,
  sameFile,
  URL_VALID_MS,
} from './rules.ts';
import {
  COMPLETE_LIMITS,
  CompleteBody,
  FileParams,
  FileReply,
  LocatedFile,
  NamedFileParams,
  type Part,
  PartParams,
  PartReply,
  RoomParams,
  SizeQuery,
  UploadParams,
  UploadReply,
  UrlsBody,
  UrlsReply,
} from './shapes.ts';

export interface FilesDeps {
  readonly db: Sql;
  readonly blobs: Pick<Blobs, 'put' | 'head' | 'presign' | 'parts'>;
  readonly rooms: RoomDoor;
  /** Largest file (setting MAX_FILE_BYTES). */
  readonly bytesMax: number;
  nowMs(): number;
  /** Never the same twice; letters, digits, `_` and `-`. */
  newId(): string;
  readonly log: Log;
}

const route = routeFor<FilesDeps>();
const tag = 'Storage files';

/** The same five for those with the secret key and for those with a token. */
interface Door {
  readonly base: `/${string}`;
  readonly needs: Need;
  /** Begins their summaries. */
  readonly for: '' | 'For the SDK: ';
}
const BACK_END: Door = { base: '/v2/rooms/:roomId/storage/files', needs: 'secret', for: '' };
const CLIENTS: Door = { base: '/v2/c/rooms/:roomId/storage/files', needs: 'storage:write', for: 'For the SDK: ' };

/** Repeating changes nothing, so it takes no Idempotency-Key. */
const uploadRoute = (door: Door, bytesMax: number) =>
  route({
    method: 'PUT',
    path: `${door.base}/:fileId/upload/:name`,
    needs: door.needs,
    tag,
    summary: `${door.for}Upload a file in one request; the same again returns the file that is there`,
    params: NamedFileParams,
    query: SizeQuery,
    body: stream({ bytesMax }),
    reply: FileReply,
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
    async handle({ params, query, body, request }, deps) {
      const roomId = checkRoomId(params.roomId, 'roomId');
      const name = checkFileName(params.name);
      const size = announcedSize({ fileSize: query.fileSize, contentLength: contentLengthOf(request.headers) }, deps.bytesMax);
      const { roomPk, file } = await findFile(deps.db, { roomId, fileId: params.fileId });
      if (file === null) return uploadWhole({ roomId, roomPk, id: params.fileId, name }, { body, size }, deps);
      sameFile(file, { name, size: size ?? file.size });
      return fileDataOf(sameFile(file, { name, size: size ?? (await lengthOf(body)) }));
    },
  });

const beginRoute = (door: Door) =>
  route({
    method: 'POST',
    path: `${door.base}/:fileId/multipart/:name`,
    needs: door.needs,
    tag,
    summary: `${door.for}Begin to upload a file in parts`,
    once: 'reservation',
    params: NamedFileParams,
    query: SizeQuery,
    reply: UploadReply,
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS', 'PAYLOAD_TOO_LARGE', 'ROOM_OVERLOADED'],
    async handle({ params, query }, deps) {
      const { fileId } = params;
      const roomId = checkRoomId(params.roomId, 'roomId');
      const name = checkFileName(params.name);
      const size = announcedSize({ fileSize: query.fileSize, contentLength: null }, deps.bytesMax);
      const { roomPk, file } = await findFile(deps.db, { roomId, fileId });
      if (file !== null) throw fileExists(fileId);
      const uploadId = deps.newId();
      const place = { stream: roomPk, subject: fileId, id: uploadId };
      if (!(await beginUpload(place, { key: newKey(roomPk, deps), about: { name }, size }, deps)))
        throw new AppError('ROOM_OVERLOADED');
      return { fileId, uploadId };
    },
  });

/** A part that comes again takes the place of the one before, so it takes no Idempotency-Key either. */
const partRoute = (door: Door, bytesMax: number) =>
  route({
    method: 'PUT',
    path: `${door.base}/:fileId/multipart/:uploadId/:partNumber`,
    needs: door.needs,
    tag,
    summary: `${door.for}Upload a part: at least 5 MiB, if it is not the last`,
    params: PartParams,
    body: stream({ bytesMax }),
    reply: PartReply,
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
    async handle({ params, body, request }, deps) {
      const { place } = await placeOf(params, deps);
      return putPart(place, { partNumber: params.partNumber, body, size: contentLengthOf(request.headers) }, deps);
    },
  });

/** Known again by its parts, for as long as the file is there. */
const completeRoute = (door: Door) =>
  route({
    method: 'POST',
    path: `${door.base}/:fileId/multipart/:uploadId/complete`,
    needs: door.needs,
    tag,
    summary: `${door.for}Make a file of the parts; the same again returns the file`,
    params: UploadParams,
    body: json(CompleteBody, COMPLETE_LIMITS),
    reply: FileReply,
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
    async handle({ params, body }, deps) {
      return makeOfParts(await placeOf(params, deps), body.parts, deps);
    },
  });

const abortRoute = (door: Door) =>
  route({
    method: 'DELETE',
    path: `${door.base}/:fileId/multipart/:uploadId`,
    needs: door.needs,
    tag,
    summary: `${door.for}Give an upload up; its parts are thrown away`,
    once: 'transaction',
    params: UploadParams,
    reply: empty(204),
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
    async handle({ params }, deps) {
      const { place } = await placeOf(params, deps);
      await abandonUpload(place, deps);
    },
  });

const getFileRoute = route({
  method: 'GET',
  path: `${BACK_END.base}/:fileId`,
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
    return { ...fileDataOf(file), url: await urlOf(file, deps), expiresAt };
  },
});

/** Whoever may read the Storage may read the files that it refers to, and no others. */
const urlsRoute = route({
  method: 'POST',
  path: `${CLIENTS.base}/presigned-urls`,
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
      return referred.includes(fileId) ? urlOf(file, deps) : (false as const);
    });
    return { urls: await Promise.all(urls), expiresAt };
  },
});

export function fileRoutes(deps: FilesDeps): BoundRoute[] {
  const { bytesMax } = deps;
  const through = (door: Door): BoundRoute[] => [
    bindRoute(uploadRoute(door, bytesMax), deps),
    bindRoute(beginRoute(door), deps),
    bindRoute(partRoute(door, bytesMax), deps),
    bindRoute(completeRoute(door), deps),
    bindRoute(abortRoute(door), deps),
  ];
  return [bindRoute(getFileRoute, deps), ...through(BACK_END), ...through(CLIENTS), bindRoute(urlsRoute, deps)];
}

/** Made by us, from the room's number: nothing that a client says becomes part of a key. */
function newKey(roomPk: RoomPk, { newId }: FilesDeps): string {
  return `v1/files/${roomPk}/${newId()}`;
}

interface NewFile extends Pick<FileData, 'id' | 'name'> {
  readonly roomId: RoomId;
  readonly roomPk: RoomPk;
}

interface Incoming {
  readonly body: AsyncIterable<Uint8Array>;
  /** As announced. */
  readonly size: number | null;
}

async function uploadWhole(file: NewFile, { body, size }: Incoming, deps: FilesDeps): Promise<FileData> {
  const { db, blobs } = deps;
  const blobKey = newKey(file.roomPk, deps);
  await noteBlob(db, blobKey);
  let kept: StoredFile | null = null;
  try {
    const stored = await blobs.put(blobKey, size === null ? body : countedBody(body, size));
    kept = await madeOrSame({ ...file, size: stored.size, blobKey }, null, deps);
    return fileDataOf(kept);
  } finally {
    if (kept?.blobKey !== blobKey) await drop(blobKey, deps);
  }
}

/** The file made of a blob, or the same file when somebody else was faster. @throws AppError RESOURCE_ALREADY_EXISTS when that is another one */
async function madeOrSame(
  { roomId, roomPk, ...file }: NewFile & Pick<StoredFile, 'size' | 'blobKey'>,
  from: FromParts | null,
  { db }: FilesDeps,
): Promise<StoredFile> {
  const made = await makeFile(db, { roomPk, file: { ...file, mimeType: mimeTypeOf(file.name) }, from });
  if (made !== null) return made;
  const { file: found } = await findFile(db, { roomId, fileId: file.id });
  if (found === null)
    throw new AppError('BLOBS_UNAVAILABLE', { reason: 'what was uploaded has been thrown away: it took a day' });
  sameFile(found, file);
  return found;
}

interface PartsPlace {
  readonly roomId: RoomId;
  readonly roomPk: RoomPk;
  readonly fileId: string;
  readonly place: UploadPlace;
}

/** @throws AppError ROOM_NOT_FOUND */
async function placeOf(
  { fileId, uploadId, ...params }: { roomId: string; fileId: string; uploadId: string },
  { db }: FilesDeps,
): Promise<PartsPlace> {
  const roomId = checkRoomId(params.roomId, 'roomId');
  const { roomPk } = await findFile(db, { roomId, fileId });
  return { roomId, roomPk, fileId, place: { stream: roomPk, subject: fileId, id: uploadId } };
}

async function makeOfParts({ place, ...at }: PartsPlace, parts: readonly Part[], deps: FilesDeps): Promise<FileData> {
  const from = { uploadId: place.id, digest: digestOfParts(parts) };
  const made = await completeUpload(place, parts, deps);
  if (made === null) {
    const file = await findCompleted(deps.db, { ...at, ...from });
    if (file === null) throw noSuchUpload(place);
    return fileDataOf(file);
  }
  const { key, size, about } = made;
  try {
    const kept = await madeOrSame({ ...at, id: at.fileId, name: String(about.name), size, blobKey: key }, from, deps);
    if (kept.blobKey !== key) await drop(key, deps);
    return fileDataOf(kept);
  } catch (error) {
    if (error instanceof AppError && !error.retry) await drop(key, deps); // there is another file, or no room
    throw error;
  }
}

/** A failure costs a day: the key is due then anyway. */
async function drop(key: string, { db, log }: FilesDeps): Promise<void> {
  await dropBlob(db, key).catch((error: unknown) => log.debug({ err: error, key }, 'blob not dropped'));
}

async function lengthOf(body: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const piece of body) length += piece.byteLength;
  return length;
}

function urlOf({ blobKey, name, mimeType }: StoredFile, { blobs }: FilesDeps): Promise<string> {
  return blobs.presign(blobKey, { validMs: URL_VALID_MS, fileName: name, mimeType });
}
