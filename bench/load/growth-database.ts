/**
 * Curve: rooms in the database, nearly all asleep, with threads in them and notifications of these.
 * Expected: to make, list and delete a room, and what a browser asks for its user again and again, cost the same among 100,000 rooms as among 1,000,
 * because each is looked up.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Liveblocks } from '@liveblocks/node';
import pg from 'pg';
import type { Case, Outcome } from '../case.ts';
import { GROWTH } from '../config.ts';
import { type Metric, percentile } from '../metrics.ts';
import { aDataDir, atrium, startMain } from '../servers/atrium.ts';
import { ask, KEYS, type Question, restUrl } from '../servers/server.ts';

const { databaseRooms, databaseRoomsOfUser, databaseTimes } = GROWTH;
const HOUR_MS = 3_600_000;
const nameOf = (rooms: number): string => `${rooms.toLocaleString('en')} rooms`;
const [FEWEST, MOST] = [nameOf(databaseRooms[0]), nameOf(databaseRooms.at(-1)!)];
const ASKED = ['createMs', 'listMs', 'inboxMs', 'threadsMs', 'deleteMs'] as const satisfies readonly Metric[];

export const growthDatabase: Case = {
  name: 'growth-database',
  question: 'What do calls cost where the database has many rooms, with threads, users and their inboxes?',
  unit: 'requests',
  grows: 'rooms in the database',
  subjects: [atrium],
  peers: [],
  variants: databaseRooms.map((rooms) => ({ name: nameOf(rooms), at: rooms, load: () => askAmong(rooms) })),
  metrics: [...ASKED, 'completeness'],
  targets: ASKED.map((metric) => ({ variant: MOST, metric, against: { variant: FEWEST }, limit: { atMost: 2 } })),
};

const usersAmong = (rooms: number): number => rooms / databaseRoomsOfUser;

/** Starts a server of its own beside the one of the trial, which does nothing: what is in the database is put there past it. */
async function askAmong(rooms: number): Promise<Outcome> {
  const dataDir = await aDataDir();
  const { running } = await startMain({ DATA_DIR: dataDir });
  try {
    await fill(join(dataDir, 'postgres'), rooms);
    const call = (method: string, path: string, more: Partial<Question> = {}): Promise<void> =>
      ask(running, { method, path, ...more });
    const since = encodeURIComponent(new Date(Date.now() - HOUR_MS).toISOString());
    const userOf = (time: number): string => `user-${(time * 7) % usersAmong(rooms)}`;
    const backend = new Liveblocks({ secret: KEYS.secretKey, baseUrl: restUrl(running, '') });
    const tokens: string[] = [];
    for (let time = 0; time < databaseTimes; time += 1) {
      const { body } = await backend.identifyUser({ userId: userOf(time), groupIds: [] });
      tokens.push((JSON.parse(body) as { token: string }).token);
    }
    // A user's token stands where a back end has its key.
    const asUser = (path: string) => (time: number) => call('GET', path, { secretKey: tokens[time]! });
    const values = {
      createMs: await p50Of((time) => call('POST', '/v2/rooms', { body: { id: `new-${time}`, defaultAccesses: [] } })),
      listMs: await p50Of((time) => call('GET', `/v2/rooms?userId=${userOf(time)}`)),
      inboxMs: await p50Of(asUser(`/v2/c/inbox-notifications/delta?since=${since}`)),
      threadsMs: await p50Of(asUser('/v2/c/threads')),
      deleteMs: await p50Of((time) => call('DELETE', `/v2/rooms/room-${2 * time + 2}`)),
    };
    return { values: { ...values, completeness: 1 }, problems: [] };
  } finally {
    await running.stop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** One after the other; the first half of them makes code and caches hot. */
async function p50Of(call: (time: number) => Promise<void>): Promise<number> {
  const ms: number[] = [];
  for (let time = 0; time < databaseTimes; time += 1) {
    const startedAtMs = performance.now();
    await call(time);
    ms.push(performance.now() - startedAtMs);
  }
  return percentile(Float64Array.from(ms.slice(databaseTimes / 2)).sort(), 0.5);
}

/** Each second room has two threads of two comments, of which two users take part in each; all of it is older than what is asked for. */
async function fill(host: string, rooms: number): Promise<void> {
  const db = new pg.Client({ host, user: 'atrium', database: 'postgres' });
  await db.connect();
  const user = (number: string): string => `'user-' || (${number}) % ${usersAmong(rooms)}`;
  const old = (number: string): string => `now() - interval '1 day' - (${number}) * interval '1 second'`;
  try {
    for (const statement of [
      `with made as (
         insert into rooms (id, created_at, metadata, default_accesses, users_accesses)
         select 'room-' || n, ${old('n')}, jsonb_build_object('kind', 'k' || n % 500), case when n % 3 = 0 then '["*:write"]' else '[]' end::jsonb,
                jsonb_build_object(${user('n')}, '["*:write"]'::jsonb, ${user('n * 7')}, '["*:read"]'::jsonb)
           from generate_series(1, ${rooms}) n returning pk)
       insert into actor_owner (stream) select pk from made`,
      `insert into threads (room_pk, id, created_by, created_at, updated_at, changed_at, visibility, comment_count, content_bytes)
       select pk, 'th_' || pk || '_' || t, ${user('pk + t')}, ${old('pk')}, ${old('pk')}, ${old('pk')}, 'public', 2, 200
         from rooms, generate_series(1, 2) t where pk % 2 = 0`,
      `insert into comments (thread_pk, id, user_id, created_at, body, content, has_mentions)
       select pk, 'cm_' || pk || '_' || c, ${user('pk + c')}, created_at, '{"version":1,"content":[]}', 'hello', false
         from threads, generate_series(1, 2) c`,
      `insert into thread_subscriptions (thread_pk, user_id, takes_part, changed_at)
       select pk, ${user('pk + c')}, true, changed_at from threads, generate_series(1, 2) c`,
      `insert into inbox_notifications (id, user_id, kind, room_pk, thread_pk, subject_id, notified_at, changed_at)
       select 'in_' || pk, ${user('pk + 1')}, 'thread', room_pk, pk, id, created_at, changed_at from threads`,
      'vacuum analyze',
    ])
      await db.query(statement);
  } finally {
    await db.end();
  }
}
