/** Examples of threads, comments, reactions and subscriptions, of back ends and of clients. */
import { randomBytes } from 'node:crypto';
import { at } from '../e2e/contract.ts';
import { accessTokenFor } from '../e2e/tokens.ts';
import type { Example, Examples, OperationExample, World } from './example.ts';

const TIME = '2026-01-02T03:04:05.678Z';
const USER = 'mia';
/** Of ASCII, so that a body has as many characters as octets. */
const EMOJI = '+1';
const newId = (prefix: string): string => `${prefix}${randomBytes(16).toString('base64url').slice(0, 21)}`;
const flags = { bold: true, italic: true, strikethrough: false, code: false };
const BODY = {
  version: 1,
  content: [
    {
      type: 'paragraph',
      children: [
        { text: 'hello ', ...flags },
        { type: 'mention', kind: 'user', id: 'tom' },
        { type: 'mention', kind: 'group', id: 'crew', userIds: ['eve'] },
        { type: 'link', url: 'https://example.com', text: 'there' },
      ],
    },
  ],
};
const metadata = { tag: 'a', n: 1, flag: true };
const changes = { tag: 'b', n: null };

interface Place {
  readonly roomId: string;
  readonly threadId: string;
  readonly commentId: string;
}

/** A thread with one comment of the user, with a reaction of theirs. */
async function aThread({ call, aRoom }: World): Promise<Place> {
  const roomId = await aRoom();
  const json = { comment: { userId: USER, body: BODY } };
  const thread = (await call(`POST ${at(roomId)}/threads`, { json })).json;
  const place = { roomId, threadId: thread.id, commentId: thread.comments[0].id };
  await call(`POST ${at(roomId)}/threads/${place.threadId}/comments/${place.commentId}/add-reaction`, {
    json: { userId: USER, emoji: EMOJI },
  });
  return place;
}

/** As another server shows it. */
const BROUGHT = {
  createdAt: TIME,
  updatedAt: TIME,
  metadata,
  resolved: true,
  visibility: 'private',
  comments: [
    {
      id: `cm_${'a'.repeat(21)}`,
      userId: USER,
      createdAt: TIME,
      editedAt: TIME,
      body: BODY,
      metadata,
      reactions: [{ emoji: EMOJI, userId: USER, createdAt: TIME }],
    },
    { id: `cm_${'b'.repeat(21)}`, userId: USER, createdAt: TIME, deletedAt: TIME },
  ],
};
const OF_MOVERS: Examples = {
  'PUT /v2/rooms/{roomId}/threads/{threadId}': {
    make: async ({ aRoom }) => ({ params: { roomId: await aRoom(), threadId: newId('th_') }, json: BROUGHT }),
  },
};

const ofAThread = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  async make(world) {
    const { roomId, threadId } = await aThread(world);
    return { params: { roomId, threadId }, ...rest };
  },
});
const ofAComment = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  make: async (world) => ({ params: { ...(await aThread(world)) }, ...rest }),
});
/** Asked by the user, not by a back end. */
const byUser = (of: OperationExample): OperationExample => ({
  ...of,
  make: async (world) => ({ ...(await of.make(world)), bearer: await accessTokenFor(world.server, { userId: USER }) }),
});
const inARoomWith = (json: () => unknown): OperationExample => ({
  make: async ({ aRoom }) => ({ params: { roomId: await aRoom() }, json: json() }),
});

/** Attachments need files first; `contract-attachments` has them. */
const NO_FILES = { leavesOut: ['attachmentIds'] } as const;
const THREADS = '/v2/rooms/{roomId}/threads';
const THREAD = `${THREADS}/{threadId}`;
const COMMENT = `${THREAD}/comments/{commentId}`;
const comment = { userId: USER, body: BODY, metadata, createdAt: TIME };

const OF_BACK_ENDS: Examples = {
  [`GET ${THREADS}`]: ofAThread({ query: { query: 'resolved:false' } }),
  [`POST ${THREADS}`]: inARoomWith(() => ({ comment, metadata, visibility: 'private' })),
  [`GET ${THREAD}`]: ofAThread(),
  [`DELETE ${THREAD}`]: ofAThread(),
  [`GET ${THREAD}/participants`]: ofAThread(),
  [`POST ${THREAD}/metadata`]: {
    ...ofAThread({ json: { metadata: changes, userId: USER, updatedAt: TIME } }),
    leavesOut: ['createdAt'],
  },
  [`POST ${THREAD}/mark-as-resolved`]: ofAThread({ json: { userId: USER } }),
  [`POST ${THREAD}/mark-as-unresolved`]: ofAThread({ json: { userId: USER } }),
  [`POST ${THREAD}/subscribe`]: ofAThread({ json: { userId: USER } }),
  [`POST ${THREAD}/unsubscribe`]: ofAThread({ json: { userId: USER } }),
  [`GET ${THREAD}/subscriptions`]: ofAThread(),
  [`POST ${THREAD}/comments`]: { ...ofAThread({ json: comment }), ...NO_FILES },
  [`GET ${COMMENT}`]: ofAComment(),
  [`POST ${COMMENT}`]: { ...ofAComment({ json: { body: BODY, metadata: changes, editedAt: TIME } }), ...NO_FILES },
  [`DELETE ${COMMENT}`]: ofAComment(),
  [`POST ${COMMENT}/metadata`]: ofAComment({ json: { metadata: changes, userId: USER, updatedAt: TIME } }),
  [`POST ${COMMENT}/add-reaction`]: ofAComment({ json: { userId: 'tom', emoji: 'another', createdAt: TIME } }),
  [`POST ${COMMENT}/remove-reaction`]: {
    ...ofAComment({ json: { userId: USER, emoji: EMOJI, removedAt: TIME } }),
    refersTo: ['userId', 'emoji'],
  },
};

const C_THREADS = '/v2/c/rooms/{roomId}/threads';
const C_THREAD = `${C_THREADS}/{threadId}`;
const C_COMMENT = `${C_THREAD}/comments/{commentId}`;
const newComment = () => ({ id: newId('cm_'), body: BODY, metadata });
const page = { query: { query: 'resolved:false', limit: '5' } };

const OF_CLIENTS: Examples = {
  [`GET ${C_THREADS}`]: { ...ofAThread(page), leavesOut: ['cursor'] },
  [`GET ${C_THREADS}/delta`]: ofAThread({ query: { since: TIME } }),
  [`GET ${C_THREADS}/comments/search`]: ofAThread({ query: { text: 'hello', query: 'hasMentions:true' } }),
  'GET /v2/c/rooms/{roomId}/thread-with-notification/{threadId}': ofAThread(),
  'GET /v2/c/threads': byUser({ make: async () => page, leavesOut: ['cursor'] }),
  'GET /v2/c/threads/delta': byUser({ make: async () => ({ query: { since: TIME } }) }),
  [`POST ${C_THREADS}`]: byUser(inARoomWith(() => ({ id: newId('th_'), comment: newComment(), metadata, visibility: 'public' }))),
  [`DELETE ${C_THREAD}`]: byUser(ofAThread()),
  [`POST ${C_THREAD}/metadata`]: byUser(ofAThread({ json: changes })),
  [`POST ${C_THREAD}/mark-as-resolved`]: byUser(ofAThread()),
  [`POST ${C_THREAD}/mark-as-unresolved`]: byUser(ofAThread()),
  [`POST ${C_THREAD}/subscribe`]: byUser(ofAThread()),
  [`POST ${C_THREAD}/unsubscribe`]: byUser(ofAThread()),
  [`POST ${C_THREAD}/comments`]: {
    ...byUser({ make: async (world) => ({ ...(await ofAThread().make(world)), json: newComment() }) }),
    ...NO_FILES,
  },
  [`POST ${C_COMMENT}`]: { ...byUser(ofAComment({ json: { body: BODY, metadata: changes } })), ...NO_FILES },
  [`DELETE ${C_COMMENT}`]: byUser(ofAComment()),
  [`POST ${C_COMMENT}/metadata`]: byUser(ofAComment({ json: changes })),
  [`POST ${C_COMMENT}/reactions`]: byUser(ofAComment({ json: { emoji: 'another' } })),
  [`DELETE ${C_COMMENT}/reactions/{emoji}`]: byUser({
    make: async (world) => ({ params: { ...(await aThread(world)), emoji: EMOJI } }),
  }),
};

export const COMMENT_EXAMPLES: Examples = { ...OF_BACK_ENDS, ...OF_CLIENTS, ...OF_MOVERS };
