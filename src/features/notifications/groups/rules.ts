/** What a group may be. Pure: it knows neither tables nor routes. */
import { AppError, valueAtKey } from '../../../base/errors.ts';
import { isStorableText } from '../../../base/text.ts';
import { checkName, checkNameInPath, DEFAULT_ORGANIZATION, NAME_LENGTHS } from '../../../protocol/names.ts';
import type { Group, GroupCreation } from './shapes.ts';

/** Ours. A comment that mentions a group is written to the inbox of each member. */
export const GROUP_LIMITS = { membersMax: 1_000, askedForMax: 50 } as const;

export interface NewGroup {
  readonly id: string;
  readonly organizationId: string;
  readonly memberIds: readonly string[];
}

/** @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export function newGroupOf({ id, groupId = id, memberIds = [], organizationId = DEFAULT_ORGANIZATION }: GroupCreation): NewGroup {
  checkNameInPath(id, 'id', NAME_LENGTHS.groupId);
  if (groupId !== id) throw valueAtKey('groupId', 'is the older name of id; give one of the two');
  checkName(organizationId, 'organizationId', NAME_LENGTHS.organizationId);
  return { id, organizationId, memberIds: checkMembers(memberIds) };
}

/** Each once. @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export function checkMembers(memberIds: readonly string[]): string[] {
  for (const [index, memberId] of memberIds.entries()) checkName(memberId, `memberIds.${index}`, NAME_LENGTHS.userId);
  return [...new Set(memberIds)];
}

/** @throws AppError UNPROCESSABLE_ENTITY when the group would become too large. */
export function checkSize(members: number): void {
  if (members > GROUP_LIMITS.membersMax)
    throw valueAtKey('memberIds', `would give the group ${members} members; at most ${GROUP_LIMITS.membersMax} are allowed`);
}

export function noGroup(id: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'group', id });
}

export function forClients(group: Group): Group & { readonly tenantId: string } {
  return { ...group, tenantId: group.organizationId };
}

/** Ids that may name something; what could not be stored is the id of nothing. */
export function knowableGroups(ids: readonly string[]): string[] {
  return [...new Set(ids)].filter((id) => id.length <= NAME_LENGTHS.groupId && isStorableText(id));
}
