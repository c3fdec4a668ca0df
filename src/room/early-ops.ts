/**
 * Storage ops that a client sends over a new connection before it brings back what was not answered over the last one.
 *
 * What an SDK client did while it was away it sends when it has read Storage, all in one message and in order; but what it does between its connection and
 * that it sends at once, and then once more among the rest (protocol 6.1). Were the first copy answered, the client would forget it, and bring the older ops
 * alone when the message with all of them is lost, or another Storage comes: over the newer one that had been acknowledged. So such ops wait here until they
 * come again, or until the client must have read Storage and has brought nothing back.
 *
 * What comes before the answer to a ping ahead of Storage was sent before that had arrived, and comes again. Of what comes later that is not known: it may be
 * what the client brings back, or new. That waits until Storage has arrived, as the answer to a ping behind it says, and for what it takes to read.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import type { Op } from '../protocol/storage-ops.ts';
import { HELD_MS_MAX, isTextEdit, msToRead, type Reader, type StorageSent } from './held-answers.ts';
import type { Command } from './shapes.ts';

export type Change = Extract<Command, { type: 'storage.change' }>;

/** The connection of that client. */
export interface Speaking extends Reader {
  /** The session that it carries at present. */
  readonly id: SessionId;
  /** The number that its room gave it; null while that is not known. */
  readonly actor: number | null;
  refuse(refusal: AppError): void;
}

interface EarlyOpsDeps {
  /** What has to show before ops are heard: that older ones were, or only that their sender is still there. */
  readonly until: 'in order' | 'there';
  readonly client: Speaking;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after' | 'soon'>;
  /** They have waited long enough, and are not held any more. */
  readonly release: (changes: readonly Change[]) => void;
}

/** What the id of the first op that a client makes ends with, over all its connections. */
const FIRST_EVER = ':0';
/** The first message is held whatever its size: it may be all that a client brings back. */
const BEHIND_MAX = 1_000;
const CHARACTERS_BEHIND_MAX = 10 * 1024 * 1024;
/** Who has asked for Storage gets it sooner, or a room that joins it anew. */
const STORAGE_MS_MAX = 60_000;

export class EarlyOps {
  readonly #deps: EarlyOpsDeps;
  /** What left last. */
  #storage: StorageSent | null = null;
  #pings = 0;
  /** The ping ahead of it is answered. */
  #isArriving = false;
  /** From when the client must have read it; null while it is not known to have arrived. */
  #readByMs: number | null = null;
  #held: BoundedQueue<Change> | null = null;
  /** Of those that are held. */
  #oldest: string | undefined;
  #isToComeAgain = false;
  #stopTimer: (() => void) | null = null;

  constructor(deps: EarlyOpsDeps) {
    this.#deps = deps;
  }

  /** What is to be heard before the change, which is in order then: all that is older and was not answered is in it, too, or was heard. Null when it is not. */
  before({ ops }: Change, { hasAsked }: { readonly hasAsked: boolean }): Change[] | null {
    if (this.#held !== null) return this.#beforeAgain(ops);
    if (this.#hasRead || ops.every(({ opId }) => opId === undefined)) return [];
    const isKnown = hasAsked ? this.#deps.until === 'in order' && hasFirstEver(ops) : this.#areOfNow(ops);
    return isKnown ? [] : null;
  }

  /**
   * The oldest comes again, and with it all else, so that behind older ones what was held need not be heard. Where it is the first, the client has nothing older, and
   * an edit of a text that was held may say more: what is sent again can leave before its first copy does. Ops but the oldest may come alone, from the client's buffer.
   */
  #beforeAgain(ops: readonly Op[]): Change[] | null {
    const at = ops.findIndex(({ opId }) => opId === this.#oldest);
    if (at < 0) return null;
    const held = this.takeAll();
    return at === 0 && held.some((change) => change.ops.some(isTextEdit)) ? held : [];
  }

  /** False when it does not fit. */
  hold(change: Change): boolean {
    this.#isToComeAgain ||= !this.#isArriving && this.#deps.until === 'in order';
    if (this.#held !== null) return this.#held.push(change, JSON.stringify(change.ops).length);
    this.#oldest = change.ops.find(({ opId }) => opId !== undefined)!.opId;
    this.#held = new BoundedQueue({ itemsMax: BEHIND_MAX, bytesMax: CHARACTERS_BEHIND_MAX });
    this.#held.push(change, 0);
    this.#setTimer();
    return true;
  }

  /** Storage is about to leave for the client. */
  leaves(): void {
    this.#isArriving = false;
    this.#pings += 1;
    this.#deps.client.ping(this.#pingAhead);
  }

  /** It has left. */
  left(storage: StorageSent): void {
    this.#storage = storage;
    this.#readByMs = null;
    this.#deps.client.ping(this.#pingBehind);
    this.#setTimer();
  }

  ponged(data: string): void {
    if (data === this.#pingAhead) this.#isArriving = true;
    if (data !== this.#pingBehind || this.#storage === null) return;
    this.#readByMs = this.#deps.clock.monotonicMs() + (this.#deps.until === 'there' ? 0 : msToRead(this.#storage));
    this.#setTimer();
  }

  /** The session is over. */
  end(): void {
    this.#storage = null;
    this.#readByMs = null;
    this.#isArriving = false;
    this.#isToComeAgain = this.#held !== null && this.#deps.until === 'in order';
    this.#stopTimer?.();
  }

  /** Another carries on; it will be sent Storage of its own. */
  rejoined(): void {
    this.#setTimer();
  }

  /** The client has left: what may be all that it had to bring is heard, and never answered. */
  last(): Change[] {
    return this.#isToComeAgain || !this.#isArriving ? [] : this.takeAll();
  }

  /** In order, for the session of now; nothing is held any more. */
  takeAll(): Change[] {
    this.#stopTimer?.();
    const changes: Change[] = [];
    for (let change = this.#held?.shift(); change !== undefined; change = this.#held?.shift())
      changes.push({ ...change, from: this.#deps.client.id });
    this.#held = null;
    return changes;
  }

  get #pingAhead(): string {
    return `ahead of ${this.#pings}`;
  }

  get #pingBehind(): string {
    return `behind ${this.#pings}`;
  }

  get #hasRead(): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#readByMs !== null) return nowMs >= this.#readByMs;
    return this.#deps.until === 'in order' && this.#storage !== null && nowMs >= this.#storage.leftAtMs + HELD_MS_MAX;
  }

  /** An SDK client asks for Storage before it makes ops over a connection. */
  #areOfNow(ops: readonly Op[]): boolean {
    const { actor } = this.#deps.client;
    return actor === null || ops.every(({ opId }) => opId?.startsWith(`${actor}:`) !== false);
  }

  #setTimer(): void {
    this.#stopTimer?.();
    if (this.#held === null) return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#storage === null) this.#releaseAfter(STORAGE_MS_MAX);
    else if (this.#readByMs === null || this.#isToComeAgain) this.#releaseAfter(HELD_MS_MAX);
    else this.#releaseAfter(Math.max(0, this.#readByMs - nowMs));
  }

  /** In a turn after the one in which the time is over: what has arrived here by then is heard first, and may be the ops again. */
  #releaseAfter(ms: number): void {
    const { client, clock, release } = this.#deps;
    let isStopped = false;
    const stop = clock.after(ms, () =>
      clock.soon(() => {
        if (isStopped) return;
        if (client.isBehind) this.#releaseAfter(msToRead(this.#storage ?? NOTHING));
        else if (this.#deps.until === 'there' && this.#readByMs === null) client.refuse(new AppError('ROOM_MOVED'));
        else release(this.takeAll());
      }),
    );
    this.#stopTimer = () => {
      isStopped = true;
      stop();
    };
  }
}

const NOTHING = { characters: 0 } as const;

/** Who has made no op before these has nothing else to bring. */
function hasFirstEver(ops: readonly Op[]): boolean {
  return ops.some(({ opId }) => opId?.endsWith(FIRST_EVER) === true);
}
