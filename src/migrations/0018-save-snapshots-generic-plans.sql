-- What it does is planned once in each connection, not for each room. By itself the planner weighs a plan for all rooms against one for this room; of a
-- journal in eight parts the second seems an eighth as dear, and so its trimming was planned anew for each room, which took longer than all the rest.
alter function save_snapshots set plan_cache_mode = force_generic_plan;
