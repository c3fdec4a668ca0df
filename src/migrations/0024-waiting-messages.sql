-- What waits for a webhook is looked for from where it begins. From the beginning of time each look, and each message that was sent brings one, read all
-- that had ever been sent while somebody, such as pg_dump, kept it from being vacuumed: after two hundred thousand a look took half a second of a core.
-- serves builds from 0021
alter table webhooks add column due_from timestamptz not null default '-infinity';   -- none of its messages that wait is due before
