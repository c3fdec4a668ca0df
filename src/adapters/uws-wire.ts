/**
 * What one socket of uWS sends. A long frame leaves in fragments (RFC 6455, 5.4), each when the system has taken the one before: uWS copies
 * whatever the system does not take at once, and of a document of 50 MB that would be nearly all of it, for every reader anew. And what the system takes at
 * once it copies in the turn in which it is sent, some milliseconds for a MB: nobody else is to wait for more than a few fragments (`loop-slices.ts`).
 */
import type { WebSocket } from 'uWebSockets.js';
import { concat } from '../base/binary.ts';
import { systemClock } from '../base/clock.ts';
import { noneLonger } from '../base/pieces.ts';
import { type Frame, isUtf8, lengthOf, type Utf8 } from '../kernel/transport/frame.ts';
import { loopSlices } from './loop-slices.ts';
import type { Wire } from './server-socket.ts';
import { WIRE } from './server-wire.ts';

/** So short that little is copied of the one at which the system takes no more, and that one takes some tenths of a millisecond. A longer frame is long. */
const FRAGMENT_BYTES = 128 * 1024;

/** So much may wait behind a long frame until its turns come. With more it leaves now, as far as the system takes it: waiting for its turns does not make a reader slow. */
const BEHIND_BYTES_MAX = 512 * 1024;

class Ping {
  readonly data: string;

  constructor(data: string) {
    this.data = data;
  }
}

/** What uWS says of a send; 0 when a part of it waits. */
const SENT = 1;
const DROPPED = 2;

/** A frame that leaves in parts. */
interface Fragments {
  readonly fragments: readonly Uint8Array[];
  readonly isBinary: boolean;
  sent: number;
  leftBytes: number;
}

/** The same for all sockets of a server. */
export interface UwsWireOptions<Seat> {
  /** A frame is not taken while more than this wait. */
  readonly bytesMax: number;
  /** The last of what was long has left, where uWS by itself would not say so. */
  readonly drain: (ws: WebSocket<Seat>) => void;
}

export class UwsWire<Seat> implements Wire {
  #ws: WebSocket<Seat> | null;
  readonly #options: UwsWireOptions<Seat>;
  /** False: the system took all that was sent, and uWS need not be asked, which everybody who hears a message would cost once. */
  #mayWait = false;
  /** The long frame that is leaving, and what was sent after it. */
  #leaving: (Fragments & { readonly behind: (Frame | Ping)[]; behindBytes: number }) | null = null;
  /** The next fragment has its turn. */
  #hasTurn = false;
  #ending: { readonly code: number; readonly reason: string; readonly cancel: () => void } | null = null;

  constructor(ws: WebSocket<Seat>, options: UwsWireOptions<Seat>) {
    this.#ws = ws;
    this.#options = options;
  }

  send(frame: Frame): boolean {
    if (this.#ws === null) return false;
    if (this.#leaving !== null || isLong(frame)) return this.#sendInTurn(frame);
    const outcome = isUtf8(frame) ? this.#ws.send(concat(frame.utf8)) : this.#ws.send(frame, typeof frame !== 'string');
    if (outcome !== SENT) this.#mayWait = true;
    return outcome !== DROPPED;
  }

  cork(writes: () => void): void {
    this.#ws?.cork(writes);
    this.#mayWait = true; // what a send within says is not about the system
  }

  ping(data: string): void {
    if (this.#waitingBytes() > this.#options.bytesMax) return; // uWS would drop the socket for it
    if (this.#leaving !== null) this.#leaving.behind.push(new Ping(data));
    else if (this.#ws?.ping(data) !== SENT) this.#mayWait = true;
  }

  /** uWS would throw away what still waits, the close frame too; so it is asked to end when all has left. */
  end(code: number, reason: string): void {
    if (this.#waitingBytes() === 0) this.#ws?.end(code, reason);
    else this.#ending = { code, reason, cancel: systemClock.after(WIRE.closeGraceMs, () => this.drop()) };
  }

  drop(): void {
    this.#ws?.close();
  }

  bufferedBytes(): number {
    if (!this.#mayWait) return 0;
    const bytes = this.#waitingBytes();
    this.#mayWait = bytes > 0;
    return bytes;
  }

  drained(): void {
    this.#goOnInTurn();
    if (this.#ending !== null && this.#waitingBytes() === 0) this.#ws?.end(this.#ending.code, this.#ending.reason);
  }

  /** uWS has closed it; any further call on it would throw. */
  lost(): void {
    this.#ws = null;
    this.#leaving = null;
    this.#ending?.cancel();
  }

  #waitingBytes(): number {
    if (this.#ws === null) return 0;
    const buffered = this.#ws.getBufferedAmount();
    if (this.#leaving === null) return buffered;
    return buffered + this.#leaving.leftBytes + this.#leaving.behindBytes;
  }

  /** Nothing may come between two fragments of a frame. */
  #sendInTurn(frame: Frame): boolean {
    if (this.#waitingBytes() > this.#options.bytesMax) return false;
    this.#mayWait = true;
    if (this.#leaving !== null) {
      this.#leaving.behind.push(frame);
      this.#leaving.behindBytes += typeof frame === 'string' ? Buffer.byteLength(frame) : lengthOf(frame);
      while (this.#leaving !== null && this.#leaving.behindBytes > BEHIND_BYTES_MAX && this.#sendNext());
    } else if (isLong(frame)) {
      const [pieces, isBinary] = isUtf8(frame) ? [frame.utf8, false] : [[frame], true];
      const fragments = [...noneLonger(pieces, FRAGMENT_BYTES)];
      this.#leaving = { fragments, isBinary, sent: 0, leftBytes: lengthOf(frame), behind: [], behindBytes: 0 };
      this.#goOnInTurn();
    }
    return true;
  }

  #goOnInTurn(): void {
    if (this.#leaving === null || this.#hasTurn) return;
    this.#hasTurn = true;
    loopSlices.next(() => {
      this.#hasTurn = false;
      if (this.#sendNext()) this.#goOnInTurn();
    });
  }

  /** One fragment, if the system has taken the one before, and behind the last what came after it. Returns whether one was sent. A send may lose the socket. */
  #sendNext(): boolean {
    const leaving = this.#leaving;
    if (this.#ws === null || leaving === null || this.#ws.getBufferedAmount() > 0) return false;
    this.#sendFragment(this.#ws, leaving);
    if (leaving.leftBytes > 0) return true;
    this.#leaving = null;
    for (const frame of leaving.behind) {
      if (frame instanceof Ping) this.ping(frame.data);
      else this.send(frame);
    }
    if (this.#ws !== null && this.#waitingBytes() === 0) this.#options.drain(this.#ws);
    return true;
  }

  #sendFragment(ws: WebSocket<Seat>, leaving: Fragments): void {
    const fragment = leaving.fragments[leaving.sent]!;
    leaving.sent += 1;
    leaving.leftBytes -= fragment.length;
    if (leaving.sent === 1) ws.sendFirstFragment(fragment, leaving.isBinary);
    else if (leaving.leftBytes > 0) ws.sendFragment(fragment);
    else ws.sendLastFragment(fragment);
  }
}

/** A string is not: uWS makes its bytes anew for every reader, whole, whatever else is done. */
function isLong(frame: Frame): frame is Uint8Array | Utf8 {
  return typeof frame !== 'string' && lengthOf(frame) > FRAGMENT_BYTES;
}
