/** Clauses of a filter as conditions on `threads t`, `comments c`, and the asking user's `thread_subscriptions s` and room settings `rs`. */
import { type Query, sql } from '../../../kernel/persistence/sql.ts';
import type { FilterClause } from './rules.ts';

/** What somebody who has set nothing for a room is subscribed to (contract, Room notification settings). */
export type SubscriptionDefault = 'all' | 'replies_and_mentions' | 'none';

/** The asking user's rows beside `threads t`; none for null. */
export function joinsOf(userId: string | null): Query {
  return sql`
    left join thread_subscriptions s on s.thread_pk = t.pk and s.user_id = ${userId}
    left join room_subscription_settings rs on rs.room_pk = t.room_pk and rs.user_id = ${userId}`;
}

/** Whether the user of these rows is subscribed to the thread. */
export function subscribedBy(byDefault: SubscriptionDefault): Query {
  return sql`is_subscribed(s.is_subscribed, s.said_at, s.takes_part, coalesce(rs.threads, ${byDefault}),
    case when rs.threads is not null then rs.changed_at end)`;
}

export function conditionOf({ field, key, operator, value }: FilterClause, byDefault: SubscriptionDefault): Query {
  switch (field) {
    case 'resolved':
    case 'threadResolved':
      return sql`t.resolved = ${value}`;
    case 'visibility':
      return sql`t.visibility = ${value}`;
    case 'subscribed':
      return sql`${subscribedBy(byDefault)} = ${value}`;
    case 'hasMentions':
      return sql`c.has_mentions = ${value}`;
    case 'hasAttachments':
      return sql`exists (select 1 from attachments a where a.comment_pk = c.pk) = ${value}`;
    case 'metadata':
    case 'threadMetadata':
      return metadataCondition(key!, operator, value);
    default:
      return field satisfies never;
  }
}

function metadataCondition(key: string, operator: FilterClause['operator'], value: FilterClause['value']): Query {
  if (operator === '^')
    return sql`(jsonb_typeof(t.metadata -> ${key}) = 'string' and starts_with(t.metadata ->> ${key}, ${value}))`;
  if (operator === ':' && value === null) return sql`not (t.metadata ? ${key})`;
  const equals = sql`t.metadata @> ${JSON.stringify({ [key]: value })}::jsonb`;
  if (operator !== ':') return comparison(operator, key, value as number);
  // The older spelling of `resolved`, unless the thread has metadata of that name.
  if (key === 'resolved' && typeof value === 'boolean')
    return sql`(${equals} or (t.resolved = ${value} and not (t.metadata ? 'resolved')))`;
  return equals;
}

/** Null, and so no match, for what is absent or no number. */
function comparison(operator: '>' | '<' | '>=' | '<=', key: string, value: number): Query {
  const stored = sql`(case when jsonb_typeof(t.metadata -> ${key}) = 'number' then (t.metadata -> ${key})::numeric end)`;
  switch (operator) {
    case '>':
      return sql`${stored} > ${value}::numeric`;
    case '<':
      return sql`${stored} < ${value}::numeric`;
    case '>=':
      return sql`${stored} >= ${value}::numeric`;
    default:
      return sql`${stored} <= ${value}::numeric`;
  }
}
