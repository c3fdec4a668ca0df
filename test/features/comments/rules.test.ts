/** Rules of threads, comments, filters and answers, without a database. */
import { describe, expect, test } from 'vitest';
import {
  BODY_LIMITS,
  bytesOf,
  checkBody,
  checkEmoji,
  checkRoomInThread,
  newCommentOf,
  textIn,
} from '../../../src/features/comments/comments/rules.ts';
import { filterOf } from '../../../src/features/comments/filters/rules.ts';
import { hintsFor, roomPksOf, wordsOf } from '../../../src/features/comments/reading/rules.ts';
import {
  BACK_END,
  checkIsOwn,
  checkMayRead,
  checkMayWrite,
  checkMetadata,
  checkTime,
  metadataAfter,
  readableBy,
  THREAD_LIMITS,
  userOf,
} from '../../../src/features/comments/threads/rules.ts';
import { type CommentBody, commentForClients } from '../../../src/protocol/comments.ts';
import { fitting, nextSinceMs, OVERLAP_MS } from '../../../src/protocol/paging.ts';
import { permissionsOf } from '../../../src/protocol/permissions.ts';

const says = (...children: CommentBody['content'][number]['children']): CommentBody => ({
  version: 1,
  content: [{ type: 'paragraph', children }],
});
const viewer = (...scopes: string[]) => ({ userId: 'mia', permissions: permissionsOf(scopes) });
const thread = (visibility: 'public' | 'private') => ({ id: 'th_x', visibility });

describe('who may', () => {
  test('[CM1] read and write follows the level of the visibility; what may not be read is not there', () => {
    const some = viewer('*:write', 'comments:public:read', 'comments:private:none');
    expect(readableBy(some)).toEqual(['public']);
    expect(() => checkMayRead(some, thread('public'))).not.toThrow();
    expect(() => checkMayWrite(some, thread('public'))).toThrow('lacks the permission comments:public:write');
    for (const check of [checkMayRead, checkMayWrite])
      expect(() => check(some, thread('private'))).toThrow('The thread "th_x" does not exist.');
    expect(readableBy(BACK_END)).toEqual(['public', 'private']);
    expect(readableBy(viewer('*:read', 'comments:none', 'comments:private:read'))).toEqual(['private']);
  });

  test('[CM2] a user edits and deletes what is theirs, a back end everything; a key is nobody', () => {
    expect(() => checkIsOwn(viewer('*:write'), 'mia')).not.toThrow();
    expect(() => checkIsOwn(viewer('*:write'), 'tom')).toThrow('Only its author may do this.');
    expect(() => checkIsOwn(BACK_END, 'tom')).not.toThrow();
    expect(userOf(viewer('*:read'))).toBe('mia');
    expect(() => userOf(BACK_END)).toThrow('This needs the token of a user.');
  });
});

describe('metadata', () => {
  test('[CM3] keeps its limits at their edges, counted after a change; null removes', () => {
    const full = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, n]));
    expect(metadataAfter(full, { k0: null, more: 'x'.repeat(4_000), k1: false })).toMatchObject({
      more: expect.any(String),
      k1: false,
    });
    expect(() => metadataAfter(full, { more: 1 })).toThrow("'metadata' may have at most 50 entries; it would have 51");
    expect(() => checkMetadata({ a: 'x'.repeat(4_001) })).toThrow("'metadata.a' must have at most 4000 characters");
    expect(checkMetadata({ ['k'.repeat(40)]: 1 })).toEqual({ ['k'.repeat(40)]: 1 });
    expect(() => checkMetadata({ ['k'.repeat(41)]: 1 }, 'comment.metadata')).toThrow("'comment.metadata.kkk");
    expect(() => checkMetadata({ '': 1 })).toThrow('1 to 40 characters');
    expect(() => checkMetadata({ a: '\0' })).toThrow("'metadata.a' may not hold U+0000");
    expect(() => metadataAfter({}, { a: 'x'.repeat(4_001) }, '')).toThrow("'a' must have at most");
    expect(checkMetadata(undefined)).toEqual({});
  });
});

describe('times', () => {
  test('[CM4] of back ends are ISO date-times of four-digit years, and now when none is given (row 103)', () => {
    expect(checkTime(undefined, 'createdAt', 7)).toBe(7);
    expect(checkTime('2026-01-02T03:04:05.678Z', 'createdAt', 0)).toBe(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
    expect(checkTime('2026-01-02T03:04:05+02:00', 'createdAt', 0)).toBe(Date.UTC(2026, 0, 2, 1, 4, 5));
    for (const bad of [
      '',
      'now',
      '2026-01-02',
      '2026-13-02T03:04:05Z',
      '2026-01-02 03:04:05Z',
      '2026-01-02T03:04:05',
      '1767323045',
      '9999-12-31T23:59:59Z',
      '1969-12-31T23:59:59Z',
    ])
      expect(() => checkTime(bad, 'editedAt', 0), bad).toThrow("Value at key 'editedAt' must be a date-time");
  });
});

describe('bodies', () => {
  test('[CM5] a body of the longest length is taken, a longer one refused, and so is text that cannot be stored, wherever it is', () => {
    const frame = JSON.stringify(says({ text: '' })).length;
    const longest = says({ text: 'x'.repeat(BODY_LIMITS.lengthMax - frame) });
    expect(checkBody(longest, 'body')).toBe(longest);
    expect(() => checkBody(says({ text: 'x'.repeat(BODY_LIMITS.lengthMax - frame + 1) }), 'body')).toThrow(
      "'body' may have at most 65536",
    );
    for (const bad of [
      says({ text: 'a\0' }),
      says({ type: 'link', url: '\ud800' }),
      says({ type: 'mention', id: 'tom', more: { '\0': 1 } } as never),
    ])
      expect(() => checkBody(bad, 'comment.body')).toThrow("'comment.body' may not hold U+0000");
  });

  test('[CM6] who is mentioned has an id that a user, or a group, can have', () => {
    for (const id of ['', 'x'.repeat(129)]) {
      expect(() => checkBody(says({ type: 'mention', id }), 'body')).toThrow("'body' must have 1 to 128 characters");
      expect(() => checkBody(says({ type: 'mention', kind: 'group', id: 'g', userIds: [id] }), 'body')).toThrow('1 to 128');
    }
    expect(() => checkBody(says({ type: 'mention', kind: 'group', id: 'g'.repeat(256) }), 'body')).not.toThrow();
    expect(() => checkBody(says({ type: 'mention', kind: 'group', id: 'g'.repeat(257) }), 'body')).toThrow('1 to 256');
  });

  test('[CM7] what a body says is found as text: paragraphs as lines, mentions and links by what they show', () => {
    const body = {
      version: 1 as const,
      content: [
        ...says({ text: 'Hi ', bold: true }, { type: 'mention', id: 'tom' }, { text: '!' }).content,
        ...says({ type: 'link', url: 'https://a.b' }, { text: ' ' }, { type: 'link', url: 'https://c.d', text: 'there' }).content,
      ],
    };
    expect(textIn(body)).toBe('Hi @tom!\nhttps://a.b there');
    expect(textIn({ version: 1, content: [] })).toBe('');
  });

  test('[CM8] a thread takes so many comments and bytes, and no more', () => {
    const { commentsMax, contentBytesMax } = THREAD_LIMITS;
    const takes = (commentCount: number, contentBytes: number, more: { comments?: number; bytes: number }) => () =>
      checkRoomInThread({ commentCount, contentBytes }, more);
    expect(takes(commentsMax - 1, contentBytesMax - 9, { comments: 1, bytes: 9 })).not.toThrow();
    expect(takes(commentsMax, 0, { comments: 1, bytes: 1 })).toThrow('has its 10000 comments already');
    expect(takes(1, contentBytesMax - 9, { bytes: 10 })).toThrow('at most 16777216 bytes');
    expect(takes(commentsMax, contentBytesMax + 9, { bytes: -1 })).not.toThrow();
    expect(bytesOf({ body: says({ text: 'äö' }), metadata: {} })).toBe(bytesOf({ body: says({ text: 'abcd' }), metadata: {} }));
  });

  test('[CM9] an emoji is any text of 1 to 64 characters', () => {
    for (const good of ['👍🏽', ':shipit:', 'e'.repeat(64)]) expect(checkEmoji(good)).toBe(good);
    for (const bad of ['', 'e'.repeat(65), '\ud83d']) expect(() => checkEmoji(bad)).toThrow("Value at key 'emoji'");
  });

  test('[CM10] a comment to be made is checked whole, and names the place of what is wrong', () => {
    const wanted = { id: 'cm_x', userId: 'mia', body: says({ text: 'x' }) };
    expect(newCommentOf(wanted, { nowMs: 5 })).toEqual({ ...wanted, metadata: {}, attachmentIds: [], atMs: 5 });
    const within = 'comment.';
    expect(() => newCommentOf({ ...wanted, userId: '' }, { nowMs: 5, within })).toThrow("'comment.userId'");
    expect(() => newCommentOf({ ...wanted, metadata: { a: '\0' } }, { nowMs: 5, within })).toThrow("'comment.metadata.a'");
    expect(() => newCommentOf({ ...wanted, createdAt: 'x' }, { nowMs: 5, within })).toThrow("'comment.createdAt'");
  });

  test('[CM11] clients read reactions gathered by emoji, in the order of first use', () => {
    const reaction = (emoji: string, userId: string) => ({ emoji, userId, createdAt: `${emoji}-${userId}` });
    const comment = { type: 'comment', reactions: [reaction('b', 'mia'), reaction('a', 'tom'), reaction('b', 'eve')] } as never;
    expect(commentForClients(comment).reactions).toEqual([
      { emoji: 'b', createdAt: 'b-mia', users: [{ id: 'mia' }, { id: 'eve' }] },
      { emoji: 'a', createdAt: 'a-tom', users: [{ id: 'tom' }] },
    ]);
  });
});

describe('filters', () => {
  test('[CM12] of threads take metadata, resolved and visibility with their operators (row 110)', () => {
    expect(
      filterOf(
        `metadata['p']:3 resolved:false AND visibility:"private" metadata["s"]^"it's" metadata["n"]>=2 metadata["c"]:null`,
        'back end',
      ),
    ).toEqual([
      { field: 'metadata', key: 'p', operator: ':', value: 3 },
      { field: 'resolved', key: null, operator: ':', value: false },
      { field: 'visibility', key: null, operator: ':', value: 'private' },
      { field: 'metadata', key: 's', operator: '^', value: "it's" },
      { field: 'metadata', key: 'n', operator: '>=', value: 2 },
      { field: 'metadata', key: 'c', operator: ':', value: null },
    ]);
    expect(filterOf(undefined, 'back end')).toEqual([]);
    expect(filterOf('', 'client')).toEqual([]);
  });

  test.each([
    ['resolved:"true"', 10],
    ['metadata[t]:"x"', 10],
    ['visibility:secret', 12],
    ['visibility:"secret"', 1],
    ['visibility^"p"', 11],
    ['metadata["a"]^3', 15],
    ['metadata["a"]>"3"', 15],
    ['resolved:true OR resolved:false', 15],
    ['subscribed:true', 1],
    ['roomId:"x"', 1],
    ['metadata["a"', 13],
  ])('[CM13] and refuse the rest, naming the column: %s (row 110)', (query, column) => {
    expect(() => filterOf(query, 'back end')).toThrow(`Value at key 'query' fails at column ${column}: expected`);
  });

  test('[CM14] of clients also take subscribed; searches have fields of their own', () => {
    expect(filterOf('subscribed:true', 'client')).toEqual([{ field: 'subscribed', key: null, operator: ':', value: true }]);
    const query = "threadMetadata['k']:1 threadResolved:false hasAttachments:true hasMentions:false";
    expect(filterOf(query, 'search').map(({ field }) => field)).toEqual([
      'threadMetadata',
      'threadResolved',
      'hasAttachments',
      'hasMentions',
    ]);
    expect(() => filterOf('resolved:true', 'search')).toThrow('column 1');
    expect(() => filterOf('hasMentions:true', 'client')).toThrow('column 1');
  });
});

describe('searches', () => {
  test('[CM18] are for up to 16 words, each once', () => {
    expect(wordsOf('  hello \n world hello ')).toEqual(['hello', 'world']);
    expect(wordsOf(' ')).toEqual([]);
    const words = (count: number) => Array.from({ length: count }, (_, n) => `w${n}`).join(' ');
    expect(wordsOf(words(16))).toHaveLength(16);
    expect(() => wordsOf(words(17))).toThrow("'text' may have at most 16 words");
    expect(() => wordsOf('a\0')).toThrow("'text' may not hold U+0000");
  });
});

describe('answers', () => {
  const sized = (...sizes: number[]) => sizes.map((answerBytes) => ({ answerBytes }));

  test('[CM15] hold as many threads as were asked for and as bytes allow, and one at least', () => {
    const bytesMax = 16 * 1024 * 1024;
    expect(fitting(sized(1, 1, 1), 3)).toHaveLength(3);
    expect(fitting(sized(1, 1, 1), 2)).toHaveLength(2);
    expect(fitting(sized(bytesMax, 0, 1, 1), 9)).toHaveLength(2);
    expect(fitting(sized(bytesMax + 1, 1), 9)).toHaveLength(1);
    expect(fitting([], 9)).toEqual([]);
  });

  test('[CM16] changes that did not fit come with the next request', () => {
    expect(nextSinceMs(1_000_000, null)).toBe(1_000_000);
    expect(nextSinceMs(1_000_000, 500)).toBe(500 + OVERLAP_MS);
  });

  test('[CM17] name what may be done in each room, and are asked for where threads may be read', () => {
    const room = (pk: number, ...scopes: string[]) => ({ pk, id: `r${pk}` as never, permissions: permissionsOf(scopes) });
    const rooms = [room(1, '*:write'), room(2, '*:read', 'comments:private:none'), room(3, '*:write', 'comments:none')];
    expect(roomPksOf(rooms)).toEqual({ public: [1, 2], private: [1] });
    expect(hintsFor(rooms)).toEqual({
      r1: ['*:write'],
      r2: ['*:read', 'comments:private:none'],
      r3: ['*:write', 'comments:none'],
    });
  });
});
