/** Webhooks as this worker serves them: what they hear, how messages leave, and what their management needs. */
import { HttpOutgoing } from '../adapters/http-outgoing.ts';
import { isoFromMs, systemClock } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import type { Settings } from '../config.ts';
import { findChannelsFor } from '../features/notifications/settings/queries.ts';
import { channelsByDefault } from '../features/notifications/settings/rules.ts';
import { enqueue } from '../features/webhooks/delivery/queries.ts';
import { bodyOf, messageOf } from '../features/webhooks/delivery/rules.ts';
import { WebhookSender } from '../features/webhooks/delivery/sender.ts';
import type { WebhooksDeps } from '../features/webhooks/endpoints/routes.ts';
import { noteNotifications, tellDueNotifications } from '../features/webhooks/notifications/queries.ts';
import { LOOK_EVERY_MS, RoomEvents } from '../features/webhooks/watching/room-events.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import type { SqlOutbox } from '../kernel/persistence/sql-outbox.ts';
import { appEventOf } from '../protocol/app-events.ts';
import type { Looking, RoomWatcher } from '../room/room-watch.ts';
import type { WatchCalls } from '../room/watch-calls.ts';

export interface OpenedWebhooks {
  readonly watcher: RoomWatcher & Looking;
  management(workers: Pick<WatchCalls, 'call'>): Omit<WebhooksDeps, 'db' | 'random' | 'nowMs'>;
  /** To be called before any room wakes. */
  start(): Promise<void>;
  /** What was heard is written down; what waits to be sent is left to others, or to the next start. */
  close(): Promise<void>;
}

interface OpenWebhooks {
  readonly db: Sql;
  readonly log: Log;
  readonly outbox: SqlOutbox;
  readonly workerName: string;
}

/** An event's transaction has ended by then, if all goes well; else the sender finds its messages when it looks next. */
const COMMITTED_AFTER_MS = 20;
const NOTIFICATIONS_AT_ONCE = 100;
/** For the last of the workers to have looked by itself. */
const LOOKED_MS = LOOK_EVERY_MS + 250;

export function openWebhooks(settings: Settings, { db, log, outbox, workerName }: OpenWebhooks): OpenedWebhooks {
  const { PROJECT_ID: projectId, WEBHOOK_TARGETS: targets } = settings;
  const outgoing = new HttpOutgoing({ targets });
  const sender = new WebhookSender({ db, clock: systemClock, log, outgoing });
  const nudge = (): void => sender.nudge();
  const byDefault = channelsByDefault({ channels: settings.NOTIFICATION_CHANNELS, kinds: settings.NOTIFICATION_KINDS });
  const notifications = {
    projectId,
    nowIso: () => isoFromMs(systemClock.nowMs()),
    findChannels: (tx: Sql, of: { readonly userId: string; readonly kind: string }) => findChannelsFor(tx, { ...of, byDefault }),
  };
  const tellOthers = async (): Promise<boolean> => {
    const told = await tellDueNotifications(db, NOTIFICATIONS_AT_ONCE, notifications);
    if (told > 0) nudge();
    return told === NOTIFICATIONS_AT_ONCE;
  };
  const events = new RoomEvents({ db, clock: systemClock, log, projectId, workerName, nudge, tellOthers });
  outbox.consume('webhooks', async (stored, tx) => {
    const happened = stored.map(appEventOf);
    const notified = happened.filter((event) => event.type === 'inbox.notified');
    await noteNotifications(tx, notified, settings.NOTIFICATION_DELAY_SECONDS * 1_000);
    const messages = happened.flatMap((event) => messageOf(event) ?? []);
    const written = await enqueue(
      tx,
      messages.map((message) => ({ type: message.type, body: bodyOf(message, projectId) })),
    );
    if (written > 0) systemClock.after(COMMITTED_AFTER_MS, nudge);
  });
  return {
    watcher: events,
    management: (workers) => ({
      projectId,
      outgoing,
      nudge,
      webhooksChanged() {
        nudge();
        return workers.call(LOOKED_MS);
      },
      sendOnce: (pk, body) => sender.sendOnce(pk, body),
    }),
    async start() {
      await events.start();
      sender.start();
    },
    async close() {
      await events.close();
      await sender.close();
    },
  };
}
