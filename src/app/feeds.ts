/** Feeds as this worker serves them: to back ends by their routes, to clients over their sockets, and those in the room are told of both. */
import { systemClock, systemRandom } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import { answerFeedRequest } from '../features/feeds/requests/routes.ts';
import { type FeedDeps, feedRoutes } from '../features/feeds/routes.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import type { BoundRoute } from '../kernel/transport/route.ts';
import { FeedDesk } from '../room/feed-desk.ts';
import type { RoomDoor } from '../room/shapes.ts';
import { RoomHints } from './room-hints.ts';

interface FeedParts {
  readonly db: Sql;
  readonly rooms: Pick<RoomDoor, 'tellIfAwake'>;
  readonly log: Log;
}

export interface Feeds {
  readonly routes: BoundRoute[];
  readonly desk: FeedDesk;
}

export function feedParts({ db, rooms, log }: FeedParts): Feeds {
  const hints = new RoomHints({ rooms, clock: systemClock });
  const deps: FeedDeps = {
    db,
    nowMs: () => systemClock.nowMs(),
    newId: (prefix) => newId(systemRandom, prefix),
    tell({ roomId, ...news }) {
      hints.tell({ roomId, command: { type: 'feeds.tell', ...news }, atMs: systemClock.nowMs() });
    },
  };
  const desk = new FeedDesk({ answer: (request, by) => answerFeedRequest(request, by, deps), log });
  return { routes: feedRoutes(deps), desk };
}
