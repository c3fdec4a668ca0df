/** The endpoints of subscriptions to threads, for back ends (contract, Threads and comments; supplement 2.4, rows 40 to 42). */
import type { Sql } from '../../../kernel/persistence/sql.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { checkName, checkRoomId, NAME_LENGTHS } from '../../../protocol/names.ts';
import { findRoomRef } from '../../../room/room-row.ts';
import type { SubscriptionDefault } from '../filters/queries.ts';
import { findThread, type ThreadRow } from '../threads/queries.ts';
import { ThreadParams, UserBody } from '../threads/shapes.ts';
import { findSubscribers, subscribe, unsubscribe } from './queries.ts';
import { SubscriptionList, SubscriptionReply } from './shapes.ts';

export interface SubscriptionsDeps {
  readonly db: Sql;
  readonly byDefault: SubscriptionDefault;
  nowMs(): number;
}

const route = routeFor<SubscriptionsDeps>();
const facts = {
  needs: 'secret',
  tag: 'Comments',
  params: ThreadParams,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
} as const;

export const subscribeRoute = route({
  ...facts,
  method: 'POST',
  path: '/v2/rooms/:roomId/threads/:threadId/subscribe',
  summary: 'Subscribe a user to a thread',
  once: 'transaction',
  body: UserBody,
  reply: SubscriptionReply,
  async handle({ params, body }, { db, nowMs }) {
    return subscribe(db, { ...(await subjectOf(db, params, body)), nowMs: nowMs() });
  },
});

export const unsubscribeRoute = route({
  ...facts,
  method: 'POST',
  path: '/v2/rooms/:roomId/threads/:threadId/unsubscribe',
  summary: 'Unsubscribe a user from a thread',
  once: 'transaction',
  body: UserBody,
  reply: empty(200),
  async handle({ params, body }, { db, nowMs }) {
    await unsubscribe(db, { ...(await subjectOf(db, params, body)), nowMs: nowMs() });
  },
});

export const listSubscriptionsRoute = route({
  ...facts,
  method: 'GET',
  path: '/v2/rooms/:roomId/threads/:threadId/subscriptions',
  summary: 'List who is subscribed to a thread',
  reply: SubscriptionList,
  async handle({ params }, { db, byDefault }) {
    const room = await findRoomRef(db, checkRoomId(params.roomId, 'roomId'));
    const { pk: threadPk } = await findThread(db, { room, threadId: params.threadId });
    return { data: await findSubscribers(db, { threadPk, byDefault }) };
  },
});

export function subscriptionRoutes(deps: SubscriptionsDeps): BoundRoute[] {
  return [bindRoute(subscribeRoute, deps), bindRoute(unsubscribeRoute, deps), bindRoute(listSubscriptionsRoute, deps)];
}

async function subjectOf(
  db: Sql,
  { roomId, threadId }: { roomId: string; threadId: string },
  body: { userId: string },
): Promise<{ userId: string; thread: ThreadRow }> {
  const checked = checkRoomId(roomId, 'roomId');
  const userId = checkName(body.userId, 'userId', NAME_LENGTHS.userId);
  return { userId, thread: await findThread(db, { room: await findRoomRef(db, checked), threadId }) };
}
