-- Schemas of Storage, and the rooms they are attached to.

-- One row per version; a row never changes, so that what is attached is what was read.
create table schemas (
  pk         bigint generated always as identity primary key,
  name       text collate "C" not null,
  version    integer not null check (version >= 1),
  body       text not null,
  created_at timestamptz(3) not null default now(),
  constraint schemas_id_key unique (name, version),
  constraint schemas_name_length check (char_length(name) between 1 and 64)
);

-- A room's schema, if it ever had one. The room decides attachments in an order of its own, and may tell of them out of order: epoch and
-- decision say which is the latest. The row stays after a detachment, with no schema, so that a late one is still seen to be late.
create table room_schemas (
  room_pk   bigint primary key references rooms on delete cascade,
  schema_pk bigint references schemas,                -- null: detached
  epoch     bigint not null,                          -- of the owner that decided the last attachment,
  decision  bigint not null                           -- and the number of the decision among that owner's
);
create index room_schemas_of_schema on room_schemas (schema_pk);
