-- Feeds of rooms, and what is said in them: lists of messages that last, such as what a person and an assistant say to each other.
-- serves builds from 0021
create table feeds (
  pk            bigint generated always as identity primary key,
  room_pk       bigint not null references rooms on delete cascade,
  id            text collate "C" not null,    -- its maker's
  metadata      jsonb not null default '{}',
  created_at    timestamptz(3) not null,
  updated_at    timestamptz(3) not null,      -- of its metadata
  message_count bigint not null default 0,
  content_bytes bigint not null default 0,    -- of its messages
  constraint feeds_id_key unique (room_pk, id)
);
create index feeds_newest_first on feeds (room_pk, created_at desc, pk desc);

create table feed_messages (
  room_pk    bigint not null,                 -- as of its feed, with which it goes
  pk         bigint generated always as identity,
  feed_pk    bigint not null references feeds on delete cascade,
  id         text collate "C" not null,
  data       json not null,                   -- not jsonb: numbers and the order of keys are its writer's
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (room_pk, pk),
  constraint feed_messages_id_key unique (feed_pk, id)
);
create index feed_messages_newest_first on feed_messages (feed_pk, created_at desc, pk desc);

-- Counts changes of all feeds, each under the lock of its feed: of two changes of one thing the later has the higher number.
create sequence feed_changes as bigint;
