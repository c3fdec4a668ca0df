/** LiveText: two writers in one text, on the wire and through the SDK (conformance checks 29 to 31). */
import { LiveText } from '@liveblocks/client';
import { describe, expect, test } from 'vitest';
import { CODE, type Message, OP } from '../support/e2e/messages.ts';
import { enterRaw, type RawClient } from '../support/e2e/raw-client.ts';
import { enter, rootOf, saved, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { backend } = server;

describe('on the wire', () => {
  async function twoWithText(subject: string): Promise<{ roomId: string; al: RawClient; bo: RawClient; text: string }> {
    const roomId = freshRoomId(subject);
    const [al, bo] = [await enterRaw(server, { roomId, userId: 'al' }), await enterRaw(server, { roomId, userId: 'bo' })];
    await Promise.all([al.fetchStorage(), bo.fetchStorage()]);
    const text = al.nodeId(0);
    al.sendOps({ type: OP.createText, id: text, parentId: 'root', parentKey: 'text', data: [['abc']], version: 0 });
    await Promise.all([al.takeOps(1), bo.takeOps(1)]);
    return { roomId, al, bo, text };
  }

  const insert = (id: string, baseVersion: number, index: number, text: string): Message => ({
    type: OP.updateText,
    id,
    baseVersion,
    ops: [{ type: 'insert', index, text }],
  });

  test('[E2E check 29] two edits of one version get the next two; the second is transformed to come after the first', async () => {
    const { roomId, al, bo, text } = await twoWithText('versions');
    al.sendOps(insert(text, 0, 1, 'X'));
    expect((await al.takeOps(1))[0]).toMatchObject({
      opId: expect.any(String),
      version: 1,
      ops: [{ type: 'insert', index: 1, text: 'X' }],
    });
    bo.sendOps(insert(text, 0, 1, 'Y'));
    expect(await bo.takeOps(2)).toMatchObject([
      { version: 1, ops: [{ type: 'insert', index: 1, text: 'X' }] },
      { version: 2, opId: expect.any(String), ops: [{ type: 'insert', index: 2, text: 'Y' }] },
    ]);
    const [forward] = await al.takeOps(1);
    expect(forward).toMatchObject({ version: 2, ops: [{ type: 'insert', index: 2, text: 'Y' }] });
    expect(forward).not.toHaveProperty('opId');
    expect(await backend.getStorageDocument(roomId, 'json')).toEqual({ text: [['aXYbc']] });
  });

  // Protocol 5.7 asks for the ack of an ignored op, but the client that sent it waits for an edit, and types nothing more into this text before.
  test('[E2E check 30] an edit without operations leaves the version and is acknowledged as an edit', async () => {
    const { al, bo, text } = await twoWithText('empty-edit');
    const [sent] = al.sendOps({ type: OP.updateText, id: text, baseVersion: 0, ops: [] });
    expect(await al.takeOps(1)).toEqual([
      { type: OP.updateText, id: text, opId: sent!.opId, baseVersion: 0, version: 0, ops: [] },
    ]);
    expect(await bo.fetchStorage()).toContainEqual([text, 4, 'root', 'text', [['abc']], 0]);
  });

  test('[E2E check 31] an edit of a version that never was gets 299, alone, and the text stays', async () => {
    const { roomId, al, text } = await twoWithText('stale');
    const [sent] = al.sendOps(insert(text, 99, 0, 'no'));
    const rejected = await al.take(CODE.rejected);
    expect(rejected).toMatchObject({ opIds: [sent!.opId], reason: expect.stringMatching(/\w/) });
    expect(al.texts.map((frame) => JSON.parse(frame))).toContainEqual(rejected);
    expect(await backend.getStorageDocument(roomId, 'json')).toEqual({ text: [['abc']] });
  });
});

describe('through the SDK', () => {
  const textOf = async (visitor: Visitor): Promise<LiveText> =>
    until('the text is here', async () => (await rootOf(visitor)).get('text') as LiveText | undefined);

  async function two(
    subject: string,
    initial: string,
  ): Promise<{ roomId: string; visitors: [Visitor, Visitor]; texts: [LiveText, LiveText] }> {
    const roomId = freshRoomId(subject);
    const al = await enter(server, { roomId, userId: 'al', initialStorage: () => ({ text: new LiveText(initial) }) });
    await rootOf(al);
    await saved(al);
    const bo = await enter(server, { roomId, userId: 'bo' });
    return { roomId, visitors: [al, bo], texts: [await textOf(al), await textOf(bo)] };
  }

  /** Both replicas and REST read the same, and nobody waits for an ack. */
  async function agreed(roomId: string, visitors: readonly Visitor[], texts: readonly LiveText[]): Promise<unknown> {
    for (const visitor of visitors) await saved(visitor);
    return until('both read what REST reads', async () => {
      const { text } = (await backend.getStorageDocument(roomId, 'json')) as any;
      for (const replica of texts) expect(replica.toJSON()).toEqual(text);
      return text as unknown;
    });
  }

  test('[E2E check 29] two writers at once end with the same text, without a wrong prediction', async () => {
    const { roomId, visitors, texts } = await two('writers', 'middle');
    for (let turn = 0; turn < 10; turn += 1) {
      texts[0].insert(0, `${turn}`);
      texts[1].insert(texts[1].length, `${turn}`);
    }
    const text = (await agreed(roomId, visitors, texts)) as [string][];
    expect(text).toEqual([['9876543210middle0123456789']]);
  });

  test('[E2E check 29] deleting and formatting what the other one edits ends the same everywhere', async () => {
    const { roomId, visitors, texts } = await two('format', 'The quick brown fox');
    texts[0].delete(4, 6);
    texts[1].format(4, 11, { bold: true });
    texts[1].insert(10, 'red ');
    await agreed(roomId, visitors, texts);
    expect(texts[0].toString()).toBe('The red brown fox');
    visitors[0].room.history.undo();
    await agreed(roomId, visitors, texts);
    expect(texts[1].toString()).toContain('quick');
  });

  test('[E2E check 28] text typed offline is there when the client is back', async () => {
    const { roomId, visitors, texts } = await two('offline', 'start');
    visitors[0].network.cut();
    await until('al has noticed', () => visitors[0].room.getStatus() === 'reconnecting');
    texts[0].insert(0, 'offline '); // at the start: the SDK does not move offline edits over those of others (protocol 6.1)
    texts[1].insert(5, ' online');
    await saved(visitors[1]);
    visitors[0].network.mend();
    expect(await agreed(roomId, visitors, [await textOf(visitors[0]), texts[1]])).toEqual([['offline start online']]);
  });
});
