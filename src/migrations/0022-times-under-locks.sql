-- Who takes part in a thread, and what happened there, have the time at which it was written, under the thread's lock, not that at which the transaction
-- began, which may have waited for the lock of one that began later: whoever wrote first then seemed to take part only since a later comment, and was
-- not told of it. The first is cut to its milliseconds, lest it be rounded up beyond the second.
-- serves builds from 0021
alter table thread_subscriptions alter created_at set default date_trunc('milliseconds', clock_timestamp());
alter table outbox alter created_at set default clock_timestamp();
