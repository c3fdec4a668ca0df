import { beforeEach, describe, expect, test } from 'vitest';
import { asRoomId } from '../../../src/base/ids.ts';
import { ydocRoutes } from '../../../src/features/ydoc/routes.ts';
import { aDoor, type Call, callerOf, type RecordingDoor, refused } from '../call.ts';

const update = new Uint8Array([0, 0]);
let door: RecordingDoor;
let call: Call;

beforeEach(() => {
  door = aDoor(['here'], { 'ydoc.json': { text: 'é' }, 'ydoc.read': update });
  call = callerOf(ydocRoutes({ rooms: door }));
});
const put = (query: string, body: string | Uint8Array, contentType = 'application/octet-stream') =>
  call(`PUT /v2/rooms/here/ydoc${query}`, { body, contentType });

describe('GET /rooms/{roomId}/ydoc', () => {
  const asked = { type: 'ydoc.json', key: null, kind: null, formatting: 'plain' };

  test.each([
    ['', asked],
    ['?formatting', { ...asked, formatting: 'delta' }],
    ['?formatting=true', { ...asked, formatting: 'delta' }],
    ['?formatting=false', asked],
    ['?key=a', { ...asked, key: 'a' }],
    ['?key=a&type=ytext', { ...asked, key: 'a', kind: 'ytext' }],
  ])('[RS1] %s', async (query, command) => {
    expect(await call(`GET /v2/rooms/here/ydoc${query}`)).toMatchObject({ status: 200, json: { text: 'é' } });
    expect(door.asked).toEqual([['here', command]]);
  });

  test('[RS2] row 92: a bad type is refused, a type without a key ignored', async () => {
    expect(refused(await call('GET /v2/rooms/here/ydoc?key=a&type=ystring'))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'type' must be 'ymap', 'ytext', 'yxmltext', 'yxmlfragment' or 'yarray'.",
    );
    expect(refused(await call('GET /v2/rooms/here/ydoc?formatting=yes'))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'formatting'",
    );
    expect((await call('GET /v2/rooms/here/ydoc?type=ytext')).status).toBe(200);
    expect(door.asked).toEqual([['here', asked]]);
  });
});

describe('PUT /rooms/{roomId}/ydoc', () => {
  test('[RS3] hands the bytes on, to the root document or the one of guid; 200 without a body', async () => {
    expect(await put('', update)).toMatchObject({ status: 200, text: '' });
    await put('?guid=g1', update);
    expect(door.asked).toMatchObject([
      ['here', { type: 'ydoc.change', from: null, guid: '' }],
      ['here', { guid: 'g1' }],
    ]);
    const [[, command]] = door.asked as any;
    expect([...command.update]).toEqual([...update]);
  });

  test('[RS4] rows 12 and 94: JSON and an empty body are refused', async () => {
    expect(refused(await put('', '{}', 'application/json'))).toContain('415 UNSUPPORTED_MEDIA_TYPE');
    expect(refused(await put('', ''))).toContain('422 UNPROCESSABLE_ENTITY The body is missing');
    expect(refused(await put(`?guid=${'g'.repeat(257)}`, update))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'guid' must have at most 256",
    );
    expect(door.asked).toEqual([]);
  });
});

describe('GET /rooms/{roomId}/ydoc-binary', () => {
  test('[RS5] answers bytes, of the root document or the one of guid', async () => {
    const answer = await call('GET /v2/rooms/here/ydoc-binary?guid=g1');
    expect([...answer.bytes]).toEqual([...update]);
    expect(answer.headers['content-type']).toBe('application/octet-stream');
    await call('GET /v2/rooms/here/ydoc-binary');
    expect(door.asked).toEqual([
      ['here', { type: 'ydoc.read', guid: 'g1' }],
      ['here', { type: 'ydoc.read', guid: '' }],
    ]);
  });

  test('[RS6] a missing room is 404 for all three', async () => {
    expect(refused(await call('GET /v2/rooms/none/ydoc'))).toContain('404 ROOM_NOT_FOUND');
    expect(refused(await call('GET /v2/rooms/none/ydoc-binary'))).toContain('404 ROOM_NOT_FOUND');
    expect(refused(await call('PUT /v2/rooms/none/ydoc', { body: update, contentType: 'application/octet-stream' }))).toContain(
      '404 ROOM_NOT_FOUND',
    );
  });
});

test('[OV9] a large update for a room that takes no changes now is refused before the room sees it', async () => {
  const put = (length: number) =>
    call('PUT /v2/rooms/here/ydoc', { body: new Uint8Array(length), contentType: 'application/octet-stream' });
  door.full.add(asRoomId('here'));
  expect((await put(20_000)).json.error).toBe('ROOM_OVERLOADED');
  expect(door.asked).toEqual([]);
  await put(10);
  expect(door.asked).toHaveLength(1);
});
