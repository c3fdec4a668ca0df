/**
 * Audience → frames: who gets which messages, each encoded once per client kind, all of one turn of the event loop in one frame.
 *
 * Cursors wait a moment for each other. The first leaves at the end of its turn; what comes within the next 5 ms, or more where many hear it, leaves together, so
 * that fifty people who move are sent a hundred frames a second each, and not a thousand. Anything else leaves at the end of its turn and takes along what waits;
 * where people type now and then, or come in, at once; where what left before is still on its way to many (`deliveries.ts`), once they have heard.
 *
 * It knows sessions and messages, not sockets: what it makes goes to `deliver` as one frame and the sessions it is for, so that a
 * frame for another worker crosses the bus once. Who hears a message is settled by the decision it came from: a session that
 * joined, or began to follow, in a later one does not get it, however long the message waited for the journal (protocol 4.4).
 */
import type { Clock } from '../base/clock.ts';
import type { SessionId } from '../base/ids.ts';
import { bytesIn } from '../base/pieces.ts';
import { roughBytesOf } from '../base/rough-bytes.ts';
import { withOneMore } from '../base/small.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import { allows } from '../protocol/permissions.ts';
import { type ClientKind, isAwaited, isCursor, isReadBy, type ServerMessage } from '../protocol/server-messages.ts';
import { sdkFrames, type Telling, yjsFrames } from './frames.ts';
import type { Hearer } from './recipient.ts';
import type { LocalSessions } from './remote-sessions.ts';
import type { RoomShell } from './room-shell.ts';
import type { Audience, Session } from './shapes.ts';
import { charactersOf } from './storage/texts.ts';

interface Waiting extends Telling {
  /** Its place among all that wait. */
  readonly at: number;
  readonly to: Audience;
  /** The decision it came from. */
  readonly decision: number;
  /** About how many bytes it takes. */
  readonly weight: number;
}

/** Frames of one turn are built together; past this they leave in parts, because neither a string nor the memory is endless. */
const TURN_BYTES_MAX = 16 * 1024 * 1024;

/** From cursors to the next, at least: far below what anybody sees. */
const CURSORS_EVERY_MS = 5;
/** The same for each who hears them, twenty times what a send takes: to send the cursors of 250 people takes a twentieth of a worker, of a thousand a fifth. */
const CURSORS_MS_PER_HEARER = 0.2;
/** At most: half of what clients of the SDK wait by themselves from one cursor to the next. */
const CURSORS_EVERY_MS_MAX = 50;
/**
 * Typing, or a document, that comes alone, so long after what left last, does not wait for the end of its turn: nothing would join it. Where many come in one
 * moment, the turn is long, and each who has got its document has something to do meanwhile.
 */
const CALM_MS = 1;
/** So many messages wait no longer than their turn, and cursors no longer where they hold so much: each who sends some hears a frame of the others'. */
const WAITING_MAX = 1_000;
const CURSOR_BYTES_MAX = 256 * 1024;

export interface FanoutDeps {
  readonly sessions: Pick<LocalSessions, 'deliver' | 'has'>;
  readonly clock: Pick<Clock, 'soon' | 'after' | 'monotonicMs'>;
}

type Shell = Pick<RoomShell, 'room' | 'guarded'>;

/** A message on its way, with the decision that sends it. */
export interface Sending {
  readonly to: Audience;
  readonly message: ServerMessage;
  readonly decision: number;
  readonly bytes: number;
}

export class Fanout {
  readonly #deps: FanoutDeps;
  readonly #shell: Shell;
  #waiting: Waiting[] | null = null;
  #waitingBytes = 0;
  /** What waits leaves when this turn of the event loop ends, or a later one when much is on its way. */
  #leavesSoon = false;
  /** Cursors have left a moment ago: the next leave when that is over. */
  #isPausing = false;
  /** Whether several messages left together the last time. */
  #hadCompany = false;
  #leftAtMs = Number.NEGATIVE_INFINITY;
  /** Whoever of this room hears last what is on its way to many. */
  #last: Hearer | null = null;
  /** What is done when a turn ends, made once: a room that speaks does it in every turn. */
  #leave: (() => void) | null = null;

  constructor(deps: FanoutDeps, shell: Shell) {
    this.#deps = deps;
    this.#shell = shell;
  }

  /** Queues a message of about so many bytes; it leaves when this turn of the event loop ends, a cursor up to 50 ms later. */
  send(to: Audience, message: ServerMessage, decision: number, bytes = 0): void {
    if (!this.#isRead(message)) return;
    const at = this.#waiting === null ? 0 : this.#waiting.at(-1)!.at + 1;
    this.#waiting = withOneMore(this.#waiting, { at, to, message, decision, weight: bytes, text: null, bytes: null });
    this.#waitingBytes += bytes;
    if (this.#waitingBytes > TURN_BYTES_MAX || (isAwaited(message) && this.#isCalm && !this.#isLeaving)) this.flush();
    else if (!isCursor(message) || this.#isMuch) this.#flushSoon();
    else if (!this.#isPausing) this.#flushAndPause();
  }

  get #isMuch(): boolean {
    return this.#waiting !== null && (this.#waiting.length >= WAITING_MAX || this.#waitingBytes > CURSOR_BYTES_MAX);
  }

  /** Whether anybody is there of a kind that is told such messages. */
  #isRead(message: ServerMessage): boolean {
    const { headcount } = this.#shell.room;
    return (headcount.sdk > 0 && isReadBy('sdk', message)) || (headcount.yjs > 0 && isReadBy('yjs', message));
  }

  /**
   * What waits for this session alone, which has just joined, leaves now: in the turn in which its socket was opened it leaves together with the
   * handshake. Not where the socket is on another worker: there it would come before the answer to the join, and what the client says to it too early.
   */
  greet(id: SessionId): void {
    const { sessions } = this.#deps;
    const session = this.#shell.room.sessions.get(id);
    if (this.#waiting === null || session === undefined || session.kind === 'rest' || !sessions.has(id)) return;
    const { kind, joinedAt } = session;
    const own: Waiting[] = [];
    for (const one of takenSince(this.#waiting, joinedAt))
      ('only' in one.to && one.to.only === id ? own : this.#waiting).push(one);
    for (const { weight } of own) this.#waitingBytes -= weight;
    if (this.#waiting.length === 0) this.#waiting = null;
    const heard = own.filter(({ message }) => isReadBy(kind, message));
    if (heard.length > 0) sessions.deliver([session], FRAMES_OF[kind](heard));
  }

  get #isCalm(): boolean {
    return !this.#hadCompany && this.#deps.clock.monotonicMs() - this.#leftAtMs >= CALM_MS;
  }

  /** Whether what left before is still on its way to many: what comes meanwhile leaves together, once they have heard. */
  get #isLeaving(): boolean {
    return this.#last !== null && this.#last.owed > 0;
  }

  #flushSoon(): void {
    if (this.#leavesSoon) return;
    this.#leavesSoon = true;
    this.#leave ??= () => this.#shell.guarded(() => this.#flushInTurn());
    this.#deps.clock.soon(this.#leave);
  }

  #flushInTurn(): void {
    if (this.#isLeaving && this.#waiting !== null && this.#waiting.length < WAITING_MAX) {
      this.#deps.clock.soon(this.#leave!);
      return;
    }
    this.#leavesSoon = false;
    this.flush();
  }

  #flushAndPause(): void {
    this.#isPausing = true;
    this.#flushSoon();
    this.#deps.clock.after(this.#pauseMs, () => this.#shell.guarded(() => this.#resume()));
  }

  get #pauseMs(): number {
    const { headcount } = this.#shell.room;
    return Math.min(Math.max(CURSORS_EVERY_MS, (headcount.sdk + headcount.yjs) * CURSORS_MS_PER_HEARER), CURSORS_EVERY_MS_MAX);
  }

  #resume(): void {
    this.#isPausing = false;
    if (this.#waiting !== null) this.#flushAndPause();
  }

  /** Sends what waits; called early where order against a close matters. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    this.#waiting = null;
    this.#waitingBytes = 0;
    if (!this.#isLeaving) this.#last = null;
    this.#hadCompany = waiting.length > 1;
    if (waiting.length === 1) this.#sendOne(waiting[0]!);
    else for (const kind of KINDS) this.#sendAll(kind, waiting);
    this.#leftAtMs = this.#deps.clock.monotonicMs(); // after it: what came in one moment with this one is not alone, however long that took
  }

  /** As most turns of most rooms are: there is nothing to gather, and one look at the sessions finds both kinds. */
  #sendOne(one: Waiting): void {
    const { sessions } = this.#shell.room;
    if ('only' in one.to) {
      const session = sessions.get(one.to.only);
      if (session !== undefined && session.kind !== 'rest' && isReadBy(session.kind, one.message))
        this.#deliverOne(session.kind, [session], one);
      return;
    }
    const forSdk = isReadBy('sdk', one.message);
    const forYjs = isReadBy('yjs', one.message);
    let sdk: Session[] | null = null;
    let yjs: Session[] | null = null;
    for (const session of sessions.values()) {
      const isRead = session.kind === 'sdk' ? forSdk : session.kind === 'yjs' && forYjs;
      if (!isRead || !hears(session, one)) continue;
      if (session.kind === 'sdk') sdk = withOneMore(sdk, session);
      else yjs = withOneMore(yjs, session);
    }
    if (sdk !== null) this.#deliverOne('sdk', sdk, one);
    if (yjs !== null) this.#deliverOne('yjs', yjs, one);
  }

  #deliverOne(kind: ClientKind, sessions: readonly Session[], one: Waiting): void {
    this.#deliver(sessions, FRAMES_OF[kind]([one]));
  }

  #sendAll(kind: ClientKind, waiting: readonly Waiting[]): void {
    const told = waiting.filter(({ message }) => isReadBy(kind, message));
    for (const { heard, sessions } of groupByMessages(this.#shell.room.sessions, kind, told))
      this.#deliver(sessions, FRAMES_OF[kind](heard));
  }

  #deliver(sessions: readonly Session[], frames: readonly OutFrame[]): void {
    this.#last = this.#deps.sessions.deliver(sessions, frames) ?? this.#last;
  }
}

/** Takes away what was added last, back to the first of this decision: in a storm of joins much waits, and little of it is of one of them. */
function takenSince(waiting: Waiting[], decision: number): Waiting[] {
  let from = waiting.length;
  while (from > 0 && waiting[from - 1]!.decision >= decision) from -= 1;
  return waiting.splice(from);
}

interface Group {
  /** What all of the group hear, in order. */
  readonly heard: readonly Waiting[];
  readonly sessions: Session[];
}

/** Sessions of one kind that hear the same messages share one encoding: usually one large group, and each sender by itself. */
function groupByMessages(sessions: ReadonlyMap<SessionId, Session>, kind: ClientKind, waiting: readonly Waiting[]): Group[] {
  const { own, shared } = byAudience(waiting);
  const groups: Group[] = [];
  for (const [id, messages] of own) {
    const session = sessions.get(id);
    if (session?.kind !== kind) continue;
    groups.push({ heard: inOrder(messages, heardOf(session, shared)), sessions: [session] });
  }
  if (shared.length > 0) groups.push(...groupsOfShared(sessions, { kind, shared, own }));
  return groups;
}

/** Two lists as one, each in order. */
function inOrder(left: readonly Waiting[], right: readonly Waiting[]): Waiting[] {
  const all: Waiting[] = [];
  let next = 0;
  for (const one of left) {
    while (next < right.length && right[next]!.at < one.at) all.push(right[next++]!);
    all.push(one);
  }
  while (next < right.length) all.push(right[next++]!);
  return all;
}

/** Messages for one session, by that session; and those for several. */
function byAudience(waiting: readonly Waiting[]): { own: Map<SessionId, Waiting[]>; shared: Waiting[] } {
  const own = new Map<SessionId, Waiting[]>();
  const shared: Waiting[] = [];
  for (const one of waiting) {
    const { to } = one;
    if (!('only' in to)) shared.push(one);
    else if (own.has(to.only)) own.get(to.only)!.push(one);
    else own.set(to.only, [one]);
  }
  return { own, shared };
}

interface Shared {
  readonly kind: ClientKind;
  readonly shared: readonly Waiting[];
  readonly own: ReadonlyMap<SessionId, unknown>;
}

function groupsOfShared(sessions: ReadonlyMap<SessionId, Session>, { kind, shared, own }: Shared): Iterable<Group> {
  const groups = new Map<string, Group>();
  for (const session of sessions.values()) {
    if (session.kind !== kind || own.has(session.id)) continue;
    const heard = heardOf(session, shared);
    if (heard.length === 0) continue;
    const name = heard === shared ? 'all' : heard.map(({ at }) => at).join();
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { heard, sessions: [session] });
    else group.sessions.push(session);
  }
  return groups.values();
}

/** Of those for several, the ones that this session hears: `shared` itself when it hears all, as most do. */
function heardOf(session: Session, shared: readonly Waiting[]): readonly Waiting[] {
  const missed = shared.findIndex((one) => !hears(session, one));
  if (missed < 0) return shared;
  return shared.filter((one, place) => place < missed || (place > missed && hears(session, one)));
}

function hears(session: Session, { to, decision }: Waiting): boolean {
  if ('only' in to) return to.only === session.id;
  if (session.joinedAt >= decision) return false;
  if ('allBut' in to) return to.allBut !== session.id;
  if ('mayRead' in to) return allows(session.permissions, to.mayRead, 'read');
  if ('storageBut' in to) return to.storageBut !== session.id && session.storageAt !== null && session.storageAt < decision;
  if ('ydocBut' in to) return to.ydocBut !== session.id && session.ydocs.has(to.guid);
  return session.ydocEncoding === to.ydocHashedIn && session.ydocs.has(to.guid);
}

const KINDS: readonly ClientKind[] = ['sdk', 'yjs'];

const FRAMES_OF: Readonly<Record<ClientKind, (told: readonly Waiting[]) => OutFrame[]>> = { sdk: sdkFrames, yjs: yjsFrames };

/** About how many bytes a message takes, where it may be many. */
export function weightOf(message: ServerMessage): number {
  if (message.type === 'storage.state') return bytesIn(message.frame);
  if (message.type === 'storage.ops') return message.json?.length ?? roughBytesOf(message.ops, TURN_BYTES_MAX);
  if (message.type === 'presences') return charactersOf(message.texts);
  if (message.type === 'feed-messages.added' || message.type === 'feed-messages.updated')
    return roughBytesOf(message.messages, TURN_BYTES_MAX);
  if (message.type === 'presence') return roughBytesOf(message.data, CURSOR_BYTES_MAX);
  if (message.type === 'awareness') return message.update?.length ?? 0; // of others than Yjs clients as presence, too
  return message.type === 'ydoc.state' || message.type === 'ydoc.update' ? message.update.length : 0;
}
