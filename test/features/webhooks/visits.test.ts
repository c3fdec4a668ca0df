import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { asRoomId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { WAITING_MAX } from '../../../src/features/webhooks/delivery/queries.ts';
import type { WebhookRow } from '../../../src/features/webhooks/endpoints/queries.ts';
import { updateWebhook } from '../../../src/features/webhooks/endpoints/queries.ts';
import { VisitNotes } from '../../../src/features/webhooks/visits/visit-notes.ts';
import { RoomEvents } from '../../../src/features/webhooks/watching/room-events.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import type { Visit, WatchedRoom } from '../../../src/room/room-watch.ts';
import { until } from '../../support/e2e/until.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { usePostgres } from '../../support/postgres.ts';
import { meddled } from '../../support/streams.ts';
import { aHook, aRoom, told } from './hooks.ts';

const postgres = usePostgres();
let db: PostgresSql;
let hook: WebhookRow;
let place: { pk: number; id: string };
const open: VisitNotes[] = [];
beforeAll(async () => {
  db = await postgres.open();
  await db.query(sql`
    insert into worker_lease (incarnation, address, lease_until) values (${incarnation}, 'a:1', now() + interval '1 hour')`);
});
beforeEach(async () => {
  await db.query(sql`truncate webhooks, webhook_deliveries cascade`);
  await db.query(sql`truncate webhook_visits`);
  hook = await aHook(db, { subscribedEvents: ['userEntered', 'userLeft'] });
  place = await aRoom(db);
});
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())));

function aWorker(clock = systemClock): VisitNotes {
  const worker = new VisitNotes({ db, clock, log: silentLog, projectId: 'p', nudge: () => undefined });
  worker.wanted('on');
  open.push(worker);
  return worker;
}

/** A room that is awake on a worker, with what the room itself would do. */
class Room implements WatchedRoom {
  readonly id = asRoomId(place.id);
  readonly stream = place.pk;
  readonly people = new Map<string, Visit>();
  readonly wishes: string[] = [];
  readonly worker: VisitNotes;

  constructor(worker: VisitNotes) {
    this.worker = worker;
    worker.opened(this);
  }

  watchVisits(wish: 'on' | 'off'): void {
    this.wishes.push(wish);
  }

  visits(): Visit[] {
    return [...this.people.values()];
  }

  enter(key: string, connectionId: number): void {
    const visit = { key, connectionId, userId: key, userInfo: null };
    this.people.set(key, visit);
    this.worker.entered(this, visit);
  }

  leave(key: string): void {
    const visit = this.people.get(key)!;
    this.people.delete(key);
    this.worker.left(this, visit);
  }
}

/** Each as `+ann 1 (1)`: who, under which connection, and how many are there then. */
const lines = async (): Promise<string[]> =>
  (await told(db, hook)).map(
    ({ type, data }) => `${type === 'userEntered' ? '+' : '-'}${data.userId} ${data.connectionId} (${data.numActiveUsers})`,
  );
const untilTold = (...expected: string[]) =>
  until('that is told', async () => {
    expect(await lines()).toEqual(expected);
    return true;
  });
const settled = () => new Promise((resolve) => setTimeout(resolve, 150));

const incarnation = '11111111-1111-4111-8111-111111111111';
const owned = (owner: string | null) => db.query(sql`update actor_owner set owner = ${owner}::uuid where stream = ${place.pk}`);
/** Were in the room, which nobody has owned for a minute. */
const haveLeft = (count: number) =>
  db.query(sql`
    insert into webhook_visits (room_pk, session_id, connection_id, orphaned_at)
    select ${place.pk}::bigint, 's' || n, n, now() - interval '1 minute' from generate_series(1, ${count}::int) n`);

describe('visits', () => {
  test('[WV1] are told of in order, with the number of people after each', async () => {
    const room = new Room(aWorker());
    room.enter('ann', 1);
    room.enter('bob', 2);
    room.leave('ann');
    room.enter('cat', 3);
    room.enter('ann', 4);
    room.leave('bob');
    await untilTold('+ann 1 (1)', '+bob 2 (2)', '-ann 1 (1)', '+cat 3 (2)', '+ann 4 (3)', '-bob 2 (2)');
  });

  test('[WV1] of hundreds at once each is told, and counted', async () => {
    const room = new Room(aWorker());
    for (let n = 1; n <= 600; n += 1) room.enter(`u${n}`, n);
    await until('all are told', async () => (await lines()).length === 600);
    expect(await lines()).toEqual(Array.from({ length: 600 }, (_, n) => `+u${n + 1} ${n + 1} (${n + 1})`));
  });

  test('[WV2] who is back in the room of another worker did not leave, and leaves under the number of the entry', async () => {
    const before = new Room(aWorker());
    before.enter('ann', 1);
    before.enter('bob', 2);
    await untilTold('+ann 1 (1)', '+bob 2 (2)');
    const after = new Room(aWorker()); // the worker of the other is dead: nothing was said
    after.enter('ann', 1_001);
    after.enter('cat', 1_002);
    await untilTold('+ann 1 (1)', '+bob 2 (2)', '+cat 1002 (3)');
    after.leave('ann');
    await untilTold('+ann 1 (1)', '+bob 2 (2)', '+cat 1002 (3)', '-ann 1 (2)');
  });

  test('[WV3] who did not come back has left, once others would be back', async () => {
    const before = new Room(aWorker());
    before.enter('ann', 1);
    before.enter('bob', 2);
    await untilTold('+ann 1 (1)', '+bob 2 (2)');
    const clock: ManualClock = manualClock(Date.now());
    const after = new Room(aWorker(clock));
    after.enter('ann', 1_001);
    clock.advance(50);
    await settled();
    clock.advance(19_000);
    await settled();
    expect(await lines()).toHaveLength(2);
    clock.advance(2_000);
    await settled();
    clock.advance(50);
    await untilTold('+ann 1 (1)', '+bob 2 (2)', '-bob 2 (1)');
  });

  test('[WV4] everybody in a room that nobody has owned for half a minute has left', async () => {
    const worker = aWorker();
    const room = new Room(worker);
    room.enter('ann', 1);
    await untilTold('+ann 1 (1)');
    await owned(incarnation);
    await worker.sweep();
    const orphaned = async () => (await db.query(sql`select 1 from webhook_visits where orphaned_at is not null`)).length;
    expect(await orphaned()).toBe(0);
    await owned(null);
    await worker.sweep();
    expect(await orphaned()).toBe(1);
    await owned(incarnation); // somebody has woken it in time
    await worker.sweep();
    expect(await orphaned()).toBe(0);
    await owned(null);
    await worker.sweep();
    expect(await lines()).toHaveLength(1);
    await db.query(sql`update webhook_visits set orphaned_at = now() - interval '31 seconds'`);
    await worker.sweep();
    await untilTold('+ann 1 (1)', '-ann 1 (0)');
  });

  test('[WV8] however many they are, they have left at once, and those that stay are looked through once', async () => {
    await haveLeft(1_700);
    let marks = 0;
    const watched = meddled(db, (query, run) => {
      if (query.text.includes('set orphaned_at = case')) marks += 1;
      return run();
    });
    const clock = manualClock(Date.now());
    const others = { nudge: () => undefined, tellOthers: async () => false };
    const events = new RoomEvents({ db: watched, clock, log: silentLog, projectId: 'p', workerName: 'w', ...others });
    await events.start();
    clock.advance(30_000);
    await until('all are told', async () => (await lines()).length === 1_700);
    await events.close();
    expect(marks).toBe(1);
  });

  test('[WV8] a room that somebody wakes meanwhile is not left', async () => {
    await haveLeft(700);
    const worker = aWorker();
    expect(await worker.sweep()).toBe(true);
    await owned(incarnation);
    expect([await worker.sweep(), (await lines()).length]).toEqual([false, 500]);
  });

  test('[WV8] while much waits for a webhook that wants to hear of them they have left some at a time', async () => {
    await haveLeft(1_100);
    const many = WAITING_MAX / 2;
    await db.query(sql`
      insert into webhook_deliveries (webhook_pk, id, body, due_at)
      select ${hook.pk}::bigint, 'msg_' || n, '{}', now() from generate_series(1, ${many}::int) n`);
    const worker = aWorker();
    expect([await worker.sweep(), (await told(db, hook)).length]).toEqual([false, many + 500]);
    await db.query(sql`update webhook_deliveries set due_at = null`);
    expect([await worker.sweep(), await worker.sweep()]).toEqual([true, false]);
    expect(await told(db, hook)).toHaveLength(many + 1_100);
  });

  test('[WV5] who was there before anybody wanted to know is counted, and told of when leaving', async () => {
    const worker = aWorker();
    worker.wanted('off');
    const room = new Room(worker);
    room.people.set('ann', { key: 'ann', connectionId: 1, userId: 'ann', userInfo: null });
    worker.wanted('on');
    room.enter('bob', 2);
    room.leave('ann');
    await untilTold('+bob 2 (2)', '-ann 1 (1)');
    expect(room.wishes).toEqual(['on']);
  });

  test('[WV6] when nobody wants to know, rooms are told so, and nothing is kept', async () => {
    const worker = aWorker();
    const room = new Room(worker);
    room.enter('ann', 1);
    await untilTold('+ann 1 (1)');
    await updateWebhook(db, hook.id, { disabled: true });
    worker.wanted('off');
    await worker.sweep();
    expect([room.wishes, await db.query(sql`select 1 from webhook_visits`)]).toEqual([['on', 'off'], []]);
  });

  test('[WV7] of a room that is deleted nothing more is told', async () => {
    const room = new Room(aWorker());
    room.enter('ann', 1);
    await untilTold('+ann 1 (1)');
    await db.query(sql`delete from rooms where pk = ${place.pk}`);
    room.leave('ann');
    room.enter('bob', 2);
    await settled();
    expect(await lines()).toEqual(['+ann 1 (1)']);
  });
});
