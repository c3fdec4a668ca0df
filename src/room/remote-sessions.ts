/**
 * Sessions of rooms on this worker whose sockets are on others, and the reverse: what rooms elsewhere have for the sockets here.
 *
 * A frame crosses to each worker once, with the sessions there that it is for. Which worker a session is on, its id tells: it begins with
 * the name of that worker, and the name's address is learned from whatever comes from there.
 */
import type { Clock } from '../base/clock.ts';
import type { Facts } from '../base/error-table.ts';
import { AppError, type ErrorCode } from '../base/errors.ts';
import { asSessionId, type SessionId, type WorkerAddress } from '../base/ids.ts';
import type { Bus, Message } from '../kernel/cluster/bus.ts';
import { lengthOf } from '../kernel/transport/frame.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import { LinkQueues } from './link-queues.ts';
import { type Hearer, type Recipient, recipientOf } from './recipient.ts';

/** Takes what a room has for its sessions; sessions that are gone are skipped. */
export interface SessionSink {
  /** Hands the frames to every one of them, in its order and perhaps later: neither list may change. */
  deliver(recipients: readonly Recipient[], frames: readonly OutFrame[]): void;
  /** Closes their sockets, after what was delivered before and is not held (`held-answers.ts`). */
  closeSessions(sessions: readonly SessionId[], refusal: AppError): void;
  /** The room does not know these sessions any more, or has them no longer: they are to join anew. */
  loseSessions(sessions: readonly SessionId[]): void;
}

const DELIVER = 'session.deliver';
const CLOSE = 'session.close';
const LOSE = 'session.lose';
const GONE = 'session.gone';

export interface LocalSessions extends SessionSink {
  /** Returns who of those here hears it last, or null when all have. */
  deliver(recipients: readonly Recipient[], frames: readonly OutFrame[]): Hearer | null;
  /** Whether its socket is on this worker. */
  has(session: SessionId): boolean;
}

interface RemoteSessionsDeps {
  readonly bus: Pick<Bus, 'tell' | 'waitingBytes'>;
  readonly workerName: string;
  readonly clock: Pick<Clock, 'soon' | 'after'>;
  /** Rooms here had something for sessions that are not where they were; that they left did not get here. Told after the turn. */
  readonly onGone: (sessions: ReadonlySet<SessionId>) => void;
}

export class RemoteSessions implements SessionSink {
  readonly #bus: Pick<Bus, 'tell'>;
  readonly #queues: LinkQueues;
  /** This worker's own name: begins the ids of its sessions. */
  readonly #name: string;
  readonly #addresses = new Map<string, WorkerAddress>();
  readonly #clock: Pick<Clock, 'soon'>;
  readonly #onGone: RemoteSessionsDeps['onGone'];
  /** Found in this turn. */
  #gone = new Set<SessionId>();

  constructor({ bus, workerName, clock, onGone }: RemoteSessionsDeps) {
    this.#bus = bus;
    this.#queues = new LinkQueues({ bus, clock });
    this.#name = workerName;
    this.#clock = clock;
    this.#onGone = onGone;
  }

  /** Whether a message of the bus is for `handle`. */
  static isFor({ kind }: Message): boolean {
    return kind.startsWith('session.');
  }

  /** A session of that worker joins a room here, or speaks to one that it takes to be here. */
  comesFrom(session: SessionId, from: WorkerAddress): void {
    this.#addresses.set(workerNameOf(session), from);
  }

  /** That worker has ended or fell out of touch. Returns what the ids of its sessions begin with. */
  workerDown(address: WorkerAddress): string[] {
    const names: string[] = [];
    this.#queues.forget(address);
    for (const [name, known] of this.#addresses) {
      if (known !== address) continue;
      names.push(name);
      this.#addresses.delete(name);
    }
    return names;
  }

  deliver(recipients: readonly Recipient[], frames: readonly OutFrame[]): void {
    const sessions = recipients.map(({ id }) => id);
    let length = 0;
    for (const { data } of frames) length += lengthOf(data);
    this.#tellEach(sessions, (numbers) => ({ kind: DELIVER, payload: [numbers, frames] }), length);
  }

  closeSessions(sessions: readonly SessionId[], { code, facts }: AppError): void {
    this.#tellEach(sessions, (numbers) => ({ kind: CLOSE, payload: [numbers, code, facts] }));
  }

  loseSessions(sessions: readonly SessionId[]): void {
    this.#tellEach(sessions, (numbers) => ({ kind: LOSE, payload: [numbers] }));
  }

  /** What another worker has for the sessions here; of those that are not here any more it is told so. */
  handle({ kind, payload }: Message, { from, here }: { from: WorkerAddress; here: LocalSessions }): void {
    const [first, ...rest] = payload as [unknown, ...unknown[]];
    if (kind === GONE) {
      for (const id of first as string[]) this.#noteGone(asSessionId(id));
      return;
    }
    const sessions = (first as number[]).map((number) => asSessionId(`${this.#name}-${number}`));
    if (kind === DELIVER) this.#deliverHere(sessions, rest[0] as OutFrame[], { from, here });
    else if (kind === CLOSE) here.closeSessions(sessions, new AppError(rest[0] as ErrorCode, rest[1] as Facts));
    else if (kind === LOSE) here.loseSessions(sessions);
  }

  #noteGone(id: SessionId): void {
    if (this.#gone.size === 0)
      this.#clock.soon(() => {
        const gone = this.#gone;
        this.#gone = new Set();
        this.#onGone(gone);
      });
    this.#gone.add(id);
  }

  #deliverHere(
    sessions: readonly SessionId[],
    frames: readonly OutFrame[],
    { from, here }: { from: WorkerAddress; here: LocalSessions },
  ): void {
    const gone = sessions.filter((id) => !here.has(id));
    if (gone.length > 0) this.#bus.tell(from, { kind: GONE, payload: [gone] });
    here.deliver((gone.length > 0 ? sessions.filter((id) => here.has(id)) : sessions).map(recipientOf), frames);
  }

  /** Sessions for which the link has no room are closed instead: they come back, and begin anew. */
  #tellEach(sessions: readonly SessionId[], messageFor: (numbers: readonly number[]) => Message, length = 0): void {
    const byWorker = new Map<string, number[]>();
    for (const id of sessions) {
      const name = workerNameOf(id);
      if (name === this.#name) {
        this.#noteGone(id); // were it here, it would have been found before
        continue;
      }
      const numbers = byWorker.get(name);
      const number = Number(id.slice(name.length + 1));
      if (numbers === undefined) byWorker.set(name, [number]);
      else numbers.push(number);
    }
    for (const [name, numbers] of byWorker) {
      const address = this.#addresses.get(name);
      if (address === undefined || this.#queues.tell(address, { message: messageFor(numbers), length })) continue;
      this.#bus.tell(address, { kind: CLOSE, payload: [numbers, 'WORKER_OVERLOADED', {}] });
    }
  }
}

/** Session ids are made of a worker's name and a number. */
function workerNameOf(id: SessionId): string {
  return id.slice(0, id.lastIndexOf('-'));
}
