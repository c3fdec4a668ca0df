-- Versions of a room's history: Storage and Yjs documents of one moment, until somebody deletes them or the room.
create table versions (
  pk         bigint generated always as identity primary key,
  room_pk    bigint not null references rooms on delete cascade,
  id         text collate "C" not null,         -- vh_…, made from the request, so that one that comes again finds what it made
  created_at timestamptz(3) not null,           -- when the room decided it, by its owner's clock
  stored_at  timestamptz not null default clock_timestamp(),  -- when lists could first show it, by the database's
  authors    jsonb not null,                    -- ids of the users who changed something since the one before
  size       bigint not null,                   -- of the body, wherever it is
  sha256     bytea not null,
  bytes      bytea,                             -- a small body is here,
  blob_key   text,                              -- another one there
  constraint versions_id_key unique (room_pk, id),
  constraint versions_one_place check (num_nonnulls(bytes, blob_key) = 1)
);
alter table versions alter column bytes set storage external;
create index versions_newest_first on versions (room_pk, created_at desc, pk desc);
create index versions_by_storing on versions (room_pk, stored_at);

create trigger versions_loosen_blob after delete on versions
  for each row when (old.blob_key is not null) execute function loosen_blob();
