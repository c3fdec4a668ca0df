/**
 * Commands that take long because of a room's documents: they read a large one of Storage, need a Yjs document that has not been read since it was stored, or
 * bring an update of thousands of structs. They wait here until the document is made and the update taken, both piece by piece, and everybody else is heard
 * meanwhile, in this room as elsewhere. What one session says about Yjs documents stays in order.
 */
import { BoundedQueue } from '../base/bounded.ts';
import { type Clock, pause } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { SessionId } from '../base/ids.ts';
import { allows } from '../protocol/permissions.ts';
import { type DocumentsAhead, formReadBy } from './documents-ahead.ts';
import { SETTLE_AFTER_MS } from './policy.ts';
import type { Command, RoomState } from './shapes.ts';
import { docsToSettle } from './ydoc/decide.ts';
import { isLongStep, isLongToRead, stepsToAnswer, stepsToHash, type YdocStep } from './ydoc/long.ts';
import type { Ydoc } from './ydoc/state.ts';
import { isTakenUnread, longUpdatePieces, mayBeLong } from './ydoc/ydoc.ts';

type Change = Extract<Command, { type: 'ydoc.change' }>;

interface Shell {
  readonly room: RoomState;
  /** Whether so much waits for the journal that changes are refused. */
  readonly isFull: boolean;
  /** @throws AppError when the room cannot take it at the moment, whatever it says */
  mustTake(command: Command): void;
  /** Decides at once. @throws AppError the refusal */
  answer(command: Command): Promise<unknown>;
  /** The same for what nobody waits for. */
  take(command: Command): void;
  refuse(command: Command, error: unknown): void;
  tell(command: Command): void;
}

interface DocumentLineDeps {
  readonly clock: Clock;
  readonly documents: DocumentsAhead;
}

/** Of one room; those of all rooms have a bound of their own (`DocumentsAhead.updates`). */
const WAITING = { itemsMax: 1_000, bytesMax: 20 * 1024 * 1024 } as const;
/** Pieces are decided faster than they are written. */
const LOOK_AGAIN_MS = 10;
const FULL_MS_MAX = 5_000;

/** Commands that wait, and whose: most rooms never have any. */
interface Line {
  readonly commands: BoundedQueue<Command>;
  /** Sessions of which something waits or is under way, and how much. */
  readonly speakers: Map<SessionId, number>;
  /** How those leave that go meanwhile: after all that they said. There are only as many as there are sessions. */
  readonly leaving: Map<SessionId, Command>;
}

export class DocumentLine {
  readonly #deps: DocumentLineDeps;
  readonly #shell: Shell;
  /** Null while nothing waits or is under way. */
  #line: Line | null = null;
  #isSettling = false;

  constructor(deps: DocumentLineDeps, shell: Shell) {
    this.#deps = deps;
    this.#shell = shell;
  }

  /** The answer to a command that takes long; null when it can be decided at once. @throws AppError the refusal, which must not cost the work */
  act(command: Command): Promise<unknown> | null {
    const isOfYdocs = takesLong(this.#shell.room, command);
    if (!isOfYdocs && formReadBy(command) === null) return null;
    this.#shell.mustTake(command);
    if (isOfYdocs) return this.#bounded(command, (piece) => this.#shell.answer(piece));
    const made = this.#deps.documents.make(this.#shell.room, command);
    return made === null ? null : made.then(() => this.#shell.answer(command));
  }

  /** Whether it has taken the command, to be decided in its turn. @throws AppError ROOM_OVERLOADED when too much waits */
  takes(command: Command): boolean {
    if (command.type === 'session.leave') return this.#leaves(command);
    if (!this.#isBehind(command) && !takesLong(this.#shell.room, command)) return false;
    this.#mustHaveRoom(command);
    const line = this.#line ?? { commands: new BoundedQueue(WAITING), speakers: new Map(), leaving: new Map() };
    if (!line.commands.push(command, bytesOf(command))) throw new AppError('ROOM_OVERLOADED');
    this.#deps.documents.updates.came(bytesOf(command));
    count(line, command, 1);
    if (this.#line === null) void this.#work(line);
    return true;
  }

  /** Has SDK clients told what is saved, some time after a change, if they have not been told yet. */
  settleLater(): void {
    if (this.#isSettling || this.#shell.room.unsettled.size === 0) return;
    this.#isSettling = true;
    const { clock, documents } = this.#deps;
    clock.after(SETTLE_AFTER_MS, () => {
      const ahead = documents.prepare(docsToSettle(this.#shell.room), ['read']);
      if (ahead === null) this.#settle();
      else
        void ahead.then(
          () => this.#settle(),
          () => this.#settle(),
        );
    });
  }

  #settle(): void {
    this.#isSettling = false;
    this.#shell.tell({ type: 'ydoc.settle' });
  }

  #isBehind(command: Command): boolean {
    if (this.#line === null || !isOfYdoc(command) || command.from === null) return false;
    return this.#line.speakers.has(command.from);
  }

  #leaves(command: Extract<Command, { type: 'session.leave' }>): boolean {
    if (this.#line?.speakers.has(command.sessionId) !== true) return false;
    this.#line.leaving.set(command.sessionId, command);
    return true;
  }

  async #work(line: Line): Promise<void> {
    this.#line = line;
    for (let next = line.commands.shift(); next !== undefined; next = line.commands.shift()) {
      const command = next;
      await this.#decide(command, (piece) => this.#shell.take(piece)).catch((error: unknown) =>
        this.#shell.refuse(command, error),
      );
      this.#deps.documents.updates.went(bytesOf(command));
      count(line, command, -1);
      this.#letLeave(line);
    }
    this.#line = null;
  }

  #letLeave({ leaving, speakers }: Line): void {
    for (const [session, command] of leaving) {
      if (speakers.has(session)) continue;
      leaving.delete(session);
      this.#shell.tell(command);
    }
  }

  /** @throws AppError ROOM_OVERLOADED for an update while all that wait on this worker are too long */
  #mustHaveRoom(command: Command): void {
    if (command.type === 'ydoc.change' && this.#deps.documents.updates.isFull) throw new AppError('ROOM_OVERLOADED');
  }

  #bounded(command: Command, decide: (piece: Command) => unknown): Promise<unknown> {
    const { updates } = this.#deps.documents;
    this.#mustHaveRoom(command);
    updates.came(bytesOf(command));
    return this.#decide(command, decide).finally(() => updates.went(bytesOf(command)));
  }

  /** What is answered to the last piece; to the command itself where it has none. */
  async #decide(command: Command, decide: (piece: Command) => unknown): Promise<unknown> {
    const { docs, steps } = neededBy(this.#shell.room, command);
    await this.#deps.documents.prepare(docs, steps);
    return command.type === 'ydoc.change' ? this.#decideChange(command, decide) : decide(command);
  }

  async #decideChange(command: Change, decide: (piece: Command) => unknown): Promise<unknown> {
    const { room } = this.#shell;
    if (!mayBeLong(command.update) || !mayChange(room, command) || isKnown(room, command, this.#deps.clock))
      return decide(command);
    const scanned = await this.#deps.documents.scan(command.update);
    const from = { session: command.from, live: room.sessions };
    const pieces = longUpdatePieces(room, { ...command, from, scanned });
    let update = pieces?.next() ?? null;
    if (pieces === null || update === null) return decide(command);
    const refusals = refusalsOf(room, command);
    for (let next = pieces.next(); next !== null && mayChange(room, command); next = pieces.next()) {
      const piece = { type: command.type, guid: command.guid, from: command.from, update }; // it is the last that answers the request
      await this.#inTurn(() => {
        if (mayChange(room, command)) Promise.resolve(decide(piece)).catch(() => undefined); // the last hears what it hears
      });
      if (refusalsOf(room, command) !== refusals) return null; // its session has heard that
      update = next;
    }
    const last = { ...command, update };
    return (await this.#inTurn(() => ({ answer: decide(last) }))).answer; // which comes when all of it is written
  }

  async #inTurn<Outcome>(work: () => Outcome): Promise<Outcome> {
    await this.#roomForMore();
    return this.#deps.documents.ydocTurn(work);
  }

  async #roomForMore(): Promise<void> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + FULL_MS_MAX;
    while (this.#shell.isFull && clock.monotonicMs() < endMs) await pause(clock, LOOK_AGAIN_MS);
  }
}

/** Whether the command may have waited here: then it may come too late. */
export function mayHaveWaited(command: Command): boolean {
  const { type } = command;
  return (
    formReadBy(command) !== null || isOfYdoc(command) || type === 'ydoc.read' || type === 'ydoc.json' || type === 'history.keep'
  );
}

/** Whether documents are to be made ready first, or an update is to be taken in pieces. */
function takesLong(room: RoomState, command: Command): boolean {
  if (command.type === 'ydoc.change') return mayChange(room, command) && isLongChange(room, command);
  const { docs, steps } = neededBy(room, command);
  return docs.some((doc) => steps.some((step) => isLongStep(doc, step)));
}

/** A long update, or one that has to be tried on a document that has not been read. */
function isLongChange({ ydocs }: RoomState, { guid, update }: Change): boolean {
  if (mayBeLong(update)) return true;
  const doc = ydocs.get(guid);
  return doc !== undefined && isLongToRead(doc) && !isTakenUnread(doc, update);
}

interface Needs {
  readonly docs: readonly Ydoc[];
  readonly steps: readonly YdocStep[];
}

const NOTHING: Needs = { docs: [], steps: [] };

function neededBy(room: RoomState, command: Command): Needs {
  switch (command.type) {
    case 'ydoc.change':
      return { docs: existing(room, command.guid), steps: ['read'] };
    case 'ydoc.fetch':
      return neededToFetch(room, command);
    case 'ydoc.read':
      return neededToAnswer(existing(room, command.guid), OF_NOBODY);
    case 'history.keep':
      return { docs: [...room.ydocs.values()], steps: ['write'] };
    case 'ydoc.json':
      return { docs: existing(room, ''), steps: ['read'] };
    default:
      return NOTHING;
  }
}

/** The vector of a client that has nothing. */
const OF_NOBODY = Uint8Array.of(0);

function neededToFetch(room: RoomState, { from, guid, vector }: Extract<Command, { type: 'ydoc.fetch' }>): Needs {
  const { docs, steps } = neededToAnswer(existing(room, guid), vector);
  // A y-websocket frame has no room for a hash.
  return room.sessions.get(from)?.kind === 'sdk' ? { docs, steps: [...steps, ...docs.flatMap(stepsToHash)] } : { docs, steps };
}

function neededToAnswer(docs: readonly Ydoc[], vector: Uint8Array): Needs {
  return { docs, steps: docs.flatMap((doc) => stepsToAnswer(doc, vector)) };
}

function existing(room: RoomState, guid: string): Ydoc[] {
  const doc = room.ydocs.get(guid);
  return doc === undefined ? [] : [doc];
}

/** Whether it was decided before: then it is answered, or refused, without being looked at. */
function isKnown({ requests }: RoomState, { request }: Change, clock: Clock): boolean {
  return request !== undefined && requests.find(request.id, clock.nowMs()) !== null;
}

/** Of its session, updates that cost the room its `Y.Doc`: what comes behind one of them would only be tried in vain. */
function refusalsOf({ sessions }: RoomState, { from }: Change): number {
  return from === null ? 0 : (sessions.get(from)?.costlyUpdates ?? 0);
}

function mayChange(room: RoomState, { from }: Change): boolean {
  if (from === null) return true;
  const session = room.sessions.get(from);
  return session !== undefined && allows(session.permissions, 'storage', 'write');
}

function count({ speakers }: Line, command: Command, by: 1 | -1): void {
  if (!isOfYdoc(command) || command.from === null) return;
  const all = (speakers.get(command.from) ?? 0) + by;
  if (all === 0) speakers.delete(command.from);
  else speakers.set(command.from, all);
}

function isOfYdoc(command: Command): command is Extract<Command, { type: 'ydoc.change' | 'ydoc.fetch' }> {
  return command.type === 'ydoc.change' || command.type === 'ydoc.fetch';
}

function bytesOf(command: Command): number {
  return command.type === 'ydoc.change' ? command.update.length : 0;
}
