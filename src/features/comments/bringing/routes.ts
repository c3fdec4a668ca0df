/** For who moves here from another server: a thread as it was there. It is not of the contract. */
import { type BoundRoute, bindRoute, json, routeFor } from '../../../kernel/transport/route.ts';
import { checkRoomId } from '../../../protocol/names.ts';
import { type ChangeDeps, readThread } from '../threads/queries.ts';
import { ThreadParams, ThreadReply } from '../threads/shapes.ts';
import { keepThread } from './queries.ts';
import { keptThread } from './rules.ts';
import { BroughtThread } from './shapes.ts';

const route = routeFor<ChangeDeps>();

/** Ten thousand comments have some twenty keys each. */
const KEYS_MAX = 1_000_000;

export const bringThreadRoute = route({
  method: 'PUT',
  path: '/v2/rooms/:roomId/threads/:threadId',
  needs: 'secret',
  tag: 'Comments',
  summary:
    'Keep a thread of another server as it was there: ids, authors and times; nobody is notified. One that is here gives way if it was changed earlier',
  once: 'transaction',
  params: ThreadParams,
  body: json(BroughtThread, { keysMax: KEYS_MAX }),
  reply: ThreadReply,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
  async handle({ params: { roomId, threadId }, body, afterCommit }, deps) {
    const pk = await keepThread(deps, checkRoomId(roomId, 'roomId'), keptThread(threadId, body));
    afterCommit(() => deps.outbox.nudge());
    return readThread(deps.db, { pk, id: threadId });
  },
});

export function bringingRoutes(deps: ChangeDeps): BoundRoute[] {
  return [bindRoute(bringThreadRoute, deps)];
}
