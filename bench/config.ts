/** Every knob of the benches: how long, how often, on which cores, with how many people. */

export const RUN = {
  /** Runs of every variant on every server; the figures are medians over them. */
  rounds: 3,
  /** Length of the measured window. */
  seconds: 3,
  /** The same load before it, unmeasured: code gets hot, buffers and pools grow. */
  warmupSeconds: 1,
  /** A load process busier than this share of its core was itself the limit: its throughput is a lower bound. */
  loadBusyMax: 0.9,
  /** More than this many cores used by processes that are not ours: the run says less. */
  othersBusyMax: 0.2,
  /** Cores that the hypervisor gave to other guests: a run with more in its window is taken anew. A hundredth is there at quiet hours, a third or two at others. */
  stolenMax: 0.02,
  /** So often at most. */
  retakenMax: 4,
} as const;

/**
 * Before a window in which people talk in one room, or in a thousand, the same talk goes on in a room of its own, much faster: V8 compiles what ran
 * some ten thousand times, which at the measured pace would take minutes, and a server in use has long done. It goes on so many times, and people come
 * and go in between: after 3 s of talk and nothing else the first who came threw away what V8 had compiled, and a third of the window's CPU was its compiler.
 */
export const HEAT = { clients: 10, perSecond: 300, seconds: 2, times: 3, coolMs: 500 } as const;

/**
 * The warm-up of cases that write a few thousand times a second: what each write runs is compiled by V8 after some ten thousand, on the same core, and a
 * server in use has long done that. After 1 s patches of Storage were 4,700 a second, after 3 s 5,700, after 6 s 6,200.
 */
export const WRITES_WARMUP_SECONDS = 5;

/** One core each, so that neither takes time from the other. A private Postgres shares the core of its server. */
export const CORES = { server: 0, load: 1 } as const;

export interface Typing {
  readonly clients: number;
  readonly typists: number;
  /** Updates a second from each typist. */
  readonly perSecond: number;
}

/** The same 200 updates a second into rooms of three sizes. */
export const FANOUT_YJS: readonly Typing[] = [
  { clients: 10, typists: 10, perSecond: 20 },
  { clients: 50, typists: 10, perSecond: 20 },
  { clients: 200, typists: 20, perSecond: 10 },
];

/** Everybody moves a cursor. */
export const PRESENCE = { clients: 50, perSecond: 20 } as const;

export const SATURATION = {
  rooms: 4,
  clients: 50,
  /** Of each room. */
  typists: 10,
  /** Updates of one typist that not everybody else in the room has yet. */
  underWay: 4,
  /** Updates of each typist that are made before the load starts; more are made while it runs. */
  madeBefore: 2_000,
} as const;

export const MANY_ROOMS = {
  rooms: 1_000,
  clients: 2,
  /** Updates a second from each client. */
  perSecond: 1,
  /** Rooms that are entered before memory is read for the first time, and not counted. */
  warmRooms: 100,
} as const;

export const IDLE = {
  rooms: 100,
  /** In each room; with those before them at most as many as a room takes. */
  connections: 50,
  /** In each room before memory is read for the first time: they take what the process had left over. */
  warmConnections: 25,
} as const;

export const STORM = {
  rooms: 20,
  connections: 2_000,
  /** Before the clock starts, not counted. */
  warmConnections: 200,
  /** Connections that have been dialled and are not in their room yet. */
  dialsMax: 50,
  /** After those who came and went before; a server closes their sockets in it. */
  coolMs: 1_000,
} as const;

/** When memory stands still: a reading differs from the last by no more than this share. */
export const SETTLE = { everyMs: 500, shareMax: 0.002, msMax: 8_000 } as const;

/** Everybody sends the next op when the last one is acknowledged. */
export const STORAGE_OPS = { clients: 20 } as const;

export const REST = {
  /** Each asks again as soon as it has its answer. */
  connections: 10,
  documentNodes: 10_000,
  /** Of a document that is read while it changes. */
  changesPerSecond: 500,
  /** Share of these that is acknowledged when the reading ends: with less it did not change as often as the case says. */
  changesAckedMin: 0.9,
} as const;

/** Longest wait for what was sent in the window and has not arrived when it closes. Later is lost. */
export const ARRIVAL_MS_MAX = 2_000;
/** Longest wait for a server to start, for clients to enter, and for a process to end by itself. */
export const START_MS_MAX = 30_000;
export const ENTER_MS_MAX = 20_000;
export const STOP_MS_MAX = 15_000;

export const JOIN = {
  /** As measured of others in performance.md. */
  documentBytes: 4_700_000,
  /** Rooms that have fallen asleep, each of which is joined once. */
  coldRooms: 5,
} as const;

/** The smallest Atrium allows; a room is asked for until it is gone. */
export const IDLE_ROOM_SECONDS = 10;
/** Longest wait until rooms that were left have fallen asleep. */
export const ROOM_GONE_MS_MAX = 30_000;

/** Two people in a room are the fewest who work together: what is asked is the commit, and what many hear others measure. */
export const ACK_LATENCY = {
  rooms: 500,
  clients: 2,
  /** Ops a second from each client: 5,000 and 20,000 in all. */
  perSecond: [5, 20],
} as const;

/** Some speak, very many listen. */
export const VIEWERS = {
  viewers: 10_000,
  typists: 4,
  perSecond: 1,
} as const;

/** Rooms as most are, beside one in which 500 updates a second go to 100 people. */
export const NEIGHBOURS = {
  /**
   * Whoever is too much is there that long before the window opens. After 1 s V8 still compiled what they made the server run, in pieces of 2 to 4 ms that were
   * a third of p99 beside a hot room (`perf sched`); a server in use has long done that.
   */
  warmupSeconds: 10,
  /** p99 of 800 deliveries a second in 3 s are 24 of them: too few to compare one window with another. */
  seconds: 8,
  calm: { rooms: 20, clients: 5, perSecond: 2 },
  hot: { clients: 100, typists: 10, perSecond: 50 },
  /** Few speak, and all hear: what is said costs the server as much as a hundred updates in a usual room. */
  audience: { clients: 1_000, typists: 2, perSecond: 5 },
  /** As after a deployment, but without an end: each comes back every other second. */
  returning: { clients: 100, perSecond: 50, nodes: 10_000 },
} as const;

/** Bounds low enough to be passed by few, and those who pass them. */
export const LIMITS = {
  settings: {
    MESSAGES_PER_SECOND_MAX: '500',
    CONNECTIONS_PER_ROOM_MAX: '50',
    FRAME_BYTES_MAX: '65536',
    BODY_BYTES_MAX: '2097152',
    PENDING_BYTES_PER_ROOM_MAX: '262144',
    SHED_LAG_MS: '20',
  },
  /** Eight times what one may say. */
  loud: { clients: 5, framesPerSecond: 200, messagesPerFrame: 20 },
  /** Of those who come with what is to be refused; not all, because the last answers come when the window is closed. */
  refusedShareMin: 0.95,
  seats: 50,
  dialsPerSecond: 100,
  longBytes: 100_000,
  /** Half as long again as what somebody may show of himself. */
  longPresenceBytes: 98_304,
  /** Beyond what a body may have here. */
  longBodies: { bytes: 3_000_000, perSecond: 20 },
  /** Yjs updates that build on what nobody brings, and deletions of it: a room keeps 64 KiB of the former, 4 of the latter. */
  waiting: { clients: 5, perSecond: 20, bytes: 400, ranges: 500 },
  /** Yjs documents of 60,000 items, each put into a room of its own in one piece, as by an import or an editor that was long away. */
  longUpdates: { bytes: 1_000_000, perSecond: 0.5 },
  badRequestsPerSecond: 100,
  writes: { writers: 30, bytes: 50_000 },
  /** A socket that was closed comes back after this; a request that was refused when it was told to, or up to twice as late. */
  pauseMs: 50,
  retryAfterMs: 1_000,
  reads: { readers: 8, nodes: 10_000 },
} as const;

/** A worker that takes few sockets and is soon strained; those who fill it, and those who come when it is full. */
export const FULL_WORKER = {
  settings: { CONNECTIONS_MAX: '300', SHED_LAG_MS: '20' },
  /** Beside the calm, as many as it takes. */
  seats: { rooms: 10, clients: 20 },
  dialsPerSecond: 100,
  /** 50,000 ops a second: more than a core can do, with Postgres on it. */
  writing: { rooms: 50, clients: 2, perSecond: 500 },
  sleeping: { rooms: 1_000, wokenPerSecond: 20 },
  /** Whoever hears nothing for so long of what he wrote will not hear of it. */
  silenceMsMax: 5_000,
} as const;

/** Events of 16 KB, 4 MB a second to each: past what the kernel takes for one who does not read, within the first seconds. */
export const SLOW_CONSUMER = { clients: 10, senders: 5, perSecond: 50, bytes: 16 * 1024 } as const;

/** Rooms that come due together: all quiet for longer than a change goes without a snapshot, or all left in one moment. */
export const DUE_AT_ONCE = {
  rooms: 2_000,
  dialsMax: 25,
  settings: { SNAPSHOT_EVERY_SECONDS: '10', IDLE_ROOM_SECONDS: String(IDLE_ROOM_SECONDS) },
} as const;

/** Points of each curve, smallest first; each is a run of its own. */
export const GROWTH = {
  rooms: [100, 1_000, 5_000, 20_000],
  /** Made, opened and patched before any is counted. */
  roomsHeat: { rooms: 1_000, patches: 10_000 },
  /** Patches a second, spread over all rooms. */
  roomsPerSecond: 200,
  clients: [2, 10, 50, 200, 1_000, 5_000],
  /** Deliveries a second at each point, within the bounds of what so few can say and so many must hear. */
  clientsDeliveries: 10_000,
  clientsUpdates: { least: 4, most: 200 },
  documentBytes: [10_000, 100_000, 1_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000],
  journalRows: [0, 100, 1_000, 10_000],
  /** Times that a room with this tail is woken, each after a kill -9. */
  journalWakes: 3,
  databaseRooms: [1_000, 10_000, 100_000],
  /** How many rooms name a user, however many there are; as many name it as a reader. */
  databaseRoomsOfUser: 20,
  /** Calls of each kind, of which the second half is counted. */
  databaseTimes: 80,
} as const;

export const SOAK = {
  /** Rooms that are lived in side by side. */
  atOnce: 16,
  /** Until all rooms sleep, and the windows in which webhooks are told of a change once are over. */
  quietMs: 80_000,
  snapshotMsMax: 60_000,
  writtenMs: 5_000,
  /** For so many lives of a hundred one object more is a trace of each. */
  grownShareMin: 0.1,
  lifeMsMax: 120_000,
  /** Between two faults of the stores, on average. */
  restMs: 3_000,
  /** Longer than a lease. */
  stillMsMax: 8_000,
} as const;
