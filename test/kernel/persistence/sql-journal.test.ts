import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { noMetrics } from '../../../src/base/metrics.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { entryCrc } from '../../../src/kernel/persistence/journal-queries.ts';
import { type Sql, SqlError, sql } from '../../../src/kernel/persistence/sql.ts';
import { BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, SqlJournal } from '../../../src/kernel/persistence/sql-journal.ts';
import { append, entriesIn } from '../../support/appends.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { usePostgres } from '../../support/postgres.ts';
import { anEntry, aStream, type Meddler, meddled, takeOver, untilBlocked } from '../../support/streams.ts';

const postgres = usePostgres();
let url: string;
let db: PostgresSql;
beforeAll(async () => {
  url = await postgres.database();
  db = await postgres.open({ url, lockMsMax: 100 });
});

const journalOn = (through: Sql): SqlJournal => new SqlJournal({ db: through, clock: systemClock, log: silentLog });
const isAppend = ({ name }: { name?: string }): boolean => name?.startsWith('journal.append') ?? false;
const streams = (count: number): Promise<number[]> => Promise.all(Array.from({ length: count }, () => aStream(db)));
const versionsOf = async (stream: number): Promise<number[]> =>
  (await journalOn(db).readAfter(stream, 0)).map(({ version }) => version);

/** A database that holds each append back until told, and counts what each carried. */
function stopAndGo(): { db: Sql; sizes: number[]; go: () => void } {
  const sizes: number[] = [];
  let waiting: (() => void)[] = [];
  const meddler: Meddler = async (query, run) => {
    if (!isAppend(query)) return run();
    sizes.push(entriesIn(query.values).length);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return run();
  };
  const go = (): void => {
    for (const resume of waiting.splice(0)) resume();
    waiting = [];
  };
  return { db: meddled(db, meddler), sizes, go };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Resumes appends until all of these are settled. */
async function untilDone(work: Promise<unknown>[], go: () => void): Promise<unknown[]> {
  let isDone = false;
  const all = Promise.all(work).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    go();
    await turn();
  }
  return all;
}

describe('group commit', () => {
  test('[JO6] what is appended in one turn goes in one statement; what comes during it, in the next', async () => {
    const { db: slow, sizes, go } = stopAndGo();
    const journal = journalOn(slow);
    const made = await streams(7);
    const work = made.slice(0, 3).map((stream) => append(journal, anEntry(stream, 1)));
    await turn();
    for (const stream of made.slice(3)) {
      work.push(append(journal, anEntry(stream, 1)));
      await turn();
    }
    expect(sizes).toEqual([3]);
    expect(await untilDone(work, go)).toEqual(Array(7).fill('committed'));
    expect(sizes).toEqual([3, 4]);
  });

  test('[CD5] the next batch waits for the rooms that the last one answered, and for no other', async () => {
    const { db: slow, sizes, go } = stopAndGo();
    const clock = manualClock();
    const journal = new SqlJournal({ db: slow, clock: { ...clock, soon: (task) => setImmediate(task) }, log: silentLog });
    const [one, other, third] = await streams(3);
    await untilDone([append(journal, anEntry(one!, 1)), append(journal, anEntry(other!, 1))], go);
    const work = [append(journal, anEntry(third!, 1)), append(journal, anEntry(one!, 2))];
    await turn();
    expect(sizes).toEqual([2]); // the third is no one of those it waits for
    work.push(append(journal, anEntry(other!, 2)));
    expect(await untilDone(work, go)).toEqual(Array(3).fill('committed'));
    expect(sizes).toEqual([2, 3]);
    const last = append(journal, anEntry(one!, 3));
    await turn();
    expect(sizes).toEqual([2, 3]);
    clock.advance(2);
    expect(await untilDone([last], go)).toEqual(['committed']);
    expect(sizes).toEqual([2, 3, 1]);
  });

  test(`[JO7] a batch holds ${BATCH_ENTRIES_MAX} entries at most`, async () => {
    const { db: slow, sizes, go } = stopAndGo();
    const journal = journalOn(slow);
    const work = (await streams(BATCH_ENTRIES_MAX + 1)).map((stream) => append(journal, anEntry(stream, 1)));
    await untilDone(work, go);
    expect(sizes).toEqual([BATCH_ENTRIES_MAX, 1]);
  });

  test('[JO7] a batch holds 1 MiB at most, unless its first entry alone is larger', async () => {
    const { db: slow, sizes, go } = stopAndGo();
    const journal = journalOn(slow);
    const sized = [BATCH_BYTES_MAX / 2, BATCH_BYTES_MAX / 2, 1, BATCH_BYTES_MAX + 1, 1];
    const made = await streams(sized.length);
    const work = made.map((stream, index) =>
      append(journal, anEntry(stream, 1, { payload: new Uint8Array(sized[index]!).fill(index) })),
    );
    await untilDone(work, go);
    expect(sizes).toEqual([2, 1, 1, 1]);
    const payloads = await Promise.all(made.map(async (stream) => (await journalOn(db).readAfter(stream, 0))[0]!.payload));
    expect(payloads.map(({ length }) => length)).toEqual(sized);
    expect(payloads.map((payload) => payload.at(-1))).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('an outcome that is not known', () => {
  test('[JO9] a commit whose answer was lost counts once', async () => {
    let lost = 0;
    const journal = journalOn(
      meddled(db, async (query, run) => {
        const rows = await run();
        if (isAppend(query) && lost++ < 2) throw new AppError('DATABASE_UNAVAILABLE');
        return rows;
      }),
    );
    const made = await streams(3);
    expect(await Promise.all(made.map((stream) => append(journal, anEntry(stream, 1))))).toEqual(Array(3).fill('committed'));
    expect(lost).toBe(3);
    for (const stream of made) expect(await versionsOf(stream)).toEqual([1]);
  });

  test('[JO9] a lost answer, then a takeover: what is there is committed, what is not is fenced', async () => {
    const [written, unwritten] = (await streams(2)) as [number, number];
    let attempts = 0;
    const journal = journalOn(
      meddled(db, async (query, run) => {
        if (!isAppend(query) || attempts++ > 0) return run();
        await append(journalOn(db), anEntry(written, 1)); // as if the server had got this far
        await Promise.all([takeOver(db, written), takeOver(db, unwritten)]);
        throw new AppError('DATABASE_UNAVAILABLE');
      }),
    );
    expect(await Promise.all([written, unwritten].map((stream) => append(journal, anEntry(stream, 1))))).toEqual([
      'committed',
      'fenced',
    ]);
  });

  test('[JO17] an entry in whose place another is counts as fenced for its actor, and as forked for who watches', async () => {
    const stream = await aStream(db);
    await append(journalOn(db), anEntry(stream, 1, { payload: Uint8Array.of(1) }));
    const counted: string[] = [];
    const metrics = { ...noMetrics, count: (name: string, label: string) => void counted.push(`${name} ${label}`) };
    const journal = new SqlJournal({ db, clock: systemClock, log: silentLog, metrics });
    expect(await append(journal, anEntry(stream, 1, { payload: Uint8Array.of(2) }))).toBe('fenced');
    expect(counted).toEqual(['atrium_journal_appends_total forked']);
    expect((await journalOn(db).readAfter(stream, 0)).map(({ payload }) => [...payload])).toEqual([[1]]);
  });

  test('[JO9] a question that fails is asked again; until it is answered, nobody of the batch hears', async () => {
    const [fresh, fenced] = (await streams(2)) as [number, number];
    await takeOver(db, fenced);
    const sizes: number[] = [];
    let questions = 0;
    const journal = journalOn(
      meddled(db, async (query, run) => {
        if (isAppend(query)) sizes.push(entriesIn(query.values).length);
        else if (questions++ === 0) throw new AppError('DATABASE_UNAVAILABLE');
        return run();
      }),
    );
    expect(await Promise.all([fresh, fenced].map((stream) => append(journal, anEntry(stream, 1))))).toEqual([
      'committed',
      'fenced',
    ]);
    expect(sizes).toEqual([2, 2]);
    expect(await append(journal, anEntry(fresh, 2))).toBe('committed');
  });

  test('[JO9] connections killed at random during commits: every entry is there once, in order', {
    timeout: 20_000,
  }, async () => {
    const application = `killed-${randomInt(1e9)}`;
    const fragile = await postgres.open({ url: `${url}&application_name=${application}`, poolMax: 2 });
    const journal = journalOn(fragile);
    const made = await streams(5);
    const kill = sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${application}`;
    const kills: Promise<unknown[]>[] = [];
    const write = async (stream: number): Promise<void> => {
      for (let version = 1; version <= 60; version++) {
        const outcome = append(journal, anEntry(stream, version));
        if (randomInt(8) === 0) kills.push(turn().then(() => db.query(kill)));
        expect(await outcome).toBe('committed');
      }
    };
    await Promise.all(made.map(write));
    expect((await Promise.all(kills)).flat().length).toBeGreaterThan(5);
    for (const stream of made) expect(await versionsOf(stream)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  });

  test('[JO9] closing gives up what waits for a database that is away', async () => {
    const journal = journalOn(
      meddled(db, async () => {
        throw new AppError('DATABASE_UNAVAILABLE');
      }),
    );
    const waiting = append(journal, anEntry(await aStream(db), 1));
    await turn();
    journal.close();
    await expect(waiting).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await expect(append(journal, anEntry(1, 1))).rejects.toMatchObject({ code: 'SERVER_STOPPING' });
  });
});

describe('trouble with one stream', () => {
  test('[JO5] an actor that was dropped during an append and claimed again here appends under its new epoch meanwhile', async () => {
    const { db: slow, sizes, go } = stopAndGo();
    const journal = journalOn(slow);
    const [stream, other] = (await streams(2)) as [number, number];
    const busy = append(journal, anEntry(other, 1));
    await turn();
    const old = append(journal, anEntry(stream, 1));
    const epoch = await takeOver(db, stream);
    const fresh = append(journal, anEntry(stream, 1, { epoch, payload: new Uint8Array([7]) }));
    expect(await untilDone([busy, old, fresh], go)).toEqual(['committed', 'fenced', 'committed']);
    expect(sizes).toEqual([1, 1, 1]); // never both in one statement, whose answer names streams only
  });

  test('[JO10] a stranger who holds one actor’s row holds up that actor only', async () => {
    const journal = journalOn(db);
    const [held, free] = (await streams(2)) as [number, number];
    let isHeldDone = false;
    const done = await db.transaction(async (tx) => {
      await tx.query(sql`select from actor_owner where stream = ${held} for update`);
      const onHeld = append(journal, anEntry(held, 1)).finally(() => {
        isHeldDone = true;
      });
      for (let version = 1; version <= 20; version++) expect(await append(journal, anEntry(free, version))).toBe('committed');
      expect(isHeldDone).toBe(false);
      return { onHeld };
    });
    expect(await done.onHeld).toBe('committed');
    expect(await versionsOf(held)).toEqual([1]);
  });

  test('[JO16] what is given up while it is tried again is not tried once more', async () => {
    const { db: slow, sizes, go } = stopAndGo();
    let underWay = 0;
    const watched = meddled(slow, async (_, run) => {
      underWay += 1;
      return run().finally(() => {
        underWay -= 1;
      });
    });
    const clock = manualClock();
    const journal = new SqlJournal({ db: watched, clock: { ...clock, soon: (task) => setImmediate(task) }, log: silentLog });
    const stream = await aStream(db);
    const tries = async (count: number): Promise<void> => {
      while (sizes.length < count) {
        clock.advance(100);
        go();
        await turn();
      }
    };
    await db.transaction(async (tx) => {
      await tx.query(sql`select from actor_owner where stream = ${stream} for update`);
      const onHeld = append(journal, anEntry(stream, 1));
      await tries(3); // the row is locked each time, and the third is under way
      journal.close();
      await expect(onHeld).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      go();
      for (let idle = 0; idle < 10; idle = underWay === 0 ? idle + 1 : 0) await turn(); // what became of it has been asked about, too
      clock.advance(1_000);
      await turn();
      expect(sizes).toHaveLength(3);
    });
    expect(await versionsOf(stream)).toEqual([]);
  });

  test('[JO10] an entry that the server refuses fails alone', async () => {
    const journal = journalOn(db);
    const [good, bad] = (await streams(2)) as [number, number];
    const [first, second] = await Promise.allSettled([
      append(journal, anEntry(good, 1)),
      append(journal, anEntry(bad, 1, { count: 2 ** 31 })), // no integer of Postgres
    ]);
    expect(first).toEqual({ status: 'fulfilled', value: 'committed' });
    expect(second.status === 'rejected' && second.reason).toBeInstanceOf(SqlError);
  });

  test('[JO15] what one appender throws when it is told is no fault of the others: each is told once', async () => {
    const journal = journalOn(db);
    const [one, other] = (await streams(2)) as [number, number];
    const told: number[] = [];
    journal.append(anEntry(one, 1), {
      appended: ({ stream }) => {
        told.push(stream);
        throw new Error('a bug');
      },
      notAppended: ({ stream }) => void told.push(stream),
    });
    expect(await append(journal, anEntry(other, 1))).toBe('committed');
    expect(await append(journal, anEntry(one, 2))).toBe('committed'); // it was told after all of it was settled
    expect(told).toEqual([one]);
  });

  test('[JO11] a damaged row makes its stream unreadable, not wrong', async () => {
    const journal = journalOn(db);
    const stream = await aStream(db);
    for (const version of [1, 2, 3]) await append(journal, anEntry(stream, version));
    await db.query(sql`update journal set payload = set_byte(payload, 0, 0) where stream = ${stream} and version = 2`);
    await expect(journal.readAfter(stream, 0)).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
    expect(await journal.readAfter(stream, 2)).toHaveLength(1);
  });

  test('[JO11] the checksum covers the numbers of a row as well as its payload', () => {
    const entry = anEntry(1, 2);
    const others = [{ stream: 2 }, { version: 3 }, { epoch: 2 }, { count: 2 }, { payload: new Uint8Array() }];
    for (const other of others) expect(entryCrc({ ...entry, ...other })).not.toBe(entryCrc(entry));
    expect(entryCrc({ ...entry })).toBe(entryCrc(entry));
  });

  test('[JO12] deleting the room takes its journal along, and fences an append that comes later', async () => {
    const journal = journalOn(db);
    const stream = await aStream(db);
    await append(journal, anEntry(stream, 1));
    await db.query(sql`delete from rooms where pk = ${stream}`);
    expect(await append(journal, anEntry(stream, 2))).toBe('fenced');
    expect(await db.query(sql`select from journal where stream = ${stream}`)).toEqual([]);
  });

  test('[JO12] a delete waits for an append on its way and takes that along too', async () => {
    const stream = await aStream(db);
    let deleted: Promise<unknown> = Promise.resolve();
    await db.transaction(async (tx) => {
      expect(await append(journalOn(tx), anEntry(stream, 1))).toBe('committed');
      deleted = db.query(sql`delete from rooms where pk = ${stream}`);
      await untilBlocked(db);
    });
    await deleted;
    expect(await db.query(sql`select from journal where stream = ${stream}`)).toEqual([]);
  });
});

test('[JO13] more than one page of rows is read whole', async () => {
  const journal = journalOn(db);
  const stream = await aStream(db);
  const entries = Array.from({ length: 2_001 }, (_, index) => anEntry(stream, index + 1));
  const column = (pick: (entry: (typeof entries)[number]) => number): number[] => entries.map(pick);
  await db.query(sql`
    insert into journal (stream, version, count, epoch, crc, payload)
    select ${stream}, v, 1, 1, crc, convert_to('change ' || v, 'UTF8')
      from unnest(${column(({ version }) => version)}::bigint[], ${column(entryCrc)}::int[]) as e (v, crc)`);
  const read = await journal.readAfter(stream, 0);
  expect([read.length, read.at(-1)?.version]).toEqual([2_001, 2_001]);
});
