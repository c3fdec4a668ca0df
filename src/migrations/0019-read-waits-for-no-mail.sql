-- What was read no longer waits to be told beyond the inbox: what happens to it afterwards waits anew, and as long.
create function forget_waiting_notification() returns trigger language plpgsql as $$
begin
  delete from webhook_notifications where notification_id = new.id;
  return null;
end $$;
create trigger inbox_notifications_read after update of read_at on inbox_notifications
  for each row when (new.read_at >= new.notified_at and new.read_at is distinct from old.read_at)
  execute function forget_waiting_notification();
