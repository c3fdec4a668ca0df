-- serves builds from 0021
-- A journal is trimmed from where the last trimming ended. From its beginning each save read all that had ever been trimmed while somebody, such as
-- pg_dump, kept it from being vacuumed, and held up who appends meanwhile.
alter table actor_owner add column trimmed_version bigint not null default 0;   -- nothing of its journal is at or below this

create or replace function save_snapshots(
  streams bigint[], epochs bigint[], versions bigint[], sizes bigint[], blob_keys text[],
  digests bytea, contents bytea, starts int[], trim_max int, waits boolean
) returns table (place int, trimmed int)
  language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  one record;
  older bigint;
  since bigint;
  up_to bigint;
begin
  for one in
    select given.* from unnest(streams, epochs, versions, sizes, blob_keys, starts) with ordinality
        as given (stream, epoch, version, size, blob_key, start, at)
     order by given.stream, given.version desc, given.at
  loop
    if waits then
      select o.trimmed_version into since from actor_owner o
        where o.stream = one.stream and o.epoch = one.epoch and o.snapshot_version < one.version for no key update;
    else
      select o.trimmed_version into since from actor_owner o
        where o.stream = one.stream and o.epoch = one.epoch and o.snapshot_version < one.version for no key update skip locked;
    end if;
    continue when not found;
    if one.blob_key is not null then
      delete from loose_blobs b where b.key = one.blob_key and not b.doomed;
      continue when not found;
    end if;
    older := (select max(s.version) from snapshots s where s.stream = one.stream);
    insert into snapshots (stream, version, epoch, size, sha256, bytes, blob_key)
      values (one.stream, one.version, one.epoch, one.size, substring(digests from (32 * one.at - 31)::int for 32),
        case when one.blob_key is null then substring(contents from one.start for one.size::int) end, one.blob_key);
    delete from snapshots s where s.stream = one.stream and s.version < older;
    with gone as (
      delete from journal j where j.stream = one.stream and j.version in (
        select k.version from journal k
         where k.stream = one.stream and k.version > since and k.version <= older order by k.version limit trim_max)
      returning j.version)
    select count(*), max(gone.version) into trimmed, up_to from gone;
    update actor_owner o
       set snapshot_version = one.version,
           trimmed_version = case when trimmed < trim_max then greatest(since, coalesce(older, 0)) else up_to end
     where o.stream = one.stream;
    place := one.at;
    return next;
  end loop;
end $$;
