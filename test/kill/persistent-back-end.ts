/**
 * A back end that wants every call done: each carries an Idempotency-Key, and is sent again with it until it is answered, also when the answer was
 * there and only got lost. Nothing of it may be there twice, and none of it may be missing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ask, ask, roomPath } from '../support/e2e/rest.ts';
import type { Writer, WriterDeps } from '../support/writing/writers.ts';

const AGAIN_MS = 50;
const GIVE_UP_MS = 30_000;
/** Every so many calls one is sent again though it was answered. */
const REPEAT_EVERY = 5;

interface Call {
  readonly path: string;
  readonly request: Ask;
}

export class PersistentBackEnd implements Writer {
  readonly #deps: WriterDeps;
  readonly #calls: readonly ((id: string) => Call)[];
  readonly #underWay = new Set<Promise<void>>();
  readonly #faults: string[] = [];
  /** Makes keys that no other round has. */
  readonly #keyPrefix: string;
  #next = 0;

  /** Rooms that it creates have ids that begin with `roomPrefix`. */
  constructor(deps: WriterDeps, { roomPrefix }: { roomPrefix: string }) {
    this.#deps = deps;
    this.#keyPrefix = roomPrefix;
    const patch = (path: string, value: unknown): Call => ({
      path: roomPath(deps.roomId, '/storage/json-patch'),
      request: { method: 'PATCH', json: [{ op: 'add', path, value }] },
    });
    this.#calls = [
      (id) => patch('/list/-', id),
      (id) => patch('/list/0', id),
      (id) => ({ path: '/v2/rooms', request: { json: { id: `${roomPrefix}${id}`, defaultAccesses: [] } } }),
    ];
  }

  write(): void {
    const index = this.#next++ % this.#calls.length;
    const id = this.#deps.nextId(['keyedPush', 'keyedInsert', 'keyedRoom'][index]!);
    this.#deps.ledger.wrote(id);
    const done = this.#untilAnswered(id, this.#calls[index]!(id)).finally(() => void this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** @throws an Error when a call was refused, or answered otherwise the second time */
  async settle(): Promise<void> {
    await Promise.all(this.#underWay);
    if (this.#faults.length > 0) throw new Error(this.#faults.join('; '));
  }

  leave(): void {
    // nothing is open
  }

  async #untilAnswered(id: string, call: Call): Promise<void> {
    const first = await this.#answerOf(id, call);
    if (first === null) return;
    this.#deps.ledger.acked(id);
    if (this.#next % REPEAT_EVERY !== 0) return;
    const again = await this.#answerOf(id, call);
    if (again !== first) this.#faults.push(`${id} was answered ${first}, and then ${again}`);
  }

  /** Null when it was refused, or nobody answered. */
  async #answerOf(id: string, { path, request }: Call): Promise<string | null> {
    const key = `${this.#keyPrefix}${id}`;
    const giveUpAtMs = performance.now() + GIVE_UP_MS;
    for (;;) {
      const answer = await ask(this.#deps.server, path, { ...request, key }).catch(() => null); // killed meanwhile
      if (answer?.status === 200) return answer.text;
      const mayTryAgain = answer === null || answer.headers.has('retry-after');
      if (!mayTryAgain || performance.now() > giveUpAtMs) {
        this.#faults.push(`${id} was not done: ${answer === null ? 'no answer' : `${answer.status} ${answer.text}`}`);
        return null;
      }
      await sleep(AGAIN_MS);
    }
  }
}
