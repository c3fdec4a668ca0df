/** The SDK as a writer into Storage: it does not tell of single acks, but of the moments when nothing is left to be acknowledged. */
import { createClient, type LiveList, type LiveMap, type LiveObject, type LiveText, type Room } from '@liveblocks/client';
import { accessTokenFor } from '../e2e/tokens.ts';
import { until } from '../e2e/until.ts';
import { mark } from './place.ts';
import { toldWebSocket } from './told-web-socket.ts';
import { SDK_SETTLE_MS_MAX, type Writer, type WriterDeps } from './writers.ts';

/** Pushes onto the list, sets keys of the map, types into the LiveText; whenever the SDK says "synchronized", all before it is acknowledged. */
export class SdkWriter implements Writer {
  readonly #deps: WriterDeps;
  readonly #room: Room<any, any, any, any>;
  readonly #leave: () => void;
  readonly #unacked = new Set<string>();
  #root!: LiveObject<any>;
  #count = 0;
  readonly #watch: NodeJS.Timeout;

  private constructor(deps: WriterDeps, token: string) {
    this.#deps = deps;
    const client = createClient({
      baseUrl: deps.server.url,
      throttle: 16,
      polyfills: { WebSocket: toldWebSocket(deps.ledger) as any, fetch },
      authEndpoint: async () => ({ token }),
    });
    const { room, leave } = client.enterRoom(deps.roomId, { initialPresence: {}, initialStorage: {} } as any);
    this.#room = room;
    this.#leave = leave;
    this.#watch = setInterval(() => this.#acknowledge(), 5);
  }

  static async enter(deps: WriterDeps, userId: string): Promise<SdkWriter> {
    const writer = new SdkWriter(deps, await accessTokenFor(deps.server, { userId }));
    writer.#root = (await writer.#room.getStorage()).root as LiveObject<any>;
    return writer;
  }

  write(): void {
    const kind = (['sdkPush', 'sdkSet', 'sdkText'] as const)[this.#count++ % 3]!;
    const id = this.#deps.nextId(kind);
    this.#deps.ledger.wrote(id);
    this.#unacked.add(id);
    if (kind === 'sdkPush') (this.#root.get('list') as LiveList<string>).push(id);
    else if (kind === 'sdkSet') (this.#root.get('map') as LiveMap<string, number>).set(id, 1);
    else (this.#root.get('text') as LiveText).insert(0, mark(id));
  }

  async settle(): Promise<void> {
    await until('the SDK is synchronized', () => this.#isSaved, { timeoutMs: SDK_SETTLE_MS_MAX });
    this.#acknowledge();
  }

  /** What the application sees. */
  storage(): unknown {
    return this.#root.toJSON();
  }

  /** Of everybody it sees in the room, itself included, the user id. */
  get attendance(): string[] {
    return [...this.#room.getOthers(), this.#room.getSelf()].map((user) => String(user?.id));
  }

  leave(): void {
    clearInterval(this.#watch);
    this.#leave();
  }

  get #isSaved(): boolean {
    return this.#room.getStatus() === 'connected' && this.#room.getStorageStatus() === 'synchronized';
  }

  #acknowledge(): void {
    if (!this.#isSaved) return;
    for (const id of this.#unacked) this.#deps.ledger.acked(id);
    this.#unacked.clear();
  }
}
