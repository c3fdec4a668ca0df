/** LiveText over a connection that breaks: what was typed while the answer to an edit was on its way, and lost (protocol 6.3). */
import { LiveText } from '@liveblocks/client';
import { expect, test } from 'vitest';
import { OP, opsIn } from '../support/e2e/messages.ts';
import { enter, rootOf, saved } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();

test('[LT10] text typed behind an edit whose answer got lost is there once, after a reconnect', async () => {
  const roomId = freshRoomId('text-resend');
  const al = await enter(server, { roomId, userId: 'al', initialStorage: () => ({ text: new LiveText('abc') }) });
  const text = (await rootOf(al)).get('text') as LiveText;
  await saved(al);
  const isRead = (expected: string) => async () => {
    const read = (await server.backend.getStorageDocument(roomId, 'json')) as unknown as { text: [string][] };
    return read.text.map(([run]) => run).join('') === expected;
  };

  al.network.deafen();
  text.insert(3, 'd');
  await until('the edit has arrived', isRead('abcd'));
  text.insert(4, 'e');
  text.insert(5, 'f');
  al.network.mend();
  await until('all is there', isRead('abcdef'));
  await saved(al);
  expect(text.toString()).toBe('abcdef');
  const edits = opsIn(al.network.sent).filter(({ type }) => type === OP.updateText);
  expect(new Set(edits.map(({ opId }) => opId)).size).toBe(1); // otherwise this would show nothing
});

test('[LT12] what was typed offline lies where it was typed, though somebody else wrote meanwhile', async () => {
  const roomId = freshRoomId('text-offline');
  const al = await enter(server, { roomId, userId: 'al', initialStorage: () => ({ text: new LiveText('abc') }) });
  const text = (await rootOf(al)).get('text') as LiveText;
  await saved(al);
  const bo = await enter(server, { roomId, userId: 'bo' });
  const boText = (await rootOf(bo)).get('text') as LiveText;

  al.network.cut();
  text.insert(3, 'd');
  text.insert(4, 'e');
  await until('al is gone', () => bo.room.getOthers().length === 0);
  boText.insert(0, '>>');
  await saved(bo);
  al.network.mend();
  await until('all is there', () => boText.toString() === '>>abcde');
  await until('al sees the same', () => text.toString() === '>>abcde');
});

test('[LT15] a client types on when others have left nothing of the edit that it sends again', async () => {
  const roomId = freshRoomId('text-nothing-left');
  const al = await enter(server, { roomId, userId: 'al', initialStorage: () => ({ text: new LiveText('abc') }) });
  const text = (await rootOf(al)).get('text') as LiveText;
  await saved(al);
  const bo = await enter(server, { roomId, userId: 'bo' });
  const boText = (await rootOf(bo)).get('text') as LiveText;

  al.network.mute();
  text.delete(1, 1);
  boText.delete(1, 1);
  await until('al has heard of it', () => (text as { version: number }).version === 1);
  al.network.mend();
  await until('it has been sent again', () =>
    opsIn(al.network.sent).some(({ type, ops }) => type === OP.updateText && ops.length === 0),
  );
  text.insert(2, 'd');
  await until('al is heard', () => boText.toString() === 'acd');
});
