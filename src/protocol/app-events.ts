/**
 * What happened that others want to hear of, as it stands in the outbox: written in the transaction of the change, a row for each consumer.
 *
 * An event names what it is about and says no more than must not be read later: by the time somebody hears of it, the thing may have changed or
 * be gone. Times are ISO strings.
 */
import type { JsonObject } from '../base/json.ts';
import type { Visibility } from './comments.ts';

interface InRoom {
  readonly roomId: string;
  /** The room's number, which outlives renames. */
  readonly roomPk: number;
  readonly at: string;
}
interface InThread extends InRoom {
  readonly threadId: string;
  readonly visibility: Visibility;
}
interface OfComment extends InThread {
  readonly commentId: string;
}

export type AppEvent =
  /** Written only if some webhook wants to hear of it. */
  | ({ readonly type: 'room.created' } & InRoom)
  | ({ readonly type: 'room.deleted' } & InRoom)
  | ({ readonly type: 'thread.created'; readonly by: string } & InThread)
  | ({ readonly type: 'thread.deleted' } & InThread)
  | ({ readonly type: 'thread.metadata-updated'; readonly by: string } & InThread)
  | ({ readonly type: 'thread.resolved'; readonly by: string } & InThread)
  | ({ readonly type: 'thread.unresolved'; readonly by: string } & InThread)
  | ({ readonly type: 'comment.created'; readonly by: string } & OfComment)
  /** Which users and groups were mentioned already, and need not hear of it again. */
  | ({
      readonly type: 'comment.edited';
      readonly mentionedBefore: readonly string[];
      readonly groupsMentionedBefore?: readonly string[];
    } & OfComment)
  | ({ readonly type: 'comment.deleted' } & OfComment)
  | ({ readonly type: 'comment.metadata-updated'; readonly by: string } & OfComment)
  | ({ readonly type: 'comment.reaction-added'; readonly by: string; readonly emoji: string } & OfComment)
  | ({ readonly type: 'comment.reaction-removed'; readonly by: string; readonly emoji: string } & OfComment)
  /** Somebody has something new in the inbox; written by the inbox itself, for channels beyond it. */
  | {
      readonly type: 'inbox.notified';
      readonly notificationId: string;
      readonly userId: string;
      readonly kind: string;
      readonly roomId: string | null;
      readonly at: string;
      /** threadId, mentionId or subjectId, by kind. */
      readonly about: JsonObject;
    };

/**
 * Who hears of events. `live`: those who are in the room; may miss it. `inbox`: turns comments into notifications. `webhooks`: tells the
 * outside. What the last two write commits with the removal of the event, so it happens once.
 */
export type AppEventConsumer = 'live' | 'inbox' | 'webhooks';

/** Consumers of an event, which is also the type of its rows in the outbox. */
export function consumersOf({ type }: AppEvent): readonly AppEventConsumer[] {
  if (type === 'room.created' || type === 'room.deleted' || type === 'inbox.notified') return ['webhooks'];
  if (type === 'comment.created' || type === 'comment.edited') return ['inbox', 'live', 'webhooks']; // in this order: whoever hears of it live asks for the notification, too
  return ['live', 'webhooks'];
}

/** An event as rows for the outbox. */
export function outboxRowsOf(event: AppEvent): { readonly type: AppEventConsumer; readonly payload: JsonObject }[] {
  return consumersOf(event).map((type) => ({ type, payload: event as unknown as JsonObject }));
}

/** The event of such a row. */
export function appEventOf({ payload }: { readonly payload: JsonObject }): AppEvent {
  return payload as unknown as AppEvent;
}
