/** What holds for users who set nothing, where the server says otherwise than its own defaults. */
import { kInternal } from '@liveblocks/core';
import { expect, test } from 'vitest';
import { contractOf } from '../support/e2e/contract.ts';
import { enter } from '../support/e2e/sdk-client.ts';
import { aServer, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer({
  THREAD_NOTIFICATIONS: 'all',
  TEXT_MENTION_NOTIFICATIONS: 'none',
  NOTIFICATION_CHANNELS: 'slack,webPush',
});
const { backend } = server;
const { aRoom } = contractOf(server);

test.skipIf(isExternal)('[E2E-N18] defaults of the server hold for those who set nothing', async () => {
  const roomId = await aRoom({ usersAccesses: { named: ['*:write'], quiet: ['*:write'] }, defaultAccesses: ['*:read'] });
  expect(await backend.getRoomSubscriptionSettings({ roomId, userId: 'named' })).toEqual({
    threads: 'all',
    textMentions: 'none',
  });
  const { email, slack } = await backend.getNotificationSettings({ userId: 'named' });
  expect([email, slack]).toEqual([
    { thread: false, textMention: false },
    { thread: true, textMention: true },
  ]);
  await backend.updateRoomSubscriptionSettings({ roomId, userId: 'quiet', data: { threads: 'none' } });
  const body = { version: 1, content: [] } as never;
  const { id } = await backend.createThread({ roomId, data: { comment: { userId: 'author', body } } });
  const inboxOf = async (userId: string) => (await backend.getInboxNotifications({ userId })).data as any[];
  await until('who is named by the room is told', async () => (await inboxOf('named')).length === 1);
  expect([(await inboxOf('named'))[0].threadId, await inboxOf('quiet'), await inboxOf('author')]).toEqual([id, [], []]);
  const { room, client } = await enter(server, { roomId, userId: 'named' });
  expect((await client.getInboxNotifications()).subscriptions.map(({ subjectId }) => subjectId)).toEqual([id]);
  await (room as any)[kInternal].createTextMention('m', { kind: 'user', id: 'quiet' });
  expect(await inboxOf('quiet')).toEqual([]);
});
