/**
 * Clients over sockets, as an SDK client behaves: they follow Storage, edit it while they are connected, and send again after each return what
 * nobody has confirmed.
 */
import type { Frame } from '../../src/kernel/transport/frame.ts';
import type { Socket, SocketHandler } from '../../src/kernel/transport/server.ts';
import { OP } from '../../src/protocol/storage-ops.ts';
import { frameText } from '../support/frame-text.ts';
import type { Edit } from './audit.ts';
import { anyLife, pause, type Scene } from './clients.ts';
import { LIST_ID, tokensIn } from './rooms.ts';
import type { Life } from './workers.ts';

interface Sent {
  readonly edit: Edit;
  readonly op: object;
}

/** A client that waits longer for anything takes its connection for dead. */
const PATIENCE_MS = 3_000;
const UNCONFIRMED_MAX = 4;

const ROOM_STATE = 104;
const FETCH_STORAGE = 200;
const STORAGE_OPS = 201;
const STORAGE_CHUNK = 210;
const STORAGE_END = 211;
const REJECTED = 299;

export class SocketClient {
  readonly room: string;
  readonly #scene: Scene;
  readonly #name: string;
  readonly #unconfirmed = new Map<string, Sent>();
  #link: Link | null = null;
  #actor: number | null = null;
  #opsMade = 0;
  #connections = 0;
  #waitingSinceMs: number;
  /** It has Storage, and hears of what changes. */
  #follows = false;
  /** What it has been shown since it began to follow. */
  #seen = new Set<string>();
  /** The last message was a part of Storage. */
  #isTakingState = false;

  constructor(scene: Scene, { name, room }: { name: string; room: string }) {
    this.#scene = scene;
    this.#name = name;
    this.room = room;
    this.#waitingSinceMs = scene.world.nowMs;
  }

  /** Whether it has all that it asked for, and nothing unconfirmed. */
  get isQuiet(): boolean {
    return this.#follows && this.#unconfirmed.size === 0;
  }

  get seen(): ReadonlySet<string> {
    return this.#seen;
  }

  async run(): Promise<void> {
    const { world } = this.#scene;
    const { dice } = world;
    while (!this.#scene.isOver) {
      await pause(world, 20 + dice.fraction() * 700);
      if (this.#link === null) this.#connect();
      else if (this.#waits() && world.nowMs - this.#waitingSinceMs > PATIENCE_MS) this.#link.hangUp();
      else if (this.#follows && !this.#scene.isSettling && this.#unconfirmed.size < UNCONFIRMED_MAX) this.#edit();
    }
  }

  #waits(): boolean {
    return !this.#follows || this.#unconfirmed.size > 0;
  }

  #connect(): void {
    const life = anyLife(this.#scene.cluster);
    if (life === null) return;
    this.#connections += 1;
    this.#scene.world.note(() => `socket ${this.#name} connects to ${life.name}`);
    this.#waitingSinceMs = this.#scene.world.nowMs;
    const link: Link = new Link(this.#scene, life, {
      room: this.room,
      heard: (frame) => this.#hear(frame),
      closed: (code) => this.#closed(link, code),
    });
    this.#link = link;
  }

  #closed(link: Link, code: number): void {
    if (this.#link !== link) return;
    this.#scene.world.note(() => `socket ${this.#name} closed with ${code}`);
    this.#link = null;
    this.#follows = false;
  }

  #edit(): void {
    const { audit, newToken, world } = this.#scene;
    const token = newToken();
    const edit = audit.begins({ token, room: this.room, isOrdered: true });
    edit.mayBeThere = true;
    const id = `${this.#actor}:${++this.#opsMade}`;
    const op = { type: OP.CREATE_REGISTER, id, opId: id, parentId: LIST_ID, parentKey: '!', intent: 'push', data: token };
    if (this.#unconfirmed.size === 0) this.#waitingSinceMs = world.nowMs;
    this.#unconfirmed.set(id, { edit, op });
    this.#link?.send([{ type: STORAGE_OPS, ops: [op] }]);
  }

  #hear(frame: string): void {
    const parsed = JSON.parse(frame) as Message | Message[];
    const messages = Array.isArray(parsed) ? parsed : [parsed];
    for (const message of messages) this.#take(message, tokensIn(messages.length === 1 ? frame : JSON.stringify(message)));
  }

  #take(message: Message, tokens: readonly string[]): void {
    if (message.type === STORAGE_CHUNK && !this.#isTakingState) this.#seen = new Set();
    this.#isTakingState = message.type === STORAGE_CHUNK;
    for (const token of tokens) this.#seen.add(token);
    this.#scene.audit.told(this.room, tokens);
    switch (message.type) {
      case ROOM_STATE:
        this.#entered(message.actor!);
        break;
      case STORAGE_END:
        this.#following();
        break;
      case STORAGE_OPS:
        for (const { opId } of message.ops ?? []) if (opId !== undefined) this.#confirmed(opId);
        break;
      case REJECTED:
        this.#scene.audit.broken('C11 no trouble in the code', `an edit of ${this.#name} was rejected: ${message.reason}`);
        break;
      default:
    }
  }

  /** Another session over the same socket counts as another entry. */
  #entered(actor: number): void {
    const { audit, world } = this.#scene;
    audit.numbered(this.room, actor, `${this.#name}/${this.#connections}/${world.events}`);
    world.note(() => `socket ${this.#name} is ${actor}`);
    this.#actor = actor;
    this.#follows = false;
    this.#waitingSinceMs = world.nowMs;
    this.#link?.send([{ type: FETCH_STORAGE }]);
  }

  #following(): void {
    this.#scene.world.note(() => `socket ${this.#name} follows, ${this.#seen.size} seen`);
    this.#follows = true;
    this.#waitingSinceMs = this.#scene.world.nowMs;
    const ops = [...this.#unconfirmed.values()].map(({ op }) => op);
    if (ops.length > 0) this.#link?.send([{ type: STORAGE_OPS, ops }]);
  }

  #confirmed(opId: string): void {
    const sent = this.#unconfirmed.get(opId);
    if (sent === undefined) return;
    this.#unconfirmed.delete(opId);
    this.#waitingSinceMs = this.#scene.world.nowMs;
    this.#scene.audit.acks(sent.edit);
  }
}

interface Message {
  readonly type: number;
  readonly actor?: number;
  readonly reason?: string;
  readonly ops?: readonly { readonly opId?: string }[];
}

/** What the client sends, not what it is sent. */
function isOfClient(frame: Frame | readonly object[]): frame is readonly object[] {
  return Array.isArray(frame);
}

/** One connection, as both ends have it: frames travel in order and take their time. */
class Link implements Socket {
  readonly #scene: Scene;
  readonly #life: Life;
  readonly #client: { readonly room: string; heard(frame: string): void; closed(code: number): void };
  #handler: SocketHandler | null = null;
  #isOpen = true;
  #hasHungUp = false;
  #toClientMs = 0;
  #toServerMs = 0;
  readonly #died: () => void;

  constructor(scene: Scene, life: Life, client: { room: string; heard(frame: string): void; closed(code: number): void }) {
    this.#scene = scene;
    this.#life = life;
    this.#client = client;
    this.#died = () => this.#end(1006);
    life.onDeath.add(this.#died);
    this.#toServer(() => {
      const request = { path: '/v8', query: `roomId=${client.room}&pubkey=pk`, headers: {} };
      this.#handler = life.worker!.gateway.accept(request, this);
    });
  }

  /** What the client sends. */
  send(frame: Frame | readonly object[]): boolean {
    if (isOfClient(frame)) {
      const text = JSON.stringify(frame);
      this.#toServer(() => this.#handler?.message(text));
      return true;
    }
    if (!this.#isOpen) return false;
    this.#toClient(() => {
      if (!this.#hasHungUp) this.#client.heard(frameText(frame));
    });
    return true;
  }

  cork(writes: () => void): void {
    writes();
  }

  ping(data: string): void {
    if (!this.#isOpen) return;
    this.#toClient(() => {
      if (!this.#hasHungUp) this.#toServer(() => this.#handler?.ponged(data));
    });
  }

  bufferedBytes(): number {
    return 0;
  }

  /** The server closes. */
  close(code: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#life.process.clock.soon(() => this.#handler?.closed(code, ''));
    this.#toClient(() => this.#end(code));
  }

  /** The client closes. */
  hangUp(): void {
    this.#hasHungUp = true;
    this.#toServer(() => {
      if (!this.#isOpen) return;
      this.#isOpen = false;
      this.#handler?.closed(1006, '');
    });
    this.#end(1006);
  }

  #end(code: number): void {
    this.#life.onDeath.delete(this.#died);
    this.#scene.world.after(this.#scene.cluster.travelMs(), () => this.#client.closed(code));
  }

  #toClient(arrive: () => void): void {
    const { world, cluster } = this.#scene;
    this.#toClientMs = Math.max(this.#toClientMs, world.nowMs + cluster.travelMs());
    world.after(this.#toClientMs - world.nowMs, arrive);
  }

  #toServer(arrive: () => void): void {
    const { world, cluster } = this.#scene;
    this.#toServerMs = Math.max(this.#toServerMs, world.nowMs + cluster.travelMs());
    this.#life.process.input(this.#toServerMs - world.nowMs, arrive);
  }
}
