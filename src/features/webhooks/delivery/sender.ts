/**
 * Sends what waits for webhooks: claims messages that are due, signs and posts them, and writes down how that went.
 *
 * Each webhook has so many slots on each worker, and there are as many slots as all webhooks may take: one that answers slowly, or never, holds up
 * nobody but itself.
 */
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/observe.ts';
import { Passes } from '../../../base/passes.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Outgoing } from '../../../kernel/transport/outgoing.ts';
import { type Claimed, claimQuery, findDue, insertTest, noteDelivered, noteFailed, release } from './queries.ts';
import { retryAfterMs, signatureOf } from './rules.ts';

export interface SenderDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly outgoing: Outgoing;
}

/** Of one webhook at once; times `WEBHOOKS_MAX` is what a worker has open at most. */
const SLOTS_PER_WEBHOOK = 8;
const LOOK_EVERY_MS = 1_000;
const ANSWER_MS_MAX = 15_000;
/** At the end, answers are waited for so long: what was taken should not come again. */
const LAST_MS_MAX = 3_000;

export class WebhookSender {
  readonly #deps: SenderDeps;
  readonly #taken = new Map<number, number>();
  readonly #attempts = new Set<Promise<unknown>>();
  readonly #end = new AbortController();
  readonly #passes: Passes;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    this.#passes = new Passes({ clock: deps.clock, everyMs: LOOK_EVERY_MS, betweenMs: 0, pass: () => this.#sendDue() });
  }

  start(): void {
    this.#passes.start();
  }

  /** Something may be due: looks at once. */
  nudge(): void {
    this.#passes.nudge();
  }

  /** What has no answer a little later is given up, and left to others or to the next start. */
  async close(): Promise<void> {
    const cancel = this.#deps.clock.after(LAST_MS_MAX, () => this.#end.abort());
    await this.#passes.close();
    await Promise.all(this.#attempts);
    cancel();
  }

  /** Sends a message to one webhook now, once, whatever waits; not at all if its rate is used up. Returns its id, and whether it was taken. */
  async sendOnce(webhookPk: number, body: string): Promise<{ readonly id: string; readonly isDelivered: boolean }> {
    const { pk, id } = await insertTest(this.#deps.db, webhookPk, body);
    const [claimed] = await this.#deps.db.query(claimQuery(webhookPk, 1, pk));
    if (claimed === undefined) return { id, isDelivered: false };
    const attempt = this.#attempt(claimed, 'once').finally(() => this.#attempts.delete(attempt));
    this.#attempts.add(attempt);
    return { id, isDelivered: (await attempt) === 'delivered' };
  }

  /** Never rejects: the next look tries again. */
  async #sendDue(): Promise<void> {
    await this.#claimAll().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'webhooks not looked at'));
  }

  async #claimAll(): Promise<void> {
    const { db } = this.#deps;
    for (const webhookPk of await findDue(db)) {
      const free = SLOTS_PER_WEBHOOK - (this.#taken.get(webhookPk) ?? 0);
      if (free <= 0) continue;
      for (const claimed of await db.query(claimQuery(webhookPk, free))) this.#begin(claimed);
    }
  }

  #begin(claimed: Claimed): void {
    const { webhookPk } = claimed;
    this.#taken.set(webhookPk, (this.#taken.get(webhookPk) ?? 0) + 1);
    const attempt = this.#attempt(claimed, 'until it is taken').finally(() => {
      this.#attempts.delete(attempt);
      const left = (this.#taken.get(webhookPk) ?? 1) - 1;
      if (left > 0) this.#taken.set(webhookPk, left);
      else this.#taken.delete(webhookPk);
      this.nudge(); // its slot is free
    });
    this.#attempts.add(attempt);
  }

  /** Never rejects: when the outcome cannot be written down, the message is due again once its claim has lapsed. */
  async #attempt(claimed: Claimed, how: 'once' | 'until it is taken'): Promise<'delivered' | 'failed' | 'given up'> {
    const { db, log } = this.#deps;
    try {
      await this.#moment(claimed.waitMs);
      const outcome = this.#end.signal.aborted ? null : await this.#post(claimed);
      if (this.#end.signal.aborted && outcome?.kind !== 'answered') {
        if (how !== 'once') await release(db, claimed);
        return 'given up';
      }
      if (outcome?.kind === 'answered' && outcome.status >= 200 && outcome.status < 300) {
        await noteDelivered(db, claimed);
        return 'delivered';
      }
      const problem = outcome?.kind === 'answered' ? `it was answered with ${outcome.status}` : (outcome?.problem ?? '');
      const againMs = how === 'once' ? null : retryAfterMs(claimed.attempts + 1);
      const isDisabled = await noteFailed(db, claimed, { problem, againMs });
      if (isDisabled) log.warn({ webhookPk: claimed.webhookPk }, 'webhook disabled: everything has failed for five days');
      return 'failed';
    } catch (error) {
      log.warn({ err: error, messageId: claimed.id }, 'outcome of a webhook not written');
      return 'failed';
    }
  }

  #post({ id, url, body, headers, secrets }: Claimed) {
    const seconds = Math.floor(this.#deps.clock.nowMs() / 1_000);
    return this.#deps.outgoing.post({
      url,
      body,
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': 'Atrium-Webhooks',
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': signatureOf({ id, seconds, body }, secrets),
      },
      timeoutMs: ANSWER_MS_MAX,
      signal: this.#end.signal,
    });
  }

  /** Resolves after so long, or when this worker ends. */
  #moment(waitMs: number): Promise<void> {
    if (waitMs <= 0) return Promise.resolve();
    const { signal } = this.#end;
    return new Promise((resolve) => {
      const begin = (): void => {
        cancel();
        signal.removeEventListener('abort', begin);
        resolve();
      };
      const cancel = this.#deps.clock.after(waitMs, begin);
      signal.addEventListener('abort', begin);
    });
  }
}
