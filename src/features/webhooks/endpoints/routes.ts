/** The endpoints by which back ends manage webhooks (supplement 2.10), with the secret key in place of a management token. */
import { isoFromMs, type Random } from '../../../base/clock.ts';
import { AppError, valueAtKey } from '../../../base/errors.ts';
import { newId } from '../../../base/ids.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Outgoing } from '../../../kernel/transport/outgoing.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { cursorAfter, positionAt, timeIn } from '../../../protocol/paging.ts';
import { bodyOf, sampleOf } from '../delivery/rules.ts';
import {
  changeHeaders,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  recoverFailed,
  rollSecret,
  updateWebhook,
  type WebhookRow,
  webhookOf,
} from './queries.ts';
import { checkHeaders, checkUrl, mergedHeaders, newSecret, noSuchWebhook, withoutHeaders } from './rules.ts';
import {
  CreateBody,
  DeleteHeadersBody,
  HeadersBody,
  HeadersReply,
  ListQuery,
  ProjectParams,
  RecoverBody,
  RolledReply,
  TestBody,
  TestReply,
  THROTTLE_DEFAULT_SECONDS,
  UpdateBody,
  WebhookPage,
  WebhookParams,
  WebhookReply,
} from './shapes.ts';

export interface WebhooksDeps {
  readonly db: Sql;
  readonly random: Random;
  readonly outgoing: Pick<Outgoing, 'objectionTo'>;
  /** What messages name as their project. */
  readonly projectId: string;
  nowMs(): number;
  /** Resolves when every worker knows what webhooks there are. */
  webhooksChanged(): Promise<void>;
  /** Something may be due. */
  nudge(): void;
  /** One attempt, now. */
  sendOnce(webhookPk: number, body: string): Promise<{ readonly id: string; readonly isDelivered: boolean }>;
}

const route = routeFor<WebhooksDeps>();
const all = {
  path: '/v2/management/projects/:projectId/webhooks',
  needs: 'secret',
  tag: 'Webhooks',
  params: ProjectParams,
} as const;
const NO_WEBHOOK = ['WEBHOOK_NOT_FOUND'] as const;
const LIST = 'webhooks';

/** Something of one webhook. */
const one = <Rest extends string>(rest: Rest) =>
  ({ ...all, path: `${all.path}/:webhookId${rest}`, params: WebhookParams, refuses: NO_WEBHOOK }) as const;

const listRoute = route({
  ...all,
  method: 'GET',
  summary: 'List webhooks, newest first',
  query: ListQuery,
  reply: WebhookPage,
  async handle({ query: { cursor, limit } }, { db }) {
    const after = cursor === undefined ? null : positionAt(cursor, { list: LIST, key: 'cursor' });
    const found = await listWebhooks(db, { after, limit: limit + 1 }); // one more tells whether another page follows
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const nextCursor = last === undefined ? null : cursorAfter({ atMs: Date.parse(last.createdAt), pk: last.pk }, LIST);
    return { nextCursor, data: page.map(webhookOf) };
  },
});

const createRoute = route({
  ...all,
  method: 'POST',
  summary: 'Create a webhook',
  once: 'transaction',
  body: CreateBody,
  reply: WebhookReply,
  async handle({ body, afterCommit }, { db, random, outgoing, webhooksChanged }) {
    const row = await insertWebhook(db, {
      id: newId(random, 'wh_'),
      url: checkUrl(body.url, outgoing),
      subscribedEvents: body.subscribedEvents,
      rateLimit: body.rateLimit ?? null,
      additionalHeaders: { ...checkHeaders(body.additionalHeaders ?? {}, 'additionalHeaders') },
      storageThrottleS: body.storageUpdatedThrottleSeconds ?? THROTTLE_DEFAULT_SECONDS,
      ydocThrottleS: body.yDocUpdatedThrottleSeconds ?? THROTTLE_DEFAULT_SECONDS,
      secret: newSecret(random),
    });
    afterCommit(webhooksChanged);
    return webhookOf(row);
  },
});

const getRoute = route({
  ...one(''),
  method: 'GET',
  summary: 'Get a webhook',
  reply: WebhookReply,
  async handle({ params }, { db }) {
    return webhookOf(await webhookAt(db, params.webhookId));
  },
});

const updateRoute = route({
  ...one(''),
  method: 'POST',
  summary: 'Update a webhook',
  once: 'transaction',
  body: UpdateBody,
  reply: WebhookReply,
  async handle({ params: { webhookId }, body, afterCommit }, { db, outgoing, webhooksChanged }) {
    const { url, storageUpdatedThrottleSeconds, yDocUpdatedThrottleSeconds, ...rest } = body;
    const row = await updateWebhook(db, webhookId, {
      ...rest,
      ...(url !== undefined && { url: checkUrl(url, outgoing) }),
      ...(storageUpdatedThrottleSeconds !== undefined && { storageThrottleS: storageUpdatedThrottleSeconds }),
      ...(yDocUpdatedThrottleSeconds !== undefined && { ydocThrottleS: yDocUpdatedThrottleSeconds }),
    });
    if (row === null) throw noSuchWebhook(webhookId);
    afterCommit(webhooksChanged);
    return webhookOf(row);
  },
});

const deleteRoute = route({
  ...one(''),
  method: 'DELETE',
  summary: 'Delete a webhook; what waits for it is not sent',
  once: 'transaction',
  reply: empty(200),
  async handle({ params: { webhookId }, afterCommit }, { db, webhooksChanged }) {
    if (!(await deleteWebhook(db, webhookId))) throw noSuchWebhook(webhookId);
    afterCommit(webhooksChanged);
  },
});

const rollRoute = route({
  ...one('/secret/roll'),
  method: 'POST',
  summary: 'Make a new secret; messages are signed with the old one, too, for a day',
  once: 'transaction',
  reply: RolledReply,
  async handle({ params: { webhookId } }, { db, random }) {
    const value = newSecret(random);
    if (!(await rollSecret(db, webhookId, value))) throw noSuchWebhook(webhookId);
    return { secret: { value }, message: 'The old secret remains valid for 24 hours.' };
  },
});

const getHeadersRoute = route({
  ...one('/additional-headers'),
  method: 'GET',
  summary: 'Get the headers that messages carry beside those of every message',
  reply: HeadersReply,
  async handle({ params }, { db }) {
    return { headers: (await webhookAt(db, params.webhookId)).additionalHeaders };
  },
});

const addHeadersRoute = route({
  ...one('/additional-headers'),
  method: 'POST',
  summary: 'Add headers; those of the same name are replaced',
  once: 'transaction',
  body: HeadersBody,
  reply: HeadersReply,
  async handle({ params: { webhookId }, body }, { db }) {
    const added = checkHeaders(body.headers, 'headers');
    return headersOf(webhookId, await changeHeaders(db, webhookId, (before) => mergedHeaders(before, added, 'headers')));
  },
});

const deleteHeadersRoute = route({
  ...one('/delete-additional-headers'),
  method: 'POST',
  summary: 'Remove headers, by name',
  once: 'transaction',
  body: DeleteHeadersBody,
  reply: HeadersReply,
  async handle({ params: { webhookId }, body }, { db }) {
    return headersOf(webhookId, await changeHeaders(db, webhookId, (before) => withoutHeaders(before, body.headers)));
  },
});

const recoverRoute = route({
  ...one('/recover-failed-messages'),
  method: 'POST',
  summary: 'Send again what was written since a time and failed',
  once: 'transaction',
  body: RecoverBody,
  reply: empty(200),
  async handle({ params, body, afterCommit }, { db, nudge }) {
    const since = isoFromMs(timeIn(body.since));
    await recoverFailed(db, mustBeEnabled(await webhookAt(db, params.webhookId)).pk, since);
    afterCommit(nudge);
  },
});

/** It asks the webhook, so a repetition may ask it twice. */
const testRoute = route({
  ...one('/test'),
  method: 'POST',
  summary: 'Send a sample message now, once',
  once: 'reservation',
  body: TestBody,
  reply: TestReply,
  async handle({ params, body: { subscribedEvent } }, { db, projectId, nowMs, sendOnce }) {
    const webhook = mustBeEnabled(await webhookAt(db, params.webhookId));
    if (!webhook.subscribedEvents.includes(subscribedEvent))
      throw valueAtKey('subscribedEvent', 'is an event that the webhook is not subscribed to');
    const { id, isDelivered } = await sendOnce(webhook.pk, bodyOf(sampleOf(subscribedEvent, isoFromMs(nowMs())), projectId));
    return { message: { id, deliveredAt: isDelivered ? isoFromMs(nowMs()) : null } };
  },
});

export function webhookRoutes(deps: WebhooksDeps): BoundRoute[] {
  return [
    bindRoute(listRoute, deps),
    bindRoute(createRoute, deps),
    bindRoute(getRoute, deps),
    bindRoute(updateRoute, deps),
    bindRoute(deleteRoute, deps),
    bindRoute(rollRoute, deps),
    bindRoute(getHeadersRoute, deps),
    bindRoute(addHeadersRoute, deps),
    bindRoute(deleteHeadersRoute, deps),
    bindRoute(recoverRoute, deps),
    bindRoute(testRoute, deps),
  ];
}

async function webhookAt(db: Sql, webhookId: string): Promise<WebhookRow> {
  const row = await findWebhook(db, webhookId);
  if (row === null) throw noSuchWebhook(webhookId);
  return row;
}

function mustBeEnabled(webhook: WebhookRow): WebhookRow {
  if (webhook.disabled) throw new AppError('UNPROCESSABLE_ENTITY', { reason: 'The webhook is disabled; enable it first' });
  return webhook;
}

function headersOf(webhookId: string, headers: Readonly<Record<string, string>> | null) {
  if (headers === null) throw noSuchWebhook(webhookId);
  return { headers: { ...headers } };
}
