/** Who writes and reads in a run, and in which rooms: a few rooms have most of the clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Dice } from '../fuzz/dice.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import type { TestServer } from '../support/e2e/server.ts';
import { makeRoom } from '../support/writing/place.ts';
import { type Memory, RawWriter } from '../support/writing/raw-writer.ts';
import { SdkWriter } from '../support/writing/sdk-writer.ts';
import { keepWriting, type Writer, type WriterDeps } from '../support/writing/writers.ts';
import { PlainTypist, SdkTypist } from '../support/writing/yjs-writers.ts';
import type { Attendance, Replica } from './checks/evidence.ts';
import type { History } from './history.ts';
import { keepReading } from './reader.ts';
import { type Keys, RestWriter } from './rest-writer.ts';

const ROOMS = 12;
/** The last rooms are so large that their snapshots go to S3. */
const LARGE_ROOMS = 3;
const BALLAST = { strings: 12, characters: 30_000 } as const;
const WHO = { faithful: 14, forgetful: 3, sdk: 6, typists: 4, sdkTypists: 2, withKeys: 8, withoutKeys: 3, readers: 3 } as const;
const PAUSE_MS_MAX = 160;
/** After this everything is healed for so long that who still waits for an answer will never get one. */
const HOPELESS_MS = 60_000;
const ATTENDANCE_MS_MAX = 15_000;
const LOOK_AGAIN_MS = 250;

interface Socket {
  readonly client: string;
  readonly room: string;
  readonly writer: Writer;
}

export class Load {
  readonly rooms: readonly string[];
  readonly roomPrefix: string;
  readonly #server: TestServer;
  readonly #history: History;
  readonly #dice: Dice;
  readonly #sockets: Socket[] = [];
  readonly #backEnds: { readonly client: string; readonly writer: RestWriter }[] = [];
  #isOver = false;
  #isHopeless = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(server: TestServer, { history, seed }: { history: History; seed: number }) {
    this.#server = server;
    this.#history = history;
    this.#dice = new Dice(seed + 0.5); // not the dice of the plan
    this.rooms = Array.from({ length: ROOMS }, (_, index) => `chaos:${index}`);
    this.roomPrefix = 'chaos-made:';
  }

  /** Makes the rooms and lets all clients in; nobody writes yet. */
  async enter(): Promise<void> {
    for (const [index, room] of this.rooms.entries()) {
      await makeRoom(this.#server.backend, room, index >= ROOMS - LARGE_ROOMS ? ballast(this.#dice) : []);
    }
    const memories: Memory[] = ['faithful', 'forgetful'];
    for (const memory of memories) await this.#addSockets(memory, WHO[memory], (deps) => RawWriter.enter(deps, memory));
    await this.#addSockets('sdk', WHO.sdk, (deps) => SdkWriter.enter(deps, 'sdk'));
    await this.#addSockets('typist', WHO.typists, (deps) => PlainTypist.enter(deps));
    await this.#addSockets('sdkTypist', WHO.sdkTypists, (deps) => SdkTypist.enter(deps));
    this.#addBackEnds('keyed', WHO.withKeys, 'with keys');
    this.#addBackEnds('plain', WHO.withoutKeys, 'without keys');
  }

  /** Lets everybody write and read until `stop`. */
  start(): void {
    const isOver = (): boolean => this.#isOver;
    const diceOf = (): Dice => new Dice(this.#dice.below(2 ** 31));
    this.#running = Promise.all([
      ...this.#sockets.map(({ writer }) => keepWriting(writer, diceOf(), { isOver, pauseMsMax: PAUSE_MS_MAX })),
      ...this.#backEnds.map(({ writer }) => writer.run(isOver, () => this.#isHopeless)),
      ...Array.from({ length: WHO.readers }, (_, index) => {
        const dice = diceOf();
        const [server, history] = [this.#server, this.#history];
        return keepReading({ server, history, dice, client: `reader${index}`, pickRoom: () => this.#someRoom(dice) }, isOver);
      }),
    ]);
  }

  /** Nobody begins anything new; resolves when all have been answered, or it is clear that they will not be. */
  async stop(): Promise<void> {
    this.#isOver = true;
    const timer = setTimeout(() => {
      this.#isHopeless = true;
      for (const { client, writer } of this.#backEnds)
        if (writer.current !== null) this.#history.complain(`${client} was never answered: ${writer.current}`);
    }, HOPELESS_MS);
    await this.#running;
    clearTimeout(timer);
    await Promise.all(
      this.#sockets.map(({ client, room, writer }) =>
        writer.settle().catch((error: unknown) => this.#history.complain(`${client} in ${room}: ${String(error)}`)),
      ),
    );
    for (const { client, writer } of this.#sockets)
      if (writer instanceof RawWriter) for (const fault of writer.faults) this.#history.complain(`${client}: ${fault}`);
  }

  /** What clients have that were in their rooms all the time. */
  replicas(): Replica[] {
    return this.#sockets.flatMap(({ client, room, writer }): Replica[] => {
      if (writer instanceof SdkWriter) return [{ client, room, storage: asStored(writer.storage()) }];
      return writer instanceof PlainTypist || writer instanceof SdkTypist ? [{ client, room, ydoc: writer.text }] : [];
    });
  }

  /** Who sees whom in a room, over REST too; those that left without a goodbye have some time to go. */
  async attendance(): Promise<Attendance[]> {
    const isRight = ({ seen, there }: Attendance): boolean => isDeepStrictEqual([...seen].sort(), [...there].sort());
    const endMs = performance.now() + ATTENDANCE_MS_MAX;
    for (;;) {
      const all = await this.#look();
      if (performance.now() > endMs || all.every(isRight)) return all;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  async #look(): Promise<Attendance[]> {
    const thereIn = (room: string): string[] => this.#sockets.filter((one) => one.room === room).map((one) => userOf(one.writer));
    const rooms = this.rooms.map(async (room): Promise<Attendance> => {
      const answer = await ask(this.#server, roomPath(room, '/active_users')).catch(() => null);
      const users = answer?.status === 200 ? (answer.json.data as { id: string | null }[]) : [];
      return { observer: 'REST', room, seen: users.map(({ id }) => String(id)), there: thereIn(room) };
    });
    const clients = this.#sockets.flatMap(({ client, room, writer }) =>
      writer instanceof SdkWriter ? [{ observer: client, room, seen: writer.attendance, there: thereIn(room) }] : [],
    );
    return [...(await Promise.all(rooms)), ...clients];
  }

  leave(): void {
    this.#isOver = true;
    this.#isHopeless = true;
    for (const { writer } of this.#sockets) writer.leave();
  }

  /** The first rooms are asked for most. */
  #someRoom(dice: Dice): string {
    const weights = Object.fromEntries(this.rooms.map((room, index) => [room, 1 / (index + 1)]));
    return dice.weighted(weights);
  }

  async #addSockets(kind: string, count: number, enter: (deps: WriterDeps) => Promise<Writer>): Promise<void> {
    const entering = Array.from({ length: count }, async (_, index) => {
      const [client, room] = [`${kind}${index}`, this.#someRoom(this.#dice)];
      const deps: WriterDeps = {
        server: this.#server,
        ledger: this.#history.logOf({ client, room }),
        roomId: room,
        nextId: (what) => this.#history.nextId(what, client),
      };
      this.#sockets.push({ client, room, writer: await enter(deps) });
    });
    await Promise.all(entering);
  }

  #addBackEnds(kind: string, count: number, keys: Keys): void {
    for (let index = 0; index < count; index += 1) {
      const [client, room] = [`${kind}${index}`, this.#someRoom(this.#dice)];
      const dice = new Dice(this.#dice.below(2 ** 31));
      const [server, history, roomPrefix] = [this.#server, this.#history, this.roomPrefix];
      this.#backEnds.push({ client, writer: new RestWriter({ server, history, dice, client, room, roomPrefix, keys }) });
    }
  }
}

/** Strings that do not compress. */
function ballast(dice: Dice): string[] {
  const letter = (): string => String.fromCharCode(97 + dice.below(26));
  return Array.from({ length: BALLAST.strings }, () => Array.from({ length: BALLAST.characters }, letter).join(''));
}

/** The SDK's plain copy: texts are strings there. */
function asStored(copy: unknown): Replica['storage'] & object {
  const { list, map, text } = copy as { list: string[]; map: Record<string, unknown>; text: unknown };
  return { list, map, text: typeof text === 'string' ? [[text]] : (text as [string][]) };
}

/** The user id under which writers of this kind enter. */
function userOf(writer: Writer): string {
  if (writer instanceof SdkWriter) return 'sdk';
  if (writer instanceof RawWriter) return 'raw';
  return writer instanceof PlainTypist ? 'plain' : 'typist';
}
