/** The endpoints of what users want to hear of, for back ends (supplement 2.6) and for clients (protocol 7.2). */
import { AppError } from '../../../base/errors.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Principal } from '../../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { checkName, checkRoomId, NAME_LENGTHS } from '../../../protocol/names.ts';
import { listAsked, pageFrom, positionAt } from '../../../protocol/paging.ts';
import type { Person } from '../../../protocol/person.ts';
import {
  changeChannels,
  changeRoomSettings,
  deleteChannels,
  deleteRoomSettings,
  findChannels,
  findRoomSettings,
  listRoomSettings,
} from './queries.ts';
import { roomSettingsOf, type StoredRoomSettings, shownChannels } from './rules.ts';
import {
  ChannelSettings,
  ChannelSettingsBody,
  ListQuery,
  RoomParams,
  RoomSettings,
  RoomSettingsBody,
  RoomSettingsPage,
  UserInRoomParams,
  UserParams,
} from './shapes.ts';

export interface SettingsDeps {
  readonly db: Sql;
  /** Of who set nothing for a room. */
  readonly inRoomByDefault: RoomSettings;
  /** Of who said nothing, or not all. */
  readonly channelsByDefault: ChannelSettings;
  personOf(principal: Principal): Person;
}

const route = routeFor<SettingsDeps>();
const tag = 'Notifications';

const inRoom = {
  path: '/v2/rooms/:roomId/users/:userId/subscription-settings',
  aliases: ['/v2/rooms/:roomId/users/:userId/notification-settings'],
  needs: 'secret',
  tag,
  params: UserInRoomParams,
  refuses: ['ROOM_NOT_FOUND'],
} as const;
const inRoomForClients = {
  path: '/v2/c/rooms/:roomId/subscription-settings',
  needs: 'comments:read',
  tag,
  params: RoomParams,
} as const;
const ofUser = { path: '/v2/users/:userId/notification-settings', needs: 'secret', tag, params: UserParams } as const;
const ofUserForClients = { path: '/v2/c/notification-settings', needs: 'personal:read', tag } as const;

export const getRoomSettingsRoute = route({
  ...inRoom,
  method: 'GET',
  summary: 'Get what a user wants to hear of in a room',
  reply: RoomSettings,
  async handle({ params }, { db, inRoomByDefault }) {
    const where = placeIn(params);
    return shown(await findRoomSettings(db, where), where.roomId, inRoomByDefault);
  },
});

export const changeRoomSettingsRoute = route({
  ...inRoom,
  method: 'POST',
  summary: 'Change what a user wants to hear of in a room; overrides what the user said of single threads before',
  once: 'transaction',
  body: RoomSettingsBody,
  reply: RoomSettings,
  async handle({ params, body }, { db, inRoomByDefault }) {
    const where = placeIn(params);
    return shown(await changeRoomSettings(db, where, body), where.roomId, inRoomByDefault);
  },
});

export const deleteRoomSettingsRoute = route({
  ...inRoom,
  method: 'DELETE',
  summary: 'Go back to the defaults for a user in a room',
  once: 'transaction',
  reply: empty(204),
  async handle({ params }, { db }) {
    const where = placeIn(params);
    if (!(await deleteRoomSettings(db, where))) throw new AppError('ROOM_NOT_FOUND', { roomId: where.roomId });
  },
});

export const listRoomSettingsRoute = route({
  method: 'GET',
  path: '/v2/users/:userId/room-subscription-settings',
  needs: 'secret',
  tag,
  summary: 'List the rooms for which a user set what to hear of',
  params: UserParams,
  query: ListQuery,
  reply: RoomSettingsPage,
  async handle({ params, query }, { db, inRoomByDefault }) {
    const userId = checkName(params.userId, 'userId', NAME_LENGTHS.userId);
    const { limit, startingAfter, organizationId } = query;
    if (organizationId !== undefined) checkName(organizationId, 'organizationId', NAME_LENGTHS.organizationId);
    const list = listAsked('room-settings', [userId, organizationId]);
    const afterPk = startingAfter === undefined ? 0 : positionAt(startingAfter, { list, key: 'startingAfter' }).pk;
    const found = await listRoomSettings(db, { userId, organizationId: organizationId ?? null, afterPk, limit: limit + 1 });
    const { page, nextCursor } = pageFrom(found, { limit, list, positionOf: ({ roomPk }) => ({ atMs: 0, pk: roomPk }) });
    return { nextCursor, data: page.map(({ roomId, ...stored }) => ({ roomId, ...roomSettingsOf(stored, inRoomByDefault) })) };
  },
});

export const getMyRoomSettingsRoute = route({
  ...inRoomForClients,
  method: 'GET',
  summary: 'For the SDK: what the user wants to hear of in a room, also in one that nobody has entered yet',
  reply: RoomSettings,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, principal }, { db, personOf, inRoomByDefault }) {
    const { userId } = personOf(principal);
    const roomId = checkRoomId(params.roomId, 'roomId');
    return roomSettingsOf(await findRoomSettings(db, { roomId, userId }), inRoomByDefault);
  },
});

export const changeMyRoomSettingsRoute = route({
  ...inRoomForClients,
  method: 'POST',
  summary: 'For the SDK: change what the user wants to hear of in a room',
  once: 'transaction',
  body: RoomSettingsBody,
  reply: RoomSettings,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, principal, body }, { db, personOf, inRoomByDefault }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const { userId } = personOf(principal);
    return shown(await changeRoomSettings(db, { roomId, userId }, body), roomId, inRoomByDefault);
  },
});

export const getChannelsRoute = route({
  ...ofUser,
  method: 'GET',
  summary: 'Get the channels by which a user hears of notifications',
  reply: ChannelSettings,
  async handle({ params }, { db, channelsByDefault }) {
    return shownChannels(await findChannels(db, userIn(params)), channelsByDefault);
  },
});

export const changeChannelsRoute = route({
  ...ofUser,
  method: 'POST',
  summary: 'Change the channels by which a user hears of notifications; what is not named stays',
  once: 'transaction',
  body: ChannelSettingsBody,
  reply: ChannelSettings,
  async handle({ params, body }, { db, channelsByDefault }) {
    return shownChannels(await changeChannels(db, { userId: userIn(params), change: body }), channelsByDefault);
  },
});

export const deleteChannelsRoute = route({
  ...ofUser,
  method: 'DELETE',
  summary: 'Go back to the default channels for a user',
  once: 'transaction',
  reply: empty(204),
  async handle({ params }, { db }) {
    await deleteChannels(db, userIn(params));
  },
});

export const getMyChannelsRoute = route({
  ...ofUserForClients,
  method: 'GET',
  summary: 'For the SDK: the channels by which the user hears of notifications',
  reply: ChannelSettings,
  async handle({ principal }, { db, personOf, channelsByDefault }) {
    return shownChannels(await findChannels(db, personOf(principal).userId), channelsByDefault);
  },
});

export const changeMyChannelsRoute = route({
  ...ofUserForClients,
  method: 'POST',
  summary: 'For the SDK: change the channels by which the user hears of notifications',
  once: 'transaction',
  body: ChannelSettingsBody,
  reply: ChannelSettings,
  async handle({ principal, body }, { db, personOf, channelsByDefault }) {
    return shownChannels(await changeChannels(db, { userId: personOf(principal).userId, change: body }), channelsByDefault);
  },
});

export function settingsRoutes(deps: SettingsDeps): BoundRoute[] {
  return [
    bindRoute(getRoomSettingsRoute, deps),
    bindRoute(changeRoomSettingsRoute, deps),
    bindRoute(deleteRoomSettingsRoute, deps),
    bindRoute(listRoomSettingsRoute, deps),
    bindRoute(getMyRoomSettingsRoute, deps),
    bindRoute(changeMyRoomSettingsRoute, deps),
    bindRoute(getChannelsRoute, deps),
    bindRoute(changeChannelsRoute, deps),
    bindRoute(deleteChannelsRoute, deps),
    bindRoute(getMyChannelsRoute, deps),
    bindRoute(changeMyChannelsRoute, deps),
  ];
}

function placeIn({ roomId, userId }: { readonly roomId: string; readonly userId: string }) {
  return { roomId: checkRoomId(roomId, 'roomId'), userId: checkName(userId, 'userId', NAME_LENGTHS.userId) };
}

function userIn({ userId }: { readonly userId: string }): string {
  return checkName(userId, 'userId', NAME_LENGTHS.userId);
}

/** @throws AppError ROOM_NOT_FOUND for null. */
function shown(stored: StoredRoomSettings | null, roomId: string, byDefault: RoomSettings): RoomSettings {
  if (stored === null) throw new AppError('ROOM_NOT_FOUND', { roomId });
  return roomSettingsOf(stored, byDefault);
}
