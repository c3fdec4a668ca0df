-- Saves snapshots, and takes from each journal what the older one of two holds. No row for one whose epoch moved on, or where a newer snapshot is there
-- or among these, or whose blob is about to be deleted: of it nothing changes. Nor for one whose owner's row somebody holds, unless it is to wait for that:
-- many that wait for one would hold up all who append to theirs.
--
-- Nothing newer than the older of two snapshots goes from a journal: with one damaged, the journal still leads on from the other (invariant I3). With
-- a single snapshot the journal stays whole. Of a long one some entries go at once; who appends waits meanwhile.
--
-- A function, because each of its statements is of one room, by its key, and planned once: one statement for all took twice as long to plan as to run.
-- What is planned while a table is small would read all of it later: hence no sequential scans.
create function save_snapshots(
  streams bigint[], epochs bigint[], versions bigint[], sizes bigint[], blob_keys text[],
  digests bytea,                                -- 32 bytes each
  contents bytea, starts int[],                 -- of those without a blob, and where each begins, from 1
  trim_max int, waits boolean
) returns table (place int, trimmed int)        -- from 1
  language plpgsql set enable_seqscan = off as $$
declare
  one record;
  older bigint;
begin
  for one in
    select given.* from unnest(streams, epochs, versions, sizes, blob_keys, starts) with ordinality
        as given (stream, epoch, version, size, blob_key, start, at)
     order by given.stream, given.version desc, given.at -- owners are locked in this order, as by who appends: two of these never wait for each other
  loop
    if waits then
      perform from actor_owner o
        where o.stream = one.stream and o.epoch = one.epoch and o.snapshot_version < one.version for no key update;
    else
      perform from actor_owner o
        where o.stream = one.stream and o.epoch = one.epoch and o.snapshot_version < one.version for no key update skip locked;
    end if;
    continue when not found;
    if one.blob_key is not null then            -- if the sweep takes it in this moment, this waits and then finds no row
      delete from loose_blobs b where b.key = one.blob_key and not b.doomed;
      continue when not found;
    end if;
    older := (select max(s.version) from snapshots s where s.stream = one.stream);
    update actor_owner o set snapshot_version = one.version where o.stream = one.stream;
    insert into snapshots (stream, version, epoch, size, sha256, bytes, blob_key)
      values (one.stream, one.version, one.epoch, one.size, substring(digests from (32 * one.at - 31)::int for 32),
        case when one.blob_key is null then substring(contents from one.start for one.size::int) end, one.blob_key);
    delete from snapshots s where s.stream = one.stream and s.version < older;  -- what they referred to becomes loose, by trigger
    delete from journal j where j.stream = one.stream and j.version in (
      select k.version from journal k where k.stream = one.stream and k.version <= older order by k.version limit trim_max);
    get diagnostics trimmed = row_count;
    place := one.at;
    return next;
  end loop;
end $$;
