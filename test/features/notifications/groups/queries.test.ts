import { beforeEach, expect, test } from 'vitest';
import {
  addMembers,
  createGroup,
  deleteGroup,
  findGroups,
  getGroup,
  listGroups,
  removeMembers,
} from '../../../../src/features/notifications/groups/queries.ts';
import type { Sql } from '../../../../src/kernel/persistence/sql.ts';
import { usePostgres } from '../../../support/postgres.ts';

const db: Sql = await usePostgres().open();
let made = 0;
let id: string;
beforeEach(() => {
  id = `group ${++made}`;
});
const create = (over: object = {}) => createGroup(db, { id, organizationId: 'default', memberIds: [], ...over });
const membersOf = async (of = id) => (await getGroup(db, of)).members.map((member) => member.id).sort();

test('[GR4] a group is made once, with its members, and read as it was made', async () => {
  const group = await create({ organizationId: 'acme', memberIds: ['b', 'a'] });
  expect(group).toEqual({
    type: 'group',
    id,
    organizationId: 'acme',
    createdAt: expect.stringMatching(/Z$/),
    updatedAt: group.createdAt,
    scopes: { mention: true },
    members: ['a', 'b'].map((member) => ({ id: member, addedAt: group.createdAt })),
  });
  expect(await getGroup(db, id)).toEqual(group);
  await expect(create()).rejects.toMatchObject({ code: 'RESOURCE_ALREADY_EXISTS', message: `The group "${id}" exists already.` });
  expect(await membersOf()).toEqual(['a', 'b']);
});

test('[GR5] members are added and taken out; who is there already, or is not, is passed by', async () => {
  const { updatedAt } = await create({ memberIds: ['a'] });
  const more = await addMembers(db, { id, memberIds: ['a', 'b', 'c'] });
  expect(more.members.map((member) => member.id)).toEqual(['a', 'b', 'c']);
  expect(Date.parse(more.updatedAt)).toBeGreaterThan(Date.parse(updatedAt));
  expect(await addMembers(db, { id, memberIds: ['a', 'b'] })).toEqual(more);
  const fewer = await removeMembers(db, { id, memberIds: ['b', 'x'] });
  expect([fewer.members.map((member) => member.id), fewer.updatedAt > more.updatedAt]).toEqual([['a', 'c'], true]);
  expect(await removeMembers(db, { id, memberIds: ['x'] })).toEqual(fewer);
});

test('[GR2] the 1,001st member is refused, and with it all that came along', async () => {
  await create({ memberIds: Array.from({ length: 999 }, (_, n) => `u${n}`) });
  await expect(addMembers(db, { id, memberIds: ['v', 'w'] })).rejects.toThrow('1001 members');
  expect(await membersOf()).toHaveLength(999);
  const added = await Promise.allSettled(['v', 'w', 'x'].map((member) => addMembers(db, { id, memberIds: [member] })));
  expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await membersOf()).toHaveLength(1_000);
});

test('[GR6] a group that is not there is not found, whatever is asked of it', async () => {
  const missing = { code: 'RESOURCE_NOT_FOUND' };
  await expect(getGroup(db, id)).rejects.toMatchObject(missing);
  await expect(deleteGroup(db, id)).rejects.toMatchObject(missing);
  await expect(addMembers(db, { id, memberIds: ['a'] })).rejects.toMatchObject(missing);
  await expect(removeMembers(db, { id, memberIds: ['a'] })).rejects.toMatchObject(missing);
  await create({ memberIds: ['a'] });
  await deleteGroup(db, id);
  await expect(getGroup(db, id)).rejects.toMatchObject(missing);
  expect((await create()).members).toEqual([]);
});

test('[GR7] groups are listed newest first, page by page, all or those of a user', async () => {
  const user = `user ${made}`;
  const ids = [1, 2, 3].map((n) => `${id} ${n}`);
  for (const one of ids) await createGroup(db, { id: one, organizationId: 'default', memberIds: one === ids[1] ? [] : [user] });
  const mine = await listGroups(db, { userId: user, after: null, limit: 10 });
  expect(mine.map(({ group }) => group.id)).toEqual([ids[2], ids[0]]);
  const all = await listGroups(db, { userId: null, after: null, limit: 3 });
  expect(all.map(({ group }) => group.id)).toEqual([ids[2], ids[1], ids[0]]);
  const next = await listGroups(db, { userId: user, after: mine[0]!.position, limit: 1 });
  expect(next.map(({ group }) => group.id)).toEqual([ids[0]]);
  expect(await listGroups(db, { userId: user, after: mine[1]!.position, limit: 1 })).toEqual([]);
});

test('[GR8] groups are found by their ids in one organisation alone', async () => {
  await create({ organizationId: 'acme' });
  const find = (organizationId: string) => findGroups(db, { ids: [id, 'none'], organizationId });
  expect([
    (await find('acme')).map((group) => group.id),
    await find('default'),
    await findGroups(db, { ids: [], organizationId: 'acme' }),
  ]).toEqual([[id], [], []]);
});
