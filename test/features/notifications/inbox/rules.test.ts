import { describe, expect, test } from 'vitest';
import {
  checkNotificationId,
  checkTrigger,
  documentOf,
  filterOf,
  groupsNamedIn,
  type InboxRow,
  isUserId,
  knowableIds,
  olderDocumentOf,
  organizationOf,
  readableOf,
  TRIGGER_LIMITS,
} from '../../../../src/features/notifications/inbox/rules.ts';
import { FULL_ACCESS, NO_PERMISSIONS, permissionsOf } from '../../../../src/protocol/permissions.ts';

const TRIGGER = { userId: 'bob', kind: '$ring', subjectId: 's', activityData: { a: 1 } };
const trigger =
  (over: object = {}) =>
  () =>
    checkTrigger({ ...TRIGGER, ...over });

test('[IB1] what is triggered is a user, a subject and scalar data within their limits', () => {
  const { dataEntriesMax, dataKeyLengthMax, dataTextLengthMax, subjectIdLengthMax } = TRIGGER_LIMITS;
  const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, true]));
  expect(trigger()()).toEqual({
    userId: 'bob',
    kind: '$ring',
    subjectId: 's',
    data: { a: 1 },
    roomId: null,
    organizationId: null,
  });
  for (const good of [
    { activityData: entries(dataEntriesMax) },
    { activityData: { ['k'.repeat(dataKeyLengthMax)]: 'x'.repeat(dataTextLengthMax) } },
    { subjectId: 's'.repeat(subjectIdLengthMax), userId: 'u'.repeat(128), roomId: 'r', organizationId: 'o' },
  ])
    expect(trigger(good)).not.toThrow();
  expect(trigger({ activityData: entries(dataEntriesMax + 1) })).toThrow("'activityData' may have at most 50 entries");
  expect(trigger({ activityData: { ['k'.repeat(dataKeyLengthMax + 1)]: 1 } })).toThrow('1 to 128');
  expect(trigger({ activityData: { k: 'x'.repeat(dataTextLengthMax + 1) } })).toThrow("'activityData.k' must have at most 4000");
  expect(trigger({ activityData: { k: 'a\0' } })).toThrow("'activityData.k' may not hold U+0000");
  expect(trigger({ activityData: JSON.parse('{"__proto__":1}') })).toThrow('may not be used');
  expect(trigger({ subjectId: 's'.repeat(subjectIdLengthMax + 1) })).toThrow("'subjectId'");
  expect(trigger({ subjectId: '' })).toThrow("'subjectId'");
  expect(trigger({ userId: 'u'.repeat(129) })).toThrow("'userId'");
  expect(trigger({ organizationId: '' })).toThrow("'organizationId'");
  expect(trigger({ roomId: 'a*' })).toThrow("'roomId'");
});

test('[IB2] a custom notification is of the organisation of its room, else of the one that is named, else of the default', () => {
  expect(organizationOf('acme', { organizationId: 'acme' })).toBe('acme');
  expect([organizationOf(null, { organizationId: 'acme' }), organizationOf('acme', null), organizationOf(null, null)]).toEqual([
    'acme',
    'acme',
    'default',
  ]);
});

describe('the filter', () => {
  test('[IB3] back ends ask for what is unread, or read, and nothing else', () => {
    expect(filterOf('unread:true', 'back end')).toEqual({ roomIds: [], kinds: [], unread: [true] });
    expect(filterOf('unread:false', 'back end').unread).toEqual([false]);
    for (const none of [undefined, '']) expect(filterOf(none, 'back end')).toEqual({ roomIds: [], kinds: [], unread: [] });
    for (const wrong of ['unread:"true"', 'read:true', 'unread^true', 'roomId:"r"', "kind:'thread'"])
      expect(() => filterOf(wrong, 'back end')).toThrow("'query'");
  });

  test('[IB4] clients ask for a room and a kind besides, and all clauses hold together', () => {
    expect(filterOf("roomId:'r' kind:'$ring' unread:true", 'client')).toEqual({
      roomIds: ['r'],
      kinds: ['$ring'],
      unread: [true],
    });
    expect(filterOf("roomId:'a' AND roomId:'b'", 'client').roomIds).toEqual(['a', 'b']);
    for (const wrong of ["roomId^'r'", 'kind:1', 'subjectId:"s"', 'kind:"a\0"'])
      expect(() => filterOf(wrong, 'client')).toThrow("'query'");
  });
});

test('[IB5] a person reads threads by visibility, and texts by the right to Storage', () => {
  const rooms = [
    { pk: 1, permissions: FULL_ACCESS },
    { pk: 2, permissions: permissionsOf(['*:read', 'comments:private:none']) },
    { pk: 3, permissions: permissionsOf(['*:read', 'comments:none']) },
    { pk: 4, permissions: permissionsOf(['*:read', 'storage:none', 'comments:public:none']) },
    { pk: 5, permissions: NO_PERMISSIONS },
  ];
  expect(readableOf(rooms)).toEqual({ publicIn: [1, 2], privateIn: [1, 4], textsIn: [1, 2, 3] });
});

const ROW: InboxRow = {
  pk: 1,
  id: 'in_1',
  userId: 'bob',
  kind: 'thread',
  roomId: 'r',
  organizationId: 'acme',
  threadPk: 7,
  subjectId: 'th_1',
  details: {},
  notifiedAt: '2031-02-03T04:05:06.007Z',
  readAt: null,
  changedAt: '2031-02-03T04:05:06.007Z',
  answerBytes: 0,
  ownBytes: 0,
};
const facts = { id: 'in_1', notifiedAt: ROW.notifiedAt, readAt: null };

test('[IB6] each kind has its own shape, and no key more', () => {
  expect(documentOf(ROW)).toEqual({ kind: 'thread', ...facts, roomId: 'r', threadId: 'th_1', organizationId: 'acme' });
  const mention = { kind: 'group' as const, id: 'g', userIds: ['bob'] };
  expect(documentOf({ ...ROW, kind: 'textMention', subjectId: 'm', details: { createdBy: 'ann', mention } })).toEqual({
    kind: 'textMention',
    ...facts,
    ...{ roomId: 'r', mentionId: 'm', createdBy: 'ann', mention },
  });
  const activities = [{ id: 'act_1', createdAt: ROW.notifiedAt, data: { a: 1 } }];
  expect(documentOf({ ...ROW, kind: '$ring', roomId: null, subjectId: 's', details: { activities } })).toEqual({
    kind: '$ring',
    ...facts,
    ...{ roomId: null, subjectId: 's', activities },
  });
});

test('[IB7] as the older listing has it, a custom one has the data of its latest activity besides', () => {
  const activities = [1, 2].map((n) => ({ id: `act_${n}`, createdAt: ROW.notifiedAt, data: { n } }));
  const row = { ...ROW, kind: '$ring', subjectId: 's', details: { activities } };
  expect(olderDocumentOf(row)).toEqual({ ...documentOf(row), activityData: { n: 2 } });
  expect(olderDocumentOf(ROW)).toEqual(documentOf(ROW));
});

test('[IB8] what is no id is the id of nothing', () => {
  expect(checkNotificationId('in_aZ0-_')).toBe('in_aZ0-_');
  for (const wrong of ['', 'in_', 'th_1', 'in_\0', `in_${'x'.repeat(65)}`])
    expect(() => checkNotificationId(wrong)).toThrow('does not exist');
  expect(knowableIds(['in_1', 'in_1', '\0', 'in_2'])).toEqual(['in_1', 'in_2']);
  expect(['bob', 'u'.repeat(128)].every(isUserId)).toBe(true);
  expect(['', 'u'.repeat(129), 'a\0', '\ud800', '__proto__'].some(isUserId)).toBe(false);
});

test('[IB9] groups that a page names are those of its text mentions, each once', () => {
  const of = (kind: 'user' | 'group', id: string): InboxRow => ({
    ...ROW,
    kind: 'textMention',
    details: { mention: { kind, id } },
  });
  expect(groupsNamedIn([ROW, of('group', 'g'), of('user', 'u'), of('group', 'g'), of('group', 'h')])).toEqual(['g', 'h']);
});
