/**
 * What a room has decided and not yet written down. One append is under way at a time; what gathers meanwhile is the next entry, which waits a moment for
 * those whom the last one answered: twenty who write as soon as they are answered share a commit then instead of two half ones. What nobody waits
 * for waits for the beat, so that a room in which people type costs a commit per beat instead of one per keystroke.
 */
import { concat } from '../base/binary.ts';
import type { Clock } from '../base/clock.ts';
import { withOneMore } from '../base/small.ts';
import { CommitDelay } from '../kernel/persistence/commit-delay.ts';
import type { Appender, AppendOutcome, Journal, JournalEntry } from '../kernel/persistence/journal.ts';
import type { Beat } from './beat.ts';
import type { RoomShell } from './room-shell.ts';
import type { WaitingBytes } from './waiting-bytes.ts';

export interface PendingDeps {
  readonly clock: Clock;
  readonly journal: Pick<Journal, 'append'>;
  readonly beat: Beat;
  /** Of all rooms together. */
  readonly waiting: WaitingBytes;
}

type Shell = Pick<RoomShell, 'isAwaited' | 'place' | 'onAppended' | 'onNotAppended'>;

/** So much is appended at once, whether somebody waits for it or not. */
const UNAWAITED_BYTES_MAX = 64 * 1024;

export class Pending implements Appender {
  readonly #deps: PendingDeps;
  readonly #shell: Shell;
  readonly #delay: CommitDelay;
  #records: Uint8Array[] | null = null;
  #bytes = 0;
  #isAppending = false;
  /** Whether somebody waited for what is under way when it began. */
  #wasAwaited = false;
  #isAtBeat = false;
  /** Made once: where people type it is handed in ten times a second. */
  #onBeat: (() => void) | null = null;

  constructor(deps: PendingDeps, shell: Shell) {
    this.#deps = deps;
    this.#shell = shell;
    this.#delay = new CommitDelay({ clock: deps.clock, begin: () => this.append() });
  }

  /** Bytes that are not in the journal, those under way included. */
  get bytes(): number {
    return this.#bytes;
  }

  get isAppending(): boolean {
    return this.#isAppending;
  }

  /** Call `appendInTime` when it is known who waits for it. */
  add(record: Uint8Array): void {
    this.#records = withOneMore(this.#records, record);
    this.#bytes += record.length;
    this.#deps.waiting.came(record.length);
    this.#delay.came();
  }

  /** At once when somebody waits for it; else with what other rooms have by the next beat. */
  appendInTime(): void {
    if (this.#bytes > UNAWAITED_BYTES_MAX) this.append();
    else if (this.#shell.isAwaited) this.#appendTogether();
    else if (this.#records !== null) this.#appendAtBeat();
  }

  /** Appends all as one entry, unless one is under way: then its end leads here again. */
  append(): void {
    const records = this.#records;
    if (this.#isAppending || records === null) return;
    const { place } = this.#shell;
    if (place === null) return;
    const { stream, epoch, version } = place;
    const entry = { stream, epoch, version, count: records.length, payload: concat(records) };
    this.#records = null;
    this.#isAppending = true;
    this.#wasAwaited = this.#shell.isAwaited;
    this.#delay.stop();
    this.#deps.journal.append(entry, this);
  }

  /** The room is lost: what is not under way is never written. */
  drop(): void {
    for (const record of this.#records ?? []) this.#went(record.length);
    this.#records = null;
  }

  appended(entry: JournalEntry, outcome: AppendOutcome): void {
    this.#isAppending = false;
    this.#went(entry.payload.length);
    if (this.#wasAwaited) this.#delay.answered(entry.count, this.#records?.length ?? 0);
    this.#shell.onAppended(entry, outcome);
  }

  notAppended(entry: JournalEntry, error: unknown): void {
    this.#isAppending = false;
    this.#went(entry.payload.length);
    this.#shell.onNotAppended(error);
  }

  #went(bytes: number): void {
    this.#bytes -= bytes;
    this.#deps.waiting.went(bytes);
  }

  #appendTogether(): void {
    if (!this.#delay.isOn) this.append();
  }

  #appendAtBeat(): void {
    if (this.#isAtBeat) return;
    this.#isAtBeat = true;
    this.#onBeat ??= () => {
      this.#isAtBeat = false;
      this.append();
    };
    this.#deps.beat.next(this.#onBeat);
  }
}
