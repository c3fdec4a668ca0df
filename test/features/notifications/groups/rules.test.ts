import { expect, test } from 'vitest';
import { checkMembers, checkSize, knowableGroups, newGroupOf } from '../../../../src/features/notifications/groups/rules.ts';

test('[GR1] a group has an id, an organisation and members, each once', () => {
  expect(newGroupOf({ id: 'g' })).toEqual({ id: 'g', organizationId: 'default', memberIds: [] });
  expect(newGroupOf({ id: 'g', groupId: 'g', organizationId: 'acme', memberIds: ['b', 'a', 'b'] })).toEqual({
    id: 'g',
    organizationId: 'acme',
    memberIds: ['b', 'a'],
  });
  expect(() => newGroupOf({ id: 'g', groupId: 'h' })).toThrow("'groupId' is the older name of id");
  expect(() => newGroupOf({ id: '' })).toThrow("'id'");
  expect(() => newGroupOf({ id: 'g'.repeat(257) })).toThrow("'id'");
  expect(() => newGroupOf({ id: 'g', organizationId: '' })).toThrow("'organizationId'");
  expect(() => checkMembers(['a', 'u'.repeat(129)])).toThrow("'memberIds.1'");
});

test('[AE25] no group is called as a folder of URLs is: clients that make paths of ids would never reach it', () => {
  for (const id of ['.', '..']) expect(() => newGroupOf({ id })).toThrow("'id' must not be a path that URLs take for a folder");
  expect(newGroupOf({ id: '...' }).id).toBe('...');
});

test('[GR2] a group has at most 1,000 members', () => {
  expect(() => checkSize(1_000)).not.toThrow();
  expect(() => checkSize(1_001)).toThrow("'memberIds' would give the group 1001 members");
});

test('[GR3] what could not be stored is the id of no group', () => {
  expect(knowableGroups(['g', 'g', 'a\0', 'g'.repeat(257), 'h'])).toEqual(['g', 'h']);
});
