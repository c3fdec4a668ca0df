/**
 * Writers into the Yjs document: the SDK's provider, y-websocket, and REST. They write in bursts with rests between, since the SDK's signal for
 * "saved", a hash of the whole document, needs a moment in which nobody writes.
 */

import { createHash } from 'node:crypto';
import { createClient } from '@liveblocks/client';
import { getYjsProviderForRoom } from '@liveblocks/yjs';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';
import { Dice } from '../../fuzz/dice.ts';
import { Link } from '../../fuzz/link.ts';
import { asMessages, CODE } from '../e2e/messages.ts';
import { ask, roomPath } from '../e2e/rest.ts';
import { accessTokenFor } from '../e2e/tokens.ts';
import { until } from '../e2e/until.ts';
import { contentOf, mark, marksIn } from './place.ts';
import { toldWebSocket } from './told-web-socket.ts';
import { SDK_SETTLE_MS_MAX, type Writer, type WriterDeps } from './writers.ts';

const SETTLE_TIMEOUT_MS = 30_000;
const BURST_MS = 150;
const REST_MS = 350;

function isInBurst(): boolean {
  return performance.now() % (BURST_MS + REST_MS) < BURST_MS;
}

/** Types ids into a document of its own, which a provider keeps in step with the server. */
abstract class Typist implements Writer {
  protected readonly deps: WriterDeps;
  readonly #kind: string;
  readonly #unacked = new Set<string>();

  constructor(deps: WriterDeps, kind: string) {
    this.deps = deps;
    this.#kind = kind;
  }

  protected abstract readonly doc: Y.Doc;
  abstract settle(): Promise<void>;
  abstract leave(): void;

  write(): void {
    if (!isInBurst()) return;
    const id = this.deps.nextId(this.#kind);
    this.deps.ledger.wrote(id);
    this.#unacked.add(id);
    this.doc.getText('text').insert(0, mark(id));
  }

  get text(): string {
    return this.doc.getText('text').toString();
  }

  /** All that it typed is in the server's document. */
  protected acknowledgeAll(): void {
    for (const id of this.#unacked) this.deps.ledger.acked(id);
    this.#unacked.clear();
  }

  /** The room's document as REST reads it holds all that it typed. */
  protected async isStored(): Promise<boolean> {
    const stored = new Set(marksIn((await contentOf(this.deps.server, this.deps.roomId)).ydoc));
    return [...this.#unacked].every((id) => stored.has(id));
  }
}

/** Acknowledged by the hash the server tells: when it is that of this very document, all in it is durable (protocol 9.1). */
export class SdkTypist extends Typist {
  protected readonly doc: Y.Doc;
  readonly #leave: () => void;
  readonly #isSynchronized: () => boolean;

  private constructor(deps: WriterDeps, token: string) {
    super(deps, 'ydocSdk');
    const link = new Link({
      dice: new Dice(1),
      delayMsMax: 0,
      onDown: (frame) => this.#hear(frame),
      onLost: deps.ledger.lostSocket,
    });
    const client = createClient({
      baseUrl: deps.server.url,
      throttle: 16,
      polyfills: { WebSocket: link.WebSocket as any, fetch },
      authEndpoint: async () => ({ token }),
    });
    const { room, leave } = client.enterRoom(deps.roomId, { initialPresence: {} } as any);
    const provider = getYjsProviderForRoom(room as never, {}, true);
    this.doc = provider.getYDoc();
    this.#isSynchronized = () => room.getStatus() === 'connected' && provider.synced && provider.getStatus() === 'synchronized';
    this.#leave = () => {
      provider.destroy();
      leave();
    };
  }

  static async enter(deps: WriterDeps): Promise<SdkTypist> {
    const typist = new SdkTypist(deps, await accessTokenFor(deps.server, { userId: 'typist' }));
    await until('the SDK provider has synced', typist.#isSynchronized);
    return typist;
  }

  async settle(): Promise<void> {
    await until('the SDK provider says synchronized', this.#isSynchronized, { timeoutMs: SDK_SETTLE_MS_MAX });
    await until('its document is stored', () => this.isStored()).catch(() => undefined);
    this.acknowledgeAll();
  }

  leave(): void {
    this.#leave();
  }

  #hear(frame: unknown): void {
    const hashes = asMessages(frame).flatMap(({ type, remoteSnapshotHash }) => (type === CODE.ydoc ? [remoteSnapshotHash] : []));
    if (hashes.length > 0 && hashes.includes(hashOf(this.doc))) this.acknowledgeAll();
  }
}

function hashOf(doc: Y.Doc): string {
  return createHash('sha256')
    .update(Y.encodeSnapshot(Y.snapshot(doc)))
    .digest('base64');
}

/** Has no acknowledgement; but it comes back with all it holds, so in the end nothing of it may be missing. */
export class PlainTypist extends Typist {
  protected readonly doc = new Y.Doc();
  readonly #provider: WebsocketProvider;

  private constructor(deps: WriterDeps, token: string) {
    super(deps, 'ydocPlain');
    this.#provider = new WebsocketProvider(`${deps.server.socketUrl}/yjs`, encodeURIComponent(deps.roomId), this.doc, {
      params: { token },
      WebSocketPolyfill: toldWebSocket(deps.ledger) as never,
      disableBc: true,
      maxBackoffTime: 300,
    });
  }

  static async enter(deps: WriterDeps): Promise<PlainTypist> {
    const typist = new PlainTypist(deps, await accessTokenFor(deps.server, { userId: 'plain' }));
    await until('y-websocket has synced', () => typist.#provider.synced);
    return typist;
  }

  async settle(): Promise<void> {
    await until('y-websocket is back', () => this.#provider.wsconnected && this.#provider.synced, {
      timeoutMs: SETTLE_TIMEOUT_MS,
    });
    await until('its document is stored', () => this.isStored()).catch(() => undefined); // the judgement will name what is missing
    this.acknowledgeAll();
  }

  leave(): void {
    this.#provider.destroy();
  }
}

/** Sends updates by REST; each is acknowledged by its 200 and never repeated. */
export class YdocBackEnd implements Writer {
  readonly #deps: WriterDeps;
  readonly #underWay = new Set<Promise<void>>();

  constructor(deps: WriterDeps) {
    this.#deps = deps;
  }

  write(): void {
    if (!isInBurst()) return;
    const id = this.#deps.nextId('ydocRest');
    this.#deps.ledger.wrote(id);
    const call = this.#put(mark(id))
      .then((status) => {
        if (status === 200) this.#deps.ledger.acked(id);
      })
      .catch(() => undefined) // the server was killed: nobody knows
      .finally(() => void this.#underWay.delete(call));
    this.#underWay.add(call);
  }

  async settle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  leave(): void {
    // nothing is open
  }

  /** Each update stands for itself, so that one that got lost holds up no other. */
  async #put(text: string): Promise<number> {
    const doc = new Y.Doc();
    doc.getText('text').insert(0, text);
    const body = Y.encodeStateAsUpdate(doc);
    const { roomId, server } = this.#deps;
    return (await ask(server, roomPath(roomId, '/ydoc'), { method: 'PUT', body, contentType: 'application/octet-stream' }))
      .status;
  }
}
