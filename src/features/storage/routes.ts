/**
 * A room's Storage over REST (contract, Storage; protocol 8.4). What a document or a patch means is the room's; here is only its way in and out.
 *
 * Documents leave as the text that the room made of them: reading them again to write them again would double the cost of the largest answers.
 */
import Type from 'typebox';
import { AppError, missingKey, valueAtKey } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { type BoundRoute, bindRoute, bytes, empty, json, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId } from '../../protocol/names.ts';
import { checkOps, type Op, type SerializedCrdt } from '../../protocol/storage-ops.ts';
import type { RoomDoor } from '../../room/shapes.ts';
import { checkPatch, PATCH_OPERATIONS_MAX, PatchOperation } from '../../room/storage/patch.ts';

export interface StorageDeps {
  readonly rooms: RoomDoor;
  /** How the kind of a node is named in answers (setting STORAGE_TYPE_KEY). */
  readonly typeKey: string;
}

/** Documents are larger and deeper than other bodies: a node is two levels of JSON, and its keys are content. */
const DOCUMENT_LIMITS = { bytesMax: 10_485_760, depthMax: 130, keysMax: 500_000 } as const;
/** Messages of one send-message; the SDK sends one. */
const MESSAGES_MAX = 1_000;
/** The one message that is taken over REST: Storage ops (protocol 4.1). */
const UPDATE_STORAGE = 201 as const;
/** Names of the kind that are taken whatever `typeKey` is. */
const TYPE_KEYS = ['serviceType', 'liveblocksType'] as const;

const RoomParams = Type.Object({ roomId: Type.String() });
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
  async handle({ params, query }, { rooms, typeKey }) {
    const format = query.format ?? 'plain-lson';
    return utf8(await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.read', format, typeKey }));
  },
});

export const initializeStorageRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/storage',
  needs: 'secret',
  tag,
  summary: 'Fill an empty Storage; clients reconnect',
  params: RoomParams,
  body: json(DocumentBody, DOCUMENT_LIMITS),
  reply: bytes('application/json; charset=utf-8'),
  async handle({ params, body }, { rooms, typeKey }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const root = body as unknown as JsonObject;
    checkRoot(root);
    return utf8(await rooms.ask(roomId, { type: 'storage.initialize', root, typeKey }));
  },
});

export const deleteStorageRoute = route({
  method: 'DELETE',
  path: '/v2/rooms/:roomId/storage',
  needs: 'secret',
  tag,
  summary: 'Empty the Storage; clients reconnect',
  params: RoomParams,
  reply: empty(200),
  async handle({ params }, { rooms }) {
    await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.delete' });
  },
});

export const patchStorageRoute = route({
  method: 'PATCH',
  path: '/v2/rooms/:roomId/storage/json-patch',
  needs: 'secret',
  tag,
  summary: 'Change the Storage by a JSON Patch, whole or not at all',
  params: RoomParams,
  body: json(PatchBody, DOCUMENT_LIMITS),
  reply: empty(200),
  async handle({ params, body }, { rooms }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    await rooms.ask(roomId, { type: 'storage.patch', operations: checkPatch(body) });
  },
});

export const requestStorageMutationRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/request-storage-mutation',
  needs: 'secret',
  tag,
  summary: 'Get all nodes, and a number under which to change them',
  params: RoomParams,
  reply: bytes('application/x-ndjson'),
  async handle({ params }, { rooms }) {
    const { actor, nodes } = (await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.nodes' })) as {
      actor: number;
      nodes: readonly (readonly [id: string, node: SerializedCrdt])[];
    };
    return utf8([{ actor }, ...nodes].map((line) => `${JSON.stringify(line)}\n`).join(''));
  },
});

export const sendMessageRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/send-message',
  needs: 'secret',
  tag,
  summary: 'Apply Storage ops made under such a number',
  params: RoomParams,
  body: json(MessagesBody, DOCUMENT_LIMITS),
  reply: MessagesReply,
  async handle({ params, body }, { rooms }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const ops = opsOf(body.messages.flatMap((message) => message.ops)); // in one command: all in one decision, in one journal record
    const reply = (await rooms.ask(roomId, { type: 'storage.send', ops })) as { ops: Op[] };
    return { messages: reply.ops.length === 0 ? [] : [{ type: UPDATE_STORAGE, ops: reply.ops }] };
  },
});

export function storageRoutes(deps: StorageDeps): BoundRoute[] {
  return [
    bindRoute(getStorageRoute, deps),
    bindRoute(initializeStorageRoute, deps),
    bindRoute(deleteStorageRoute, deps),
    bindRoute(patchStorageRoute, deps),
    bindRoute(requestStorageMutationRoute, deps),
    bindRoute(sendMessageRoute, deps),
  ];
}

/** A root of the wrong kind is refused before anybody asks whether the room exists or has Storage already (supplement 7, row 58). */
function checkRoot(root: JsonObject): void {
  const typeKey = TYPE_KEYS.find((key) => Object.hasOwn(root, key));
  if (typeKey === undefined) throw missingKey(TYPE_KEYS[0]);
  if (root[typeKey] !== 'LiveObject') throw valueAtKey(typeKey, "must be 'LiveObject': the root of Storage is one");
}

/** Over REST a malformed op is a value in a body, not a frame. */
function opsOf(values: readonly unknown[]): Op[] {
  try {
    return checkOps(values);
  } catch (error) {
    if (error instanceof AppError && error.code === 'FRAME_INVALID')
      throw valueAtKey('messages', `cannot be taken: ${error.facts.reason}`);
    throw error;
  }
}

function utf8(text: unknown): Uint8Array {
  return Buffer.from(text as string);
}
