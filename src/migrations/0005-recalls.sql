-- Rooms that were taken from their owner by a change of the database (delete, rename, organisation): the owner reads here, with each renewal of its
-- lease, which of its rooms it may not answer for any more. Written with the change, so that nobody has to live to tell it; a table of its own,
-- so that a change never holds up a renewal.
create table recalls (
  incarnation uuid not null,
  stream      bigint not null,
  epoch       bigint not null,                  -- of the owner row now: what was claimed below it is recalled
  primary key (incarnation, stream, epoch)
);
