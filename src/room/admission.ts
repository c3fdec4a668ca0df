/** What lets a client into a room. */
import type { RoomId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import type { Permissions } from '../protocol/permissions.ts';

/** What a client may do here, and as whom; from its token or the public key. */
export interface Admission {
  readonly roomId: RoomId;
  readonly userId: string | null;
  readonly info: JsonObject | null;
  readonly permissions: Permissions;
  /** When its token expires, in ms since the epoch; Infinity for the public key. */
  readonly expiresAtMs: number;
}

/** Whether a client comes in, or is in and may perhaps stay: that makes no room, and is not noted as a visit. */
export type Visit = 'new' | 'going on';
