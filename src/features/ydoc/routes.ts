/** A room's Yjs documents over REST (contract, Yjs). It knows no Yjs: reading and merging are the room's. */
import Type from 'typebox';
import { AppError } from '../../base/errors.ts';
import { type BoundRoute, bindRoute, bytes, empty, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId, NAME_LENGTHS, ROOM_ID_LIMITS } from '../../protocol/names.ts';
import { mustTakeChanges } from '../../room/door.ts';
import type { RoomDoor } from '../../room/shapes.ts';

export interface YdocDeps {
  readonly rooms: RoomDoor;
}

/** Longest update over REST (supplement 1.9): a whole document may come at once. */
const UPDATE_BYTES_MAX = 20_971_520;
/** The guid of the room's own document; subdocuments have one of the client's making. */
const ROOT_GUID = '';

const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
const GuidQuery = Type.Object({
  guid: Type.Optional(Type.String({ maxLength: NAME_LENGTHS.guid, description: 'Of a subdocument.' })),
});
const JsonQuery = Type.Object({
  formatting: Type.Optional(Type.Boolean({ description: 'Texts with their formatting.' })),
  key: Type.Optional(Type.String({ description: 'Only what this key holds.' })),
  type: Type.Optional(
    Type.Union(
      [
        Type.Literal('ymap'),
        Type.Literal('ytext'),
        Type.Literal('yxmltext'),
        Type.Literal('yxmlfragment'),
        Type.Literal('yarray'),
      ],
      { description: 'What the key holds; without it the type is inferred.' },
    ),
  ),
});

const route = routeFor<YdocDeps>();
const tag = 'Yjs';

export const getYdocRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId/ydoc',
  needs: 'secret',
  tag,
  summary: 'Get the Yjs document as JSON',
  params: RoomParams,
  query: JsonQuery,
  reply: Type.Unknown(),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, query }, { rooms }) {
    const key = query.key ?? null;
    const kind = key === null ? null : (query.type ?? null); // a type says nothing without a key (supplement 7, row 92)
    const formatting = query.formatting === true ? 'delta' : 'plain';
    return rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'ydoc.json', key, kind, formatting });
  },
});

export const putYdocRoute = route({
  method: 'PUT',
  path: '/v2/rooms/:roomId/ydoc',
  needs: 'secret',
  tag,
  summary: 'Merge a Yjs update into a document',
  once: 'room',
  params: RoomParams,
  query: GuidQuery,
  body: bytes({ bytesMax: UPDATE_BYTES_MAX }),
  reply: empty(200),
  mustTake: mustTakeChanges,
  refuses: [
    'ROOM_NOT_FOUND',
    'YJS_UPDATE_INVALID',
    'YJS_UPDATE_EARLY',
    'YJS_UPDATE_CROWDED',
    'YJS_CLIENT_ID_IN_USE',
    'YJS_CLIENT_ID_HELD',
  ],
  async handle({ params, query, body, once }, { rooms }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    if (body.byteLength === 0)
      throw new AppError('UNPROCESSABLE_ENTITY', { reason: 'The body is missing: it must be a Yjs update' });
    await rooms.ask(roomId, { type: 'ydoc.change', from: null, guid: query.guid ?? ROOT_GUID, update: body, ...once });
  },
});

export const getYdocBinaryRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId/ydoc-binary',
  needs: 'secret',
  tag,
  summary: 'Get a Yjs document as one update',
  params: RoomParams,
  query: GuidQuery,
  reply: bytes('application/octet-stream'),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, query }, { rooms }) {
    return (await rooms.ask(checkRoomId(params.roomId, 'roomId'), {
      type: 'ydoc.read',
      guid: query.guid ?? ROOT_GUID,
    })) as Uint8Array;
  },
});

export function ydocRoutes(deps: YdocDeps): BoundRoute[] {
  return [bindRoute(getYdocRoute, deps), bindRoute(putYdocRoute, deps), bindRoute(getYdocBinaryRoute, deps)];
}
