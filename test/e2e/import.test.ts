/** `npm run import` between two servers, and from a folder: as its users run it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as Y from 'yjs';
import { compiled } from '../support/compiled.ts';
import { ask } from '../support/e2e/rest.ts';
import { aServer, isExternal, type TestServer } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const [from, to] = [await aServer(), await aServer()];
const AT_ONCE = 10;
const ROOMS = 105; // more than one page of the list

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-import-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const program = await compiled('src/import.ts');
const command = (flags: readonly string[]): string[] => [program, '--to', to.url, ...flags];
const env = { ...process.env, FROM_SECRET_KEY: from.secretKey, SECRET_KEY: to.secretKey };

function importRooms(...flags: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, command(flags), { env, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

function aText(text: string): Uint8Array {
  const doc = new Y.Doc();
  doc.getText('text').insert(0, text);
  doc.getMap('marks').set('a', 1);
  doc.getMap('marks').delete('a');
  return Y.encodeStateAsUpdate(doc);
}

async function fill(prefix: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) => makeRoom(prefix, first + index));
    await Promise.all(some);
  }
}

async function makeRoom(prefix: string, number: number): Promise<void> {
  const id = `${prefix}-${number}`;
  await from.backend.createRoom(id, {
    defaultAccesses: number % 2 === 0 ? [] : ['room:write'],
    metadata: { number: String(number), tags: ['a', 'b'] },
    usersAccesses: { ada: ['room:write'] },
    groupsAccesses: { makers: ['room:read', 'room:presence:write'] },
  });
  if (number % 3 === 0) {
    const data = {
      title: id,
      list: { liveblocksType: 'LiveList', data: [1, { liveblocksType: 'LiveObject', data: { x: null } }] },
    };
    await from.backend.initializeStorageDocument(id, { liveblocksType: 'LiveObject', data } as never);
  }
  if (number % 4 === 0) await from.backend.sendYjsBinaryUpdate(id, aText(`text of ${id} – ü`));
}

/** Everything of a room that the import brings over. */
async function whole(server: TestServer, id: string): Promise<unknown> {
  const { createdAt: _, lastConnectionAt: __, ...facts } = (await ask(server, `/v2/rooms/${encodeURIComponent(id)}`)).json;
  const { json: storage } = await ask(server, `/v2/rooms/${encodeURIComponent(id)}/storage`);
  const { json: ydoc } = await ask(server, `/v2/rooms/${encodeURIComponent(id)}/ydoc`);
  return { facts, storage, ydoc };
}

describe.skipIf(isExternal)('npm run import', () => {
  test('[IM1] rooms arrive with metadata, accesses, Storage and Yjs; a second run does nothing', async () => {
    await fill('one', ROOMS);
    const notes = join(await aFolder(), 'notes');
    const first = await importRooms(
      '--from',
      from.url,
      '--query',
      'roomId^"one-"',
      '--notes',
      notes,
      '--compare',
      '--at-once',
      '8',
    );
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/105 rooms, 0 failed, [\d.]+ MiB, [\d.]+ rooms\/s\n$/),
    });
    for (const number of [0, 1, 3, 4, 12, ROOMS - 1])
      expect(await whole(to, `one-${number}`)).toEqual(await whole(from, `one-${number}`));
    const second = await importRooms('--from', from.url, '--query', 'roomId^"one-"', '--notes', notes);
    expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining('0 rooms, 105 done before, 0 failed') });
  });

  test('[IM2] killed half-way and run again, with or without its notes, all rooms are whole and none is there twice', async () => {
    await fill('two', 20);
    const notes = join(await aFolder(), 'notes');
    const flags = ['--from', from.url, '--query', 'roomId^"two-"', '--notes', notes, '--at-once', '1'];
    const killed = spawn(process.execPath, command(flags), { env, stdio: 'ignore' });
    await until('some rooms are there', async () => (await to.backend.getRooms({ query: 'roomId^"two-"' })).data.length > 3, {
      timeoutMs: 60_000,
    });
    killed.kill('SIGKILL');
    const again = await importRooms(...flags, '--compare');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/\d+ rooms, \d+ done before, 0 failed/) });
    expect((await importRooms(...flags.slice(0, 4), '--notes', `${notes}2`)).code).toBe(0);
    for (let number = 0; number < 20; number += 1)
      expect(await whole(to, `two-${number}`)).toEqual(await whole(from, `two-${number}`));
  });

  test('[IM3] Storage that the target has already is kept and named, and replaced when that is asked for', async () => {
    await fill('three', 1);
    await to.backend.createRoom('three-0', { defaultAccesses: [] });
    await to.backend.initializeStorageDocument('three-0', { liveblocksType: 'LiveObject', data: { mine: 1 } } as never);
    const flags = ['--from', from.url, '--query', 'roomId^"three-"', '--notes'];
    const folder = await aFolder();
    const kept = await importRooms(...flags, join(folder, 'a'));
    expect(kept).toMatchObject({ code: 0, stdout: expect.stringContaining('three-0: has other Storage already') });
    expect(await to.backend.getStorageDocument('three-0', 'json')).toEqual({ mine: 1 });
    expect((await importRooms(...flags, join(folder, 'b'), '--replace', '--compare')).code).toBe(0);
    expect(await to.backend.getStorageDocument('three-0', 'json')).toMatchObject({ title: 'three-0' });
  });

  test('[IM8] what people said arrives as it was said, once, and nobody is notified', async () => {
    const roomId = 'eight-0';
    await from.backend.createRoom(roomId, { defaultAccesses: [] });
    const says = (text: string, ...mentions: string[]): any => ({
      version: 1,
      content: [{ type: 'paragraph', children: [{ text }, ...mentions.map((id) => ({ type: 'mention', kind: 'user', id }))] }],
    });
    const past = new Date(Date.UTC(2024, 1, 3));
    const { id: threadId, comments } = await from.backend.createThread({
      roomId,
      data: {
        comment: { userId: 'mia', body: says('first', 'tom'), createdAt: past },
        metadata: { tag: 'a', n: 1 },
        visibility: 'private',
      } as any,
    });
    const second = await from.backend.createComment({
      roomId,
      threadId,
      data: { userId: 'tom', body: says('second'), metadata: { x: true } },
    });
    const third = await from.backend.createComment({ roomId, threadId, data: { userId: 'eve', body: says('gone') } });
    await from.backend.addCommentReaction({ roomId, threadId, commentId: second.id, data: { userId: 'mia', emoji: '👍' } });
    await from.backend.editComment({ roomId, threadId, commentId: comments[0]!.id, data: { body: says('better', 'tom') } });
    await from.backend.deleteComment({ roomId, threadId, commentId: third.id });
    await from.backend.markThreadAsResolved({ roomId, threadId, data: { userId: 'mia' } });
    const { id: other } = await from.backend.createThread({ roomId, data: { comment: { userId: 'mia', body: says('other') } } });
    await from.backend.createFeed({ roomId, feedId: 'chat', metadata: { name: 'a' }, createdAt: 1_000 });
    for (let n = 0; n < 120; n += 1)
      await from.backend.createFeedMessage({ roomId, feedId: 'chat', id: `m${n}`, data: { n }, createdAt: 2_000 });
    await from.backend.updateFeedMessage({ roomId, feedId: 'chat', messageId: 'm7', data: { n: 'seven' }, updatedAt: 5_000 });
    const flags = ['--from', from.url, '--query', 'roomId^"eight-"', '--notes'];
    const folder = await aFolder();
    expect(await importRooms(...flags, join(folder, 'a'), '--compare')).toMatchObject({ code: 0 });
    const said = async (server: TestServer) => {
      const [{ data: threads }, { data: feeds }] = [
        await server.backend.getThreads({ roomId }),
        await server.backend.getFeeds({ roomId }),
      ];
      const page = (more = '') => ask(server, `/v2/rooms/${roomId}/feeds/chat/messages?limit=100${more}`);
      const first = (await page()).json;
      return { threads, feeds, messages: [...first.data, ...(await page(`&cursor=${first.nextCursor}`)).json.data] };
    };
    const whole = await said(from);
    expect([whole.threads.length, whole.messages.length]).toEqual([2, 120]);
    expect(await said(to)).toEqual(whole);
    await from.backend.createComment({ roomId, threadId, data: { userId: 'eve', body: says('since then') } });
    await from.backend.updateFeedMessage({ roomId, feedId: 'chat', messageId: 'm8', data: { n: 'eight' } });
    await from.backend.createFeedMessage({ roomId, feedId: 'chat', id: 'new', data: { n: 120 } });
    expect(await importRooms(...flags, join(folder, 'c'))).toMatchObject({ code: 0 });
    const since = await said(from);
    expect(await said(to)).toEqual(since);
    await to.backend.deleteThread({ roomId, threadId: other });
    await to.backend.createComment({ roomId, threadId, data: { userId: 'tom', body: says('here') } });
    expect(await importRooms(...flags, join(folder, 'b'))).toMatchObject({ code: 0 });
    const now = await said(to);
    expect(now.threads.map(({ id, comments: all }) => [id, all.length])).toEqual([[threadId, 5]]);
    expect(now.messages).toEqual(since.messages);
    expect((await to.backend.getInboxNotifications({ userId: 'tom' })).data).toEqual([]); // who was mentioned there
  });

  test('[IM4] a folder of Yjs documents becomes rooms; one that is broken fails alone, and the exit code is 1', async () => {
    const folder = await aFolder();
    await writeFile(join(folder, `${encodeURIComponent('docs/ä 1')}.yjs`), aText('from Hocuspocus'));
    await writeFile(join(folder, 'broken.yjs'), Buffer.from([255, 255, 255]));
    await writeFile(join(folder, 'my doc.yjs'), aText('by hand'));
    await writeFile(join(folder, '100%.yjs'), aText('of no room'));
    const { code, stdout } = await importRooms('--from', folder, '--notes', join(folder, 'notes'), '--open');
    expect(code).toBe(1);
    expect(stdout).toMatch(/2 rooms, 2 failed[\s\S]*✗ broken: PUT .* answered 4\d\d/);
    expect(stdout).toContain('✗ 100%.yjs: the name is not URL-encoded; a % that stands for itself is written %25\n');
    expect((await ask(to, '/v2/rooms/my%20doc/ydoc')).json).toMatchObject({ text: 'by hand' });
    expect((await ask(to, `/v2/rooms/${encodeURIComponent('docs/ä 1')}/ydoc`)).json).toMatchObject({ text: 'from Hocuspocus' });
    expect((await to.backend.getRoom('docs/ä 1')).defaultAccesses).toEqual(['*:write']);
  });

  test('[IM7] a source that cannot be listed to its end: what is under way is done and noted, the summary is printed, the exit code is 1', async () => {
    const source = createServer(({ url = '' }, response) => {
      if (url.includes('startingAfter')) response.writeHead(400).end('no such page');
      else if (url.startsWith('/v2/rooms?')) response.end(JSON.stringify({ data: [{ id: 'seven-0' }], nextCursor: 'next' }));
      else setTimeout(() => response.writeHead(404).end(), 300); // the list has failed by then
    }).listen(0, '127.0.0.1');
    await once(source, 'listening');
    onTestFinished(() => void source.close());
    const notes = join(await aFolder(), 'notes');
    const { port } = source.address() as AddressInfo;
    const { code, stdout, stderr } = await importRooms('--from', `http://127.0.0.1:${port}`, '--notes', notes);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^GET .* answered 400: no such page\n$/) });
    expect(stdout).toMatch(/1 rooms, 0 failed.*\n$/);
    expect(await readFile(notes, 'utf8')).toContain('"seven-0"');
    const none = await importRooms('--from', '/nowhere', '--notes', notes);
    expect(none).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('0 rooms, 0 failed'),
      stderr: expect.stringContaining('/nowhere'),
    });
  });

  test('[IM5] what is wrong with the flags, the key or the address is said in one line', async () => {
    const [none, key] = await Promise.all([
      importRooms(),
      importRooms('--from', from.url, '--secret', 'sk_not_the_key_of_this', '--notes', join(await aFolder(), 'notes')),
    ]);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--from .*\n$/) });
    expect(key).toMatchObject({ code: 1, stderr: expect.stringMatching(/^GET \/v2\/rooms.* answered 40[13].*\n$/) });
  });
});
