/**
 * A room's Storage over REST (contract, Storage; protocol 8.4). What a document or a patch means is the room's; here is only its way in and out.
 *
 * Documents leave as the text that the room made of them: reading them again to write them again would double the cost of the largest answers.
 */
import Type from 'typebox';
import { AppError, valueAtKey } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Pieces } from '../../base/pieces.ts';
import { type BoundRoute, bindRoute, bytes, empty, json, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId, ROOM_ID_LIMITS } from '../../protocol/names.ts';
import { checkOps, FILE_ID_PATTERN, OP, type Op, type UnfitOp } from '../../protocol/storage-ops.ts';
import { mustTakeChanges } from '../../room/door.ts';
import type { RoomDoor } from '../../room/shapes.ts';
import { type FileReference, filesInDocument, filesInOps } from '../../room/storage/file-references.ts';
import { DOCUMENT_LIMITS, readDocument } from '../../room/storage/lson-reader.ts';
import { checkPatch, type JsonPatch, PATCH_OPERATIONS_MAX, PatchOperation } from '../../room/storage/patch.ts';

export interface StorageDeps {
  readonly rooms: RoomDoor;
  /** How the kind of a node is named in answers (setting STORAGE_TYPE_KEY). */
  readonly typeKey: string;
  /** Those of the files that the room does not have; none when there is no such room. */
  findMissingFiles(roomId: RoomId, fileIds: readonly string[]): Promise<readonly string[]>;
}

/** Messages of one send-message; the SDK sends one. */
const MESSAGES_MAX = 1_000;
/** The one message that is taken over REST: Storage ops (protocol 4.1). */
const UPDATE_STORAGE = 201 as const;

const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
const DocumentBody = Type.Object({ data: Type.Object({}) }, { description: 'A node of the kind LiveObject, in plain LSON.' });
const PatchBody = Type.Array(PatchOperation, { maxItems: PATCH_OPERATIONS_MAX, description: 'A JSON Patch (RFC 6902).' });
const MessagesBody = Type.Object({
  messages: Type.Array(Type.Object({ type: Type.Literal(UPDATE_STORAGE), ops: Type.Array(Type.Unknown()) }), {
    maxItems: MESSAGES_MAX,
  }),
});
const MessagesReply = Type.Object({
  messages: Type.Array(Type.Object({ type: Type.Literal(UPDATE_STORAGE), ops: Type.Array(Type.Unknown()) })),
});

const route = routeFor<StorageDeps>();
const tag = 'Storage';

export const getStorageRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId/storage',
  needs: 'secret',
  tag,
  summary: 'Get the Storage document',
  params: RoomParams,
  query: Type.Object({ format: Type.Optional(Type.Union([Type.Literal('plain-lson'), Type.Literal('json')])) }),
  reply: bytes('application/json; charset=utf-8'),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, query }, { rooms, typeKey }) {
    const format = query.format ?? 'plain-lson';
    const document = await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.read', format, typeKey });
    return document as Pieces;
  },
});

export const listNodesForClientsRoute = route({
  method: 'GET',
  path: '/v2/c/rooms/:roomId/storage',
  needs: 'storage:read',
  tag,
  summary: 'For the SDK: all nodes of the Storage, the root first',
  params: RoomParams,
  reply: bytes('application/json; charset=utf-8'),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params }, { rooms }) {
    return (await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.read', format: 'array' })) as Pieces;
  },
});

export const initializeStorageRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/storage',
  needs: 'secret',
  tag,
  summary: 'Fill an empty Storage; clients reconnect',
  once: 'room',
  params: RoomParams,
  body: json(DocumentBody, DOCUMENT_LIMITS),
  reply: bytes('application/json; charset=utf-8'),
  refuses: ['ROOM_NOT_FOUND', 'CANNOT_UPDATE_EXISTING_STORAGE'],
  mustTake: mustTakeChanges,
  async handle({ params, body, once }, { rooms, typeKey, findMissingFiles }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const root = body as unknown as JsonObject;
    readDocument(root); // a document that is none is refused before anybody asks for the room (supplement 7)
    const missing = await missingIn(filesInDocument(root), roomId, findMissingFiles);
    if (missing !== null) throw valueAtKey(missing.pointer, NOT_UPLOADED);
    return utf8(await rooms.ask(roomId, { type: 'storage.initialize', root, typeKey, ...once }));
  },
});

export const deleteStorageRoute = route({
  method: 'DELETE',
  path: '/v2/rooms/:roomId/storage',
  needs: 'secret',
  tag,
  summary: 'Empty the Storage; clients reconnect',
  once: 'room',
  params: RoomParams,
  reply: empty(200),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, once }, { rooms }) {
    await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.delete', ...once });
  },
});

export const patchStorageRoute = route({
  method: 'PATCH',
  path: '/v2/rooms/:roomId/storage/json-patch',
  needs: 'secret',
  tag,
  summary: 'Change the Storage by a JSON Patch, whole or not at all',
  once: 'room',
  params: RoomParams,
  body: json(PatchBody, DOCUMENT_LIMITS),
  reply: empty(200),
  refuses: ['ROOM_NOT_FOUND', 'INVALID_STORAGE_MUTATION_REQUEST'],
  mustTake: mustTakeChanges,
  async handle({ params, body, once }, { rooms, findMissingFiles }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const operations = checkPatch(body);
    const missing = await missingIn(filesInDocument(operations as unknown as Json), roomId, findMissingFiles);
    await rooms.ask(roomId, { type: 'storage.patch', operations, ...inOperation(missing), ...once });
  },
});

export const requestStorageMutationRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/request-storage-mutation',
  needs: 'secret',
  tag,
  summary: 'Get all nodes, and a number under which to change them',
  once: 'room-if-keyed',
  params: RoomParams,
  reply: bytes('application/x-ndjson'),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, once }, { rooms }) {
    const { actor, lines } = (await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.nodes', ...once })) as {
      actor: number;
      lines: Pieces;
    };
    return [utf8(`${JSON.stringify({ actor })}\n`), ...lines];
  },
});

export const sendMessageRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/send-message',
  needs: 'secret',
  tag,
  summary: 'Apply Storage ops made under such a number',
  once: 'room',
  params: RoomParams,
  body: json(MessagesBody, DOCUMENT_LIMITS),
  reply: MessagesReply,
  refuses: ['ROOM_NOT_FOUND', 'INVALID_STORAGE_MUTATION_REQUEST'],
  mustTake: mustTakeChanges,
  async handle({ params, body, once }, { rooms, findMissingFiles }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const ops = opsOf(body.messages.flatMap((message) => message.ops)); // in one command: all in one decision, in one journal record
    const missing = await missingIn(filesInOps(ops), roomId, findMissingFiles);
    if (missing !== null) throw valueAtKey(`messages${missing.pointer}`, NOT_UPLOADED);
    const reply = (await rooms.ask(roomId, { type: 'storage.send', ops, ...once })) as { ops: Op[] };
    return { messages: reply.ops.length === 0 ? [] : [{ type: UPDATE_STORAGE, ops: reply.ops }] };
  },
});

export function storageRoutes(deps: StorageDeps): BoundRoute[] {
  return [
    bindRoute(getStorageRoute, deps),
    bindRoute(listNodesForClientsRoute, deps),
    bindRoute(initializeStorageRoute, deps),
    bindRoute(deleteStorageRoute, deps),
    bindRoute(patchStorageRoute, deps),
    bindRoute(requestStorageMutationRoute, deps),
    bindRoute(sendMessageRoute, deps),
  ];
}

const FILE_ID = new RegExp(FILE_ID_PATTERN);
const NOT_UPLOADED = 'names a file that was not uploaded to this room';

/**
 * The first file that the room does not have; null when it has all. They never go before the room does, so what is found stays true. What is no
 * id of a file is refused by whoever reads it.
 */
async function missingIn(
  references: readonly FileReference[],
  roomId: RoomId,
  findMissingFiles: StorageDeps['findMissingFiles'],
): Promise<FileReference | null> {
  const fileIds = references.map(({ fileId }) => fileId).filter((fileId) => FILE_ID.test(fileId));
  if (fileIds.length === 0) return null;
  const missing = new Set(await findMissingFiles(roomId, fileIds));
  return references.find(({ fileId }) => missing.has(fileId)) ?? null;
}

/** A file that is missing fails its operation like anything else that an operation builds on; the room knows whether one before it fails. */
function inOperation(file: FileReference | null): Pick<JsonPatch, 'missing'> {
  return file === null ? {} : { missing: { index: Number(file.pointer.split('/')[1]), fileId: file.fileId } };
}

/** Over REST a malformed op is a value in a body, not a frame. */
function opsOf(values: readonly unknown[]): Op[] {
  try {
    const ops = checkOps(values);
    for (const [at, op] of ops.entries()) if (op.type === OP.UNFIT) throw unfit(at, op);
    return ops;
  } catch (error) {
    if (error instanceof AppError && error.code === 'FRAME_INVALID')
      throw valueAtKey('messages', `cannot be taken: ${error.facts.reason}`);
    throw error;
  }
}

function unfit(at: number, { problem: { pointer, reason } }: UnfitOp): AppError {
  return valueAtKey('messages', `cannot be taken: op ${at}${pointer} ${reason}`);
}

function utf8(text: unknown): Uint8Array {
  return Buffer.from(text as string);
}
