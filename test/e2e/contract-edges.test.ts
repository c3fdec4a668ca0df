/** Edge cases of supplement 7 that no other title names, a case a line, over HTTP. @see contract.test.ts */
import { describe, expect, test } from 'vitest';
import { at, contractOf, refusal } from '../support/e2e/contract.ts';
import { uploadAs } from '../support/e2e/files.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';

const KIND = isExternal ? 'liveblocksType' : 'serviceType';
const server = await aServer({ STORAGE_TYPE_KEY: KIND });
const { call, aRoom } = contractOf(server);

const node = (kind: string, data: unknown) => ({ [KIND]: kind, data });
const FILE = { id: `fl_${'E'.repeat(21)}`, name: 'a.bin', size: 9, mimeType: 'application/octet-stream' };
const FURNISHED = node('LiveObject', {
  n: 1,
  plain: { a: 1 },
  list: node('LiveList', ['a', 'b']),
  text: node('LiveText', [['abc']]),
  file: node('LiveFile', FILE),
});

const furnished = await aRoom();
await uploadAs(server, furnished, FILE);
await call(`POST ${at(furnished)}/storage`, { json: FURNISHED });
const stored = async (): Promise<unknown> => (await call(`GET ${at(furnished)}/storage`)).json;

describe('rooms', () => {
  const id = (): string => freshRoomId('edges');
  const metadata = (value: unknown) => ({ id: id(), defaultAccesses: [], metadata: { key: value } });
  test.each([
    ['row 18: without defaultAccesses', { id: id() }, "Missing key 'defaultAccesses'"],
    ['row 19: without id', { defaultAccesses: [] }, "Missing key 'id'"],
    ['row 29: metadata that is a number', metadata(1), "Value at key 'metadata.key'"],
    ['row 29: metadata that is a boolean', metadata(true), "Value at key 'metadata.key'"],
    ['row 29: metadata that is an object', metadata({}), "Value at key 'metadata.key'"],
    ['row 29: metadata that is a mixed array', metadata(['a', 1]), "Value at key 'metadata.key.1'"],
    ['row 30: metadata that is null', metadata(null), "Value at key 'metadata.key'"],
  ])('[contract: POST /rooms] %s', async (_, json, message) => {
    expect(refusal(await call('POST /rooms', { json }))).toContain(`422 UNPROCESSABLE_ENTITY ${message}`);
  });
});

describe('presence', () => {
  const GOOD = { userId: 'mia', data: {}, userInfo: {} };
  const { userId: _, ...nobody } = GOOD;
  test.each([
    ['row 50: without userId', nobody, "Missing key 'userId'"],
    ['row 50: without data', { ...GOOD, data: undefined }, "Missing key 'data'"],
    ['row 50: without userInfo', { ...GOOD, userInfo: undefined }, "Missing key 'userInfo'"],
    ['row 51: for 1 second', { ...GOOD, ttl: 1 }, "Value at key 'ttl'"],
    ['row 51: for 3600 seconds', { ...GOOD, ttl: 3_600 }, "Value at key 'ttl'"],
    ['row 52: data that is an array', { ...GOOD, data: [] }, "Value at key 'data'"],
    ['row 52: data that is a string', { ...GOOD, data: 'x' }, "Value at key 'data'"],
    ['row 53: an empty name', { ...GOOD, userInfo: { name: '' } }, "Value at key 'userInfo.name'"],
    ['row 53: an avatar that is no URI', { ...GOOD, userInfo: { avatar: 'no uri' } }, "Value at key 'userInfo.avatar'"],
  ])('[contract: POST /rooms/{roomId}/presence] %s', async (_, json, message) => {
    const answer = await call(`POST ${at(furnished)}/presence`, { json });
    expect(refusal(answer)).toContain(`422 UNPROCESSABLE_ENTITY ${message}`);
  });
});

test('[contract: POST /rooms/{roomId}/storage] row 59: a node of an unknown kind is named with its place', async () => {
  const answer = await call(`POST ${at(await aRoom())}/storage`, {
    json: node('LiveObject', { a: node('LiveThing', {}) }),
  });
  expect(refusal(answer)).toMatch(/^422 UNPROCESSABLE_ENTITY Value at key .*\/a/);
});

describe('JSON Patch', () => {
  const UE = 'UNPROCESSABLE_ENTITY';
  const ISMR = 'INVALID_STORAGE_MUTATION_REQUEST';
  const one = (op: string, path: string, more: object = { value: 1 }) => [{ op, path, ...more }];
  const none = {};
  test.each([
    ['row 62: an object', {}, UE],
    ['row 63: a path without a slash', one('add', 'score'), UE],
    ['row 63: an empty path', one('add', ''), UE],
    ['row 63: a bad escape', one('add', '/a~2'), UE],
    ['row 64: an unknown operation', one('merge', '/n'), UE],
    ['row 65: add without a value', one('add', '/n', none), UE],
    ['row 65: move without from', one('move', '/n', none), UE],
    ['row 67: remove what is not there', one('remove', '/absent', none), ISMR],
    ['row 67: replace what is not there', one('replace', '/absent'), ISMR],
    ['row 68: replace behind the last', one('replace', '/list/2'), ISMR],
    ['row 68: remove behind the last', one('remove', '/list/2', none), ISMR],
    ['row 68: add with a gap', one('add', '/list/3'), ISMR],
    ['row 69: index 01', one('add', '/list/01'), ISMR],
    ['row 69: index -1', one('add', '/list/-1'), ISMR],
    ['row 69: index 1.0', one('add', '/list/1.0'), ISMR],
    ['row 69: index x', one('add', '/list/x'), ISMR],
    ['row 70: remove -', one('remove', '/list/-', none), ISMR],
    ['row 70: replace -', one('replace', '/list/-'), ISMR],
    ['row 70: test -', one('test', '/list/-'), ISMR],
    ['row 70: move from -', one('move', '/list/0', { from: '/list/-' }), ISMR],
    ['row 71: through plain JSON', one('add', '/plain/b'), ISMR],
    ['row 71: through a scalar', one('add', '/n/b'), ISMR],
    ['row 72: below a text', one('replace', '/text/0'), ISMR],
    ['row 72: below a file', one('replace', '/file/name', { value: 'b' }), ISMR],
    ['row 73: a text by a number', one('replace', '/text'), ISMR],
    ['row 73: a text by an object', one('replace', '/text', { value: {} }), ISMR],
    ['row 74: another value', one('test', '/n', { value: 2 }), ISMR],
    ['row 74: another type', one('test', '/n', { value: '1' }), ISMR],
    ['row 75: test what is not there', one('test', '/absent'), ISMR],
  ])('[contract: PATCH /rooms/{roomId}/storage/json-patch] %s', async (_, json, code) => {
    const before = await stored();
    const answer = await call(`PATCH ${at(furnished)}/storage/json-patch`, { json });
    expect(refusal(answer)).toMatch(new RegExp(`^422 ${code} `));
    expect(await stored()).toEqual(before);
  });
});

test('[contract: POST /schemas] row 122: a text that says nothing of Storage is refused with its position', async () => {
  const answer = await call('POST /schemas', { json: { name: 'edges', body: 'type Other { a: string }' } });
  expect(refusal(answer)).toMatch(/^422 INVALID_SCHEMA .*\d/);
});
