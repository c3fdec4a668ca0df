/**
 * One socket from admission to close: it waits at the door, joins its room, and from then on turns frames into commands.
 *
 * Frames that arrive before it has joined wait here in order: of a client that is refused, the room hears nothing. When the room moves to another owner,
 * or something may be lost on the way, the socket stays: a new session joins over it, and its client, asked for what the room lacks, brings that back.
 */
import { TokenBucket } from '../base/bounded.ts';
import { pause } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { RoomId, SessionId, WorkerAddress } from '../base/ids.ts';
import type { Line } from '../kernel/actor/slot.ts';
import { type OutFrame, SendBudget } from '../kernel/transport/send-budget.ts';
import type { Socket, SocketHandler } from '../kernel/transport/server.ts';
import { isSameAccess } from '../protocol/permissions.ts';
import type { Admission } from './admission.ts';
import type { ConnectionBook } from './connection-book.ts';
import type { ConnectionDeps } from './connection-deps.ts';
import type { Phase, Who } from './connection-phase.ts';
import { EarlyFrames } from './early-frames.ts';
import type { FeedAsker } from './feed-desk.ts';
import { FileCheck, namesFiles } from './file-check.ts';
import { askForOthers, CATCH_UP_MS_MAX, eventsFrame, saidIn } from './frame-commands.ts';
import type { Speaker, Waiting } from './intake.ts';
import type { Hearer } from './recipient.ts';
import { ANEW_MS_MAX, ASKED_AGAIN_MS_MAX, pauseBeforeRejoinMs, REJOIN_AFTER } from './rejoin.ts';
import type { Command } from './shapes.ts';
import { closeCodeFor, type SocketTarget } from './socket-target.ts';
import { presenceTooLarge, Told } from './told.ts';
import { type Client, Unanswered } from './unanswered.ts';

/** Of a peer that was lost (RFC 6455, 7.4.1). Its client comes back, and brings all again. */
const BROKEN_OFF = 1006;

export class Connection implements SocketHandler, Hearer, Speaker, Client, FeedAsker {
  readonly #deps: ConnectionDeps;
  readonly #book: ConnectionBook;
  readonly #socket: Socket;
  readonly #bucket: TokenBucket;
  readonly #budget: SendBudget;
  #phase: Phase = { name: 'waiting' };
  #kind: SocketTarget['kind'] = 'sdk';
  #early: EarlyFrames | null = null; // while nothing waits
  #wanted: string | null = null; // the room it asks for, before it is known whether it may
  #isOutdated = false; // its room's accesses changed while it was let in by them
  #looks = 0; // at changed accesses: only the last one counts
  readonly #told = new Told();
  #goneBy: number | null = null; // the code with which it ended: nothing more comes from its client
  #willAsk = false; // it missed cursors, and will ask in a moment where all others are
  #isLost = false; // its session, while it joined
  #unanswered: Unanswered | null = null; // of an SDK client: who speaks y-websocket changes no Storage
  #files: FileCheck | null = null; // until an op names a file
  #line: Line<Command> | null = null;
  /** Where its session joined: whatever is found out of its room since, only there it is known. Null for this worker, and while it joins. */
  at: WorkerAddress | null = null;
  id: SessionId; // the session it carries at present
  actor: number | null = null; // its number in the room
  who: Who | null = null; // whom its room knows it as
  heardAtMs: number; // monotonic: the last frame from the client
  #ratedAtMs = 0; // when what the rate is asked of had come
  expiresAtMs = Number.POSITIVE_INFINITY;
  owed = 0;
  waiting: Waiting | null = null;

  constructor(deps: ConnectionDeps, { socket, book }: { socket: Socket; book: ConnectionBook }) {
    this.#deps = deps;
    this.#book = book;
    this.#socket = socket;
    this.id = book.renew(this);
    this.heardAtMs = deps.clock.monotonicMs();
    const { messages, sendBytesSoftMax: softBytesMax, sendBytesHardMax: hardBytesMax } = deps.limits;
    this.#bucket = new TokenBucket(messages, this.heardAtMs);
    this.#budget = new SendBudget({ socket, softBytesMax, hardBytesMax });
  }

  /** Admits the client and joins its room, or closes the socket with the code of the refusal. Never rejects. */
  async enter(target: SocketTarget): Promise<void> {
    this.#kind = target.kind;
    if (target.kind === 'sdk') this.#unanswered = new Unanswered(this, this.#deps.clock);
    try {
      const admission = await this.#admitted(target);
      if (admission === null) return; // closed meanwhile
      const { roomId, expiresAtMs, userId, info, permissions } = admission;
      this.expiresAtMs = expiresAtMs;
      this.who = { kind: target.kind, visit: this.id, userId, info, permissions };
      this.#phase = { name: 'joining', roomId, target };
      await this.#join({ roomId, target }, () => this.#hearEarly());
    } catch (error) {
      this.refuse(this.#asRefusal(error));
    }
  }

  /** The room is not where it was, or something on the way to it or from it may be lost: another session joins over this socket, and what comes meanwhile is not passed on. Never throws. */
  rejoin(afterMs = 0): void {
    if (this.#goneBy !== null) this.leave(); // and is closed
    this.#isLost = true;
    const phase = this.#phase;
    if (phase.name !== 'entered') return; // the join under way looks at the flag
    this.#unanswered?.end(); // an answer that is held would do now what it was held for
    this.#phase = { ...phase, name: 'rejoining' };
    for (const commands of this.#files?.end() ?? []) this.#keep(commands); // they came before, and are not for the next session
    for (const frame of this.#deps.intake.takeBack(this)) this.#hear(frame); // nor are these
    if (!this.isClosed) void this.#rejoin(phase, afterMs);
  }

  async #rejoin({ roomId, target }: { roomId: RoomId; target: SocketTarget }, afterMs: number): Promise<void> {
    if (afterMs > 0) await pause(this.#deps.clock, afterMs);
    for (let attempt = 0; !this.isClosed; attempt += 1) {
      try {
        this.#renewId(roomId);
        await this.#join({ roomId, target }, () => {
          this.#unanswered?.rejoined();
          this.pass(this.#told.again(this.id));
          this.#deps.feeds.goOn(this);
          this.#hearEarly();
        });
        return;
      } catch (error) {
        const refusal = this.#asRefusal(error);
        if (!REJOIN_AFTER.has(refusal.code)) return this.refuse(refusal);
        await pause(this.#deps.clock, pauseBeforeRejoinMs(attempt, this.#deps.chance()));
      }
    }
  }

  /** Until a join has stood: one that was lost on the way says so before its answer is looked at. What follows is done at once: nothing may come in between. */
  async #join({ roomId, target }: { roomId: RoomId; target: SocketTarget }, entered: () => void): Promise<void> {
    for (;;) {
      this.#isLost = false;
      const who = this.who!;
      const joined = await this.#deps.rooms.ask(roomId, { type: 'session.join', newcomer: { id: this.id, ...who } });
      this.actor = (joined as { actor: number } | undefined)?.actor ?? null;
      if (this.isClosed) return this.#tellLeave(roomId);
      this.at = this.#deps.rooms.locationOf(roomId);
      this.#line = this.#deps.rooms.lineTo(roomId);
      if (this.who !== who) this.#permit(roomId); // whoever was told meanwhile may not be who took it in
      if (this.isClosed) return; // by a refusal of that
      if (!this.#isLost) break;
      this.#renewId(roomId);
    }
    this.#phase = { name: 'entered', roomId, target };
    entered();
  }

  #renewId(roomId: RoomId): void {
    this.#tellLeave(roomId); // in case the former session is still there
    this.at = null;
    this.id = this.#book.renew(this);
  }

  #tellLeave(roomId: RoomId): void {
    this.#deps.rooms.tell(roomId, { type: 'session.leave', sessionId: this.id }, this.at);
  }

  /** What it may do, by accesses that still held when it was told. Null when it was closed meanwhile. */
  async #admitted(target: SocketTarget): Promise<Admission | null> {
    this.#wanted = target.roomId;
    for (;;) {
      this.#isOutdated = false;
      const admission = await this.#deps.admit(target, 'new');
      if (this.#phase.name !== 'waiting') return null;
      if (!this.#isOutdated) return admission;
    }
  }

  /** The room it is in, or asks to be in. */
  get roomId(): string | null {
    return 'roomId' in this.#phase ? this.#phase.roomId : this.#wanted;
  }

  get isRejoining(): boolean {
    return this.#phase.name === 'rejoining';
  }

  get isClosed(): boolean {
    return this.#phase.name === 'closed';
  }

  /** Looks again at what the client may do, because the accesses of its room changed. Never rejects. */
  async reconsider(): Promise<void> {
    this.#isOutdated = true;
    const phase = this.#phase;
    if (!('roomId' in phase)) return;
    this.#looks += 1;
    const look = this.#looks;
    try {
      const { permissions } = await this.#deps.admit(phase.target, 'going on');
      if (look !== this.#looks || this.who === null || isSameAccess(this.who.permissions, permissions)) return;
      const who = { ...this.who, permissions };
      this.who = who;
      this.#permit(phase.roomId);
      if (this.#kind !== 'sdk') return;
      this.#deps.clock.after(this.#deps.chance() * ANEW_MS_MAX, () => {
        if (this.who === who && this.#goneBy === null) this.rejoin(); // what it may do it learns by joining alone; the room goes by it already
      });
    } catch (error) {
      if (look === this.#looks) this.refuse(this.#asRefusal(error));
    }
  }

  #permit(roomId: RoomId): void {
    this.#tell(roomId, { type: 'session.permit', sessionId: this.id, permissions: this.who!.permissions });
  }

  /** Closes with the code and the sentence of the refusal; what was sent before still arrives, but for what is held. */
  refuse(refusal: AppError): void {
    this.#close(refusal);
    this.#deps.feeds.forget(this);
    this.leave();
  }

  #close(refusal: AppError): void {
    if (!this.isClosed) this.#deps.metrics?.count('atrium_refusals_total', refusal.code);
    this.#socket.close(closeCodeFor(this.#kind, refusal.close), refusal.message);
  }

  carries(session: SessionId): boolean {
    return this.id === session && !this.isClosed;
  }

  send(frames: readonly OutFrame[]): void {
    if (!this.isClosed) this.sendNow(this.#unanswered?.take(frames) ?? frames);
  }

  sendNow(frames: readonly OutFrame[]): void {
    if (this.isClosed || frames.length === 0) return;
    try {
      if (this.#kind === 'yjs') this.#told.heard(frames);
      if (this.#budget.send(frames) === 'exceeded') this.refuse(new AppError('SLOW_CONSUMER'));
      else this.#unanswered?.left(frames);
    } catch (error) {
      this.refuse(this.#asRefusal(error));
    }
  }

  get isBehind(): boolean {
    return this.waiting !== null || this.#files?.isLooking === true;
  }

  ping(data: string): void {
    this.#socket.ping(data);
  }

  ponged(data: string): void {
    this.#unanswered?.ponged(data);
  }

  message(data: string | Uint8Array): void {
    if (this.isClosed) return;
    this.heardAtMs = this.#deps.clock.monotonicMs();
    if (data === 'ping') this.sendNow([{ data: 'pong', droppable: false }]); // at once: who hears none takes the connection for dead
    this.#deps.intake.take(this, data, this.heardAtMs);
  }

  /** What it said before is heard, as of all who go: its client stays away, and brings nothing again. */
  tooLong(bytesMax: number): void {
    this.#close(new AppError('PAYLOAD_TOO_LARGE', { what: 'The frame', bytesMax }));
  }

  hear(data: string | Uint8Array, cameAtMs: number): void {
    if (this.isClosed) return;
    this.#ratedAtMs = cameAtMs;
    if (this.isWithinRate(1)) this.#hear(data);
  }

  #hear(data: string | Uint8Array): void {
    if (data === 'ping') return; // it was answered when it came
    try {
      if (this.#phase.name === 'entered') this.#take(data);
      else if (this.#phase.name === 'rejoining') this.#keep(this.#commandsOf(data));
      else if (!this.isClosed && !this.#keepEarly(data)) throw new AppError('ROOM_OVERLOADED');
    } catch (error) {
      this.refuse(this.#asRefusal(error));
    }
  }

  #keepEarly(data: string | Uint8Array): boolean {
    this.#early ??= new EarlyFrames();
    return this.#early.keep(data);
  }

  #hearEarly(): void {
    const frames = this.#early?.takeAll() ?? [];
    this.#early = null;
    for (const frame of frames) this.#hear(frame);
    this.drained(); // it may have caught up meanwhile
  }

  isWithinRate(messages: number): boolean {
    if (this.#bucket.take(this.#ratedAtMs, messages)) return true;
    this.refuse(new AppError('TOO_MANY_MESSAGES', { perSecondMax: this.#deps.limits.messages.perSecond }));
    return false;
  }

  closed(code: number): void {
    this.#goneBy = code;
    if (this.#phase.name === 'entered') this.#deps.intake.end(this);
    else this.leave();
  }

  drained(): void {
    if (this.#phase.name !== 'entered' || this.#willAsk || !this.#budget.hasMissed) return;
    this.#willAsk = true;
    this.#deps.clock.after(this.#deps.chance() * CATCH_UP_MS_MAX, () => this.#askForOthers());
  }

  /** Unless it is behind again: then it drains again. */
  #askForOthers(): void {
    this.#willAsk = false;
    if (this.#phase.name === 'entered' && this.#budget.caughtUp()) this.pass([askForOthers(this.#kind, this.id)]);
  }

  #take(data: string | Uint8Array): void {
    const commands = this.#commandsOf(data);
    const outcome = this.#handOn(data, commands);
    if (outcome === 'held') for (const command of commands) this.#unanswered?.note(command);
    if (outcome === 'too much') this.refuse(new AppError('ROOM_OVERLOADED'));
  }

  #handOn(data: string | Uint8Array, commands: readonly Command[]): 'passed' | 'held' | 'too much' {
    if (this.#files === null && !commands.some(namesFiles)) {
      this.pass(commands);
      return 'passed';
    }
    this.#files ??= new FileCheck({
      findMissing: (fileIds) => this.#deps.findMissingFiles(this.roomId as RoomId, fileIds),
      pass: (held) => this.pass(held),
      failed: (error) => this.#failed(error),
    });
    return this.#files.take(commands, data.length);
  }

  pass(commands: readonly Command[]): void {
    for (const command of commands) {
      if (this.#told.isEcho(command)) continue;
      this.#told.note(command);
      if (this.#phase.name !== 'entered')
        this.#unanswered?.note(command); // it ended with the command before
      else if (this.#unanswered?.passes(command) !== false) this.#tell(this.#phase.roomId, command);
    }
  }

  /** What it asked for on the way could not be done: it goes on with another session when that may help, and not at once, for its client asks for the same again. */
  #failed(error: unknown): void {
    const refusal = this.#asRefusal(error);
    if (REJOIN_AFTER.has(refusal.code)) this.rejoin(this.#deps.chance() * ASKED_AGAIN_MS_MAX);
    else this.refuse(refusal);
  }

  /** While there is nobody to tell: events are kept as far as they fit, of the rest the client brings back what counts. */
  #keep(commands: readonly Command[]): void {
    for (const command of commands) this.#unanswered?.note(command);
    const events = eventsFrame(commands);
    if (!commands.every((command) => this.#told.keep(command))) this.refuse(presenceTooLarge());
    else if (events !== null) this.#keepEarly(events);
  }

  /** None when the frame is refused: the socket is then closed. */
  #commandsOf(data: string | Uint8Array): Command[] {
    try {
      if (this.#unanswered?.isFull === true) throw new AppError('ROOM_OVERLOADED');
      const { commands, requests } = saidIn(data, { kind: this.#kind, from: this.id, rate: this });
      const messages = commands.length + requests.length;
      if (messages > 1 && !this.isWithinRate(messages - 1)) return []; // the frame itself has been counted
      for (const request of requests) this.#deps.feeds.take(request, this);
      return commands;
    } catch (error) {
      this.refuse(this.#asRefusal(error));
      return [];
    }
  }

  #tell(roomId: RoomId, command: Command): void {
    try {
      if (this.#line?.tell(command) !== true && !this.#deps.rooms.tell(roomId, command, this.at)) this.rejoin();
    } catch (error) {
      this.refuse(this.#asRefusal(error));
    }
  }

  leave(): void {
    const hasLeft = this.#goneBy !== null && this.#goneBy !== BROKEN_OFF;
    if (hasLeft && this.#phase.name === 'entered') this.#unanswered?.heardLast();
    const phase = this.#phase;
    if (phase.name === 'closed') return;
    this.#phase = { name: 'closed' };
    this.#unanswered?.end();
    this.#deps.intake.forget(this);
    this.#book.forget(this);
    this.#deps.feeds.goOn(this);
    if ('roomId' in phase) this.#tellLeave(phase.roomId);
  }

  #asRefusal(error: unknown): AppError {
    if (error instanceof AppError) return error;
    this.#deps.log.error({ err: error, sessionId: this.id }, 'connection failed');
    return new AppError('INTERNAL_SERVER_ERROR');
  }
}
