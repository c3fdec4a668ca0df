-- Blobs that nothing refers to: not yet, or no more. Once they are due they are deleted from the store, and then from here.
--
-- A key is written here before its blob is, and taken out by the statement that first refers to it; a row that referred to a blob puts the key
-- back when it goes, by trigger, whatever deletes it. So at any moment a blob is referred to, or in here, or gone.
create table loose_blobs (
  key    text collate "C" primary key,
  due_at timestamptz not null,
  doomed boolean not null default false         -- somebody is deleting it: nothing may refer to it any more
);
create index loose_blobs_due on loose_blobs (due_at);

-- For any table with a column blob_key.
create function loosen_blob() returns trigger language plpgsql as $$
begin
  insert into loose_blobs (key, due_at) values (old.blob_key, now()) on conflict (key) do nothing;
  return null;
end $$;

create trigger snapshots_loosen_blob after delete on snapshots
  for each row when (old.blob_key is not null) execute function loosen_blob();
