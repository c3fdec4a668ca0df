/**
 * The book of a run: every message carries a mark that says who sent it and as which of theirs, so each arrival is known to be a real
 * one, is timed, and is counted once.
 *
 * The mark is text that survives every protocol as it is, and is found in a frame without decoding it; several may share a frame.
 * Sender and receivers live in one process and therefore on one clock (that of `process.hrtime`, which `performance.now` reads).
 */

const TILDE = 0x7e;
const ZERO = 0x30;
const SENDER_DIGITS = 4;
const NUMBER_DIGITS = 7;
/** 126, the code of a tilde, is no multiple of it: else the clock of somebody's tenth mark would look like the beginning of another. */
const MARK_BYTES = 2 + SENDER_DIGITS + NUMBER_DIGITS;

/** The mark of the `number`-th message of a sender, both counted from 0. */
export function markOf(sender: number, number: number): string {
  if (sender >= 10 ** SENDER_DIGITS || number >= 10 ** NUMBER_DIGITS)
    throw new Error(`no mark for message ${number} of sender ${sender}`);
  return `~~${String(sender).padStart(SENDER_DIGITS, '0')}${String(number).padStart(NUMBER_DIGITS, '0')}`;
}

/** Whom a message must reach: all but its sender, or its sender too, as an acknowledgement; or all others, and its sender may get it back, which does not count. */
export type Reach = 'others' | 'all' | 'others, echoed';

export interface LedgerOptions {
  readonly senders: number;
  /** Clients in the room. The senders are the first of them. */
  readonly clients: number;
  readonly reach: Reach;
  /** The number of the first sender, where several rooms have ledgers: then what leaks from one into the other is seen. */
  readonly firstSender?: number;
  /** Whether a newer message of a sender stands for those before it that never came, as a newer state of a person does; else each must come. */
  readonly gaps?: 'filled by newer';
  /** Hears of each acknowledgement of a message to its sender. */
  readonly onOwn?: (sender: number, number: number) => void;
  /** Hears of each arrival at somebody else. */
  readonly onOther?: (sender: number, number: number) => void;
  /** Takes the times of what counts, which then are not kept here: a run of hours has millions. */
  readonly onTime?: (whose: 'own' | 'others', ms: number, sender: number, number: number) => void;
}

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #firstSender: number;
  /** Times of sending, by sender. */
  readonly #sentAtMs: number[][];
  /** The newest number seen, by receiver and sender. */
  readonly #seen: Int32Array;
  #openedAtMs = Number.POSITIVE_INFINITY;
  #closedAtMs = Number.POSITIVE_INFINITY;
  readonly #othersMs: number[] = [];
  readonly #ownMs: number[] = [];
  #delivered = 0;
  /** Arrivals that were there before, came out of order, or were never sent. */
  #strays = 0;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#firstSender = options.firstSender ?? 0;
    this.#sentAtMs = Array.from({ length: options.senders }, () => []);
    this.#seen = new Int32Array(options.senders * options.clients).fill(-1);
  }

  /** Notes that the next message of `sender` leaves now, and returns its number. */
  sent(sender: number): number {
    return this.#sentAtMs[sender]!.push(performance.now()) - 1;
  }

  /** Notes all that arrives in one frame. */
  received(receiver: number, frame: Buffer): void {
    const nowMs = performance.now();
    for (let at = frame.indexOf(TILDE); at >= 0; at = frame.indexOf(TILDE, at + 1)) {
      if (frame[at + 1] !== TILDE || at + MARK_BYTES > frame.length) continue;
      const sender = digits(frame, at + 2, SENDER_DIGITS) - this.#firstSender;
      const number = digits(frame, at + 2 + SENDER_DIGITS, NUMBER_DIGITS);
      this.#arrived({ receiver, sender, number, nowMs });
      at += MARK_BYTES - 1;
    }
  }

  /** Messages sent from now on count, until the window closes. */
  open(): void {
    this.#openedAtMs = performance.now();
  }

  close(): void {
    this.#closedAtMs = performance.now();
  }

  /** Arrivals at others than the sender, of messages that count, as times since they were sent. */
  get othersMs(): readonly number[] {
    return this.#othersMs;
  }

  /** The same for acknowledgements to the sender. */
  get ownMs(): readonly number[] {
    return this.#ownMs;
  }

  /** Messages that count. */
  get messages(): number {
    return this.#sentAtMs.reduce((sum, times) => sum + times.filter((atMs) => this.#counts(atMs)).length, 0);
  }

  get expected(): number {
    const { clients, reach } = this.#options;
    return this.messages * (reach === 'all' ? clients : clients - 1);
  }

  get delivered(): number {
    return this.#delivered;
  }

  get problems(): string[] {
    return this.#strays === 0 ? [] : [`${this.#strays} messages came twice, out of order, or from nobody`];
  }

  #arrived({ receiver, sender, number, nowMs }: { receiver: number; sender: number; number: number; nowMs: number }): void {
    const { clients, reach, gaps, onOwn, onOther } = this.#options;
    const isOwn = sender === receiver;
    if (isOwn && reach === 'others, echoed') return;
    const sentAtMs = this.#sentAtMs[sender]?.[number];
    const cell = sender * clients + receiver;
    if (sentAtMs === undefined || number <= this.#seen[cell]! || (isOwn && reach === 'others')) {
      this.#strays += 1;
      return;
    }
    const first = gaps === 'filled by newer' ? this.#seen[cell]! + 1 : number;
    for (let each = first; each <= number; each += 1) this.#note(isOwn ? 'own' : 'others', { sender, number: each, nowMs });
    this.#seen[cell] = number;
    if (isOwn) onOwn?.(sender, number);
    else onOther?.(sender, number);
  }

  #note(whose: 'own' | 'others', { sender, number, nowMs }: { sender: number; number: number; nowMs: number }): void {
    const sentAtMs = this.#sentAtMs[sender]![number]!;
    if (!this.#counts(sentAtMs)) return;
    const { onTime } = this.#options;
    this.#delivered += 1;
    if (onTime !== undefined) onTime(whose, nowMs - sentAtMs, sender, number);
    else (whose === 'own' ? this.#ownMs : this.#othersMs).push(nowMs - sentAtMs);
  }

  #counts(sentAtMs: number): boolean {
    return sentAtMs >= this.#openedAtMs && sentAtMs < this.#closedAtMs;
  }
}

function digits(frame: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index += 1) value = value * 10 + frame[index]! - ZERO;
  return value;
}
