/**
 * A bad network between one client and the server, as a `WebSocket` class to hand to an SDK: every frame takes its time, and the link can
 * be cut with frames under way in both directions. Frames stay in order, as on any WebSocket. It does not know what they mean.
 */
import { WebSocket } from 'ws';
import type { Dice } from './dice.ts';

/** Nobody listens there. */
const NOWHERE = 'ws://127.0.0.1:1/';

export interface LinkOptions {
  readonly dice: Dice;
  /** Most frames take less than a tenth of this; one in ten takes up to all of it. */
  readonly delayMsMax: number;
  readonly onOpen?: () => void;
  readonly onUp?: (frame: unknown) => void;
  readonly onDown?: (frame: unknown) => void;
  readonly onLost?: ((code: number, reason: string) => void) | undefined;
}

/** One socket of the link, seen from the link. */
interface Wire {
  readonly up: Lane;
  readonly down: Lane;
  /** Ends it as the link's `cut` says. */
  drop(lost: Lost): void;
}

/** What a cut loses besides all answers under way: also what the client sent and the server has not got, or not. */
export type Lost = 'both' | 'answers';

export class Link {
  readonly WebSocket: new (
    address: string | URL,
    protocols?: string | string[],
  ) => WebSocket;
  /** What the client threw while it took a frame in; a browser would write it to its console and go on. */
  readonly thrown: unknown[] = [];
  readonly #options: LinkOptions;
  readonly #wires = new Set<Wire>();
  #state: 'slow' | 'fast' | 'cut' = 'slow';

  constructor(options: LinkOptions) {
    this.#options = options;
    const link = this;
    this.WebSocket = class extends WebSocket implements Wire {
      readonly up = new Lane(() => link.#delayMs());
      readonly down = new Lane(() => link.#delayMs());
      #isDeaf = false;
      /** Tells the client that the socket is closed; null before it is, and once told. */
      #end: (() => void) | null = null;

      constructor(address: string | URL, protocols?: string | string[]) {
        super(link.#state === 'cut' ? NOWHERE : address, protocols);
        link.#wires.add(this);
      }

      override send(data: never): void {
        this.up.push(() => {
          if (this.readyState !== WebSocket.OPEN) return;
          options.onUp?.(data);
          super.send(data);
        });
      }

      override emit(event: string | symbol, ...details: unknown[]): boolean {
        const emit = (): boolean => super.emit(event as never, ...(details as never[]));
        if (event === 'open') options.onOpen?.();
        if (event !== 'message' && event !== 'close') return emit();
        if (event === 'close') {
          options.onLost?.(details[0] as number, String(details[1]));
          this.up.clear();
          this.#end = emit;
          if (this.#isDeaf) this.#tellEnd();
          else this.down.push(() => this.#tellEnd());
        } else if (!this.#isDeaf) {
          this.down.push(() => {
            options.onDown?.(details[1] === true ? details[0] : String(details[0]));
            link.#guard(emit);
          });
        }
        return true;
      }

      drop(lost: Lost): void {
        this.#isDeaf = true;
        if (lost === 'answers') this.up.flush();
        this.up.clear();
        this.down.clear();
        this.#tellEnd();
        // After `close` the server still reads all that was sent; `terminate` lets the machine throw it away.
        if (lost === 'answers' && this.readyState === WebSocket.OPEN) this.close();
        else this.terminate();
      }

      #tellEnd(): void {
        link.#wires.delete(this);
        const end = this.#end;
        this.#end = null;
        if (end !== null) link.#guard(end);
      }
    };
  }

  /** Whether nothing is under way. */
  get isIdle(): boolean {
    return [...this.#wires].every(({ up, down }) => up.isEmpty && down.isEmpty);
  }

  /** Drops the sockets without a goodbye and lets no new one through. */
  cut(lost: Lost): void {
    this.#state = 'cut';
    for (const wire of [...this.#wires]) wire.drop(lost);
  }

  mend(): void {
    if (this.#state === 'cut') this.#state = 'slow';
  }

  /** Mends it for good: from now on frames take no time, those under way included. */
  hasten(): void {
    this.#state = 'fast';
    for (const { up, down } of this.#wires) {
      up.flush();
      down.flush();
    }
  }

  #delayMs(): number {
    if (this.#state === 'fast') return 0;
    const { dice, delayMsMax } = this.#options;
    return dice.fraction() * (dice.chance(0.1) ? delayMsMax : delayMsMax / 10);
  }

  #guard(task: () => unknown): void {
    try {
      task();
    } catch (error) {
      this.thrown.push(error);
    }
  }
}

/** One direction: what enters first leaves first. */
class Lane {
  readonly #delayMs: () => number;
  #waiting: { readonly dueMs: number; readonly task: () => void }[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(delayMs: () => number) {
    this.#delayMs = delayMs;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  push(task: () => void): void {
    const delayMs = this.#delayMs();
    if (delayMs < 1 && this.#waiting.length === 0) {
      task();
      return;
    }
    this.#waiting.push({ dueMs: performance.now() + delayMs, task });
    this.#arm();
  }

  flush(): void {
    for (const { task } of this.#waiting.splice(0)) task();
  }

  clear(): void {
    this.#waiting = [];
  }

  #arm(): void {
    if (this.#timer !== null || this.#waiting.length === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        while (this.#waiting.length > 0 && this.#waiting[0]!.dueMs <= performance.now()) this.#waiting.shift()!.task();
        this.#arm();
      },
      Math.max(1, this.#waiting[0]!.dueMs - performance.now()),
    );
  }
}
