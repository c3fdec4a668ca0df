-- What goes with a webhook, and with a room, is found without reading all that there is of others.
create index webhook_deliveries_of on webhook_deliveries (webhook_pk);
create index webhook_changes_of_room on webhook_changes (room_pk);
