import { expect, test } from 'vitest';
import { checkMentionId, mentionOf } from '../../../../src/features/notifications/text-mentions/rules.ts';

const mention = (body: object) => mentionOf({ mentionId: 'm', ...body });

test('[TM1] a text mentions a user, or a group with those whom the client took to be in it', () => {
  expect(mention({ userId: 'bob' })).toEqual({ kind: 'user', id: 'bob' });
  expect(mention({ groupId: 'g' })).toEqual({ kind: 'group', id: 'g' });
  expect(mention({ groupId: 'g', userIds: ['a', 'b', 'a', '\0', ''] })).toEqual({ kind: 'group', id: 'g', userIds: ['a', 'b'] });
});

test('[TM2] one of the two, within the limits of names', () => {
  expect(() => mention({})).toThrow("Missing key 'userId'");
  expect(() => mention({ userId: 'bob', groupId: 'g' })).toThrow("'groupId' cannot stand beside userId");
  expect(() => mention({ userId: 'u'.repeat(129) })).toThrow("'userId'");
  expect(() => mention({ groupId: '' })).toThrow("'groupId'");
  expect(checkMentionId('m'.repeat(256))).toHaveLength(256);
  expect(() => checkMentionId('m'.repeat(257))).toThrow("'mentionId'");
});
