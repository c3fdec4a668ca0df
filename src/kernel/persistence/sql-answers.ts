/**
 * What requests with an Idempotency-Key were answered, so that one that comes again changes nothing and gets its first answer.
 *
 * Refusals are not kept: a request that changed nothing is judged anew. It does not know what the requests do.
 */
import { AppError } from '../../base/errors.ts';
import type { RequestKey } from '../../base/ids.ts';
import type { Log } from '../../base/observe.ts';
import { isLockTimeout, type Sql, sql } from './sql.ts';

export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Longer than any request takes. One that was reserved and is not heard of by then ended with its worker. */
const RESERVED_MS = 60_000;

export class SqlAnswers {
  readonly #db: Sql;
  readonly #log: Log;

  constructor({ db, log }: { readonly db: Sql; readonly log: Log }) {
    this.#db = db;
    this.#log = log;
  }

  /**
   * Runs `work` in one transaction with the memory of its answer, or returns what it was answered before.
   * @throws AppError IDEMPOTENCY_KEY_REUSED for another request; IDEMPOTENCY_KEY_IN_USE when the first one takes longer than a lock is waited for
   */
  inTransaction(request: RequestKey, work: (tx: Sql) => Promise<StoredAnswer>): Promise<StoredAnswer> {
    return this.#db.transaction(async (tx) => {
      const known = await take(tx, request);
      if (known !== null) return known;
      const answer = await work(tx);
      await keep(tx, request, answer);
      return answer;
    });
  }

  /**
   * The same for work that asks others, who must not be waited for in a transaction: the key is reserved first. When the worker dies between
   * the change and the memory of it, a later attempt does the work again, so it must be work that may be done twice.
   */
  async reserved(request: RequestKey, work: () => Promise<StoredAnswer>): Promise<StoredAnswer> {
    const known = await this.#db.transaction((tx) => take(tx, request));
    if (known !== null) return known;
    let answer: StoredAnswer;
    try {
      answer = await work();
    } catch (error) {
      await this.#settle(request, () => this.#db.query(sql`delete from idempotent_requests where key = ${request.id}`));
      throw error;
    }
    await this.#settle(request, () => keep(this.#db, request, answer));
    return answer;
  }

  /** What has been done or refused is told all the same; the reservation ends by itself. */
  async #settle({ id }: RequestKey, write: () => Promise<unknown>): Promise<void> {
    await write().catch((error: unknown) => this.#log.warn({ err: error, key: id }, 'answer not kept'));
  }
}

/** Null when the request is new: the key is then its own until the transaction ends or the reservation does. */
async function take(tx: Sql, { id, digest }: RequestKey): Promise<StoredAnswer | null> {
  const taken = await tx
    .query(sql`
      with old as (
        delete from idempotent_requests where key in (
          select key from idempotent_requests
           where created_at < statement_timestamp() - interval '24 hours' and key <> ${id}
           order by created_at limit 2 for update skip locked)
      )
      insert into idempotent_requests as known (key, digest, reserved_until)
      values (${id}, ${digest}, clock_timestamp() + ${RESERVED_MS} * interval '1 millisecond')
      on conflict (key) do update
        set digest = excluded.digest, status = null, reserved_until = excluded.reserved_until, created_at = excluded.created_at
        where known.created_at < clock_timestamp() - interval '24 hours'
           or (known.status is null and known.reserved_until < clock_timestamp())
      returning key`)
    .catch((error: unknown) => {
      throw isLockTimeout(error) ? new AppError('IDEMPOTENCY_KEY_IN_USE') : error; // another transaction holds the key
    });
  if (taken.length > 0) return null;
  const [known] = await tx.query(sql<{ digest: string; status: number | null } & Omit<StoredAnswer, 'status'>>`
    select digest, status, headers, body from idempotent_requests where key = ${id}`);
  if (known !== undefined && known.digest !== digest) throw new AppError('IDEMPOTENCY_KEY_REUSED');
  if (known === undefined || known.status === null) throw new AppError('IDEMPOTENCY_KEY_IN_USE'); // undefined: refused in this very moment
  return { status: known.status, headers: known.headers, body: known.body };
}

async function keep(db: Sql, { id, digest }: RequestKey, { status, headers, body }: StoredAnswer): Promise<void> {
  await db.query(sql`
    update idempotent_requests set status = ${status}, headers = ${JSON.stringify(headers)}::jsonb, body = ${body}
     where key = ${id} and digest = ${digest}`);
}
