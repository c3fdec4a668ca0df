/** The first bytes of a connection, before it is known who speaks: so many as were asked for, and little more is ever held. */
import type { Socket } from 'node:net';

export class FirstBytes {
  readonly #socket: Socket;
  readonly #heldBytesMax: number;
  #held: Buffer = Buffer.alloc(0);
  #isOver = false;
  #wanted: { readonly size: number; readonly resolve: (bytes: Uint8Array | null) => void } | null = null;

  /** More than `heldBytesMax` at once ends the connection; the socket is paused while nothing is asked for. */
  constructor(socket: Socket, { heldBytesMax }: { heldBytesMax: number }) {
    this.#socket = socket;
    this.#heldBytesMax = heldBytesMax;
    socket.on('data', this.#take);
    socket.on('end', this.#end);
    socket.on('close', this.#end);
  }

  /** The next `size` bytes; null when the connection ended before. */
  read(size: number): Promise<Uint8Array | null> {
    return new Promise((resolve) => {
      this.#wanted = { size, resolve };
      this.#give();
      if (this.#wanted !== null) this.#socket.resume();
    });
  }

  /** Stops listening, with the socket paused; returns what came beyond what was read. Null when the connection ended. */
  release(): Uint8Array | null {
    this.#socket.pause();
    this.#socket.off('data', this.#take);
    this.#socket.off('end', this.#end);
    this.#socket.off('close', this.#end);
    return this.#isOver ? null : this.#held;
  }

  readonly #take = (piece: Buffer): void => {
    this.#held = Buffer.concat([this.#held, piece]);
    this.#give();
    if (this.#held.length > this.#heldBytesMax) this.#socket.destroy();
    else if (this.#wanted === null) this.#socket.pause();
  };

  readonly #end = (): void => {
    this.#isOver = true;
    this.#give();
  };

  #give(): void {
    const wanted = this.#wanted;
    if (wanted === null) return;
    const isThere = this.#held.length >= wanted.size;
    if (!isThere && !this.#isOver) return;
    this.#wanted = null;
    wanted.resolve(isThere ? Uint8Array.from(this.#held.subarray(0, wanted.size)) : null);
    this.#held = this.#held.subarray(wanted.size);
  }
}
