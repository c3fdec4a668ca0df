-- Deleted notifications are noted once for a statement, not once for each: an inbox of two hundred thousand could not be deleted in the time that a
-- statement has, and in the deletion of a room of nine thousand threads these notes took half of the time. What was deleted a month ago is forgotten by
-- the sweep alone.
-- serves builds from 0020
drop trigger inbox_notifications_note_deletion on inbox_notifications;
drop function note_deleted_inbox_notification();

create function note_deleted_inbox_notifications() returns trigger language plpgsql as $$
begin
  if exists (select from gone) then                                             -- else a thread that goes with its room: of each, Postgres asks for itself
    insert into deleted_inbox_notifications (id, user_id, organization_id, room_id)
    select gone.id, gone.user_id, coalesce(r.organization_id, gone.organization_id), r.id      -- no room when it goes, too
      from gone left join rooms r on r.pk = gone.room_pk;
  end if;
  return null;
end $$;
create trigger inbox_notifications_note_deletion after delete on inbox_notifications referencing old table as gone
  for each statement execute function note_deleted_inbox_notifications();
