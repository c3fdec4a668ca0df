/** What the console at `/console` asks for beyond the contract. Each answer is a page of a bounded size; nothing here is for clients. */
import { Compile } from 'typebox/compile';
import { AppError } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import { type BoundRoute, bindRoute, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId } from '../../protocol/names.ts';
import type { RoomDoor, SessionsPage } from '../../room/shapes.ts';
import {
  ConnectionsQuery,
  ConnectionsReply,
  DisconnectBody,
  DisconnectReply,
  RoomParams,
  WorkerReport,
  WorkersReply,
} from './shapes.ts';

export interface ConsoleDeps {
  readonly rooms: RoomDoor;
  /** Whether there is a room of this id, awake or not. */
  roomExists(roomId: RoomId): Promise<boolean>;
  /** What each worker says of itself, this one first; null of one that does not answer in time. Never rejects. */
  workerReports(): Promise<readonly { readonly address: string; readonly report: unknown }[]>;
}

const route = routeFor<ConsoleDeps>();
const facts = { needs: 'secret', tag: 'Console' } as const;
const reportShape = Compile(WorkerReport);

export const workersRoute = route({
  ...facts,
  method: 'GET',
  path: '/v2/console/workers',
  summary: 'How each worker is doing at this moment',
  reply: WorkersReply,
  async handle(_, { workerReports }) {
    const reports = await workerReports();
    // during an update others may be of another version, and say other things
    return { data: reports.map(({ address, report }) => ({ address, report: reportShape.Check(report) ? report : null })) };
  },
});

export const connectionsRoute = route({
  ...facts,
  method: 'GET',
  path: '/v2/console/rooms/:roomId/connections',
  summary: 'Who is in a room, with permissions and presence',
  params: RoomParams,
  query: ConnectionsQuery,
  reply: ConnectionsReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, query: { after, limit } }, deps) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const answer = await deps.rooms.askIfAwake(roomId, { type: 'sessions.list', after, limit });
    if (answer === null) {
      await mustExist(roomId, deps);
      return { isAwake: false, version: null, total: 0, nextAfter: null, data: [] };
    }
    const { sessions, ...page } = answer.reply as SessionsPage;
    return { isAwake: true, ...page, data: sessions.map((session) => ({ ...session, permissions: [...session.permissions] })) };
  },
});

export const disconnectRoute = route({
  ...facts,
  method: 'POST',
  path: '/v2/console/rooms/:roomId/disconnect',
  summary: 'Close connections of a room; clients that may enter come back',
  params: RoomParams,
  body: DisconnectBody,
  reply: DisconnectReply,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, body }, deps) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const answer = await deps.rooms.askIfAwake(roomId, { type: 'sessions.dismiss', connectionId: body.connectionId ?? null });
    if (answer === null) await mustExist(roomId, deps);
    return { disconnected: (answer?.reply as number | undefined) ?? 0 };
  },
});

async function mustExist(roomId: RoomId, { roomExists }: ConsoleDeps): Promise<void> {
  if (!(await roomExists(roomId))) throw new AppError('ROOM_NOT_FOUND', { roomId });
}

export function consoleRoutes(deps: ConsoleDeps): BoundRoute[] {
  return [bindRoute(workersRoute, deps), bindRoute(connectionsRoute, deps), bindRoute(disconnectRoute, deps)];
}
