/** What every outbox must do. */
import { describe, expect, test } from 'vitest';
import type { Outbox, OutboxConsumer, OutboxEvent } from '../../src/kernel/persistence/outbox.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';

export interface OutboxUnderTest {
  readonly db: Sql;
  /** A worker that relays to this consumer, started. */
  aWorker(consumers: Readonly<Record<string, OutboxConsumer>>): Promise<Outbox>;
  /** Resolves when no event is left. */
  untilEmpty(): Promise<void>;
}

/** A consumer that does events one after the other. */
function eachOf(work: (event: OutboxEvent, tx: Sql) => unknown): OutboxConsumer {
  return async (events, tx) => {
    for (const event of events) await work(event, tx);
  };
}

export function outboxContract(name: string, open: () => Promise<OutboxUnderTest>): void {
  describe(`outbox: ${name}`, () => {
    test('[OB1] an event reaches its consumer after its transaction has committed, with its payload', async () => {
      const { db, aWorker, untilEmpty } = await open();
      const seen: unknown[] = [];
      const outbox = await aWorker({
        'room.made': eachOf(({ type, payload }) => seen.push([type, payload])),
      });
      await db.transaction(async (tx) => {
        await outbox.add(tx, { type: 'room.made', payload: { id: 'a', tags: ['x'] } });
        outbox.nudge();
        expect(seen).toEqual([]);
      });
      outbox.nudge();
      await untilEmpty();
      expect(seen).toEqual([['room.made', { id: 'a', tags: ['x'] }]]);
    });

    test('[OB1] an event of a transaction that was rolled back never happened', async () => {
      const { db, aWorker, untilEmpty } = await open();
      const seen: unknown[] = [];
      const outbox = await aWorker({ 'room.made': eachOf((event) => seen.push(event)) });
      const failing = db.transaction(async (tx) => {
        await outbox.add(tx, { type: 'room.made', payload: {} });
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      outbox.nudge();
      await untilEmpty();
      expect(seen).toEqual([]);
    });

    test('[OB2] what a consumer writes commits with the removal of the event: once, though it fails at first', async () => {
      const { db, aWorker, untilEmpty } = await open();
      let attempts = 0;
      const outbox = await aWorker({
        'room.made': eachOf(async ({ payload }, tx) => {
          await tx.query(sql`insert into rooms (id) values (${String(payload.id)} || ${++attempts}::text)`);
          if (attempts === 1) throw new Error('not yet');
        }),
      });
      await outbox.add(db, { type: 'room.made', payload: { id: 'made ' } });
      outbox.nudge();
      await untilEmpty();
      expect(await db.query(sql`select id from rooms where id like 'made %'`)).toEqual([{ id: 'made 2' }]);
    });

    test('[OB3] several workers share the events without doing one twice', async () => {
      const { db, aWorker, untilEmpty } = await open();
      const seen: unknown[] = [];
      const consumers = { 'count.up': eachOf(({ payload }) => seen.push(payload.n)) };
      const workers = [await aWorker(consumers), await aWorker(consumers), await aWorker(consumers)];
      await db.query(
        sql`insert into outbox (type, payload) select 'count.up', jsonb_build_object('n', n) from generate_series(1, 60) n`,
      );
      for (const worker of workers) worker.nudge();
      await untilEmpty();
      expect([...seen].sort((left, right) => Number(left) - Number(right))).toEqual(
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
    });

    test('[OB4] an event that fails lets the others pass; one of a type unknown here is left for newer workers', async () => {
      const { db, aWorker } = await open();
      const seen: unknown[] = [];
      const outbox = await aWorker({
        'always.fails': async () => {
          throw new Error('never');
        },
        'room.made': eachOf(({ payload }) => seen.push(payload)),
      });
      await outbox.add(db, { type: 'always.fails', payload: {} });
      await outbox.add(db, { type: 'from.the.future', payload: {} });
      await outbox.add(db, { type: 'room.made', payload: { id: 'b' } });
      outbox.nudge();
      while ((await db.query(sql`select from outbox where type = 'room.made'`)).length > 0);
      expect(seen).toEqual([{ id: 'b' }]);
      const left = await db.query(sql`select type from outbox order by type`);
      expect(left).toEqual([{ type: 'always.fails' }, { type: 'from.the.future' }]);
      await db.query(sql`delete from outbox`);
    });

    test('[OB6] of events that were written together, those whose type was registered first go first', async () => {
      const { db, aWorker, untilEmpty } = await open();
      const seen: unknown[] = [];
      const note = eachOf(({ type, payload }) => seen.push(`${type} ${payload.n}`));
      const outbox = await aWorker({ first: note, second: note });
      await db.transaction(async (tx) => {
        for (const n of [1, 2, 3]) await outbox.add(tx, { type: 'second', payload: { n } }, { type: 'first', payload: { n } });
      });
      outbox.nudge();
      await untilEmpty();
      expect(seen).toEqual(['first 1', 'first 2', 'first 3', 'second 1', 'second 2', 'second 3']);
    });

    test('[OB10] what a consumer returns runs once the removal has committed, and not when it did not', async () => {
      const { db, aWorker, untilEmpty } = await open();
      const seen: unknown[] = [];
      let attempts = 0;
      const outbox = await aWorker({
        'room.made': async (events, tx) => {
          if (++attempts === 1) await tx.query(sql`set transaction read only`); // the removal fails
          return () => seen.push([attempts, events.length]);
        },
      });
      await outbox.add(db, { type: 'room.made', payload: {} });
      outbox.nudge();
      await untilEmpty();
      expect(seen).toEqual([[2, 1]]);
    });

    test('[OB9] while its consumer works, an event is in the outbox, to be looked at', async () => {
      const { db, aWorker, untilEmpty } = await open();
      const seen: unknown[] = [];
      const outbox = await aWorker({
        'room.made': eachOf(async ({ id }, tx) => seen.push(await tx.query(sql`select id from outbox where id = ${id}`))),
      });
      await outbox.add(db, { type: 'room.made', payload: {} }, { type: 'room.made', payload: {} });
      outbox.nudge();
      await untilEmpty();
      expect(seen).toEqual([[{ id: expect.any(Number) }], [{ id: expect.any(Number) }]]);
    });

    test('[OB8] what a consumer writes to the outbox is relayed too, without being told of, and so is more than fits one pass', async () => {
      const { db, aWorker, untilEmpty } = await open();
      const seen: unknown[] = [];
      const outbox: Outbox = await aWorker({
        second: eachOf(({ payload }) => seen.push(payload.n)),
        first: eachOf(({ payload }, tx) => outbox.add(tx, { type: 'second', payload })),
      });
      await db.query(sql`
        insert into outbox (type, payload) select 'first', jsonb_build_object('n', n) from generate_series(1, 250) n`);
      outbox.nudge();
      while (seen.length < 250) await new Promise((resolve) => setImmediate(resolve));
      await untilEmpty();
      expect(seen).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
    });

    test('[OB7] of many that are relayed together, one that fails waits alone', async () => {
      const { db, aWorker } = await open();
      let largest = 0;
      const outbox = await aWorker({
        'room.made': async (events, tx) => {
          largest = Math.max(largest, events.length);
          for (const { payload } of events) await tx.query(sql`insert into rooms (id) values (${String(payload.id)})`);
          if (events.some(({ payload }) => payload.id === 'together 7')) throw new Error('not this one');
        },
      });
      await db.query(sql`
        insert into outbox (type, payload) select 'room.made', jsonb_build_object('id', 'together ' || n) from generate_series(1, 60) n`);
      outbox.nudge();
      while ((await db.query(sql`select from outbox offset 1`)).length > 0);
      const made = await db.query(sql`select id from rooms where id like 'together %'`);
      expect(made).toHaveLength(59);
      expect(largest).toBe(60);
      expect(await db.query(sql`select payload, attempts from outbox`)).toEqual([{ payload: { id: 'together 7' }, attempts: 1 }]);
      await db.query(sql`delete from outbox`);
    });
  });
}
