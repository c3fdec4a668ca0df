/** The endpoints of groups, for back ends (supplement 2.7) and for clients, which show who is in a group that they mention (protocol 7.2). */
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Principal } from '../../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { checkName, NAME_LENGTHS } from '../../../protocol/names.ts';
import { listAsked, pageFrom, positionAt } from '../../../protocol/paging.ts';
import type { Person } from '../../../protocol/person.ts';
import { addMembers, createGroup, deleteGroup, findGroups, getGroup, listGroups, removeMembers } from './queries.ts';
import { checkMembers, forClients, knowableGroups, newGroupOf } from './rules.ts';
import {
  CreateGroupBody,
  FindBody,
  FindReply,
  GroupPage,
  GroupParams,
  GroupReply,
  ListQuery,
  MembersBody,
  UserParams,
} from './shapes.ts';

export interface GroupsDeps {
  readonly db: Sql;
  personOf(principal: Principal): Person;
}

const route = routeFor<GroupsDeps>();
const tag = 'Groups';
const all = { path: '/v2/groups', needs: 'secret', tag } as const;
const one = { path: '/v2/groups/:groupId', needs: 'secret', tag, params: GroupParams, refuses: ['RESOURCE_NOT_FOUND'] } as const;

export const createGroupRoute = route({
  ...all,
  method: 'POST',
  summary: 'Create a group of users that can be mentioned together',
  once: 'transaction',
  body: CreateGroupBody,
  reply: GroupReply,
  refuses: ['RESOURCE_ALREADY_EXISTS'],
  async handle({ body }, { db }) {
    return createGroup(db, newGroupOf(body));
  },
});

export const listGroupsRoute = route({
  ...all,
  method: 'GET',
  summary: 'List groups, newest first',
  query: ListQuery,
  reply: GroupPage,
  async handle({ query }, { db }) {
    return pageOfGroups(db, null, query);
  },
});

export const listGroupsOfUserRoute = route({
  ...all,
  path: '/v2/users/:userId/groups',
  method: 'GET',
  summary: 'List the groups that a user is in, newest first',
  params: UserParams,
  query: ListQuery,
  reply: GroupPage,
  async handle({ params, query }, { db }) {
    return pageOfGroups(db, checkName(params.userId, 'userId', NAME_LENGTHS.userId), query);
  },
});

export const getGroupRoute = route({
  ...one,
  method: 'GET',
  summary: 'Get a group',
  reply: GroupReply,
  async handle({ params }, { db }) {
    return getGroup(db, groupIdIn(params));
  },
});

export const deleteGroupRoute = route({
  ...one,
  method: 'DELETE',
  summary: 'Delete a group',
  once: 'transaction',
  reply: empty(204),
  async handle({ params }, { db }) {
    await deleteGroup(db, groupIdIn(params));
  },
});

export const addMembersRoute = route({
  ...one,
  path: '/v2/groups/:groupId/add-members',
  method: 'POST',
  summary: 'Add users to a group',
  once: 'transaction',
  body: MembersBody,
  reply: GroupReply,
  async handle({ params, body }, { db }) {
    const id = groupIdIn(params);
    return addMembers(db, { id, memberIds: checkMembers(body.memberIds) });
  },
});

export const removeMembersRoute = route({
  ...one,
  path: '/v2/groups/:groupId/remove-members',
  method: 'POST',
  summary: 'Take users out of a group',
  once: 'transaction',
  body: MembersBody,
  reply: GroupReply,
  async handle({ params, body }, { db }) {
    const id = groupIdIn(params);
    return removeMembers(db, { id, memberIds: checkMembers(body.memberIds) });
  },
});

export const findGroupsRoute = route({
  method: 'POST',
  path: '/v2/c/groups/find',
  needs: 'personal:read',
  tag,
  summary: 'For the SDK: groups of the organisation of the user by their ids; those that are not there are left out',
  body: FindBody,
  reply: FindReply,
  async handle({ principal, body }, { db, personOf }) {
    const { organizationId } = personOf(principal);
    const found = await findGroups(db, { ids: knowableGroups(body.groupIds), organizationId });
    return { groups: found.map(forClients) };
  },
});

export function groupRoutes(deps: GroupsDeps): BoundRoute[] {
  return [
    bindRoute(createGroupRoute, deps),
    bindRoute(listGroupsRoute, deps),
    bindRoute(listGroupsOfUserRoute, deps),
    bindRoute(getGroupRoute, deps),
    bindRoute(deleteGroupRoute, deps),
    bindRoute(addMembersRoute, deps),
    bindRoute(removeMembersRoute, deps),
    bindRoute(findGroupsRoute, deps),
  ];
}

function groupIdIn({ groupId }: { readonly groupId: string }): string {
  return checkName(groupId, 'groupId', NAME_LENGTHS.groupId);
}

async function pageOfGroups(db: Sql, userId: string | null, { limit, startingAfter }: { limit: number; startingAfter?: string }) {
  const list = listAsked('groups', [userId]);
  const after = startingAfter === undefined ? null : positionAt(startingAfter, { list, key: 'startingAfter' });
  const found = await listGroups(db, { userId, after, limit: limit + 1 });
  const { page, nextCursor } = pageFrom(found, { limit, list, positionOf: ({ position }) => position });
  return { nextCursor, data: page.map(({ group }) => group) };
}
