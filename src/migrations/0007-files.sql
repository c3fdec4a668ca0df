-- Files that the Storage of a room may refer to. A file is there as long as its room: what no node refers to today, an undo or an older version
-- may bring back.
create table files (
  room_pk    bigint not null references rooms on delete cascade,
  id         text collate "C" not null,         -- fl_…, made by whoever uploads: known in its room alone
  name       text not null,
  size       bigint not null,
  mime_type  text not null,
  blob_key   text collate "C" not null,         -- of one attempt to upload: no two ever write to one key
  upload_id  text collate "C",                  -- of the upload in parts that it was made by, and
  parts      text collate "C",                  -- the digest of those parts: a completion that comes again is known by the two
  created_at timestamptz(3) not null default now(),
  primary key (room_pk, id)
);
create trigger files_loosen_blob after delete on files for each row execute function loosen_blob();

-- Uploads in parts, of whatever is to become a blob. A row leaves in the statement that makes a row refer to the blob, or when the store has
-- thrown the parts away.
create table uploads (
  id              text collate "C" primary key,
  stream          bigint references actor_owner on delete set null,  -- null: the room is gone, and the parts are to follow it
  subject         text collate "C" not null,    -- the id that the blob will be known by
  about           jsonb not null,               -- what the blob will be, for who made the row
  size            bigint,                       -- of the blob, if it was announced
  blob_key        text collate "C" not null,
  store_upload_id text not null,
  came_bytes      bigint not null default 0,    -- of all parts that were let in, those that came again counted again
  due_at          timestamptz not null,         -- given up then; every part puts it off
  doomed          boolean not null default false  -- the parts are being thrown away
);
create index uploads_of_stream on uploads (stream);
create index uploads_due on uploads (due_at);
