/**
 * One connection between two workers that have proved who they are: frames out and in, until it ends. It does not know what frames mean.
 *
 * Out: frames of one turn leave in one write. What the peer does not take is held up to a bound; beyond it the link ends, because waiting
 * would fill this worker's memory and dropping some would break the order.
 * In: nothing is refused for being too much. While too many handlers have not finished, or when frames have taken long, the socket is not read, so the
 * peer's frames wait in its memory, against its bound, and in order. An answer that one of these handlers waits for over the same link waits too; its deadline
 * frees it.
 * Alive is who is heard: each side pings when it has nothing to say, and nobody answers a ping.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { type Frame, FrameBatch, FrameReader, packFrame, unpackFrame } from './tcp-bus-frames.ts';
import { type TcpBusLimits, TIMES } from './tcp-bus-limits.ts';
import type { Met } from './tcp-bus-meeting.ts';

/** When its frames have taken so long, a link rests until the turn of the event loop is over: a lease, a commit and other links have theirs. */
const READS_MS = 10;

export type LinkEnd =
  | 'closed by the peer'
  | 'lost'
  | 'silent'
  | 'does not take what waits for it'
  | 'frame too large'
  | 'invalid frame'
  | 'no verdict'
  | 'replaced'
  | 'unsendable message'
  | 'not served yet';

export interface LinkOwner {
  /** Any frame but pings; after `ended` none comes. */
  heard(link: Link, frame: Frame): void;
  /** Called once, by whatever ended it except `finish`. */
  ended(link: Link, reason: LinkEnd): void;
}

export interface LinkDeps {
  readonly clock: Clock;
  readonly limits: TcpBusLimits;
  readonly owner: LinkOwner;
}

export class Link {
  readonly id: string;
  readonly peerLife: string;
  readonly #socket: Socket;
  readonly #deps: LinkDeps;
  readonly #reader: FrameReader;
  readonly #batch = new FrameBatch();
  readonly #stopTicks: () => void;
  #isOpen = true;
  #isFlushing = false;
  #underWay = 0;
  /** An answer was handed out; who waits for it goes first. */
  #isYielding = false;
  /** Since it rested last, frames have taken so long. */
  #readsMs = 0;
  #isResting = false;
  #quietTicks = 0;
  #silentTicks = 0;

  constructor({ socket, rest, linkId, peerLife }: Met, deps: LinkDeps) {
    this.id = linkId;
    this.peerLife = peerLife;
    this.#socket = socket;
    this.#deps = deps;
    this.#reader = new FrameReader(deps.limits);
    this.#reader.push(rest);
    this.#stopTicks = deps.clock.every(TIMES.tickMs, () => this.#tick());
    socket.on('data', (piece: Buffer) => {
      if (!this.#isOpen) return;
      this.#silentTicks = 0;
      this.#reader.push(piece);
      this.#read();
    });
    socket.on('end', () => this.end('closed by the peer'));
    socket.on('close', () => this.end('lost'));
  }

  /** Begins to read, when its owner knows it. */
  start(): void {
    this.#read();
  }

  /** Sends a packed frame with the others of this turn; it is copied. May end the link. */
  send(body: Uint8Array): void {
    if (!this.#isOpen) return;
    if (this.waitingBytes > this.#deps.limits.linkBytesMax) {
      this.end('does not take what waits for it');
      return;
    }
    this.#batch.add(body);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#deps.clock.soon(() => this.#flush());
  }

  /** A handler of a frame of this link has not finished yet. */
  begun(): void {
    this.#underWay += 1;
  }

  finished(): void {
    this.#underWay -= 1;
    if (this.#underWay === this.#deps.limits.underWayMax - 1) this.#read();
  }

  /** Ends it at once, with what is on its way in either direction. */
  end(reason: LinkEnd): void {
    if (!this.#isOpen) return;
    this.#stop();
    this.#socket.resetAndDestroy(); // an orderly end would wait behind what the peer does not take
    this.#deps.owner.ended(this, reason);
  }

  /** Ends it in order: what was sent still goes out, nothing more is heard. */
  finish(): void {
    if (!this.#isOpen) return;
    this.#flush();
    this.#stop();
    this.#socket.end();
    this.#socket.resume(); // the peer's end is behind what it has sent
    const cancel = this.#deps.clock.after(TIMES.closeGraceMs, () => this.#socket.destroy());
    this.#socket.once('close', cancel);
  }

  #stop(): void {
    this.#isOpen = false;
    this.#stopTicks();
  }

  #flush(): void {
    this.#isFlushing = false;
    if (!this.#isOpen || this.#batch.bytes === 0) return;
    this.#quietTicks = 0;
    this.#socket.cork();
    for (const piece of this.#batch.take()) this.#socket.write(piece);
    this.#socket.uncork();
  }

  /** What the peer has not taken yet. */
  get waitingBytes(): number {
    return this.#batch.bytes + this.#socket.writableLength;
  }

  get #isHeld(): boolean {
    return this.#isYielding || this.#isResting || this.#underWay >= this.#deps.limits.underWayMax;
  }

  #read(): void {
    const { clock } = this.#deps;
    let sinceMs = clock.monotonicMs();
    while (this.#isOpen && !this.#isHeld) {
      const frame = this.#next();
      if (frame === null) break;
      if (frame.type !== 'ping') this.#deps.owner.heard(this, frame);
      if (frame.type === 'answer' || frame.type === 'refusal') this.#yield();
      const nowMs = clock.monotonicMs();
      this.#readsMs += nowMs - sinceMs;
      sinceMs = nowMs;
      if (this.#readsMs >= READS_MS) this.#rest();
    }
    if (!this.#isOpen) return;
    if (this.#isResting || this.#underWay >= this.#deps.limits.underWayMax) this.#socket.pause();
    else this.#socket.resume();
  }

  #next(): Frame | null {
    const body = this.#reader.next();
    if (body === null) return null;
    try {
      if (body !== 'too large') return unpackFrame(body);
      this.end('frame too large');
    } catch {
      this.end('invalid frame');
    }
    return null;
  }

  /**
   * Whoever awaits the answer, through however many functions, has seen it before the next frame is handled: else a tell sent after an answer
   * would overtake it. A tick that is asked for in a microtask runs when no microtask is left.
   */
  #yield(): void {
    this.#isYielding = true;
    queueMicrotask(() => {
      process.nextTick(() => {
        this.#isYielding = false;
        this.#read();
      });
    });
  }

  #rest(): void {
    this.#readsMs = 0;
    this.#isResting = true;
    this.#deps.clock.soon(() => {
      this.#isResting = false;
      this.#read();
    });
  }

  #tick(): void {
    this.#quietTicks += 1;
    if (this.#quietTicks >= TIMES.pingTicks) this.send(packFrame({ type: 'ping' }));
    this.#silentTicks = this.#isHeld ? 0 : this.#silentTicks + 1;
    if (this.#silentTicks > TIMES.silentTicks) this.end('silent');
  }
}
