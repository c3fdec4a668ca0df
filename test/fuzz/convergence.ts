/**
 * One run of the convergence fuzz: several SDK clients edit one Storage tree over bad links, then all replicas must be equal.
 *
 * What a seed fixes is every choice; what it cannot fix is when the machine gets round to things. A seed that failed once may need a few
 * repetitions to fail again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createClient, type LiveObject, type Room } from '@liveblocks/client';
import { toJson } from '../../src/room/storage/lson.ts';
import { ask, roomPath } from '../support/e2e/rest.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { Dice } from './dice.ts';
import { Editor, initialStorage } from './edits.ts';
import { Link } from './link.ts';
import { Mirror } from './mirror.ts';
import type { OwnServer } from './own-server.ts';
import { SCENARIOS, type Scenario, type ScenarioName } from './scenarios.ts';

export interface Run {
  readonly scenario: ScenarioName;
  readonly seed: number;
}

/** A client that ended with another tree than the server's, or never came to rest. */
export interface Divergence {
  readonly client: string;
  readonly how: 'differs' | 'stuck';
  /** `server` when the client was not told what the server has. */
  readonly fault: 'client' | 'server';
  /** Whether its next reconnect made it right. */
  readonly isHealed: boolean;
  readonly clientJson: unknown;
  readonly serverJson: unknown;
}

export interface Outcome extends Run {
  readonly divergences: readonly Divergence[];
  /** What only the server can be blamed for, whatever the clients show. */
  readonly serverFaults: readonly string[];
  /** What clients threw, in handlers of messages and at edits. */
  readonly thrown: readonly string[];
  readonly counts: { readonly steps: number; readonly cuts: number; readonly undos: number; readonly patches: number };
}

const STEPS_MIN = 80;
const STEPS_MAX = 200;
const PAUSE_MS_MAX = 12;
const CUT_MS_MAX = 500;
const REST_TIMEOUT_MS = 6_000;
const EQUAL_TIMEOUT_MS = 2_500;

export async function converge(server: OwnServer, { scenario, seed }: Run): Promise<Outcome> {
  const rules = SCENARIOS[scenario];
  const dice = new Dice(seed);
  const roomId = `fuzz:${scenario}:${seed}:${performance.now().toString(36)}`;
  await server.backend.createRoom(roomId, { defaultAccesses: [] });
  const replicas: Replica[] = [];
  const cutting: Promise<void>[] = [];
  const patching: Promise<void>[] = [];
  const counts = { steps: STEPS_MIN + dice.below(STEPS_MAX - STEPS_MIN), cuts: 0, undos: 0, patches: 0 };
  const serverFaults: string[] = [];
  try {
    await enterAll(server, { roomId, seed, dice, rules, replicas });
    for (let step = 0; step < counts.steps; step += 1) {
      const replica = dice.pick(replicas);
      if (rules.cuts && dice.chance(0.03)) {
        counts.cuts += 1;
        cutting.push(replica.cutFor(dice.below(CUT_MS_MAX), dice.chance(0.5) ? 'both' : 'answers'));
      } else if (rules.undo && dice.chance(0.2)) {
        counts.undos += 1;
        replica.travel(dice.chance(0.6) ? 'undo' : 'redo');
      } else if (dice.chance(0.03)) {
        counts.patches += 1;
        patching.push(patch(server, roomId, replica.editor.patch(replica.root)).then((fault) => void serverFaults.push(...fault)));
      } else replica.edit(dice.chance(0.15) ? 1 + dice.below(5) : 0);
      if (dice.chance(0.5)) await sleep(dice.below(PAUSE_MS_MAX));
    }
    await Promise.all([...cutting, ...patching]);
    const judged = await judge(server, roomId, replicas);
    serverFaults.push(...judged.serverFaults);
    const thrown = replicas.flatMap((replica) => replica.thrown.map((error) => `${replica.name}: ${messageOf(error)}`));
    return { scenario, seed, divergences: judged.divergences, serverFaults, thrown, counts };
  } finally {
    for (const replica of replicas) replica.leave();
  }
}

/** Whether the outcome is what its scenario promises. */
export function isAsPromised({ scenario, divergences, serverFaults }: Outcome): boolean {
  if (serverFaults.length > 0 || divergences.some(({ fault }) => fault === 'server')) return false;
  const allowed: Scenario['divergence'] = SCENARIOS[scenario].divergence;
  return allowed === 'reload' || divergences.every(({ isHealed }) => allowed === 'heals' && isHealed);
}

interface EnterAll {
  readonly roomId: string;
  readonly seed: number;
  readonly dice: Dice;
  readonly rules: Scenario;
  readonly replicas: Replica[];
}

/** Three or four clients; the first fills the room, or all try to at once. */
async function enterAll(server: OwnServer, { roomId, seed, dice, rules, replicas }: EnterAll): Promise<void> {
  const names = ['A', 'B', 'C', 'D'].slice(0, 3 + dice.below(2));
  const allAtOnce = dice.chance(0.2);
  for (const [index, name] of names.entries()) {
    const delayMsMax = dice.pick([1, 20, 100, 300]);
    const replica = new Replica(server, { roomId, name, rules, dice: new Dice(seed * 64 + index), delayMsMax });
    replicas.push(replica);
    if (allAtOnce) continue;
    await replica.loaded();
    if (index === 0) await until('the first client is saved', () => replica.isAtRest);
  }
  await Promise.all(replicas.map((replica) => replica.loaded()));
}

interface ReplicaOptions {
  readonly roomId: string;
  readonly name: string;
  readonly rules: Scenario;
  readonly dice: Dice;
  readonly delayMsMax: number;
}

/** One SDK client, its link, and the mirror of what the server told it. */
class Replica {
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

  travel(direction: 'undo' | 'redo'): void {
    try {
      this.room.history[direction]();
    } catch (error) {
      this.thrown.push(error);
    }
  }

  async cutFor(downMs: number, lost: 'both' | 'answers'): Promise<void> {
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
    await until(`${this.name} is back`, () => this.isAtRest, { timeoutMs: REST_TIMEOUT_MS });
  }

  get isAtRest(): boolean {
    return this.room.getStatus() === 'connected' && this.room.getStorageStatus() === 'synchronized' && this.#link.isIdle;
  }

  get json(): unknown {
    return plain(this.root.toJSON());
  }
}

/** Sends a patch; what it answers must be an answer to a patch that may have come too late. */
async function patch(server: OwnServer, roomId: string, operations: object[]): Promise<string[]> {
  const { status, text } = await ask(server, roomPath(roomId, '/storage/json-patch'), { method: 'PATCH', json: operations });
  return status === 200 || status === 422 ? [] : [`a JSON Patch was answered with ${status} ${text}`];
}

interface Judgement {
  readonly divergences: Divergence[];
  readonly serverFaults: string[];
}

/** Waits for rest, compares everything with everything, and finds out whose fault a difference is. */
async function judge(server: OwnServer, roomId: string, replicas: readonly Replica[]): Promise<Judgement> {
  for (const replica of replicas) replica.hasten();
  await passes(() => replicas.every(({ isAtRest }) => isAtRest), REST_TIMEOUT_MS);
  let serverJson = await read(server, roomId);
  await passes(async () => {
    serverJson = await read(server, roomId);
    return replicas.every((replica) => isDeepStrictEqual(replica.json, serverJson));
  }, EQUAL_TIMEOUT_MS);
  const serverFaults = await faultsOf(server, { roomId, replicas, serverJson });
  const divergences: Divergence[] = [];
  for (const replica of replicas) {
    const isEqual = isDeepStrictEqual(replica.json, serverJson);
    if (isEqual && replica.isAtRest) continue;
    const { name: client, json: clientJson, mirror } = replica;
    const isTold = isDeepStrictEqual(plain(mirror.toJSON()), serverJson) && mirror.unansweredCount === 0;
    const isHealed = await heals(server, roomId, replica);
    divergences.push({ client, how: isEqual ? 'stuck' : 'differs', fault: isTold ? 'client' : 'server', isHealed, clientJson, serverJson });
    serverJson = await read(server, roomId); // what it held back has arrived
  }
  return { divergences, serverFaults };
}

interface Compared {
  readonly roomId: string;
  readonly replicas: readonly Replica[];
  readonly serverJson: unknown;
}

/** Every client was told all, a newcomer sees it, and so would the next owner of the room. */
async function faultsOf(server: OwnServer, { roomId, replicas, serverJson }: Compared): Promise<string[]> {
  const faults = replicas.flatMap(({ name, mirror }) => mirror.complaints.map((complaint) => `to ${name}: ${complaint}`));
  for (const { name, mirror } of replicas) {
    const told = plain(mirror.toJSON());
    if (!isDeepStrictEqual(told, serverJson)) faults.push(`${name} was told ${JSON.stringify(told)}`);
  }
  const newcomer = new Replica(server, { roomId, name: 'N', rules: SCENARIOS.online, dice: new Dice(1), delayMsMax: 0 });
  try {
    await newcomer.loaded();
    if (!isDeepStrictEqual(newcomer.json, serverJson)) faults.push(`a newcomer sees ${JSON.stringify(newcomer.json)}`);
  } finally {
    newcomer.leave();
  }
  const recovered = plain(toJson((await server.recover(roomId)).storage));
  if (!isDeepStrictEqual(recovered, serverJson)) faults.push(`the next owner would read ${JSON.stringify(recovered)}`);
  return faults.map((fault) => `${fault}, the server has ${JSON.stringify(serverJson)}`);
}

/** Whether a reconnect, with the snapshot it brings, makes the client equal to the server. */
async function heals(server: OwnServer, roomId: string, replica: Replica): Promise<boolean> {
  const isBack = await replica.reconnect().then(
    () => true,
    () => false,
  );
  return isBack && (await passes(async () => isDeepStrictEqual(replica.json, await read(server, roomId)), EQUAL_TIMEOUT_MS));
}

async function passes(condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  return until('it passes', condition, { timeoutMs }).then(
    () => true,
    () => false,
  );
}

async function read(server: OwnServer, roomId: string): Promise<unknown> {
  return plain(await server.backend.getStorageDocument(roomId, 'json'));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
