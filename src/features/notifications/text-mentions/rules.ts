/** Who is mentioned in a text, as its editor says it. Pure. */
import { missingKey, valueAtKey } from '../../../base/errors.ts';
import type { Mention } from '../../../protocol/inbox.ts';
import { checkName, NAME_LENGTHS } from '../../../protocol/names.ts';
import { isUserId } from '../inbox/rules.ts';
import type { MentionBody } from './shapes.ts';

/** Ours. */
export const MENTION_LIMITS = { idLengthMax: 256, userIdsMax: 1_000 } as const;

/** @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export function mentionOf({ userId, groupId, userIds = [] }: MentionBody): Mention {
  if (userId !== undefined && groupId !== undefined) throw valueAtKey('groupId', 'cannot stand beside userId');
  if (groupId === undefined && userId === undefined) throw missingKey('userId');
  if (userId !== undefined) return { kind: 'user', id: checkName(userId, 'userId', NAME_LENGTHS.userId) };
  const id = checkName(groupId, 'groupId', NAME_LENGTHS.groupId);
  return { kind: 'group', id, ...(userIds.length > 0 && { userIds: [...new Set(userIds)].filter(isUserId) }) };
}

export function checkMentionId(mentionId: string): string {
  return checkName(mentionId, 'mentionId', MENTION_LIMITS.idLengthMax);
}
