import { describe, expect, test } from 'vitest';
import { isNotified, type Listener, mayRead, type News } from '../../../../src/features/notifications/of-comments/rules.ts';
import { type Sql, sql } from '../../../../src/kernel/persistence/sql.ts';
import type { RoomAccesses } from '../../../../src/protocol/permissions.ts';
import { usePostgres } from '../../../support/postgres.ts';

const STRANGER: Listener = {
  userId: 'bob',
  isMentioned: false,
  takesPart: false,
  isSubscribed: null,
  threads: null,
  saidOfThreadLast: false,
  mayRead: 'yes',
};
const COMMENT: News = { author: 'ann', what: 'comment', byDefault: 'replies_and_mentions' };
const EDIT: News = { ...COMMENT, what: 'edit' };
const hears = (listener: Partial<Listener>, news: Partial<News> = {}) =>
  isNotified({ ...STRANGER, ...listener }, { ...COMMENT, ...news });

test.each<[who: string, listener: Partial<Listener>, ofAny: boolean, ofMention: boolean]>([
  ['who has nothing to do with it', {}, false, true],
  ['who takes part', { takesPart: true }, true, true],
  ['who subscribed', { isSubscribed: true }, true, true],
  ['who unsubscribed, though taking part', { isSubscribed: false, takesPart: true }, false, true],
  ['who wants all of the room', { threads: 'all' }, true, true],
  ['who wants replies and mentions, and takes part', { threads: 'replies_and_mentions', takesPart: true }, true, true],
  ['who wants replies and mentions', { threads: 'replies_and_mentions' }, false, true],
  ['who wants none', { threads: 'none', takesPart: true }, false, false],
])('[NT1] of a comment hears %s', (_, listener, ofAny, ofMention) => {
  expect([hears(listener), hears({ ...listener, isMentioned: true })]).toEqual([ofAny, ofMention]);
});

test.each<[what: string, listener: Partial<Listener>, before: boolean, after: boolean]>([
  ['subscribed, and none of the room', { isSubscribed: true, threads: 'none' }, false, true],
  ['subscribed, and replies of the room', { isSubscribed: true, threads: 'replies_and_mentions' }, false, true],
  ['unsubscribed, and all of the room', { isSubscribed: false, threads: 'all' }, true, false],
  [
    'unsubscribed, and replies of the room, taking part',
    { isSubscribed: false, threads: 'replies_and_mentions', takesPart: true },
    true,
    false,
  ],
])('[NT2] of two calls the later counts: %s', (_, listener, before, after) => {
  expect([hears({ ...listener, saidOfThreadLast: false }), hears({ ...listener, saidOfThreadLast: true })]).toEqual([
    before,
    after,
  ]);
});

test('[NT2] who unsubscribed after all hears of mentions; who wants none, after having subscribed, of nothing', () => {
  expect(hears({ isMentioned: true, isSubscribed: false, threads: 'none', saidOfThreadLast: true })).toBe(true);
  expect(hears({ isMentioned: true, isSubscribed: true, threads: 'none', saidOfThreadLast: false })).toBe(false);
});

test('[NT3] an author is never notified, whatever they want and whoever mentions them', () => {
  const eager: Partial<Listener> = { userId: 'ann', isMentioned: true, takesPart: true, isSubscribed: true, threads: 'all' };
  expect([hears(eager), hears(eager, EDIT), hears({ ...eager, userId: 'bob' })]).toEqual([false, false, true]);
});

test('[NT4] who may not read the thread is never notified; who perhaps may, is', () => {
  const eager: Partial<Listener> = { isMentioned: true, takesPart: true, isSubscribed: true, threads: 'all' };
  expect(['no', 'unknown', 'yes'].map((may) => hears({ ...eager, mayRead: may as never }))).toEqual([false, true, true]);
});

test('[NT5] an edit is news only to those whom it mentions, and not to those who want none', () => {
  const all: Partial<Listener> = { takesPart: true, isSubscribed: true };
  expect([hears(all, EDIT), hears({ ...all, isMentioned: true }, EDIT)]).toEqual([false, true]);
  expect(hears({ isMentioned: true, threads: 'none' }, EDIT)).toBe(false);
});

test('[NT6] the default of the server is for those who set nothing, and gives way to a subscription', () => {
  const byDefault = (value: News['byDefault'], listener: Partial<Listener> = {}) => hears(listener, { byDefault: value });
  expect([byDefault('all'), byDefault('replies_and_mentions'), byDefault('none')]).toEqual([true, false, false]);
  expect(byDefault('none', { isMentioned: true })).toBe(false);
  expect([byDefault('none', { isSubscribed: true }), byDefault('all', { isSubscribed: false })]).toEqual([true, false]);
  expect([byDefault('none', { threads: 'all' }), byDefault('all', { threads: 'none' })]).toEqual([true, false]);
});

describe('the rule in the database', () => {
  const postgres = usePostgres();

  test('[NT7] says of everybody who is not mentioned what this one says', async () => {
    const db: Sql = await postgres.open();
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
    let count = 0;
    for (const isSubscribed of [null, true, false])
      for (const threads of [null, 'all', 'replies_and_mentions', 'none'] as const)
        for (const takesPart of [true, false])
          for (const saidOfThreadLast of [true, false])
            for (const byDefault of ['all', 'replies_and_mentions', 'none'] as const) {
              const saidAt = isSubscribed === null ? null : saidOfThreadLast ? late : early;
              const setAt = threads === null ? null : saidOfThreadLast ? early : late;
              const [row] = await db.query(sql<{ is: boolean }>`
                select is_subscribed(${isSubscribed}::boolean, ${saidAt}::timestamptz, ${takesPart}, ${threads ?? byDefault}, ${setAt}::timestamptz) as is`);
              const listener = {
                isSubscribed,
                threads,
                takesPart,
                saidOfThreadLast: saidOfThreadLast && isSubscribed !== null && threads !== null,
              };
              expect(hears(listener, { byDefault }), JSON.stringify({ ...listener, byDefault })).toBe(row!.is);
              count += 1;
            }
    expect(count).toBe(144);
  });
});

const room = (lists: Partial<RoomAccesses>): RoomAccesses => ({
  defaultAccesses: [],
  groupsAccesses: {},
  usersAccesses: {},
  ...lists,
});
const reads = (lists: Partial<RoomAccesses>, shown: boolean | null = null) =>
  (['comments:public', 'comments:private'] as const).map((resource) => mayRead(room(lists), { userId: 'bob', resource, shown }));

test.each<[room: string, lists: Partial<RoomAccesses>, publicly: string, privately: string]>([
  ['open to everyone', { defaultAccesses: ['*:read'] }, 'yes', 'yes'],
  ['open but for private threads', { defaultAccesses: ['*:write', 'comments:private:none'] }, 'yes', 'no'],
  ['that shuts comments to everyone', { defaultAccesses: ['*:write', 'comments:none'] }, 'no', 'no'],
  ['whose own list for the user gives all', { usersAccesses: { bob: ['*:read'] } }, 'yes', 'yes'],
  [
    'whose own list for the user withholds private threads',
    { usersAccesses: { bob: ['*:write', 'comments:private:none'] } },
    'yes',
    'no',
  ],
  ['whose own list for the user is empty', { defaultAccesses: ['*:write'], usersAccesses: { bob: [] } }, 'no', 'no'],
  ['that names others alone', { usersAccesses: { ann: ['*:write'] } }, 'no', 'no'],
  ['without any lists', {}, 'yes', 'unknown'],
])('[NT8] in a room %s the lists say who may read', (_, lists, publicly, privately) => {
  expect(reads(lists)).toEqual([publicly, privately]);
});

test('[NT9] what a group could give is not known, unless the list of the user withholds it', () => {
  const team = { groupsAccesses: { team: ['*:write'] } };
  expect(reads(team)).toEqual(['unknown', 'unknown']);
  expect(
    reads({
      defaultAccesses: ['*:read', 'comments:private:none'],
      groupsAccesses: { team: ['*:read', 'comments:private:read'] },
    }),
  ).toEqual(['yes', 'unknown']);
  expect(reads({ groupsAccesses: { none: [] }, defaultAccesses: [] })).toEqual(['no', 'no']);
  expect(reads({ ...team, usersAccesses: { bob: [] } })).toEqual(['no', 'no']);
});

test('[NT10] who has shown to be let in by a token may read, unless the own list of the user says otherwise', () => {
  expect(reads({}, true)).toEqual(['yes', 'yes']);
  expect(reads({ defaultAccesses: ['*:write', 'comments:private:none'] }, true)).toEqual(['yes', 'yes']);
  expect(reads({ groupsAccesses: { team: ['*:write'] } }, true)).toEqual(['yes', 'yes']);
  expect(reads({ usersAccesses: { bob: [] } }, true)).toEqual(['no', 'no']);
});

test('[NT26] whom the last token did not let read is not known to read, whatever the lists give', () => {
  expect(reads({ defaultAccesses: ['*:write'] }, false)).toEqual(['unknown', 'unknown']);
  expect(reads({ usersAccesses: { bob: ['*:read'] } }, false)).toEqual(['unknown', 'unknown']);
  expect(reads({}, false)).toEqual(['unknown', 'unknown']);
  expect(reads({ usersAccesses: { ann: ['*:write'] } }, false)).toEqual(['no', 'no']);
});
