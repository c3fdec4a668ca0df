/** What passes in a room and is gone: who is there, presences set from outside, events (contract, Rooms rules 5–8; supplement 1.3). */
import Type from 'typebox';
import { AppError, valueAtKey } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import { type BoundRoute, bindRoute, empty, json, routeFor } from '../../kernel/transport/route.ts';
import { checkName, checkRoomId, NAME_LENGTHS, ROOM_ID_LIMITS } from '../../protocol/names.ts';
import type { ActiveUser, RoomDoor } from '../../room/shapes.ts';

export interface LiveDeps {
  readonly rooms: RoomDoor;
  /** Whether there is a room of this id, awake or not. */
  roomExists(roomId: RoomId): Promise<boolean>;
}

/** Longest event over REST (supplement 1.9). */
const EVENT_BYTES_MAX = 1_048_576;
const PRESENCE_SECONDS_DEFAULT = 60;
const USER_INFO_LENGTH_MAX = 1_024; // serialised, as in a token

const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
const AnyObject = Type.Unsafe<JsonObject>(Type.Object({}));

const ActiveUsersReply = Type.Object({
  data: Type.Array(
    Type.Object({
      type: Type.Literal('user'),
      id: Type.Union([Type.String(), Type.Null()], { description: 'Null for anonymous clients.' }),
      connectionId: Type.Integer(),
      info: AnyObject,
    }),
  ),
});

const PresenceBody = Type.Object(
  {
    userId: Type.String({ 'x-limits': { minLength: 1, maxLength: NAME_LENGTHS.userId } }),
    data: AnyObject,
    userInfo: Type.Object(
      {
        name: Type.Optional(Type.String({ minLength: 1 })),
        avatar: Type.Optional(Type.String({ format: 'uri' })),
        color: Type.Optional(Type.String()),
      },
      { 'x-limits': { 'x-json-length-max': USER_INFO_LENGTH_MAX } },
    ),
    ttl: Type.Optional(Type.Integer({ minimum: 2, maximum: 3_599, description: 'Seconds; 60 when left out.' })),
  },
  { additionalProperties: false },
);

const route = routeFor<LiveDeps>();
const tag = 'Live';

export const activeUsersRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId/active-users',
  aliases: ['/v2/rooms/:roomId/active_users'],
  needs: 'secret',
  tag,
  summary: 'List who is in a room, once for each connection',
  params: RoomParams,
  reply: ActiveUsersReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params }, { rooms, roomExists }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const users = await rooms.askIfAwake(roomId, { type: 'users.list' });
    if (users !== null) return { data: users.reply as ActiveUser[] };
    if (!(await roomExists(roomId))) throw new AppError('ROOM_NOT_FOUND', { roomId });
    return { data: [] }; // it sleeps: nobody is there
  },
});

export const setPresenceRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/presence',
  needs: 'secret',
  tag,
  summary: 'Show a user in a room for some seconds',
  once: 'room-if-keyed',
  params: RoomParams,
  body: PresenceBody,
  reply: empty(204),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, body, once }, { rooms }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const userId = checkName(body.userId, 'userId', NAME_LENGTHS.userId);
    const info = body.userInfo as JsonObject;
    if (JSON.stringify(info).length > USER_INFO_LENGTH_MAX)
      throw valueAtKey('userInfo', `may have at most ${USER_INFO_LENGTH_MAX} characters as JSON`);
    await rooms.ask(roomId, {
      type: 'presence.set',
      userId,
      data: body.data,
      info,
      ttlMs: (body.ttl ?? PRESENCE_SECONDS_DEFAULT) * 1_000,
      ...once,
    });
  },
});

export const broadcastEventRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/broadcast-event',
  aliases: ['/v2/rooms/:roomId/broadcast_event'],
  needs: 'secret',
  tag,
  summary: 'Send an event to all who are in a room',
  once: 'room-if-keyed',
  params: RoomParams,
  body: json(Type.Unknown(), { bytesMax: EVENT_BYTES_MAX }),
  reply: empty(204),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, body, once }, { rooms, roomExists }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    if (!(await roomExists(roomId))) throw new AppError('ROOM_NOT_FOUND', { roomId });
    // A sleeping room has nobody to hear it.
    await rooms.askIfAwake(roomId, { type: 'event.broadcast', from: null, event: body as Json, ...once });
  },
});

export function liveRoutes(deps: LiveDeps): BoundRoute[] {
  return [bindRoute(activeUsersRoute, deps), bindRoute(setPresenceRoute, deps), bindRoute(broadcastEventRoute, deps)];
}
