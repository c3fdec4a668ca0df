-- Answers to requests that came with an Idempotency-Key and changed these tables alone; what changes a room is remembered in its journal.
--
-- A row is written in the transaction of the change, so of both there is none or one. Rows older than a day mean nothing; each new row removes two.
create table idempotent_requests (
  key            text collate "C" primary key,  -- digest of who asks and of the key they gave
  digest         text collate "C" not null,     -- of what they ask for
  status         smallint,                      -- null: the first attempt is still running,
  reserved_until timestamptz,                   -- at most so long, where it runs in more than one transaction
  headers        jsonb,
  body           text,
  created_at     timestamptz not null default clock_timestamp()
);
create index idempotent_requests_by_age on idempotent_requests (created_at);
