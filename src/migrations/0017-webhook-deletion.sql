-- A webhook may have millions of messages: it goes at once, and they go after it, some at a time, with what is kept no longer. Whoever writes a
-- message while its webhook is being deleted leaves one that goes the same way.
alter table webhook_deliveries drop constraint webhook_deliveries_webhook_pk_fkey;

-- A test is sent once, and not with what is sent again because it failed.
alter table webhook_deliveries add column is_test boolean not null default false;

-- What is forgotten after a month is found without reading what is kept.
create index deleted_inbox_notifications_of_all on deleted_inbox_notifications (deleted_at);
