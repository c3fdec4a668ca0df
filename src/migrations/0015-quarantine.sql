-- Rooms that end whoever loads them: see kernel/cluster/quarantine.ts.
alter table actor_owner
  add column loading_since     timestamptz,                  -- when the owner began to load it; kept when that is done, but for a suspect
  add column crashes           smallint not null default 0,  -- owners in a row that ended while they loaded it: more than none makes a suspect
  add column crashed_at        timestamptz,                  -- when the last of these was seen
  add column quarantined_until timestamptz;                  -- nobody may load it before

alter table worker_lease
  add column lived_on boolean not null default false;    -- it ended in order, or goes on under another name: no room has ended it
