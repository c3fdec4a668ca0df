-- Addresses of customers' back ends that are told of what happens, and what they are told.
create table webhooks (
  pk                 bigint generated always as identity primary key,
  id                 text collate "C" not null, -- wh_…
  url                text not null,
  subscribed_events  text[] not null,
  rate_limit         integer,                   -- messages per second; null: as fast as it answers
  additional_headers jsonb not null default '{}',
  storage_throttle_s integer not null,
  ydoc_throttle_s    integer not null,
  disabled           boolean not null default false,
  secret             text not null,             -- whsec_…
  old_secrets        jsonb not null default '[]', -- [{value, until}]: messages are signed with these too, until then
  failing_since      timestamptz,               -- everything has failed since then; null: not so
  next_at            timestamptz not null default '-infinity', -- with a rate_limit: no message leaves before
  created_at         timestamptz(3) not null default now(),
  updated_at         timestamptz(3) not null default now(),
  constraint webhooks_id_key unique (id)
);

-- One message for one webhook. It waits while it has a time when it is due; then it was delivered, or given up.
create table webhook_deliveries (
  pk           bigint generated always as identity primary key,
  webhook_pk   bigint not null references webhooks on delete cascade,
  id           text collate "C" not null,       -- msg_…, the same however often it is sent
  body         text not null,                   -- as signed
  created_at   timestamptz not null default clock_timestamp(),
  due_at       timestamptz,                     -- whoever sends it puts this off until its attempt has certainly ended
  claim        bigint not null default 0,       -- counts those who began to send it: only the last may say how it went
  attempts     integer not null default 0,      -- that failed since it was last queued
  delivered_at timestamptz(3),
  failed_at    timestamptz,                     -- given up then
  problem      text                             -- of the last attempt that failed
);
create index webhook_deliveries_due on webhook_deliveries (webhook_pk, due_at, pk) where due_at is not null;
create index webhook_deliveries_delivered on webhook_deliveries (delivered_at) where delivered_at is not null;
create index webhook_deliveries_failed on webhook_deliveries (webhook_pk, failed_at) where failed_at is not null;

-- What a webhook was told of the Storage or the Yjs documents of a room, and whether there is more to tell: at most one message in its window.
create table webhook_changes (
  webhook_pk bigint not null references webhooks on delete cascade,
  room_pk    bigint not null references rooms on delete cascade,
  event      text not null,                     -- storageUpdated, ydocUpdated
  changed_at timestamptz(3) not null,           -- the last change that is noted here
  noted_by   text not null,                     -- worker that may know of a later one
  due_at     timestamptz,                       -- null: all was told
  told_at    timestamptz,
  primary key (webhook_pk, room_pk, event)
);
create index webhook_changes_due on webhook_changes (due_at) where due_at is not null;
create index webhook_changes_told on webhook_changes (told_at) where due_at is null;

-- Who is in which room, as far as webhooks were told: of everybody here they heard that he entered, and will hear that he left. Empty unless
-- some webhook wants to know.
create table webhook_visits (
  room_pk       bigint not null references rooms on delete cascade,
  session_id    text collate "C" not null,
  connection_id bigint not null,                -- when entering; a session that lost its room comes back under another, and did not leave
  user_id       text,
  user_info     jsonb,
  orphaned_at   timestamptz,                    -- seen then in a room that nobody has
  primary key (room_pk, session_id)
);

-- Notifications that go beyond the inbox if they are still unread when they are due. One for all that happens to a notification until then.
create table webhook_notifications (
  notification_id text collate "C" primary key,
  user_id         text not null,
  kind            text not null,
  room_id         text,
  about           jsonb not null,
  due_at          timestamptz not null
);
create index webhook_notifications_due on webhook_notifications (due_at);
