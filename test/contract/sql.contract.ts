/** What every SQL adapter must do. */
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { isUniqueViolation, named, type Sql, SqlError, sql } from '../../src/kernel/persistence/sql.ts';

/** `open` gives a database with the schema; called once per test, with short timeouts for locks (100 ms). */
export function sqlContract(name: string, open: () => Promise<Sql>): void {
  describe(`sql: ${name}`, () => {
    test('[PG1] values come back in the forms that the port names', async () => {
      const db = await open();
      const [row] = await db.query(sql<Record<string, unknown>>`
        select ${9_007_199_254_740_991}::int8 as n, ${new Uint8Array([0, 255, 92])}::bytea as b, ${JSON.stringify(['x'])}::jsonb as j,
               timestamptz '2026-01-02 03:04:05.678+02' as t, ${[1, 2]}::bigint[] = array[1, 2]::bigint[] as a, null as nothing`);
      expect(row).toMatchObject({ n: 9_007_199_254_740_991, j: ['x'], t: '2026-01-02T01:04:05.678Z', a: true, nothing: null });
      expect([...(row!.b as Uint8Array)]).toEqual([0, 255, 92]);
    });

    test('[PG1] arrays arrive as they were sent, whatever is in them', async () => {
      const db = await open();
      const whole = [-1, 0, Number.MAX_SAFE_INTEGER];
      const texts = ['1', '{2}', 'a "b", \\c', ''];
      const [row] = await db.query(sql<Record<string, unknown>>`
        select ${whole}::float8[] as whole, ${[1.5, 2]}::float8[] as parts, ${texts}::text[] as texts, ${[]}::text[] as none, ${[12]}::text[] as told`);
      expect(row).toEqual({ whole, parts: [1.5, 2], texts, none: [], told: ['12'] });
    });

    test('[PG1] an int8 that a number cannot hold is an error, not another number', async () => {
      const db = await open();
      await expect(db.query(sql`select 9007199254740993::int8`)).rejects.toThrow(RangeError);
    });

    test('[PG2] a unique violation is told with its constraint, and others are not taken for it', async () => {
      const db = await open();
      await db.query(sql`insert into rooms (id) values ('a')`);
      const twice = await thrownBy(db.query(sql`insert into rooms (id) values ('a')`));
      expect(twice).toBeInstanceOf(SqlError);
      expect([
        isUniqueViolation(twice),
        isUniqueViolation(twice, 'rooms_id_key'),
        isUniqueViolation(twice, 'rooms_pkey'),
      ]).toEqual([true, true, false]);
      expect(isUniqueViolation(await thrownBy(db.query(sql`insert into rooms (id) values ('')`)))).toBe(false);
      expect(isUniqueViolation(new AppError('ROOM_NOT_FOUND'))).toBe(false);
    });

    test('[PG3] a transaction commits as a whole', async () => {
      const db = await open();
      const result = await db.transaction(async (tx) => {
        await tx.query(sql`insert into rooms (id) values ('a')`);
        expect(await roomIds(db)).toEqual([]);
        await tx.query(sql`insert into rooms (id) values ('b')`);
        return 'done';
      });
      expect([result, await roomIds(db)]).toEqual(['done', ['a', 'b']]);
    });

    test('[PG3] a throw rolls it back and is thrown on as it was', async () => {
      const db = await open();
      const refusal = new AppError('ROOM_NOT_FOUND', { roomId: 'a' });
      const thrown = await thrownBy(
        db.transaction(async (tx) => {
          await tx.query(sql`insert into rooms (id) values ('a')`);
          throw refusal;
        }),
      );
      expect(thrown).toBe(refusal);
      expect(await roomIds(db)).toEqual([]);
    });

    test('[PG3] a transaction inside a transaction undoes only itself', async () => {
      const db = await open();
      await db.transaction(async (tx) => {
        await tx.query(sql`insert into rooms (id) values ('a')`);
        const again = tx.transaction((inner) => inner.query(sql`insert into rooms (id) values ('b'), ('a')`));
        expect(isUniqueViolation(await thrownBy(again))).toBe(true);
        await tx.transaction((inner) => inner.query(sql`insert into rooms (id) values ('c')`));
      });
      expect(await roomIds(db)).toEqual(['a', 'c']);
    });

    test('[PG4] a transaction in which a failure was swallowed does not pretend to have committed', async () => {
      const db = await open();
      const careless = db.transaction(async (tx) => {
        await tx.query(sql`insert into rooms (id) values ('a')`);
        await tx.query(sql`insert into rooms (id) values ('a')`).catch(() => undefined);
      });
      await expect(careless).rejects.toThrow('swallowed');
      expect(await roomIds(db)).toEqual([]);
    });

    test('[PG4] a statement that comes after the end of its transaction is refused, not run in another one', async () => {
      const db = await open();
      const leaked = await db.transaction(async (tx) => tx);
      await expect(leaked.query(sql`insert into rooms (id) values ('a')`)).rejects.toThrow('after its transaction');
      expect(await roomIds(db)).toEqual([]);
    });

    test('[PG5] a lock that is not to be had is DATABASE_UNAVAILABLE after a moment, and the next statement works', async () => {
      const db = await open();
      await db.query(sql`insert into rooms (id) values ('a')`);
      await db.transaction(async (tx) => {
        await tx.query(sql`select from rooms where id = 'a' for update`);
        const blocked = await thrownBy(db.query(sql`update rooms set organization_id = 'x' where id = 'a'`));
        expect(blocked).toMatchObject({ code: 'DATABASE_UNAVAILABLE', facts: { sqlState: '55P03' } });
      });
      expect(await roomIds(db)).toEqual(['a']);
    });

    test('[PG5] a connection cut off by the server is DATABASE_UNAVAILABLE for who used it, and for nobody else', async () => {
      const db = await open();
      const cutOff = db.transaction(async (tx) => {
        const [{ pid }] = (await tx.query(sql<{ pid: number }>`select pg_backend_pid() as pid`)) as [{ pid: number }];
        await db.query(sql`select pg_terminate_backend(${pid})`);
        await tx.query(sql`insert into rooms (id) values ('a')`);
      });
      await expect(cutOff).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      expect(await roomIds(db)).toEqual([]);
    });

    test('[PG6] statements run in READ COMMITTED, alone and in transactions: the fence of the journal holds in no other level', async () => {
      const db = await open();
      const level = sql<{ level: string }>`select current_setting('transaction_isolation') as level`;
      expect(await db.query(level)).toEqual([{ level: 'read committed' }]);
      expect(await db.transaction((tx) => tx.query(level))).toEqual([{ level: 'read committed' }]);
    });

    test('[PG7] a named statement takes new values each time', async () => {
      const db = await open();
      const add = (by: number) => named('contract.add', sql<{ sum: number }>`select 1 + ${by}::int as sum`);
      const sums = [];
      for (const by of [1, 2, 3]) sums.push(...(await db.query(add(by))));
      expect(sums).toEqual([{ sum: 2 }, { sum: 3 }, { sum: 4 }]);
    });
  });
}

async function roomIds(db: Sql): Promise<string[]> {
  return (await db.query(sql<{ id: string }>`select id from rooms order by id`)).map(({ id }) => id);
}

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('nothing was thrown');
    },
    (error: unknown) => error,
  );
}
