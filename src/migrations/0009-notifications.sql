-- What users are told of. One row per user and thread, which moves up; one per text mention; one per custom kind and subject, or several.
create table inbox_notifications (
  pk              bigint generated always as identity primary key,
  id              text collate "C" not null,    -- in_…
  user_id         text not null,
  organization_id text not null default 'default',
  kind            text not null,                -- thread, textMention, $custom
  room_pk         bigint references rooms on delete cascade,      -- null: a custom one that is of no room
  thread_pk       bigint references threads on delete cascade,
  subject_id      text not null,                -- id of the thread, of the mention, or the caller's
  details         jsonb not null default '{}',  -- textMention: createdBy, mention; $custom: activities
  notified_at     timestamptz(3) not null,
  read_at         timestamptz(3),
  changed_at      timestamptz not null default clock_timestamp(),
  last_event      bigint,                       -- in the outbox: the same one again changes nothing
  constraint inbox_notifications_id_key unique (id),
  constraint inbox_notifications_one_per_thread unique (user_id, thread_pk)
);
create index inbox_notifications_newest_first on inbox_notifications (user_id, notified_at desc, pk desc);
create index inbox_notifications_by_change on inbox_notifications (user_id, changed_at);
create index inbox_notifications_of_subject on inbox_notifications (user_id, kind, subject_id);
create index inbox_notifications_of_thread on inbox_notifications (thread_pk) where thread_pk is not null;
create index inbox_notifications_of_room on inbox_notifications (room_pk, subject_id) where room_pk is not null;
create unique index inbox_notifications_one_per_text_mention on inbox_notifications (room_pk, user_id, subject_id) where kind = 'textMention';

-- Those that were deleted, for clients that ask what has changed. Who asks after a month reads the list anew.
create table deleted_inbox_notifications (
  id              text collate "C" primary key,
  user_id         text not null,
  organization_id text not null,
  room_id         text,
  deleted_at      timestamptz not null default clock_timestamp()
);
create index deleted_inbox_notifications_by_time on deleted_inbox_notifications (user_id, deleted_at);

create function note_deleted_inbox_notification() returns trigger language plpgsql as $$
begin
  delete from deleted_inbox_notifications where user_id = old.user_id and deleted_at < now() - interval '30 days';
  insert into deleted_inbox_notifications (id, user_id, organization_id, room_id)
  select old.id, old.user_id, coalesce(r.organization_id, old.organization_id), r.id      -- no room when it goes, too
    from (select) as one left join rooms r on r.pk = old.room_pk;
  return null;
end $$;
create trigger inbox_notifications_note_deletion after delete on inbox_notifications
  for each row execute function note_deleted_inbox_notification();

-- What a user wants to hear of in a room. Absent: the default of the server.
create table room_subscription_settings (
  room_pk       bigint not null references rooms on delete cascade,
  user_id       text not null,
  threads       text,
  text_mentions text,
  changed_at    timestamptz not null default clock_timestamp(),   -- the later call wins: this, or `thread_subscriptions.changed_at`
  primary key (room_pk, user_id)
);
create index room_subscription_settings_of_user on room_subscription_settings (user_id, room_pk);

-- What the token let a user read of a room with which they came last. A room's lists do not tell it of those whose rights are in access tokens or
-- come from groups.
create table room_readers (
  room_pk       bigint not null references rooms on delete cascade,
  user_id       text not null,
  reads_public  boolean not null,
  reads_private boolean not null,
  seen_at       timestamptz not null default now(),
  primary key (room_pk, user_id)
);

-- By which channels a user wants to be notified, in addition to the inbox; what is absent is the default.
create table notification_settings (
  user_id  text primary key,
  settings jsonb not null
);

-- Groups of users that can be mentioned together.
create table groups (
  pk              bigint generated always as identity primary key,
  id              text collate "C" not null,
  organization_id text not null default 'default',
  created_at      timestamptz(3) not null default now(),
  updated_at      timestamptz(3) not null default now(),
  constraint groups_id_key unique (id)
);
create table group_members (
  group_pk bigint not null references groups on delete cascade,
  user_id  text not null,
  added_at timestamptz(3) not null default now(),
  primary key (group_pk, user_id)
);
create index groups_newest_first on groups (created_at desc, pk desc);
create index group_members_of_user on group_members (user_id, group_pk);
