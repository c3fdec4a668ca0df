/** The mistakes of `mutants.ts` that lie between a worker and its database. Each takes the database of one worker and gives another. */
import { createHash } from 'node:crypto';
import { pack, unpack, unpackAll } from '../../src/base/binary.ts';
import type { JournalEntry } from '../../src/kernel/persistence/journal.ts';
import { appendQuery, appendWithoutWaitingQuery, entryCrc, readQuery } from '../../src/kernel/persistence/journal-queries.ts';
import { newestFirstQuery, saveQuery } from '../../src/kernel/persistence/snapshot-queries.ts';
import type { Query, Sql } from '../../src/kernel/persistence/sql.ts';
import { entriesIn } from '../support/appends.ts';
import { savesIn } from '../support/saves.ts';
import type { Around, Mutant } from './mutants.ts';
import { whatIs } from './postgres/known.ts';

type MakeSql = NonNullable<Mutant['sql']>;
type Run = (query: Query) => Promise<any[]>;

/** What is done in the place of a statement, by what it is for. */
type Meddling = Readonly<Record<string, (query: Query, run: Run) => Promise<any[]>>>;

function meddle(meddling: Meddling): (db: Sql) => Sql {
  return (db) => {
    const query = (query: Query): Promise<any[]> => {
      const meddler = meddling[whatIs(query.text)];
      return meddler === undefined ? db.query(query) : meddler(query, (other) => db.query(other));
    };
    return { query, change: async (one) => (await query(one)).length, transaction: (work) => db.transaction(work) };
  };
}

/** Other statements of the fake, with the same values. */
export function instead(others: Readonly<Record<string, string>>): MakeSql {
  const meddling = Object.entries(others).map(([what, text]) => [what, (query: Query, run: Run) => run({ ...query, text })]);
  return meddle(Object.fromEntries(meddling) as Meddling);
}

/** Other values at these places. */
export function settingValues(changes: Readonly<Record<string, Readonly<Record<number, unknown>>>>): MakeSql {
  const meddling = Object.entries(changes).map(([what, change]) => [
    what,
    (query: Query, run: Run) => run({ ...query, values: query.values.map((value, at) => (at in change ? change[at] : value)) }),
  ]);
  return meddle(Object.fromEntries(meddling) as Meddling);
}

const streamsOf = ({ values }: Query): { stream: number }[] => entriesIn(values).map(({ stream }) => ({ stream }));

function onAppends(meddler: (query: Query, run: Run) => Promise<any[]>): Meddling {
  return { append: meddler, 'append one': meddler, 'append without waiting': meddler };
}

export function withoutWaiting(isNow: (around: Around) => boolean): MakeSql {
  return (db, around) =>
    meddle(
      onAppends((query, run) => {
        const written = run(query);
        if (!isNow(around)) return written;
        written.catch(() => undefined);
        return Promise.resolve(streamsOf(query));
      }),
    )(db);
}

export const sayingAllWritten: MakeSql = meddle(
  onAppends(async (query, run) => {
    await run(query);
    return streamsOf(query);
  }),
);

export const withoutRecalls: MakeSql = meddle({
  renew: async (query, run) => (await run(query)).map((row) => ({ ...row, recalls: [] })),
});

export const trimBeforeSave: MakeSql = meddle({
  async 'save snapshots'(query, run) {
    for (const { stream, version } of savesIn(query.values))
      await run({ text: 'mutant: trim whatever is asked', values: [stream, version] });
    return run(query);
  },
});

export const epochFromRedis: MakeSql = (db, { redis }) =>
  meddle({
    claim: (query, run) =>
      run({ text: 'mutant: claim under a given epoch', values: [...query.values, redis.nextEpoch(query.values[2] as number)] }),
  })(db);

export const believeHints: MakeSql = (db, { redis, tables, address }) =>
  meddle({
    async claim(query, run) {
      const stream = query.values[2] as number;
      const key = [...tables.rooms].find(([, pk]) => pk === stream)?.[0] ?? '';
      const hint = await redis.memory.locate(key);
      return hint?.address === address ? [{ stream, epoch: hint.epoch, numbersFrom: 1_000 * stream, crashes: 0 }] : run(query);
    },
  })(db);

export const readBeforeClaim: MakeSql = (db) => {
  const early = new Map<number, { snapshots: any[]; rows: any[] }>();
  return meddle({
    async claim(query, run) {
      const stream = query.values[2] as number;
      const snapshots = await run(newestFirstQuery(stream));
      const rows = await run(readQuery(stream, { after: 0, limit: 10_000 }));
      early.set(stream, { snapshots, rows });
      return run(query);
    },
    async 'load snapshots'(query, run) {
      return early.get(query.values[0] as number)?.snapshots ?? run(query);
    },
    async read(query, run) {
      const [stream, after] = query.values as [number, number];
      const known = early.get(stream);
      early.delete(stream);
      return known?.rows.filter(({ version }) => version > after) ?? run(query);
    },
  })(db);
};

export const believingAnyRow: MakeSql = (db) => {
  const sent = new Map<number, JournalEntry & { crc: number }>();
  return meddle({
    ...onAppends((query, run) => {
      for (const entry of entriesIn(query.values)) sent.set(entry.stream, entry);
      return run(query);
    }),
    async find(query, run) {
      const rows = await run(query);
      return rows.map((row) => {
        const { epoch, count, crc } = sent.get(row.stream)!;
        return row.crc === null ? row : { ...row, epoch, count, crc };
      });
    },
  })(db);
};

/** After an unknown outcome the same changes go into the journal once more, under the versions that follow, and so does all that comes later. */
export const appendBlindly: MakeSql = (db) => {
  const shifts = new Map<number, number>();
  const unknown = new Set<string>();
  return meddle({
    ...onAppends(async (query, run) => {
      const entries = entriesIn(query.values);
      for (const { stream, version, count } of entries)
        if (unknown.delete(`${stream} ${version}`)) shifts.set(stream, (shifts.get(stream) ?? 0) + count);
      const shifted = entries.map((entry) => ({ ...entry, version: entry.version + (shifts.get(entry.stream) ?? 0) }));
      const makeQuery = whatIs(query.text) === 'append without waiting' ? appendWithoutWaitingQuery : appendQuery;
      try {
        return await run(makeQuery(shifted.map((entry) => ({ entry, crc: entryCrc(entry) }))));
      } catch (error) {
        for (const { stream, version } of entries) unknown.add(`${stream} ${version}`);
        throw error;
      }
    }),
    async claim(query, run) {
      shifts.delete(query.values[2] as number);
      return run(query);
    },
  })(db);
};

export const forgetRequestsInSnapshot: MakeSql = meddle({
  'save snapshots'(query, run) {
    const saves = savesIn(query.values).map(({ stream, epoch, ...row }) => {
      if (row.bytes === null) return { row, ruled: { stream, epoch } };
      const bytes = pack({ ...(unpack(row.bytes) as object), requests: [] });
      const sha256 = createHash('sha256').update(bytes).digest();
      return { row: { ...row, bytes, sha256, size: bytes.length }, ruled: { stream, epoch } };
    });
    return run(saveQuery(saves, query.values.at(-1) === true ? 'wait' : 'leave'));
  },
});

/** Tags of `journal-record.ts`. */
const [NUMBERS, REQUEST] = [4, 5];

export const forgetRequestsInJournal: MakeSql = meddle({
  async read(query, run) {
    const stream = query.values[0] as number;
    const rows = await run(query);
    return rows.map((row) => {
      const records = unpackAll(row.payload).map((record) => ((record as unknown[])[0] === REQUEST ? [NUMBERS, 0] : record));
      const payload = Buffer.concat(records.map((record) => pack(record)));
      return { ...row, payload, crc: entryCrc({ ...row, stream, payload }) };
    });
  },
});

/** Actors that resume go on under the next epoch without claiming it. */
export const resumeWhatever: MakeSql = (db, { life }) => {
  const epochs = new Map<number, number>();
  return meddle({
    async claim(query, run) {
      const stream = query.values[2] as number;
      const known = epochs.get(stream);
      const [claim] =
        life.isResuming && known !== undefined ? [{ stream, epoch: known + 1, numbersFrom: 0, crashes: 0 }] : await run(query);
      if (claim !== undefined) epochs.set(stream, claim.epoch);
      return claim === undefined ? [] : [claim];
    },
  })(db);
};
