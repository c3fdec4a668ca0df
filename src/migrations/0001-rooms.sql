-- Rooms, who owns them, what happened in them.
--
-- Runs on Postgres 14 and later. Numbers are bigint: a version grows with every change of a room, for ever.

-- One row per life of a worker process. Rows are kept: an owner column may name them long after; a start costs 100 bytes.
create table worker_lease (
  incarnation uuid primary key,
  address     text not null,                    -- host:port where other workers reach it
  lease_until timestamptz not null,             -- never renewed once it has passed
  draining    boolean not null default false,
  fenced_at   timestamptz                       -- set once, for good: its actors may be claimed by others
);

create table rooms (
  pk                 bigint generated always as identity primary key,
  id                 text collate "C" not null, -- "C" so that one index serves = and like 'prefix%'
  organization_id    text not null default 'default',
  created_at         timestamptz(3) not null default now(),
  last_connection_at timestamptz(3),
  metadata           jsonb not null default '{}',
  default_accesses   jsonb not null default '[]',
  users_accesses     jsonb not null default '{}',
  groups_accesses    jsonb not null default '{}',
  constraint rooms_id_key unique (id),
  constraint rooms_id_length check (char_length(id) between 1 and 128)
);
create index rooms_newest_first on rooms (created_at desc, pk desc);
create index rooms_of_organization on rooms (organization_id, created_at desc, pk desc);
create index rooms_metadata on rooms using gin (metadata jsonb_path_ops);   -- metadata @> '{"key": "value"}'
create index rooms_users on rooms using gin (users_accesses);               -- users_accesses ? 'user'
create index rooms_groups on rooms using gin (groups_accesses);             -- groups_accesses ?| array['group']

-- The hot row of a room, apart from its metadata so that a claim never waits for an edit of those. Whoever inserts a room inserts this row
-- in the same statement:
--   with room as (insert into rooms (id, …) values (…) returning *),
--        owner as (insert into actor_owner (stream) select pk from room)
--   select … from room
-- Deleting the room deletes it, and through it journal and snapshots. An append on its way holds this row (for share): the delete waits for it
-- and then removes its rows too; an append that comes later finds no row and writes nothing.
create table actor_owner (
  stream           bigint primary key references rooms (pk) on delete cascade,
  epoch            bigint not null default 0,   -- raised by every claim, and by what takes the room from its owner: delete, rename, organisation
  owner            uuid,                        -- null: nobody; no foreign key, because a claim should lock this one row only
  numbers_next     bigint not null default 1,   -- actor numbers below this are reserved
  snapshot_version bigint not null default 0    -- version of the newest snapshot; only ever rises
) with (fillfactor = 50);                       -- room for updates in place

create table snapshots (
  stream     bigint not null references actor_owner on delete cascade,
  version    bigint not null,
  epoch      bigint not null,
  size       bigint not null,                   -- of the bytes, wherever they are
  sha256     bytea not null,
  bytes      bytea,                             -- small ones are here,
  blob_key   text,                              -- the others there
  created_at timestamptz(3) not null default now(),
  primary key (stream, version),
  constraint snapshots_one_place check (num_nonnulls(bytes, blob_key) = 1)
);
alter table snapshots alter column bytes set storage external;     -- compressed by who encodes them, if at all

create table journal (
  stream  bigint not null references actor_owner on delete cascade,
  version bigint not null,                      -- of the last change in the payload
  count   integer not null check (count > 0),   -- of the changes in the payload
  epoch   bigint not null,
  crc     integer not null,
  payload bytea not null,
  primary key (stream, version)                 -- the second fence: a forked history collides instead of merging
) partition by hash (stream);
alter table journal alter column payload set storage external;

-- Rows live for seconds to minutes: small partitions, vacuumed early and side by side.
do $$
begin
  for part in 0..7 loop
    execute format(
      'create table journal_%s partition of journal for values with (modulus 8, remainder %s)
         with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2)', part, part);
  end loop;
end $$;

-- Events written with the change they tell of; a row leaves when its consumer's work has committed.
create table outbox (
  id         bigint generated always as identity primary key,
  type       text not null,
  payload    jsonb not null,
  attempts   integer not null default 0,
  due_at     timestamptz not null default now(),
  created_at timestamptz(3) not null default now()
);
create index outbox_due on outbox (due_at, id);
