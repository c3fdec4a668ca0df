/** One SDK client of a convergence run: unchanged, on a link of its own, with a mirror of what the server tells it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type LiveObject, type Room } from '@liveblocks/client';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { Dice } from './dice.ts';
import { Editor, type EditRules, initialStorage } from './edits.ts';
import { Link, type Lost } from './link.ts';
import { Mirror } from './mirror.ts';
import type { OwnServer } from './own-server.ts';

const BACK_TIMEOUT_MS = 6_000;

export interface ReplicaOptions {
  readonly roomId: string;
  readonly name: string;
  readonly rules: EditRules;
  readonly dice: Dice;
  readonly delayMsMax: number;
}

/** One SDK client, its link, and the mirror of what the server told it. */
export class Replica {
  readonly name: string;
  readonly room: Room<any, any, any, any>;
  readonly editor: Editor;
  readonly mirror = new Mirror();
  readonly thrown: unknown[];
  readonly leave: () => void;
  readonly #link: Link;
  /** Why the client has given up, if it has. */
  readonly #refusals: string[] = [];
  root!: LiveObject<any>;
  #writes = 0;

  constructor(server: OwnServer, { roomId, name, rules, dice, delayMsMax }: ReplicaOptions) {
    this.name = name;
    this.editor = new Editor(dice, name, rules);
    this.#link = new Link({
      dice: new Dice(dice.below(2 ** 31)),
      delayMsMax,
      onOpen: () => this.mirror.opened(),
      onUp: (frame) => this.mirror.sent(frame),
      onDown: (frame) => this.mirror.heard(frame),
    });
    this.thrown = this.#link.thrown;
    const client = createClient({
      baseUrl: server.url,
      throttle: 16,
      polyfills: { WebSocket: this.#link.WebSocket as any, fetch },
      authEndpoint: async () => ({ token: await accessTokenFor(server, { userId: name }) }),
    });
    client.events.error.subscribe(({ message }) => void this.#refusals.push(message));
    const { room, leave } = client.enterRoom(roomId, { initialPresence: {}, initialStorage: initialStorage() as any });
    this.room = room;
    this.leave = leave;
  }

  async loaded(): Promise<void> {
    const root = await until(`${this.name} has the tree`, () => {
      if (this.room.getStatus() === 'disconnected') throw new Error(`disconnected: ${this.#refusals.join()}`);
      void this.room.getStorage(); // asks for it once
      return this.room.getStorageSnapshot();
    });
    this.root = root as LiveObject<any>;
  }

  /** One edit, or several in a batch. What the client throws at them is noted, for one that has lost its way does. */
  edit(batched: number): void {
    try {
      if (batched === 0) this.editor.edit(this.root);
      else this.room.batch(() => void Array.from({ length: batched }, () => this.editor.edit(this.root)));
    } catch (error) {
      this.thrown.push(error);
    }
  }

  /** Writes under a key of its own, which nobody else does. */
  writeOwn(): void {
    this.#writes += 1;
    this.root.set(this.#ownKey, this.#writes);
  }

  /** What is wrong with what is there under it. */
  faultOfOwn(serverJson: unknown): string[] {
    const there = (serverJson as Record<string, unknown>)[this.#ownKey] ?? 0;
    return there === this.#writes ? [] : [`${this.name} wrote ${this.#writes} under its own key, and the server has ${there}`];
  }

  get #ownKey(): string {
    return `last of ${this.name}`;
  }

  travel(direction: 'undo' | 'redo'): void {
    try {
      this.room.history[direction]();
    } catch (error) {
      this.thrown.push(error);
    }
  }

  async cutFor(downMs: number, lost: Lost): Promise<void> {
    this.#link.cut(lost);
    await sleep(downMs);
    this.#link.mend();
  }

  /** From now on nothing is slow, and it comes back if it was away. */
  hasten(): void {
    this.#link.hasten();
  }

  async reconnect(): Promise<void> {
    this.#link.cut('answers');
    this.#link.hasten();
    await until(`${this.name} is back`, () => this.isAtRest, { timeoutMs: BACK_TIMEOUT_MS });
  }

  get isAtRest(): boolean {
    return this.room.getStatus() === 'connected' && this.room.getStorageStatus() === 'synchronized' && this.#link.isIdle;
  }

  get json(): unknown {
    return plain(this.root.toJSON());
  }
}

/** As it is on the wire: nothing that JSON has no word for. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}
