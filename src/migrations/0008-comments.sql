-- Threads of comments. `changed_at` is the database's clock at the last change: what has changed since a list was asked for goes by it,
-- because the times that clients see may be given by back ends, and lie in the past.
create table threads (
  pk         bigint generated always as identity primary key,
  room_pk    bigint not null references rooms on delete cascade,
  id         text collate "C" not null,         -- th_…, made by the SDK or by us
  created_by text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,           -- rises with every change of the thread and its comments: clients keep the copy with the later one
  changed_at timestamptz not null default clock_timestamp(),
  metadata   jsonb not null default '{}',
  resolved   boolean not null default false,
  visibility text not null,                     -- for good
  comment_count integer not null default 0,     -- deleted ones too: their places stay
  content_bytes bigint not null default 0,      -- what its comments take in an answer, roughly
  constraint threads_id_key unique (room_pk, id),
  constraint threads_visibility check (visibility in ('public', 'private'))
);
create index threads_newest_first on threads (room_pk, created_at desc, pk desc);
create index threads_by_change on threads (room_pk, changed_at);
create index threads_metadata on threads using gin (metadata jsonb_path_ops);

create table comments (
  pk         bigint generated always as identity primary key,
  thread_pk  bigint not null references threads on delete cascade,
  id         text collate "C" not null,         -- cm_…, made by the SDK or by us
  user_id    text not null,
  created_at timestamptz(3) not null,
  edited_at  timestamptz(3),
  deleted_at timestamptz(3),                    -- then body is null, and neither reactions nor attachments are left
  body       jsonb,
  content    text not null,                     -- the body without its form, to be searched
  has_mentions boolean not null,
  metadata   jsonb not null default '{}',
  constraint comments_id_key unique (thread_pk, id),
  constraint comments_body check ((body is null) = (deleted_at is not null))
);

create table comment_reactions (
  comment_pk bigint not null references comments on delete cascade,
  emoji      text not null,
  user_id    text not null,
  created_at timestamptz(3) not null,
  primary key (comment_pk, emoji, user_id)
);

-- Threads that were deleted, for clients that ask what has changed.
create table deleted_threads (
  room_pk    bigint not null references rooms on delete cascade,
  id         text collate "C" not null,
  visibility text not null,
  user_ids   text[] not null,                   -- who took part
  deleted_at timestamptz not null default clock_timestamp(),
  primary key (room_pk, id)
);
create index deleted_threads_by_time on deleted_threads (room_pk, deleted_at);
create index deleted_threads_of_all on deleted_threads (deleted_at);

-- What users said of a thread by subscribing or unsubscribing, and whether they take part in it. Without a row: nothing, and no.
create table thread_subscriptions (
  thread_pk     bigint not null references threads on delete cascade,
  user_id       text not null,
  is_subscribed boolean,                                    -- what the user said; null: nothing
  said_at       timestamptz,
  takes_part    boolean not null default false,             -- wrote a comment, or is mentioned by id
  created_at    timestamptz(3) not null default now(),      -- of the subscription
  changed_at    timestamptz not null default clock_timestamp(),
  primary key (thread_pk, user_id),
  constraint thread_subscriptions_said check ((is_subscribed is null) = (said_at is null))
);
create index thread_subscriptions_of_user on thread_subscriptions (user_id, changed_at);

-- Whether a user is subscribed to a thread, from what they said of it and their setting for the room ('all', 'replies_and_mentions', 'none', or
-- the default of the server): the later call wins. `set_at` is null when the room's setting is the default.
create function is_subscribed(said boolean, said_at timestamptz, takes_part boolean, threads text, set_at timestamptz) returns boolean
  language sql immutable as $$
  select case
    when said is not null and (set_at is null or said_at > set_at) then said
    when threads = 'all' then true
    when threads = 'none' then false
    else coalesce(takes_part, false)
  end $$;

-- Files that comments show. Without a comment it is a draft of the user who uploaded it, and goes after a day.
create table attachments (
  room_pk    bigint not null references rooms on delete cascade,
  id         text collate "C" not null,         -- at_…, made by whoever uploads: known in its room alone
  user_id    text not null,
  comment_pk bigint references comments on delete cascade,
  place      integer not null default 0,        -- among those of its comment
  name       text not null,
  size       bigint not null,
  mime_type  text not null,
  blob_key   text collate "C" not null,
  upload_id  text collate "C",                  -- as in `files`
  parts      text collate "C",
  created_at timestamptz(3) not null default now(),
  primary key (room_pk, id)
);
create index attachments_of_comment on attachments (comment_pk, place);
create index attachments_drafts on attachments (created_at) where comment_pk is null;
create trigger attachments_loosen_blob after delete on attachments for each row execute function loosen_blob();
