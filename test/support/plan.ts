/** How Postgres goes about the statements of some work. */
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';

/** Other rooms, enough for it not to read all of them. */
export async function addManyRooms(db: Sql): Promise<void> {
  await db.query(sql`insert into rooms (id) select 'many-' || n from generate_series(1, 20000) n`);
  await db.query(sql`analyze`);
}

/** The lines of all plans, of ways other than these where there are others. The work gets no rows. */
export async function planOf(
  db: Sql,
  work: (explaining: Sql) => Promise<unknown>,
  { without = [] }: { readonly without?: readonly string[] } = {},
): Promise<string> {
  return db.transaction(async (tx) => {
    for (const name of without) await tx.query(sql`select set_config(${name}, 'off', true)`);
    const plan: unknown[] = [];
    const explaining: Sql = {
      async query(query) {
        plan.push(...(await tx.query({ text: `explain ${query.text}`, values: query.values })));
        return [];
      },
      change: (query) => tx.change(query),
      transaction: (inner) => inner(explaining),
    };
    await work(explaining);
    return plan.map((line) => (line as { 'QUERY PLAN': string })['QUERY PLAN']).join('\n');
  });
}
