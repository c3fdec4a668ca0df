/** A socket whose server may close it, and which counts that. */
import type { Trial } from '../case.ts';
import { LIMITS } from '../config.ts';
import type { Door } from '../servers/server.ts';
import { Line, wayInto } from './line.ts';
import { startPace } from './pace.ts';

export interface Closes {
  count: number;
}

/** A socket in a room, or on its way there. */
export class Seat {
  readonly #trial: Trial;
  readonly #roomId: string;
  readonly #closes: Closes;
  readonly #door: Door;
  #line: Line | null = null;
  #hasLeft = false;

  constructor(trial: Trial, roomId: string, closes: Closes, door: Door = 'sdk') {
    this.#trial = trial;
    this.#roomId = roomId;
    this.#closes = closes;
    this.#door = door;
  }

  /** Makes the room, enters it, and comes back whenever it is closed. */
  async take(): Promise<void> {
    await this.#trial.server.openRoom(this.#trial.address, this.#roomId);
    this.#comeBack();
  }

  /** Once; says something when the socket is open. */
  dial(hello?: Buffer): Line {
    const line = new Line(wayInto(this.#trial, this.#door, this.#roomId), { hello, hear: () => undefined });
    line.socket.on('error', () => undefined); // what follows is the close
    line.socket.once('close', () => {
      if (!this.#hasLeft) this.#closes.count += 1;
    });
    return line;
  }

  say(frame: Buffer): void {
    if (this.#line?.socket.isOpen) this.#line.say(frame);
  }

  leave(): void {
    this.#hasLeft = true;
    this.#line?.socket.terminate();
  }

  #comeBack(): void {
    this.#line = this.dial();
    this.#line.socket.once('close', () => {
      if (!this.#hasLeft) setTimeout(() => this.#comeBack(), LIMITS.pauseMs);
    });
  }
}

/** Sockets that come on and on, each once; `hello` is what the one of this turn says. Counted are those that the server closes. */
export interface Dialling {
  readonly roomId: string;
  readonly perSecond: number;
  readonly door?: Door;
  readonly hello?: (turn: number) => Buffer;
}

/** Starts now. */
export function startDialling(
  trial: Trial,
  { roomId, perSecond, door, hello }: Dialling,
): { readonly closes: Readonly<Closes>; readonly stop: () => void } {
  const closes: Closes = { count: 0 };
  let turn = 0;
  const send = (): void => void new Seat(trial, roomId, closes, door).dial(hello?.(turn++));
  return { closes, stop: startPace({ senders: 1, perSecond, send }) };
}
