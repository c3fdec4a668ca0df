import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { asRoomId } from '../../../src/base/ids.ts';
import { deleteRoom, findOrCreateRoom } from '../../../src/features/rooms/queries.ts';
import { findSchemaOfStream } from '../../../src/features/schemas/queries.ts';
import { schemaRoutes } from '../../../src/features/schemas/routes.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import type { AttachedAt, Command, RoomDoor } from '../../../src/room/shapes.ts';
import { until } from '../../support/e2e/until.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aDoor, type Call, callerOf, type RecordingDoor, refused } from '../call.ts';

const postgres = usePostgres();
const db: Sql = await postgres.open();
const NOW = '2031-02-03T04:05:06.007Z';
const BODY = 'type Storage { title?: string }';

let told: RecordingDoor['told'];
let attachments: Command[];
/** What the room does when it is asked to attach. */
let attach: (roomId: string) => Promise<AttachedAt>;
/** How long it takes to tell the room. */
let tell: () => Promise<void>;
let call: Call;
let decision: number;

beforeEach(async () => {
  await db.query(sql`truncate rooms, schemas, schema_names, room_schemas, actor_owner cascade`);
  decision = 0;
  attachments = [];
  tell = async () => undefined;
  attach = async (roomId) => ({ ...(await owner(roomId)), decision: ++decision });
  const recording = aDoor([]);
  told = recording.told;
  const rooms: RoomDoor = {
    ...recording,
    async ask(roomId, command) {
      attachments.push(command);
      return attach(roomId);
    },
    async tellIfAwake(roomId, command) {
      await recording.tellIfAwake(roomId, command);
      await tell();
      return true;
    },
  };
  call = callerOf(schemaRoutes({ db, rooms, nowMs: () => Date.parse(NOW) }));
});

async function owner(roomId: string): Promise<{ stream: number; epoch: number }> {
  const [found] = await db.query(sql<{ stream: number; epoch: number }>`
    select stream, epoch from actor_owner join rooms on pk = stream where id = ${roomId}`);
  if (found === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
  return found;
}

const claim = (roomId: string) =>
  db.query(sql`update actor_owner set epoch = epoch + 1 where stream = (select pk from rooms where id = ${roomId})`);

async function aRoom(id: string): Promise<void> {
  const blank = { metadata: {}, defaultAccesses: [], usersAccesses: {}, groupsAccesses: {} };
  await findOrCreateRoom(db, { id: asRoomId(id), organizationId: 'default', nowIso: NOW, ...blank });
}

const create = (name: string, body: unknown = BODY) => call('POST /v2/schemas', { json: { name, body } });
const document = (name: string, version: number, body = BODY) => ({
  id: `${name}@${version}`,
  name,
  version,
  createdAt: NOW,
  updatedAt: NOW,
  body,
});
const attachTo = (roomId: string, schema: string) => call(`POST /v2/rooms/${roomId}/schema`, { json: { schema } });

describe('schemas', () => {
  test('[SC66] [contract: POST /schemas] version 1 of a new name is made', async () => {
    expect(await create('plan')).toMatchObject({ status: 200, json: document('plan', 1) });
    expect(refused(await create('plan'))).toBe('409 RESOURCE_ALREADY_EXISTS The schema "plan" exists already.');
  });

  test('[SC66] of many that make one name at the same time, one does', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create('plan')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)]);
  });

  test.each([
    ['no name', { body: BODY }, "422 UNPROCESSABLE_ENTITY Missing key 'name'."],
    ['no body', { name: 'a' }, "422 UNPROCESSABLE_ENTITY Missing key 'body'."],
    ['another key', { name: 'a', body: BODY, more: 1 }, "422 UNPROCESSABLE_ENTITY Value at key 'more' is not known here."],
    [
      'a name in upper case',
      { name: 'My_Schema', body: BODY },
      "422 UNPROCESSABLE_ENTITY Value at key 'name' may hold only lower-case letters, digits and dashes.",
    ],
    [
      'no string',
      { name: 'a', body: 3 },
      '422 INVALID_SCHEMA The schema is not valid at line 1, column 1: expected the text of a schema as a string, found number.',
    ],
    [
      'no Storage (row 122)',
      { name: 'a', body: 'type A {}' },
      '422 INVALID_SCHEMA The schema is not valid at line 1, column 10: expected a definition of the type Storage, found none.',
    ],
  ])('[SC67] [contract: POST /schemas] refused: %s', async (_, json, refusal) => {
    expect(refused(await call('POST /v2/schemas', { json }))).toBe(refusal);
    expect((await call('GET /v2/schemas')).json.data).toEqual([]);
  });

  test('[SC68] [contract: GET /schemas/{id}] a version is read, its @ encoded or not', async () => {
    await create('plan');
    expect((await call('GET /v2/schemas/plan@1')).json).toEqual(document('plan', 1));
    expect((await call('GET /v2/schemas/plan%401')).json).toEqual(document('plan', 1));
    for (const id of ['plan@2', 'plan', 'plan@0', 'other@1'])
      expect(refused(await call(`GET /v2/schemas/${id}`))).toBe(`404 SCHEMA_NOT_FOUND The schema "${id}" does not exist.`);
  });

  test('[SC69] [contract: PUT /schemas/{id}] the version after the latest is made, of whichever version; the others stay', async () => {
    await create('plan');
    const put = (id: string, body: unknown) => call(`PUT /v2/schemas/${id}`, { json: { body } });
    const next = 'type Storage {}';
    expect((await put('plan@1', next)).json).toEqual(document('plan', 2, next));
    expect((await put('plan@1', next)).json).toEqual(document('plan', 3, next));
    expect((await call('GET /v2/schemas/plan@1')).json).toEqual(document('plan', 1));
    expect((await put('plan@4', next)).json.error).toBe('SCHEMA_NOT_FOUND');
    expect((await put('plan@1', 'type Storage')).json.error).toBe('INVALID_SCHEMA');
    const versions = (await Promise.all(Array.from({ length: 6 }, () => put('plan@2', next)))).map(({ json }) => json.version);
    expect(versions.sort()).toEqual([4, 5, 6, 7, 8, 9]);
  });

  test('[SC70] [contract: DELETE /schemas/{id}] a version that no room uses is deleted, once', async () => {
    await create('plan');
    expect(await call('DELETE /v2/schemas/plan@1')).toMatchObject({ status: 200, text: '' });
    expect((await call('DELETE /v2/schemas/plan@1')).json.error).toBe('SCHEMA_NOT_FOUND');
    expect((await create('plan')).json.id).toBe('plan@2');
  });

  test('[SC83] the number of a version that was deleted is never given out again', async () => {
    const put = async (id: string) => (await call(`PUT /v2/schemas/${id}`, { json: { body: 'type Storage {}' } })).json.id;
    await create('plan');
    expect([await put('plan@1'), await put('plan@1')]).toEqual(['plan@2', 'plan@3']);
    await call('DELETE /v2/schemas/plan@3');
    expect(await put('plan@2')).toBe('plan@4');
    await db.query(sql`insert into schemas (name, version, body) values ('plan', 7, ${BODY})`); // as an older build does
    expect(await put('plan@2')).toBe('plan@8');
    for (const version of [1, 2, 4, 7, 8]) await call(`DELETE /v2/schemas/plan@${version}`);
    expect((await create('plan')).json.id).toBe('plan@9');
    expect((await create('other')).json.id).toBe('other@1');
  });

  test('[SC71] schemas are listed newest first, in pages', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    const ids = ({ json }: { json: { data: { id: string }[] } }) => json.data.map(({ id }) => id);
    const first = await call('GET /v2/schemas?limit=2');
    expect(ids(first)).toEqual(['c@1', 'b@1']);
    const second = await call(`GET /v2/schemas?limit=2&startingAfter=${first.json.nextCursor}`);
    expect([ids(second), second.json.nextCursor]).toEqual([['a@1'], null]);
    expect((await call('GET /v2/schemas?limit=3')).json.nextCursor).toBeNull();
    for (const limit of ['0', '101', 'x']) expect((await call(`GET /v2/schemas?limit=${limit}`)).status).toBe(422);
  });
});

describe('the schema of a room', () => {
  beforeEach(async () => {
    await aRoom('r');
    await create('plan');
  });

  test('[SC72] [contract: POST /rooms/{roomId}/schema] [contract: GET /rooms/{roomId}/schema] the room is asked, and then it is written down', async () => {
    expect(refused(await call('GET /v2/rooms/r/schema'))).toBe('404 SCHEMA_NOT_FOUND No schema is attached to the room "r".');
    expect(await attachTo('r', 'plan@1')).toMatchObject({ status: 200, json: { schema: 'plan@1' } });
    expect(attachments).toEqual([{ type: 'schema.attach', schema: { id: 'plan@1', body: BODY } }]);
    expect((await call('GET /v2/rooms/r/schema')).json).toEqual(document('plan', 1));
    expect(await findSchemaOfStream(db, (await owner('r')).stream)).toMatchObject({
      id: 'plan@1',
      body: BODY,
      at: { decision: 1 },
    });
  });

  test('[SC73] what the room refuses is not written down', async () => {
    attach = async () => {
      throw new AppError('SCHEMA_NOT_COMPATIBLE', { id: 'plan@1', reason: 'why' });
    };
    expect(refused(await attachTo('r', 'plan@1'))).toBe(
      '409 SCHEMA_NOT_COMPATIBLE The Storage of the room does not match the schema "plan@1": why.',
    );
    expect((await call('GET /v2/rooms/r/schema')).status).toBe(404);
  });

  test('[SC74] neither half without a room or a schema', async () => {
    expect((await attachTo('r', 'plan@2')).json.error).toBe('SCHEMA_NOT_FOUND');
    expect((await attachTo('r', 'plan')).json.error).toBe('SCHEMA_NOT_FOUND');
    expect((await attachTo('nowhere', 'plan@1')).json.error).toBe('ROOM_NOT_FOUND');
    for (const method of ['GET', 'DELETE'])
      expect((await call(`${method} /v2/rooms/nowhere/schema`)).json.error).toBe('ROOM_NOT_FOUND');
    expect(refused(await call('POST /v2/rooms/r/schema', { json: {} }))).toBe("422 UNPROCESSABLE_ENTITY Missing key 'schema'.");
  });

  test('[SC75] a room that got another owner meanwhile decides anew', async () => {
    const decide = attach;
    attach = async (roomId) => {
      const at = await decide(roomId);
      if (attachments.length === 1) await claim(roomId);
      return at;
    };
    expect((await attachTo('r', 'plan@1')).status).toBe(200);
    expect(attachments).toHaveLength(2);
    expect((await findSchemaOfStream(db, (await owner('r')).stream))?.at).toEqual({ ...(await owner('r')), decision: 2 });
  });

  test('[SC75] and one that never stays is told of as moving', async () => {
    const decide = attach;
    attach = async (roomId) => {
      const at = await decide(roomId);
      await claim(roomId);
      return at;
    };
    expect((await attachTo('r', 'plan@1')).json.error).toBe('ROOM_MOVED');
    expect((await call('GET /v2/rooms/r/schema')).status).toBe(404);
  });

  test('[SC76] of two attachments the later decision stays, whichever is written down first', async () => {
    await create('other');
    const { stream, epoch } = await owner('r');
    attach = async () => ({ stream, epoch, decision: 7 });
    await attachTo('r', 'plan@1');
    attach = async () => ({ stream, epoch, decision: 6 });
    expect((await attachTo('r', 'other@1')).status).toBe(200); // it was attached, for a moment
    expect((await call('GET /v2/rooms/r/schema')).json.id).toBe('plan@1');
    await call('DELETE /v2/rooms/r/schema');
    await attachTo('r', 'other@1');
    expect((await call('GET /v2/rooms/r/schema')).status).toBe(404);
  });

  test('[SC77] a schema deleted while the room looked is not found, and the room is read anew', async () => {
    const decide = attach;
    attach = async (roomId) => {
      await call('DELETE /v2/schemas/plan@1');
      return decide(roomId);
    };
    expect((await attachTo('r', 'plan@1')).json.error).toBe('SCHEMA_NOT_FOUND');
    expect(told).toEqual([['r', { type: 'room.close', code: 'ROOM_MOVED', facts: {} }]]);
  });

  test('[SC78] [contract: DELETE /rooms/{roomId}/schema] row 126: it is taken away, once, and the room is told', async () => {
    await attachTo('r', 'plan@1');
    expect(await call('DELETE /v2/rooms/r/schema')).toMatchObject({ status: 200, text: '' });
    expect(told).toEqual([['r', { type: 'schema.detach', upTo: { ...(await owner('r')), decision: 1 } }]]);
    expect(refused(await call('DELETE /v2/rooms/r/schema'))).toBe('404 SCHEMA_NOT_FOUND No schema is attached to the room "r".');
  });

  test('[SC80] who hears that it is taken away is not faster than the room', async () => {
    await attachTo('r', 'plan@1');
    let hear = (): void => undefined;
    tell = () => new Promise((resolve) => (hear = resolve));
    let isAnswered = false;
    const answer = call('DELETE /v2/rooms/r/schema').finally(() => {
      isAnswered = true;
    });
    await until('the room is told', () => told.length === 1);
    await setImmediate();
    expect(isAnswered).toBe(false);
    hear();
    expect(await answer).toMatchObject({ status: 200 });
  });

  test('[SC79] row 124: while a room has it, a version is neither changed nor deleted; other versions are', async () => {
    await call('PUT /v2/schemas/plan@1', { json: { body: BODY } });
    await attachTo('r', 'plan@1');
    const frozen = '403 SCHEMA_FROZEN The schema "plan@1" is attached to a room and cannot be changed or deleted.';
    expect(refused(await call('PUT /v2/schemas/plan@1', { json: { body: BODY } }))).toBe(frozen);
    expect(refused(await call('DELETE /v2/schemas/plan@1'))).toBe(frozen);
    expect((await call('PUT /v2/schemas/plan@2', { json: { body: BODY } })).json.id).toBe('plan@3');
    expect((await call('DELETE /v2/schemas/plan@2')).status).toBe(200);
    await deleteRoom(db, asRoomId('r'));
    expect((await call('DELETE /v2/schemas/plan@1')).status).toBe(200);
  });
});
