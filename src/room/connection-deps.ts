/** What a connection is given, the same for all of a worker. */
import type { Rate } from '../base/bounded.ts';
import type { Clock } from '../base/clock.ts';
import type { RoomId } from '../base/ids.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import type { Admission, Visit } from './admission.ts';
import type { FeedDesk } from './feed-desk.ts';
import type { Intake } from './intake.ts';
import type { RoomsElsewhere } from './rooms-elsewhere.ts';
import type { SocketTarget } from './socket-target.ts';

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly rooms: RoomsElsewhere;
  /** Checks credentials and access; creates the room when it is new and the client may. @throws AppError with the close code to use. */
  readonly admit: (target: SocketTarget, visit: Visit) => Promise<Admission>;
  /** Those of the files that the room does not have. */
  readonly findMissingFiles: (roomId: RoomId, fileIds: readonly string[]) => Promise<readonly string[]>;
  readonly feeds: Pick<FeedDesk, 'take'>;
  /** Where what sockets say waits while this worker is behind. */
  readonly intake: Intake;
  readonly limits: ConnectionLimits;
  /** A number in [0, 1) that looks like chance: spreads what many connections do at once. */
  readonly chance: () => number;
  readonly log: Log;
  readonly metrics?: Metrics;
}

export interface ConnectionLimits {
  readonly messages: Rate;
  readonly sendBytesSoftMax: number;
  readonly sendBytesHardMax: number;
  /** A connection that sends nothing for so long is dead: SDK clients ping every 30 s, hidden tabs each minute (protocol 3.5). */
  readonly idleMs: number;
}
