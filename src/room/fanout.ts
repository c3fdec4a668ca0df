/**
 * Audience → frames: who gets which messages, each encoded once per client kind, all of one turn of the event loop in one frame.
 *
 * It knows sessions and messages, not sockets: what it makes goes to `deliver` as one frame and the sessions it is for, so that a
 * frame for another worker crosses the bus once. Who hears a message is settled by the decision it came from: a session that
 * joined, or began to follow, in a later one does not get it, however long the message waited for the journal (protocol 4.4).
 */
import type { SessionId } from '../base/ids.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import { allows } from '../protocol/permissions.ts';
import { encodeForSdk, encodeForYjs, isDroppable, type ServerMessage, standsAlone } from '../protocol/server-messages.ts';
import type { Audience, RoomState, Session } from './shapes.ts';

/** Hands `frame` to every one of `sessions`; those that are gone are skipped. */
export type Deliver = (sessions: readonly SessionId[], frames: readonly OutFrame[]) => void;

interface Waiting {
  readonly to: Audience;
  readonly message: ServerMessage;
  /** The decision it came from. */
  readonly decision: number;
}

/** Frames of one turn are built together; past this they leave in parts, because neither a string nor the memory is endless. */
const TURN_BYTES_MAX = 16 * 1024 * 1024;

export class Fanout {
  readonly #room: RoomState;
  readonly #deliver: Deliver;
  readonly #soon: (task: () => void) => void;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;

  constructor(deps: { room: RoomState; deliver: Deliver; soon: (task: () => void) => void }) {
    this.#room = deps.room;
    this.#deliver = deps.deliver;
    this.#soon = deps.soon;
  }

  /** Queues a message of about so many bytes; it leaves when this turn of the event loop ends. */
  send(to: Audience, message: ServerMessage, decision: number, bytes = 0): void {
    if (this.#waiting.length === 0) this.#soon(() => this.flush());
    this.#waiting.push({ to, message, decision });
    this.#waitingBytes += bytes;
    if (this.#waitingBytes > TURN_BYTES_MAX) this.flush();
  }

  /** Sends what waits; called early where order against a close matters. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (waiting.length === 1) this.#sendOne(waiting[0]!);
    else this.#sendAll(waiting);
  }

  /** As most turns of most rooms are: there is nothing to gather, and each kind of client hears one encoding. */
  #sendOne(one: Waiting): void {
    const heard: Record<Group['kind'], SessionId[]> = { sdk: [], yjs: [] };
    for (const session of 'only' in one.to ? sessionsOf(this.#room, one.to.only) : this.#room.sessions.values()) {
      if (session.kind !== 'rest' && hears(session, one)) heard[session.kind].push(session.id);
    }
    const messages = [one.message];
    if (heard.sdk.length > 0) this.#hand(heard.sdk, sdkFrames(messages, encodeForSdk), [one]);
    if (heard.yjs.length > 0) this.#hand(heard.yjs, yjsFrames(messages, encodeForYjs), [one]);
  }

  #sendAll(waiting: readonly Waiting[]): void {
    const sdkText = onceEach(encodeForSdk);
    const yjsBytes = onceEach(encodeForYjs);
    for (const { kind, heard, sessions } of groupByMessages(this.#room.sessions, waiting)) {
      const told = heard.map((index) => waiting[index]!);
      const messages = told.map(({ message }) => message);
      this.#hand(sessions, kind === 'sdk' ? sdkFrames(messages, sdkText) : yjsFrames(messages, yjsBytes), told);
    }
  }

  #hand(sessions: readonly SessionId[], frames: OutFrame[], told: readonly Waiting[]): void {
    if (frames.length > 0) this.#deliver(sessions, withAnswers(frames, told));
  }
}

function sessionsOf({ sessions }: RoomState, id: SessionId): Session[] {
  const session = sessions.get(id);
  return session === undefined ? [] : [session];
}

/** Ops and refusals come back to their sender with the ids of the ops: the worker that has the socket keeps what is still to come. */
function withAnswers(frames: OutFrame[], heard: readonly Waiting[]): OutFrame[] {
  const answers: string[] = [];
  for (const { to, message } of heard) {
    if (!('only' in to)) continue;
    if (message.type === 'storage.rejected') for (const opId of message.opIds) answers.push(opId);
    if (message.type === 'storage.ops') for (const { opId } of message.ops) if (opId !== undefined) answers.push(opId);
  }
  return answers.length === 0 ? frames : [{ answers, ...frames[0]! }, ...frames.slice(1)];
}

interface Group {
  readonly kind: 'sdk' | 'yjs';
  /** Indices of the messages that all of the group hear. */
  readonly heard: readonly number[];
  readonly sessions: SessionId[];
}

/** Sessions of one kind that hear the same messages share one encoding: usually one large group, and each sender by itself. */
function groupByMessages(sessions: ReadonlyMap<SessionId, Session>, waiting: readonly Waiting[]): Group[] {
  const { own, shared } = byAudience(waiting);
  const groups: Group[] = [];
  for (const [id, indices] of own) {
    const session = sessions.get(id);
    if (session === undefined || session.kind === 'rest') continue;
    const heard = [...indices, ...heardOf(session, waiting, shared)].sort((left, right) => left - right);
    groups.push({ kind: session.kind, heard, sessions: [id] });
  }
  if (shared.length > 0) groups.push(...groupsOfShared(sessions, { waiting, shared, own }));
  return groups;
}

/** Messages for one session, by that session; and those for several. */
function byAudience(waiting: readonly Waiting[]): { own: Map<SessionId, number[]>; shared: number[] } {
  const own = new Map<SessionId, number[]>();
  const shared: number[] = [];
  for (const [index, { to }] of waiting.entries()) {
    if (!('only' in to)) shared.push(index);
    else if (own.has(to.only)) own.get(to.only)!.push(index);
    else own.set(to.only, [index]);
  }
  return { own, shared };
}

interface Shared {
  readonly waiting: readonly Waiting[];
  readonly shared: readonly number[];
  readonly own: ReadonlyMap<SessionId, unknown>;
}

function groupsOfShared(sessions: ReadonlyMap<SessionId, Session>, { waiting, shared, own }: Shared): Iterable<Group> {
  const groups = new Map<string, Group>();
  for (const session of sessions.values()) {
    if (session.kind === 'rest' || own.has(session.id)) continue;
    const heard = heardOf(session, waiting, shared);
    if (heard.length === 0) continue;
    const name = heard === shared ? session.kind : `${session.kind}:${heard.join()}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { kind: session.kind, heard, sessions: [session.id] });
    else group.sessions.push(session.id);
  }
  return groups.values();
}

/** Of those for several, the ones that this session hears: `shared` itself when it hears all, as most do. */
function heardOf(session: Session, waiting: readonly Waiting[], shared: readonly number[]): readonly number[] {
  const missed = shared.findIndex((index) => !hears(session, waiting[index]!));
  if (missed < 0) return shared;
  return shared.filter((index, place) => place < missed || (place > missed && hears(session, waiting[index]!)));
}

function hears(session: Session, { to, decision }: Waiting): boolean {
  if ('only' in to) return to.only === session.id;
  if (session.joinedAt >= decision) return false;
  if ('allBut' in to) return to.allBut !== session.id;
  if ('mayRead' in to) return allows(session.permissions, to.mayRead, 'read');
  if ('storageBut' in to) return to.storageBut !== session.id && session.storageAt !== null && session.storageAt < decision;
  return to.ydocBut !== session.id && session.ydocs.has(to.guid);
}

/** Groups differ by a message or two; what they share is encoded once. */
function onceEach<Encoded>(encode: (message: ServerMessage) => Encoded): (message: ServerMessage) => Encoded {
  const known = new Map<ServerMessage, Encoded>();
  return (message) => {
    if (!known.has(message)) known.set(message, encode(message));
    return known.get(message) as Encoded;
  };
}

function sdkFrames(messages: readonly ServerMessage[], encode: (message: ServerMessage) => string | null): OutFrame[] {
  const frames: OutFrame[] = [];
  let batch: string[] = [];
  let droppable = true;
  const close = (): void => {
    if (batch.length > 0) frames.push({ data: `[${batch.join(',')}]`, droppable });
    batch = [];
    droppable = true;
  };
  for (const message of messages) {
    const text = encode(message);
    if (text === null) continue;
    if (standsAlone(message)) {
      close();
      frames.push({ data: text, droppable: false });
    } else {
      batch.push(text);
      droppable &&= isDroppable(message);
    }
  }
  close();
  return frames;
}

/** y-websocket reads one message a frame. */
function yjsFrames(messages: readonly ServerMessage[], encode: (message: ServerMessage) => Uint8Array | null): OutFrame[] {
  const frames: OutFrame[] = [];
  for (const message of messages) {
    const data = encode(message);
    if (data !== null) frames.push({ data, droppable: isDroppable(message) });
  }
  return frames;
}

/** About how many bytes a message takes, where it may be many. */
export function weightOf(message: ServerMessage): number {
  if (message.type === 'storage.state') return message.nodes.length * NODE_BYTES;
  return message.type === 'ydoc.state' ? message.update.length : 0;
}

/** A node of Storage on the wire, roughly. */
const NODE_BYTES = 100;
