/** Webhooks and rooms in a database, for tests of what they are told. */

import {
  findWebhook,
  insertWebhook,
  type NewWebhook,
  type WebhookRow,
} from '../../../src/features/webhooks/endpoints/queries.ts';
import type { Sql } from '../../../src/kernel/persistence/sql.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { aStream } from '../../support/streams.ts';

let made = 0;

export async function aHook(db: Sql, over: Partial<NewWebhook> = {}): Promise<WebhookRow> {
  return insertWebhook(db, {
    id: `wh_${++made}`,
    url: 'http://127.0.0.1:1/',
    subscribedEvents: ['roomCreated'],
    rateLimit: null,
    additionalHeaders: {},
    storageThrottleS: 60,
    ydocThrottleS: 60,
    secret: 'whsec_c2VjcmV0',
    ...over,
  });
}

export async function aRoom(db: Sql): Promise<{ readonly pk: number; readonly id: string }> {
  const pk = await aStream(db);
  const [room] = await db.query(sql<{ id: string }>`select id from rooms where pk = ${pk}`);
  return { pk, id: room!.id };
}

export interface Row {
  readonly id: string;
  readonly body: string;
  readonly state: 'waiting' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly inMs: number | null;
  readonly problem: string | null;
}

/** The messages of a webhook, in order. */
export function rowsOf(db: Sql, { pk }: Pick<WebhookRow, 'pk'>): Promise<Row[]> {
  return db.query(sql<Row>`
    select id, body, attempts, problem, (extract(epoch from due_at - clock_timestamp()) * 1000)::float8 as "inMs",
           case when due_at is not null then 'waiting' when delivered_at is not null then 'delivered' else 'failed' end as state
      from webhook_deliveries where webhook_pk = ${pk} order by pk`);
}

/** What the messages say, in order. */
export async function told(db: Sql, hook: Pick<WebhookRow, 'pk'>): Promise<{ type: string; data: any }[]> {
  return (await rowsOf(db, hook)).map(({ body }) => JSON.parse(body));
}

export const again = (db: Sql, { id }: WebhookRow) => findWebhook(db, id);
