/** What a worker is given of the world, so that the same worker runs in production and, many at a time, in the simulation. */
import type { Clock, Random } from '../base/clock.ts';
import type { Incarnation, RoomId, WorkerAddress } from '../base/ids.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import type { Slices } from '../base/slices.ts';
import type { Tracer } from '../base/trace.ts';
import type { Bus } from '../kernel/cluster/bus.ts';
import type { Directory, WorkerEntry } from '../kernel/cluster/directory.ts';
import type { Blobs } from '../kernel/persistence/blobs.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import type { Sheds } from '../kernel/shedding.ts';
import type { ConnectionDeps } from './connection-deps.ts';
import type { GatewayDeps } from './gateway.ts';
import type { Intake } from './intake.ts';
import type { LoadRoomDeps } from './load-room.ts';
import type { RoomPolicy } from './policy.ts';
import type { RememberedRooms } from './room-changes.ts';
import type { Looking, RoomWatcher } from './room-watch.ts';

export interface WorkerDeps {
  readonly world: {
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Log;
    readonly metrics?: Metrics;
    readonly tracer?: Tracer;
    /** Where what is long waits for its turns, all of it on one event loop; its own when absent. */
    readonly slices?: Slices;
    /** Collects what was allocated last, where much of it stays; nothing when absent. */
    readonly collectYoung?: () => void;
  };
  /** Connections for claims, journal and snapshots alone. */
  readonly authority: Sql;
  /** For the lease alone. */
  readonly lease: Sql;
  readonly blobs: Blobs;
  /** `workerName` is of this process alone and begins the ids of its sessions. */
  readonly cluster: {
    readonly bus: Bus;
    readonly directory: Directory;
    readonly workerName: string;
    /** Workers with a valid lease, this one among them; the database is asked when absent. */
    readonly findLeased?: () => Promise<WorkerEntry[]>;
  };
  readonly rooms: Pick<LoadRoomDeps, 'findStream' | 'findSchema' | 'keepVersion'> & {
    /** Where the worker is that owns the room under a valid lease. */
    readonly findOwner: (roomId: RoomId) => Promise<WorkerAddress | null>;
    readonly remembered: RememberedRooms;
  };
  readonly limits: { readonly policy: RoomPolicy } & Pick<GatewayDeps, 'limits' | 'connectionsMax'>;
  /** What connections ask of others than their rooms. */
  readonly sockets: Pick<ConnectionDeps, 'admit' | 'findMissingFiles' | 'feeds'>;
  /** What this worker refuses for a while because it cannot keep up; nothing when absent. */
  readonly sheds?: Sheds;
  /** Where what sockets say waits while it cannot; its own when absent. */
  readonly intake?: Intake;
  readonly watcher?: (RoomWatcher & Looking) | undefined;
  readonly onRegistered?: (incarnation: Incarnation) => void;
  /** What this worker says of itself to those who look at it: plain data. */
  readonly report?: () => unknown;
}
