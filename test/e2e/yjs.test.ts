/** Yjs documents: the SDK's provider, y-websocket and REST on one document (conformance checks 33 to 35). */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readAuthMessage } from 'y-protocols/auth';
import * as Y from 'yjs';
import { CODE } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { plainEditor, plainEditorWith, sdkEditor, synchronized, textOf } from '../support/e2e/yjs-clients.ts';

const server = await aServer();
const { backend } = server;

const EMPTY_VECTOR = 'AA==';
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
const hashOf = (doc: Y.Doc): string =>
  createHash('sha256')
    .update(Y.encodeSnapshot(Y.snapshot(doc)))
    .digest('base64');

function docWith(text: string): Y.Doc {
  const doc = new Y.Doc();
  doc.getText('text').insert(0, text);
  return doc;
}

/** The root document as REST has it. */
async function storedDoc(roomId: string, guid?: string): Promise<Y.Doc> {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, new Uint8Array(await backend.getYjsDocumentAsBinaryUpdate(roomId, guid === undefined ? {} : { guid })));
  return doc;
}

async function storedText(roomId: string): Promise<string> {
  return (await storedDoc(roomId)).getText('text').toString();
}

describe('on the wire', () => {
  test('[E2E check 33] who asks gets what it lacks, a state vector and the hash of the result; the others get nothing', async () => {
    const roomId = freshRoomId('fetch');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(docWith('hello')));
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    await al.take(CODE.userJoined);
    bo.send({ type: CODE.ydoc, vector: EMPTY_VECTOR, v2: false });
    const reply = await bo.take(CODE.ydoc);
    expect(reply).toMatchObject({ isSync: true, v2: false, stateVector: expect.stringMatching(/./) });
    expect(reply).not.toHaveProperty('guid');
    const doc = new Y.Doc();
    Y.applyUpdate(doc, bytesOf(reply.update));
    expect(doc.getText('text').toString()).toBe('hello');
    expect(reply.remoteSnapshotHash).toBe(hashOf(doc));

    bo.send({ type: CODE.ydoc, vector: base64(Y.encodeStateVector(doc)), v2: false });
    expect(await bo.take(CODE.ydoc)).toMatchObject({ update: 'AAA=', remoteSnapshotHash: hashOf(doc) });
    await al.roundTrip();
    expect(al.inbox).toEqual([]);
  });

  test('[E2E check 33] an empty document has the known hash', async () => {
    const al = await enterRaw(server, { roomId: freshRoomId('empty'), userId: 'al' });
    al.send({ type: CODE.ydoc, vector: EMPTY_VECTOR, v2: false });
    expect(await al.take(CODE.ydoc)).toMatchObject({
      update: 'AAA=',
      remoteSnapshotHash: 'lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=',
    });
  });

  test('[E2E check 34] an edit reaches the other, and its sender is told the new hash', async () => {
    const roomId = freshRoomId('edit');
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    for (const client of [al, bo]) {
      client.send({ type: CODE.ydoc, vector: EMPTY_VECTOR, v2: false });
      await client.take(CODE.ydoc);
    }
    const doc = docWith('edit');
    al.send({ type: CODE.ydocUpdate, update: base64(Y.encodeStateAsUpdate(doc)), v2: false });
    await until('al knows the new hash', async () => (await al.take(CODE.ydoc)).remoteSnapshotHash === hashOf(doc));
    const copy = new Y.Doc();
    let last = '';
    await until('bo has the edit and the hash', async () => {
      const message = await bo.take(CODE.ydoc);
      Y.applyUpdate(copy, bytesOf(message.update));
      last = message.remoteSnapshotHash;
      expect(message).toMatchObject({ isSync: false, stateVector: null });
      return copy.getText('text').toString() === 'edit' && last === hashOf(copy);
    });
  });

  test('[E2E check 34] an edit of a client that may only read is not taken', async () => {
    const roomId = freshRoomId('read-only');
    const reader = await enterRaw(server, { roomId, userId: 'al', permissions: { '*': ['*:read'] } });
    reader.send({ type: CODE.ydoc, vector: EMPTY_VECTOR, v2: false });
    await reader.take(CODE.ydoc);
    reader.send({ type: CODE.ydocUpdate, update: base64(Y.encodeStateAsUpdate(docWith('no'))), v2: false });
    await reader.roundTrip();
    expect(await storedText(roomId)).toBe('');
  });
});

describe("the SDK's provider", () => {
  test('[E2E check 34] two providers edit one text; both read the same and say synchronized', async () => {
    const roomId = freshRoomId('sdk');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    al.doc.getText('text').insert(0, 'world');
    await synchronized(al);
    const bo = await sdkEditor(server, { roomId, userId: 'bo' });
    expect(textOf(bo)).toBe('world');
    bo.doc.getText('text').insert(0, 'hello ');
    al.doc.getText('text').insert(5, '!');
    for (const editor of [al, bo]) {
      await until('both edits are here', () => textOf(editor) === 'hello world!');
      await synchronized(editor);
    }
    expect(await storedText(roomId)).toBe('hello world!');
  });

  test('[E2E check 34] edits made offline arrive when the client is back, and it says synchronized again', async () => {
    const roomId = freshRoomId('sdk-offline');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    al.doc.getText('text').insert(0, 'on');
    await synchronized(al);
    al.network.cut();
    await until('al has noticed', () => al.room.getStatus() === 'reconnecting');
    al.doc.getText('text').insert(2, ' and off');
    al.network.mend();
    await until('the edit is stored', async () => (await storedText(roomId)) === 'on and off');
    await synchronized(al);
  });

  test('[E2E check 35] a subdocument is synced under its guid and stored apart from the root', async () => {
    const roomId = freshRoomId('subdoc');
    const [al, bo] = [await sdkEditor(server, { roomId, userId: 'al' }), await sdkEditor(server, { roomId, userId: 'bo' })];
    const subdoc = new Y.Doc();
    al.doc.getMap<Y.Doc>('docs').set('one', subdoc);
    await until('al has synced it', () => al.provider.subdocHandlers.get(subdoc.guid)?.synced === true);
    subdoc.getText('text').insert(0, 'inside');
    const copy = await until('bo has the subdocument', () => bo.doc.getMap<Y.Doc>('docs').get('one'));
    expect(copy.guid).toBe(subdoc.guid);
    await until('bo reads it', () => copy.getText('text').toString() === 'inside');
    await Promise.all([synchronized(al), synchronized(bo)]);
    expect((await storedDoc(roomId, subdoc.guid)).getText('text').toString()).toBe('inside');
    expect(await storedText(roomId)).toBe('');
  });

  test.skipIf(isExternal)(
    '[E2E check 34] after a restart of the server documents are there, and editors that stayed go on',
    async () => {
      const roomId = freshRoomId('restart');
      const al = await sdkEditor(server, { roomId, userId: 'al' });
      const bo = await plainEditor(server, { roomId, userId: 'bo' });
      al.doc.getText('text').insert(0, 'before');
      await until('bo has it', () => textOf(bo) === 'before');
      await server.restart();
      al.doc.getText('text').insert(6, ' after');
      bo.doc.getText('text').insert(0, '> ');
      for (const editor of [al, bo]) await until('both edits are here', () => textOf(editor) === '> before after');
      await synchronized(al);
      expect(await storedText(roomId)).toBe('> before after');
    },
  );
});

describe('y-websocket', () => {
  test('[E2E-Y1] it brings what it has, gets what it lacks, and hears of edits', async () => {
    const roomId = freshRoomId('plain');
    const al = await plainEditor(server, { roomId, userId: 'al' });
    al.doc.getText('text').insert(0, 'hello');
    await until('it is stored', async () => (await storedText(roomId)) === 'hello');
    const bo = await plainEditor(server, { roomId, userId: 'bo' });
    expect(textOf(bo)).toBe('hello');
    bo.doc.getText('text').insert(5, ' world');
    await until('al has it', () => textOf(al) === 'hello world');
    al.doc.getText('text').delete(0, 6);
    await until('bo has it', () => textOf(bo) === 'world');
  });

  test('[E2E-Y1] edits made offline arrive when it is back', async () => {
    const roomId = freshRoomId('plain-offline');
    const al = await plainEditor(server, { roomId, userId: 'al' });
    al.provider.disconnect();
    al.doc.getText('text').insert(0, 'offline');
    al.provider.connect();
    await until('it is stored', async () => (await storedText(roomId)) === 'offline');
  });

  test('[E2E-Y7] back before the server knows that its former connection is dead, it brings what it wrote and deleted meanwhile', async () => {
    const roomId = freshRoomId('half-open');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const doc = docWith('typed');
    const former = await enterRaw(server, { roomId, userId: 'yan' });
    former.send({ type: CODE.ydocUpdate, update: base64(Y.encodeStateAsUpdate(doc)), v2: false });
    await former.roundTrip();
    const text = doc.getText('text');
    text.insert(5, 'x'.repeat(20_000));
    text.delete(5, 20_000);
    text.insert(5, ' and written offline');
    const back = plainEditorWith(server, { roomId, params: { token: await accessTokenFor(server, { userId: 'yan' }) }, doc });
    await until('it is sent away for now', () => back.network.closeCodes.includes(1012));
    former.leave();
    await until('all of it is stored', async () => (await storedText(roomId)) === 'typed and written offline');
  });

  test('[E2E-Y1] the public key opens it too', async () => {
    const roomId = freshRoomId('plain-public');
    await backend.createRoom(roomId, { defaultAccesses: ['*:write'] });
    const al = plainEditorWith(server, { roomId, params: { pubkey: server.publicKey } });
    al.doc.getText('text').insert(0, 'anonymous');
    await until('it is stored', async () => (await storedText(roomId)) === 'anonymous');
  });

  test('[E2E-Y2] a client that may only read hears everything, changes nothing, and is told why', async () => {
    const roomId = freshRoomId('plain-read');
    const al = await plainEditor(server, { roomId, userId: 'al' });
    al.doc.getText('text').insert(0, 'theirs!');
    al.doc.getText('text').delete(6, 1);
    const token = await accessTokenFor(server, { userId: 'bo', permissions: { '*': ['*:read'] } });
    const reader = plainEditorWith(server, { roomId, params: { token } });
    const refusals: string[] = [];
    reader.provider.messageHandlers[2] = (_, decoder) =>
      readAuthMessage(decoder, reader.doc, (__, reason) => refusals.push(reason));
    await until('it reads', () => textOf(reader) === 'theirs');
    reader.doc.getMap('mine').set('a', 1);
    await until('it is told', () => refusals.length > 0);
    al.doc.getText('text').insert(0, 'still ');
    await until('it hears', () => textOf(reader) === 'still theirs');
    expect(refusals).toEqual([expect.stringContaining('not change')]);
    expect(await backend.getYjsDocument(roomId)).toEqual({ text: 'still theirs' });
  });

  test('[E2E-Y2] without a token, with a wrong one, or without access to Storage it never gets in', async () => {
    const roomId = freshRoomId('plain-refused');
    const blind = await accessTokenFor(server, { userId: 'al', permissions: { '*': ['*:write', 'storage:none'] } });
    for (const params of [{}, { token: 'nonsense' }, { token: blind }] as Record<string, string>[]) {
      const editor = plainEditorWith(server, { roomId, params });
      await until('the server has refused', () => editor.network.closeCodes.length > 0);
      expect(editor.network.closeCodes[0]).toBe(4401);
      expect(editor.provider.synced).toBe(false);
      editor.provider.destroy();
    }
  });
});

describe('both kinds of client together', () => {
  test('[E2E-Y3] they see each other edit one document', async () => {
    const roomId = freshRoomId('mixed');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    const bo = await plainEditor(server, { roomId, userId: 'bo' });
    al.doc.getText('text').insert(0, 'from the SDK');
    await until('bo has it', () => textOf(bo) === 'from the SDK');
    bo.doc.getText('text').insert(0, 'from y-websocket, ');
    await until('al has it', () => textOf(al) === 'from y-websocket, from the SDK');
    await synchronized(al);
  });

  test("[E2E-Y4] they see each other's awareness, its changes and its end", async () => {
    const roomId = freshRoomId('awareness');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    const bo = await plainEditor(server, { roomId, userId: 'bo' });
    al.provider.awareness.setLocalStateField('user', { name: 'Al' });
    bo.awareness.setLocalStateField('user', { name: 'Bo' });
    await until('bo sees al', () => (bo.awareness.getStates().get(al.doc.clientID) as any)?.user?.name === 'Al');
    await until('al sees bo', () => (al.provider.awareness.getStates().get(bo.doc.clientID) as any)?.user?.name === 'Bo');

    const cy = await plainEditor(server, { roomId, userId: 'cy' });
    await until('a newcomer sees both', () => cy.awareness.getStates().size === 3);
    expect(cy.awareness.getStates().get(al.doc.clientID)).toEqual({ user: { name: 'Al' } });

    bo.awareness.setLocalStateField('cursor', { at: 3 });
    await until('al sees it move', () => (al.provider.awareness.getStates().get(bo.doc.clientID) as any)?.cursor?.at === 3);
    bo.provider.disconnect();
    await until('al sees it gone', () => !al.provider.awareness.getStates().has(bo.doc.clientID));
    al.leave();
    await until('cy sees the SDK client gone', () => !cy.awareness.getStates().has(al.doc.clientID));
  });
});

describe('size', () => {
  test('[E2E-Y6] a document larger than what may wait for a slow reader reaches both kinds of client', async () => {
    const roomId = freshRoomId('large');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    const bo = await plainEditor(server, { roomId, userId: 'bo' });
    for (const letter of ['a', 'b', 'c', 'd']) al.doc.getText('text').insert(0, letter.repeat(1_000_000));
    await until('bo has it', () => textOf(bo).length === 4_000_000);
    await synchronized(al);
    const newcomers = [await plainEditor(server, { roomId, userId: 'cy' }), await sdkEditor(server, { roomId, userId: 'di' })];
    for (const editor of newcomers) expect(textOf(editor)).toBe(textOf(al));
    for (const { network } of [al, bo, ...newcomers]) expect(network.closeCodes).toEqual([]);
  });

  test('[E2E-Y6] what an SDK client wrote while it was away comes back in one message, however large', async () => {
    const roomId = freshRoomId('large-away');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    al.network.cut();
    await until('al has noticed', () => al.room.getStatus() === 'reconnecting');
    al.doc.getText('text').insert(0, 'a'.repeat(7_000_000));
    al.network.mend();
    await until('it is stored', async () => (await storedText(roomId)).length === 7_000_000);
    await synchronized(al);
    expect(al.network.closeCodes).not.toContain(1011);
  });
});

describe('what has not come yet', () => {
  /** Three updates of one client, each behind the one before. */
  function threeUpdates(): [Uint8Array, Uint8Array, Uint8Array] {
    const doc = new Y.Doc();
    const updates: Uint8Array[] = [];
    doc.on('update', (update: Uint8Array) => updates.push(update));
    for (const word of ['one', 'two', 'three']) doc.getText('text').insert(doc.getText('text').length, word);
    return updates as [Uint8Array, Uint8Array, Uint8Array];
  }

  test('[YD21] what waits is there for editors that come later, of both kinds, and counts for all once the rest has come', async () => {
    const roomId = freshRoomId('waits');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const [first, late, early] = threeUpdates();
    await backend.sendYjsBinaryUpdate(roomId, first);
    await backend.sendYjsBinaryUpdate(roomId, early);
    expect(await storedText(roomId)).toBe('one');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    const bo = await plainEditor(server, { roomId, userId: 'bo' });
    expect([textOf(al), textOf(bo)]).toEqual(['one', 'one']);
    bo.doc.getText('text').insert(0, '0 ');
    for (const editor of [al, bo]) await until('the text is typed', () => textOf(editor) === '0 one');
    await synchronized(al);
    await backend.sendYjsBinaryUpdate(roomId, late);
    for (const editor of [al, bo]) await until('all is here', () => textOf(editor) === '0 onetwothree');
    await synchronized(al);
    expect(await storedText(roomId)).toBe('0 onetwothree');
  });

  test('[YD8] an editor that builds much on what was lost on the way brings both when it is asked, and nobody loses anything', async () => {
    const roomId = freshRoomId('early');
    const bo = await plainEditor(server, { roomId, userId: 'bo' });
    const lost = docWith('lost, ');
    Y.applyUpdate(bo.doc, Y.encodeStateAsUpdate(lost), bo.provider); // as if it came from the server: the editor sends it to nobody
    const text = 'much '.repeat(20_000);
    bo.doc.getText('text').insert(6, text);
    await until('the room has both', async () => (await storedText(roomId)) === `lost, ${text}`);
    expect(bo.provider.wsconnected).toBe(true);
  });
});

describe('REST', () => {
  test('[E2E-Y5] an update put over REST reaches live editors of both kinds, and theirs is read over REST', async () => {
    const roomId = freshRoomId('rest');
    const al = await sdkEditor(server, { roomId, userId: 'al' });
    const bo = await plainEditor(server, { roomId, userId: 'bo' });
    await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(docWith('put')));
    for (const editor of [al, bo]) await until('the update is here', () => textOf(editor) === 'put');
    await synchronized(al);
    bo.doc.getText('text').insert(3, '!');
    await until('it is stored', async () => (await storedText(roomId)) === 'put!');
    expect(await backend.getYjsDocument(roomId)).toEqual({ text: 'put!' });
  });

  test('[E2E-Y5] GET ydoc gives JSON by key, type and with formatting', async () => {
    const roomId = freshRoomId('json');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const doc = new Y.Doc();
    doc.getText('text').insert(0, 'bold', { bold: true });
    doc.getMap('map').set('a', { b: 1 });
    doc.getArray('array').push([1, 'two']);
    await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(doc));
    expect(await backend.getYjsDocument(roomId)).toEqual({ text: 'bold', map: { a: { b: 1 } }, array: [1, 'two'] });
    expect(await backend.getYjsDocument(roomId, { format: true, key: 'text', type: 'ytext' })).toEqual([
      { insert: 'bold', attributes: { bold: true } },
    ]);
    expect(await backend.getYjsDocument(roomId, { key: 'map', type: 'ymap' })).toEqual({ a: { b: 1 } });
    expect(await backend.getYjsDocument(roomId, { key: 'array', type: 'yarray' })).toEqual([1, 'two']);
  });

  test('[E2E-Y5] PUT ydoc takes bytes alone, and a subdocument by its guid', async () => {
    const roomId = freshRoomId('put');
    await backend.createRoom(roomId, { defaultAccesses: [] });
    const json = await ask(server, roomPath(roomId, '/ydoc'), { method: 'PUT', json: { a: 1 } });
    expect(json).toMatchObject({ status: 415, json: { error: 'UNSUPPORTED_MEDIA_TYPE' } });
    await backend.sendYjsBinaryUpdate(roomId, Y.encodeStateAsUpdate(docWith('sub')), { guid: 'g-1' });
    expect((await storedDoc(roomId, 'g-1')).getText('text').toString()).toBe('sub');
    expect(await storedText(roomId)).toBe('');
  });
});
