/**
 * What a worker counts of itself, as one table. Who counts knows names of this table; how numbers are kept and shown is an adapter's
 * business. Nothing here is for the path of single frames: count once per batch, request, room or socket.
 */

interface CounterSpec {
  readonly label: string;
  readonly help: string;
  /** Shown as 0 before they happen: an alert on an increase would miss the first of them otherwise. */
  readonly values?: readonly string[];
}

/** Each has one label; its values come from a short list in the code, never from a client. */
export const COUNTERS = {
  atrium_journal_appends_total: {
    label: 'outcome',
    values: ['committed', 'fenced', 'forked', 'failed'],
    help: 'Journal entries by outcome: committed; fenced, because the room has a newer owner; forked, because another entry is in its place; failed, given up without an answer.',
  },
  atrium_rooms_lost_total: { label: 'why', help: 'Rooms dropped from memory unread; clients came back and read them anew.' },
  atrium_rooms_held_total: {
    label: 'outcome',
    values: ['held', 'refused'],
    help: 'Rooms whose messages took long: held, they have turns of 25 ms from then on, until none waits; refused, one more than may wait came.',
  },
  atrium_claims_total: {
    label: 'outcome',
    values: ['claimed', 'owned', 'gone', 'quarantined', 'failed'],
    help: 'Rooms this worker asked the database for: claimed; owned by a live worker; gone; quarantined; failed.',
  },
  atrium_snapshots_total: {
    label: 'outcome',
    values: ['saved', 'stale', 'failed'],
    help: 'Snapshots by outcome: saved; stale, a newer one was there; failed.',
  },
  atrium_takeovers_total: {
    label: 'from',
    values: ['released', 'own', 'dead', 'expired'],
    help: 'Rooms claimed, by their last owner: released, nobody had it; own, this worker, as when a lease lapsed; dead, one that was seen to end; expired, one that fell silent.',
  },
  atrium_lease_renewals_total: {
    label: 'outcome',
    values: ['renewed', 'failed', 'lapsed'],
    help: 'Renewals of the lease by outcome: renewed; failed, without an answer; lapsed, too late: rooms are suspended.',
  },
  atrium_forwards_total: {
    label: 'outcome',
    values: ['answered', 'refused', 'unreachable', 'unknown'],
    help: 'Questions to other workers: answered; refused; unreachable, not sent; unknown, nobody knows whether it was done.',
  },
  atrium_refusals_total: {
    label: 'error',
    values: [
      'ROOM_OVERLOADED',
      'WORKER_OVERLOADED',
      'SLOW_CONSUMER',
      'DATABASE_UNAVAILABLE',
      'BLOBS_UNAVAILABLE',
      'BODY_FOUND_NO_PLACE',
      'INTERNAL_SERVER_ERROR',
    ],
    help: 'REST requests and WebSockets that were refused, by code of the error.',
  },
  atrium_rest_requests_total: {
    label: 'status',
    values: ['2xx', '3xx', '4xx', '5xx'],
    help: 'Answered HTTP requests on the public port, by class of status.',
  },
  atrium_socket_closes_total: { label: 'code', help: 'WebSockets that ended, by close code.' },
} as const satisfies Record<string, CounterSpec>;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const BYTES = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

export const HISTOGRAMS = {
  atrium_journal_flush_seconds: {
    buckets: SECONDS,
    help: 'From sending a batch of the journal to its commit, failures included.',
  },
  atrium_journal_flush_entries: { buckets: COUNTS, help: 'Entries in one batch of the journal, which are rooms.' },
  atrium_journal_flush_bytes: { buckets: BYTES, help: 'Bytes in one batch of the journal.' },
  atrium_snapshot_seconds: {
    buckets: SECONDS,
    help: 'Time to save one snapshot, with up to 0.1 s of waiting for others, failures included.',
  },
  atrium_snapshot_bytes: { buckets: BYTES, help: 'Bytes of one snapshot.' },
  atrium_room_load_seconds: { buckets: SECONDS, help: 'From a room that sleeps to one that answers, of those that woke.' },
  atrium_forward_seconds: { buckets: SECONDS, help: 'From a question to another worker to its answer, whatever that is.' },
  atrium_rest_request_seconds: { buckets: SECONDS, help: 'From an HTTP request on the public port to the head of its answer.' },
} as const;

/** Read at the moment somebody looks. */
export const GAUGES = {
  atrium_rooms: 'Rooms in memory on this worker.',
  atrium_held_rooms: 'Rooms whose messages take long and wait for their turns, one room in each turn of the event loop.',
  atrium_connections: 'WebSockets on this worker.',
  atrium_intake_bytes: 'Frames of clients that came and wait, because this worker is behind; about 64 MiB at most.',
  atrium_lease_remaining_seconds: 'How long this worker may still own rooms unless it renews its lease; 0 when it may not.',
  atrium_journal_waiting_bytes: 'Changes that are decided and not in the journal yet; past 64 MiB changes are refused.',
  atrium_journal_oldest_seconds: 'How long the oldest change that is not in the journal yet has waited; 0 when none waits.',
  atrium_directory_up: '1 while Redis answers; 1 also where there is none.',
  atrium_outbox_events: 'Events that wait to be relayed, of all workers; NaN until the first look.',
  atrium_outbox_age_seconds: 'How long the oldest of them has waited.',
  atrium_webhook_messages: 'Messages of webhooks that are not delivered yet, of all workers; NaN until the first look.',
  atrium_webhook_age_seconds: 'How long the one that waits longest is overdue.',
  atrium_database_sync_standbys: 'Synchronous standbys of Postgres; NaN where our user may not see them.',
  atrium_heap_limit_bytes: 'Largest heap that this process may have.',
  atrium_shedding:
    'What is refused because this worker cannot keep up: 0 nothing, 1 to wake rooms, 2 new sockets too, 3 reads as well.',
  atrium_ready: '1 while this worker may own rooms and does not drain.',
} as const;

export type CounterName = keyof typeof COUNTERS;
export type HistogramName = keyof typeof HISTOGRAMS;
export type GaugeName = keyof typeof GAUGES;

export interface Metrics {
  /** Adds `by`, or 1, to the counter under this value of its label. */
  count(name: CounterName, value: string, by?: number): void;
  observe(name: HistogramName, value: number): void;
  /** `read` is asked each time the gauge is shown; the last one given counts. */
  gauge(name: GaugeName, read: () => number): void;
}

/** Where nobody looks. */
export const noMetrics: Metrics = { count: () => undefined, observe: () => undefined, gauge: () => undefined };
