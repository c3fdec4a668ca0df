/** The rows of webhooks (supplement 2.10), over HTTP. What they are told is in `webhooks.test.ts`. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { WEBHOOKS } from '../support/e2e/receiver.ts';
import { type Ask, ask } from '../support/e2e/rest.ts';
import { aServer } from '../support/e2e/server.ts';

const server = await aServer();
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const URL_ = 'https://hooks.example.com/take';

const all = (rest = '', request: Ask = {}) => ask(server, `${WEBHOOKS}${rest}`, request);
const create = (body: object) => all('', { json: body });
async function aWebhook(more: object = {}) {
  const { status, text, json } = await create({ url: URL_, subscribedEvents: ['roomCreated'], ...more });
  if (status !== 200) throw new Error(text);
  onTestFinished(async () => void (await all(`/${json.id}`, { method: 'DELETE' })));
  return json;
}
const NONE = '404 WEBHOOK_NOT_FOUND The webhook "wh_none" does not exist.';
const shape = {
  id: expect.stringMatching(/^wh_[\w-]{21}$/),
  createdAt: ISO,
  updatedAt: ISO,
  url: URL_,
  disabled: false,
  subscribedEvents: ['roomCreated'],
  secret: { value: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/) },
  storageUpdatedThrottleSeconds: 60,
  yDocUpdatedThrottleSeconds: 60,
};

describe('all', () => {
  test('[contract: POST /management/projects/{projectId}/webhooks] 200 with the exact keys of a webhook', async () => {
    expect(await aWebhook()).toEqual(shape);
    const full = {
      rateLimit: 65_534,
      additionalHeaders: { 'X-Token': 'a b' },
      storageUpdatedThrottleSeconds: 1,
      yDocUpdatedThrottleSeconds: 3_600,
    };
    expect(await aWebhook(full)).toEqual({ ...shape, ...full });
  });

  test.each([
    ['no url', { url: undefined }, "Missing key 'url'"],
    ['no events', { subscribedEvents: undefined }, "'subscribedEvents'"],
    ['an empty list of events', { subscribedEvents: [] }, "'subscribedEvents'"],
    ['an unknown event', { subscribedEvents: ['roomPainted'] }, "'subscribedEvents.0'"],
    ['an event twice', { subscribedEvents: ['roomCreated', 'roomCreated'] }, "'subscribedEvents'"],
    ['a rate of 0', { rateLimit: 0 }, "'rateLimit'"],
    ['a rate of 65,535', { rateLimit: 65_535 }, "'rateLimit'"],
    ['a window of 0', { storageUpdatedThrottleSeconds: 0 }, "'storageUpdatedThrottleSeconds'"],
    ['a window of 3,601', { yDocUpdatedThrottleSeconds: 3_601 }, "'yDocUpdatedThrottleSeconds'"],
    ['a key too many', { disabled: true }, "'disabled'"],
    ['no URL', { url: 'hooks' }, "'url' must be an absolute URL"],
    ['http', { url: 'http://hooks.example.com/' }, "'url' must begin with https://"],
    ['another scheme', { url: 'ftp://hooks.example.com/' }, "'url' must begin with https://"],
    ['credentials', { url: 'https://a:b@hooks.example.com/' }, "'url' may not hold credentials"],
    ['loopback', { url: 'https://127.0.0.1/' }, "'url' is a private or special address"],
    ['loopback in disguise', { url: 'https://0x7f000001/' }, "'url' is a private or special address"],
    ['loopback of IPv6', { url: 'https://[::1]/' }, "'url' is a private or special address"],
    ['IPv4 in IPv6', { url: 'https://[::ffff:169.254.169.254]/' }, "'url' is a private or special address"],
    [
      'a header of ours',
      { additionalHeaders: { 'Webhook-Id': 'x' } },
      "'additionalHeaders.Webhook-Id' is a header that the server sets",
    ],
    ['a header of HTTP', { additionalHeaders: { Host: 'x' } }, "'additionalHeaders.Host' is a header that the server sets"],
    ['no header', { additionalHeaders: { 'a b': 'x' } }, "'additionalHeaders.a b' is not the name of a header"],
    ['a header with a line feed', { additionalHeaders: { a: 'x\r\nb: c' } }, "'additionalHeaders.a' must be"],
  ])('[contract: POST /management/projects/{projectId}/webhooks] 422 for %s', async (_, wrong, message) => {
    expectMalformed(await create({ url: URL_, subscribedEvents: ['roomCreated'], ...wrong }), message);
  });

  test('[contract: POST /management/projects/{projectId}/webhooks] 422 for the 51st', async () => {
    const { data: there } = (await all('?limit=100')).json;
    const wanted = { url: URL_, subscribedEvents: ['roomCreated'] };
    const made = await Promise.all(Array.from({ length: 50 - there.length }, () => create(wanted)));
    onTestFinished(async () => void (await Promise.all(made.map(({ json }) => all(`/${json.id}`, { method: 'DELETE' })))));
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 200));
    expectMalformed(await create(wanted), 'There may be 50 webhooks at most');
  });

  test('[contract: GET /management/projects/{projectId}/webhooks] 200 newest first, in pages, to a last one; 422', async () => {
    const made = [await aWebhook(), await aWebhook(), await aWebhook()];
    const listed = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { json }: { json: { data: { id: string }[]; nextCursor: string | null } } = await all(
        `?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      listed.push(...json.data);
      cursor = json.nextCursor;
    }
    expect(listed.slice(0, 3)).toEqual(made.reverse());
    expectMalformed(await all('?limit=0'), "'limit'");
    expectMalformed(await all('?limit=101'), "'limit'");
    expectMalformed(await all('?cursor=x'), "'cursor' is not a cursor of this list");
  });
});

describe('one', () => {
  const one = (id: string, rest = '', request: Ask = {}) => all(`/${id}${rest}`, request);

  test('[contract: GET /management/projects/{projectId}/webhooks/{webhookId}] 200; 404, whatever the project', async () => {
    const webhook = await aWebhook();
    expect((await one(webhook.id)).json).toEqual(webhook);
    expect((await ask(server, `/v2/management/projects/other/webhooks/${webhook.id}`)).json).toEqual(webhook);
    expect(refusal(await one('wh_none'))).toBe(NONE);
  });

  test('[contract: POST /management/projects/{projectId}/webhooks/{webhookId}] 200 with what was changed; 404, 422', async () => {
    const webhook = await aWebhook({ rateLimit: 5, additionalHeaders: { a: 'b' } });
    const changes = {
      url: 'https://other.example.com/',
      subscribedEvents: ['notification', 'userLeft'],
      rateLimit: 7,
      storageUpdatedThrottleSeconds: 30,
      yDocUpdatedThrottleSeconds: 31,
      disabled: true,
    };
    expect((await one(webhook.id, '', { json: changes })).json).toEqual({ ...webhook, ...changes, updatedAt: ISO });
    expect((await one(webhook.id, '', { json: {} })).json).toEqual({ ...webhook, ...changes, updatedAt: ISO });
    expectMalformed(await one(webhook.id, '', { json: { additionalHeaders: {} } }), "'additionalHeaders'");
    expectMalformed(await one(webhook.id, '', { json: { url: 'https://10.0.0.1/' } }), "'url'");
    expect(refusal(await one('wh_none', '', { json: {} }))).toBe(NONE);
  });

  test('[contract: DELETE /management/projects/{projectId}/webhooks/{webhookId}] 200 without a body; 404', async () => {
    const { id } = await aWebhook();
    expect(await one(id, '', { method: 'DELETE' })).toEqual(nothing(200));
    expect((await one(id)).status).toBe(404);
    expect(refusal(await one('wh_none', '', { method: 'DELETE' }))).toBe(NONE);
  });

  test('[contract: POST /management/projects/{projectId}/webhooks/{webhookId}/secret/roll] 200 with another secret; 404', async () => {
    const webhook = await aWebhook();
    const { json } = await one(webhook.id, '/secret/roll', { method: 'POST' });
    expect(json).toEqual({ secret: shape.secret, message: expect.stringContaining('24 hours') });
    expect(json.secret).not.toEqual(webhook.secret);
    expect((await one(webhook.id)).json.secret).toEqual(json.secret);
    expect(refusal(await one('wh_none', '/secret/roll', { method: 'POST' }))).toBe(NONE);
  });

  test('[contract: POST /management/projects/{projectId}/webhooks/{webhookId}/additional-headers] 200 with all, those of the same name replaced; 404, 422', async () => {
    const { id } = await aWebhook({ additionalHeaders: { A: '1', B: '2' } });
    const add = (headers: object, of = id) => one(of, '/additional-headers', { json: { headers } });
    expect((await add({ b: '3', C: '4' })).json).toEqual({ headers: { A: '1', b: '3', C: '4' } });
    expectMalformed(await add({ host: 'x' }), "'headers.host'");
    const many = Object.fromEntries(Array.from({ length: 48 }, (_, n) => [`x-${n}`, 'y']));
    expectMalformed(await add(many), "'headers' may not make more than 50 headers");
    expect(refusal(await add({}, 'wh_none'))).toBe(NONE);
  });

  test('[contract: GET /management/projects/{projectId}/webhooks/{webhookId}/additional-headers] 200; 404', async () => {
    const { id } = await aWebhook({ additionalHeaders: { A: '1' } });
    expect((await one(id, '/additional-headers')).json).toEqual({ headers: { A: '1' } });
    expect(refusal(await one('wh_none', '/additional-headers'))).toBe(NONE);
  });

  test('[contract: POST /management/projects/{projectId}/webhooks/{webhookId}/delete-additional-headers] 200 with those that are left; 404, 422', async () => {
    const { id } = await aWebhook({ additionalHeaders: { A: '1', B: '2' } });
    const remove = (headers: unknown, of = id) => one(of, '/delete-additional-headers', { json: { headers } });
    expect((await remove(['a', 'x'])).json).toEqual({ headers: { B: '2' } });
    expectMalformed(await remove([]), "'headers'");
    expect(refusal(await remove(['a'], 'wh_none'))).toBe(NONE);
  });

  test('[contract: POST /management/projects/{projectId}/webhooks/{webhookId}/recover-failed-messages] 200 without a body; 404, 422', async () => {
    const { id } = await aWebhook();
    const recover = (since: unknown, of = id) => one(of, '/recover-failed-messages', { json: { since } });
    expect(await recover('2026-01-01T00:00:00Z')).toEqual(nothing(200));
    expectMalformed(await recover('yesterday'), "'since' must be a time");
    expectMalformed(await recover(7), "'since'");
    expect(refusal(await recover('2026-01-01T00:00:00Z', 'wh_none'))).toBe(NONE);
  });

  test('[contract: POST /management/projects/{projectId}/webhooks/{webhookId}/test] 200 with the id; 404, 422 for an event it is not subscribed to, or when it is disabled', async () => {
    const { id } = await aWebhook({ url: 'https://webhooks.invalid/' });
    const test_ = (subscribedEvent: unknown, of = id) => one(of, '/test', { json: { subscribedEvent } });
    expect((await test_('roomCreated')).json).toEqual({ message: { id: expect.stringMatching(/^msg_/), deliveredAt: null } });
    expectMalformed(await test_('roomDeleted'), "'subscribedEvent' is an event that the webhook is not subscribed to");
    expectMalformed(await test_('roomPainted'), "'subscribedEvent'");
    expect(refusal(await test_('roomCreated', 'wh_none'))).toBe(NONE);
    await one(id, '', { json: { disabled: true } });
    expectMalformed(await test_('roomCreated'), 'The webhook is disabled');
  });
});
