/** Examples of webhooks. Their address is nobody's, without DNS: no message of theirs arrives. */
import type { Example, Examples, OperationExample } from './example.ts';

const WEBHOOKS = '/v2/management/projects/{projectId}/webhooks';
const ONE = `${WEBHOOKS}/{webhookId}`;
const NOBODY = 'https://webhooks.localhost/take';
const projectId = 'any';

const new1 = {
  url: NOBODY,
  subscribedEvents: ['threadCreated'],
  rateLimit: 10,
  additionalHeaders: { 'x-a': 'b' },
  storageUpdatedThrottleSeconds: 60,
  yDocUpdatedThrottleSeconds: 60,
};

/** There may be few of them at once: the one of the call before is deleted. */
let before: string | null = null;
const withOne = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  async make({ call }) {
    if (before !== null) await call(`DELETE /management/projects/any/webhooks/${before}`);
    const { id } = (await call('POST /management/projects/any/webhooks', { json: new1 })).json;
    before = id;
    return { params: { projectId, webhookId: id }, ...rest };
  },
});
const ofAll = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  make: () => Promise.resolve({ params: { projectId }, ...rest }),
});

export const WEBHOOK_EXAMPLES: Examples = {
  [`GET ${WEBHOOKS}`]: { ...ofAll({ query: { limit: '5' } }), leavesOut: ['cursor'] },
  [`POST ${WEBHOOKS}`]: { ...ofAll({ json: new1 }), refersTo: ['url', 'additionalHeaders.x-a'] },
  [`GET ${ONE}`]: withOne(),
  [`POST ${ONE}`]: {
    ...withOne({
      json: {
        url: NOBODY,
        subscribedEvents: ['threadCreated'],
        rateLimit: 10,
        storageUpdatedThrottleSeconds: 60,
        yDocUpdatedThrottleSeconds: 60,
        disabled: false,
      },
    }),
    refersTo: ['url'],
  },
  [`DELETE ${ONE}`]: withOne(),
  [`POST ${ONE}/secret/roll`]: withOne(),
  [`GET ${ONE}/additional-headers`]: withOne(),
  [`POST ${ONE}/additional-headers`]: { ...withOne({ json: { headers: { 'x-b': 'c' } } }), refersTo: ['headers.x-b'] },
  [`POST ${ONE}/delete-additional-headers`]: withOne({ json: { headers: ['x-a'] } }),
  [`POST ${ONE}/recover-failed-messages`]: { ...withOne({ json: { since: '2026-01-02T03:04:05.678Z' } }), refersTo: ['since'] },
  [`POST ${ONE}/test`]: { ...withOne({ json: { subscribedEvent: 'threadCreated' } }), refersTo: ['subscribedEvent'] },
};
