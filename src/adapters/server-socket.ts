/**
 * The life of one WebSocket, the same on both servers: open, closing, closed, and what an exception in a handler does.
 *
 * It knows no library: `Wire` is the little that differs.
 */
import { AppError } from '../base/errors.ts';
import type { Frame } from '../kernel/transport/frame.ts';
import type { ServerOptions, Socket, SocketHandler, UpgradeRequest } from '../kernel/transport/server.ts';
import { closeReason } from './server-wire.ts';

export interface Wire {
  /** False when more than the backstop waits already and the frame was not taken. */
  send(frame: Frame): boolean;
  cork(writes: () => void): void;
  ping(data: string): void;
  /** Sends a close frame behind all that waits, and ends; by force when the peer is too slow. */
  end(code: number, reason: string): void;
  /** Ends at once, without a word. */
  drop(): void;
  bufferedBytes(): number;
}

type SocketOptions = Pick<ServerOptions, 'socket' | 'reportBug' | 'socketClosed'>;

export class OpenSocket implements Socket {
  readonly #wire: Wire;
  readonly #options: SocketOptions;
  #handler: SocketHandler | null = null;
  #isOpen = true;

  constructor(wire: Wire, options: SocketOptions) {
    this.#wire = wire;
    this.#options = options;
  }

  send(frame: Frame): boolean {
    if (!this.#isOpen) return false;
    if (this.#wire.send(frame)) return true;
    this.gone(1006, 'the send buffer is full');
    this.#wire.drop();
    return false;
  }

  cork(writes: () => void): void {
    if (this.#isOpen) this.#wire.cork(writes);
    else writes();
  }

  ping(data: string): void {
    if (this.#isOpen) this.#wire.ping(data);
  }

  close(code: number, reason: string): void {
    if (!this.#isOpen) return;
    const told = closeReason(reason);
    this.gone(code, told);
    this.#wire.end(code, told);
  }

  bufferedBytes(): number {
    return this.#isOpen ? this.#wire.bufferedBytes() : 0;
  }

  /** Hands the socket to the application; called by the adapter, once. */
  accept(request: UpgradeRequest): void {
    this.#guard(() => {
      this.#handler = this.#options.socket(request, this);
    });
  }

  received(data: string | Uint8Array): void {
    if (!this.#isOpen) return;
    try {
      this.#handler?.message(data); // not through `guard`: each frame would have a closure of its own
    } catch (error) {
      this.#failed(error);
    }
  }

  tooLong(bytesMax: number): void {
    if (this.#isOpen) this.#guard(() => this.#handler?.tooLong(bytesMax));
  }

  ponged(data: string): void {
    if (this.#isOpen) this.#guard(() => this.#handler?.ponged(data));
  }

  drained(): void {
    if (this.#isOpen) this.#guard(() => this.#handler?.drained());
  }

  /** The connection is over, or as good as. Told in a later turn, so that a handler never hears of its own `close` while it runs. */
  gone(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.socketClosed?.(code);
    queueMicrotask(() => this.#guard(() => this.#handler?.closed(code, reason)));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof AppError && this.#isOpen) {
      this.close(error.close, error.message);
    } else {
      this.close(1011, 'Something went wrong on our side.');
      this.#options.reportBug(error);
    }
  }
}
