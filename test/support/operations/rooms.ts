/** Examples of rooms, of what is live in them, and of tokens. */
import { freshRoomId } from '../e2e/server.ts';
import { type Examples, inARoom, type OperationExample } from './example.ts';

const fields = {
  defaultAccesses: ['*:write'],
  metadata: { stage: 'draft', tags: ['x'] },
  usersAccesses: { mia: ['*:read', 'comments:write'] },
  groupsAccesses: { qa: ['*:read'] },
};
/** With the names that probes give, because limits count both parts of an upsert together. */
const mergeable = {
  ...fields,
  metadata: { k0: 'draft', k1: ['x'] },
  usersAccesses: { k0: ['*:read', 'comments:write'] },
  groupsAccesses: { k0: ['*:read'] },
};
const user = { userId: 'mia', userInfo: { name: 'Mia' } };

const event: OperationExample = inARoom({ json: { type: 'ring' } });
const activeUsers: OperationExample = inARoom();

export const ROOM_EXAMPLES: Examples = {
  'GET /v2/rooms': {
    make: async () => ({
      query: { limit: '5', organizationId: 'default', query: 'roomId^"e2e"', userId: 'mia', groupIds: 'qa' },
    }),
    leavesOut: ['tenantId', 'startingAfter'],
  },
  'POST /v2/rooms': {
    make: async () => ({
      query: { idempotent: 'false' },
      json: { id: freshRoomId('made'), organizationId: 'acme', engine: 2, ...fields },
    }),
  },
  'GET /v2/rooms/{roomId}': inARoom(),
  'POST /v2/rooms/{roomId}': inARoom({ json: fields }),
  'DELETE /v2/rooms/{roomId}': { ...inARoom(), withoutRoom: 204 },
  'GET /v2/rooms/{roomId}/prewarm': inARoom(),
  'POST /v2/rooms/{roomId}/upsert': {
    ...inARoom({ json: { update: mergeable, create: { organizationId: 'acme', ...mergeable } } }),
    withoutRoom: 200,
    leavesOut: ['create.tenantId'],
  },
  'POST /v2/rooms/{roomId}/update-room-id': {
    make: async ({ aRoom }) => ({ params: { roomId: await aRoom() }, json: { newRoomId: freshRoomId('renamed') } }),
  },
  'POST /v2/rooms/{roomId}/update-organization-id': {
    ...inARoom({ json: { fromOrganizationId: 'default', toOrganizationId: 'acme' } }),
    refersTo: ['fromOrganizationId'],
  },
  'GET /v2/rooms/{roomId}/active-users': activeUsers,
  'GET /v2/rooms/{roomId}/active_users': activeUsers,
  'POST /v2/rooms/{roomId}/presence': inARoom({
    json: { ...user, userInfo: { name: 'Mia', avatar: 'https://x.example/a.png', color: 'red' }, data: { a: 1 }, ttl: 60 },
  }),
  'POST /v2/rooms/{roomId}/broadcast-event': event,
  'POST /v2/rooms/{roomId}/broadcast_event': event,
};

const guest = { ...user, groupIds: ['qa'] };
const inAPublicRoom = (json: object): OperationExample => ({
  make: async ({ aRoom }) => ({ params: { roomId: await aRoom({ defaultAccesses: ['*:write'] }) }, json }),
});

export const TOKEN_EXAMPLES: Examples = {
  'POST /v2/authorize-user': {
    make: async () => ({ json: { ...user, permissions: { 'plan-*': ['*:read', 'comments:write'] }, organizationId: 'acme' } }),
  },
  'POST /v2/identify-user': { make: async () => ({ json: { ...guest, organizationId: 'acme' } }) },
  'POST /v2/rooms/{roomId}/authorize': inAPublicRoom(guest),
  'POST /v2/rooms/{roomId}/public/authorize': {
    make: async (world) => inAPublicRoom({ publicApiKey: world.server.publicKey }).make(world),
  },
  'GET /api/authorize': { make: async () => ({}) },
  'POST /api/authorize': {
    make: async ({ aRoom }) => ({ json: { room: await aRoom({ defaultAccesses: ['*:write'] }), ...guest } }),
    refersTo: ['room'],
  },
};
