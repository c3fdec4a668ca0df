/** Examples of feeds and their messages. */
import { randomUUID } from 'node:crypto';
import { at } from '../e2e/contract.ts';
import type { Example, Examples, OperationExample, World } from './example.ts';
import { inARoom } from './example.ts';

const TIME = Date.UTC(2026, 0, 2);
const METADATA = { name: 'chat', tags: ['a', 'b'] };
const CHANGES = { name: 'talk', tags: null };
const DATA = { role: 'user', text: 'hello', parts: [{ n: 1 }] };
const newId = (prefix: string): string => `${prefix}-${randomUUID()}`;

async function aFeed({ call, aRoom }: World): Promise<{ roomId: string; feedId: string }> {
  const roomId = await aRoom();
  const feedId = newId('feed');
  await call(`POST ${at(roomId)}/feeds`, { json: { feedId } });
  return { roomId, feedId };
}

const ofAFeed = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  make: async (world) => ({ params: await aFeed(world), ...rest }),
});

const ofAMessage = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  async make(world) {
    const { roomId, feedId } = await aFeed(world);
    const { json } = await world.call(`POST ${at(roomId)}/feeds/${feedId}/messages`, { json: { data: DATA } });
    return { params: { roomId, feedId, messageId: json.id }, ...rest };
  },
});

/** A page of a list of two. */
const PAGE = { limit: '1', since: '0' };

export const FEED_EXAMPLES: Examples = {
  'GET /v2/rooms/{roomId}/feeds': {
    async make(world) {
      const { roomId } = await aFeed(world);
      await world.call(`POST ${at(roomId)}/feeds`, { json: { feedId: newId('feed') } });
      const { json } = await world.call(`GET ${at(roomId)}/feeds?${new URLSearchParams(PAGE)}`);
      return { params: { roomId }, query: { ...PAGE, cursor: json.nextCursor } };
    },
  },
  'POST /v2/rooms/{roomId}/feeds': inARoom({ json: { feedId: newId('made'), metadata: METADATA, timestamp: TIME } }),
  'GET /v2/rooms/{roomId}/feeds/{feedId}': ofAFeed(),
  'PATCH /v2/rooms/{roomId}/feeds/{feedId}': ofAFeed({ json: { metadata: CHANGES } }),
  'DELETE /v2/rooms/{roomId}/feeds/{feedId}': ofAFeed(),
  'GET /v2/rooms/{roomId}/feeds/{feedId}/messages': {
    async make(world) {
      const params = await aFeed(world);
      const path = `${at(params.roomId)}/feeds/${params.feedId}/messages`;
      for (const text of ['one', 'two']) await world.call(`POST ${path}`, { json: { data: { text } } });
      const { json } = await world.call(`GET ${path}?${new URLSearchParams(PAGE)}`);
      return { params, query: { ...PAGE, cursor: json.nextCursor } };
    },
  },
  'POST /v2/rooms/{roomId}/feeds/{feedId}/messages': ofAFeed({ json: { data: DATA, id: newId('message'), timestamp: TIME } }),
  'PATCH /v2/rooms/{roomId}/feeds/{feedId}/messages/{messageId}': ofAMessage({
    json: { data: { text: 'new' }, timestamp: TIME },
  }),
  'DELETE /v2/rooms/{roomId}/feeds/{feedId}/messages/{messageId}': ofAMessage(),
};
