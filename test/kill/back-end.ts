/** A back end that calls without an Idempotency-Key and never again, because nobody knows whether the first call got through. */
import { ask, roomPath } from '../support/e2e/rest.ts';
import type { Writer, WriterDeps } from '../support/writing/writers.ts';

/** Every call is acknowledged by its 200. */
export class BackEnd implements Writer {
  readonly #deps: WriterDeps;
  readonly #calls: readonly ((id: string) => Promise<number>)[];
  readonly #underWay = new Set<Promise<void>>();
  readonly #roomPrefix: string;
  #next = 0;

  /** Rooms that it creates have ids that begin with `roomPrefix`. */
  constructor(deps: WriterDeps, { roomPrefix }: { roomPrefix: string }) {
    this.#deps = deps;
    this.#roomPrefix = roomPrefix;
    this.#calls = [
      (id) => this.#patch([{ op: 'add', path: '/list/-', value: id }]),
      (id) => this.#patch([{ op: 'add', path: `/map/${id}`, value: 1 }]),
      (id) => this.#createRoom(id),
      (id) => this.#upsertRoom(id),
    ];
  }

  write(): void {
    const index = this.#next++ % this.#calls.length;
    const kind = ['patchList', 'patchMap', 'createRoom', 'updateRoom'][index]!;
    const id = this.#deps.nextId(kind);
    this.#deps.ledger.wrote(id);
    const call = this.#calls[index]!(id)
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

  async #patch(operations: object[]): Promise<number> {
    const { roomId, server } = this.#deps;
    return (await ask(server, roomPath(roomId, '/storage/json-patch'), { method: 'PATCH', json: operations })).status;
  }

  async #createRoom(id: string): Promise<number> {
    return (await ask(this.#deps.server, '/v2/rooms', { json: { id: `${this.#roomPrefix}${id}`, defaultAccesses: [] } })).status;
  }

  /** Writes the id into the metadata of a room made for it, in a second call: the first may be lost with the server, too. */
  async #upsertRoom(id: string): Promise<number> {
    const { server, ledger, nextId } = this.#deps;
    const room = nextId('createRoom');
    ledger.wrote(room);
    if ((await this.#createRoom(room)) === 200) ledger.acked(room);
    const path = roomPath(`${this.#roomPrefix}${room}`);
    return (await ask(server, path, { json: { metadata: { mark: id } } })).status;
  }
}
