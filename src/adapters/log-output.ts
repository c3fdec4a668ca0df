/**
 * Standard output as the destination of the log. To write never blocks, never throws and never keeps the process from ending, whatever becomes of the
 * other side: a full disk, a terminal that is gone, a reader that stands still.
 *
 * pino's own destination ends the process for a disk that is full, and then tries for ever, synchronously, to write its last lines.
 */
import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import type { Clock } from '../base/clock.ts';

/** Characters that wait to be written; lines beyond are lost. */
const WAITING_MAX = 1_048_576;
/** Whole lines are written in pieces of so many characters, or one by one: a pipe takes 4 KiB whole or not at all, and workers that share it do not cut each other's lines (pipe(7)). */
const PIECE = 4_096;
/** After a pipe was full, and after all else: a disk that is full, a terminal that is gone. */
const FULL_PIPE_MS = 50;
const AGAIN_MS = 1_000;
/** For a reader of a pipe who is only slow, at the end of the process. */
const LAST_TRIES = 50;
const LAST_TRY_MS = 10;

export class LogOutput {
  readonly #fd: number;
  readonly #isPipe: boolean;
  readonly #clock: Clock;
  readonly #onLost: (lines: number) => void;
  #waiting = '';
  /** What is being written, or could not be. */
  #current: Buffer = Buffer.alloc(0);
  #state: 'idle' | 'writing' | 'failed' = 'idle';
  #lost = 0;

  /** To this open file; `onLost` is told how many lines were lost, once there is room again. */
  constructor({ fd, clock, onLost }: { fd: number; clock: Clock; onLost: (lines: number) => void }) {
    const pipe = pipeThatNeverBlocks(fd);
    this.#isPipe = pipe !== null;
    this.#fd = pipe ?? fd;
    this.#clock = clock;
    this.#onLost = onLost;
  }

  /** Takes one line, its end included. */
  write(line: string): void {
    if (this.#waiting.length + line.length > WAITING_MAX) this.#lost += 1;
    else this.#waiting += line;
    if (this.#state === 'idle') this.#next();
  }

  /** For the end of the process: writes what waits in this turn, as far as that is possible. */
  finish(): void {
    const unwritten = this.#state === 'writing' ? [] : [this.#current]; // what is being written is with the system already
    let rest: Uint8Array = Buffer.concat([...unwritten, Buffer.from(this.#waiting)]);
    for (let tries = 0; rest.length > 0 && tries < LAST_TRIES; tries += 1) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (!isFullPipe(error)) return;
        Atomics.wait(NEVER_WOKEN, 0, 0, LAST_TRY_MS);
      }
    }
  }

  #next(): void {
    this.#state = 'writing';
    if (this.#current.length === 0) this.#takeLines();
    if (this.#current.length === 0) this.#state = 'idle';
    else if (this.#isPipe) this.#writeNow();
    else write(this.#fd, this.#current, (error, bytes) => (error === null ? this.#wrote(bytes) : this.#failed(error)));
  }

  /** It is known then what the system has taken, at the end of the process too. */
  #writeNow(): void {
    let bytes: number;
    try {
      bytes = writeSync(this.#fd, this.#current);
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#wrote(bytes);
  }

  #takeLines(): void {
    const lost = this.#lost;
    if (lost > 0 && this.#waiting === '') {
      this.#lost = 0;
      this.#onLost(lost); // a line, which follows those that fitted
    }
    const end = this.#waiting.lastIndexOf('\n', PIECE - 1) + 1 || this.#waiting.indexOf('\n') + 1 || this.#waiting.length;
    this.#current = Buffer.from(this.#waiting.slice(0, end));
    this.#waiting = this.#waiting.slice(end);
  }

  #wrote(bytes: number): void {
    this.#current = this.#current.subarray(bytes);
    this.#next();
  }

  #failed(error: unknown): void {
    this.#state = 'failed';
    this.#clock.after(isFullPipe(error) ? FULL_PIPE_MS : AGAIN_MS, () => this.#next());
  }
}

function isFullPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EAGAIN';
}

const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

/**
 * A write to a pipe that is full would hold a thread of Node's pool, for which the end of the process waits. So a pipe is opened once more, which leaves
 * the end that others share as it is. Where that may not be (another user's, another system) it is used as it comes.
 */
function pipeThatNeverBlocks(fd: number): number | null {
  try {
    return fstatSync(fd).isFIFO() ? openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK) : null;
  } catch {
    return null;
  }
}
