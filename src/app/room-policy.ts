/** What the settings say about rooms and connections, in the rooms' own terms. */
import type { Settings } from '../config.ts';
import type { ConnectionLimits } from '../room/connection-deps.ts';
import type { RoomPolicy } from '../room/policy.ts';

/** Documents of one room, subdocuments included (reliability 2.f). */
const YDOCS_PER_ROOM_MAX = 1_000;

export function roomPolicy(settings: Settings): RoomPolicy {
  return {
    connectionsMax: settings.CONNECTIONS_PER_ROOM_MAX,
    presenceBytesMax: settings.PRESENCE_BYTES_MAX,
    ydocsMax: YDOCS_PER_ROOM_MAX,
    pendingBytesMax: settings.PENDING_BYTES_PER_ROOM_MAX,
    snapshotAfterChanges: settings.SNAPSHOT_AFTER_CHANGES,
    snapshotAfterBytes: settings.SNAPSHOT_AFTER_BYTES,
    snapshotEveryMs: settings.SNAPSHOT_EVERY_SECONDS * 1_000,
    autoVersionMs: settings.AUTO_VERSION_SECONDS * 1_000,
    idleMs: settings.IDLE_ROOM_SECONDS * 1_000,
  };
}

export function connectionLimits(settings: Settings): ConnectionLimits {
  return {
    messages: { perSecond: settings.MESSAGES_PER_SECOND_MAX, burst: settings.MESSAGES_PER_SECOND_MAX * 4 },
    sendBytesSoftMax: settings.SEND_BUFFER_BYTES_MAX / 4,
    sendBytesHardMax: settings.SEND_BUFFER_BYTES_MAX,
    idleMs: settings.IDLE_CONNECTION_SECONDS * 1_000,
  };
}
