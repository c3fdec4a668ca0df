/**
 * Rounds of kill -9 under load. Each round has rooms and clients of its own on the same data directory: they write, the server is killed at a
 * moment of the seed's choosing and started again, the clients come back and send what they still hold, and the ledger is judged. Rooms of
 * earlier rounds must stay as they were left.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Liveblocks } from '@liveblocks/node';
import { Dice } from '../fuzz/dice.ts';
import type { TestServer } from '../support/e2e/server.ts';
import { type Content, contentOf, idsIn, idsOfRooms, makeRoom } from '../support/writing/place.ts';
import { RawWriter } from '../support/writing/raw-writer.ts';
import { SdkWriter } from '../support/writing/sdk-writer.ts';
import { keepWriting, type Writer } from '../support/writing/writers.ts';
import { PlainTypist, SdkTypist, YdocBackEnd } from '../support/writing/yjs-writers.ts';
import { BackEnd } from './back-end.ts';
import { Ledger, type Verdict } from './ledger.ts';
import { PersistentBackEnd } from './persistent-back-end.ts';
import { KilledServer, type KillMode } from './server-process.ts';

export interface Round extends Verdict {
  readonly round: number;
  readonly seed: number;
  readonly mode: KillMode;
  /** Kills of this round: one under load, and perhaps one while the server recovers. */
  readonly kills: number;
  /** From the last start of the process to its first healthy answer, recovery of the database included. */
  readonly restartMs: number;
  /** What else was not as it must be; empty when all is well. */
  readonly faults: readonly string[];
  readonly ackedByKind: Readonly<Record<string, number>>;
}

/** Snapshots and trims of the journal are to happen all the time, so that the kill falls into them. */
const SETTINGS = { SNAPSHOT_AFTER_CHANGES: '20', MESSAGES_PER_SECOND_MAX: '100000', STORAGE_TYPE_KEY: 'liveblocksType' };
const KEYS = { SECRET_KEY: 'sk_kill_test_000000000000', PUBLIC_KEY: 'pk_kill_test_000000000000' };
const LOAD_MS_MIN = 150;
const LOAD_MS_MAX = 1_500;
/** How long clients go on writing once the server is back. */
const AFTERMATH_MS = 200;

export class KillRun {
  readonly #process: KilledServer;
  readonly #server: TestServer;
  /** Rooms of finished rounds, as they were left. */
  readonly #left = new Map<string, Content>();

  private constructor(process: KilledServer) {
    this.#process = process;
    const { url } = process;
    this.#server = {
      url,
      socketUrl: url.replace(/^http/, 'ws'),
      secretKey: KEYS.SECRET_KEY,
      publicKey: KEYS.PUBLIC_KEY,
      backend: new Liveblocks({ secret: KEYS.SECRET_KEY, baseUrl: url }),
      restart: () => Promise.reject(new Error('this server is killed, not restarted')),
    };
  }

  static async start(): Promise<KillRun> {
    const process = await KilledServer.prepare({ ...SETTINGS, ...KEYS });
    try {
      await process.start();
      return new KillRun(process);
    } catch (error) {
      await process.dispose();
      throw error;
    }
  }

  async round({ round, seed }: { round: number; seed: number }): Promise<Round> {
    const dice = new Dice(seed);
    const ledger = new Ledger();
    const rooms = [`kill:${round}:a`, `kill:${round}:b`] as const;
    const roomPrefix = `kill:${round}:made:`;
    for (const roomId of rooms) await makeRoom(this.#server.backend, roomId);
    const writers: Writer[] = [];
    try {
      await this.#enter(writers, { ledger, rooms, roomPrefix });
      const mode = dice.pick(['server', 'everything'] as const);
      const { kills, restartMs } = await this.#killUnder(writers, dice, mode);
      const faults = await settleAll(writers);
      const found = [...(await this.#idsIn(rooms)), ...(await idsOfRooms(this.#server, roomPrefix))];
      faults.push(...(await this.#faultsAfter(rooms)));
      return { round, seed, mode, kills, restartMs, faults, ackedByKind: ledger.ackedByKind, ...ledger.judge(found) };
    } finally {
      for (const writer of writers) writer.leave();
    }
  }

  /** Kills the server at rest, starts it again and compares every room with how it was left: only what is written down may count. */
  async lastRestart(): Promise<string[]> {
    await this.#process.kill('everything');
    await this.#process.start();
    return this.#faultsAfter([]);
  }

  stop(): Promise<void> {
    return this.#process.dispose();
  }

  async #enter(
    writers: Writer[],
    { ledger, rooms, roomPrefix }: { ledger: Ledger; rooms: readonly string[]; roomPrefix: string },
  ): Promise<void> {
    let count = 0;
    const nextId = (kind: string): string => `${kind}.${count++}`;
    for (const [index, roomId] of rooms.entries()) {
      const deps = { server: this.#server, ledger, roomId, nextId };
      writers.push(await RawWriter.enter(deps, 'faithful'), await SdkWriter.enter(deps, 'sdk'));
      if (index === 0) writers.push(await RawWriter.enter(deps, 'forgetful'), new BackEnd(deps, { roomPrefix }));
      else writers.push(await SdkWriter.enter(deps, 'other'), new PersistentBackEnd(deps, { roomPrefix }));
      writers.push(await PlainTypist.enter(deps), await SdkTypist.enter(deps), new YdocBackEnd(deps));
    }
  }

  async #killUnder(writers: readonly Writer[], dice: Dice, mode: KillMode): Promise<{ kills: number; restartMs: number }> {
    let isOver = false;
    const writing = Promise.all(
      writers.map((writer, index) => keepWriting(writer, new Dice(dice.below(2 ** 31) + index), { isOver: () => isOver })),
    );
    try {
      await sleep(LOAD_MS_MIN + dice.below(LOAD_MS_MAX - LOAD_MS_MIN));
      await this.#process.kill(mode);
      const isKilledTwice = dice.chance(0.25);
      if (isKilledTwice) {
        this.#process.spawn();
        await sleep(dice.below(1_200));
        await this.#process.kill(dice.pick(['server', 'everything'] as const));
      }
      const restartMs = await this.#process.start();
      await sleep(AFTERMATH_MS);
      return { kills: isKilledTwice ? 2 : 1, restartMs };
    } finally {
      isOver = true;
      await writing;
    }
  }

  async #idsIn(rooms: readonly string[]): Promise<string[]> {
    const contents = await Promise.all(rooms.map((roomId) => contentOf(this.#server, roomId)));
    for (const [index, roomId] of rooms.entries()) this.#left.set(roomId, contents[index]!);
    return contents.flatMap(idsIn);
  }

  /** No process of a killed server may be left, none may have complained, and what earlier rounds left must be as it was. */
  async #faultsAfter(rooms: readonly string[]): Promise<string[]> {
    const faults = this.#process.complaints.splice(0).map((line) => `the server: ${line}`);
    const lingering = await this.#process.lingering();
    if (lingering.length > 0) faults.push(`processes of a killed server still run: ${lingering.join(', ')}`);
    for (const [roomId, left] of this.#left) {
      if (rooms.includes(roomId)) continue;
      const now = await contentOf(this.#server, roomId);
      if (!isDeepStrictEqual(now, left))
        faults.push(`${roomId} has changed: ${JSON.stringify(now)} after ${JSON.stringify(left)}`);
    }
    return faults;
  }
}

/** Back ends first, for the others wait for what is stored. */
async function settleAll(writers: readonly Writer[]): Promise<string[]> {
  const faults: string[] = [];
  for (const writer of writers) {
    await writer.settle().catch((error: unknown) => void faults.push(`${writer.constructor.name}: ${String(error)}`));
    if (writer instanceof RawWriter) faults.push(...writer.faults);
  }
  return faults;
}

export function isFine({ lost, duplicated, foreign, faults }: Round): boolean {
  return [lost, duplicated, foreign, faults].every(({ length }) => length === 0);
}

export function lineOf({ round, seed, mode, kills, acked, lost, duplicated, unknown, kept, foreign, restartMs }: Round): string {
  return [
    `round=${round} seed=${seed} kill=${mode}${kills > 1 ? 'Twice' : ''} acked=${acked} lost=${lost.length} duplicated=${duplicated.length}`,
    `unknown=${unknown} kept=${kept} foreign=${foreign.length} restartMs=${Math.round(restartMs)}`,
  ].join(' ');
}

export function totalOf(rounds: readonly Round[]): string {
  const sum = (count: (round: Round) => number): number => rounds.reduce((total, round) => total + count(round), 0);
  return [
    `rounds=${rounds.length} acked=${sum(({ acked }) => acked)} lost=${sum(({ lost }) => lost.length)}`,
    `duplicated=${sum(({ duplicated }) => duplicated.length)} unknown=${sum(({ unknown }) => unknown)}`,
    `maxRestartMs=${Math.round(Math.max(...rounds.map(({ restartMs }) => restartMs)))}`,
  ].join(' ');
}
