/** What the console asks for beyond the contract: workers as they are now, and who is in a room with what they show. */
import Type from 'typebox';
import type { JsonObject } from '../../base/json.ts';
import { ROOM_ID_LIMITS } from '../../protocol/names.ts';

const seconds = (description: string) => Type.Number({ description });

/** Rates follow from two reports: totals only grow, and begin anew with the worker. */
export const WorkerReport = Type.Object({
  name: Type.String({ description: 'Of this life of the process; begins the ids of its sessions.' }),
  uptimeSeconds: Type.Number(),
  isReady: Type.Boolean({ description: 'Holds a lease and does not drain.' }),
  rooms: Type.Integer({ description: 'In memory.' }),
  connections: Type.Integer({ description: 'Sockets.' }),
  leaseRemainingSeconds: Type.Number(),
  gateAgeSeconds: seconds('How long the oldest change that is not in the journal yet has waited.'),
  loopLagP50Seconds: seconds('How late the event loop is.'),
  loopLagP99Seconds: Type.Number(),
  cpuSeconds: seconds('Used since the start.'),
  memoryBytes: Type.Integer(),
  requestsTotal: Type.Integer(),
  requestP50Seconds: seconds('Of the last 30 s, as all latencies here; 0 when there were none.'),
  requestP99Seconds: Type.Number(),
  appendsTotal: Type.Integer({ description: 'Entries of the journal.' }),
  flushP50Seconds: seconds('To write a batch of the journal.'),
  flushP99Seconds: Type.Number(),
});
export type WorkerReport = Type.Static<typeof WorkerReport>;

export const WorkersReply = Type.Object({
  data: Type.Array(
    Type.Object({
      address: Type.String({ description: 'Under which other workers reach it.' }),
      report: Type.Union([WorkerReport, Type.Null()], { description: 'Null when it did not answer within a second.' }),
    }),
  ),
});

export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });

const CONNECTIONS_PER_PAGE_MAX = 100;

export const ConnectionsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: CONNECTIONS_PER_PAGE_MAX, default: 20 }),
  after: Type.Integer({ minimum: -1, default: -1, description: 'The last connection ID of the page before.' }),
});

const AnyObject = Type.Unsafe<JsonObject>(Type.Object({}));

export const ConnectionsReply = Type.Object({
  isAwake: Type.Boolean({ description: 'Whether some worker has the room in memory.' }),
  version: Type.Union([Type.Integer(), Type.Null()], { description: 'Count of its journaled changes; null when it sleeps.' }),
  total: Type.Integer(),
  nextAfter: Type.Union([Type.Integer(), Type.Null()]),
  data: Type.Array(
    Type.Object({
      connectionId: Type.Integer(),
      kind: Type.Union([Type.Literal('sdk'), Type.Literal('yjs'), Type.Literal('rest')]),
      userId: Type.Union([Type.String(), Type.Null()]),
      info: AnyObject,
      permissions: Type.Array(Type.String()),
      presence: Type.Union([AnyObject, Type.Null()]),
    }),
  ),
});

export const DisconnectBody = Type.Object(
  { connectionId: Type.Optional(Type.Integer({ minimum: 0, description: 'Everybody when left out.' })) },
  { additionalProperties: false },
);

export const DisconnectReply = Type.Object({ disconnected: Type.Integer({ description: 'How many connections were closed.' }) });
