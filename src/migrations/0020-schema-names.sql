-- The highest version that each name ever had: an id of a deleted schema never comes back with another body.
create table schema_names (
  name         text collate "C" primary key,
  last_version integer not null check (last_version >= 0)
);
insert into schema_names (name, last_version) select name, max(version) from schemas group by name;
