/** Files as applications use them: uploaded by real clients and back ends, placed in Storage, seen and downloaded by others. */
import { LiveFile, LiveList, LiveMap, LiveObject } from '@liveblocks/client';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { signedPath } from '../../src/adapters/blob-urls.ts';
import { tokenKeyFrom } from '../../src/features/tokens/queries.ts';
import { bytesOf, MIB } from '../support/blob-bodies.ts';
import { contractOf, refusal } from '../support/e2e/contract.ts';
import { aFileId, fileAt, uploadAs } from '../support/e2e/files.ts';
import { CODE, OP, opsIn } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { enter, rootOf, saved, storageOf, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { accessTokenFor, idTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { backend } = server;
const { call, aRoom } = contractOf(server);

/** Clients of production builds log a rejection; others throw as well, out of a socket's handler, where nobody here could catch it. */
beforeEach(() => {
  vi.stubEnv('NODE_ENV', 'production');
  return () => vi.unstubAllEnvs();
});

const aFile = (body: Uint8Array | string, name = 'notes.txt'): File => new File([body as never], name);
const stored = (roomId: string): Promise<any> => backend.getStorageDocument(roomId, 'json');
const bytesAt = async (url: string): Promise<Uint8Array> => new Uint8Array(await (await fetch(url)).arrayBuffer());
const unknown = (): LiveFile => new LiveFile({ id: aFileId(), name: 'never', size: 1, mimeType: 'text/plain' });

async function two(
  initialStorage: () => Record<string, any> = () => ({}),
): Promise<{ roomId: string; al: Visitor; bo: Visitor }> {
  const roomId = freshRoomId('files');
  const al = await enter(server, { roomId, userId: 'al', initialStorage });
  await rootOf(al);
  await saved(al); // or bo may be there before what al fills the room with
  const bo = await enter(server, { roomId, userId: 'bo' });
  await rootOf(bo);
  return { roomId, al, bo };
}

/** All read the same, and nobody waits for an answer. */
async function agree(roomId: string, expected: unknown, ...visitors: readonly Visitor[]): Promise<void> {
  await until('all read what is stored', async () => {
    for (const visitor of visitors) expect(await storageOf(visitor)).toEqual(expected);
    expect(visitors.map(({ room }) => room.getStorageStatus())).toEqual(visitors.map(() => 'synchronized'));
    return true;
  });
  expect(await stored(roomId)).toEqual(expected);
}

/** A page asks for addresses once its own changes are saved: before, the server does not know what the Storage refers to. */
async function addressOf(visitor: Visitor, file: LiveFile | string): Promise<string> {
  await saved(visitor);
  return visitor.room.getFileUrl(file);
}

describe('the SDK', () => {
  test('[FI1] a client uploads a file and places it in Storage; another one sees it and downloads it', async () => {
    const { roomId, al, bo } = await two();
    const file = await al.room.uploadFile(aFile('hello', 'Grüße.txt'));
    expect(file.data).toEqual({ id: expect.stringMatching(/^fl_/), name: 'Grüße.txt', size: 5, mimeType: 'text/plain' });
    (await rootOf(al)).set('file', file);
    await agree(roomId, { file: file.data }, al, bo);
    const seen = (await rootOf(bo)).get('file') as LiveFile;
    expect(seen).toBeInstanceOf(LiveFile);
    expect(Buffer.from(await bytesAt(await addressOf(bo, seen))).toString()).toBe('hello');
    expect(await stored(roomId)).toEqual({ file: file.data });
  });

  test('[FI1] a large file goes in parts', async () => {
    const { roomId, al, bo } = await two();
    const whole = bytesOf(12 * MIB + 3);
    const file = await al.room.uploadFile(aFile(whole, 'film.mp4'));
    expect(file.data).toMatchObject({ size: whole.length, mimeType: 'video/mp4' });
    (await rootOf(al)).set('list', new LiveList([file]));
    await agree(roomId, { list: [file.data] }, al, bo);
    expect(Buffer.compare(await bytesAt(await addressOf(bo, file)), whole)).toBe(0);
  });

  test('[FI2] a back end uploads, small and large, asks for an address, and places what it has uploaded', async () => {
    const roomId = await aRoom();
    for (const whole of [bytesOf(10), bytesOf(11 * MIB)]) {
      const file = await backend.uploadFile({ roomId, file: aFile(whole, 'a.bin') });
      const { url, expiresAt } = await backend.getFileUrl({ roomId, file });
      expect(Date.parse(String(expiresAt)) - Date.now()).toBeGreaterThan(3_500_000);
      expect(Buffer.compare(await bytesAt(url), whole)).toBe(0);
      await backend.mutateStorage(roomId, ({ root }) => void root.set(`of ${whole.length}`, file));
      expect((await stored(roomId))[`of ${whole.length}`]).toEqual(file.data);
    }
  });

  test('[FI2] an upload that is given up by the client leaves no file', async () => {
    const { al } = await two();
    const giveUp = new AbortController();
    const upload = al.room.uploadFile(aFile(bytesOf(12 * MIB)), { signal: giveUp.signal });
    giveUp.abort();
    await expect(upload).rejects.toThrow(/aborted/);
  });
});

describe('Storage that names a file which nobody uploaded', () => {
  const TEMPLATES: readonly (readonly [string, (root: LiveObject<any>) => void])[] = [
    ['as a value of an object', (root) => root.set('title', unknown())],
    ['as a new key', (root) => root.set('file', unknown())],
    ['in a list', (root) => root.get('list').push(unknown())],
    ['in place of an item', (root) => root.get('list').set(0, unknown())],
    ['in a map', (root) => root.get('map').set('k', unknown())],
    ['deep in something new', (root) => root.set('new', new LiveObject({ a: new LiveMap([['f', unknown()]]) }))],
  ];
  const filled = () => ({ title: 'old', list: new LiveList(['a', 'b']), map: new LiveMap([['k', 1]]) });

  test.each(TEMPLATES)(
    '[FI3] %s: its sender takes it back and hears why, nobody else sees it, nothing stays locked',
    async (_, edit) => {
      const { roomId, al, bo } = await two(filled);
      const before = await storageOf(bo);
      edit(await rootOf(al));
      const rejections = () => al.network.received.filter(({ type }) => type === CODE.rejected);
      await until('the rejection has come', () => rejections().length > 0);
      expect(rejections().map(({ reason }) => reason)).toEqual([
        expect.stringMatching(/^No file "fl_[\w-]{21}" was uploaded to this room\.$/),
      ]);
      await agree(roomId, before, al, bo);
      const [mine, theirs] = [await rootOf(al), await rootOf(bo)];
      theirs.update({ title: 'theirs' });
      theirs.get('list').push('c');
      theirs.get('map').set('k', 2);
      await agree(roomId, { title: 'theirs', list: ['a', 'b', 'c'], map: { k: 2 } }, al, bo);
      mine.get('list').delete(0);
      mine.set('title', 'mine');
      await agree(roomId, { title: 'mine', list: ['b', 'c'], map: { k: 2 } }, al, bo);
    },
  );

  test('[FI3] what is uploaded afterwards may be named, also after a rejection', async () => {
    const { roomId, al, bo } = await two();
    const id = aFileId();
    const data = { id, name: 'a.txt', size: 3, mimeType: 'text/plain' };
    (await rootOf(al)).set('file', new LiveFile(data));
    await agree(roomId, {}, al, bo);
    await uploadAs(server, roomId, data);
    (await rootOf(al)).set('file', new LiveFile(data));
    await agree(roomId, { file: data }, al, bo);
  });

  test('[FI3] a file of another room is unknown', async () => {
    const { roomId, al, bo } = await two();
    const file = await backend.uploadFile({ roomId: await aRoom(), file: aFile('x') });
    (await rootOf(al)).set('file', new LiveFile(file.data));
    await agree(roomId, {}, al, bo);
  });

  test('[FI4] what one connection sends stays in order around messages that name files', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    const data = { id: aFileId(), name: 'a', size: 1, mimeType: 'application/octet-stream' };
    await uploadAs(server, roomId, data);
    const client = await enterRaw(server, { roomId, userId: 'al' });
    await client.fetchStorage();
    const set = (value: number) => client.sendOps({ type: OP.updateObject, id: 'root', data: { n: value } });
    for (let n = 0; n < 30; n++) {
      set(n);
      const known = n % 3 !== 0;
      client.sendOps({
        type: OP.createFile,
        id: client.nodeId(n),
        parentId: 'root',
        parentKey: `file${n}`,
        data: known ? data : { ...data, id: aFileId() },
      });
      client.send({ type: CODE.event, event: n });
    }
    set(30);
    const answered = () => opsIn(client.inbox).flatMap(({ opId }) => (typeof opId === 'string' ? [opId] : []));
    await until('the last op is answered', () => answered().includes(`${client.actor}:60`));
    expect(answered()).toEqual(Array.from({ length: 61 }, (_, n) => `${client.actor}:${n}`));
    const { n, ...files } = await stored(roomId);
    expect([n, Object.keys(files).length]).toEqual([30, 20]);
  });
});

describe('who may', () => {
  const upload = (roomId: string, bearer: string) =>
    ask(server, `/v2/c${fileAt(roomId, aFileId(), '/upload/a.txt')}`, {
      method: 'PUT',
      body: 'hello',
      contentType: 'application/octet-stream',
      bearer,
    });
  const urls = (roomId: string, fileIds: readonly string[], bearer: string = server.secretKey) =>
    ask(server, `/v2/c/rooms/${encodeURIComponent(roomId)}/storage/files/presigned-urls`, { json: { fileIds }, bearer });
  const place = (roomId: string, data: unknown) =>
    ask(server, roomPath(roomId, '/storage/json-patch'), {
      method: 'PATCH',
      json: [{ op: 'add', path: '/file', value: { liveblocksType: 'LiveFile', data } }],
    });

  test('[FI5] uploading needs storage:write, addresses storage:read, of a token, of the room, or of the public key', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:write'], usersAccesses: { reader: ['*:read'], stranger: [] } });
    const token = (...scopes: string[]) => accessTokenFor(server, { userId: 'u', permissions: { [roomId]: scopes } });
    for (const [bearer, mayWrite, mayRead] of [
      [await token('*:write'), 200, 200],
      [await token('*:read'), 403, 200],
      [await token('*:read', 'storage:write'), 200, 200],
      [await token('*:write', 'storage:none'), 403, 403],
      [await accessTokenFor(server, { userId: 'u', permissions: { elsewhere: ['*:write'] } }), 403, 403],
      [await idTokenFor(server, { userId: 'mia' }), 200, 200],
      [await idTokenFor(server, { userId: 'reader' }), 403, 200],
      [await idTokenFor(server, { userId: 'stranger' }), 403, 403],
      [server.publicKey, 200, 200],
      [server.secretKey, 200, 200],
    ] as const) {
      expect([(await upload(roomId, bearer)).status, (await urls(roomId, [], bearer)).status]).toEqual([mayWrite, mayRead]);
    }
    expect(refusal(await upload(roomId, await token('*:read')))).toBe(
      '403 UNAUTHORIZED_ROOM_ACCESS The user lacks the permission storage:write on this room.',
    );
    expect(refusal(await upload('no-such-room', server.publicKey))).toMatch(/^404 ROOM_NOT_FOUND /);
  });

  test('[FI6] a client gets addresses of files that Storage refers to: false for others, null where there is none', async () => {
    const roomId = await aRoom();
    const [placed, loose] = [
      await backend.uploadFile({ roomId, file: aFile('placed') }),
      await backend.uploadFile({ roomId, file: aFile('x') }),
    ];
    expect((await place(roomId, placed.data)).status).toBe(200);
    const ids = [loose.id, placed.id, aFileId(), placed.id, 'no id', ''];
    const answer = await urls(roomId, ids);
    const { url } = { url: expect.stringMatching(/^http/) };
    expect([answer.status, answer.json]).toEqual([
      200,
      { urls: [false, url, null, url, null, null], expiresAt: expect.any(String) },
    ]);
    expect(Buffer.from(await bytesAt(answer.json.urls[1])).toString()).toBe('placed');
    expect(Date.parse(answer.json.expiresAt) - Date.now()).toBeGreaterThan(3_500_000);
    await ask(server, roomPath(roomId, '/storage/json-patch'), { method: 'PATCH', json: [{ op: 'remove', path: '/file' }] });
    expect((await urls(roomId, [placed.id])).json.urls).toEqual([false]);
    expect((await urls(roomId, Array(50).fill(placed.id))).json.urls).toHaveLength(50);
    expect((await urls(roomId, Array(51).fill(placed.id))).status).toBe(422);
    expect(refusal(await urls('no-such-room', []))).toMatch(/^404 ROOM_NOT_FOUND /);
  });

  test('[FI7] an address that has expired, or is not ours, gives nothing', async () => {
    const roomId = await aRoom();
    const file = await backend.uploadFile({ roomId, file: aFile('x') });
    const { url } = await backend.getFileUrl({ roomId, file });
    if (!url.startsWith(server.url) || isExternal) {
      expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('3600'); // the store's own: the contract suite shows that it expires
      return;
    }
    const key = new URL(url).pathname.slice('/blobs/'.length);
    const grant = { key, fileName: 'x', mimeType: 'text/plain' };
    const signed = (expiresAtMs: number, secret = server.secretKey) =>
      new URL(signedPath({ ...grant, expiresAtMs }, tokenKeyFrom(secret)), server.url);
    expect((await fetch(signed(Date.now() + 10_000))).status).toBe(200);
    for (const refused of [signed(Date.now() - 1), signed(Date.now() + 10_000, 'sk_another')])
      expect(await (await fetch(refused)).json()).toMatchObject({ error: 'DOWNLOAD_REFUSED' });
  });
});

describe('rooms', () => {
  test('[FI8] files stay over a restart and move with a renamed room; those of a deleted room are gone', async () => {
    const roomId = await aRoom();
    const file = await backend.uploadFile({ roomId, file: aFile('kept') });
    if (!isExternal) await server.restart();
    const renamed = freshRoomId('renamed');
    await backend.updateRoomId({ currentRoomId: roomId, newRoomId: renamed });
    expect(Buffer.from(await bytesAt((await backend.getFileUrl({ roomId: renamed, file })).url)).toString()).toBe('kept');
    await backend.deleteRoom(renamed);
    await backend.createRoom(renamed, { defaultAccesses: [] });
    expect(refusal(await call(`GET ${fileAt(renamed, file.id)}`))).toMatch(/^404 RESOURCE_NOT_FOUND The file /);
  });

  test('[FI9] an upload begun under an Idempotency-Key is begun once; giving it up is done once', async () => {
    const roomId = await aRoom();
    const id = aFileId();
    const begin = () => call(`POST ${fileAt(roomId, id, '/multipart/a.txt')}`, { key: `begin ${id}` });
    const [first, again] = [await begin(), await begin()];
    expect([again.status, again.json]).toEqual([200, first.json]);
    const abort = () => call(`DELETE ${fileAt(roomId, id, `/multipart/${first.json.uploadId}`)}`, { key: `abort ${id}` });
    expect([(await abort()).status, (await abort()).status]).toEqual([204, 204]);
  });
});
