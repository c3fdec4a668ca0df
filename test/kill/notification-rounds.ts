/**
 * Rounds of kill -9 between a comment and its notifications. A back end writes comments, each of which mentions one user of its own, as fast as
 * they are answered; the server is killed while some of them are still in the outbox, and started again. In the end every comment that is there has
 * had its effect once: the tables are asked themselves, where a trigger notes each, because a second one would not show in an inbox.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgres, type PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { silentLog } from '../../src/base/observe.ts';
import { sql } from '../../src/kernel/persistence/sql.ts';
import { Dice } from '../fuzz/dice.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import type { TestServer } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { Ledger, timesThatDiffer, type Verdict } from './ledger.ts';
import { KilledServer, type KillMode } from './server-process.ts';

export interface NotificationRound extends Verdict {
  readonly round: number;
  readonly seed: number;
  readonly mode: KillMode;
  readonly kills: number;
  /** Notifications that were made by the server that came after the kill: their comments were written before. */
  readonly late: number;
  readonly faults: readonly string[];
}

const KEYS = { SECRET_KEY: 'sk_kill_test_000000000000', PUBLIC_KEY: 'pk_kill_test_000000000000' };
const LOAD_MS_MIN = 50;
const LOAD_MS_MAX = 1_500;
const WRITERS = 6;
const DRAINED_TIMEOUT_MS = 60_000;

type Target = Pick<TestServer, 'url' | 'secretKey'>;

export class NotificationRun {
  readonly #process: KilledServer;
  readonly #target: TestServer;

  private constructor(process: KilledServer) {
    this.#process = process;
    this.#target = { url: process.url, secretKey: KEYS.SECRET_KEY } satisfies Target as TestServer;
  }

  static async start(): Promise<NotificationRun> {
    const process = await KilledServer.prepare(KEYS);
    try {
      await process.start();
      const run = new NotificationRun(process);
      await run.#inTables(noteEffects);
      return run;
    } catch (error) {
      await process.dispose();
      throw error;
    }
  }

  async round({ round, seed }: { round: number; seed: number }): Promise<NotificationRound> {
    const dice = new Dice(seed);
    const ledger = new Ledger();
    const roomId = `kill:inbox:${round}`;
    await ask(this.#target, '/v2/rooms', { json: { id: roomId, defaultAccesses: ['*:write'] } });
    let isOver = false;
    let count = 0;
    const nextId = (kind: string): string => `${kind}.${round}.${count++}`;
    const writing = Array.from({ length: WRITERS }, () => this.#write({ roomId, ledger, nextId, isOver: () => isOver }));
    await sleep(LOAD_MS_MIN + dice.below(LOAD_MS_MAX - LOAD_MS_MIN));
    const mode = dice.pick(['server', 'everything'] as const);
    await this.#process.kill(mode);
    isOver = true;
    await Promise.all(writing);
    const isKilledTwice = dice.chance(0.25);
    if (isKilledTwice) {
      this.#process.spawn();
      await sleep(dice.below(1_500));
      await this.#process.kill('server');
    }
    const killedMs = Date.now();
    await this.#process.start();
    const judged = await this.#inTables((db) => judge(db, { roomId, ledger, killedMs }));
    const faults = [...judged.faults, ...this.#process.complaints.splice(0).map((line) => `the server: ${line}`)];
    return { round, seed, mode, kills: isKilledTwice ? 2 : 1, ...judged, faults };
  }

  stop(): Promise<void> {
    return this.#process.dispose();
  }

  /** Threads, replies and edits, one after the other, until the server is gone. */
  async #write({ roomId, ledger, nextId, isOver }: Writing): Promise<void> {
    const call = async (id: string, rest: string, json: object): Promise<string | null> => {
      ledger.wrote(id);
      const answer = await ask(this.#target, roomPath(roomId, rest), { json }).catch(() => null); // killed meanwhile
      if (answer?.status !== 200) return null;
      ledger.acked(id);
      return answer.json.id;
    };
    while (!isOver()) {
      const [first, reply, edit] = [nextId('thread'), nextId('reply'), nextId('edit')];
      const threadId = await call(first, '/threads', { comment: { userId: 'writer', body: mentioning(first) } });
      if (threadId === null) continue;
      // by the same author: who else takes part is mentioned, and would be told of the reply, too
      const commentId = await call(reply, `/threads/${threadId}/comments`, { userId: 'writer', body: mentioning(reply, first) });
      if (commentId !== null)
        await call(edit, `/threads/${threadId}/comments/${commentId}`, { body: mentioning(reply, first, edit) });
    }
  }

  /** The private Postgres of the server, which lives under a new address after each start. */
  async #inTables<Result>(work: (db: PostgresSql) => Promise<Result>): Promise<Result> {
    const lines = (await readFile(join(this.#process.dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8')).split('\n');
    const url = `postgres://atrium@localhost:${lines[3]}/postgres?host=${encodeURIComponent(lines[4]!)}&sslmode=disable`;
    const db = openPostgres({ url, poolMax: 2, log: silentLog });
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  }
}

interface Writing {
  readonly roomId: string;
  readonly ledger: Ledger;
  nextId(kind: string): string;
  isOver(): boolean;
}

const mentioning = (...ids: string[]) => ({
  version: 1,
  content: [{ type: 'paragraph', children: ids.map((id) => ({ type: 'mention', kind: 'user', id })) }],
});

/** Each time that somebody is notified, and each time that the webhooks are to hear of it, is a row, for ever. */
async function noteEffects(db: PostgresSql): Promise<void> {
  for (const text of [
    'create table effects (room_id text, user_id text, what text, at timestamptz default clock_timestamp())',
    `create function note_notification() returns trigger language plpgsql as $$ begin
       insert into effects (room_id, user_id, what) values ((select id from rooms where pk = new.room_pk), new.user_id, 'notification');
       return null; end $$`,
    `create function note_event() returns trigger language plpgsql as $$ begin
       insert into effects (room_id, user_id, what) values (new.payload ->> 'roomId', new.payload ->> 'userId', 'event');
       return null; end $$`,
    `create trigger notes after insert or update of notified_at on inbox_notifications for each row execute function note_notification()`,
    `create trigger notes after insert on outbox for each row when (new.payload ->> 'type' = 'inbox.notified') execute function note_event()`,
  ])
    await db.query({ text, values: [] });
}

interface Judging {
  readonly roomId: string;
  readonly ledger: Ledger;
  readonly killedMs: number;
}

/** Of who is told of a thread, the first is told of the reply, too: they take part by then, and that is another comment. */
async function judge(db: PostgresSql, { roomId, ledger, killedMs }: Judging) {
  await until('the outbox is empty', async () => (await db.query(sql`select id from outbox where type = 'inbox'`)).length === 0, {
    timeoutMs: DRAINED_TIMEOUT_MS,
  });
  const [known] = await db.query(sql<{ ids: string[]; expected: string[] }>`
    with mentions as (
      select m ->> 'id' as id
        from comments c join threads t on t.pk = c.thread_pk join rooms r on r.pk = t.room_pk,
             jsonb_array_elements(c.body -> 'content' -> 0 -> 'children') as m
       where r.id = ${roomId})
    select coalesce(array_agg(distinct id), '{}') as ids, coalesce(array_agg(id), '{}') as expected from mentions`);
  for (const id of known!.ids) ledger.shown(id);
  const effects = await db.query(sql<{ userId: string; what: string; atMs: number }>`
    select user_id as "userId", what, extract(epoch from at)::float8 * 1000 as "atMs" from effects where room_id = ${roomId}`);
  const of = (what: string) => effects.filter((effect) => effect.what === what);
  const [notifications, events] = [of('notification').map(({ userId }) => userId), of('event').map(({ userId }) => userId)];
  const faults = timesThatDiffer(known!.expected, notifications, 'notified').concat(
    timesThatDiffer(notifications, events, 'told to webhooks'),
  );
  const late = of('notification').filter(({ atMs }) => atMs > killedMs).length;
  return { ...ledger.judge([...new Set(notifications)]), late, faults };
}

export function isFineRound({ lost, duplicated, foreign, faults }: NotificationRound): boolean {
  return [lost, duplicated, foreign, faults].every(({ length }) => length === 0);
}

export function lineOfRound({ round, seed, mode, kills, acked, lost, faults, unknown, kept, late }: NotificationRound): string {
  return `round=${round} seed=${seed} kill=${mode}${kills > 1 ? 'Twice' : ''} acked=${acked} lost=${lost.length} faults=${faults.length} unknown=${unknown} kept=${kept} late=${late}`;
}
