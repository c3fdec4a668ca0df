/** The end of a convergence run: waits for rest, compares everything with everything, and finds out whose fault a difference is. */
import { isDeepStrictEqual } from 'node:util';
import { until } from '../support/e2e/until.ts';
import { toJson } from '../support/storage-documents.ts';
import { Dice } from './dice.ts';
import type { OwnServer } from './own-server.ts';
import { plain, Replica } from './replica.ts';
import { SCENARIOS } from './scenarios.ts';

const REST_TIMEOUT_MS = 6_000;
const EQUAL_TIMEOUT_MS = 2_500;

/** A client that ended with another tree than the server's, or never came to rest. */
export interface Divergence {
  readonly client: string;
  readonly how: 'differs' | 'stuck';
  /** `server` when the client was not told what the server has. */
  readonly fault: 'client' | 'server';
  /** Whether its next reconnect made it right. */
  readonly isHealed: boolean;
  /** Whether its library threw, at a frame or at an edit: it may have applied a part of it. */
  readonly hasThrown: boolean;
  readonly clientJson: unknown;
  readonly serverJson: unknown;
}

export interface Judgement {
  readonly divergences: Divergence[];
  readonly serverFaults: string[];
}

/** Waits for rest, compares everything with everything, and finds out whose fault a difference is. */
export async function judge(server: OwnServer, roomId: string, replicas: readonly Replica[]): Promise<Judgement> {
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
    divergences.push({
      client,
      how: isEqual ? 'stuck' : 'differs',
      fault: isTold ? 'client' : 'server',
      isHealed,
      hasThrown: replica.thrown.length > 0,
      clientJson,
      serverJson,
    });
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
  for (const replica of replicas) if (replica.isAtRest) faults.push(...replica.faultOfOwn(serverJson));
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
