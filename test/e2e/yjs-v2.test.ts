/** The SDK's provider with `useV2Encoding_experimental`, beside one without it and y-websocket. */
import * as encoding from 'lib0/encoding';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { CODE } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { type PlainEditor, plainEditor, type SdkEditor, sdkEditor, synchronized, textOf } from '../support/e2e/yjs-clients.ts';

const server = await aServer();
const { backend } = server;

interface Three {
  readonly roomId: string;
  readonly al: SdkEditor;
  readonly bo: SdkEditor;
  readonly cy: PlainEditor;
}

/** `al` speaks V2, `bo` V1, `cy` y-websocket. */
async function three(name: string): Promise<Three> {
  const roomId = freshRoomId(name);
  const [al, bo, cy] = await Promise.all([
    sdkEditor(server, { roomId, userId: 'al', encoding: 'V2' }),
    sdkEditor(server, { roomId, userId: 'bo' }),
    plainEditor(server, { roomId, userId: 'cy' }),
  ]);
  return { roomId, al, bo, cy };
}

/** All read the text, and both providers say that it is saved. */
async function allRead({ al, bo, cy }: Three, text: string): Promise<void> {
  for (const editor of [al, bo, cy]) await until(`all read "${text}"`, () => textOf(editor) === text);
  await Promise.all([synchronized(al), synchronized(bo)]);
}

describe('[YD43] a provider that speaks V2', () => {
  test('types with those who do not, is told that it is saved, and neither is closed', async () => {
    const editors = await three('v2');
    const { al, bo, cy, roomId } = editors;
    al.doc.getText('text').insert(0, 'hello world');
    await allRead(editors, 'hello world');
    bo.doc.getText('text').delete(5, 6);
    await allRead(editors, 'hello');
    cy.doc.getText('text').insert(5, ', you');
    await allRead(editors, 'hello, you');
    al.doc.getText('text').delete(0, 1);
    al.doc.getText('text').format(0, 3, { bold: true });
    al.doc.getMap('map').set('😀', { nested: [1.5, null] });
    al.doc.getXmlFragment('xml').insert(0, [new Y.XmlElement('p')]);
    await allRead(editors, 'ello, you');
    for (const { doc } of [bo, cy])
      await until('the rest is there', () => JSON.stringify(doc.getMap('map')) === '{"😀":{"nested":[1.5,null]}}');
    expect(await backend.getYjsDocument(roomId)).toMatchObject({ text: 'ello, you', xml: '<p></p>' });
    for (const { network } of [al, bo, cy]) expect(network.closeCodes).toEqual([]);
  });

  test('finds what is there, and is told that it is saved when it has deleted nothing itself', async () => {
    const { al, bo, roomId } = await three('v2-late');
    bo.doc.getText('text').insert(0, 'abcdefgh');
    for (const at of [6, 4, 2]) bo.doc.getText('text').delete(at, 1);
    await until('it is there', () => textOf(al) === 'abdfh');
    const late = await sdkEditor(server, { roomId, userId: 'di', encoding: 'V2' });
    expect(textOf(late)).toBe('abdfh');
    await Promise.all([al, bo, late].map(synchronized));
  });

  test('brings what it wrote while it was away', async () => {
    const editors = await three('v2-away');
    const { al, bo } = editors;
    al.doc.getText('text').insert(0, 'on');
    await allRead(editors, 'on');
    al.network.cut();
    await until('al has noticed', () => al.room.getStatus() === 'reconnecting');
    al.doc.getText('text').delete(0, 1);
    al.doc.getText('text').insert(1, ' and off');
    bo.doc.getText('text').insert(0, '> ');
    al.network.mend();
    await allRead(editors, '> n and off');
  });

  test('has subdocuments with those who do not', async () => {
    const { al, bo, roomId } = await three('v2-subdoc');
    const subdoc = new Y.Doc();
    al.doc.getMap<Y.Doc>('docs').set('one', subdoc);
    await until('al has synced it', () => al.provider.subdocHandlers.get(subdoc.guid)?.synced === true);
    subdoc.getText('text').insert(0, 'inside');
    const copy = await until('bo has the subdocument', () => bo.doc.getMap<Y.Doc>('docs').get('one'));
    await until('bo reads it', () => copy.getText('text').toString() === 'inside');
    copy.getText('text').delete(0, 2);
    await until('al reads it', () => subdoc.getText('text').toString() === 'side');
    await Promise.all([synchronized(al), synchronized(bo)]);
    const stored = new Y.Doc();
    Y.applyUpdate(stored, new Uint8Array(await backend.getYjsDocumentAsBinaryUpdate(roomId, { guid: subdoc.guid })));
    expect(stored.getText('text').toString()).toBe('side');
  });

  test.skipIf(isExternal)('goes on over a restart of the server', async () => {
    const editors = await three('v2-restart');
    const { al, bo } = editors;
    al.doc.getText('text').insert(0, 'before');
    await allRead(editors, 'before');
    al.doc.getText('text').delete(0, 2);
    await allRead(editors, 'fore');
    await server.restart();
    al.doc.getText('text').insert(4, ' after');
    bo.doc.getText('text').insert(0, '> ');
    await allRead(editors, '> fore after');
  });
});

test('[YD41] a few bytes of V2 that stand for structs without end close their sender, and nobody else', async () => {
  const roomId = freshRoomId('v2-bomb');
  const bo = await sdkEditor(server, { roomId, userId: 'bo' });
  const attacker = await enterRaw(server, { roomId, userId: 'mallory' });
  attacker.send({ type: CODE.ydocUpdate, update: Buffer.from(collectedWithoutEnd()).toString('base64'), v2: true });
  expect(await attacker.closed).toMatchObject({ code: 4000, reason: expect.stringContaining('in V1 it would be longer') });
  bo.doc.getText('text').insert(0, 'still here');
  await synchronized(bo);
});

function collectedWithoutEnd(): Uint8Array {
  const run = encoding.encode((encoder) => {
    encoding.writeVarInt(encoder, -1);
    encoding.writeVarUint(encoder, 2 ** 40);
  });
  const none = new Uint8Array(0);
  return encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, 0);
    const columns = [none, run, none, none, Uint8Array.of(0), Uint8Array.of(0), none, none, run];
    for (const column of columns) encoding.writeVarUint8Array(encoder, column);
    for (const number of [1, 2 ** 40, 0]) encoding.writeVarUint(encoder, number);
  });
}
