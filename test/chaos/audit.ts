/** The database's own account of a run: triggers note each claim and each entry of the journal as it happens, in one order, though the journal is trimmed. */
import type { Audit, ClaimRow, EntryRow, StreamRow } from './checks/evidence.ts';
import type { PostgresProcess } from './postgres-process.ts';

const INSTALL = `
create sequence chaos_order;
create table chaos_claims (at bigint not null default nextval('chaos_order'), stream bigint, epoch bigint, owner uuid, former uuid,
  time timestamptz not null default clock_timestamp());
create table chaos_entries (at bigint not null default nextval('chaos_order'), stream bigint, version bigint, count integer, epoch bigint, ruling bigint,
  time timestamptz not null default clock_timestamp());

create function chaos_claimed() returns trigger language plpgsql as $$
begin
  insert into chaos_claims (stream, epoch, owner, former) values (new.stream, new.epoch, new.owner, old.owner);
  return null;
end $$;
create trigger chaos_claimed after update of epoch on actor_owner
  for each row when (new.epoch <> old.epoch) execute function chaos_claimed();

create function chaos_appended() returns trigger language plpgsql as $$
begin
  insert into chaos_entries (stream, version, count, epoch, ruling)
  select e.stream, e.version, e.count, e.epoch, o.epoch from entries e join actor_owner o using (stream);
  return null;
end $$;
create trigger chaos_appended after insert on journal
  referencing new table as entries for each statement execute function chaos_appended();
`;

/** Once the schema is there, and before anybody writes. */
export async function installAudit(postgres: PostgresProcess, database: string): Promise<void> {
  await postgres.ask(database, INSTALL);
}

export async function readAudit(postgres: PostgresProcess, database: string): Promise<Audit> {
  const claims = await postgres.ask<ClaimRow>(database, 'select at, stream, epoch, owner, former from chaos_claims order by at');
  const entries = await postgres.ask<EntryRow>(
    database,
    'select at, stream, version, count, epoch, ruling from chaos_entries order by at',
  );
  const streams = await postgres.ask<StreamRow>(
    database,
    `select o.stream, o.epoch, o.snapshot_version as "snapshotVersion",
            (select coalesce(json_agg(s.version order by s.version), '[]') from snapshots s where s.stream = o.stream) as snapshots,
            (select coalesce(json_agg(json_build_object('version', j.version, 'count', j.count, 'epoch', j.epoch) order by j.version), '[]')
               from journal j where j.stream = o.stream) as kept
       from actor_owner o order by o.stream`,
  );
  return { claims, entries, streams };
}
