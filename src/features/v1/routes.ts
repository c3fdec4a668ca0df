/**
 * The first REST API, under /v1: a room's Storage and who is in it (contract, Versioning 2). It takes the JWT of /api/authorize, or the secret
 * key. Nothing new comes here.
 */
import Type from 'typebox';
import { AppError } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { type Pieces, textIn } from '../../base/pieces.ts';
import { type BoundRoute, bindRoute, bytes, empty, json, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId, ROOM_ID_LIMITS } from '../../protocol/names.ts';
import { mustTakeChanges } from '../../room/door.ts';
import type { ActiveUser, RoomDoor } from '../../room/shapes.ts';
import { DOCUMENT_LIMITS, readDocument } from '../../room/storage/lson-reader.ts';
import { checkOlderKinds, olderDocument } from './rules.ts';

export interface V1Deps {
  readonly rooms: RoomDoor;
  /** How the kind of a node is named in answers (setting STORAGE_TYPE_KEY). */
  readonly typeKey: string;
  /** Whether there is a room of this id, awake or not. */
  roomExists(roomId: RoomId): Promise<boolean>;
}

const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
const JSON_TEXT = bytes('application/json; charset=utf-8');
const UsersReply = Type.Object({
  data: Type.Array(
    Type.Object({
      type: Type.Literal('user'),
      id: Type.Union([Type.String(), Type.Null()]),
      connectionId: Type.Integer(),
      info: Type.Unsafe<JsonObject>(Type.Object({})),
    }),
  ),
});

const route = routeFor<V1Deps>();
const facts = { needs: 'back end', deprecated: true, tag: 'Version 1', params: RoomParams, refuses: ['ROOM_NOT_FOUND'] } as const;
const storageFacts = { ...facts, path: '/v1/room/:roomId/storage' } as const;

export const getStorageRoute = route({
  ...storageFacts,
  method: 'GET',
  summary: 'Get the Storage document; see GET /v2/rooms/{roomId}/storage',
  reply: JSON_TEXT,
  async handle({ params }, { rooms, typeKey }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const document = await rooms.ask(roomId, { type: 'storage.read', format: 'plain-lson', typeKey });
    return documentText(textIn(document as Pieces), typeKey);
  },
});

export const initializeStorageRoute = route({
  ...storageFacts,
  method: 'POST',
  summary: 'Fill an empty Storage; see POST /v2/rooms/{roomId}/storage',
  once: 'room',
  body: json(Type.Object({ data: Type.Object({}) }), DOCUMENT_LIMITS),
  reply: JSON_TEXT,
  refuses: ['ROOM_NOT_FOUND', 'CANNOT_UPDATE_EXISTING_STORAGE'],
  mustTake: mustTakeChanges,
  async handle({ params, body, once }, { rooms, typeKey }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const root = body as unknown as JsonObject;
    checkOlderKinds(root);
    readDocument(root);
    return documentText(await rooms.ask(roomId, { type: 'storage.initialize', root, typeKey, ...once }), typeKey);
  },
});

export const deleteStorageRoute = route({
  ...storageFacts,
  method: 'DELETE',
  summary: 'Empty the Storage; see DELETE /v2/rooms/{roomId}/storage',
  once: 'room',
  reply: empty(200),
  async handle({ params, once }, { rooms }) {
    await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'storage.delete', ...once });
  },
});

export const usersRoute = route({
  ...facts,
  method: 'GET',
  path: '/v1/room/:roomId/users',
  summary: 'List who is in a room; see GET /v2/rooms/{roomId}/active-users',
  reply: UsersReply,
  async handle({ params }, { rooms, roomExists }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const users = await rooms.askIfAwake(roomId, { type: 'users.list' });
    if (users !== null) return { data: users.reply as ActiveUser[] };
    if (!(await roomExists(roomId))) throw new AppError('ROOM_NOT_FOUND', { roomId });
    return { data: [] };
  },
});

export function v1Routes(deps: V1Deps): BoundRoute[] {
  return [
    bindRoute(getStorageRoute, deps),
    bindRoute(initializeStorageRoute, deps),
    bindRoute(deleteStorageRoute, deps),
    bindRoute(usersRoute, deps),
  ];
}

function documentText(text: unknown, typeKey: string): Uint8Array {
  return Buffer.from(JSON.stringify(olderDocument(JSON.parse(text as string) as Json, typeKey)));
}
