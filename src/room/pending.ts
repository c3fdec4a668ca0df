/**
 * What a room has decided and not yet written down. One append is under way at a time; what gathers meanwhile is the next entry. What nobody waits
 * for waits for the beat, so that a room in which people type costs a commit per beat instead of one per keystroke.
 */
import { concat } from '../base/binary.ts';
import type { AppendOutcome, Journal, JournalEntry } from '../kernel/persistence/journal.ts';
import type { Beat } from './beat.ts';

export interface PendingDeps {
  readonly journal: Pick<Journal, 'append'>;
  readonly beat: Beat;
  /** Whether somebody waits for what is pending. */
  readonly isAwaited: () => boolean;
  /** Null while nothing may be appended: then `append` is called again. */
  readonly place: () => Pick<JournalEntry, 'stream' | 'epoch' | 'version'> | null;
  readonly onAppended: (entry: JournalEntry, outcome: AppendOutcome) => void;
  readonly onFailed: (error: unknown) => void;
}

/** So much is appended at once, whether somebody waits for it or not. */
const UNAWAITED_BYTES_MAX = 64 * 1024;

export class Pending {
  readonly #deps: PendingDeps;
  #records: Uint8Array[] = [];
  #bytes = 0;
  #isAppending = false;
  #isAtBeat = false;

  constructor(deps: PendingDeps) {
    this.#deps = deps;
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
    this.#records.push(record);
    this.#bytes += record.length;
  }

  /** At once when somebody waits for it; else with what other rooms have by the next beat. */
  appendInTime(): void {
    if (this.#deps.isAwaited() || this.#bytes > UNAWAITED_BYTES_MAX) this.append();
    else if (this.#records.length > 0) this.#appendAtBeat();
  }

  /** Appends all as one entry, unless one is under way: then its end leads here again. */
  append(): void {
    if (this.#isAppending || this.#records.length === 0) return;
    const place = this.#deps.place();
    if (place === null) return;
    const entry = { ...place, count: this.#records.length, payload: concat(this.#records) };
    this.#records = [];
    this.#isAppending = true;
    this.#deps.journal.append(entry).then(
      (outcome) => {
        this.#isAppending = false;
        this.#bytes -= entry.payload.length;
        this.#deps.onAppended(entry, outcome);
      },
      (error: unknown) => {
        this.#isAppending = false;
        this.#deps.onFailed(error);
      },
    );
  }

  #appendAtBeat(): void {
    if (this.#isAtBeat) return;
    this.#isAtBeat = true;
    this.#deps.beat.next(() => {
      this.#isAtBeat = false;
      this.append();
    });
  }
}
