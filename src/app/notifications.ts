/** Notifications as this worker serves them: their routes, what those need of other features, and the consumer that turns comments into them. */
import { systemClock, systemRandom } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { newId, type RoomId } from '../base/ids.ts';
import type { Settings } from '../config.ts';
import { findThreadsByPk } from '../features/comments/documents/queries.ts';
import { listDeleted } from '../features/comments/reading/queries.ts';
import { findSubscriptions, findSubscriptionsSince } from '../features/comments/subscriptions/queries.ts';
import { groupRoutes } from '../features/notifications/groups/routes.ts';
import { inboxRoutes } from '../features/notifications/inbox/routes.ts';
import { myInboxRoutes } from '../features/notifications/my-inbox/routes.ts';
import { notifyOfComments } from '../features/notifications/of-comments/queries.ts';
import { settingsRoutes } from '../features/notifications/settings/routes.ts';
import { channelsByDefault } from '../features/notifications/settings/rules.ts';
import { textMentionRoutes } from '../features/notifications/text-mentions/routes.ts';
import { permissionsIn, personOf } from '../features/tokens/queries.ts';
import type { OutboxEvent } from '../kernel/persistence/outbox.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import type { SqlOutbox } from '../kernel/persistence/sql-outbox.ts';
import type { BoundRoute } from '../kernel/transport/route.ts';
import { threadForClients } from '../protocol/comments.ts';
import { NO_PERMISSIONS } from '../protocol/permissions.ts';

/** Comments that are told of in one transaction: five statements each, until whose end their threads, and what is in inboxes of them, wait. */
const NOTIFIED_TOGETHER_MAX = 8;

interface NotificationParts {
  readonly db: Sql;
  readonly outbox: SqlOutbox;
  readonly settings: Settings;
  roomExists(roomId: RoomId): Promise<boolean>;
}

export function notificationParts({ db, outbox, settings, roomExists }: NotificationParts): BoundRoute[] {
  const { THREAD_NOTIFICATIONS: threads, TEXT_MENTION_NOTIFICATIONS: textMentions } = settings;
  const newNotificationId = (): string => newId(systemRandom, 'in_');
  const nowMs = (): number => systemClock.nowMs();
  const notify = (events: readonly OutboxEvent[], tx: Sql): Promise<void> =>
    notifyOfComments(events, tx, { outbox, byDefault: threads, newNotificationId });
  outbox.consume('inbox', notify, NOTIFIED_TOGETHER_MAX);
  return [
    ...inboxRoutes({
      db,
      outbox,
      batchedKinds: new Set(settings.BATCHED_NOTIFICATION_KINDS?.split(',')),
      nowMs,
      newNotificationId,
      newActivityId: () => newId(systemRandom, 'act_'),
    }),
    ...myInboxRoutes({
      db,
      nowMs,
      personOf,
      roomExists,
      permissionsIn: (principal, room) =>
        permissionsIn(principal, { roomId: room.id, findRoom: async () => room }).catch(noneIfRefused),
      findThreads: async (sql, pks) => (await findThreadsByPk(sql, pks)).map(threadForClients),
      findSubscriptions: (sql, of) => findSubscriptions(sql, { ...of, byDefault: threads }),
      findThreadChangesSince: async (sql, { userId, readable, sinceMs }) => {
        const roomPks = { public: readable.publicIn, private: readable.privateIn };
        const { subscriptions, deleted } = await findSubscriptionsSince(sql, { userId, roomPks, sinceMs, byDefault: threads });
        const deletedThreads = await listDeleted(sql, { userId, roomPks, sinceMs, which: 'all' });
        return { deletedThreads, subscriptions, deletedSubscriptions: deleted };
      },
    }),
    ...settingsRoutes({
      db,
      personOf,
      inRoomByDefault: { threads, textMentions },
      channelsByDefault: channelsByDefault({ channels: settings.NOTIFICATION_CHANNELS, kinds: settings.NOTIFICATION_KINDS }),
    }),
    ...groupRoutes({ db, personOf }),
    ...textMentionRoutes({ db, outbox, byDefault: textMentions, nowMs, newNotificationId, personOf }),
  ];
}

/** Who may not enter a room has no permissions there. */
function noneIfRefused(error: unknown) {
  if (error instanceof AppError && (error.code === 'UNAUTHORIZED_ROOM_ACCESS' || error.code === 'ROOM_NOT_FOUND'))
    return NO_PERMISSIONS;
  throw error;
}
