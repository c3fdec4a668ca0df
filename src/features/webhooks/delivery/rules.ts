/** What webhooks are told, how it is signed, and when it is tried again (supplement 6; protocol 8.5). Pure. */
import { createHmac } from 'node:crypto';
import type { JsonObject } from '../../../base/json.ts';
import type { AppEvent } from '../../../protocol/app-events.ts';
import type { WebhookEvent } from '../endpoints/shapes.ts';

/** `data` without the project, which all messages name. */
export interface Message {
  readonly type: WebhookEvent;
  readonly data: JsonObject & { readonly roomId: string | null };
}

/** The message of an event; null for `inbox.notified`, of which webhooks may hear later. */
export function messageOf(event: AppEvent): Message | null {
  if (event.type === 'inbox.notified') return null;
  const { roomId, at } = event;
  const inThread = 'threadId' in event ? { roomId, threadId: event.threadId } : { roomId, threadId: '' };
  switch (event.type) {
    case 'room.created':
      return { type: 'roomCreated', data: { roomId, createdAt: at } };
    case 'room.deleted':
      return { type: 'roomDeleted', data: { roomId, deletedAt: at } };
    case 'thread.created':
      return { type: 'threadCreated', data: { ...inThread, createdAt: at, createdBy: event.by } };
    case 'thread.deleted':
      return { type: 'threadDeleted', data: { ...inThread, deletedAt: at } };
    case 'thread.metadata-updated':
      return { type: 'threadMetadataUpdated', data: { ...inThread, updatedAt: at, updatedBy: event.by } };
    case 'thread.resolved':
      return { type: 'threadMarkedAsResolved', data: { ...inThread, updatedAt: at, updatedBy: event.by } };
    case 'thread.unresolved':
      return { type: 'threadMarkedAsUnresolved', data: { ...inThread, updatedAt: at, updatedBy: event.by } };
    default:
      return commentMessage(event, inThread);
  }
}

type OfComment = Extract<AppEvent, { readonly commentId: string }>;

function commentMessage(event: OfComment, inThread: { readonly roomId: string; readonly threadId: string }): Message {
  const { at, commentId } = event;
  const data = { ...inThread, commentId };
  switch (event.type) {
    case 'comment.created':
      return { type: 'commentCreated', data: { ...data, createdAt: at, createdBy: event.by } };
    case 'comment.edited':
      return { type: 'commentEdited', data: { ...data, editedAt: at } };
    case 'comment.deleted':
      return { type: 'commentDeleted', data: { ...data, deletedAt: at } };
    case 'comment.metadata-updated':
      return { type: 'commentMetadataUpdated', data: { ...data, updatedAt: at, updatedBy: event.by } };
    case 'comment.reaction-added':
      return { type: 'commentReactionAdded', data: { ...data, emoji: event.emoji, addedAt: at, addedBy: event.by } };
    case 'comment.reaction-removed':
      return { type: 'commentReactionRemoved', data: { ...data, emoji: event.emoji, removedAt: at, removedBy: event.by } };
    default:
      return event satisfies never;
  }
}

/** A message of this type about nothing that is there, for who tries whether messages arrive. */
export function sampleOf(type: WebhookEvent, atIso: string): Message {
  const at = atIso;
  const room = { roomId: 'sample-room' };
  const thread = { ...room, threadId: 'th_sample' };
  const comment = { ...thread, commentId: 'cm_sample' };
  const visit = { ...room, connectionId: 1, userId: 'sample-user', userInfo: null, numActiveUsers: 1 };
  const by = 'sample-user';
  const samples: Readonly<Record<WebhookEvent, Message['data']>> = {
    storageUpdated: { ...room, updatedAt: at },
    ydocUpdated: { ...room, updatedAt: at },
    userEntered: { ...visit, enteredAt: at },
    userLeft: { ...visit, numActiveUsers: 0, leftAt: at },
    roomCreated: { ...room, createdAt: at },
    roomDeleted: { ...room, deletedAt: at },
    threadCreated: { ...thread, createdAt: at, createdBy: by },
    threadDeleted: { ...thread, deletedAt: at },
    threadMetadataUpdated: { ...thread, updatedAt: at, updatedBy: by },
    threadMarkedAsResolved: { ...thread, updatedAt: at, updatedBy: by },
    threadMarkedAsUnresolved: { ...thread, updatedAt: at, updatedBy: by },
    commentCreated: { ...comment, createdAt: at, createdBy: by },
    commentEdited: { ...comment, editedAt: at },
    commentDeleted: { ...comment, deletedAt: at },
    commentMetadataUpdated: { ...comment, updatedAt: at, updatedBy: by },
    commentReactionAdded: { ...comment, emoji: '👍', addedAt: at, addedBy: by },
    commentReactionRemoved: { ...comment, emoji: '👍', removedAt: at, removedBy: by },
    notification: {
      ...thread,
      channel: 'email',
      kind: 'thread',
      userId: by,
      inboxNotificationId: 'in_sample',
      createdAt: at,
      triggeredAt: at,
    },
  };
  return { type, data: samples[type] };
}

/** The text that is sent and signed. */
export function bodyOf({ type, data }: Message, projectId: string): string {
  return JSON.stringify({ type, data: { projectId, ...data } });
}

interface Signed {
  readonly id: string;
  /** Unix time of this attempt. */
  readonly seconds: number;
  readonly body: string;
}

const SECRET_PREFIX = 'whsec_';

/** The header of the signature: one for each secret, that of today first. */
export function signatureOf({ id, seconds, body }: Signed, secrets: readonly string[]): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
    })
    .join(' ');
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Each after the failure before (supplement 6.3). */
const RETRY_AFTER_MS = [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS];

/** How long to wait after so many attempts have failed; null when it is given up. */
export function retryAfterMs(failedAttempts: number): number | null {
  return RETRY_AFTER_MS[failedAttempts - 1] ?? null;
}
