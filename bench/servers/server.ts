/**
 * The seam to the servers under test. A further peer is one more file here with its own `start` and `url`,
 * listed in the cases that it can answer.
 */
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { START_MS_MAX } from '../config.ts';
import { type Started, stop } from '../processes.ts';

/** Enough to reach and to watch a running server; crosses to the load process as it is. */
export interface Address {
  readonly port: number;
  readonly pid: number;
  /** What it starts itself: stores, such as a private Postgres, which is meant when it does not say; or workers, which do the serving. */
  readonly children?: 'stores' | 'workers';
  /** The process above stores that the server does not start itself, such as an external Postgres. */
  readonly storesPid?: number;
  /** Where it tells its metrics, if it does. */
  readonly adminPort?: number;
}

export interface Running extends Address {
  /** The last it said, for the error message of a run that failed. */
  output(): string;
  /** Resolves when nothing of it is left, its data included. */
  stop(): Promise<void>;
}

/** Which protocol a client speaks: `yjs` is that of y-websocket, `sdk` that of the client SDK. */
export type Door = 'yjs' | 'sdk';

/** How what y-websocket says in one frame looks on the wire of a server that says the same in another form. */
export interface Dialect {
  readonly format: 'bytes' | 'text';
  /** Said before anything else. */
  readonly greeting: readonly Buffer[];
  toWire(frame: Buffer): Buffer;
  /** Null for what y-websocket has no frame for. */
  fromWire(frame: Buffer): Buffer | null;
}

export interface Server {
  readonly name: string;
  /** A fresh process on fresh data, on the server's core. Resolves when it serves. @throws an Error with its output when it ends instead. */
  start(): Promise<Running>;
  /** Makes the room, where a room must exist before it is entered, unless it is there. */
  openRoom(at: Address, roomId: string): Promise<void>;
  /** Where a client enters the room. @throws an Error when the server has no such door. */
  url(at: Address, door: Door, roomId: string): string;
  /** Another form than y-websocket's at the door `yjs`. */
  dialect?(roomId: string): Dialect;
  /** Whether an update comes back to the client that sent it at the door `yjs`. */
  readonly yjsEcho?: 'echoed' | 'not echoed';
  /** When it is another than that of `KEYS`. */
  readonly secretKey?: string;
  /** The key under which a node of Storage says over REST what it is, when it is another than ours. */
  readonly storageTypeKey?: string;
  /** Whether it collects its garbage when asked (see `memory.ts`), as all do that run on Node. */
  readonly garbage?: 'collected when asked' | 'left to itself';
}

/** Keys that every server of a bench is started with, or ignores, unless it says otherwise. */
export const KEYS = { secretKey: 'sk_bench_0123456789abcdef', publicKey: 'pk_bench_0123456789abcdef' } as const;

export const HOST = '127.0.0.1';

/** What crosses to the load process. */
export function addressOf(running: Running): Address {
  const { output: _output, stop: _stop, ...address } = running;
  return address;
}

export function restUrl({ port }: Address, path: string): string {
  return `http://${HOST}:${port}${path}`;
}

export function restHeaders(secretKey: string = KEYS.secretKey): Record<string, string> {
  return { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' };
}

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly secretKey?: string | undefined;
}

/** Asks over REST. @throws an Error with the answer unless it is a success. */
export async function ask(at: Address, { method, path, body, secretKey }: Question): Promise<void> {
  const response = await fetch(restUrl(at, path), { method, headers: restHeaders(secretKey), body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, HOST, resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Waits until `GET path` is answered with 200. Stops the process and @throws an Error with its output when it is not. */
export async function untilServing(started: Started, at: Address, path: string): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX;
  let ending: string | null = null;
  void started.ended.then((reason) => {
    ending = reason;
  });
  while (ending === null && performance.now() < deadlineMs) {
    if (await answers(restUrl(at, path))) return;
    await sleep(20);
  }
  const reason = ending ?? `it did not answer within ${START_MS_MAX} ms`;
  await stop(started);
  throw new Error(`the server did not start, ${reason}: ${started.output()}`);
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false; // nobody listens yet
  }
}
