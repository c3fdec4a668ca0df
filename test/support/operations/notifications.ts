/** Examples of inboxes, of what users want to hear of, and of groups. */
import { at } from '../e2e/contract.ts';
import { freshRoomId } from '../e2e/server.ts';
import { accessTokenFor } from '../e2e/tokens.ts';
import { type Example, type Examples, inARoom, type OperationExample, type World } from './example.ts';

const SINCE = '2026-01-02T03:04:05.678Z';
const CLIENT_QUERY = "kind:'$ring' unread:true";

/** As a user whom nobody else is. */
async function aPerson({ server }: World): Promise<{ userId: string; bearer: string }> {
  const userId = freshRoomId('person').replace('e2e:', '');
  return { userId, bearer: await accessTokenFor(server, { userId }) };
}
async function aNotification(world: World, { userId }: { userId: string }): Promise<string> {
  await world.call('POST /inbox-notifications/trigger', {
    json: { userId, kind: '$ring', subjectId: 's', activityData: { a: 1 } },
  });
  return (await world.call(`GET /users/${encodeURIComponent(userId)}/inbox-notifications`)).json.data[0].id;
}
const personal = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  make: async (world) => ({ bearer: (await aPerson(world)).bearer, ...rest }),
});
const personalInARoom = (rest: Omit<Example, 'params'> = {}, facts: Omit<OperationExample, 'make'> = {}): OperationExample => ({
  make: async (world) => ({ params: { roomId: await world.aRoom() }, bearer: (await aPerson(world)).bearer, ...rest }),
  ...facts,
});
const ofAUser = (rest: Omit<Example, 'params'> = {}, leavesOut: string[] = []): OperationExample => ({
  make: async (world) => ({ params: { userId: (await aPerson(world)).userId }, ...rest }),
  leavesOut,
});
const ofANotification = (): OperationExample => ({
  async make(world) {
    const person = await aPerson(world);
    return { params: { userId: person.userId, inboxNotificationId: await aNotification(world, person) } };
  },
});
const ofAUserInARoom = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  make: async ({ aRoom }) => ({ params: { roomId: await aRoom(), userId: 'mia' }, ...rest }),
});
const ofAGroup = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  async make({ call }) {
    const groupId = freshRoomId('group');
    await call('POST /groups', { json: { id: groupId } });
    return { params: { groupId }, ...rest };
  },
});

const inRoom = { threads: 'all', textMentions: 'none' };
const kinds = { thread: true, textMention: false, $ring: true };
const channels = { email: kinds, slack: kinds, teams: kinds, webPush: kinds };
const comment = { userId: 'mia', body: { version: 1, content: [] } };

export const NOTIFICATION_EXAMPLES: Examples = {
  'GET /v2/users/{userId}/inbox-notifications': ofAUser(
    { query: { organizationId: 'default', query: 'unread:true', limit: '5' } },
    ['startingAfter'],
  ),
  'DELETE /v2/users/{userId}/inbox-notifications': ofAUser({ query: { organizationId: 'default' } }),
  'GET /v2/users/{userId}/inbox-notifications/{inboxNotificationId}': ofANotification(),
  'GET /v2/users/{userId}/inboxNotifications/{inboxNotificationId}': ofANotification(),
  'DELETE /v2/users/{userId}/inbox-notifications/{inboxNotificationId}': ofANotification(),
  'POST /v2/inbox-notifications/{inboxNotificationId}/read': ofANotification(),
  'POST /v2/inbox-notifications/trigger': {
    make: async ({ aRoom }) => ({
      json: {
        ...{ userId: 'mia', kind: '$ring', subjectId: 's', activityData: { text: 't', n: 1, flag: true } },
        ...{ roomId: await aRoom(), organizationId: 'default' },
      },
    }),
    refersTo: ['roomId', 'organizationId'],
  },
  'GET /v2/rooms/{roomId}/threads/{threadId}/inbox-notifications': {
    async make({ call, aRoom }) {
      const roomId = await aRoom();
      const { id } = (await call(`POST ${at(roomId)}/threads`, { json: { comment } })).json;
      return { params: { roomId, threadId: id } };
    },
  },
  'GET /v2/rooms/{roomId}/users/{userId}/subscription-settings': ofAUserInARoom(),
  'POST /v2/rooms/{roomId}/users/{userId}/subscription-settings': ofAUserInARoom({ json: inRoom }),
  'DELETE /v2/rooms/{roomId}/users/{userId}/subscription-settings': ofAUserInARoom(),
  'GET /v2/rooms/{roomId}/users/{userId}/notification-settings': ofAUserInARoom(),
  'POST /v2/rooms/{roomId}/users/{userId}/notification-settings': ofAUserInARoom({ json: inRoom }),
  'DELETE /v2/rooms/{roomId}/users/{userId}/notification-settings': ofAUserInARoom(),
  'GET /v2/users/{userId}/room-subscription-settings': ofAUser({ query: { organizationId: 'default', limit: '5' } }, [
    'startingAfter',
  ]),
  'GET /v2/users/{userId}/notification-settings': ofAUser(),
  'POST /v2/users/{userId}/notification-settings': ofAUser({ json: channels }),
  'DELETE /v2/users/{userId}/notification-settings': ofAUser(),
  'GET /v2/c/inbox-notifications': { ...personal({ query: { query: CLIENT_QUERY, limit: '5' } }), leavesOut: ['cursor'] },
  'GET /v2/c/inbox-notifications/delta': personal({ query: { query: CLIENT_QUERY, since: SINCE } }),
  'GET /v2/c/inbox-notifications/count': personal({ query: { query: CLIENT_QUERY } }),
  'POST /v2/c/inbox-notifications/read': personal({ json: { inboxNotificationIds: ['in_1'] } }),
  'DELETE /v2/c/inbox-notifications': personal(),
  'DELETE /v2/c/inbox-notifications/{inboxNotificationId}': {
    async make(world) {
      const person = await aPerson(world);
      return { params: { inboxNotificationId: await aNotification(world, person) }, bearer: person.bearer };
    },
  },
  'POST /v2/c/rooms/{roomId}/inbox-notifications/read': personalInARoom({ json: { inboxNotificationIds: ['in_1'] } }),
  'GET /v2/c/notification-settings': personal(),
  'POST /v2/c/notification-settings': personal({ json: channels }),
  'GET /v2/c/rooms/{roomId}/subscription-settings': personalInARoom({}, { withoutRoom: 200 }),
  'POST /v2/c/rooms/{roomId}/subscription-settings': personalInARoom({ json: inRoom }),
  'POST /v2/c/rooms/{roomId}/text-mentions': personalInARoom(
    { json: { mentionId: 'm', groupId: 'g', userIds: ['mia'] } },
    { leavesOut: ['userId'] },
  ),
  'DELETE /v2/c/rooms/{roomId}/text-mentions/{mentionId}': {
    make: async ({ aRoom }) => ({ params: { roomId: await aRoom(), mentionId: 'm' } }),
  },
  'POST /v2/c/rooms/{roomId}/text-metadata': inARoom({ json: { type: 'tiptap', rootKey: 'default' } }),
  'GET /v2/c/urls/metadata': personal({ query: { url: 'https://x.example/' } }),
};

export const GROUP_EXAMPLES: Examples = {
  'GET /v2/groups': { make: async () => ({ query: { limit: '5' } }), leavesOut: ['startingAfter'] },
  'POST /v2/groups': {
    make: async () => ({
      json: { id: freshRoomId('group'), memberIds: ['mia'], organizationId: 'acme', scopes: { mention: true } },
    }),
    leavesOut: ['groupId'],
  },
  'GET /v2/groups/{groupId}': ofAGroup(),
  'DELETE /v2/groups/{groupId}': ofAGroup(),
  'POST /v2/groups/{groupId}/add-members': ofAGroup({ json: { memberIds: ['mia'] } }),
  'POST /v2/groups/{groupId}/remove-members': ofAGroup({ json: { memberIds: ['mia'] } }),
  'GET /v2/users/{userId}/groups': ofAUser({ query: { limit: '5' } }, ['startingAfter']),
  'POST /v2/c/groups/find': personal({ json: { groupIds: ['g'] } }),
};
