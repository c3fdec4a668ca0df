/** Whom a comment mentions: the same as gathering anew for each mention, and at a cost in proportion to the comment. */
import { expect, test, vi } from 'vitest';
import { type CommentBody, mentionsIn } from '../../src/protocol/comments.ts';

type Child = CommentBody['content'][number]['children'][number];

const says = (...children: Child[]): CommentBody => ({ version: 1, content: [{ type: 'paragraph', children }] });
const group = (id: string, userIds?: string[]): Child => ({ type: 'mention', kind: 'group', id, ...(userIds && { userIds }) });

test('[CB40] users and groups are mentioned once each, in the order of the text, a group with all that were said to be in it', () => {
  const body = says(
    { text: 'Hi ' },
    group('g', ['b', 'a']),
    { type: 'mention', id: 'tom' },
    group('h'),
    group('g', ['c', 'b']),
    { type: 'mention', kind: 'user', id: 'ann' },
    { type: 'mention', id: 'tom' },
    group('g'),
  );
  expect(mentionsIn(body)).toEqual({
    userIds: ['tom', 'ann'],
    groups: [
      { id: 'g', userIds: ['b', 'a', 'c'] },
      { id: 'h', userIds: [] },
    ],
  });
});

test('[CB40] a group that is mentioned again and again is not gathered again each time', () => {
  const users = Array.from({ length: 1_000 }, (_, n) => `user-${n}`);
  const body = says(group('g', users), ...Array.from({ length: 1_000 }, () => group('g')));
  const add = vi.spyOn(Set.prototype, 'add');
  const { groups } = mentionsIn(body);
  const added = add.mock.calls.length;
  add.mockRestore();
  expect(groups).toEqual([{ id: 'g', userIds: users }]);
  expect(added).toBe(1_000);
});
