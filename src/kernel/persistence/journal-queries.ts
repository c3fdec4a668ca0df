/** The statements of the journal. The fence is in here: why each clause stands is said beside it. */
import { concat } from '../../base/binary.ts';
import { crc32 } from '../../base/crc32.ts';
import type { JournalEntry } from './journal.ts';
import { named, type Query, sql } from './sql.ts';

/** An entry and its checksum, ready to be written. */
interface Checked {
  readonly entry: JournalEntry;
  readonly crc: number;
}

/** Over the row's numbers too, so that a payload under a wrong version or stream is found. */
export function entryCrc({ stream, version, count, epoch, payload }: JournalEntry): number {
  return crc32(payload, crc32(`${stream} ${version} ${count} ${epoch} `));
}

/**
 * Inserts the entries whose epoch still rules their stream; the number of rows says how many those were. An answer with a row for each would have to
 * be read for each commit, and nearly always says that all are in.
 *
 * `for share` conflicts with the update of a claim: either this commits first and the claimer, who waits, reads what it wrote; or it waits for
 * the claim, sees the new epoch and inserts nothing. `where exists (… epoch …)` or a foreign key alone lost 2,111 and 1,869 acknowledged
 * changes in 3,000 takeovers (reliability 2.b). Rows are locked in order of their streams, so two batches never wait for each other.
 * That the row is there follows from the lock, too: the table has no foreign key that would ask once more.
 *
 * An owner's row is looked up by its key, whatever the planner thinks of the table: a lateral subquery that locks cannot be turned into a join that
 * reads all of it, as a plain one was while a worker had some hundred rooms. And the arrays come through `(select …)`, which hides how long they
 * are: else each batch gets a plan of its own, which takes as long as the insert.
 */
export function appendQuery(entries: readonly Checked[]): Query {
  if (entries.length === 1) return appendOneQuery(entries[0]!);
  return { name: 'journal.append', text: APPEND, values: columnsOf(entries) };
}

/**
 * The same for one entry alone, as where one room is busy: without arrays to take apart it costs Postgres a fifth less. Whoever waits for the lock reads the
 * owner's row again, and judges its epoch anew.
 */
function appendOneQuery({ entry, crc }: Checked): Query {
  const { stream, version, count, epoch, payload } = entry;
  return { name: 'journal.append-one', text: APPEND_ONE, values: [stream, version, count, epoch, crc, payload] };
}

/** The same, but a row that somebody else holds is left out instead of waited for: one stuck actor does not hold up the others. */
export function appendWithoutWaitingQuery(entries: readonly Checked[]): Query {
  return { name: 'journal.append-without-waiting', text: APPEND_WITHOUT_WAITING, values: columnsOf(entries) };
}

const APPEND_ONE = `
  insert into journal (stream, version, count, epoch, crc, payload)
  select o.stream, $2::bigint, $3::int, o.epoch, $5::int, $6::bytea
    from actor_owner o where o.stream = $1::bigint and o.epoch = $4::bigint for share
      on conflict (stream, version) do nothing`;
const APPEND = appendText('for share');
const APPEND_WITHOUT_WAITING = appendText('for share skip locked');

/** Of `columnsOf`, in that order. */
function appendText(lock: string): string {
  return `
    insert into journal (stream, version, count, epoch, crc, payload)
    select b.stream, b.version, b.count, b.epoch, b.crc, substring($8::bytea from b.start for b.size)
      from (
        select * from unnest(
          (select $1::bigint[]), (select $2::bigint[]), (select $3::int[]), (select $4::bigint[]), (select $5::int[]), (select $6::int[]), (select $7::int[])
        ) as entry (stream, version, count, epoch, crc, start, size) order by stream
      ) as b
     cross join lateral (select from actor_owner o where o.stream = b.stream and o.epoch = b.epoch ${lock}) as ruling
        on conflict (stream, version) do nothing`;
}

/** The payloads travel as one value and are cut up there: as an array they would go as hex, three times slower for 100 KB entries. */
function columnsOf(entries: readonly Checked[]): unknown[] {
  const column = (pick: (one: Checked) => number): number[] => entries.map(pick);
  const starts: number[] = [];
  let end = 1; // SQL counts bytes from 1
  for (const { entry } of entries) {
    starts.push(end);
    end += entry.payload.length;
  }
  return [
    column(({ entry }) => entry.stream),
    column(({ entry }) => entry.version),
    column(({ entry }) => entry.count),
    column(({ entry }) => entry.epoch),
    column(({ crc }) => crc),
    starts,
    column(({ entry }) => entry.payload.length),
    concat(entries.map(({ entry }) => entry.payload)),
  ];
}

export interface Found {
  readonly stream: number;
  readonly ownerEpoch: number;
  /** Of the row at the entry's version; null when there is none. */
  readonly epoch: number | null;
  readonly count: number | null;
  readonly crc: number | null;
}

/** What the database holds in the place of these entries; no row for a stream that is gone. */
export function foundQuery(entries: readonly Checked[]): Query<Found> {
  return sql<Found>`
    select o.stream, o.epoch as "ownerEpoch", j.epoch, j.count, j.crc
      from unnest(${entries.map(({ entry }) => entry.stream)}::bigint[], ${entries.map(({ entry }) => entry.version)}::bigint[]) as b (stream, version)
      join actor_owner o on o.stream = b.stream
      left join journal j on j.stream = b.stream and j.version = b.version`;
}

type Row = Omit<JournalEntry, 'stream'> & { readonly crc: number };

export function readQuery(stream: number, { after, limit }: { after: number; limit: number }): Query<Row> {
  const query = sql<Row>`
    select version, count, epoch, crc, payload from journal where stream = ${stream} and version > ${after} order by version limit ${limit}`;
  return named('journal.read', query);
}
