/**
 * A room that falls: the real room, gateway and clients, between them sockets and a journal on which nothing happens until the test lets it.
 * Wants fake timers, for the clients throttle and reconnect by the clock.
 */
import { createClient, type LiveObject, type Room } from '@liveblocks/client';
import { vi } from 'vitest';
import { Background, twentieth } from '../../../src/base/background.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { asIncarnation, asRoomId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { Slices } from '../../../src/base/slices.ts';
import type { AppendOutcome, JournalEntry } from '../../../src/kernel/persistence/journal.ts';
import type { Snapshot } from '../../../src/kernel/persistence/snapshots.ts';
import type { SocketHandler } from '../../../src/kernel/transport/server.ts';
import { FULL_ACCESS } from '../../../src/protocol/permissions.ts';
import { Beat } from '../../../src/room/beat.ts';
import { DocumentsAhead } from '../../../src/room/documents-ahead.ts';
import { Gateway } from '../../../src/room/gateway.ts';
import { Intake } from '../../../src/room/intake.ts';
import { decodeRecords } from '../../../src/room/journal-record.ts';
import { WAITING_BYTES_MAX } from '../../../src/room/policy.ts';
import { emptyRoom } from '../../../src/room/room.ts';
import { RoomActor } from '../../../src/room/room-actor.ts';
import type { RoomState } from '../../../src/room/shapes.ts';
import { replayRecord, restoreSnapshot } from '../../../src/room/snapshot.ts';
import { WaitingBytes } from '../../../src/room/waiting-bytes.ts';
import { frameText } from '../../support/frame-text.ts';
import type { Chance } from './sdk-replicas.ts';

const ROOM = asRoomId('room');
const NUMBERS_PER_OWNER = 1_000;
const PLENTY = 1_000_000;
/** Long enough for a client to notice that nobody answers its pings, and to come back. */
const STEP_MS = 250;

const clock: Clock = { ...systemClock, soon: (task) => queueMicrotask(task) };
const policy = {
  connectionsMax: PLENTY,
  presenceBytesMax: PLENTY,
  ydocsMax: 1,
  pendingBytesMax: PLENTY,
  snapshotAfterChanges: 5,
  snapshotAfterBytes: PLENTY,
  snapshotEveryMs: PLENTY,
  autoVersionMs: 0,
  idleMs: PLENTY,
};
const limits = {
  messages: { perSecond: PLENTY, burst: PLENTY },
  sendBytesSoftMax: PLENTY,
  sendBytesHardMax: PLENTY,
  idleMs: PLENTY,
};

type Listener = (event: object) => void;

/** Of one end of a WebSocket to the other; who runs on them does not see it. */
interface Ping {
  readonly ping: string;
}

/** Both ends of a WebSocket, and what is on its way between them. */
class Wire {
  readonly up: (string | Ping)[] = [];
  /** A number closes it, with this code. */
  readonly down: (string | number | Ping)[] = [];
  readyState = 0;
  handler: SocketHandler | null = null;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(open: (wire: Wire) => void) {
    setTimeout(() => open(this), 1);
  }

  get isCut(): boolean {
    return this.readyState === 3;
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, (this.#listeners.get(type) ?? new Set()).add(listener));
  }

  removeEventListener(type: string, listener: Listener): void {
    this.#listeners.get(type)?.delete(listener);
  }

  emit(type: string, event: object): void {
    for (const listener of [...(this.#listeners.get(type) ?? [])]) listener({ type, ...event });
  }

  send(text: string): void {
    if (this.readyState === 1) this.up.push(text);
  }

  close(code = 1000): void {
    if (this.isCut) return;
    this.readyState = 3;
    this.down.length = 0;
    this.emit('close', { code, reason: '', wasClean: code === 1000 });
  }

  /** The client takes the next of what is on its way to it. */
  takeDown(): void {
    const next = this.down.shift()!;
    if (typeof next === 'number') this.close(next);
    else if (typeof next === 'object') this.up.push(next);
    else this.emit('message', { data: next });
  }

  /** The server takes the next of what is on its way to it, or notices that nothing more will come. */
  takeUp(): void {
    const next = this.up.shift();
    if (next === undefined) this.handler!.closed(1006, '');
    else if (typeof next === 'object') this.handler!.ponged(next.ping);
    else this.handler!.message(next);
  }
}

export class FallingRoom {
  readonly wires = new Set<Wire>();
  state: RoomState = emptyRoom(ROOM, { from: 1, to: NUMBERS_PER_OWNER });
  #owners = 0;
  #snapshot: Snapshot | null = null;
  #journal: JournalEntry[] = [];
  #append: { readonly entry: JournalEntry; readonly answer: (outcome: AppendOutcome) => void } | null = null;
  #gateway = this.#newGateway();
  #actor = this.#newActor();

  open(wire: Wire): void {
    if (wire.readyState !== 0) return;
    wire.readyState = 1;
    this.wires.add(wire);
    const query = new URLSearchParams({ roomId: ROOM, pubkey: 'pk_test', version: '3' }).toString();
    wire.handler = this.#gateway.accept(
      { path: '/v8', query, headers: {} },
      {
        send: (frame) => !wire.isCut && wire.down.push(frameText(frame)) > 0,
        cork: (writes) => writes(),
        ping: (data) => void (wire.isCut || wire.down.push({ ping: data })),
        close: (code) => void (wire.isCut || wire.down.push(code)),
        bufferedBytes: () => 0,
      },
    );
    wire.emit('open', {});
  }

  /** All that could happen next. */
  get next(): (() => void)[] {
    const things: (() => void)[] = this.#append === null ? [] : [() => this.commit()];
    for (const wire of this.wires) {
      if (wire.down.length > 0) things.push(() => wire.takeDown());
      if (wire.up.length > 0) things.push(() => wire.takeUp());
      else if (wire.isCut) things.push(() => this.#end(wire));
    }
    return things;
  }

  #end(wire: Wire): void {
    this.wires.delete(wire);
    wire.takeUp();
  }

  /** What the room wants written down is, and it may tell. */
  commit(): void {
    const append = this.#append;
    if (append === null) return;
    this.#append = null;
    this.#journal.push(append.entry);
    append.answer('committed');
  }

  /** kill -9: what was not written down is gone, and so is every connection. */
  kill(): void {
    const wires = [...this.wires];
    this.wires.clear();
    this.#gateway = this.#newGateway();
    this.#actor = this.#newActor();
    for (const wire of wires) wire.close(1006);
  }

  /** The room has another owner, at which the sessions join anew over the sockets they have. */
  takeOver(): void {
    const former = this.#actor;
    this.#actor = this.#newActor();
    former.drop();
  }

  #newGateway(): Gateway {
    return new Gateway({
      clock,
      workerName: `w${this.#owners}`,
      intake: new Intake({ clock, log: silentLog }),
      slices: new Slices(clock),
      log: silentLog,
      sheds: () => false,
      connectionsMax: PLENTY,
      findMissingFiles: async () => [],
      feeds: { take: () => undefined },
      chance: () => 0,
      limits,
      elsewhere: { deliver: () => null, closeSessions: () => undefined, loseSessions: () => undefined },
      rooms: {
        ask: (_, command) => this.#actor.act(command),
        tell: (_, command) => {
          this.#actor.tell(command);
          return true;
        },
        locationOf: () => null,
        lineTo: () => null,
      },
      admit: async () => ({
        roomId: ROOM,
        userId: null,
        info: null,
        permissions: FULL_ACCESS,
        expiresAtMs: Number.POSITIVE_INFINITY,
      }),
    });
  }

  /** Owns the room as snapshot and journal tell it. */
  #newActor(): RoomActor {
    const from = 1 + NUMBERS_PER_OWNER * this.#owners++;
    this.#append = null;
    const gateway = this.#gateway;
    this.state = emptyRoom(ROOM, { from, to: from + NUMBERS_PER_OWNER });
    if (this.#snapshot !== null) restoreSnapshot(this.state, this.#snapshot);
    for (const { version, count, payload } of this.#journal) {
      const known = Math.max(0, this.state.version - (version - count));
      for (const record of decodeRecords(payload).slice(known)) replayRecord(this.state, record);
    }
    return new RoomActor(
      {
        clock,
        beat: new Beat(clock),
        background: new Background(clock, twentieth),
        documents: new DocumentsAhead(clock),
        waiting: new WaitingBytes(WAITING_BYTES_MAX),
        log: silentLog,
        policy,
        mayAnswer: () => true,
        sessions: gateway,
        keepVersion: async () => 'kept',
        ownership: { incarnation: asIncarnation('w'), claim: async () => ({ refused: 'gone' }), release: async () => undefined },
        journal: {
          append: (entry, appender) => {
            if (entry.epoch !== this.#owners) return; // of a former owner, whose clock goes on
            this.#append = { entry, answer: (outcome) => appender.appended(entry, outcome) };
          },
          readAfter: async () => [],
        },
        snapshots: {
          load: async () => null,
          save: async (snapshot) => {
            const older = this.#snapshot?.version ?? 0;
            this.#journal = this.#journal.filter(({ version }) => version > older);
            this.#snapshot = snapshot;
            return 'saved';
          },
        },
      },
      {
        room: this.state,
        ground: { stream: 1, epoch: this.#owners, snapshotVersion: this.state.version, snapshotBytes: 0 },
        onLost: () => undefined,
      },
    );
  }
}

/** Lets things happen in an order of chance: all there are, or some. */
export async function happen(room: FallingRoom, chance: Chance, most: 'all' | 'some'): Promise<void> {
  for (;;) {
    const things = room.next;
    if (things.length === 0) return;
    things[Math.floor(chance() * things.length)]!();
    for (let turn = 0; turn < 8; turn += 1) await Promise.resolve();
    if (most === 'some' && chance() < 0.15) return;
  }
}

/** Lets `ms` pass while everything happens that can. */
export async function pass(room: FallingRoom, chance: Chance, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await happen(room, chance, 'all');
  }
}

export interface Writer {
  readonly room: Room;
  readonly root: LiveObject<any>;
  readonly leave: () => void;
}

/** A client that has entered and read Storage. */
export async function enter(room: FallingRoom, chance: Chance): Promise<Writer> {
  // biome-ignore lint/complexity/useArrowFunction: the SDK calls it with new, and an arrow function is no constructor
  const WebSocket = function () {
    return new Wire((wire) => room.open(wire));
  };
  const fetch = () => Promise.reject(new Error('there is no network'));
  const client = createClient({
    publicApiKey: 'pk_test',
    throttle: 16,
    polyfills: { WebSocket: WebSocket as any, fetch: fetch as any },
  });
  const { room: entered, leave } = client.enterRoom('room', { initialPresence: {}, initialStorage: {} });
  const reading = entered.getStorage();
  await pass(room, chance, 500);
  return { room: entered, root: (await reading).root as LiveObject<any>, leave };
}
