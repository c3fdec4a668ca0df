/**
 * Who is in which room as far as webhooks were told. A visit is told of once when it begins and once when it ends, whoever owns the room
 * meanwhile, and the number of people is that of the visits that were told to begin and not yet to end.
 */
import type { JsonObject } from '../../../base/json.ts';
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';

export interface VisitNote {
  /** present: known to be there, and no news. */
  readonly kind: 'entered' | 'left' | 'present';
  readonly roomPk: number;
  readonly key: string;
  readonly connectionId: number;
  readonly userId: string | null;
  readonly userInfo: JsonObject | null;
  readonly at: string;
}

/** Something to be told. */
export interface ToldVisit extends VisitNote {
  readonly kind: 'entered' | 'left';
  readonly roomId: string;
  readonly numActiveUsers: number;
}

interface Applied {
  readonly n: number;
  readonly roomId: string;
  /** In the room before any of them. */
  readonly before: number;
  readonly isNew: boolean | null;
  readonly leftAs: number | null;
  readonly leftUserId: string | null;
  readonly leftUserInfo: JsonObject | null;
}

/** Writes down who came and went, in order; no visit may be named twice. Returns what that makes to be told, in order. */
export async function applyVisits(tx: Sql, notes: readonly VisitNote[]): Promise<ToldVisit[]> {
  const rows = await tx.query(sql<Applied>`
    with batch as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(notes.map((note, n) => ({ n, ...note })))}::jsonb)
        as b (n integer, kind text, "roomPk" bigint, key text, "connectionId" bigint, "userId" text, "userInfo" jsonb)
    ), before as materialized (
      select v.room_pk, count(*)::int as people from webhook_visits v where v.room_pk in (select "roomPk" from batch) group by v.room_pk
    ), came as (
      insert into webhook_visits as v (room_pk, session_id, connection_id, user_id, user_info)
      select r.pk, b.key, b."connectionId", b."userId", b."userInfo"
        from batch b join rooms r on r.pk = b."roomPk" where b.kind <> 'left' order by b.n
      on conflict (room_pk, session_id) do update set orphaned_at = null
      returning v.room_pk, v.session_id, v.xmax = 0 as is_new
    ), went as (
      delete from webhook_visits v using batch b
       where b.kind = 'left' and v.room_pk = b."roomPk" and v.session_id = b.key
      returning v.*
    )
    select b.n, r.id as "roomId", coalesce(before.people, 0) as before, came.is_new as "isNew", went.connection_id as "leftAs",
           went.user_id as "leftUserId", went.user_info as "leftUserInfo"
      from batch b join rooms r on r.pk = b."roomPk"
      left join before on before.room_pk = b."roomPk"
      left join came on came.room_pk = b."roomPk" and came.session_id = b.key
      left join went on went.room_pk = b."roomPk" and went.session_id = b.key
     order by b.n`);
  return toldOf(notes, rows);
}

/** Counts along. */
function toldOf(notes: readonly VisitNote[], rows: readonly Applied[]): ToldVisit[] {
  const people = new Map<number, number>();
  const told: ToldVisit[] = [];
  for (const { n, roomId, before, isNew, leftAs, leftUserId, leftUserInfo } of rows) {
    const note = notes[n]!;
    const { kind, roomPk } = note;
    const isNews = kind === 'left' ? leftAs !== null : isNew === true;
    const numActiveUsers = (people.get(roomPk) ?? before) + (isNews ? (kind === 'left' ? -1 : 1) : 0);
    people.set(roomPk, numActiveUsers);
    if (!isNews || kind === 'present') continue;
    const as = kind === 'left' ? { connectionId: leftAs!, userId: leftUserId, userInfo: leftUserInfo } : {};
    told.push({ ...note, ...as, kind, roomId, numActiveUsers });
  }
  return told;
}

type KnownVisit = Pick<VisitNote, 'roomPk' | 'key'>;

/** Visits of a room that are not among those. */
export async function findOthers(db: Sql, roomPk: number, keys: readonly string[]): Promise<KnownVisit[]> {
  return db.query(sql<KnownVisit>`
    select room_pk as "roomPk", session_id as key from webhook_visits where room_pk = ${roomPk} and not (session_id = any(${keys}::text[]))`);
}

const UNOWNED = sql`not exists (
  select from actor_owner o join worker_lease w on w.incarnation = o.owner
   where o.stream = v.room_pk and w.fenced_at is null and w.lease_until > clock_timestamp())`;

/** Notes since when nobody owns the rooms of which visits. Reads all of them. */
export async function markOrphans(db: Sql): Promise<void> {
  await db.query(sql`
    update webhook_visits v set orphaned_at = case when ${UNOWNED} then coalesce(orphaned_at, clock_timestamp()) end
     where (orphaned_at is null) = (${UNOWNED})`);
}

/**
 * Some visits of rooms that nobody has owned for half a minute: those people are not there any more, or somebody would have woken the room. It may
 * have been woken since they were marked.
 */
export function takeOrphans(tx: Sql, limit: number): Promise<KnownVisit[]> {
  return tx.query(sql<KnownVisit>`
    select v.room_pk as "roomPk", v.session_id as key from webhook_visits v
     where v.orphaned_at < statement_timestamp() - interval '30 seconds' and ${UNOWNED} limit ${limit} for update skip locked`);
}

/** Nobody wants to know any more. */
export async function forgetVisits(db: Sql): Promise<void> {
  await db.query(sql`
    delete from webhook_visits where not exists (
      select from webhooks where not disabled and subscribed_events && array['userEntered', 'userLeft'])`);
}
