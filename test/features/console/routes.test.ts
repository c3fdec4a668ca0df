import { beforeEach, expect, test } from 'vitest';
import { consoleRoutes } from '../../../src/features/console/routes.ts';
import type { WorkerReport } from '../../../src/features/console/shapes.ts';
import { aDoor, type Call, callerOf, type RecordingDoor, refused } from '../call.ts';

const session = {
  connectionId: 3,
  kind: 'sdk' as const,
  userId: null,
  info: {},
  permissions: ['*:write'],
  presence: { x: 1 },
};
const page = { version: 7, total: 21, nextAfter: 3, sessions: [session] };
const report: WorkerReport = {
  name: 'w',
  uptimeSeconds: 1,
  isReady: true,
  rooms: 2,
  connections: 3,
  leaseRemainingSeconds: 3,
  gateAgeSeconds: 0,
  loopLagP50Seconds: 0,
  loopLagP99Seconds: 0,
  cpuSeconds: 1,
  memoryBytes: 1,
  requestsTotal: 1,
  requestP50Seconds: 0,
  requestP99Seconds: 0,
  appendsTotal: 0,
  flushP50Seconds: 0,
  flushP99Seconds: 0,
};
let door: RecordingDoor;
let call: Call;

beforeEach(() => {
  door = aDoor(['here'], { 'sessions.list': page, 'sessions.dismiss': 4 });
  call = callerOf(
    consoleRoutes({
      rooms: door,
      roomExists: async (roomId) => roomId === 'here' || roomId === 'asleep',
      workerReports: async () => [
        { address: 'a:1', report },
        { address: 'b:1', report: null },
        { address: 'c:1', report: { of: 'another version' } },
      ],
    }),
  );
});

test('[CS1] every worker says how it is doing; one that does not answer, or says what is not known here, has no report', async () => {
  expect((await call('GET /v2/console/workers')).json.data).toEqual([
    { address: 'a:1', report },
    { address: 'b:1', report: null },
    { address: 'c:1', report: null },
  ]);
});

test('[CS2] connections come in pages; a room that sleeps has none, a missing one is 404', async () => {
  expect((await call('GET /v2/console/rooms/here/connections?limit=1&after=2')).json).toEqual({
    isAwake: true,
    version: 7,
    total: 21,
    nextAfter: 3,
    data: [session],
  });
  expect(door.told).toEqual([['here', { type: 'sessions.list', after: 2, limit: 1 }]]);
  expect((await call('GET /v2/console/rooms/asleep/connections')).json).toMatchObject({ isAwake: false, total: 0, data: [] });
  expect(door.asked).toEqual([]); // it was not woken
  expect(refused(await call('GET /v2/console/rooms/none/connections'))).toContain('404 ROOM_NOT_FOUND');
  expect(refused(await call('GET /v2/console/rooms/here/connections?limit=101'))).toContain('at most 100');
});

test('[CS3] one connection is closed, or all', async () => {
  expect((await call('POST /v2/console/rooms/here/disconnect', { json: { connectionId: 3 } })).json).toEqual({ disconnected: 4 });
  expect((await call('POST /v2/console/rooms/here/disconnect', { json: {} })).json).toEqual({ disconnected: 4 });
  expect(door.told.map(([, command]) => command)).toEqual([
    { type: 'sessions.dismiss', connectionId: 3 },
    { type: 'sessions.dismiss', connectionId: null },
  ]);
  expect((await call('POST /v2/console/rooms/asleep/disconnect', { json: {} })).json).toEqual({ disconnected: 0 });
  expect(refused(await call('POST /v2/console/rooms/none/disconnect', { json: {} }))).toContain('404 ROOM_NOT_FOUND');
});

test.each(['GET /v2/console/workers', 'GET /v2/console/rooms/here/connections', 'POST /v2/console/rooms/here/disconnect'])(
  '[CS4] only the secret key opens %s',
  async (path) => {
    for (const bearer of [null, 'pk_test', 'sk_other', 'a-token']) {
      const { status } = await call(path, { json: path.startsWith('POST') ? {} : undefined, bearer });
      expect([401, 403]).toContain(status);
    }
  },
);
