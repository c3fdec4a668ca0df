/** The endpoints of rooms (contract, Rooms; supplement 2.2). What is live in a room is in `features/live`. */

import { isoFromMs } from '../../base/clock.ts';
import { AppError, valueAtKey } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import type { Outbox } from '../../kernel/persistence/outbox.ts';
import type { Sql } from '../../kernel/persistence/sql.ts';
import { type BoundRoute, bindRoute, empty, routeFor, written } from '../../kernel/transport/route.ts';
import { outboxRowsOf } from '../../protocol/app-events.ts';
import { checkName, checkRoomId, NAME_LENGTHS } from '../../protocol/names.ts';
import type { RoomDoor } from '../../room/shapes.ts';
import { emptyAhead } from './emptying/queries.ts';
import {
  type ChangedRoom,
  deleteRoom,
  type Found,
  listRooms,
  moveRoom,
  type NewRoom,
  type RoomRow,
  renameRoom,
  roomOf,
  roomTextOf,
  upsertRoom,
} from './queries.ts';
import {
  checkUpdate,
  checkUpsert,
  cursorAfter,
  fieldsAfter,
  fieldsOfNew,
  filterOf,
  newRoomOfUpsert,
  pathOfPage,
  positionAt,
  touchesAccesses,
} from './rules.ts';
import {
  CreateQuery,
  CreateRoomBody,
  ListQuery,
  type Room,
  type RoomFields,
  RoomPage,
  RoomParams,
  RoomReply,
  UpdateOrganizationBody,
  UpdateRoomBody,
  UpdateRoomIdBody,
  UpsertRoomBody,
} from './shapes.ts';

/** @param db where others write, too, or a transaction, in which it then happens alone */
export interface RoomWrites {
  /** The room of this id, made with these fields if there was none. */
  make(db: Sql, room: NewRoom): Promise<Found>;
  /**
   * Replaces the fields of a room by what `change` makes of them; `change` may be asked twice. Null when there is no such room. A throw of `change`
   * is thrown on, and nothing has changed.
   */
  change(db: Sql, roomId: RoomId, change: (room: RoomRow) => RoomFields): Promise<ChangedRoom | null>;
}

export interface RoomsDeps {
  readonly db: Sql;
  readonly rooms: RoomDoor;
  readonly outbox: Outbox;
  nowMs(): number;
  readonly writer: RoomWrites;
  /** The room as it is now; null when there is none. @throws AppError DATABASE_UNAVAILABLE */
  findRoom(roomId: RoomId): Promise<RoomRow | null>;
  /** Called once a change of accesses has committed: sessions that entered by them must be looked at again. `event` is that of the change, if it made one. */
  accessesChanged(roomId: RoomId, event: number | null): void | Promise<void>;
  /** Called once anything else of a room has changed, or the room is gone: until it resolves, somebody may still see what was. */
  roomChanged(roomId: RoomId): void | Promise<void>;
}

const route = routeFor<RoomsDeps>();
const tag = 'Rooms';

export const listRoomsRoute = route({
  method: 'GET',
  path: '/v2/rooms',
  needs: 'secret',
  tag,
  summary: 'List rooms, newest first',
  query: ListQuery,
  reply: RoomPage,
  async handle({ query }, { db }) {
    const filter = filterOf(query);
    const after = query.startingAfter === undefined ? null : positionAt(query.startingAfter, filter);
    const found = await listRooms(db, { filter, after, limit: query.limit + 1 }); // one more tells whether another page follows
    const page = found.slice(0, query.limit);
    const last = found.length > query.limit ? page.at(-1) : undefined;
    const data = page.map(roomOf);
    if (last === undefined) return { nextCursor: null, data };
    const nextCursor = cursorAfter(last, filter);
    return { nextCursor, nextPage: pathOfPage(query, nextCursor), data };
  },
});

export const createRoomRoute = route({
  method: 'POST',
  path: '/v2/rooms',
  needs: 'secret',
  tag,
  summary: 'Create a room',
  once: 'transaction',
  query: CreateQuery,
  body: CreateRoomBody,
  reply: RoomReply,
  refuses: ['ROOM_ALREADY_EXISTS'],
  async handle({ query, body, afterCommit }, { db, nowMs, outbox, findRoom, writer }) {
    const id = checkRoomId(body.id, 'id');
    const fields = fieldsOfNew(body);
    const known = query.idempotent === true ? await findRoom(id) : null; // most idempotent creations find the room: a read is cheaper
    if (known !== null) return roomOf(known);
    const nowIso = isoFromMs(nowMs());
    const { room, isNew } = await writer.make(db, { id, nowIso, ...fields });
    if (!isNew && query.idempotent !== true) throw new AppError('ROOM_ALREADY_EXISTS', { roomId: id });
    afterCommit(() => outbox.nudge());
    return roomOf(room);
  },
});

export const getRoomRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId',
  needs: 'secret',
  tag,
  summary: 'Get a room',
  params: RoomParams,
  reply: RoomReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params }, { findRoom }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const room = await findRoom(roomId);
    if (room === null) throw new AppError('ROOM_NOT_FOUND', { roomId });
    return written<Room>(roomTextOf(room));
  },
});

export const updateRoomRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId',
  needs: 'secret',
  tag,
  summary: 'Update a room; null removes',
  once: 'transaction',
  params: RoomParams,
  body: UpdateRoomBody,
  reply: RoomReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, body, afterCommit }, { db, accessesChanged, roomChanged, writer }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    checkUpdate(body);
    const room = await writer.change(db, roomId, (before) => fieldsAfter(before, body));
    if (room === null) throw new AppError('ROOM_NOT_FOUND', { roomId });
    afterCommit(() => (touchesAccesses(body) ? accessesChanged(roomId, room.accessEvent) : roomChanged(roomId)));
    return roomOf(room);
  },
});

export const deleteRoomRoute = route({
  method: 'DELETE',
  path: '/v2/rooms/:roomId',
  needs: 'secret',
  tag,
  summary: 'Delete a room for good',
  once: 'transaction',
  params: RoomParams,
  reply: empty(204),
  async handle({ params, afterCommit }, { db, rooms, nowMs, outbox, roomChanged }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const at = isoFromMs(nowMs());
    await emptyAhead(db, roomId);
    const gone = await deleteRoom(db, roomId, (tx, { id, pk }) =>
      outbox.add(tx, ...outboxRowsOf({ type: 'room.deleted', roomId: id, roomPk: pk, at })),
    );
    if (gone === null) return;
    afterCommit(() => outbox.nudge());
    afterCommit(() => roomChanged(roomId));
    afterCommit(() => rooms.close(roomId, { at: gone.ownerAt, code: 'ROOM_NOT_FOUND', facts: { roomId } }));
  },
});

export const prewarmRoomRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId/prewarm',
  needs: 'secret',
  tag,
  summary: 'Wake a room before somebody enters it',
  params: RoomParams,
  reply: empty(204),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params }, { rooms }) {
    await rooms.ask(checkRoomId(params.roomId, 'roomId'), { type: 'room.touch' });
  },
});

export const upsertRoomRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/upsert',
  needs: 'secret',
  tag,
  summary: 'Update a room, or create it',
  once: 'transaction',
  params: RoomParams,
  body: UpsertRoomBody,
  reply: RoomReply,
  async handle({ params, body, afterCommit }, { db, nowMs, outbox, accessesChanged, roomChanged }) {
    const id = checkRoomId(params.roomId, 'roomId');
    checkUpsert(body);
    const nowIso = isoFromMs(nowMs());
    const room = await upsertRoom(db, {
      id,
      nowIso,
      fieldsIfNew: () => newRoomOfUpsert(body),
      change: (before) => fieldsAfter(before, body.update, 'update.'),
    });
    afterCommit(() => outbox.nudge());
    afterCommit(() => (touchesAccesses(body.update) ? accessesChanged(id, room.accessEvent) : roomChanged(id)));
    return roomOf(room);
  },
});

export const updateRoomIdRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/update-room-id',
  needs: 'secret',
  tag,
  summary: 'Give a room another ID',
  once: 'transaction',
  params: RoomParams,
  body: UpdateRoomIdBody,
  reply: RoomReply,
  refuses: ['ROOM_NOT_FOUND', 'ROOM_ALREADY_EXISTS'],
  async handle({ params, body, afterCommit }, { db, rooms, roomChanged }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const newRoomId = checkRoomId(body.newRoomId, 'newRoomId');
    if (newRoomId === roomId) throw valueAtKey('newRoomId', 'must differ from the present ID');
    const { value: room, ownerAt } = await renameRoom(db, { roomId, newRoomId });
    afterCommit(() => roomChanged(roomId));
    afterCommit(() => rooms.close(roomId, { at: ownerAt, code: 'ROOM_ID_CHANGED', facts: { newRoomId } }));
    return roomOf(room);
  },
});

export const updateOrganizationRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/update-organization-id',
  needs: 'secret',
  tag,
  summary: 'Move a room to another organisation',
  once: 'transaction',
  params: RoomParams,
  body: UpdateOrganizationBody,
  reply: RoomReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, body, afterCommit }, { db, rooms, accessesChanged }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const to = checkName(body.toOrganizationId, 'toOrganizationId', NAME_LENGTHS.organizationId);
    const from = checkName(body.fromOrganizationId, 'fromOrganizationId', NAME_LENGTHS.organizationId);
    const { value: room, ownerAt } = await moveRoom(db, { roomId, from, to });
    const facts = { reason: 'The room moved to another organisation.' };
    afterCommit(async () => {
      await rooms.close(roomId, { at: ownerAt, code: 'KICKED', facts }); // first: it has clients come back with another token
      await accessesChanged(roomId, room.accessEvent); // who was let in before, and joins or joins anew only now, is in no room that was closed
    });
    return roomOf(room);
  },
});

export function roomRoutes(deps: RoomsDeps): BoundRoute[] {
  return [
    bindRoute(listRoomsRoute, deps),
    bindRoute(createRoomRoute, deps),
    bindRoute(getRoomRoute, deps),
    bindRoute(updateRoomRoute, deps),
    bindRoute(deleteRoomRoute, deps),
    bindRoute(prewarmRoomRoute, deps),
    bindRoute(upsertRoomRoute, deps),
    bindRoute(updateRoomIdRoute, deps),
    bindRoute(updateOrganizationRoute, deps),
  ];
}
