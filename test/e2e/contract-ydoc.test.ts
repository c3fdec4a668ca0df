/** The contract's table Yjs, row by row, over HTTP. @see contract.test.ts */
import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { at, contractOf, nothing, refusal } from '../support/e2e/contract.ts';
import { aServer } from '../support/e2e/server.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);

const put = (roomId: string, body: Uint8Array | string, { query = '', contentType = 'application/octet-stream' } = {}) =>
  call(`PUT ${at(roomId)}/ydoc${query}`, { body, contentType });
const json = async (roomId: string, query = '') => (await call(`GET ${at(roomId)}/ydoc${query}`)).json;
const binary = async (roomId: string, query = '') =>
  new Uint8Array(
    await (
      await fetch(`${server.url}/v2${at(roomId)}/ydoc-binary${query}`, {
        headers: { authorization: `Bearer ${server.secretKey}` },
      })
    ).arrayBuffer(),
  );
const docOf = (update: Uint8Array) => {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, update);
  return doc;
};

/** One root of every type. */
function furnishedDoc(): Y.Doc {
  const doc = new Y.Doc();
  doc.getText('text').insert(0, 'bold', { bold: true });
  doc.getText('text').insert(4, ' plain', { bold: null });
  doc.getMap('map').set('a', { b: [1, null] });
  doc.getMap('map').set('inner', new Y.Text('nested'));
  doc.getArray('array').push([1, 'two', new Y.Map([['x', true]])]);
  const paragraph = new Y.XmlElement('p');
  paragraph.setAttribute('class', 'x');
  paragraph.insert(0, [new Y.XmlText('one')]);
  doc.getXmlFragment('fragment').insert(0, [paragraph]);
  return doc;
}

async function aRoomWith(doc: Y.Doc): Promise<string> {
  const roomId = await aRoom();
  expect(await put(roomId, Y.encodeStateAsUpdate(doc))).toEqual(nothing(200));
  return roomId;
}

test('[contract: GET /rooms/{roomId}/ydoc] every root as JSON, its type inferred; formatting turns texts into inserts', async () => {
  const roomId = await aRoomWith(furnishedDoc());
  const plain = {
    text: 'bold plain',
    map: { a: { b: [1, null] }, inner: 'nested' },
    array: [1, 'two', { x: true }],
    fragment: '<p class="x">one</p>',
  };
  const bold = [{ insert: 'bold', attributes: { bold: true } }, { insert: ' plain' }];
  const formatted = { ...plain, text: bold, map: { ...plain.map, inner: [{ insert: 'nested' }] } };
  for (const query of ['', '?formatting=false']) expect(await json(roomId, query)).toEqual(plain);
  for (const query of ['?formatting', '?formatting=', '?formatting=true']) expect(await json(roomId, query)).toEqual(formatted);
  expect(await json(roomId, '?key=text')).toBe('bold plain');
  expect(await json(roomId, '?key=text&formatting')).toEqual(bold);
  expect(await json(roomId, '?key=none')).toBe(null);
});

test.each([
  ['map', 'ymap', { a: { b: [1, null] }, inner: 'nested' }],
  ['text', 'ytext', 'bold plain'],
  ['text', 'yxmltext', '<bold>bold</bold> plain'],
  ['fragment', 'yxmlfragment', '<p class="x">one</p>'],
  ['array', 'yarray', [1, 'two', { x: true }]],
  ['none', 'ymap', {}],
  ['none', 'ytext', ''],
  ['none', 'yarray', []],
])('[contract: GET /rooms/{roomId}/ydoc] the key %s read as %s', async (key, type, value) => {
  const roomId = await aRoomWith(furnishedDoc());
  expect(await json(roomId, `?key=${key}&type=${type}`)).toEqual(value);
});

test('[contract: GET /rooms/{roomId}/ydoc] row 92: a type says nothing without a key; an unknown one is refused either way', async () => {
  const roomId = await aRoomWith(furnishedDoc());
  expect(await json(roomId, '?type=yarray')).toEqual(await json(roomId));
  const allowed = "422 UNPROCESSABLE_ENTITY Value at key 'type' must be 'ymap', 'ytext', 'yxmltext', 'yxmlfragment' or 'yarray'.";
  for (const query of ['?key=text&type=ystring', '?type=ystring', '?key=text&type='])
    expect(refusal(await call(`GET ${at(roomId)}/ydoc${query}`))).toBe(allowed);
  expect(refusal(await call(`GET ${at(roomId)}/ydoc?formatting=yes`))).toContain(
    "Value at key 'formatting' must be true or false.",
  );
});

test('[contract: GET /rooms/{roomId}/ydoc] [contract: GET /rooms/{roomId}/ydoc-binary] row 95: what is not there is {} and two zero bytes', async () => {
  const roomId = await aRoom();
  expect(await json(roomId)).toEqual({});
  expect([...(await binary(roomId))]).toEqual([0, 0]);
  expect([...(await binary(roomId, '?guid=unknown'))]).toEqual([0, 0]);
});

test('[contract: PUT /rooms/{roomId}/ydoc] merges an update into what is there, once however often it comes, and each guid apart', async () => {
  const doc = furnishedDoc();
  const roomId = await aRoomWith(doc);
  const edit = new Y.Doc();
  edit.getText('other').insert(0, 'x');
  for (const _ of [1, 2]) expect(await put(roomId, Y.encodeStateAsUpdate(edit))).toEqual(nothing(200));
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(edit));
  expect(docOf(await binary(roomId)).toJSON()).toEqual(docOf(Y.encodeStateAsUpdate(doc)).toJSON());
  expect(Object.keys(await json(roomId)).sort()).toEqual(['array', 'fragment', 'map', 'other', 'text']);

  const sub = new Y.Doc();
  sub.getText('sub').insert(0, 'below');
  expect(await put(roomId, Y.encodeStateAsUpdate(sub), { query: '?guid=g-1' })).toEqual(nothing(200));
  expect(
    docOf(await binary(roomId, '?guid=g-1'))
      .getText('sub')
      .toString(),
  ).toBe('below');
  expect(docOf(await binary(roomId)).share.has('sub')).toBe(false);
  expect([...(await binary(roomId, '?guid=g-2'))]).toEqual([0, 0]);
});

test('[contract: PUT /rooms/{roomId}/ydoc] rows 12, 93 and 94: JSON is 415, garbage and an empty body are 422, and nothing changes', async () => {
  const roomId = await aRoomWith(furnishedDoc());
  const before = await binary(roomId);
  for (const contentType of ['application/json', 'text/plain', 'multipart/form-data'])
    expect(refusal(await put(roomId, '{}', { contentType }))).toContain('415 UNSUPPORTED_MEDIA_TYPE');
  for (const garbage of [new Uint8Array([1]), new Uint8Array(100).fill(255), new TextEncoder().encode('{"a":1}')])
    expect(refusal(await put(roomId, garbage))).toContain('422 YJS_UPDATE_INVALID The Yjs update was refused: ');
  expect(refusal(await put(roomId, new Uint8Array()))).toContain('422 UNPROCESSABLE_ENTITY The body is missing');
  expect([...(await binary(roomId))]).toEqual([...before]);
});

test('[contract: PUT /rooms/{roomId}/ydoc] an update of 20 MiB is looked at, one byte more is 413', async () => {
  const roomId = await aRoom();
  expect(refusal(await put(roomId, new Uint8Array(20_971_520)))).toContain('422 YJS_UPDATE_INVALID');
  expect(refusal(await put(roomId, new Uint8Array(20_971_521)))).toBe(
    '413 PAYLOAD_TOO_LARGE The body is larger than 20971520 bytes.',
  );
});

test('[contract: GET /rooms/{roomId}/ydoc-binary] the whole document as one update, in bytes', async () => {
  const doc = furnishedDoc();
  const roomId = await aRoomWith(doc);
  const answer = await call(`GET ${at(roomId)}/ydoc-binary`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
  const copy = docOf(await binary(roomId));
  expect(Y.encodeStateVector(copy)).toEqual(Y.encodeStateVector(doc));
  expect(copy.getXmlFragment('fragment').toString()).toBe('<p class="x">one</p>');
});
