-- Most rooms name no users, no groups and no metadata: such a room is in none of these indexes, and costs nothing there when it is made or changed.
-- Queries say `<> '{}'` themselves, or the planner would not know that it may use them.
drop index rooms_metadata;
drop index rooms_users;
drop index rooms_groups;
create index rooms_metadata on rooms using gin (metadata jsonb_path_ops) where metadata <> '{}';   -- metadata @> '{"key": "value"}'
create index rooms_users on rooms using gin (users_accesses) where users_accesses <> '{}';         -- users_accesses ? 'user'
create index rooms_groups on rooms using gin (groups_accesses) where groups_accesses <> '{}';      -- groups_accesses ?| array['group']
