/** The endpoints of schemas, and of the schema of a room (contract, Schema; supplement 2.11 and 3). */
import { isoFromMs } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import type { Sql } from '../../kernel/persistence/sql.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId } from '../../protocol/names.ts';
import type { AttachedAt, RoomDoor } from '../../room/shapes.ts';
import {
  addVersion,
  createSchema,
  deleteSchema,
  detachSchema,
  documentOf,
  findSchema,
  findSchemaOfRoom,
  listSchemas,
  recordAttachment,
} from './queries.ts';
import { checkSchemaBody, checkSchemaName, cursorAfter, idOf, positionAt, schemaIdOf } from './rules.ts';
import {
  AttachBody,
  AttachReply,
  CreateSchemaBody,
  ListQuery,
  RoomParams,
  SchemaPage,
  SchemaParams,
  SchemaReply,
  UpdateSchemaBody,
} from './shapes.ts';

export interface SchemasDeps {
  readonly db: Sql;
  readonly rooms: RoomDoor;
  nowMs(): number;
}

/** A room that moves between its decision and our note of it decides again under its next owner; it hardly ever moves twice. */
const ATTACH_TRIES_MAX = 3;

const route = routeFor<SchemasDeps>();
const tag = 'Schemas';

export const listSchemasRoute = route({
  method: 'GET',
  path: '/v2/schemas',
  needs: 'secret',
  tag,
  summary: 'List schemas, all versions, newest first',
  query: ListQuery,
  reply: SchemaPage,
  async handle({ query }, { db }) {
    const after = query.startingAfter === undefined ? null : positionAt(query.startingAfter);
    const found = await listSchemas(db, { after, limit: query.limit + 1 }); // one more tells whether another page follows
    const page = found.slice(0, query.limit);
    const last = found.length > query.limit ? page.at(-1) : undefined;
    return { nextCursor: last === undefined ? null : cursorAfter(last.pk), data: page.map(documentOf) };
  },
});

export const createSchemaRoute = route({
  method: 'POST',
  path: '/v2/schemas',
  needs: 'secret',
  tag,
  summary: 'Create a schema, version 1',
  once: 'transaction',
  body: CreateSchemaBody,
  reply: SchemaReply,
  refuses: ['RESOURCE_ALREADY_EXISTS', 'INVALID_SCHEMA'],
  async handle({ body }, { db, nowMs }) {
    const name = checkSchemaName(body.name);
    return documentOf(await createSchema(db, { name, body: checkSchemaBody(body.body), nowIso: isoFromMs(nowMs()) }));
  },
});

export const getSchemaRoute = route({
  method: 'GET',
  path: '/v2/schemas/:schemaId',
  needs: 'secret',
  tag,
  summary: 'Get a schema',
  params: SchemaParams,
  reply: SchemaReply,
  refuses: ['SCHEMA_NOT_FOUND'],
  async handle({ params }, { db }) {
    return documentOf(await findSchema(db, schemaIdOf(params.schemaId)));
  },
});

export const updateSchemaRoute = route({
  method: 'PUT',
  path: '/v2/schemas/:schemaId',
  needs: 'secret',
  tag,
  summary: 'Add a version to a schema that no room uses',
  once: 'transaction',
  params: SchemaParams,
  body: UpdateSchemaBody,
  reply: SchemaReply,
  refuses: ['SCHEMA_NOT_FOUND', 'SCHEMA_FROZEN', 'INVALID_SCHEMA'],
  async handle({ params, body }, { db, nowMs }) {
    const text = checkSchemaBody(body.body);
    return documentOf(await addVersion(db, { id: schemaIdOf(params.schemaId), body: text, nowIso: isoFromMs(nowMs()) }));
  },
});

export const deleteSchemaRoute = route({
  method: 'DELETE',
  path: '/v2/schemas/:schemaId',
  needs: 'secret',
  tag,
  summary: 'Delete a version of a schema that no room uses',
  once: 'transaction',
  params: SchemaParams,
  reply: empty(200),
  refuses: ['SCHEMA_NOT_FOUND', 'SCHEMA_FROZEN'],
  async handle({ params }, { db }) {
    await deleteSchema(db, schemaIdOf(params.schemaId));
  },
});

export const getRoomSchemaRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId/schema',
  needs: 'secret',
  tag,
  summary: 'Get the schema attached to a room',
  params: RoomParams,
  reply: SchemaReply,
  refuses: ['ROOM_NOT_FOUND', 'SCHEMA_NOT_FOUND'],
  async handle({ params }, { db }) {
    return documentOf(await findSchemaOfRoom(db, checkRoomId(params.roomId, 'roomId')));
  },
});

export const attachSchemaRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/schema',
  needs: 'secret',
  tag,
  summary: 'Attach a schema that the Storage of the room matches, in place of another one',
  once: 'reservation',
  params: RoomParams,
  body: AttachBody,
  reply: AttachReply,
  refuses: ['ROOM_NOT_FOUND', 'SCHEMA_NOT_FOUND', 'SCHEMA_NOT_COMPATIBLE'],
  async handle({ params, body }, { db, rooms }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const schema = await findSchema(db, schemaIdOf(body.schema));
    const id = idOf(schema);
    for (let tries = 0; tries < ATTACH_TRIES_MAX; tries += 1) {
      const asked = rooms.ask(roomId, { type: 'schema.attach', schema: { id, body: schema.body } }) as Promise<AttachedAt>;
      const at = await asked.catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'OUTCOME_UNKNOWN') return closeAndThrow(roomId, rooms, error);
        throw error;
      });
      const isRecorded = await recordAttachment(db, { schema, at }).catch((error: unknown) =>
        closeAndThrow(roomId, rooms, error),
      );
      if (isRecorded) return { schema: id };
    }
    return closeAndThrow(roomId, rooms, new AppError('ROOM_MOVED'));
  },
});

/** The room may enforce what is not written down. It is to be read anew: what the database says counts. @throws `error` */
async function closeAndThrow(roomId: RoomId, rooms: SchemasDeps['rooms'], error: unknown): Promise<never> {
  await rooms.tellIfAwake(roomId, { type: 'room.close', code: 'ROOM_MOVED', facts: {} });
  throw error;
}

export const detachSchemaRoute = route({
  method: 'DELETE',
  path: '/v2/rooms/:roomId/schema',
  needs: 'secret',
  tag,
  summary: 'Detach the schema from a room',
  once: 'transaction',
  params: RoomParams,
  reply: empty(200),
  refuses: ['ROOM_NOT_FOUND', 'SCHEMA_NOT_FOUND'],
  async handle({ params, afterCommit }, { db, rooms }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const upTo = await detachSchema(db, roomId);
    afterCommit(async () => void (await rooms.tellIfAwake(roomId, { type: 'schema.detach', upTo })));
  },
});

export function schemaRoutes(deps: SchemasDeps): BoundRoute[] {
  return [
    bindRoute(listSchemasRoute, deps),
    bindRoute(createSchemaRoute, deps),
    bindRoute(getSchemaRoute, deps),
    bindRoute(updateSchemaRoute, deps),
    bindRoute(deleteSchemaRoute, deps),
    bindRoute(getRoomSchemaRoute, deps),
    bindRoute(attachSchemaRoute, deps),
    bindRoute(detachSchemaRoute, deps),
  ];
}
