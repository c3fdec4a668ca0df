/**
 * Real SDK clients on one Storage, without a network: every message waits in a queue until the test delivers it. Wants fake timers, for
 * the clients throttle and reconnect by the clock.
 */
import { createClient, type LiveObject, type Room } from '@liveblocks/client';
import { vi } from 'vitest';
import { encodeForSdk } from '../../../src/protocol/server-messages.ts';
import { checkOps, type Op, type OpsText } from '../../../src/protocol/storage-ops.ts';
import { applyOps } from '../../../src/room/storage/apply.ts';
import { withTexts } from '../../../src/room/storage/ops-text.ts';
import { emptyStorage } from '../../../src/room/storage/tree.ts';
import { compactNodes } from '../../support/storage-documents.ts';

export type Chance = () => number;

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Replica {
  readonly room: Room;
  readonly root: LiveObject<any>;
}

type Listener = (event: object) => void;

/** As little of a WebSocket as the SDK needs. */
class Socket {
  readonly up: string[] = [];
  readonly down: string[] = [];
  readyState = 0;
  actor = 0;
  readsStorage = false;
  readonly #room: StorageRoom;
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(room: StorageRoom) {
    this.#room = room;
    setTimeout(() => room.open(this), 1);
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
    this.up.push(text);
  }

  close(code = 1000): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#room.sockets.delete(this);
    this.emit('close', { code, reason: '', wasClean: code === 1000 });
  }
}

/** What a room does with Storage messages (protocol 4.4, 5.4, 6.4), and nothing else. */
export class StorageRoom {
  readonly storage = emptyStorage();
  readonly sockets = new Set<Socket>();
  #actors = 0;

  open(socket: Socket): void {
    if (socket.readyState !== 0) return;
    socket.readyState = 1;
    socket.actor = ++this.#actors;
    this.sockets.add(socket);
    tell(socket, { type: 104, actor: socket.actor, nonce: `${socket.actor}`, scopes: ['*:write'], users: {}, meta: {} });
    socket.emit('open', {});
  }

  receive(socket: Socket, text: string): void {
    if (text === 'ping') {
      socket.down.push('pong');
      return;
    }
    for (const message of JSON.parse(text) as { type: number; ops?: unknown }[]) {
      if (message.type === 200) {
        this.#tellState(socket);
        socket.readsStorage = true;
      }
      if (message.type === 201) this.#apply(socket, checkOps(message.ops));
    }
  }

  #apply(socket: Socket, ops: readonly Op[]): void {
    const { rejected, needsRepair, ...applied } = applyOps(this.storage, ops, { actor: socket.actor });
    const { replies, forwards } = withTexts(applied);
    tellOps(socket, replies);
    for (const other of this.sockets) if (other !== socket && other.readsStorage) tellOps(other, forwards);
    for (const rejection of rejected) tell(socket, { type: 299, ...rejection });
    if (needsRepair) this.#tellState(socket);
  }

  #tellState(socket: Socket): void {
    tell(socket, { type: 210, nodes: compactNodes(this.storage) });
    tell(socket, { type: 211 });
  }
}

function tellOps(socket: Socket, message: OpsText): void {
  const text = encodeForSdk({ type: 'storage.ops', ...message });
  if (text !== null) socket.down.push(text);
}

function tell(socket: Socket, message: object): void {
  socket.down.push(JSON.stringify(message));
}

/** Delivers one message of a random queue; false when there is none. */
function deliverOne(room: StorageRoom, chance: Chance): boolean {
  const queues = [...room.sockets].flatMap((socket) => [
    ...(socket.up.length === 0 ? [] : [() => room.receive(socket, socket.up.shift()!)]),
    ...(socket.down.length === 0 ? [] : [() => socket.emit('message', { data: socket.down.shift()! })]),
  ]);
  queues[Math.floor(chance() * queues.length)]?.();
  return queues.length > 0;
}

/** Delivers messages, all or a random number of them; each leaves in the order it was sent. */
export async function deliver(room: StorageRoom, chance: Chance, most: 'all' | 'some'): Promise<void> {
  while (deliverOne(room, chance)) {
    await Promise.resolve();
    if (most === 'some' && chance() < 0.2) return;
  }
}

/** Lets `ms` pass while everything is delivered. */
export async function pass(room: StorageRoom, chance: Chance, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    await deliver(room, chance, 'all');
  }
}

/** A client that has entered and read Storage. */
export async function enter(room: StorageRoom, chance: Chance): Promise<Replica> {
  // biome-ignore lint/complexity/useArrowFunction: the SDK calls it with new, and an arrow function is no constructor
  const WebSocket = function () {
    return new Socket(room);
  };
  const fetch = () => Promise.reject(new Error('there is no network'));
  const polyfills = { WebSocket: WebSocket as any, fetch: fetch as any };
  const client = createClient({ publicApiKey: 'pk_test', throttle: 16, polyfills });
  const { room: entered } = client.enterRoom('room', { initialPresence: {}, initialStorage: {} });
  const reading = entered.getStorage();
  await pass(room, chance, 500);
  return { room: entered, root: (await reading).root as LiveObject<any> };
}

/** Cuts a random connection, with all that was under way on it. */
export function cutOne(room: StorageRoom, chance: Chance): void {
  const sockets = [...room.sockets];
  sockets[Math.floor(chance() * sockets.length)]?.close(1006);
}
